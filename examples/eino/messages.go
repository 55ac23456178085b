package eino

import (
	"context"
	"fmt"

	"example.com/convmem"
	"github.com/cloudwego/eino/schema"
)

// Messages keeps conversations. It may be used by many goroutines at once.
type Messages struct{ store Store }

// NewMessages returns the conversations in a store. It reads and writes nothing yet.
func NewMessages(store Store) *Messages { return &Messages{store: store} }

// Append adds up to 1000 messages to the end of a session of 1 to 256 bytes: all of
// them, in their order and with no other message between them, or none. Without
// messages it does nothing. The messages are not changed and not kept.
//
// Roles are the four of eino. A nil message, one whose JSON could not be read again or
// that holds text that is not UTF-8, and what exceeds a limit of the package fail with
// [convmem.CodeValidation]; the error names it, as in "messages[3]". With a result
// whose call is in the session, a damaged message between them makes Append fail with
// [convmem.CodeCorrupt].
func (m *Messages) Append(ctx context.Context, sessionID string, messages ...*schema.Message) error {
	if len(messages) == 0 {
		return nil
	}
	requests := make([]convmem.WriteRequest, len(messages))
	for i, message := range messages {
		request, err := encode(message, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return fmt.Errorf("eino: append: %w", err)
		}
		request.SessionID = sessionID
		requests[i] = request
	}
	if err := m.tieCalls(ctx, sessionID, messages, requests); err != nil {
		return fmt.Errorf("eino: append: %w", err)
	}
	if _, err := m.store.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: requests}); err != nil {
		return fmt.Errorf("eino: append: %w", err)
	}
	return nil
}

// All returns the whole session, oldest message first; none for a session that does
// not exist. A damaged message makes it fail with [convmem.CodeCorrupt].
func (m *Messages) All(ctx context.Context, sessionID string) ([]*schema.Message, error) {
	var all []*schema.Message
	request := convmem.HistoryRequest{SessionID: sessionID}
	for stored, err := range convmem.AllMessages(ctx, m.store, request) {
		if err != nil {
			return nil, fmt.Errorf("eino: all: %w", err)
		}
		message, err := decode(stored)
		if err != nil {
			return nil, fmt.Errorf("eino: all: %w", err)
		}
		all = append(all, message)
	}
	return all, nil
}

// Window bounds what [Messages.Latest] returns. At least one of MaxMessages and
// MaxTokens must be given.
type Window struct {
	MaxMessages int // 0: no bound
	MaxTokens   int // 0: no bound
	// CountTokens counts what a message takes of MaxTokens, 0 or more; nil means
	// [EstimateTokens]. The same message must always count the same.
	CountTokens func(*schema.Message) int
	// KeepSystem puts the system messages with which the session begins in front.
	// They count towards the bounds.
	KeepSystem bool
	// KeepOpenCalls keeps messages with calls that lack results, with the results
	// they have, for a caller that is about to add the others.
	KeepOpenCalls bool
}

// Latest returns the newest messages of a session within the bounds, in the order of
// the session. A message with tool calls is there with one result for each call, or it
// is left out with all its results. A result that answers no call, or one that has a
// result already, is left out always. Other messages may stand between a call and its
// results where they do so in the session, which some models refuse.
//
// [convmem.Window] says exactly what fits. What is left out because a message lacks
// some of its results, or a call has several, takes its room all the same.
func (m *Messages) Latest(ctx context.Context, sessionID string, w Window) ([]*schema.Message, error) {
	count := w.CountTokens
	if count == nil {
		count = EstimateTokens
	}
	window, err := convmem.Window(ctx, m.store, convmem.WindowRequest{
		SessionID: sessionID, MaxMessages: w.MaxMessages, MaxTokens: w.MaxTokens,
		KeepSystem: w.KeepSystem, KeepOpenCalls: w.KeepOpenCalls,
		CountTokens: func(stored convmem.Message) int {
			message, err := decode(stored)
			if err != nil {
				return 0 // so it fits, and is reported below if it is taken
			}
			return count(message)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("eino: latest: %w", err)
	}
	latest := make([]*schema.Message, len(window.Messages))
	for i, stored := range window.Messages {
		if latest[i], err = decode(stored); err != nil {
			return nil, fmt.Errorf("eino: latest: %w", err)
		}
	}
	return onlyWholeGroups(window.Messages, latest, w.KeepOpenCalls), nil
}

// Hit is a message that was found.
type Hit struct {
	SessionID string
	MessageID string // convmem's, for convmem.Context and others
	Score     float64
	Message   *schema.Message
}

// SearchResult holds hits, best first.
type SearchResult struct {
	Hits []Hit
	// Truncated is true when the store's size budget or a damaged message cut hits.
	Truncated bool
}

// Search finds messages by their text, as convmem's Search does: in the session, or
// in all for "". The limit is 1 to 100, and 0 means 20. Checkpoints in the same
// namespace are left out of the hits and count towards the limit.
func (m *Messages) Search(ctx context.Context, query, sessionID string, limit int) (SearchResult, error) {
	found, err := m.store.Search(ctx, convmem.SearchRequest{Query: query, SessionID: sessionID, Limit: limit})
	if err != nil {
		return SearchResult{}, fmt.Errorf("eino: search: %w", err)
	}
	result := SearchResult{Truncated: found.Truncated}
	for _, hit := range found.Hits {
		if hit.Payload.Type == checkPointType {
			continue
		}
		message, err := decode(hit.Message)
		if err != nil {
			return SearchResult{}, fmt.Errorf("eino: search: %w", err)
		}
		result.Hits = append(result.Hits, Hit{hit.SessionID, hit.ID, hit.Score, message})
	}
	return result, nil
}

// Clear deletes everything in the session at once, or nothing of it. That there is
// nothing is no error.
func (m *Messages) Clear(ctx context.Context, sessionID string) error {
	if _, err := m.store.DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: sessionID}); err != nil {
		return fmt.Errorf("eino: clear: %w", err)
	}
	return nil
}
