package search_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/google/go-cmp/cmp"
)

// begun returns a search that has scored what it found.
func begun(t *testing.T, ix *index.Index, q search.Query) *search.Search {
	t.Helper()
	s := search.New(ix.Analyzer(), q)
	again(t, s, ix)
	return s
}

func again(t *testing.T, s *search.Search, ix *index.Index) {
	t.Helper()
	s.Begin(ix)
	if err := s.Score(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// someTalk has two sessions about foxes, and messages without any.
func someTalk() *index.Index {
	ix := index.New(index.Standard())
	for i := range 20 {
		content := fmt.Sprintf("one fox of %d", i)
		if i%4 == 3 {
			content = "nothing of the kind"
		}
		put(ix, index.Doc{Session: fmt.Sprint(i / 10), Role: fmt.Sprint(i % 2), Content: content})
	}
	return ix
}

// What may happen to an index between Begin and Finish.
func TestFinishAfterChanges(t *testing.T) {
	fox := index.Doc{ID: makeID(1, 0), Session: "0", Role: "0", Content: "one fox of 0"}
	changed := fox
	changed.Content = "one fox of another kind"
	tests := []struct {
		name, query string
		change      func(ix *index.Index)
		ok          bool
	}{
		{"nothing", "fox", func(*index.Index) {}, true},
		{"found message deleted", "fox", func(ix *index.Index) { ix.Delete(90, fox.ID) }, false},
		{"found message updated", "fox", func(ix *index.Index) { ix.Put(90, changed) }, false},
		{"found message put as it was", "fox", func(ix *index.Index) { ix.Put(90, fox) }, false},
		{"found message deleted and put again", "fox", func(ix *index.Index) {
			ix.Delete(90, fox.ID)
			ix.Put(91, fox)
		}, false},
		{"every message deleted", "fox", func(ix *index.Index) {
			for i := range 20 {
				ix.Delete(uint64(90+i), makeID(i+1, 0))
			}
		}, false},
		{"message written", "fox", func(ix *index.Index) {
			put(ix, index.Doc{Session: "1", Content: "fox fox fox"}, index.Doc{Session: "new", Content: "fox"})
		}, true},
		{"many messages written", "fox", func(ix *index.Index) { put(ix, times(3000, "fox fox of another kind")...) }, true},
		{"other message updated", "fox", func(ix *index.Index) {
			ix.Put(90, index.Doc{ID: makeID(4, 0), Session: "0", Content: "now a fox fox fox"})
		}, true},
		{"named message deleted", makeID(4, 0).String(), func(ix *index.Index) { ix.Delete(90, makeID(4, 0)) }, false},
		{"named message updated", makeID(4, 0).String(), func(ix *index.Index) {
			ix.Put(90, index.Doc{ID: makeID(4, 0), Session: "0", Content: "new"})
		}, false},
		{"another one than the named deleted", makeID(4, 0).String(), func(ix *index.Index) { ix.Delete(90, fox.ID) }, true},
		{"first message with the word written", "unheard", func(ix *index.Index) {
			put(ix, index.Doc{Content: "unheard"})
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := someTalk()
			q := search.Query{Text: test.query, Limit: 50}
			before := run(t, ix, q)
			s := begun(t, ix, q)
			test.change(ix)
			hits, ok := s.Finish(ix)
			if ok != test.ok || !ok && hits != nil {
				t.Fatalf("Finish says %v, with %v", ok, hits)
			}
			if diff := cmp.Diff(before, hits); ok && diff != "" {
				t.Errorf("the change came through: %s", diff)
			}
			again(t, s, ix)
			hits, ok = s.Finish(ix)
			if diff := cmp.Diff(run(t, ix, q), hits); !ok || diff != "" {
				t.Errorf("second round: %v, %s", ok, diff)
			}
		})
	}
}

// A search that begins again forgets what it found before, also where nothing can
// be found any more.
func TestSecondRoundWithoutCandidates(t *testing.T) {
	ix := build(index.Doc{Session: "gone", Content: "one fox"}, index.Doc{Content: "one fox"})
	s := begun(t, ix, search.Query{Text: "fox", Limit: 5, Filter: index.Filter{Session: "gone"}})
	ix.Delete(9, makeID(1, 0))
	if _, ok := s.Finish(ix); ok {
		t.Fatal("finished with a message that was deleted")
	}
	again(t, s, ix)
	if hits, ok := s.Finish(ix); !ok || len(hits) > 0 {
		t.Errorf("%v, %v", ok, hits)
	}
}

// An index that takes the place of another has other rows, though it holds the
// same.
func TestFinishOnAnotherIndex(t *testing.T) {
	ix, other := someTalk(), someTalk()
	for _, text := range []string{"fox", makeID(4, 0).String()} {
		q := search.Query{Text: text, Limit: 50}
		s := begun(t, ix, q)
		if hits, ok := s.Finish(other); ok || hits != nil {
			t.Errorf("%q: Finish says %v, with %v", text, ok, hits)
		}
		again(t, s, other)
		hits, ok := s.Finish(other)
		if diff := cmp.Diff(run(t, ix, q), hits); !ok || diff != "" {
			t.Errorf("%q, second round: %v, %s", text, ok, diff)
		}
	}
}

// What changes while candidates are scored is not seen, in whatever way the index
// tidies up: a rewritten list of postings, a term that is gone and whose number
// another one has.
func TestScoreSeesTheMomentOfBegin(t *testing.T) {
	ix := index.New(index.Standard())
	put(ix, times(300, "one fox of the wood")...)
	put(ix, times(300, "something rare")...)
	q := search.Query{Text: "fox wood", Limit: 20}
	want := run(t, ix, q)
	s := search.New(ix.Analyzer(), q)
	s.Begin(ix)
	// The best of one score are the newest: those stay.
	for i := range 199 {
		ix.Delete(uint64(1000+i), makeID(i+1, 0))
	}
	for i := range 300 {
		ix.Put(uint64(2000+i), index.Doc{ID: makeID(301+i, 0), Content: fmt.Sprintf("fox number%d wood wood", i)})
	}
	if err := s.Score(t.Context()); err != nil {
		t.Fatal(err)
	}
	hits, ok := s.Finish(ix)
	if diff := cmp.Diff(want, hits); !ok || diff != "" {
		t.Errorf("%v, %s", ok, diff)
	}
}

// ending is a context that ends after it was looked at a few times.
type ending struct {
	context.Context
	looks, last int
}

func (c *ending) Err() error {
	c.looks++
	if c.looks > c.last {
		return context.DeadlineExceeded
	}
	return nil
}

// A context that ends stops a search wherever it stands, at once and without
// hits, and leaves nothing behind for the next one.
func TestContextEnds(t *testing.T) {
	docs := times(5000, "filler of all kinds")
	docs[2500].Session, docs[2501].Session = "small", "small"
	ix := build(docs...)
	tests := []struct {
		name  string
		q     search.Query
		looks int // at least, in a whole search
	}{
		{"many pages", search.Query{Text: "filler kinds"}, 5},
		{"copies", search.Query{Text: "filler of all kinds"}, 10},
		{"one session", search.Query{Text: "filler kinds", Filter: index.Filter{Session: "small"}}, 1},
		{"message by id", search.Query{Text: makeID(7, 0).String()}, 1},
		{"no limit", search.Query{Text: "filler", Limit: -5}, 1},
		{"no terms", search.Query{Text: "..."}, 1},
		{"unknown terms", search.Query{Text: "elephant"}, 1},
		{"nothing passes", search.Query{Text: "filler", Filter: index.Filter{Session: "none"}}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.q.Limit += 5
			want := run(t, ix, test.q)
			for last := 0; ; last++ {
				ctx := &ending{Context: t.Context(), last: last}
				hits, err := search.Run(ctx, ix, test.q)
				if err == nil {
					if diff := cmp.Diff(want, hits); diff != "" || last < test.looks {
						t.Errorf("after %d looks: %s", last, diff)
					}
					return
				}
				if !errors.Is(err, context.DeadlineExceeded) || hits != nil {
					t.Fatalf("%v, %v", hits, err)
				}
				if ctx.looks > last+2 { // one more tells which error it is
					t.Fatalf("went on after the end: %d looks of %d", ctx.looks, last)
				}
			}
		})
	}
}

// A search that was stopped may begin again.
func TestScoreAfterContextEnded(t *testing.T) {
	ix := someTalk()
	q := search.Query{Text: "fox", Limit: 50}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := search.New(ix.Analyzer(), q)
	s.Begin(ix)
	if err := s.Score(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	again(t, s, ix)
	hits, ok := s.Finish(ix)
	if diff := cmp.Diff(run(t, ix, q), hits); !ok || diff != "" {
		t.Errorf("%v, %s", ok, diff)
	}
}
