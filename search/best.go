package search

import (
	"cmp"
	"slices"

	"example.com/convmem/index"
)

// candidate is a message that may become a hit.
type candidate struct {
	ordinal uint32
	entry   index.Entry
	parts   parts // its own score, by fields
	exact   bool  // its content is the query
}

// parts holds one number for each field.
type parts [index.FieldCount]float64

// sum adds them up, always in the same order.
func (p parts) sum() float64 { return (p[index.Content] + p[index.Summary]) + p[index.Tags] }

// best keeps the rows with the best scores: a heap with the least score on top.
// Scores are often alike, and to tell such rows apart takes a look at each, which
// costs more than all else. So those that have the least score and found no room
// are put aside until it is known how many of them are wanted.
type best struct {
	view  *index.View
	limit int
	heap  []scoredRow
	tied  []scoredRow // of the score of heap[0]
}

// cleared returns an empty heap with the memory of this one.
func (b *best) cleared(v *index.View, limit int) best {
	return best{view: v, limit: limit, heap: b.heap[:0], tied: b.tied[:0]}
}

// scoredRow is a row with its own score and the terms that it holds.
type scoredRow struct {
	score   float64
	matched set
	ordinal uint32
}

// threshold is the least score that can still get in. One that is equal may get
// in too.
func (b *best) threshold() float64 {
	if len(b.heap) < b.limit {
		return 0
	}
	return b.heap[0].score
}

func (b *best) add(r scoredRow) {
	switch least := b.threshold(); {
	case len(b.heap) < b.limit:
		b.heap = append(b.heap, r)
		b.up(len(b.heap) - 1)
	case r.score == least && b.limit > 0:
		b.tie(r)
	case r.score > least:
		out := b.heap[0]
		b.heap[0] = r
		b.down()
		if b.heap[0].score == least {
			b.tie(out)
		} else {
			b.tied = b.tied[:0]
		}
	}
}

// maxTied is how many rows are put aside, in multiples of the limit.
const maxTied = 8

func (b *best) tie(r scoredRow) {
	if b.tied = append(b.tied, r); len(b.tied) > maxTied*b.limit {
		b.settle()
	}
}

// settle gives the places of the rows with the least score to the best of them.
func (b *best) settle() {
	if len(b.tied) == 0 {
		return
	}
	least := b.heap[0].score
	var places []int
	for i, r := range b.heap {
		if r.score == least {
			places = append(places, i)
			b.tied = append(b.tied, r)
		}
	}
	slices.SortFunc(b.tied, b.compare)
	for i, place := range places {
		b.heap[place] = b.tied[i]
	}
	b.tied = b.tied[:0]
}

// sorted returns the best rows, best first, and ends the adding.
func (b *best) sorted() []scoredRow {
	b.settle()
	slices.SortFunc(b.heap, b.compare)
	return b.heap
}

// compare puts the better one first. No two rows are alike; see CompareTies.
func (b *best) compare(x, y scoredRow) int {
	if x.score != y.score {
		return cmp.Compare(y.score, x.score)
	}
	return b.view.CompareTies(x.ordinal, y.ordinal)
}

func (b *best) up(i int) {
	for i > 0 && b.heap[i].score < b.heap[(i-1)/2].score {
		b.heap[i], b.heap[(i-1)/2] = b.heap[(i-1)/2], b.heap[i]
		i = (i - 1) / 2
	}
}

func (b *best) down() {
	i := 0
	for child := 1; child < len(b.heap); child = 2*i + 1 {
		if child+1 < len(b.heap) && b.heap[child+1].score < b.heap[child].score {
			child++
		}
		if b.heap[child].score >= b.heap[i].score {
			return
		}
		b.heap[i], b.heap[child] = b.heap[child], b.heap[i]
		i = child
	}
}
