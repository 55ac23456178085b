package index

import (
	"cmp"

	"github.com/oklog/ulid/v2"
)

// rememberedDeletions is how many of the latest deletions Sessions is sure to
// know. It bounds what a long life of deleting costs.
const rememberedDeletions = 1 << 16

// past is what Sessions has to know about earlier moments: which messages
// existed later than their ids say, and which are gone.
type past struct {
	// imported maps imported messages to the records that first put them.
	imported map[ulid.ULID]uint64
	// When recent is full it becomes older, and what was older is forgotten.
	recent, older graves
	recentCount   int
}

// graves holds deleted messages by session.
type graves map[string]*ordered[tombstone]

// tombstone says that a message existed from the record born (0: since its id
// was made) until the record died.
type tombstone struct {
	id         ulid.ULID
	born, died uint64
}

func compareTombstones(a, b tombstone) int {
	return cmp.Or(a.id.Compare(b.id), cmp.Compare(a.died, b.died), cmp.Compare(a.born, b.born))
}

func newPast() past {
	return past{imported: map[ulid.ULID]uint64{}, recent: graves{}, older: graves{}}
}

// rememberedImports bounds what importing old messages costs for good: they are
// carried over rebuilds. Listings that began more imports ago may show what they
// brought.
const rememberedImports = 1 << 20

// born notes that an imported message was put for the first time, unless an
// index before this one knows better.
func (p *past) born(seq uint64, id ulid.ULID) {
	if _, known := p.imported[id]; known {
		return
	}
	if len(p.imported) == rememberedImports {
		clear(p.imported)
	}
	p.imported[id] = seq
}

// died notes a deletion from a session that goes on.
func (p *past) died(seq uint64, session string, id ulid.ULID) {
	if p.recent.add(session, tombstone{id: id, born: p.imported[id], died: seq}) {
		p.recentCount++
	}
	delete(p.imported, id)
	if p.recentCount >= rememberedDeletions {
		p.older, p.recent, p.recentCount = p.recent, graves{}, 0
	}
}

// ended notes that a session lost its last message. Nothing is remembered of
// it: should it begin again, it is a new session.
func (p *past) ended(session string, id ulid.ULID) {
	delete(p.imported, id)
	if list := p.recent[session]; list != nil {
		p.recentCount -= list.length
	}
	delete(p.recent, session)
	delete(p.older, session)
}

// add says whether t was new.
func (g graves) add(session string, t tombstone) bool {
	list := g[session]
	if list == nil {
		list = &ordered[tombstone]{compare: compareTombstones}
		g[session] = list
	}
	if list.contains(t) {
		return false
	}
	list.insert(t)
	return true
}

// newest returns the greatest id of the session in (floor, horizon] that was
// live when the log was at seq and is deleted now; floor when there is none.
func (g graves) newest(session string, floor, horizon ulid.ULID, seq uint64) ulid.ULID {
	list := g[session]
	if list == nil {
		return floor
	}
	start := list.seek(func(t tombstone) bool { return t.id.Compare(horizon) <= 0 })
	for t := range list.backward(start) {
		if t.id.Compare(floor) <= 0 {
			break
		}
		if t.born <= seq && seq < t.died {
			return t.id
		}
	}
	return floor
}

// lastDeath returns the number of the latest deletion remembered of a session.
func (p *past) lastDeath(session string) uint64 {
	var last uint64
	for _, g := range []graves{p.recent, p.older} {
		if list := g[session]; list != nil {
			for t := range list.forward(position{}) {
				last = max(last, t.died)
			}
		}
	}
	return last
}
