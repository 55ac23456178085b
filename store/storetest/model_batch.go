package storetest

import (
	"context"
	"errors"
	"fmt"

	"example.com/convmem"
)

// WriteBatch stores several messages or, when one of them fails, none.
func (m *Model) WriteBatch(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
	return call(ctx, m, "write batch", func() (convmem.WriteBatchResult, error) {
		drafts, err := batchDrafts(r)
		if err != nil {
			return convmem.WriteBatchResult{}, err
		}
		entries, lastID, sequence, account := len(m.entries), m.lastID, m.sequence, m.account
		var result convmem.WriteBatchResult
		for i, message := range drafts {
			one, err := m.put(message, r.Messages[i].IdempotencyKey)
			if err != nil {
				m.entries, m.lastID, m.sequence, m.account = m.entries[:entries], lastID, sequence, account
				return convmem.WriteBatchResult{}, ofMessage(i, err)
			}
			result.Results = append(result.Results, one)
		}
		return result, nil
	})
}

// batchDrafts checks every message before any is stored.
func batchDrafts(r convmem.WriteBatchRequest) ([]convmem.Message, error) {
	if err := checkRange("messages", len(r.Messages), 1, convmem.MaxBatchMessages); err != nil {
		return nil, err
	}
	var drafts []convmem.Message
	for i, one := range r.Messages {
		message, err := draft(one)
		if err != nil {
			return nil, ofMessage(i, err)
		}
		drafts = append(drafts, message)
	}
	return drafts, nil
}

// ofMessage names the message of a batch that an error is about.
func ofMessage(i int, err error) error {
	var fault *convmem.Error
	errors.As(err, &fault)
	named := *fault
	named.Field = fmt.Sprintf("messages[%d].%s", i, fault.Field)
	return &named
}

// DeleteSession hides all messages of a session.
func (m *Model) DeleteSession(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
	return call(ctx, m, "delete session", func() (convmem.DeleteSessionResult, error) {
		if err := checkLength("session_id", r.SessionID, 1, convmem.MaxSessionIDBytes); err != nil {
			return convmem.DeleteSessionResult{}, err
		}
		all := m.session(r.SessionID)
		for _, e := range all {
			m.sequence++
			e.deletedAt = m.sequence
			m.account.remove(e)
		}
		return convmem.DeleteSessionResult{Deleted: len(all)}, nil
	})
}
