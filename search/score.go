package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"

	"example.com/convmem/index"
)

// scale is what sums are counted in: whole numbers of 1/scale. Adding those gives
// the same in whatever order, so that a score does not depend on which postings
// were looked at first.
const scale = 1 << 40

// maxTerms bounds how many terms of a query are scored: those of the greatest
// weight.
const maxTerms = 63

// scorer scores the messages of a view for one query.
type scorer struct {
	view    *index.View
	query   *prepared
	terms   []scored // sorted by text
	ideal   float64  // the limit of every sum
	average parts
	norms   [index.LongLength]float64 // for short contents: see norm
	best    best
	// factors are what a whole sum is multiplied by, for the sets of the first
	// factorTerms terms; 0 where none was asked for yet.
	factors [1 << factorTerms]float64
}

const factorTerms = 6

// scored is a term of the query.
type scored struct {
	place  int // in prepared.terms
	number uint32
	// weight is idf times the term's own weight.
	weight float64
	bound  float64 // nothing adds more to a sum
	// shares are what a posting in nothing but the content adds, by the count
	// less one and the length of the content; 0 where none was asked for yet.
	shares [index.MaxRepeated][index.LongLength]int64
}

// set is a set of terms, by their places in scorer.terms.
type set uint64

// elsewhere is the bit of a set that says that some term stands in another field
// than the content.
const elsewhere set = 1 << maxTerms

// Scorers are large, and a search needs one for a moment.
var scorers = sync.Pool{New: func() any { return new(scorer) }}

func newScorer(v *index.View, q *prepared) *scorer {
	s := scorers.Get().(*scorer)
	*s = scorer{view: v, query: q, terms: s.terms[:0], best: s.best.cleared(v, candidateCount)}
	for f, field := range v.Statistics().Fields {
		if field.Messages > 0 {
			s.average[f] = float64(field.Terms) / float64(field.Messages)
		}
	}
	for length := range s.norms {
		s.norms[length] = s.fieldNorm(index.Content, uint32(length))
	}
	s.choose()
	for i := range s.terms {
		t := &s.terms[i]
		s.ideal += t.weight
		t.bound = s.bound(t, v.Bounds(t.place))
	}
	return s
}

// release gives the scorer to another search, without what this one looked at.
func (s *scorer) release() {
	s.view, s.query, s.best.view = nil, nil, nil
	scorers.Put(s)
}

// choose picks the terms that are scored, those of the greatest weight.
func (s *scorer) choose() {
	n := s.view.Statistics().Messages
	for place, own := range s.query.weights {
		number, known := s.view.Number(place)
		if !known {
			continue
		}
		weight := own * idf(n, s.view.Frequency(place))
		s.terms = append(s.terms, scored{place: place, number: number, weight: weight})
	}
	if len(s.terms) > maxTerms {
		slices.SortStableFunc(s.terms, func(a, b scored) int { return cmp.Compare(b.weight, a.weight) })
		s.terms = s.terms[:maxTerms]
		slices.SortFunc(s.terms, func(a, b scored) int { return cmp.Compare(a.place, b.place) })
	}
}

