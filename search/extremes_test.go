package search_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/oklog/ulid/v2"
)

// weighing is the standard analyzer with weights that a host chose badly.
type weighing struct {
	index.Analyzer
	weight func(term string) float64
}

func (w weighing) Weight(term string) float64 { return w.weight(term) }

// Whatever an Analyzer weighs, scores are numbers above 0 that stay small.
func TestStrangeWeights(t *testing.T) {
	for _, weight := range []float64{1e-300, 1e-12, 1e-3, 0.2, 1e3, 1e9, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), 0, -1} {
		t.Run(fmt.Sprint(weight), func(t *testing.T) {
			ix := index.New(weighing{index.Standard(), func(term string) float64 {
				if term == "fox" {
					return 1
				}
				return weight
			}})
			for i := range 50 {
				ix.Put(uint64(i), index.Doc{ID: makeID(i+1, 0), Session: "s", Content: strings.Repeat("river bank ", i%3+1) + "fox"})
			}
			hits := run(t, ix, search.Query{Text: "river bank fox", Limit: 100})
			if len(hits) != 50 {
				t.Fatalf("%d hits", len(hits))
			}
			for _, h := range hits {
				if s := h.Score(); !(s > 0 && s < 10) {
					t.Fatalf("score %v", s)
				}
			}
			if weight < 0 || weight == 0 || math.IsNaN(weight) {
				if hits := run(t, ix, search.Query{Text: "river", Limit: 100}); len(hits) != 50 || !(hits[0].Score() > 0) {
					t.Errorf("%d hits for a query of weightless terms", len(hits))
				}
			}
		})
	}
}

// Of very many copies of a query the newest come first, before all else.
func TestVeryManyCopies(t *testing.T) {
	ix := index.New(index.Standard())
	for i := range 1000 {
		content := "thanks a lot"
		if i%3 == 0 {
			content = "thanks a lot, thanks"
		}
		ix.Put(uint64(i), index.Doc{ID: makeID(i+1, 0), Session: fmt.Sprint(i), Content: content})
	}
	hits := run(t, ix, search.Query{Text: "thanks a lot", Limit: 100})
	if len(hits) != 100 {
		t.Fatalf("%d hits", len(hits))
	}
	newest := 1000
	for i, h := range hits {
		for newest--; newest%3 == 0; newest-- {
		}
		if want := makeID(newest+1, 0); h.ID != want {
			t.Fatalf("hit %d is %s, want %s", i, h.ID, want)
		}
	}
}

// A query that is no id does not name the message whose id is all zeros.
func TestZeroID(t *testing.T) {
	ix := index.New(index.Standard())
	ix.Put(1, index.Doc{ID: ulid.ULID{}, Session: "s", Content: "dog"})
	ix.Put(2, index.Doc{ID: makeID(1, 0), Session: "s", Content: "fox"})
	if hits := run(t, ix, search.Query{Text: "fox", Limit: 5}); len(hits) != 1 || hits[0].ID != makeID(1, 0) {
		t.Errorf("%+v", hits)
	}
}
