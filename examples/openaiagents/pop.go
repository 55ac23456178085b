package openaiagents

import (
	"context"

	"example.com/convmem"
	"github.com/nlpodyssey/openai-agents-go/memory"
)

// popPageSize is how many of the newest messages PopItem reads at once. More than
// one, because those that others claimed and have not deleted yet come first.
const popPageSize = 8

// PopItem removes the newest item and returns it, or nil when there is none. Of
// callers in any number of processes one gets the item. It begins again when
// another caller changes the newest item at the same time, and ends with the
// context. An item that cannot be decoded stays: it is an error, as in GetItems.
func (s *Session) PopItem(ctx context.Context) (*memory.TResponseInputItem, error) {
	for {
		newest, err := s.newest(ctx)
		if newest == nil || err != nil {
			return nil, popFailed(err)
		}
		item, err := decode(*newest)
		if err != nil {
			return nil, popFailed(err)
		}
		claimed, err := s.claim(ctx, *newest)
		if err != nil {
			return nil, popFailed(err)
		}
		if claimed {
			// The item is the caller's now, whether this works or not: nobody reads a
			// claimed message, and a later call deletes it.
			_ = s.remove(ctx, newest.ID)
			return &item, nil
		}
	}
}

func popFailed(err error) error {
	if err == nil {
		return nil
	}
	return failed("pop item", err)
}

// newest returns the newest message that nobody claimed, or nil. It deletes those
// that are newer: whoever claimed them may have died since.
func (s *Session) newest(ctx context.Context) (*convmem.Message, error) {
	r := convmem.HistoryRequest{SessionID: s.id, Order: convmem.OrderDescending, Limit: popPageSize}
	for message, err := range convmem.AllMessages(ctx, s.store, r) {
		if err != nil {
			return nil, err
		}
		if message.Payload.Type != poppedType {
			return &message, nil
		}
		if err := s.remove(ctx, message.ID); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// poppedText stands where the text of a claimed item was, which nobody is to find.
const poppedText = "[popped]"

// claim marks a message as popped. It reports false when the message is not any
// more as it was read.
func (s *Session) claim(ctx context.Context, m convmem.Message) (bool, error) {
	_, err := s.store.Update(ctx, convmem.UpdateRequest{
		MessageID: m.ID, ExpectedRevision: m.Revision,
		Content: new(poppedText), Payload: &convmem.Payload{Type: poppedType},
	})
	switch convmem.CodeOf(err) {
	case convmem.CodeConflict, convmem.CodeNotFound:
		return false, nil
	}
	return err == nil, err
}

func (s *Session) remove(ctx context.Context, id string) error {
	_, err := s.store.Delete(ctx, convmem.DeleteRequest{MessageID: id})
	return err
}
