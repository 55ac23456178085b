package langchaingo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/convmem"
	"github.com/tmc/langchaingo/llms"
)

// SetMessages replaces the history, all or nothing: every reader sees the old list
// or the new one, also after a crash. An empty list is Clear. What the history
// already has is not written again; the package comment says what that costs. A list
// of which more than 1000 messages or 64 MiB must be written is refused with
// VALIDATION_ERROR, and so is one with a message that AddMessage refuses: the error
// names it, as in "messages[3]".
//
// After a failure the history is the old list or, where only the deletion of what
// was replaced failed, the new one; Messages tells. The next SetMessages or Clear
// deletes what was left.
func (h *History) SetMessages(ctx context.Context, messages []llms.ChatMessage) error {
	return failed("set messages", h.set(ctx, messages))
}

func (h *History) set(ctx context.Context, messages []llms.ChatMessage) error {
	list := make([]item, len(messages))
	for i, message := range messages {
		var err error
		if list[i], err = newItem(fmt.Sprintf("messages[%d]", i), message); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return h.clear(ctx)
	}
	var err error
	for range maxAttempts {
		err = h.replace(ctx, list)
		if !errors.Is(err, convmem.ErrConflict) && !errors.Is(err, convmem.ErrNotFound) {
			break
		}
	}
	return err
}

// replace fails with CONFLICT or NOT_FOUND, and has changed nothing then, where
// somebody changed the message that was to begin the history.
func (h *History) replace(ctx context.Context, list []item) error {
	v, err := h.read(ctx)
	if err != nil {
		return err
	}
	// First, while the mark before which they stand is surely there.
	if err := h.delete(ctx, v.hidden); err != nil {
		return err
	}
	old, dropped := v.visible, len(v.visible)-len(list)
	if begins(list, old) {
		return h.append(ctx, old, list[len(old):])
	}
	if dropped < 0 || !begins(list, old[dropped:]) || !canBegin(old[dropped], dropped) {
		dropped = len(old)
		err = h.write(ctx, nil, list, typeFirst)
	} else if dropped > 1 {
		err = h.begin(ctx, old[dropped])
	}
	if err != nil {
		return err
	}
	return h.delete(ctx, idsOf(old[:dropped]))
}

// begins reports whether a list begins with what was read.
func begins(list []item, old []entry) bool {
	return len(old) <= len(list) && slices.EqualFunc(old, list[:len(old)], func(e entry, it item) bool {
		return bytes.Equal(e.data, it.data)
	})
}

// canBegin reports whether an entry can be the first without the dropped ones. One
// message goes with one Delete, which needs no mark; else the mark needs a payload
// that is not another program's.
func canBegin(e entry, dropped int) bool {
	switch e.payload.Type {
	case typeMessage, typeFirst:
		return true
	case "":
		return len(e.payload.Data) == 0 || dropped == 1
	}
	return dropped == 1
}

// begin marks an entry, as it was read, as the first.
func (h *History) begin(ctx context.Context, e entry) error {
	_, err := h.store.Update(ctx, convmem.UpdateRequest{
		MessageID: e.id, ExpectedRevision: e.revision,
		Payload: &convmem.Payload{Type: typeFirst, Data: e.payload.Data},
	})
	return err
}

func (h *History) append(ctx context.Context, old []entry, list []item) error {
	if len(list) == 0 {
		return nil
	}
	earlier := make([]stored, len(old))
	for i, e := range old {
		earlier[i] = e.stored
	}
	return h.write(ctx, earlier, list, typeMessage)
}

// write adds a list behind what is there, all or nothing; first is the payload
// type of its first message.
func (h *History) write(ctx context.Context, earlier []stored, list []item, first string) error {
	requests := make([]convmem.WriteRequest, len(list))
	payloadType := first
	for i, it := range list {
		requests[i] = h.request(it, earlier, payloadType)
		earlier, payloadType = append(earlier, it.stored), typeMessage
	}
	_, err := h.store.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: requests})
	return err
}

// delete goes from the oldest to the newest, which read relies on. That somebody
// else deleted a message already is as good.
func (h *History) delete(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if _, err := h.store.Delete(ctx, convmem.DeleteRequest{MessageID: id, SessionID: h.session}); err != nil {
			return err
		}
	}
	return nil
}

func idsOf(entries []entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	return ids
}
