package convmem_test

import (
	"fmt"
	"runtime"
	"testing"

	"example.com/convmem"
)

// What a result keeps in memory is what it shows: a cut message, or a session's
// summary, must not hold the whole content behind it.
func TestResultsDoNotPinContents(t *testing.T) {
	withoutRaceDetector(t)
	w := newWorld(t, convmem.Options{})
	const messages = 24
	for i := range messages {
		w.say(fmt.Sprint("session ", i), sized("begin", convmem.MaxContentBytes), convmem.MetadataPatch{Tags: []string{"a tag"}})
	}
	for name, read := range map[string]func() any{
		"sessions": func() any {
			result, err := convmem.Sessions(ctx, w.db, convmem.SessionsRequest{})
			w.ok("sessions", err)
			return result
		},
		"cut hits": func() any {
			result, err := w.db.Search(ctx, convmem.SearchRequest{Query: "begin", Limit: messages, MaxContentCharacters: 10})
			w.ok("search", err)
			if len(result.Hits) < 8 {
				t.Fatalf("only %d hits", len(result.Hits))
			}
			return result
		},
	} {
		before := heapInUse()
		kept := read()
		if grown := heapInUse() - before; grown > 2<<20 {
			t.Errorf("%s: %d bytes are kept for a small result", name, grown)
		}
		runtime.KeepAlive(kept)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what the first one finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The ids of superseding messages count against the size of a result too, and go
// before any message does.
func TestSupersededByCountsAgainstTheBudget(t *testing.T) {
	w := newWorld(t, convmem.Options{MaxResultBytes: 2000})
	old := w.say("s", "needle one", convmem.MetadataPatch{})
	w.say("s", "needle two", convmem.MetadataPatch{})
	for i := range 100 {
		w.say("s", fmt.Sprint("newer ", i), convmem.MetadataPatch{
			Relations: []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: old.ID}},
		})
	}
	result, err := w.db.Search(ctx, convmem.SearchRequest{Query: "needle"})
	w.ok("search", err)
	if len(result.Hits) != 2 || !result.Truncated {
		t.Fatalf("%d hits, truncated %v", len(result.Hits), result.Truncated)
	}
	for _, hit := range result.Hits {
		if len(hit.SupersededBy) != 0 || hit.ID == old.ID && hit.RelationCount != 100 {
			t.Errorf("%d superseding ids, %d relations", len(hit.SupersededBy), hit.RelationCount)
		}
	}
}

// A message that many refer to shows the first of them and says that there are
// more; what lies behind a second hub comes in the same order.
func TestContextOfHubs(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	hub := w.say("hub", "hub", convmem.MetadataPatch{})
	var derived, related []string
	for i := range 60 {
		kind, ids := convmem.RelationRelatedTo, &related
		if i%2 == 1 {
			kind, ids = convmem.RelationDerivedFrom, &derived
		}
		m := w.say(fmt.Sprint("other ", i), "refers", convmem.MetadataPatch{Relations: []convmem.Relation{{Type: kind, MessageID: hub.ID}}})
		*ids = append(*ids, m.ID)
	}
	result, err := convmem.Context(ctx, w.db, convmem.ContextRequest{MessageID: hub.ID, RelationDepth: new(2)})
	w.ok("context", err)
	want := append(derived, related...)[:convmem.MaxContextMessages-1]
	if len(result.Relations) != len(want) || !result.Truncated {
		t.Fatalf("%d relations, truncated %v", len(result.Relations), result.Truncated)
	}
	for i, r := range result.Relations {
		if r.MessageID != want[i] || r.Direction != convmem.Incoming || r.Depth != 1 {
			t.Errorf("relation %d is %+v, want %s", i, r, want[i])
		}
	}
}
