package openaiagents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/convmem"
	"github.com/nlpodyssey/openai-agents-go/memory"
)

// Store is what a session needs of a store. *[convmem.DB] and
// *[convmem.Namespace] have it.
type Store interface {
	convmem.Store
	convmem.BatchWriter
	convmem.SessionDeleter
}

// The types of payloads. They are in stores: they never change.
const (
	itemType   = "openaiagents.item"
	poppedType = "openaiagents.popped" // claimed by PopItem, gone for every reader
)

// Session is a memory.Session in a store. Any number of goroutines may use it at
// once. It has no state but the store's and needs no closing.
//
// Errors of the store come back wrapped: errors.As finds the *[convmem.Error] and
// [convmem.CodeOf] its code. No error holds the text of an item.
type Session struct {
	store Store
	id    string
}

var _ memory.Session = (*Session)(nil)

// NewSession returns the session of an id of 1 to 256 bytes of UTF-8. It exists as
// soon as it has an item; the id of one that exists continues it. With a wrong id
// every method that reads or changes the session fails with VALIDATION_ERROR. The
// store stays the caller's, who closes it.
func NewSession(store Store, sessionID string) *Session {
	return &Session{store: store, id: sessionID}
}

// SessionID returns the id as it was given.
func (s *Session) SessionID(context.Context) string { return s.id }

// GetItems returns the items in the order in which they were added: with a limit of
// 0 or less all of them, otherwise the latest so many. Of those, results whose call
// is not among them are left out, because a model refuses them, so that there may be
// fewer. It returns nil for an empty session. An item that cannot be decoded is an
// error with code CORRUPT_STORE that names its message.
func (s *Session) GetItems(ctx context.Context, limit int) ([]memory.TResponseInputItem, error) {
	messages, err := s.latest(ctx, limit)
	if err != nil {
		return nil, failed("get items", err)
	}
	if limit > 0 {
		messages = withoutCutResults(messages)
	}
	var items []memory.TResponseInputItem
	for _, message := range messages {
		item, err := decode(message)
		if err != nil {
			return nil, failed("get items", err)
		}
		items = append(items, item)
	}
	return items, nil
}

// latest returns the messages of the latest items, oldest first. It reads newest
// first even when it reads all, so that what is added meanwhile is not seen in part.
func (s *Session) latest(ctx context.Context, limit int) ([]convmem.Message, error) {
	r := convmem.HistoryRequest{SessionID: s.id, Order: convmem.OrderDescending, Limit: convmem.MaxReadLimit}
	if limit > 0 {
		r.Limit = min(limit, convmem.MaxReadLimit)
	}
	var messages []convmem.Message
	for message, err := range convmem.AllMessages(ctx, s.store, r) {
		if err != nil {
			return nil, err
		}
		if message.Payload.Type == poppedType {
			continue
		}
		if messages = append(messages, message); len(messages) == limit {
			break
		}
	}
	slices.Reverse(messages)
	return messages, nil
}

// withoutCutResults leaves out the results of calls that do not stand before them.
// Messages of other programs are read as text and stay.
func withoutCutResults(messages []convmem.Message) []convmem.Message {
	called := map[string]bool{}
	return slices.DeleteFunc(messages, func(m convmem.Message) bool {
		if m.Role == convmem.RoleAssistant && m.Payload.Type == itemType {
			called[m.Metadata.ToolCallID] = true
		}
		id := m.Metadata.ToolCallID
		return m.Role == convmem.RoleTool && m.Payload.Type == itemType && id != "" && !called[id]
	})
}

// AddItems adds items behind those that are there: all of them, or none when it
// fails. Nobody sees a part of them added, and no other item comes between. It takes up
// to 1000 items; none is no error and no write. The items stay the caller's.
func (s *Session) AddItems(ctx context.Context, items []memory.TResponseInputItem) error {
	if len(items) == 0 {
		return nil
	}
	batch := convmem.WriteBatchRequest{Messages: make([]convmem.WriteRequest, len(items))}
	for i, item := range items {
		var err error
		if batch.Messages[i], err = encode(item); err != nil {
			return failed("add items", &convmem.Error{
				Code: convmem.CodeValidation, Field: fmt.Sprintf("items[%d]", i), Message: err.Error(),
			})
		}
		batch.Messages[i].SessionID = s.id
	}
	if _, err := s.store.WriteBatch(ctx, batch); err != nil {
		return failed("add items", ofItems(err))
	}
	return nil
}

// ofItems names an item where the store names a message of the batch.
func ofItems(err error) error {
	var e *convmem.Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Field, "messages") {
		return err
	}
	named := *e
	named.Field = "items" + strings.TrimPrefix(e.Field, "messages")
	if strings.HasSuffix(e.Field, ".session_id") {
		named.Field = "session_id"
	}
	return &named
}

// ClearSession deletes everything in the session, messages of other programs too.
// It deletes all or, when it fails, nothing. An empty session is no error.
func (s *Session) ClearSession(ctx context.Context) error {
	if _, err := s.store.DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: s.id}); err != nil {
		return failed("clear session", err)
	}
	return nil
}

func failed(what string, err error) error { return fmt.Errorf("openaiagents: %s: %w", what, err) }
