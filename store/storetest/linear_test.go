package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/convmem"
)

// observation is what one answered call said about one object: that it stood at
// a place of its life while the call ran. The places of a message are its
// revisions, so the order of its changes is known and need not be searched for.
type observation struct {
	what       string
	begin, end int64 // of the call, on a logical clock
	place      int64
	// change: the call itself brought the object there, and no other did.
	change bool
}

// disorder returns why no order of the calls explains what they said, or "".
// There is one if and only if of any two calls, of which one began after the
// other had ended, the later one does not say less: the order of places and that
// of time then have no cycle. The cost is that of sorting.
func disorder(all []observation) string {
	byBegin, byEnd := slices.Clone(all), slices.Clone(all)
	slices.SortFunc(byBegin, func(a, b observation) int { return cmp.Compare(a.begin, b.begin) })
	slices.SortFunc(byEnd, func(a, b observation) int { return cmp.Compare(a.end, b.end) })
	// newest is the greatest place that a call has answered.
	newest := observation{what: "the beginning", place: math.MinInt64}
	for _, o := range byBegin {
		for ; len(byEnd) > 0 && byEnd[0].end < o.begin; byEnd = byEnd[1:] {
			if byEnd[0].place > newest.place {
				newest = byEnd[0]
			}
		}
		if o.place < newest.place || o.change && o.place == newest.place {
			return fmt.Sprintf("%v began after %v was answered", o, newest)
		}
	}
	return twice(all)
}

// twice returns which two calls made the same change, or "".
func twice(all []observation) string {
	made := map[int64]observation{}
	for _, o := range all {
		if other, ok := made[o.place]; ok && o.change {
			return fmt.Sprintf("%v and %v made the same change", other, o)
		}
		if o.change {
			made[o.place] = o
		}
	}
	return ""
}

func (o observation) String() string {
	return fmt.Sprintf("%s (place %d, %d to %d)", o.what, o.place, o.begin, o.end)
}

// The places of a message: revision r was made at 2r and seen at 2r+1.
const (
	deletedPlace = math.MaxInt64 - 1
	gonePlace    = math.MaxInt64
)

func madePlace(revision int64) int64 { return 2 * revision }
func seenPlace(revision int64) int64 { return 2*revision + 1 }

func TestDisorder(t *testing.T) {
	seen := func(revision, begin, end int64) observation {
		return observation{what: "seen", place: seenPlace(revision), begin: begin, end: end}
	}
	made := func(revision, begin, end int64) observation {
		return observation{what: "made", place: madePlace(revision), begin: begin, end: end, change: true}
	}
	deleted := observation{what: "deleted", place: deletedPlace, begin: 5, end: 8, change: true}
	gone := func(begin, end int64) observation {
		return observation{what: "gone", place: gonePlace, begin: begin, end: end}
	}
	for _, c := range []struct {
		name string
		all  []observation
		ok   bool
	}{
		{"nothing", nil, true},
		{"read what was answered", []observation{made(1, 1, 2), made(2, 3, 4), seen(2, 5, 6)}, true},
		{"read what was replaced", []observation{made(1, 1, 2), made(2, 3, 4), seen(1, 5, 6)}, false},
		{"read either meanwhile", []observation{made(1, 1, 2), made(2, 3, 10), seen(1, 4, 5), seen(2, 6, 7)}, true},
		{"read backwards meanwhile", []observation{made(1, 1, 2), made(2, 3, 10), seen(2, 4, 5), seen(1, 6, 7)}, false},
		{"read before it was begun", []observation{made(1, 1, 2), seen(2, 3, 4), made(2, 5, 6)}, false},
		{"two winners", []observation{made(1, 1, 2), made(2, 3, 9), made(2, 4, 8)}, false},
		{"two winners in turn", []observation{made(2, 3, 4), made(2, 5, 8)}, false},
		{"gone meanwhile", []observation{made(1, 1, 2), gone(6, 7), deleted}, true},
		{"gone before", []observation{made(1, 1, 2), gone(3, 4), deleted}, false},
		{"read after it was gone", []observation{made(1, 1, 2), deleted, gone(5, 6), seen(1, 7, 9)}, false},
		{"changed after it was deleted", []observation{made(1, 1, 2), deleted, made(2, 9, 10)}, false},
	} {
		if problem := disorder(c.all); (problem == "") != c.ok {
			t.Errorf("%s: got problem %q, want one: %v", c.name, problem, !c.ok)
		}
	}
}

// witness collects what concurrent calls said about messages.
type witness struct {
	clock atomic.Int64

	mu       sync.Mutex
	messages map[string][]observation    // by message id
	contents map[string]map[int64]string // by message id and revision
	made     []madeMessage               // every new message
	keyed    []keyedCall                 // every answer about an idempotency key
	views    []historyView               // every whole history
	rebuilds int
	visits   int
	faults   []string // what a single answer shows to be wrong
}

// madeMessage is the answer to a write that was no replay.
type madeMessage struct {
	id         string
	begin, end int64
}

