package convmem_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// answers are all that reads and searches say of a namespace.
type answers struct {
	Sessions []convmem.SessionInfo
	Messages map[string][]convmem.Message
	Contexts map[string]convmem.ContextResult
	Searches map[string]convmem.SearchResult
}

func (c *carrier) answers(namespace string) answers {
	c.Helper()
	s := c.db.Namespace(namespace)
	a := answers{nil, map[string][]convmem.Message{}, map[string]convmem.ContextResult{}, map[string]convmem.SearchResult{}}
	page, err := convmem.Sessions(ctx, s, convmem.SessionsRequest{})
	c.ok("sessions", err)
	a.Sessions = page.Sessions
	for _, session := range page.Sessions {
		history, err := convmem.History(ctx, s, convmem.HistoryRequest{SessionID: session.SessionID})
		c.ok("history", err)
		a.Messages[session.SessionID] = history.Messages
		for _, m := range history.Messages {
			a.Contexts[m.ID], err = convmem.Context(ctx, s, convmem.ContextRequest{MessageID: m.ID, Before: new(2), After: new(2), RelationDepth: new(2)})
			c.ok("context", err)
		}
	}
	for _, query := range []string{"tea", "東京 天気", "quoted words", "é"} {
		a.Searches[query], err = s.Search(ctx, convmem.SearchRequest{Query: query, ContextSize: 1, Limit: 100})
		c.ok("search", err)
	}
	return a
}

var carriedNamespaces = []string{"", "other", "名前\x00"}

// same compares everything that two stores say; scores to the last bit.
func (c *carrier) same(what string, other *carrier) {
	c.Helper()
	for _, namespace := range carriedNamespaces {
		if diff := cmp.Diff(c.answers(namespace), other.answers(namespace), cmpopts.EquateEmpty()); diff != "" {
			c.Fatalf("%s: namespace %q says (-want +got):\n%s", what, namespace, diff)
		}
	}
}

// Whatever a store holds, an import of its export says the same, and exports the
// same bytes, before and after rebuilding and opening again on either side.
func TestExportImportExport(t *testing.T) {
	withoutRaceDetector(t)
	messages, keys := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		source := newMaker(t, newCarrier(t, 1))
		source.run()
		text := source.export(nil)
		target := newCarrier(t, 2)
		result := target.take(text)
		lines := int64(strings.Count(text, "\n"))
		if diff := cmp.Diff(convmem.ImportResult{Lines: lines, Bytes: int64(len(text)), Written: lines - 1}, result); diff != "" {
			t.Fatalf("result (-want +got):\n%s", diff)
		}
		messages += int(lines) - 1
		equalText(t, "imported", text, target.export(nil))
		if rapid.Bool().Draw(t, "later") {
			for i, c := range []*carrier{source.carrier, target, source.carrier, target} {
				if i < 2 {
					c.rebuild()
				}
				c.reopen()
				equalText(t, "opened again", text, c.export(nil))
			}
		}
		source.same("imported", target)
		keys += len(source.keyed)
		source.replay(target)
	})
	t.Logf("%d messages, %d keys", messages, keys)
	if messages < 300 || keys < 50 {
		t.Error("hardly anything was tried")
	}
}

func equalText(t fataler, what, want, got string) {
	t.Helper()
	if want != got {
		t.Fatalf("%s: the export differs (-want +got):\n%s", what, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
}

// replay repeats every keyed write on another store, and then says something else
// under its key.
func (m *maker) replay(target *carrier) {
	m.Helper()
	before := target.export(nil)
	for id, r := range m.keyed {
		s := target.db.Namespace(m.homes[id])
		again, err := s.Write(ctx, r)
		if err != nil || !again.Replayed || again.Message.ID != id {
			m.Fatalf("the key of %s: %+v, %v", id, again, err)
		}
		r.Content += "!"
		if _, err := s.Write(ctx, r); convmem.CodeOf(err) != convmem.CodeConflict {
			m.Fatalf("the key of %s, used for something else: %v", id, err)
		}
	}
	equalText(m, "keys repeated", before, target.export(nil))
}

// A store with messages of its own, in the same sessions and times, takes all of
// another one's and keeps what it has; a second handle sees all of it.
func TestImportAmongOthers(t *testing.T) {
	withoutRaceDetector(t)
	rapid.Check(t, func(t *rapid.T) {
		source, target := newMaker(t, newCarrier(t, 1)), newMaker(t, newCarrier(t, 2))
		source.run()
		target.run()
		// What both have under one id, or one key, belongs to other tests.
		text := withoutShared(source.export(nil), target.export(nil))
		var want []string
		for _, all := range []string{text, target.export(nil)} {
			want = append(want, strings.Split(strings.TrimSpace(all), "\n")[1:]...)
		}
		slices.SortFunc(want, compareLines)
		beside := *target.carrier
		beside.db = target.open()
		beside.take(text)
		for _, c := range []*carrier{&beside, target.carrier} {
			got := strings.Split(strings.TrimSpace(c.export(nil)), "\n")[1:]
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("exported (-want +got):\n%s", diff)
			}
			c.ascending(t)
		}
		beside.ok("close", beside.db.Close())
	})
}

// exportedLine is what tests look at in a line.
type exportedLine struct {
	Namespace string `json:"namespace"`
	ID        string `json:"message_id"`
	Session   string `json:"session_id"`
	Key       string `json:"idempotency_key"`
	Content   string `json:"content"`
}

func parseLine(line string) (l exportedLine) {
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		panic(err)
	}
	return l
}

func compareLines(a, b string) int {
	x, y := parseLine(a), parseLine(b)
	if x.Namespace != y.Namespace {
		return strings.Compare(x.Namespace, y.Namespace)
	}
	return strings.Compare(x.ID, y.ID)
}

func withoutShared(text, other string) string {
	taken := map[string]bool{}
	for line := range strings.Lines(other) {
		l := parseLine(line)
		taken[l.ID] = true
		taken[fmt.Sprint(l.Namespace, "\t", l.Session, "\t", l.Key)] = l.Key != ""
	}
	kept := exportHead
	for line := range strings.Lines(text[len(exportHead):]) {
		l := parseLine(line)
		if !taken[l.ID] && !taken[fmt.Sprint(l.Namespace, "\t", l.Session, "\t", l.Key)] {
			kept += line
		}
	}
	return kept
}

// ascending checks that every history is in the order of its ids, whatever the
// order in which the messages came.
func (c *carrier) ascending(t fataler) {
	t.Helper()
	for _, namespace := range carriedNamespaces {
		for session, messages := range c.answers(namespace).Messages {
			if !slices.IsSortedFunc(messages, func(a, b convmem.Message) int { return strings.Compare(a.ID, b.ID) }) {
				t.Fatalf("the history of %q in %q is out of order", session, namespace)
			}
		}
	}
}
