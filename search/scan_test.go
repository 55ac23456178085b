package search

import (
	cmp2 "cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/index"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

// zipfIndex holds messages whose words are as frequent as those of a language,
// in three fields, some of them updated and deleted.
func zipfIndex(seed uint64, n int) (*index.Index, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(r, 1.2, 3, 5000)
	words := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "w%s ", spelled(zipf.Uint64()))
		}
		return b.String()
	}
	ix := index.New(index.Standard())
	for seq := range uint64(n) {
		var id ulid.ULID
		_ = id.SetTime(1 + uint64(r.IntN(n)))
		if r.IntN(10) == 0 {
			ix.Delete(seq, id)
			continue
		}
		d := index.Doc{
			ID: id, Session: fmt.Sprint(r.IntN(3)), Importance: r.IntN(3), Content: words(1 + r.IntN(40)),
			Kind: fmt.Sprint(r.IntN(4)),
		}
		if r.IntN(10) == 0 {
			d.Summary, d.Tags = words(3), []string{strings.TrimSpace(words(1)), words(2)}
		}
		ix.Put(seq, d)
	}
	return ix, r
}

// spelled writes a number in letters that no stemmer changes.
func spelled(n uint64) string {
	s := "k"
	for ; n > 0; n /= 20 {
		s += string("bcdfghjklmnpqrtvwxzb"[n%20])
	}
	return s
}

// Leaving out what cannot win finds bit for bit what scoring every message finds,
// whatever the number of candidates, with and without filters.
func TestScanEqualsScoringEverything(t *testing.T) {
	withoutRaceDetector(t)
	skipped := 0
	for seed := range uint64(6) {
		ix, r := zipfIndex(seed, 6000)
		for range 60 {
			var text []string
			for range 1 + r.IntN(6) {
				text = append(text, "w"+spelled(uint64(r.IntN(1<<r.IntN(12)+1))))
			}
			q := Query{Text: strings.Join(text, " ")}
			if r.IntN(2) == 0 {
				q.Filter = index.Filter{Kinds: []string{"1", "2"}, Session: fmt.Sprint(r.IntN(3))}
			}
			p := prepare(ix.Analyzer(), q)
			v := ix.View(p.terms, p.filter)
			limit := 1 + r.IntN(60)
			pruned, every := newScorer(v, &p), newScorer(v, &p)
			pruned.best.limit, every.best.limit = limit, limit
			n := newScan(pruned)
			if err := n.run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := every.each(context.Background(), allRows(v)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sortedRows(every), sortedRows(pruned), cmp.AllowUnexported(scoredRow{})); diff != "" {
				t.Fatalf("%q, limit %d: %s", q.Text, limit, diff)
			}
			skipped += n.inessential
		}
	}
	t.Logf("%d terms became inessential", skipped)
	if skipped == 0 {
		t.Error("nothing was ever left out")
	}
}

func sortedRows(s *scorer) []scoredRow {
	rows := s.best.sorted()
	slices.SortFunc(rows, func(x, y scoredRow) int { return cmp2.Compare(x.ordinal, y.ordinal) })
	return rows
}

func allRows(v *index.View) (ordinals []uint32) {
	for page := range v.Pages() {
		for slot := range v.Lengths(page) {
			ordinals = append(ordinals, uint32(page*index.PageRows+slot))
		}
	}
	return ordinals
}

// A page of sums is clean for the search that takes it next.
func TestScanLeavesNothingBehind(t *testing.T) {
	ix, _ := zipfIndex(1, 3000)
	p := prepare(ix.Analyzer(), Query{Text: "wk wkb wkc wkbb"})
	n := newScan(newScorer(ix.View(p.terms, p.filter), &p))
	page := n.page
	if err := n.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if *page != (pageSums{}) {
		t.Error("something is left")
	}
}

// A page is passed over only for what all of it holds, not for the beginning of it
// that ends with a block of postings: the best message stands behind that.
func TestScanBoundsWholePages(t *testing.T) {
	ix := index.New(spaced{})
	put := func(content string) {
		n := ix.Len() + 1
		d := index.Doc{Session: fmt.Sprint(n), Content: content}
		_ = d.ID.SetTime(uint64(n))
		ix.Put(uint64(n), d)
	}
	for i := range index.PageRows {
		if i < 128 {
			put("fox fox") // a block of postings, and more than there are candidates
		} else {
			put("one of a good many messages that say nothing of it")
		}
	}
	for range 128 {
		put("fox and quite a few other words beside it") // another block
	}
	put("fox fox fox fox fox fox fox fox")
	hits := runIn(t, ix, Query{Text: "fox", Limit: 1})
	if len(hits) != 1 || hits[0].ID.Time() != uint64(ix.Len()) {
		t.Errorf("found %v, want the last message", hits)
	}
}

// Contents around the greatest length that a page tells are scored by all of their
// terms, wherever and however often they hold those of the query.
func TestScanOfLongContents(t *testing.T) {
	ix := index.New(spaced{})
	for i := range 80 {
		d := index.Doc{Session: fmt.Sprint(i), Content: strings.Repeat("fox ", 1+i%3) + strings.Repeat("word ", 200+i*2)}
		if i%4 == 0 {
			d.Summary, d.Tags = "a fox", []string{"red fox"}
		}
		_ = d.ID.SetTime(uint64(i + 1))
		ix.Put(uint64(i), d)
	}
	p := prepare(ix.Analyzer(), Query{Text: "fox red"})
	v := ix.View(p.terms, p.filter)
	scanned, every := newScorer(v, &p), newScorer(v, &p)
	if err := newScan(scanned).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := every.each(t.Context(), allRows(v)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sortedRows(every), sortedRows(scanned), cmp.AllowUnexported(scoredRow{})); diff != "" {
		t.Error(diff)
	}
}
