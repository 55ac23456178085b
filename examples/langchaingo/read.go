package langchaingo

import (
	"context"
	"slices"

	"example.com/convmem"
	"github.com/tmc/langchaingo/llms"
)

// Types of payloads; they never change.
const (
	// typeMessage is a message of this package.
	typeMessage = "langchaingo.message"
	// typeFirst is one with which the history begins: of several the newest
	// counts, and what stands before it is gone. Without data it marks the message of
	// another program, which had no payload.
	typeFirst = "langchaingo.message.first"
)

const (
	maxAttempts = 10  // to read or to replace a history that others change meanwhile
	recentCalls = 100 // messages in which AddMessage looks for a call
)

// FromMessage returns the chat message that a message of a store stands for, such
// as one of a [convmem.Window] or a hit of a search. A message that another program
// wrote is plain text of its role. It fails with CORRUPT_STORE where the payload is
// of this package but does not decode.
func FromMessage(m convmem.Message) (llms.ChatMessage, error) {
	s, err := load(m)
	if err != nil {
		return nil, failed("from message", err)
	}
	return s.message(), nil
}

func load(m convmem.Message) (stored, error) {
	ours := m.Payload.Type == typeMessage || m.Payload.Type == typeFirst && len(m.Payload.Data) > 0
	if !ours {
		return plain(m), nil
	}
	s, err := decode(m.Payload.Data)
	if err != nil { // its text may quote the payload
		return stored{}, &convmem.Error{
			Op: "read", Code: convmem.CodeCorrupt,
			Message: "the payload of message " + m.ID + " is no chat message that this version knows",
		}
	}
	return s, nil
}

// plain is a message of another program.
func plain(m convmem.Message) stored {
	switch m.Role {
	case convmem.RoleAssistant:
		return stored{Type: typeAI, Content: m.Content}
	case convmem.RoleSystem:
		return stored{Type: typeSystem, Content: m.Content}
	case convmem.RoleTool:
		return stored{Type: typeTool, Content: m.Content, ID: m.Metadata.ToolCallID}
	}
	return stored{Type: typeHuman, Content: m.Content}
}

// entry is a message of the history as it was read.
type entry struct {
	item
	id       string
	revision int64
	payload  convmem.Payload
}

func newEntry(m convmem.Message) (entry, error) {
	s, err := load(m)
	if err != nil {
		return entry{}, err
	}
	data, err := s.encode()
	return entry{item{s, data}, m.ID, m.Revision, m.Payload}, err
}

// view is the session, oldest first.
type view struct {
	hidden  []string // ids before the history, left behind by a SetMessages that died
	visible []entry
	pages   int
}

func (v view) begin() string {
	if len(v.visible) == 0 {
		return ""
	}
	return v.visible[0].id
}

// read returns the history as it was at one time. One page is that by itself. Of
// several, a SetMessages may delete what it replaced in between. It deletes the
// oldest first, so when the history still begins where it began before, everything
// behind was there.
func (h *History) read(ctx context.Context) (view, error) {
	before, err := h.collect(ctx)
	for range maxAttempts {
		if err != nil || before.pages == 1 {
			return before, err
		}
		var now view
		if now, err = h.collect(ctx); err == nil && now.begin() == before.begin() {
			return now, nil
		}
		before = now
	}
	return view{}, &convmem.Error{Op: "read", Code: convmem.CodeBusy, Message: "the history changed through every attempt to read it"}
}

// collect reads the session once, newest first: the first mark that it meets is
// the one that counts.
func (h *History) collect(ctx context.Context) (view, error) {
	var v view
	begun := false
	reads := &countedReads{Store: h.store}
	all := convmem.HistoryRequest{SessionID: h.session, Order: convmem.OrderDescending, Limit: convmem.MaxReadLimit}
	for m, err := range convmem.AllMessages(ctx, reads, all) {
		if err != nil {
			return view{}, err
		}
		if begun {
			v.hidden = append(v.hidden, m.ID)
			continue
		}
		e, err := newEntry(m)
		if err != nil {
			return view{}, err
		}
		v.visible = append(v.visible, e)
		begun = m.Payload.Type == typeFirst
	}
	slices.Reverse(v.hidden)
	slices.Reverse(v.visible)
	v.pages = reads.pages
	return v, nil
}

// countedReads counts pages.
type countedReads struct {
	convmem.Store
	pages int
}

func (c *countedReads) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	c.pages++
	return c.Store.Read(ctx, r)
}

// recent returns the newest messages, oldest first, for what they call. What does
// not decode calls nothing.
func (h *History) recent(ctx context.Context) ([]stored, error) {
	page, err := convmem.History(ctx, h.store, convmem.HistoryRequest{
		SessionID: h.session, Order: convmem.OrderDescending, Limit: recentCalls,
	})
	if err != nil {
		return nil, err
	}
	var all []stored
	for _, m := range slices.Backward(page.Messages) {
		if s, err := load(m); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}
