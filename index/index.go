// Package index keeps the order of messages and the paths to them: history,
// sessions, relations, filter columns and the postings of their words. It holds
// no text.
//
// An Index is derived data: it is filled from a log in log order and thrown
// away with it. It does no locking. Any number of goroutines may read it while
// none changes it.
//
// What an Index answers depends only on the messages that live in it, never on
// the way it got there: filled live, replayed from a log or filled from a
// compacted one, it gives the same answers. The one thing that has to know the
// past is [Index.Sessions]; see there.
//
// [Analyze] turns text into terms, for messages and for queries alike.
package index

import (
	"unique"

	"github.com/oklog/ulid/v2"
)

// Doc is what the index needs to know of a message. The index copies what it
// keeps.
type Doc struct {
	ID         ulid.ULID
	Session    string
	Role       string
	Kind       string
	Tier       string
	Importance int // must fit into 32 bits
	// Time is when the message was said, in Unix milliseconds.
	Time      int64
	Tags      []string
	Summary   string
	Content   string
	Relations []Relation
	// Imported says that the id was brought along and not made, greater than
	// all before it, when the message was first put: that it existed at some
	// moment does then not follow from its id.
	Imported bool
}

// Relation is a directed, typed edge to Target.
type Relation struct {
	Type   string
	Target ulid.ULID
}

// Index is the derived state of one set of messages. Use [New].
type Index struct {
	byID     map[ulid.ULID]uint32 // live messages only
	messages []message            // by ordinal, dead ones included
	words    postings
	stats    Statistics

	sessions   map[string]*session
	byActivity ordered[*session]
	byChange   ordered[*session]
	past       past

	outgoing map[ulid.ULID][]Relation
	incoming map[ulid.ULID]*ordered[Relation] // Target is the source

	analyzer analyzer
}

// New returns an empty Index.
func New() *Index {
	return &Index{
		byID:       map[ulid.ULID]uint32{},
		words:      newPostings(),
		sessions:   map[string]*session{},
		byActivity: ordered[*session]{compare: compareActivity},
		byChange:   ordered[*session]{compare: compareChange},
		past:       newPast(),
		outgoing:   map[ulid.ULID][]Relation{},
		incoming:   map[ulid.ULID]*ordered[Relation]{},
		analyzer:   newAnalyzer(),
	}
}

// message is a row of the columns: everything known of one version of a
// message but its words. An update ends one row and begins another.
type message struct {
	id         ulid.ULID
	session    *session
	role       unique.Handle[string]
	kind       unique.Handle[string]
	tier       unique.Handle[string]
	tags       []unique.Handle[string]
	terms      []uint32 // distinct terms, so that they can be taken back without the text
	time       int64
	lengths    [FieldCount]uint32
	entries    uint32 // in the postings
	importance int32
	live       bool
	summarised bool
}

// Put adds d, the record number seq of the log, or replaces the message of the
// same id. A replaced message stays in the session it was first put in. The
// cost is that of analysing the text, whatever the index holds.
func (ix *Index) Put(seq uint64, d Doc) {
	ordinal, replace := ix.byID[d.ID]
	var s *session
	if replace {
		s = ix.messages[ordinal].session
		ix.retire(ordinal)
	} else {
		s = ix.enter(seq, d)
	}
	ix.add(s, d)
	ix.compactWhenDue()
}

// Delete removes a message and says whether it was there. seq is the record
// number of the deletion.
func (ix *Index) Delete(seq uint64, id ulid.ULID) bool {
	ordinal, ok := ix.byID[id]
	if !ok {
		return false
	}
	s := ix.messages[ordinal].session
	ix.retire(ordinal)
	delete(ix.byID, id)
	ix.leave(seq, s, id)
	ix.compactWhenDue()
	return true
}

// add appends a row for d to the columns and connects everything to it.
func (ix *Index) add(s *session, d Doc) {
	ordinal := uint32(len(ix.messages))
	m := message{
		id:         d.ID,
		session:    s,
		role:       unique.Make(d.Role),
		kind:       unique.Make(d.Kind),
		tier:       unique.Make(d.Tier),
		time:       d.Time,
		importance: int32(d.Importance),
		live:       true,
		summarised: d.Summary != "",
	}
	for _, tag := range d.Tags {
		m.tags = append(m.tags, unique.Make(tag))
	}
	ix.addWords(ordinal, &m, d)
	ix.messages = append(ix.messages, m)
	ix.byID[d.ID] = ordinal
	s.count(&m, +1)
	ix.connect(d.ID, d.Relations)
}

// retire undoes add but for byID: the row is dead and nothing counts it.
func (ix *Index) retire(ordinal uint32) {
	m := &ix.messages[ordinal]
	m.live = false
	m.session.count(m, -1)
	ix.removeWords(m)
	ix.disconnect(m.id)
	m.session, m.tags, m.terms = nil, nil, nil
}

// Len counts the live messages.
func (ix *Index) Len() int { return len(ix.byID) }

// Contains says whether a message is live.
func (ix *Index) Contains(id ulid.ULID) bool {
	_, ok := ix.byID[id]
	return ok
}

// Session returns the session of a live message.
func (ix *Index) Session(id ulid.ULID) (string, bool) {
	ordinal, ok := ix.byID[id]
	if !ok {
		return "", false
	}
	return ix.messages[ordinal].session.name, true
}

// LastID returns the greatest id of a live message, the zero id when there is
// none.
func (ix *Index) LastID() ulid.ULID {
	var last ulid.ULID
	// The sessions with the newest activity come first; only those of one
	// millisecond can hold the greatest id.
	for s := range ix.byActivity.forward(position{}) {
		if s.activity < last.Time() {
			break
		}
		if s.newest().Compare(last) > 0 {
			last = s.newest()
		}
	}
	return last
}
