package index

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// An ordered list does what a sorted slice does, through splits and removals of
// chunks.
func TestOrderedMatchesSortedSlice(t *testing.T) {
	largest := 0
	rapid.Check(t, func(t *rapid.T) {
		list := ordered[int]{compare: cmp.Compare[int]}
		var model []int
		largest = max(largest, fillOrdered(t, &list, &model))
		for range rapid.IntRange(0, 200).Draw(t, "changes") {
			v := rapid.IntRange(0, 3000).Draw(t, "v")
			if rapid.Bool().Draw(t, "insert") {
				list.insert(v)
				i, _ := slices.BinarySearch(model, v)
				model = slices.Insert(model, i, v)
				continue
			}
			i, there := slices.BinarySearch(model, v)
			if got := list.contains(v); got != there {
				t.Fatalf("contains(%d) = %v", v, got)
			}
			if got := list.remove(v); got != there {
				t.Fatalf("remove(%d) = %v", v, got)
			}
			if there {
				model = slices.Delete(model, i, i+1)
			}
		}
		compareOrdered(t, &list, model)
	})
	if largest < 3 {
		t.Errorf("never more than %d chunks", largest)
	}
}

// fillOrdered inserts a long run, up or down, so that there are chunks to split.
func fillOrdered(t *rapid.T, list *ordered[int], model *[]int) (chunks int) {
	n := rapid.IntRange(0, 2000).Draw(t, "n")
	down := rapid.Bool().Draw(t, "down")
	for i := range n {
		if down {
			i = n - 1 - i
		}
		list.insert(i)
	}
	for i := range n {
		*model = append(*model, i)
	}
	return len(list.chunks)
}

func compareOrdered(t *rapid.T, list *ordered[int], model []int) {
	if list.length != len(model) || list.capacity() < len(model) {
		t.Fatalf("length %d, capacity %d, want %d", list.length, list.capacity(), len(model))
	}
	pivot := rapid.IntRange(-1, 3001).Draw(t, "pivot")
	p := list.seek(func(v int) bool { return v < pivot })
	i, _ := slices.BinarySearch(model, pivot)
	if diff := gocmp.Diff(append([]int{}, model[i:]...), slices.AppendSeq([]int{}, list.forward(p))); diff != "" {
		t.Fatalf("forward from %d: %s", pivot, diff)
	}
	before := append([]int{}, model[:i]...)
	slices.Reverse(before)
	if diff := gocmp.Diff(before, slices.AppendSeq([]int{}, list.backward(p))); diff != "" {
		t.Fatalf("backward from %d: %s", pivot, diff)
	}
	if len(model) > 0 && (list.first() != model[0] || list.last() != model[len(model)-1]) {
		t.Fatalf("first %d, last %d", list.first(), list.last())
	}
	for _, chunk := range list.chunks {
		if len(chunk) == 0 || len(chunk) > chunkSize {
			t.Fatalf("chunk of %d", len(chunk))
		}
	}
}

func TestOrderedStopsEarly(t *testing.T) {
	list := ordered[int]{compare: cmp.Compare[int]}
	for i := range 3 * chunkSize {
		list.insert(i)
	}
	for v := range list.forward(position{}) {
		if v == chunkSize+1 {
			break
		}
	}
	for v := range list.backward(list.end()) {
		if v == chunkSize-1 {
			break
		}
	}
}

// A long list of which little is left must not keep the memory of the rest.
func TestOrderedGivesMemoryBack(t *testing.T) {
	o := ordered[int]{compare: func(a, b int) int { return a - b }}
	const n, every = 60_000, 500
	for i := range n {
		o.insert(i)
	}
	for i := range n {
		if i%every != 0 && !o.remove(i) {
			t.Fatalf("%d is not there", i)
		}
	}
	room := 0
	for _, c := range o.chunks {
		room += cap(c)
	}
	if left := n / every; o.length != left || room > 8*left {
		t.Errorf("%d elements keep room for %d", o.length, room)
	}
}
