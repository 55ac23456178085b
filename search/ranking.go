package search

import (
	"cmp"
	"container/heap"
	"slices"
)

// ranking keeps the best candidates: a heap with the worst of them on top.
type ranking struct {
	limit int
	heap  candidates
}

func (r *ranking) add(c candidate) {
	switch {
	case len(r.heap) < r.limit:
		heap.Push(&r.heap, c)
	case r.limit > 0 && compareCandidates(c, r.heap[0]) < 0:
		r.heap[0] = c
		heap.Fix(&r.heap, 0)
	}
}

// hits returns the best first and leaves the ranking empty.
func (r *ranking) hits() []Hit {
	slices.SortFunc(r.heap, compareCandidates)
	hits := make([]Hit, len(r.heap))
	for i, c := range r.heap {
		hits[i] = c.hit
	}
	r.heap = nil
	return hits
}

// compareCandidates puts the better one first. No two are equal, since ids
// differ; a greater id is also a newer one.
func compareCandidates(a, b candidate) int {
	return cmp.Or(
		cmp.Compare(b.score, a.score),
		cmp.Compare(b.importance, a.importance),
		b.hit.ID.Compare(a.hit.ID),
	)
}

// candidates implements heap.Interface.
type candidates []candidate

func (c candidates) Len() int           { return len(c) }
func (c candidates) Less(i, j int) bool { return compareCandidates(c[i], c[j]) > 0 }
func (c candidates) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(v any)        { *c = append(*c, v.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
