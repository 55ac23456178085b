package index

import "unsafe"

// Memory estimates, in bytes, what an Index has allocated for each purpose.
type Memory struct {
	Columns   int64 // ids and the values that filters test
	Search    int64 // terms and postings
	History   int64 // sessions and their order
	Relations int64
}

// What an entry of a map costs besides its key and value, about.
const mapOverhead = 18

const idBytes = 16

// Memory walks the index once and estimates its memory. What several messages
// share counts once.
func (ix *Index) Memory() Memory {
	return Memory{
		Columns:   ix.columnBytes(),
		Search:    ix.searchBytes(),
		History:   ix.historyBytes(),
		Relations: ix.relationBytes(),
	}
}

func sizeOf[T any]() int64 {
	var v T
	return int64(unsafe.Sizeof(v))
}

// pages yields every page there is.
func (r *rows) pages(yield func(*page) bool) {
	for _, p := range r.full {
		if p != nil && !yield(p) {
			return
		}
	}
	yield(&r.tail)
}

func (ix *Index) columnBytes() int64 {
	n := int64(len(ix.byID))*(idBytes+4+mapOverhead) + int64(cap(ix.traits.values))*sizeOf[traits]()
	for p := range ix.rows.pages {
		n += int64(cap(p.rows))*sizeOf[row]() + int64(cap(p.died))*4
	}
	return n
}

func (ix *Index) searchBytes() int64 {
	w := &ix.words
	n := int64(cap(w.terms))*sizeOf[term]() + int64(cap(w.dictionary.slots))*4
	for i := range w.terms {
		l := &w.terms[i].postings
		n += allocated(len(w.terms[i].text)) + allocated(cap(l.data)) + l.blocks.bytes()
	}
	for p := range ix.rows.pages {
		n += int64(cap(p.lengths)) + int64(cap(p.blocks))
	}
	return n
}

// allocated is what a small allocation takes.
func allocated(n int) int64 {
	const grain = 8
	return int64(n+grain-1) / grain * grain
}

func (ix *Index) historyBytes() int64 {
	n := orderedBytes(&ix.byActivity) + orderedBytes(&ix.byChange) + int64(cap(ix.numbered))*8
	for name, s := range ix.sessions {
		n += int64(len(name)) + sizeOf[string]() + 8 + mapOverhead + sizeOf[session]()
		n += orderedBytes(&s.history) + orderedBytes(&s.summaries)
		n += int64(len(s.kinds)) * (sizeOf[string]() + 8 + mapOverhead)
	}
	n += int64(len(ix.past.imported)) * (idBytes + 8 + mapOverhead)
	for _, g := range []graves{ix.past.recent, ix.past.older} {
		for name, list := range g {
			n += int64(len(name)) + sizeOf[string]() + 8 + mapOverhead + orderedBytes(list)
		}
	}
	return n
}

func (ix *Index) relationBytes() int64 {
	var n int64
	for _, list := range ix.incoming {
		n += idBytes + 8 + mapOverhead + orderedBytes(list)
	}
	return n
}

func orderedBytes[T any](o *ordered[T]) int64 {
	return sizeOf[ordered[T]]() + int64(cap(o.chunks))*24 + int64(o.capacity())*sizeOf[T]()
}
