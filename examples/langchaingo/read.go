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
	// typeEnd marks what SetMessages replaces: a message of this type and all
	// before it are gone.
	typeEnd = "langchaingo.end"
)

const (
	maxAttempts    = 10  // to read a history that others change meanwhile
	recentMessages = 100 // among which AddMessage looks for a call
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
	if m.Payload.Type != typeMessage {
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
	id string
}

// view is the session, oldest first.
type view struct {
	hidden  []string // ids up to the newest mark
	visible []entry
	begin   string // the id of the first visible message
	pages   int
}

// read returns the history as it was at one time. One page is that by itself. Of
// several, a SetMessages may delete what it replaced in between. It deletes the
// oldest first, so when the history still begins where it began before, everything
// behind was there.
func (h *History) read(ctx context.Context) (view, error) {
	var before view
	for attempt := range maxAttempts {
		now, err := h.collect(ctx)
		if err != nil {
			return view{}, err
		}
		if now.pages == 1 || attempt > 0 && now.begin == before.begin {
			return now, nil
		}
		before = now
	}
	return view{}, &convmem.Error{Op: "read", Code: convmem.CodeBusy, Message: "the history changed through every attempt to read it"}
}

// collect reads the session once, newest first.
func (h *History) collect(ctx context.Context) (view, error) {
	var v view
	ended := false
	reads := &countedReads{Store: h.store}
	all := convmem.HistoryRequest{SessionID: h.session, Order: convmem.OrderDescending, Limit: convmem.MaxReadLimit}
	for m, err := range convmem.AllMessages(ctx, reads, all) {
		if err != nil {
			return view{}, err
		}
		if ended = ended || m.Payload.Type == typeEnd; ended {
			v.hidden = append(v.hidden, m.ID)
			continue
		}
		s, err := load(m)
		if err != nil {
			return view{}, err
		}
		v.visible, v.begin = append(v.visible, entry{item{s, s.encode()}, m.ID}), m.ID
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
