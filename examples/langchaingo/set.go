package langchaingo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/convmem"
	"github.com/tmc/langchaingo/llms"
)

// SetMessages replaces the history: every reader through a History sees the old
// list or the new one, also after a crash. An empty list is Clear. The package
// comment says what it costs and what others may do meanwhile. More than 999 messages
// written anew, 1000 added, or 64 MiB of either are refused with VALIDATION_ERROR. So
// is a message that AddMessage refuses: the error names it, as in "messages[3]".
//
// After a failure the history is the old list or, where only the deletion of what
// was replaced failed or was cancelled, the new one; Messages tells. The next
// SetMessages or Clear deletes what was left.
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
	v, err := h.read(ctx)
	if err != nil {
		return err
	}
	if err := h.delete(ctx, v.hidden...); err != nil {
		return err
	}
	return h.replace(ctx, v.visible, list)
}

// replace makes its one change that counts, and then deletes what that has hidden.
func (h *History) replace(ctx context.Context, old []entry, list []item) error {
	dropped := len(old) - len(list)
	var err error
	switch {
	case begins(list, old):
		return h.write(ctx, list, len(old))
	case dropped < 0 || !begins(list, old[dropped:]):
		err = h.write(ctx, list, 0, convmem.WriteRequest{
			SessionID: h.session, Role: convmem.RoleSystem, Content: "[replaced]", Payload: convmem.Payload{Type: typeEnd},
		})
	case dropped == 1: // one Delete is all or nothing by itself
		return h.delete(ctx, old[0].id)
	default:
		err = h.mark(ctx, old[:dropped])
	}
	if err != nil {
		return err
	}
	// Read again, for what others added before the mark. That may take several
	// pages: what is behind a mark stays behind it.
	v, err := h.collect(ctx)
	if err != nil {
		return err
	}
	return h.delete(ctx, v.hidden...)
}

// begins reports whether a list begins with what was read.
func begins(list []item, old []entry) bool {
	return len(old) <= len(list) && slices.EqualFunc(old, list[:len(old)], func(e entry, it item) bool {
		return bytes.Equal(e.data, it.data)
	})
}

// mark marks the newest of the dropped messages that is still there. Where somebody
// deleted them all, they are gone as they should be.
func (h *History) mark(ctx context.Context, dropped []entry) error {
	for _, e := range slices.Backward(dropped) {
		_, err := h.store.Update(ctx, convmem.UpdateRequest{MessageID: e.id, Payload: &convmem.Payload{Type: typeEnd}})
		if !errors.Is(err, convmem.ErrNotFound) {
			return err
		}
	}
	return nil
}

// write adds a list from one place on, all or nothing, behind other requests.
func (h *History) write(ctx context.Context, list []item, from int, requests ...convmem.WriteRequest) error {
	shift := from - len(requests)
	for i := from; i < len(list); i++ {
		requests = append(requests, h.request(list[i], callIDIn(list[:i], list[i].stored)))
	}
	switch {
	case len(requests) == 0:
		return nil
	case len(requests) > convmem.MaxBatchMessages:
		return invalid("messages", fmt.Sprintf("%d would be written, at most %d written anew or %d added",
			len(list)-from, convmem.MaxBatchMessages-1, convmem.MaxBatchMessages))
	}
	_, err := h.store.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: requests})
	return ofList(err, shift)
}

// callIDIn looks for the call of a result among the messages before it.
func callIDIn(earlier []item, s stored) string {
	if s.isResult() {
		for _, it := range slices.Backward(earlier) {
			if it.stored.calls(s) {
				return it.stored.ownCallID()
			}
		}
	}
	return s.ownCallID()
}

// ofList makes the error of a batch name the message of the caller's list; one of
// the mark counts for the first.
func ofList(err error, shift int) error {
	var e *convmem.Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Field, "messages[") {
		return err
	}
	named, place := *e, 0
	fmt.Sscanf(e.Field, "messages[%d]", &place)
	_, rest, _ := strings.Cut(e.Field, "]")
	named.Field = fmt.Sprintf("messages[%d]%s", max(place+shift, 0), rest)
	return &named
}

// delete goes from the oldest to the newest: a mark goes after all that it hides,
// and read relies on it too. That somebody else deleted a message already is as good.
func (h *History) delete(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		if _, err := h.store.Delete(ctx, convmem.DeleteRequest{MessageID: id, SessionID: h.session}); err != nil {
			return err
		}
	}
	return nil
}
