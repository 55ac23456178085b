package langchaingo

import (
	"context"
	"fmt"

	"example.com/convmem"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"
)

// Store is what a History needs of a store. *[convmem.DB] and
// *[convmem.Namespace] have it.
type Store interface {
	convmem.Store
	convmem.BatchWriter
	convmem.SessionDeleter
}

// History is the chat history of one session. It holds nothing but the store and
// the name: any number of them may stand for one session, and any number of
// goroutines may use one.
type History struct {
	store   Store
	session string
}

var _ schema.ChatMessageHistory = (*History)(nil)

// NewHistory returns the history of a session of 1 to [convmem.MaxSessionIDBytes]
// bytes of UTF-8. It reads and writes nothing: a session that does not exist is an
// empty history, and every method fails with VALIDATION_ERROR where the id is wrong.
// The store stays the caller's to close.
func NewHistory(store Store, sessionID string) *History {
	return &History{store: store, session: sessionID}
}

// AddUserMessage adds a llms.HumanChatMessage, as AddMessage does.
func (h *History) AddUserMessage(ctx context.Context, text string) error {
	return h.AddMessage(ctx, llms.HumanChatMessage{Content: text})
}

// AddAIMessage adds a llms.AIChatMessage, as AddMessage does.
func (h *History) AddAIMessage(ctx context.Context, text string) error {
	return h.AddMessage(ctx, llms.AIChatMessage{Content: text})
}

// AddMessage adds a message at the end. It is on stable storage when the call
// returns. A message that is nil, of a type that is none of the six of package llms,
// beyond a limit of the package comment or not valid UTF-8 is refused with
// VALIDATION_ERROR.
func (h *History) AddMessage(ctx context.Context, message llms.ChatMessage) error {
	return failed("add message", h.add(ctx, message))
}

func (h *History) add(ctx context.Context, message llms.ChatMessage) error {
	it, err := newItem("message", message)
	if err != nil {
		return err
	}
	callID, err := h.callID(ctx, it.stored)
	if err != nil {
		return err
	}
	_, err = h.store.Write(ctx, h.request(it, callID))
	return err
}

// callID looks for the call of a result among the newest messages. What does not
// decode calls nothing.
func (h *History) callID(ctx context.Context, s stored) (string, error) {
	if !s.isResult() {
		return s.ownCallID(), nil
	}
	seen := 0
	newest := convmem.HistoryRequest{SessionID: h.session, Order: convmem.OrderDescending, Limit: recentMessages}
	for m, err := range convmem.AllMessages(ctx, h.store, newest) {
		if err != nil {
			return "", err
		}
		if earlier, err := load(m); err == nil && earlier.calls(s) {
			return earlier.ownCallID(), nil
		}
		if seen++; seen == recentMessages {
			break
		}
	}
	return s.ownCallID(), nil
}

func (h *History) request(it item, callID string) convmem.WriteRequest {
	return convmem.WriteRequest{
		SessionID: h.session,
		Role:      it.stored.role(),
		Content:   it.stored.text(),
		Metadata:  convmem.MetadataPatch{ToolCallID: &callID},
		Payload:   convmem.Payload{Type: typeMessage, Data: it.data},
	}
}

// Messages returns the history, oldest first, in memory of the caller's own; it is
// empty and not nil for a session that does not exist.
func (h *History) Messages(ctx context.Context) ([]llms.ChatMessage, error) {
	v, err := h.read(ctx)
	if err != nil {
		return nil, failed("messages", err)
	}
	messages := make([]llms.ChatMessage, len(v.visible))
	for i, e := range v.visible {
		messages[i] = e.stored.message()
	}
	return messages, nil
}

// Clear deletes every message of the session at once, those of other programs
// included.
func (h *History) Clear(ctx context.Context) error {
	return failed("clear", h.clear(ctx))
}

func (h *History) clear(ctx context.Context) error {
	_, err := h.store.DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: h.session})
	return err
}

// failed names the operation of an error.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("langchaingo: %s: %w", what, err)
}
