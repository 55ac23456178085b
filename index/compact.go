package index

import "slices"

// slack is how much may be dead before compaction looks at proportions.
const slack = 1024

// compactWhenDue renumbers the live messages when more is dead than alive,
// counted in messages or in postings. Each compaction costs about as much as
// was put since the one before it, so that a message that is updated for ever
// neither fills the memory nor takes more than constant time.
func (ix *Index) compactWhenDue() {
	deadMessages := len(ix.messages) - len(ix.byID)
	liveEntries := ix.words.total - ix.words.dead
	if deadMessages > len(ix.byID)+slack || ix.words.dead > liveEntries+32*slack {
		ix.compact()
	}
}

// gone marks ordinals without a successor.
const gone = ^uint32(0)

func (ix *Index) compact() {
	renumbered := make([]uint32, len(ix.messages))
	kept := make([]message, 0, len(ix.byID))
	for old, m := range ix.messages {
		renumbered[old] = gone
		if m.live {
			renumbered[old] = uint32(len(kept))
			ix.byID[m.id] = uint32(len(kept))
			kept = append(kept, m)
		}
	}
	ix.messages = kept
	ix.words.compact(renumbered)
}

// compact drops dead entries and the terms that only they held. The order of
// the ordinals stays, and so does the number of every term.
func (p *postings) compact(renumbered []uint32) {
	ids := make(map[string]uint32, len(p.ids))
	p.free = p.free[:0]
	for id := range p.terms {
		t := &p.terms[id]
		if t.frequency == 0 {
			*t = term{}
			p.free = append(p.free, uint32(id))
			continue
		}
		ids[t.text] = uint32(id)
		t.entries = renumber(t.entries, renumbered)
	}
	p.ids = ids
	p.total -= p.dead
	p.dead = 0
}

func renumber(entries []entry, renumbered []uint32) []entry {
	kept := entries[:0]
	for _, e := range entries {
		if e.ordinal = renumbered[e.ordinal]; e.ordinal != gone {
			kept = append(kept, e)
		}
	}
	if len(kept) < cap(kept)/2 {
		return slices.Clone(kept)
	}
	return kept
}
