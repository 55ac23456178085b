package search

import (
	stdcmp "cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/index"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// analysis is how often each field of a message holds which terms, and how many
// it holds.
type analysis struct {
	counts  [3]map[string]float64
	lengths [3]float64
}

func analyze(a index.Analyzer, d index.Doc) *analysis {
	var terms analysis
	add := func(field int, term string) {
		if terms.counts[field] == nil {
			terms.counts[field] = map[string]float64{}
		}
		terms.counts[field][term]++
		terms.lengths[field]++
	}
	a.Analyze(d.Content, func(term string, _ int) { add(0, term) })
	a.Analyze(d.Summary, func(term string, _ int) { add(1, term) })
	for _, tag := range d.Tags {
		a.Analyze(tag, func(term string, _ int) { add(2, term) })
		if strings.Contains(tag, " ") { // the tags of these tests are in lower case
			add(2, tag)
		}
	}
	return &terms
}

func (a *analysis) holds(term string) bool {
	return a.counts[0][term]+a.counts[1][term]+a.counts[2][term] > 0
}

func (c corpus) analyses() map[ulid.ULID]*analysis {
	a, all := index.Standard(), map[ulid.ULID]*analysis{}
	for id, d := range c {
		all[id] = analyze(a, d)
	}
	return all
}

// naive is a message with its own score, as the first stage defines it.
type naive struct {
	id         ulid.ULID
	parts      [3]float64
	importance int
}

func (n naive) score() float64 { return n.parts[0] + n.parts[1] + n.parts[2] }

// naiveTerm is a term of the query that some message holds.
type naiveTerm struct {
	text   string
	weight float64
}

// firstStage scores every message of a corpus that holds a term and passes, each
// statistic counted afresh from the texts, and sorts them:
//
//	weight    = own weight * ln(1 + (N - df + .5) / (df + .5))
//	frequency = sum over the fields of 1, 1, 2 * count / norm
//	norm      = .8 + .2 * length / average length for content and summary, else 1
//	score     = sum of weight * frequency / (1.2 + frequency) / ideal * covered^.2
//
// where ideal is the sum of the weights of all terms, at most of the 63 greatest,
// covered the share of those that the message holds, and the average is over the
// messages that have the field.
func (c corpus) firstStage(analyses map[ulid.ULID]*analysis, q Query) []naive {
	terms, ideal := naiveTerms(analyses, index.QueryTerms(index.Standard(), q.Text))
	averages := averageLengths(analyses)
	var all []naive
	for id, fields := range analyses {
		n, covered := naive{id: id, importance: c[id].Importance}, 0.0
		for _, term := range terms {
			if parts, some := naiveParts(fields, term.text, averages); some {
				covered += term.weight
				for f := range parts {
					n.parts[f] += term.weight * parts[f]
				}
			}
		}
		for f := range n.parts {
			n.parts[f] *= math.Pow(covered/ideal, 0.2) / ideal
		}
		if covered > 0 && passes(c[id], q.Filter) {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(x, y naive) int { return stdcmp.Compare(y.score(), x.score()) })
	return all
}

func naiveTerms(analyses map[ulid.ULID]*analysis, query []index.QueryTerm) (terms []naiveTerm, ideal float64) {
	for _, term := range query {
		df := 0.0
		for _, fields := range analyses {
			if fields.holds(term.Text) {
				df++
			}
		}
		if n := float64(len(analyses)); df > 0 {
			terms = append(terms, naiveTerm{term.Text, term.Weight * math.Log(1+(n-df+0.5)/(df+0.5))})
		}
	}
	slices.SortStableFunc(terms, func(x, y naiveTerm) int { return stdcmp.Compare(y.weight, x.weight) })
	terms = terms[:min(len(terms), 63)]
	for _, term := range terms {
		ideal += term.weight
	}
	return terms, ideal
}

func averageLengths(analyses map[ulid.ULID]*analysis) (averages [3]float64) {
	for f := range averages {
		terms, messages := 0.0, 0.0
		for _, fields := range analyses {
			if n := fields.lengths[f]; n > 0 {
				terms += n
				messages++
			}
		}
		averages[f] = terms / messages
	}
	return averages
}

// naiveParts returns what a term of weight 1 adds, by fields, and whether any of
// them holds it.
func naiveParts(fields *analysis, term string, averages [3]float64) (parts [3]float64, some bool) {
	total := 0.0
	for f, field := range []struct{ weight, b float64 }{{1, 0.2}, {1, 0.2}, {2, 0}} {
		if n := fields.counts[f][term]; n > 0 {
			parts[f] = field.weight * n / (1 - field.b + field.b*fields.lengths[f]/averages[f])
			total += parts[f]
		}
	}
	for f := range parts {
		parts[f] /= 1.2 + total
	}
	return parts, total > 0
}

func passes(d index.Doc, f index.Filter) bool {
	if f.Session != "" && d.Session != f.Session || d.Importance < f.MinImportance {
		return false
	}
	for _, tag := range f.Tags {
		if !slices.Contains(d.Tags, tag) {
			return false
		}
	}
	return len(f.Kinds) == 0 || slices.Contains(f.Kinds, d.Kind)
}

// The first stage finds what scoring every message by its texts finds: the same
// best messages, unless scores tie, with the same parts.
func TestFirstStageMatchesNaive(t *testing.T) {
	withoutRaceDetector(t)
	var candidates, cut, few, other int
	rapid.Check(t, func(t *rapid.T) {
		ix, live := index.New(index.Standard()), corpus{}
		changes(t, ix, live)
		analyses := live.analyses()
		for range 4 {
			q := drawQuery(t)
			want := live.firstStage(analyses, q)
			got, view := firstStageOf(t, ix, q)
			compareFirstStages(t, want, got)
			compareCopies(t, live, q, got)
			candidates += len(got)
			if len(want) > candidateCount {
				cut++
			}
			if view.Few() != nil {
				few++
			} else if q.Filter.Session != "" {
				other++
			}
		}
	})
	t.Logf("%d candidates, %d searches with more, %d of few and %d of other sessions", candidates, cut, few, other)
	if candidates == 0 || cut == 0 || few == 0 || other == 0 {
		t.Error("not everything was tried")
	}
}

func firstStageOf(t *rapid.T, ix *index.Index, q Query) ([]candidate, *index.View) {
	s := New(ix.Analyzer(), q)
	s.Begin(ix)
	if err := s.Score(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s.found, s.view
}

const tolerance = 1e-9

func compareFirstStages(t *rapid.T, want []naive, got []candidate) {
	byID := map[ulid.ULID]naive{}
	for _, n := range want {
		byID[n.id] = n
	}
	least := 0.0 // of the best
	if len(want) > candidateCount {
		least = want[candidateCount-1].score()
	}
	for _, c := range got {
		n, ok := byID[c.entry.ID]
		switch {
		case !ok:
			t.Fatalf("%v holds no term or does not pass", c.entry.ID)
		case n.score() < least-tolerance && !c.exact:
			t.Fatalf("%v scores %v, the best at least %v", c.entry.ID, n.score(), least)
		}
		if diff := cmp.Diff(n.parts, [3]float64(c.parts), cmpopts.EquateApprox(0, tolerance)); diff != "" {
			t.Fatalf("%v: %s", c.entry.ID, diff)
		}
		delete(byID, c.entry.ID)
	}
	for id, n := range byID {
		if len(want) <= candidateCount || n.score() > least+tolerance {
			t.Fatalf("%v is missing, which scores %v, the best at least %v", id, n.score(), least)
		}
	}
	if len(got) < min(len(want), candidateCount) {
		t.Fatalf("%d of %d candidates", len(got), len(want))
	}
}

// compareCopies checks that the candidates that are copies of the query are those
// whose content it is.
func compareCopies(t *rapid.T, live corpus, q Query, got []candidate) {
	copies := map[ulid.ULID]bool{}
	for _, c := range got {
		if c.exact {
			copies[c.entry.ID] = true
		}
	}
	want := map[ulid.ULID]bool{}
	for id, d := range live {
		if d.Content == q.Text && passes(d, q.Filter) && len(index.QueryTerms(index.Standard(), q.Text)) > 0 {
			want[id] = true
		}
	}
	if !maps.Equal(copies, want) {
		t.Fatalf("copies %v, want %v", copies, want)
	}
}
