// Package index keeps the order of messages and the paths to them: history,
// sessions, relations, the values that filters test and the postings of their
// words. It holds no text.
//
// An Index is derived data: it is filled from a log in log order, or from what
// [Index.Save] gave, and thrown away with the log. It does no locking. Any number
// of goroutines may read it while none changes it; a [View] of it may be read
// beside changes.
//
// What an Index answers depends only on the messages that live in it, never on
// the way it got there: filled live, replayed from a log or filled from a
// compacted one, it gives the same answers. The one thing that has to know the
// past is [Index.Sessions]; see there.
//
// An [Analyzer] turns text into terms, for messages and for queries alike.
package index

import (
	"iter"
	"maps"
	"strings"

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
	analyzer Analyzer
	byID     map[ulid.ULID]uint32 // ordinals of live rows
	rows     rows
	words    words
	traits   interned[traits]
	types    interned[string] // of relations

	emptying    emptying
	epoch       uint64 // grows when ordinals begin anew
	lastOrdinal uint32 // maxOrdinal, less in tests
	slackBytes  int    // the constant, less in tests

	sessions   map[string]*session
	numbered   []*session // by session.number, nil where a number is free
	freed      []uint32   // numbers of sessions that are gone
	byActivity ordered[*session]
	byChange   ordered[*session]
	past       past

	incoming map[ulid.ULID]*ordered[Relation] // Target is the source
}

// New returns an empty Index that turns text into terms by a.
func New(a Analyzer) *Index {
	return &Index{
		analyzer:    Checked(a),
		byID:        map[ulid.ULID]uint32{},
		words:       newWords(),
		rows:        rows{pageBytes: pageBytes},
		lastOrdinal: maxOrdinal,
		slackBytes:  slackBytes,
		sessions:    map[string]*session{},
		byActivity:  ordered[*session]{compare: compareActivity},
		byChange:    ordered[*session]{compare: compareChange},
		past:        newPast(),
		incoming:    map[ulid.ULID]*ordered[Relation]{},
	}
}

// Put adds d, the record number seq of the log, or replaces the message of the
// same id. A replaced message stays in the session it was first put in. The
// cost is that of analysing the text, whatever the index holds.
func (ix *Index) Put(seq uint64, d Doc) {
	old, replace := ix.byID[d.ID]
	var s *session
	if replace {
		s = ix.sessionOf(old)
		ix.disconnect(d.ID, ix.rows.block(old))
		s.count(d.ID, ix.traitsOf(old), -1)
	} else {
		s = ix.enter(seq, d)
	}
	ix.write(s, d)
	dropped := 0
	if replace {
		dropped = ix.drop(old)
	}
	ix.reclaim(dropped)
}

// Delete removes a message and says whether it was there. seq is the record
// number of the deletion.
func (ix *Index) Delete(seq uint64, id ulid.ULID) bool {
	ordinal, ok := ix.byID[id]
	if !ok {
		return false
	}
	s := ix.sessionOf(ordinal)
	ix.disconnect(id, ix.rows.block(ordinal))
	s.count(id, ix.traitsOf(ordinal), -1)
	delete(ix.byID, id)
	ix.leave(seq, s, id)
	ix.reclaim(ix.drop(ordinal))
	return true
}

// write makes a row for d and connects everything to it.
func (ix *Index) write(s *session, d Doc) {
	c := traits{
		role: d.Role, kind: d.Kind, tier: d.Tier, importance: int32(d.Importance),
		asks: asks(d.Content), summarised: d.Summary != "",
	}
	block := ix.analyse(d)
	ix.place(row{
		id: d.ID, time: d.Time, session: s.number, traits: ix.traitsNumber(c), fingerprint: Fingerprint(d.Content),
	}, block)
	s.count(d.ID, c, +1)
	ix.connect(d.ID, block)
}

// traitsNumber keeps its own copy of one that it did not know.
func (ix *Index) traitsNumber(c traits) uint32 {
	if number, ok := ix.traits.numbers[c]; ok {
		return number
	}
	c.role, c.kind, c.tier = strings.Clone(c.role), strings.Clone(c.kind), strings.Clone(c.tier)
	return ix.traits.number(c)
}

// asks says whether a text asks something, in whatever script.
func asks(text string) bool {
	for _, mark := range [...]string{"?", "\uFF1F", "\u061F", "\u037E", "\u055E", "\u1367"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// place makes a row the one of its message.
func (ix *Index) place(r row, block []byte) {
	ordinal := ix.add(r, block)
	ix.numbered[r.session].history.find(entry{id: r.id}).ordinal = ordinal
}

// add makes a row the one of its message for all but its session.
func (ix *Index) add(r row, block []byte) (ordinal uint32) {
	lengths := lengthsOf(block)
	ordinal = ix.rows.append(r, lengths[Content], block)
	ix.words.include(ordinal, block, lengths)
	ix.byID[r.id] = ordinal
	return ordinal
}

// drop ends a live row and returns its bytes. A row that takes its place is there
// already, so that the terms they share stay defined.
func (ix *Index) drop(ordinal uint32) int {
	block := ix.rows.block(ordinal)
	ix.rows.kill(ordinal)
	ix.words.exclude(block)
	return rowBytes + len(block)
}

func (ix *Index) sessionOf(ordinal uint32) *session {
	return ix.numbered[ix.rows.row(ordinal).session]
}

func (ix *Index) traitsOf(ordinal uint32) traits {
	return ix.traits.values[ix.rows.row(ordinal).traits]
}

// Len counts the live messages.
func (ix *Index) Len() int { return len(ix.byID) }

// Statistics returns the counts of the live messages.
func (ix *Index) Statistics() Statistics { return ix.words.stats }

// Analyzer returns what turns text into terms.
func (ix *Index) Analyzer() Analyzer { return ix.analyzer }

// Contains says whether a message is live.
func (ix *Index) Contains(id ulid.ULID) bool {
	_, ok := ix.byID[id]
	return ok
}

// All yields the ids of the live messages, in no particular order. The index must
// not change meanwhile.
func (ix *Index) All() iter.Seq[ulid.ULID] { return maps.Keys(ix.byID) }

// Session returns the session of a live message.
func (ix *Index) Session(id ulid.ULID) (string, bool) {
	ordinal, ok := ix.byID[id]
	if !ok {
		return "", false
	}
	return ix.sessionOf(ordinal).name, true
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
