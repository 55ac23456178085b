package search

import (
	"cmp"
	"slices"
)

// pair is two terms of which the second follows the first.
type pair struct{ first, second uint32 }

func (p pair) compare(q pair) int {
	return cmp.Or(cmp.Compare(p.first, q.first), cmp.Compare(p.second, q.second))
}

// hash returns the place of one of 1024 bits.
func (p pair) hash() (word, bit uint64) {
	h := (uint64(p.first)<<32 | uint64(p.second)) * 0x9E3779B97F4A7C15 >> 54
	return h / 64, 1 << (h % 64)
}

// pairs counts the pairs of a query in texts.
type pairs struct {
	all    []pair     // sorted, distinct
	hashes [16]uint64 // bits of their hashes: most pairs of a text are none of them
	held   []int      // texts that hold each
	seen   []int      // 1 + the last text that holds each
	found  []foundPair
}

// foundPair says that a text holds a pair of the query.
type foundPair struct{ text, pair int }

func newPairs(text []token) *pairs {
	p := &pairs{}
	eachPair(text, func(next pair) { p.all = append(p.all, next) })
	slices.SortFunc(p.all, pair.compare)
	p.all = slices.Compact(p.all)
	for _, next := range p.all {
		word, bit := next.hash()
		p.hashes[word] |= bit
	}
	p.held, p.seen = make([]int, len(p.all)), make([]int, len(p.all))
	return p
}

// eachPair yields the pairs of neighbours in a text. Where several terms share a
// position, the last one counts: the part, not the whole; the two characters, not
// the one.
func eachPair(text []token, yield func(pair)) {
	for i := 0; i+1 < len(text); i++ {
		if text[i+1].Position != text[i].Position+1 {
			continue
		}
		end := i + 1
		for end+1 < len(text) && text[end+1].Position == text[end].Position {
			end++
		}
		yield(pair{text[i].Number, text[end].Number})
	}
}

// read notes the pairs that text number i holds.
func (p *pairs) read(i int, tokens []token) {
	if len(p.all) == 0 {
		return
	}
	eachPair(tokens, func(next pair) {
		if word, bit := next.hash(); p.hashes[word]&bit == 0 {
			return
		}
		at, found := slices.BinarySearchFunc(p.all, next, pair.compare)
		if found && p.seen[at] != i+1 {
			p.seen[at] = i + 1
			p.held[at]++
			p.found = append(p.found, foundPair{i, at})
		}
	})
}

// sums returns what the pairs that each of n texts holds weigh. A pair weighs
// what a term would that as many of the texts hold: nearly all messages that hold
// a telling pair are candidates. Most of those that hold a common one are not; it
// weighs at most what its terms do together.
func (p *pairs) sums(n int, q *question) []float64 {
	weights := make([]float64, len(p.all))
	for at, next := range p.all {
		together := q.terms[next.first].weight + q.terms[next.second].weight
		weights[at] = min(together, idf(q.messages, p.held[at]))
	}
	sums := make([]float64, n)
	for _, f := range p.found {
		sums[f.text] += weights[f.pair]
	}
	return sums
}
