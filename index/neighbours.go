package index

import "slices"

// Beside returns rows of a view of ix: those of the messages that stand at most
// reach places before or after one of some messages, in its session, and are none
// of them. The messages are given by their rows in the view, all of which ix must
// hold; see [Index.Holds]. Messages that were written or changed since the view
// was made are left out. The rows come by ascending ordinal; the index must not
// change meanwhile.
func (ix *Index) Beside(v *View, ordinals []uint32, reach int) []uint32 {
	found := make([]uint32, 0, 2*reach*len(ordinals))
	for _, ordinal := range ordinals {
		found = ix.appendBeside(found, ordinal, reach)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	given := slices.Sorted(slices.Values(ordinals))
	return slices.DeleteFunc(found, func(ordinal uint32) bool {
		_, there := slices.BinarySearch(given, ordinal)
		return there || !v.has(ordinal)
	})
}

func (ix *Index) appendBeside(found []uint32, ordinal uint32, reach int) []uint32 {
	r := ix.rows.row(ordinal)
	history := &ix.numbered[r.session].history
	at := history.seek(func(other entry) bool { return other.id.Compare(r.id) < 0 })
	n := 0
	for before := range history.backward(at) {
		if n++; n > reach {
			break
		}
		found = append(found, before.ordinal)
	}
	n = -1 // the message itself comes first
	for after := range history.forward(at) {
		if n++; n > reach {
			break
		}
		if n > 0 {
			found = append(found, after.ordinal)
		}
	}
	return found
}
