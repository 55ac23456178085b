package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

// contendedSession holds the messages that all servers update and delete. What
// each of them writes for itself goes to sharedSession.
const contendedSession = "contended"

// ledger keeps what servers were told to do and what they answered. What the
// store must hold follows from it.
type ledger struct {
	mu sync.Mutex
	// moment counts calls sent and answers received. Of two calls, one came
	// before the other when its answer has a smaller moment than the sending.
	moment   int
	written  map[string]*written // by content
	counters []*counter
	victims  []*victim
	tally    map[string]int
}

// written is a message of sharedSession.
type written struct {
	server         int
	sent, answered int    // answered is never when the outcome is unknown
	id             string // "" when the outcome is unknown
	doomed         bool   // a deletion was sent
	deleted        bool   // and answered
}

const never = math.MaxInt

// counter is a message that every server updates, each saying which revision it
// expects.
type counter struct {
	id          string
	shown       int64              // the greatest revision that any answer has shown
	winners     map[int64][]string // what won, by the revision that was expected
	interrupted map[int64][]string // what may have won
}

// victim is a message that every server deletes.
type victim struct {
	stored
	deleted, notFound, interrupted int
}

// newLedger has a server write the messages of contendedSession.
func newLedger(t *testing.T, s *server, counters, victims int) *ledger {
	t.Helper()
	l := &ledger{written: map[string]*written{}, tally: map[string]int{"BUSY answers": 0, "BUSY rebuilds": 0}}
	contended := func(content string) stored {
		args := newMessage(content)
		args["session_id"] = contendedSession
		return s.must(t, "write_message", args).Message
	}
	for i := range counters {
		m := contended(fmt.Sprint("counter ", i))
		l.counters = append(l.counters, &counter{id: m.ID, shown: 1, winners: map[int64][]string{}, interrupted: map[int64][]string{}})
	}
	for i := range victims {
		l.victims = append(l.victims, &victim{stored: contended(fmt.Sprint("victim ", i))})
	}
	return l
}

// now is the next moment. The caller holds mu.
func (l *ledger) now() int {
	l.moment++
	return l.moment
}

func (l *ledger) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally[what]++
}

// sendWrite notes that a message is about to be sent.
func (l *ledger) sendWrite(server int, content string) *written {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &written{server: server, sent: l.now(), answered: never}
	l.written[content] = w
	return w
}

func (l *ledger) answerWrite(w *written, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.id, w.answered = id, l.now()
	l.tally["acknowledged writes"]++
}

// doom notes that a message is about to be deleted.
func (l *ledger) doom(w *written) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.doomed = true
}

func (l *ledger) answerDelete(w *written) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.deleted = true
	l.tally["deletes"]++
}

// newest is the greatest id that was acknowledged so far and is to stay: a read
// from now on shows it or a greater one, unless it is doomed meanwhile.
func (l *ledger) newest() (id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.written {
		if !w.doomed {
			id = max(id, w.id)
		}
	}
	return id
}

func (l *ledger) isDoomed(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.written {
		if w.id == id {
			return w.doomed
		}
	}
	return false
}

// shownRevision is what any answer from now on must at least show.
func (l *ledger) shownRevision(c *counter) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.shown
}

// answerUpdate notes the answer to an update of a counter, sent when its
// revision was at least shown.
func (l *ledger) answerUpdate(c *counter, expected, shown int64, content string, a answer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch current := a.Error.CurrentRevision; {
	case a.Status == "OK" && a.Changed && a.Message.Revision == expected+1 && a.Message.Content == content:
		c.winners[expected] = append(c.winners[expected], content)
		c.shown = max(c.shown, a.Message.Revision)
		l.tally["winners"]++
	case a.Error.Code == "CONFLICT" && current > expected && current >= shown && strings.Contains(a.Error.Message, fmt.Sprint(current)):
		c.shown = max(c.shown, current)
		l.tally["losers"]++
	default:
		return fmt.Errorf("an update expecting revision %d, sent when %d was known: %v", expected, shown, a)
	}
	return nil
}

func (l *ledger) interruptUpdate(c *counter, expected int64, content string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.interrupted[expected] = append(c.interrupted[expected], content)
	l.tally["interrupted updates"]++
}

// noteVictim notes how a deletion of a victim went.
func (l *ledger) noteVictim(v *victim, status string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch status {
	case "OK":
		v.deleted++
	case "NOT_FOUND":
		v.notFound++
	case "":
		v.interrupted++
		l.tally["interrupted deletes"]++
	default:
		return fmt.Errorf("deleting a message is answered with status %q", status)
	}
	return nil
}

