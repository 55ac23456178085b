package search_test

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/oklog/ulid/v2"
)

// corpus is the live messages by id.
type corpus map[ulid.ULID]index.Doc

// analysis is the terms of each field of one message.
type analysis [3][]string

func analyze(d index.Doc) analysis {
	var a analysis
	collect := func(field int) func(string, int) {
		return func(term string, _ int) { a[field] = append(a[field], term) }
	}
	index.Analyze(d.Content, collect(0))
	index.Analyze(d.Summary, collect(1))
	for _, tag := range d.Tags {
		index.Analyze(tag, collect(2))
		if strings.Contains(tag, " ") { // the tags of these tests are in lower case
			a[2] = append(a[2], tag)
		}
	}
	return a
}

func count(terms []string, term string) float64 {
	n := 0
	for _, t := range terms {
		if t == term {
			n++
		}
	}
	return float64(n)
}

// scored is what the naive search knows of a message.
type scored struct {
	id         ulid.ULID
	parts      [3]float64
	importance int
}

func (s scored) total() float64 { return s.parts[0] + s.parts[1] + s.parts[2] }

// naive ranks every message of a corpus by the formula of the package comment,
// each statistic counted afresh from the texts.
func (c corpus) naive(q search.Query) []scored {
	analyses := map[ulid.ULID]analysis{}
	for id, d := range c {
		analyses[id] = analyze(d)
	}
	var averages [3]float64
	for f := range averages {
		sum, n := 0, 0
		for _, a := range analyses {
			sum += len(a[f])
			if len(a[f]) > 0 {
				n++
			}
		}
		averages[f] = float64(sum) / float64(n)
	}
	ideal := 0.0
	sums := map[ulid.ULID]*[3]float64{}
	for _, term := range index.QueryTerms(q.Text) { // sorted
		df := 0.0
		for _, a := range analyses {
			if count(a[0], term)+count(a[1], term)+count(a[2], term) > 0 {
				df++
			}
		}
		if df == 0 {
			continue
		}
		weight := math.Log(1+(float64(len(c))-df+0.5)/(df+0.5)) * 2.2
		ideal += weight
		for id, a := range analyses {
			addTerm(sums, id, a, term, weight, averages)
		}
	}
	return c.rank(q, sums, ideal)
}

func addTerm(sums map[ulid.ULID]*[3]float64, id ulid.ULID, a analysis, term string, weight float64, averages [3]float64) {
	var tf [3]float64
	for f, field := range []struct{ weight, b float64 }{{1, 0.2}, {1, 0.2}, {2, 0}} {
		if n := count(a[f], term); n > 0 {
			tf[f] = field.weight * n / (1 - field.b + field.b*float64(len(a[f]))/averages[f])
		}
	}
	total := tf[0] + tf[1] + tf[2]
	if total == 0 {
		return
	}
	if sums[id] == nil {
		sums[id] = new([3]float64)
	}
	for f := range tf {
		sums[id][f] += weight * tf[f] / (1.2 + total)
	}
}

func (c corpus) rank(q search.Query, sums map[ulid.ULID]*[3]float64, ideal float64) []scored {
	var all []scored
	for id, sum := range sums {
		if d := c[id]; passes(d, q.Filter) {
			all = append(all, scored{id, [3]float64{sum[0] / ideal, sum[1] / ideal, sum[2] / ideal}, d.Importance})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(
			cmp.Compare(b.total(), a.total()),
			cmp.Compare(b.importance, a.importance),
			cmp.Compare(b.id.Time(), a.id.Time()),
			b.id.Compare(a.id),
		)
	})
	return all[:min(len(all), max(q.Limit, 0))]
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
