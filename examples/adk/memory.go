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
// session, is stored once, whoever adds it and however often. One whose id was added
// before with something else in it stays as it was, and is reported. Session services
// that give an event another id than it had in the running session, as the one of
// Vertex AI does, make two events of it: add sessions from one source.
//
// Memory is of what was said. Events without text are left out, and so are partial
// ones, thoughts, transcriptions of speech, and the bytes of images and other inline
// data, which would go to the model again with each memory. The rest of an event's
// content comes back as JSON has it, numbers as float64, with its author and metadata
// and its time in UTC, to the millisecond.
//
// The JSON of an event holds up to 1 MiB; ids of events and sessions up to 256 bytes,
// and [Namespace] of a user as many.
//
// To forget what a user said, use [convmem.Forget] with db.Namespace of [Namespace],
// and delete the sessions from the session service, or adding them brings it back. To
// look at what is kept, there is examples/convmem with -namespace.
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
// hold text and are not there yet, a thousand with one sync, all of them or none.
//
// An event that cannot be stored keeps no other from it: the others are stored, with
// some more syncs, and the error names each that is not. Where the store itself fails
// nothing behind that is added; add the session again then.
//
// Adding again what is there writes nothing, and costs about 20 microseconds an event
// (go test -run '^$' -bench AddAgain).
func (m *Memory) AddSessionToMemory(ctx context.Context, s session.Session) error {
	namespace := m.db.Namespace(Namespace(s.AppName(), s.UserID()))
	events, refused := memorable(s)
	for batch := range slices.Chunk(events, convmem.MaxBatchMessages) {
		more, err := add(ctx, namespace, batch)
		refused = append(refused, more...)
		if err != nil {
			refused = append(refused, err)
			break
		}
	}
	if err := errors.Join(refused...); err != nil {
		return fmt.Errorf("adk: add session to memory: %w", err)
	}
	return nil
}

// add writes events together. Where one of them is refused it writes both halves,
// so that few writes find it among many.
func add(ctx context.Context, namespace *convmem.Namespace, events []convmem.WriteRequest) (refused []error, err error) {
	_, err = namespace.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: events})
	switch {
	case !ofOneEvent(err):
		return nil, err
	case len(events) == 1:
		return []error{ofEvent(events[0].IdempotencyKey, err)}, nil
	}
	half := len(events) / 2
	for _, part := range [][]convmem.WriteRequest{events[:half], events[half:]} {
		more, err := add(ctx, namespace, part)
		refused = append(refused, more...)
		if err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// ofOneEvent tells a fault of an event, or of too many at once, from one of their
// session or of the store.
func ofOneEvent(err error) bool {
	var e *convmem.Error
	if !errors.As(err, &e) || e.Code != convmem.CodeValidation && e.Code != convmem.CodeConflict {
		return false
	}
	return e.Field != "namespace" && !strings.HasSuffix(e.Field, "session_id")
}

// SearchMemory implements [memory.Service]. The memories come best first, from all
// sessions of the user that were added, as many as the store's MaxResultBytes
// allows and [MaxMemories] at most. Of a long query, such as a whole message, the
// first [convmem.MaxQueryBytes] bytes count; an empty one finds nothing.
//
// A memory that is damaged on the disk is left out. Where nothing else matches, that
// is an error with [convmem.CodeCorrupt]: nobody is told that there is no memory when
// there is one.
func (m *Memory) SearchMemory(ctx context.Context, r *memory.SearchRequest) (*memory.SearchResponse, error) {
	response := &memory.SearchResponse{}
	query := cut(strings.ToValidUTF8(r.Query, " "), convmem.MaxQueryBytes)
	if query == "" {
		return response, nil
	}
	namespace := m.db.Namespace(Namespace(r.AppName, r.UserID))
	found, err := namespace.Search(ctx, convmem.SearchRequest{Query: query, Limit: MaxMemories})
	if err == nil && found.Truncated && len(found.Hits) == 0 {
		err = damaged("what matches is damaged")
	}
	if err != nil {
		return nil, fmt.Errorf("adk: search memory: %w", err)
	}
	for _, hit := range found.Hits {
		entry, err := entryOf(hit.Message)
		if err != nil {
			return nil, fmt.Errorf("adk: search memory: %w", err)
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
