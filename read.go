package convmem

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"example.com/convmem/store"
	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/oklog/ulid/v2"
)

// History reads one page of a session from any Store.
func History(ctx context.Context, s Store, r HistoryRequest) (HistoryResult, error) {
	result, err := s.Read(ctx, ReadRequest{History: &r})
	return only(result.History, err)
}

// Context reads a message and its surroundings from any Store.
func Context(ctx context.Context, s Store, r ContextRequest) (ContextResult, error) {
	result, err := s.Read(ctx, ReadRequest{Context: &r})
	return only(result.Context, err)
}

// Sessions reads one page of the list of sessions from any Store.
func Sessions(ctx context.Context, s Store, r SessionsRequest) (SessionsResult, error) {
	result, err := s.Read(ctx, ReadRequest{Sessions: &r})
	return only(result.Sessions, err)
}

// only returns the view that was asked for. A Store that answers without it is
// broken, and must not look like an empty page.
func only[V any](view *V, err error) (V, error) {
	var none V
	switch {
	case err != nil:
		return none, err
	case view == nil:
		return none, &Error{Op: "read", Code: CodeInternal, Message: "the store's answer lacks the view that was asked for"}
	}
	return *view, nil
}

// Read implements [Store]. All of a result is of one moment.
func (db *DB) Read(ctx context.Context, r ReadRequest) (ReadResult, error) {
	view, err := r.view()
	if err != nil {
		return ReadResult{}, fail("read", err)
	}
	var result ReadResult
	switch view {
	case "history":
		result.History, err = db.history(ctx, *r.History)
	case "context":
		result.Context, err = db.context(ctx, *r.Context)
	default:
		result.Sessions, err = db.sessions(ctx, *r.Sessions)
	}
	if err != nil {
		return ReadResult{}, fail("read", err)
	}
	return result, nil
}

// moment is one unchanging state of the store, as one read sees it.
type moment struct {
	ctx   context.Context
	view  *store.View
	space *space
	cut   int // characters of each content, 0 for all
}

// at runs fn on the present state, and again when it was taken away meanwhile:
// fn begins anew each time. cut is the request's MaxContentCharacters.
func (db *DB) at(ctx context.Context, cut int, fn func(*moment) error) error {
	return db.log.View(ctx, func(v *store.View) error {
		return fn(&moment{ctx: ctx, view: v, space: v.Sink().(*catalog).space(db.namespace), cut: cut})
	})
}

// load reads a live message and its payload as stored: one read of the disk.
func load(from interface {
	Get(ulid.ULID) ([]byte, error)
}, id ulid.ULID) (record, []byte, error) {
	payload, err := from.Get(id)
	if err != nil {
		return record{}, nil, err
	}
	r, err := decodeRecord(id, payload)
	if err != nil { // the catalog has decoded the same bytes before
		return record{}, nil, &Error{Code: CodeCorrupt, Message: fmt.Sprintf("message %s: %v", id, err), Err: err}
	}
	return r, payload, nil
}

// load reads a live message whole, unless the call was cancelled.
func (m *moment) load(id ulid.ULID) (Message, error) {
	if err := m.ctx.Err(); err != nil {
		return Message{}, err
	}
	r, _, err := load(m.view, id)
	message := r.complete()
	if len(message.Payload.Data) > 0 {
		message.detach()
	}
	return message, err
}

// message reads a live message, its content cut as the request asked.
func (m *moment) message(id ulid.ULID) (Message, error) {
	message, err := m.load(id)
	if err != nil {
		return Message{}, err
	}
	if kept := cutCharacters(message.Content, m.cut); len(kept) < len(message.Content) {
		message.ContentTruncated, message.ContentBytes = true, len(message.Content)
		message.Content = kept
		message.detach()
	}
	return message, nil
}

// detach copies every text of a decoded message. All of them are parts of one
// string, the whole payload, which would stay in memory for the sake of any.
func (m *Message) detach() {
	for _, text := range []*string{&m.SessionID, &m.Content, &m.Metadata.ToolCallID, &m.Metadata.Summary, &m.Payload.Type} {
		*text = strings.Clone(*text)
	}
	for i, tag := range m.Metadata.Tags {
		m.Metadata.Tags[i] = strings.Clone(tag)
	}
}

// cutCharacters keeps the longest beginning of whole grapheme clusters with at
// most limit Unicode code points; 0 keeps all. A first cluster that alone is
// longer leaves nothing.
func cutCharacters(text string, limit int) string {
	if limit == 0 || len(text) <= limit {
		return text
	}
	count := 0
	for clusters := graphemes.FromString(text); clusters.Next(); {
		count += utf8.RuneCountInString(clusters.Value())
		if count > limit {
			return text[:clusters.Start()]
		}
	}
	return text
}

// cutBytes keeps the longest beginning of whole characters with at most limit
// bytes.
func cutBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// allowance is the size that a result may still grow by, in bytes of content,
// metadata and payloads.
type allowance struct {
	left  int
	begun bool
}

// take reports whether size more bytes fit, and then counts them. The first
// item always fits: a result that could not hold it could never be had.
func (a *allowance) take(size int) bool {
	if a.begun && size > a.left {
		return false
	}
	a.begun = true
	a.left -= size
	return true
}

// size is what a message counts against the allowance.
func (m *Message) size() int {
	d := &m.Metadata
	size := len(m.Content) + len(m.Payload.Type) + len(m.Payload.Data) + len(m.SessionID) + len(d.ToolCallID) + len(d.Summary) +
		ulid.EncodedSize*(1+len(d.Relations)+len(d.SourceMessageIDs))
	for _, tag := range d.Tags {
		size += len(tag)
	}
	for _, relation := range d.Relations {
		size += len(relation.Type)
	}
	return size
}