// keyedCall says what a call has to do with the message of an idempotency key.
type keyedCall struct {
	key, id string
	step    int64 // 0 it wrote the message, 1 it replayed it, 2 it deleted it
	begin   int64
	end     int64
}

// historyView is the revisions of all messages at one moment, 0 for those that
// are not there.
type historyView struct {
	begin, end int64
	revisions  map[string]int64
}

func newWitness() *witness {
	return &witness{
		messages: map[string][]observation{}, contents: map[string]map[int64]string{},
	}
}

func (w *witness) tick() int64 { return w.clock.Add(1) }

func (w *witness) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// note keeps an observation of a message. The caller holds mu.
func (w *witness) note(id string, o observation) {
	w.messages[id] = append(w.messages[id], o)
}

// holds notes that a message was seen, and that its content belongs to its
// revision. The caller holds mu.
func (w *witness) holds(what string, m convmem.Message, begin, end int64, change bool) {
	place := seenPlace(m.Revision)
	if change {
		place = madePlace(m.Revision)
	}
	w.note(m.ID, observation{what: what, begin: begin, end: end, place: place, change: change})
	revisions := w.contents[m.ID]
	if revisions == nil {
		revisions = map[int64]string{}
		w.contents[m.ID] = revisions
	}
	if known, ok := revisions[m.Revision]; ok && known != m.Content {
		w.fault("%s: message %s has two contents at revision %d", what, m.ID, m.Revision)
	}
	revisions[m.Revision] = m.Content
}

// check fails for everything that no order of the calls explains.
func (w *witness) check(t *testing.T) {
	for _, fault := range w.faults {
		t.Error(fault)
	}
	for id, all := range w.messages {
		if problem := disorder(all); problem != "" {
			t.Errorf("message %s: %s", id, problem)
		}
	}
	w.checkKeys(t)
	w.checkIDs(t)
	w.checkViews(t)
}

// checkKeys fails unless the messages of each key followed one another: the next
// is written when the last is deleted, and in between each is only replayed.
func (w *witness) checkKeys(t *testing.T) {
	ids := map[string][]string{}
	for _, c := range w.keyed {
		if !slices.Contains(ids[c.key], c.id) {
			ids[c.key] = append(ids[c.key], c.id)
		}
	}
	observed := map[string][]observation{}
	for _, c := range w.keyed {
		slices.Sort(ids[c.key])
		observed[c.key] = append(observed[c.key], observation{
			what: c.id, begin: c.begin, end: c.end,
			place: 3*int64(slices.Index(ids[c.key], c.id)) + c.step, change: c.step != 1,
		})
	}
	for key, all := range observed {
		if problem := disorder(all); problem != "" {
			t.Errorf("key %s: %s", key, problem)
		}
		for i, id := range ids[key] {
			if i > 0 && !w.saw(ids[key][i-1], deletedPlace) || !w.saw(id, madePlace(1)) {
				t.Errorf("key %s: message %s of %v was not written after the end of the one before", key, id, ids[key])
			}
		}
	}
}

// saw reports whether a change brought the message to the place.
func (w *witness) saw(id string, place int64) bool {
	return slices.ContainsFunc(w.messages[id], func(o observation) bool { return o.change && o.place == place })
}

// checkIDs fails unless ids are unique and rise in the order of time, over all
// processes.
func (w *witness) checkIDs(t *testing.T) {
	byID := slices.SortedFunc(slices.Values(w.made), func(a, b madeMessage) int { return cmp.Compare(a.id, b.id) })
	var all []observation
	for i, m := range byID {
		all = append(all, observation{what: "write of " + m.id, begin: m.begin, end: m.end, place: int64(i), change: true})
		if i > 0 && byID[i-1].id == m.id {
			t.Errorf("the id %s was given twice", m.id)
		}
	}
	if problem := disorder(all); problem != "" {
		t.Errorf("ids do not follow time: %s", problem)
	}
}

// checkViews fails unless the whole histories, each of one moment, follow one
// another.
func (w *witness) checkViews(t *testing.T) {
	slices.SortFunc(w.views, func(a, b historyView) int { return cmp.Compare(a.age(), b.age()) })
	var all []observation
	for i, v := range w.views {
		all = append(all, observation{what: "history", begin: v.begin, end: v.end, place: v.age()})
		if i > 0 && !w.views[i-1].before(v) {
			t.Errorf("two histories are of no common past: %v and %v", w.views[i-1].revisions, v.revisions)
		}
	}
	if problem := disorder(all); problem != "" {
		t.Errorf("histories: %s", problem)
	}
}

// goneRevision stands for a message that is deleted: more than any revision.
const goneRevision = 1 << 32

// age grows with every change of a message.
func (v historyView) age() (sum int64) {
	for _, revision := range v.revisions {
		sum += revision
	}
	return sum
}

// before reports whether no message is older in w.
func (v historyView) before(w historyView) bool {
	for id, revision := range v.revisions {
		if revision > w.revisions[id] {
			return false
		}
	}
	return true
}
