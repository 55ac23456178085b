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
const mapOverhead = 8

const idBytes = 16

// Memory walks the index once and estimates its memory. Strings that several
// messages share count nothing.
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

func (ix *Index) columnBytes() int64 {
	n := int64(cap(ix.messages))*sizeOf[message]() + int64(len(ix.byID))*(idBytes+4+mapOverhead)
	for i := range ix.messages {
		n += int64(cap(ix.messages[i].tags)) * 8
	}
	return n
}

func (ix *Index) searchBytes() int64 {
	w := &ix.words
	n := int64(cap(w.terms))*sizeOf[term]() + int64(len(w.ids))*(sizeOf[string]()+4+mapOverhead) + int64(cap(w.free))*4
	for i := range w.terms {
		n += int64(len(w.terms[i].text)) + int64(cap(w.terms[i].entries))*sizeOf[entry]()
	}
	for i := range ix.messages {
		n += int64(cap(ix.messages[i].terms)) * 4
	}
	for word, term := range ix.analyzer.terms {
		n += int64(len(word)+len(term)) + 2*sizeOf[string]() + mapOverhead
	}
	return n
}

func (ix *Index) historyBytes() int64 {
	n := orderedBytes(&ix.byActivity) + orderedBytes(&ix.byChange)
	for name, s := range ix.sessions {
		n += int64(len(name)) + sizeOf[string]() + 8 + mapOverhead + sizeOf[session]()
		n += orderedBytes(&s.history) + orderedBytes(&s.summaries)
		n += int64(len(s.kinds)) * (8 + 8 + mapOverhead)
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
	for _, edges := range ix.outgoing {
		n += idBytes + 24 + mapOverhead + int64(cap(edges))*sizeOf[Relation]()
	}
	for _, list := range ix.incoming {
		n += idBytes + 8 + mapOverhead + orderedBytes(list)
	}
	return n
}

func orderedBytes[T any](o *ordered[T]) int64 {
	return sizeOf[ordered[T]]() + int64(cap(o.chunks))*24 + int64(o.capacity())*sizeOf[T]()
}
