package index

import (
	"cmp"
	"iter"
	"strings"

	"github.com/oklog/ulid/v2"
)

// SessionInfo describes the live messages of one session.
type SessionInfo struct {
	Session    string
	Messages   int
	KindCounts map[string]int // kinds that are present
	// First and Last are the least and the greatest id.
	First, Last ulid.ULID
	// Representative is the newest message with a summary, or the newest
	// message when none has one.
	Representative          ulid.ULID
	RepresentativeIsSummary bool
}

// session holds the live messages of one session. It is never empty while the
// index lists it.
type session struct {
	name      string
	number    uint32 // in Index.numbered
	history   ordered[entry]
	summaries ordered[ulid.ULID] // those with a summary
	kinds     map[string]int

	activity uint64 // the time of the newest id, in milliseconds
	changed  uint64 // number of the last record that added or removed a message
}

func newSession(name string) *session {
	return &session{
		name:      strings.Clone(name),
		history:   ordered[entry]{compare: compareEntries},
		summaries: ordered[ulid.ULID]{compare: ulid.ULID.Compare},
		kinds:     map[string]int{},
	}
}

func (s *session) newest() ulid.ULID { return s.history.last().id }

// entry is a message in the history of its session, with its present row.
type entry struct {
	id      ulid.ULID
	ordinal uint32
}

func compareEntries(a, b entry) int { return a.id.Compare(b.id) }

// ids yields what entries are of.
func ids(entries iter.Seq[entry]) iter.Seq[ulid.ULID] {
	return func(yield func(ulid.ULID) bool) {
		for e := range entries {
			if !yield(e.id) {
				return
			}
		}
	}
}

// count adds a message to, or with -1 takes it out of, what a session knows
// beyond its history.
func (s *session) count(id ulid.ULID, c traits, by int) {
	s.kinds[c.kind] += by
	if s.kinds[c.kind] == 0 {
		delete(s.kinds, c.kind)
	}
	switch {
	case !c.summarised:
	case by > 0:
		s.summaries.insert(id)
	default:
		s.summaries.remove(id)
	}
}

// compareActivity puts the newest millisecond first, then goes by name.
func compareActivity(a, b *session) int {
	return cmp.Or(cmp.Compare(b.activity, a.activity), strings.Compare(a.name, b.name))
}

// compareChange puts the session that changed last first.
func compareChange(a, b *session) int {
	return cmp.Or(cmp.Compare(b.changed, a.changed), strings.Compare(a.name, b.name))
}

// enter puts a new message into its session, which it begins if need be.
func (ix *Index) enter(seq uint64, d Doc) *session {
	s := ix.sessions[d.Session]
	if s == nil {
		s = ix.begin(d.Session)
		s.changed = ix.past.lastDeath(s.name)
	} else {
		ix.unlist(s)
	}
	s.history.insert(entry{id: d.ID}) // place fills in the row
	if d.Imported {
		ix.past.born(seq, d.ID)
	}
	ix.list(s, seq)
	return s
}

// begin makes a session, which is not in the orders yet.
func (ix *Index) begin(name string) *session {
	s := newSession(name)
	ix.sessions[s.name] = s
	if n := len(ix.freed); n > 0 {
		s.number, ix.freed = ix.freed[n-1], ix.freed[:n-1]
		ix.numbered[s.number] = s
		return s
	}
	s.number = uint32(len(ix.numbered))
	ix.numbered = append(ix.numbered, s)
	return s
}

// end forgets a session that is not in the orders any more.
func (ix *Index) end(s *session) {
	delete(ix.sessions, s.name)
	ix.numbered[s.number] = nil
	ix.freed = append(ix.freed, s.number)
}

// leave takes a deleted message out of its session. A session without a message
// is gone, with all memory of it.
func (ix *Index) leave(seq uint64, s *session, id ulid.ULID) {
	ix.unlist(s)
	s.history.remove(entry{id: id})
	if s.history.length == 0 {
		ix.end(s)
		ix.past.ended(s.name, id)
		return
	}
	ix.past.died(seq, s.name, id)
	ix.list(s, seq)
}

// unlist takes s out of the orders before its keys change.
func (ix *Index) unlist(s *session) {
	ix.byActivity.remove(s)
	ix.byChange.remove(s)
}

// list puts s into the orders, changed by the record number seq.
func (ix *Index) list(s *session, seq uint64) {
	s.activity = s.newest().Time()
	s.changed = max(s.changed, seq)
	ix.byActivity.insert(s)
	ix.byChange.insert(s)
}

// History yields the ids of a session's live messages, ascending from the first
// one after from, or descending from the last one before it. The zero id means
// from the start, or from the end. The index must not change meanwhile.
func (ix *Index) History(name string, from ulid.ULID, descending bool) iter.Seq[ulid.ULID] {
	s := ix.sessions[name]
	switch {
	case s == nil:
		return func(func(ulid.ULID) bool) {}
	case descending && from.IsZero():
		return ids(s.history.backward(s.history.end()))
	case descending:
		return ids(s.history.backward(s.history.seek(func(e entry) bool { return e.id.Compare(from) < 0 })))
	case from.IsZero():
		return ids(s.history.forward(position{}))
	}
	return ids(s.history.forward(s.history.seek(func(e entry) bool { return e.id.Compare(from) <= 0 })))
}

// SessionInfo describes a session; false when it has no live message.
func (ix *Index) SessionInfo(name string) (SessionInfo, bool) {
	s := ix.sessions[name]
	if s == nil {
		return SessionInfo{}, false
	}
	info := SessionInfo{
		Session:        s.name,
		Messages:       s.history.length,
		KindCounts:     make(map[string]int, len(s.kinds)),
		First:          s.history.first().id,
		Last:           s.newest(),
		Representative: s.newest(),
	}
	for kind, n := range s.kinds {
		info.KindCounts[kind] = n
	}
	if s.summaries.length > 0 {
		info.Representative, info.RepresentativeIsSummary = s.summaries.last(), true
	}
	return info, true
}
