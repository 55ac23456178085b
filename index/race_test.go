package index

import (
	"sync"
	"testing"

	"github.com/oklog/ulid/v2"
)

// Every reading method, from many goroutines at once: the race detector sees a
// reader that writes.
func TestParallelReaders(t *testing.T) {
	ix := New(Standard())
	for i, d := range someDocs(300) {
		d.Summary, d.Tags = "a summary", []string{"tag"}
		d.Relations = []Relation{{"related_to", makeID(i/2, 0)}}
		ix.Put(uint64(i), d)
	}
	for i := range 100 {
		ix.Delete(uint64(300+i), makeID(3*i, 0))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { readEverything(t, ix) })
	}
	wg.Wait()
}

func readEverything(t *testing.T, ix *Index) {
	since := int64(0)
	terms := []string{"wb", "wc", "summari", "tag"}
	v := ix.View(terms, Filter{Session: "session 1", Tags: []string{"tag"}, Since: &since})
	for i := range 300 {
		id := makeID(i, 0)
		if session, ok := ix.Session(id); ok {
			for range ix.History(session, ulid.ULID{}, true) {
			}
			ix.SessionInfo(session)
			v.Passes(ix.byID[id])
			v.Entry(ix.byID[id])
			v.AppendContent(nil, ix.byID[id], 1000)
			ix.Places([]uint32{ix.byID[id]}, Reach{16, 1000})
		}
		ix.Contains(id)
		ix.Outgoing(id)
		for range ix.Incoming(id, "depends_on") {
		}
		ix.RelationCount(id)
	}
	for i := range terms {
		for c := v.Cursor(i); c.Next(); {
			c.Counts()
		}
		v.Frequency(i)
	}
	sessions := 0
	for range ix.Sessions(ix.LastID(), 350, 0, "") {
		sessions++
	}
	if sessions == 0 || ix.Len() != 200 || ix.Statistics().Messages != 200 || ix.Memory().Search == 0 {
		t.Errorf("%d sessions, %d messages", sessions, ix.Len())
	}
	inherit(New(Standard()), ix)
}
