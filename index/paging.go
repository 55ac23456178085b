package index

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"
)

// ranked is a session at its place in a run of [Index.Sessions].
type ranked struct {
	name     string
	activity uint64
}

func compareRanked(a, b ranked) int {
	return cmp.Or(cmp.Compare(b.activity, a.activity), strings.Compare(a.name, b.name))
}

// Sessions yields the sessions as a client that pages through them saw them at
// one moment: when [Index.LastID] was horizon and the log was at record seq.
// Each comes with the time, in Unix milliseconds, of the newest message it had
// then; the newest comes first, sessions of one millisecond by name. Sessions
// that began later or have no live message any more are left out.
//
// A run goes on after (afterActivity, afterName), the last pair a client has
// seen; the empty name starts. Writes and deletions between two pages move
// nothing, so a session that stays is seen exactly once. That holds for the
// latest 65,536 deletions; older ones, and with an index that was filled from a
// compacted log and inherited nothing all of them, may move a session whose
// newest message was deleted.
//
// The cost grows with the sessions yielded and with those that changed since
// the moment, not with all there are. The index must not change meanwhile.
func (ix *Index) Sessions(horizon ulid.ULID, seq uint64, afterActivity uint64, afterName string) iter.Seq2[string, uint64] {
	after := ranked{afterName, afterActivity}
	return func(yield func(string, uint64) bool) {
		changed := ix.changedSessions(horizon, seq, after)
		for s := range ix.byActivity.forward(ix.sessionsAfter(after)) {
			if s.changedSince(horizon, seq) {
				continue
			}
			at := ranked{s.name, s.activity}
			for len(changed) > 0 && compareRanked(changed[0], at) < 0 {
				if !yield(changed[0].name, changed[0].activity) {
					return
				}
				changed = changed[1:]
			}
			if !yield(at.name, at.activity) {
				return
			}
		}
		for _, r := range changed {
			if !yield(r.name, r.activity) {
				return
			}
		}
	}
}

// sessionsAfter returns the place of the first session after a pair.
func (ix *Index) sessionsAfter(after ranked) position {
	if after.name == "" {
		return position{}
	}
	return ix.byActivity.seek(func(s *session) bool {
		return compareRanked(ranked{s.name, s.activity}, after) <= 0
	})
}

// changedSince says whether a session may have stood elsewhere at the moment.
// The place of every other one is its present place.
func (s *session) changedSince(horizon ulid.ULID, seq uint64) bool {
	return s.changed > seq || s.newest().Compare(horizon) > 0
}

// changedSessions returns the sessions that changedSince picks and that existed
// at the moment, as they stood then, in order, from after on.
func (ix *Index) changedSessions(horizon ulid.ULID, seq uint64, after ranked) []ranked {
	var found []ranked
	add := func(s *session) {
		newest, ok := ix.newestAt(s, horizon, seq)
		r := ranked{s.name, newest.Time()}
		if ok && (after.name == "" || compareRanked(r, after) > 0) {
			found = append(found, r)
		}
	}
	for s := range ix.byChange.forward(position{}) {
		if s.changed <= seq {
			break
		}
		add(s)
	}
	for s := range ix.byActivity.forward(position{}) {
		if s.activity < horizon.Time() {
			break
		}
		if s.changed <= seq && s.changedSince(horizon, seq) {
			add(s)
		}
	}
	slices.SortFunc(found, compareRanked)
	return found
}

// newestAt returns the newest message a session had at the moment.
func (ix *Index) newestAt(s *session, horizon ulid.ULID, seq uint64) (ulid.ULID, bool) {
	var newest ulid.ULID
	start := s.history.seek(func(e entry) bool { return e.id.Compare(horizon) <= 0 })
	for id := range ids(s.history.backward(start)) {
		if ix.past.imported[id] <= seq {
			newest = id
			break
		}
	}
	newest = ix.past.recent.newest(s.name, newest, horizon, seq)
	newest = ix.past.older.newest(s.name, newest, horizon, seq)
	return newest, !newest.IsZero()
}
