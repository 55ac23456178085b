package search

import (
	stdcmp "cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"example.com/convmem/index"
)

// shared is an index that many goroutines search and change.
type shared struct {
	sync.RWMutex
	ix      *index.Index
	changes int
}

// change puts and deletes messages, a few or so many that lists are rewritten.
func (s *shared) change(r *rand.Rand, zipf *rand.Zipf, n int) {
	for range n {
		d := randomDoc(r, zipf, 1000)
		d.Kind = d.Session
		s.Lock()
		if r.IntN(4) == 0 {
			s.ix.Delete(0, d.ID)
		} else {
			s.ix.Put(0, d)
		}
		s.changes++
		s.Unlock()
	}
}

// outcome counts how searches went.
type outcome struct{ quiet, unharmed, again int }

// Searches that lock the index only to begin and to finish, beside each other and
// beside changes: each scores what was there when it began, and what it finishes
// with is live. The race detector watches.
func TestSearchesBesideChanges(t *testing.T) {
	s := &shared{ix: index.New(spaced{})}
	r, zipf := randomness(0)
	s.change(r, zipf, 3000)
	searching, changing := sync.WaitGroup{}, sync.WaitGroup{}
	done, stop := context.WithCancel(t.Context())
	changing.Go(func() {
		for r, zipf := randomness(1); done.Err() == nil; {
			s.change(r, zipf, 10)
		}
	})
	outcomes := make([]outcome, 4)
	for i := range outcomes {
		searching.Go(func() {
			r, zipf := randomness(uint64(2 + i))
			for n := range 30 {
				s.search(t, r, zipf, n, &outcomes[i])
			}
		})
	}
	searching.Wait()
	stop()
	changing.Wait()
	var sum outcome
	for _, o := range outcomes {
		sum.quiet += o.quiet
		sum.unharmed += o.unharmed
		sum.again += o.again
	}
	t.Logf("%d searches without changes, %d that changes did not harm, %d that had to begin again", sum.quiet, sum.unharmed, sum.again)
	if sum.unharmed == 0 || sum.again == 0 {
		t.Error("not everything was tried")
	}
	if err := s.ix.Compare(s.ix); err != nil {
		t.Error(err)
	}
}

func randomness(seed uint64) (*rand.Rand, *rand.Zipf) {
	r := rand.New(rand.NewPCG(seed, 5))
	return r, rand.NewZipf(r, 1.2, 3, 3000)
}

// search searches until it can finish, in the end under the lock all the way.
func (s *shared) search(t *testing.T, r *rand.Rand, zipf *rand.Zipf, n int, o *outcome) {
	q := Query{Limit: 1000}
	for range 1 + n%3 {
		q.Text += "w" + spelled(zipf.Uint64()<<(n%5)) + " "
	}
	if n%4 == 0 {
		q.Filter = index.Filter{Session: fmt.Sprint(n % 10)}
	}
	search := New(s.ix.Analyzer(), q)
	for range 5 {
		if s.attempt(t, search, q, r, zipf, n, o) {
			return
		}
		o.again++
	}
	s.RLock()
	defer s.RUnlock()
	begin(t, search, s.ix)
	if _, ok := search.Finish(s.ix); !ok {
		t.Error("nothing changed, and it cannot finish")
	}
}

func begin(t *testing.T, search *Search, ix *index.Index) {
	search.Begin(ix)
	if err := search.Score(context.Background()); err != nil {
		t.Error(err)
	}
}

func (s *shared) attempt(t *testing.T, search *Search, q Query, r *rand.Rand, zipf *rand.Zipf, n int, o *outcome) bool {
	s.RLock()
	search.Begin(s.ix)
	version, atOnce := s.changes, New(s.ix.Analyzer(), q)
	begin(t, atOnce, s.ix)
	s.RUnlock()
	if n%2 == 0 {
		s.change(r, zipf, 1+n)
	}
	if err := search.Score(context.Background()); err != nil {
		t.Error(err)
	}
	if diff := difference(byOrdinal(atOnce.found), byOrdinal(search.found)); diff != "" {
		t.Errorf("%q: changes came through: %s", q.Text, diff)
	}
	s.RLock()
	defer s.RUnlock()
	hits, ok := search.Finish(s.ix)
	switch {
	case s.changes == version:
		want, err := Run(context.Background(), s.ix, q)
		if diff := difference(want, hits); !ok || err != nil || diff != "" {
			t.Errorf("%q: %v %v %s", q.Text, ok, err, diff)
		}
		o.quiet++
	case ok:
		o.unharmed++
	}
	for _, h := range hits {
		if name, live := s.ix.Session(h.ID); !live || q.Filter.Session != "" && name != q.Filter.Session {
			t.Errorf("%q: %v is no hit now", q.Text, h.ID)
		}
	}
	return ok
}

func byOrdinal(found []candidate) []candidate {
	return slices.SortedFunc(slices.Values(found), func(a, b candidate) int { return stdcmp.Compare(a.ordinal, b.ordinal) })
}
