package search

import (
	"bufio"
	"bytes"
	stdcmp "cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/index"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// Search gives bit for bit the same from an index that lived through changes, one
// that was filled with the live messages alone in the order of their ids, one that
// was saved and loaded, and whether a session is looked at by itself or not.
func TestSameFromEveryIndex(t *testing.T) {
	withoutRaceDetector(t)
	var hits, ties, few int
	rapid.Check(t, func(t *rapid.T) {
		ix, live := index.New(index.Standard()), corpus{}
		changes(t, ix, live)
		others := map[string]*index.Index{"fresh": fresh(ix.Analyzer(), live), "loaded": reloaded(t, ix)}
		for range 4 {
			q := drawQuery(t)
			want := runIn(t, ix, q)
			for name, other := range others {
				if diff := difference(want, runIn(t, other, q)); diff != "" {
					t.Fatalf("%s: %s", name, diff)
				}
			}
			few += compareSessions(t, ix, q)
			compareLimits(t, ix, q, want)
			hits += len(want)
			ties += checkOrder(t, live, want)
		}
	})
	t.Logf("%d hits, %d ties, %d of few", hits, ties, few)
	if hits == 0 || ties == 0 || few == 0 {
		t.Error("not everything was tried")
	}
}

// difference is cmp.Diff, which takes its time, where there is one.
func difference[T comparable](want, got []T) string {
	if slices.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.AllowUnexported(candidate{}))
}

func fresh(a index.Analyzer, live corpus) *index.Index {
	ix := index.New(a)
	for i, id := range slices.SortedFunc(maps.Keys(live), ulid.ULID.Compare) {
		ix.Put(uint64(i), live[id])
	}
	return ix
}

func reloaded(t rapid.TB, ix *index.Index) *index.Index {
	var b bytes.Buffer
	loaded := index.New(ix.Analyzer())
	if err := ix.Save().Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := loaded.Load(bufio.NewReader(&b)); err != nil {
		t.Fatal(err)
	}
	return loaded
}

// compareSessions searches a session, named as such, which may be looked at by
// itself, and by the kind that all its messages have, which may not. It counts
// where it was looked at by itself.
func compareSessions(t *rapid.T, ix *index.Index, q Query) (few int) {
	q.Filter.Session, q.Filter.Kinds = "b", nil
	bySession := runIn(t, ix, q)
	p := prepare(ix.Analyzer(), q)
	if ix.View(p.terms, p.filter).Few() != nil {
		few++
	}
	q.Filter.Session, q.Filter.Kinds = "", []string{"b"}
	if diff := difference(runIn(t, ix, q), bySession); diff != "" {
		t.Fatalf("by session and by kind: %s", diff)
	}
	return few
}

func compareLimits(t *rapid.T, ix *index.Index, q Query, all []Hit) {
	limit := rapid.IntRange(0, q.Limit).Draw(t, "fewer")
	fewer := q
	fewer.Limit = limit
	if diff := difference(all[:min(limit, len(all))], runIn(t, ix, fewer)); diff != "" {
		t.Fatalf("limit %d of %d: %s", limit, q.Limit, diff)
	}
}

// checkOrder checks the order and the parts of hits and counts ties.
func checkOrder(t *rapid.T, live corpus, hits []Hit) (ties int) {
	for i, h := range hits {
		if h.Score() != (h.Content+h.Summary)+h.Tags || h.Score() <= 0 || math.IsNaN(h.Score()) || math.IsInf(h.Score(), 0) {
			t.Fatalf("score %v of %+v", h.Score(), h)
		}
		if h.Matched != [3]bool{h.Content > 0, h.Summary > 0, h.Tags > 0} {
			t.Fatalf("matched %+v", h)
		}
		if i == 0 {
			continue
		}
		before := hits[i-1]
		if before.Score() == h.Score() {
			ties++
		}
		if stdcmp.Or(
			stdcmp.Compare(before.Score(), h.Score()),
			stdcmp.Compare(live[before.ID].Importance, live[h.ID].Importance),
			before.ID.Compare(h.ID),
		) <= 0 {
			t.Fatalf("%+v stands before %+v", before, h)
		}
	}
	return ties
}

