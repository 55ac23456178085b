package index

import (
	"cmp"
	"slices"

	"github.com/oklog/ulid/v2"
)

// Place is where a message stands in its session.
type Place struct {
	// Of is the message, by its place in the list that was asked for.
	Of      int
	Session uint32 // differs from session to session
	// Rank counts the live messages of the session before it. It is 0 for the
	// only one of its session that was asked for.
	Rank int
	// Near says that the message is in reach of the one before it in the list of
	// places, which is of the same session.
	Near bool
}

// Reach says how far messages of a session may be from each other.
type Reach struct {
	Messages int   // from one to the other
	Silence  int64 // between two that follow each other, in milliseconds
}

// Places returns the places of messages, sorted by session and then by id. They
// are given by their rows in a view of ix, all of which it must hold; see
// [Index.Holds]. The index must not change meanwhile.
func (ix *Index) Places(ordinals []uint32, reach Reach) []Place {
	places, ids := make([]Place, len(ordinals)), make([]ulid.ULID, len(ordinals))
	for i, ordinal := range ordinals {
		r := ix.rows.row(ordinal)
		places[i], ids[i] = Place{Of: i, Session: r.session}, r.id
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), ids[a.Of].Compare(ids[b.Of]))
	})
	for start := 0; start < len(places); {
		end := start + 1
		for end < len(places) && places[end].Session == places[start].Session {
			end++
		}
		if end-start > 1 {
			ix.rank(ids, places[start:end], reach)
		}
		start = end
	}
	return places
}

// rank fills in the ranks of the places of one session, and which are near.
func (ix *Index) rank(ids []ulid.ULID, places []Place, reach Reach) {
	history := &ix.numbered[places[0].Session].history
	at, before := position{}, 0 // before counts what stands in the chunks before
	for i := range places {
		id := ids[places[i].Of]
		for last := history.chunks[at.chunk]; last[len(last)-1].id.Compare(id) < 0; last = history.chunks[at.chunk] {
			before += len(last)
			at.chunk++
		}
		offset, _ := slices.BinarySearchFunc(history.chunks[at.chunk], entry{id: id}, compareEntries)
		places[i].Rank = before + offset
		if i > 0 && places[i].Rank-places[i-1].Rank <= reach.Messages {
			places[i].Near = ix.spoken(history, ids[places[i-1].Of], id, reach.Silence)
		}
	}
}

// spoken says whether the messages of a session from one to another were never
// silent for longer.
func (ix *Index) spoken(history *ordered[entry], from, to ulid.ULID, silence int64) bool {
	last := ix.rows.row(ix.byID[from]).time
	for e := range history.forward(history.seek(func(e entry) bool { return e.id.Compare(from) <= 0 })) {
		now := ix.rows.row(e.ordinal).time
		if now-last > silence {
			return false
		}
		if e.id == to {
			return true
		}
		last = now
	}
	return false
}
