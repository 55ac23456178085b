package search_test

import (
	"slices"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
)

// A search that has said yes says the same again, as a caller needs who has to look
// at the store again, and no to another index: it makes up no result without hits.
func TestFinishTwice(t *testing.T) {
	ix, other := someTalk(), someTalk()
	for _, text := range []string{"fox", makeID(4, 0).String(), "unheard", ""} {
		s := begun(t, ix, search.Query{Text: text, Limit: 50})
		first, ok := s.Finish(ix)
		if !ok {
			t.Fatalf("%q: nothing changed, and it cannot finish", text)
		}
		if hits, ok := s.Finish(other); ok || hits != nil {
			t.Errorf("%q: another index: %v, %d hits", text, ok, len(hits))
		}
		if hits, ok := s.Finish(ix); !ok || !slices.Equal(hits, first) {
			t.Errorf("%q: a second Finish says %v, %d hits, want %d", text, ok, len(hits), len(first))
		}
		again(t, s, ix)
		if hits, ok := s.Finish(ix); !ok || len(hits) != len(first) {
			t.Errorf("%q: after another Begin: %v, %d hits, want %d", text, ok, len(hits), len(first))
		}
	}
}

// The session that is searched loses all its messages while they are scored: the
// next round finds nothing, and says yes.
func TestFinishWithoutTheSession(t *testing.T) {
	ix := someTalk()
	q := search.Query{Text: "fox", Limit: 50, Filter: index.Filter{Session: "0"}}
	s := begun(t, ix, q)
	for i := range 10 {
		ix.Delete(uint64(90+i), makeID(i+1, 0))
	}
	if hits, ok := s.Finish(ix); ok || hits != nil {
		t.Fatalf("Finish says %v, with %d hits", ok, len(hits))
	}
	again(t, s, ix)
	if hits, ok := s.Finish(ix); !ok || hits != nil {
		t.Errorf("second round: %v, %d hits", ok, len(hits))
	}
}