func runIn(t rapid.TB, ix *index.Index, q Query) []Hit {
	hits, err := Run(context.Background(), ix, q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

// spaced is an analyzer that takes little time: terms stand between spaces.
type spaced struct{}

func (spaced) Name() string          { return "spaced" }
func (spaced) Weight(string) float64 { return 1 }
func (spaced) Analyze(text string, emit func(string, int)) {
	n := 0
	for term := range strings.FieldsSeq(text) {
		emit(term, n)
		n++
	}
}

// randomDoc is a message of words as frequent as those of a language, and like
// some others.
func randomDoc(r *rand.Rand, zipf *rand.Zipf, ids int) index.Doc {
	var words []string
	for range 5 + r.IntN(20) {
		words = append(words, "w"+spelled(zipf.Uint64()))
	}
	d := index.Doc{
		Session: fmt.Sprint(r.IntN(10)), Role: fmt.Sprint(r.IntN(2)), Importance: r.IntN(3),
		Time: int64(r.IntN(3)) * 1000, Content: strings.Join(words, " ") + []string{"", " ?"}[r.IntN(2)],
	}
	_ = d.ID.SetTime(1 + uint64(r.IntN(ids)))
	if r.IntN(5) == 0 {
		d.Summary, d.Tags = words[0]+" "+words[1], []string{words[2], words[3] + " " + words[4]}
	}
	return d
}

// The same for an index of many pages that was changed so often that it moved
// rows and gave back memory. A search that began long ago still sees what was then.
func TestSameAfterRowsMoved(t *testing.T) {
	withoutRaceDetector(t)
	const ids = 1000
	r := rand.New(rand.NewPCG(1, 3))
	zipf := rand.NewZipf(r, 1.2, 3, 3000)
	ix, live := index.New(spaced{}), corpus{}
	before := map[ulid.ULID]uint32{}
	var early, late *Search
	for n := range 40_000 {
		if n == 15_000 {
			q := Query{Text: "wk wkb wkc wkbb"}
			early, late = New(spaced{}, q), New(spaced{}, q)
			begin(t, early, ix)
			late.Begin(ix)
		}
		d := randomDoc(r, zipf, ids)
		switch {
		case n%80 == 0: // one that nothing changes, among many that are changed
			_ = d.ID.SetTime(uint64(ids + 1 + n))
			replace(ix, live, d)
			before[d.ID], _ = ix.Find(d.ID)
		case r.IntN(4) == 0:
			ix.Delete(0, d.ID)
			delete(live, d.ID)
		default:
			replace(ix, live, d)
		}
	}
	moved := 0
	for id, was := range before {
		if now, ok := ix.Find(id); !ok || now != was {
			moved++
		}
	}
	t.Logf("%d rows moved", moved)
	if moved == 0 {
		t.Fatal("nothing moved")
	}
	if err := late.Score(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := difference(byOrdinal(early.found), byOrdinal(late.found)); diff != "" || len(late.found) < candidateCount {
		t.Errorf("%d of long ago: %s", len(late.found), diff)
	}
	others := []*index.Index{fresh(spaced{}, live), reloaded(t, ix)}
	for n := range 60 {
		q := Query{Limit: 1000}
		for range []int{1, 2, 3, 4, 300}[n%5] { // in the end more than are scored
			q.Text += "w" + spelled(zipf.Uint64()) + " "
		}
		if n%3 == 0 {
			q.Filter.Session = fmt.Sprint(r.IntN(10))
		}
		want := runIn(t, ix, q)
		for i, other := range others {
			if diff := difference(want, runIn(t, other, q)); diff != "" {
				t.Fatalf("%q in index %d: %s", q.Text, i, diff)
			}
		}
	}
}