// check compares the ledger with what is stored, when all calls are over.
func (l *ledger) check(t *testing.T, shared, contended []stored) {
	t.Helper()
	l.checkWritten(t, shared)
	l.checkOrder(t)
	left := map[string]stored{}
	for _, m := range contended {
		left[m.ID] = m
	}
	for i, c := range l.counters {
		c.check(t, fmt.Sprint("counter ", i), left[c.id])
		delete(left, c.id)
	}
	for i, v := range l.victims {
		found, live := left[v.ID]
		v.check(t, fmt.Sprint("victim ", i), found, live)
		delete(left, v.ID)
	}
	for _, m := range left {
		t.Errorf("nobody wrote %v", m)
	}
}

// checkWritten also fills in the ids of messages whose writing was interrupted.
func (l *ledger) checkWritten(t *testing.T, shared []stored) {
	t.Helper()
	found := map[string]stored{}
	for i, m := range shared {
		if i > 0 && m.ID <= shared[i-1].ID {
			t.Errorf("message %s comes after %s", m.ID, shared[i-1].ID)
		}
		w, sent := l.written[m.Content]
		_, twice := found[m.Content]
		switch {
		case !sent:
			t.Errorf("nobody wrote %v", m)
		case twice:
			t.Errorf("stored twice: %v and %v", found[m.Content], m)
		case w.deleted:
			t.Errorf("deleted and still there: %v", m)
		case w.answered != never && m.ID != w.id:
			t.Errorf("acknowledged as %s, stored as %v", w.id, m)
		case m.Revision != 1:
			t.Errorf("nobody updated %v", m)
		case w.answered == never:
			w.id = m.ID
			l.tally["unanswered writes found at the end"]++
		}
		found[m.Content] = m
	}
	for content, w := range l.written {
		if _, ok := found[content]; !ok && w.answered != never && !w.deleted {
			t.Errorf("acknowledged by server %d and lost: %s, %.30q", w.server, w.id, content)
		}
	}
}

// checkOrder: ids are unique, and of two writes of which one was answered before
// the other was sent, whichever servers they went to, the later has the greater
// id. The writes of one server are the simplest case of that.
func (l *ledger) checkOrder(t *testing.T) {
	t.Helper()
	stored := slices.DeleteFunc(slices.Collect(maps.Values(l.written)), func(w *written) bool { return w.id == "" })
	slices.SortFunc(stored, func(a, b *written) int { return cmp.Compare(a.id, b.id) })
	latest := &written{}
	for i, w := range stored {
		if i > 0 && stored[i-1].id == w.id {
			t.Errorf("id %s was given twice, to %+v and %+v", w.id, stored[i-1], w)
		}
		if w.answered < latest.sent {
			t.Errorf("%+v was answered before %+v was sent and has the greater id", w, latest)
		}
		if w.sent > latest.sent {
			latest = w
		}
	}
}

// check: each revision came out of exactly one update, and the last one of them
// is what is stored.
func (c *counter) check(t *testing.T, name string, found stored) {
	t.Helper()
	if found.ID != c.id || found.Revision < c.shown {
		t.Errorf("%s: revision %d was shown, stored is %v", name, c.shown, found)
	}
	for expected := range found.Revision {
		winners, candidates := c.winners[expected], c.interrupted[expected]
		switch {
		case expected == 0: // the writing of the message
		case len(winners) > 1, len(winners) == 0 && len(candidates) == 0:
			t.Errorf("%s: winners of revision %d: %q, interrupted: %q", name, expected, winners, candidates)
		case expected < found.Revision-1:
		case len(winners) == 1 && winners[0] != found.Content, len(winners) == 0 && !slices.Contains(candidates, found.Content):
			t.Errorf("%s: stored is %v, the winner wrote %q, the interrupted %q", name, found, winners, candidates)
		}
	}
	for expected, winners := range c.winners {
		if expected >= found.Revision {
			t.Errorf("%s: %q won revision %d, stored is %v", name, winners, expected, found)
		}
	}
}

// check: one deletion found the message, or one that was interrupted may have.
func (v *victim) check(t *testing.T, name string, found stored, live bool) {
	t.Helper()
	gone := v.deleted+v.notFound > 0
	culprit := v.deleted == 1 || v.deleted == 0 && v.interrupted > 0
	if live && (gone || found != v.stored) || !live && !culprit {
		t.Errorf("%s: deleted %d times, interrupted %d times, not found %d times; stored %t: %v",
			name, v.deleted, v.interrupted, v.notFound, live, found)
	}
	if v.deleted > 1 {
		t.Errorf("%s: %d deletions say that it was theirs", name, v.deleted)
	}
}

func (l *ledger) report(t *testing.T) {
	t.Helper()
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(l.tally)) {
		parts = append(parts, fmt.Sprintf("%s: %d", what, l.tally[what]))
	}
	t.Log(strings.Join(parts, ", "))
}
