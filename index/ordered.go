package index

import (
	"iter"
	"slices"
	"sort"
)

// chunkSize bounds how many elements one insertion or removal has to move.
const chunkSize = 512

// ordered is a sorted list that takes insertions and removals anywhere. It is
// cut into chunks, so that a session whose messages are deleted from the front,
// or imported in reverse, does not cost the square of its length.
//
// Equal elements are allowed; remove takes one of them.
type ordered[T any] struct {
	compare func(a, b T) int
	chunks  [][]T // none of them empty
	length  int
}

// position is a place between two elements: chunks[chunk][offset] is the next
// one. Past the end, chunk is len(chunks).
type position struct{ chunk, offset int }

// seek returns the place after the last element for which before is true.
// The elements for which it is true must all come first.
func (o *ordered[T]) seek(before func(T) bool) position {
	chunk := sort.Search(len(o.chunks), func(i int) bool {
		return !before(o.chunks[i][len(o.chunks[i])-1])
	})
	if chunk == len(o.chunks) {
		return position{chunk, 0}
	}
	c := o.chunks[chunk]
	return position{chunk, sort.Search(len(c), func(i int) bool { return !before(c[i]) })}
}

func (o *ordered[T]) end() position { return position{len(o.chunks), 0} }

// insert adds v after any equal elements.
func (o *ordered[T]) insert(v T) {
	o.length++
	p := o.seek(func(e T) bool { return o.compare(e, v) <= 0 })
	if p.chunk == len(o.chunks) {
		o.append(v)
		return
	}
	c := slices.Insert(o.chunks[p.chunk], p.offset, v)
	o.chunks[p.chunk] = c
	if len(c) > chunkSize {
		// The left half is copied so that its capacity does not hold the right.
		left, right := slices.Clone(c[:len(c)/2]), slices.Clone(c[len(c)/2:])
		o.chunks[p.chunk] = left
		o.chunks = slices.Insert(o.chunks, p.chunk+1, right)
	}
}

// append adds v at the end. A full last chunk stays full, which keeps lists
// that only grow at the end dense.
func (o *ordered[T]) append(v T) {
	last := len(o.chunks) - 1
	if last < 0 || len(o.chunks[last]) >= chunkSize {
		o.chunks = append(o.chunks, []T{v})
		return
	}
	o.chunks[last] = append(o.chunks[last], v)
}

// remove takes out one element equal to v and says whether there was one.
func (o *ordered[T]) remove(v T) bool {
	p := o.seek(func(e T) bool { return o.compare(e, v) < 0 })
	if p.chunk == len(o.chunks) || o.compare(o.chunks[p.chunk][p.offset], v) != 0 {
		return false
	}
	o.length--
	c := slices.Delete(o.chunks[p.chunk], p.offset, p.offset+1)
	if len(c) > 0 {
		if len(c) <= cap(c)/4 {
			c = slices.Clone(c) // a list that shrinks gives its memory back
		}
		o.chunks[p.chunk] = c
		return true
	}
	o.chunks = slices.Delete(o.chunks, p.chunk, p.chunk+1)
	return true
}

// contains says whether an element equal to v is there.
func (o *ordered[T]) contains(v T) bool {
	p := o.seek(func(e T) bool { return o.compare(e, v) < 0 })
	return p.chunk < len(o.chunks) && o.compare(o.chunks[p.chunk][p.offset], v) == 0
}

// find returns the element equal to v, which must be there. What it is compared by
// must not be changed.
func (o *ordered[T]) find(v T) *T {
	p := o.seek(func(e T) bool { return o.compare(e, v) < 0 })
	return &o.chunks[p.chunk][p.offset]
}

// first returns the least element. The list must not be empty.
func (o *ordered[T]) first() T { return o.chunks[0][0] }

// last returns the greatest element. The list must not be empty.
func (o *ordered[T]) last() T {
	c := o.chunks[len(o.chunks)-1]
	return c[len(c)-1]
}

// forward yields the elements from p to the end.
func (o *ordered[T]) forward(p position) iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := p.chunk; i < len(o.chunks); i++ {
			for _, v := range o.chunks[i][p.offset:] {
				if !yield(v) {
					return
				}
			}
			p.offset = 0
		}
	}
}

// backward yields the elements before p, the nearest first.
func (o *ordered[T]) backward(p position) iter.Seq[T] {
	return func(yield func(T) bool) {
		if p.chunk < len(o.chunks) && !yieldBackward(o.chunks[p.chunk][:p.offset], yield) {
			return
		}
		for i := p.chunk - 1; i >= 0; i-- {
			if !yieldBackward(o.chunks[i], yield) {
				return
			}
		}
	}
}

func yieldBackward[T any](c []T, yield func(T) bool) bool {
	for i := len(c) - 1; i >= 0; i-- {
		if !yield(c[i]) {
			return false
		}
	}
	return true
}

// capacity counts the elements there is room for, for memory estimates.
func (o *ordered[T]) capacity() int {
	n := 0
	for _, c := range o.chunks {
		n += cap(c)
	}
	return n
}
