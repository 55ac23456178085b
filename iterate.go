package convmem

import (
	"context"
	"errors"
	"iter"
)

// AllMessages ranges over a session's history in any Store, page after page, in
// the order of the request:
//
//	for message, err := range convmem.AllMessages(ctx, s, convmem.HistoryRequest{SessionID: "monday"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(message.Content)
//	}
//
// r.Limit is the size of a page and no bound of the run, r.Cursor is where the
// run begins, and the rest of r holds for every page. The run visits what
// [HistoryRequest] promises: each message that stays live exactly once.
//
// A run costs one Read for each page, made when its first message is wanted, and
// holds one page in memory. Leaving the loop early reads no further; ranging
// again begins again at r.Cursor.
//
// An error comes with the zero Message. It ends the run, unless its NextCursor is
// set: then one message is damaged, and a loop that goes on gets those behind it.
// A context that ends does so as the error of the next page.
//
// The run ends whatever the Store does. One that answers an empty page with a
// cursor, or whose cursors lead back to where the run has been, is broken: it
// gives an error of [CodeInternal]: at once for a page without messages or whose
// cursor is the one it was read with, otherwise after at most four times as many
// pages as there are on the circle and on the way to it.
func AllMessages(ctx context.Context, s Store, r HistoryRequest) iter.Seq2[Message, error] {
	return follow(r.Cursor, func(cursor string) ([]Message, string, error) {
		r := r
		r.Cursor = cursor
		page, err := History(ctx, s, r)
		return page.Messages, page.NextCursor, err
	})
}

// AllSessions ranges over the sessions of any Store, newest activity first, as
// [AllMessages] does over messages: r.Limit is the size of a page, r.Cursor where
// the run begins, and cost, errors and the end of a run are the same. The run
// visits what [SessionsResult] promises: sessions that there were at its first
// page and that stay, each once.
func AllSessions(ctx context.Context, s Store, r SessionsRequest) iter.Seq2[SessionInfo, error] {
	return follow(r.Cursor, func(cursor string) ([]SessionInfo, string, error) {
		r := r
		r.Cursor = cursor
		page, err := Sessions(ctx, s, r)
		return page.Sessions, page.NextCursor, err
	})
}

// follow ranges over the items of all pages from a cursor on.
func follow[V any](start string, read func(cursor string) ([]V, string, error)) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		circle := circle{seen: start, room: 1}
		for cursor := start; ; {
			items, next, err := read(cursor)
			if err != nil {
				next = behindDamage(err)
				if !yield(none, err) {
					return
				}
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			if err == nil && len(items) == 0 || next == cursor || circle.closes(next) {
				yield(none, errNoProgress())
				return
			}
			cursor = next
		}
	}
}

func errNoProgress() error {
	return &Error{Op: "read", Code: CodeInternal, Message: "the store's pages make no progress: the cursor of one leads nowhere or back"}
}

// behindDamage returns the cursor that goes on behind a damaged message, or "".
func behindDamage(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.NextCursor
	}
	return ""
}

// circle notices cursors that go round, with one cursor in memory: it compares
// each with an earlier one, which it moves on after 1, 2, 4, ... steps. Once the
// steps outnumber both the circle and the way to it, the two must meet.
type circle struct {
	seen        string
	steps, room int
}

func (c *circle) closes(cursor string) bool {
	if cursor == c.seen {
		return true
	}
	if c.steps++; c.steps == c.room {
		c.seen, c.steps, c.room = cursor, 0, 2*c.room
	}
	return false
}