// idf is the weight of a term that df of n messages hold.
func idf(n, df int) float64 {
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

// fieldNorm is what the count of a term in a field of some length is divided by.
func (s *scorer) fieldNorm(f index.Field, length uint32) float64 {
	if s.average[f] == 0 {
		return 1
	}
	b := fields[f].length
	return 1 - b + b*float64(length)/s.average[f]
}

// norm is fieldNorm of the content.
func (s *scorer) norm(length uint32) float64 {
	if int(length) < len(s.norms) {
		return s.norms[length]
	}
	return s.fieldNorm(index.Content, length)
}

// sums is what the terms add to a message, by fields, in 1/scale.
type sums [index.FieldCount]int64

func (s sums) whole() int64 { return s[index.Content] + s[index.Summary] + s[index.Tags] }

// repeated is what a term adds that stands in nothing but the content, at most
// index.MaxRepeated times.
func (s *scorer) repeated(t *scored, count uint16, ordinal uint32, length uint8) int64 {
	if length == index.LongLength {
		return s.contentShare(t, count, s.view.FieldLengths(ordinal)[index.Content])
	}
	known := &t.shares[count-1][length]
	if *known == 0 {
		*known = s.contentShare(t, count, uint32(length))
	}
	return *known
}

func (s *scorer) contentShare(t *scored, count uint16, length uint32) int64 {
	return s.share(t, index.Counts{index.Content: uint32(count)}, index.Counts{index.Content: length}).whole()
}

// share is what a term adds that stands in any fields.
func (s *scorer) share(t *scored, counts, lengths index.Counts) (sum sums) {
	var shares parts
	for f, count := range counts {
		if count > 0 {
			shares[f] = fields[f].weight * float64(count) / s.lengthNorm(index.Field(f), lengths[f])
		}
	}
	frequency := shares.sum()
	for f, share := range shares {
		sum[f] = int64(t.weight * share / (k1 + frequency) * scale)
	}
	return sum
}

func (s *scorer) lengthNorm(f index.Field, length uint32) float64 {
	if f == index.Content {
		return s.norm(length)
	}
	return s.fieldNorm(f, length)
}

// slop makes up for what rounding may take from a bound.
const slop = 1 + 1e-9

// bound returns what a term adds at most to a message with at most these counts.
func (s *scorer) bound(t *scored, counts index.Counts) float64 {
	frequency := 0.0
	for f, count := range counts {
		frequency += fields[f].weight * float64(count) / (1 - fields[f].length)
	}
	return t.weight * frequency / (k1 + frequency) * slop
}

// factor is what the sum of a message that holds some of the terms is multiplied
// by: that makes it a share of the ideal, and less where terms are missing.
func (s *scorer) factor(matched set) float64 {
	matched &^= elsewhere
	if uint64(matched) >= uint64(len(s.factors)) {
		return s.makeFactor(matched)
	}
	if s.factors[matched] == 0 {
		s.factors[matched] = s.makeFactor(matched)
	}
	return s.factors[matched]
}

func (s *scorer) makeFactor(matched set) float64 {
	mass := 0.0
	for rest := uint64(matched); rest != 0; rest &= rest - 1 {
		mass += s.terms[bits.TrailingZeros64(rest)].weight
	}
	return s.coverage(mass) / s.ideal / scale
}

func (s *scorer) coverage(mass float64) float64 {
	return math.Pow(mass/s.ideal, coverageExponent)
}

// offer puts a message among the best if it passes and is one of them. whole is the sum of
// all fields, and matched tells the terms and whether there is more than content.
func (s *scorer) offer(ordinal uint32, whole int64, matched set) {
	score := float64(whole) * s.factor(matched)
	if score >= s.best.threshold() && s.view.Passes(ordinal) {
		s.best.add(scoredRow{score, matched, ordinal})
	}
}

// single scores messages one by one.
type single struct {
	*scorer
	numbers []uint32
	counts  []index.Counts
}

func newSingle(s *scorer) *single {
	one := &single{scorer: s, numbers: make([]uint32, 0, len(s.terms)), counts: make([]index.Counts, len(s.terms))}
	for i := range s.terms {
		one.numbers = append(one.numbers, s.terms[i].number)
	}
	return one
}

// sum returns what the terms add to a message and which it holds.
func (s *single) sum(ordinal uint32) (sum sums, matched set) {
	lengths := s.view.Count(ordinal, s.numbers, s.counts)
	for i := range s.terms {
		if s.counts[i] != (index.Counts{}) {
			for f, share := range s.share(&s.terms[i], s.counts[i], lengths) {
				sum[f] += share
			}
			matched |= 1<<i | where(s.counts[i])
		}
	}
	return sum, matched
}

// candidate returns a message as a candidate, false when it holds no term.
func (s *single) candidate(ordinal uint32) (candidate, bool) {
	sum, matched := s.sum(ordinal)
	if matched == 0 {
		return candidate{}, false
	}
	c := candidate{ordinal: ordinal, entry: s.view.Entry(ordinal)}
	factor := s.factor(matched)
	for f, n := range sum {
		c.parts[f] = float64(n) * factor
	}
	return c, true
}

// found returns a row that was scored already as a candidate.
func (s *single) found(r scoredRow) candidate {
	if r.matched&elsewhere != 0 {
		c, _ := s.candidate(r.ordinal)
		return c
	}
	c := candidate{ordinal: r.ordinal, entry: s.view.Entry(r.ordinal)}
	c.parts[index.Content] = r.score
	return c
}

// where returns elsewhere if the counts are not of the content alone.
func where(c index.Counts) set {
	if c[index.Summary]|c[index.Tags] != 0 {
		return elsewhere
	}
	return 0
}
