// Package adk gives agents of Google's Agent Development Kit a memory that lasts:
// a memory.Service on a convmem store.
//
//	db, err := convmem.Open(ctx, dir, nil)
//	...
//	runner.New(runner.Config{MemoryService: adk.NewMemory(db), ...})
//
// When AddSessionToMemory has returned, its events are on stable storage: they
// survive kill -9, power cuts and restarts, and any number of processes may share
// the directory. Queries find words in any language, Japanese, Chinese and Korean
// included, inside sentences and beside punctuation; memories come best first, at
// most [MaxMemories] of them. Each user of each app has a namespace of their own,
// see [Namespace], so that nobody is shown, or ranked by, what others said.
//
// A session may be added as often as you like. An event, known by its id and its
// session, is stored once, whoever adds it and however often. ADK never changes an
// event; one that was added before with other words stays as it was, and is reported.
//
// Memory is of text. Events without any are left out, and so are partial ones and
// the bytes of images and other inline data, which would go to the model again with
// each memory. Numbers in an event's metadata come back as float64, as from any JSON,
// and its time in UTC, to the millisecond. The text of an event holds up to 1 MiB, and
// so does the JSON that is kept of it; ids of events and sessions up to 256 bytes, and
// the ids of app and user together 255.
//
// To forget what a user said, use [convmem.Forget] with db.Namespace of [Namespace];
// to look at it, examples/convmem with -namespace.
package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/convmem"
	"google.golang.org/adk/memory"
	"google.golang.org/adk/session"
)

// MaxMemories is how many memories a search returns at most: ADK's requests name
// no limit, and a model reads all it is given.
const MaxMemories = 10

// Memory is a [memory.Service] that keeps everything in a convmem store. It may be
// used by many goroutines at once.
type Memory struct {
	db *convmem.DB
}

var _ memory.Service = (*Memory)(nil)

// NewMemory returns a memory in db, which the caller closes.
func NewMemory(db *convmem.DB) *Memory {
	return &Memory{db: db}
}

// Namespace names the namespace of a user of an app: the two ids with a slash in
// between, and %2F for a slash within them, %25 for a percent sign. No two pairs of
// ids share one.
func Namespace(appName, userID string) string {
	escape := strings.NewReplacer("%", "%25", "/", "%2F")
	return escape.Replace(appName) + "/" + escape.Replace(userID)
}

// AddSessionToMemory implements [memory.Service]. It adds the events of s that
// hold text and are not there yet, with one sync for each thousand.
//
// An event that cannot be stored keeps no other from it: all others are, and the
// error names the event. Where the store itself fails, a thousand events that were
// to be stored together are there all or not at all; add the session again then.
//
// Adding again what is there writes nothing, and costs about 8 microseconds an event
// (go test -run '^$' -bench AddAgain).
func (m *Memory) AddSessionToMemory(ctx context.Context, s session.Session) error {
	namespace := m.db.Namespace(Namespace(s.AppName(), s.UserID()))
	events, err := memorable(s)
	errs := []error{err}
	for batch := range slices.Chunk(events, convmem.MaxBatchMessages) {
		errs = append(errs, add(ctx, namespace, batch))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("adk: add session to memory: %w", err)
	}
	return nil
}

// add writes events together, and one by one where one of them cannot be.
func add(ctx context.Context, namespace *convmem.Namespace, events []convmem.WriteRequest) error {
	_, err := namespace.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: events})
	if !ofOneEvent(err) {
		return err
	}
	var errs []error
	for _, event := range events {
		_, err := namespace.Write(ctx, event)
		if err != nil {
			errs = append(errs, fmt.Errorf("event %q: %w", event.IdempotencyKey, err))
		}
		if err != nil && !ofOneEvent(err) {
			break
		}
	}
	return errors.Join(errs...)
}

// ofOneEvent tells a fault of an event from one of its session or of the store.
func ofOneEvent(err error) bool {
	var e *convmem.Error
	if !errors.As(err, &e) || e.Code != convmem.CodeValidation && e.Code != convmem.CodeConflict {
		return false
	}
	return e.Field != "namespace" && !strings.HasSuffix(e.Field, "session_id")
}

// SearchMemory implements [memory.Service]. The memories come best first, from all
// sessions of the user that were added. Of a long query, such as a whole message,
// the first [convmem.MaxQueryBytes] bytes count; an empty one finds nothing.
func (m *Memory) SearchMemory(ctx context.Context, r *memory.SearchRequest) (*memory.SearchResponse, error) {
	response := &memory.SearchResponse{}
	query := cut(r.Query, convmem.MaxQueryBytes)
	if query == "" {
		return response, nil
	}
	namespace := m.db.Namespace(Namespace(r.AppName, r.UserID))
	found, err := namespace.Search(ctx, convmem.SearchRequest{Query: query, Limit: MaxMemories})
	if err != nil {
		return nil, fmt.Errorf("adk: search memory: %w", err)
	}
	for _, hit := range found.Hits {
		entry, err := entryOf(hit.Message)
		if err != nil {
			return nil, fmt.Errorf("adk: search memory: message %s: %w", hit.ID, err)
		}
		response.Memories = append(response.Memories, entry)
	}
	return response, nil
}

// cut returns the first characters of text that fit in limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
