package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// Random puts, replacements, deletions and compactions leave an index that
// answers everything as the model does, and as a fresh index does.
func TestIndexMatchesModel(t *testing.T) {
	var replaced, deleted, compacted int
	rapid.Check(t, func(t *rapid.T) {
		ix, m := New(), newModel()
		for seq := range uint64(rapid.IntRange(1, 40).Draw(t, "operations")) {
			id := makeID(rapid.IntRange(1, 6).Draw(t, "ms"), rapid.IntRange(0, 2).Draw(t, "n"))
			_, live := m.docs[id]
			switch rapid.IntRange(0, 5).Draw(t, "operation") {
			case 0, 1:
				if got := ix.Delete(seq, id); got != live {
					t.Fatalf("Delete = %v, want %v", got, live)
				}
				delete(m.docs, id)
				if live {
					deleted++
				}
			case 2:
				ix.compact()
				compacted++
			default:
				d := drawDoc(t, id)
				if live {
					d.Session = m.docs[id].Session
					replaced++
				}
				ix.Put(seq, d)
				m.docs[id] = d
			}
		}
		checkIndex(t, ix, m)
		checkIndex(t, freshIndex(m), m)
	})
	t.Logf("%d replacements, %d deletions, %d compactions", replaced, deleted, compacted)
	if replaced == 0 || deleted == 0 || compacted == 0 {
		t.Error("something never happened")
	}
}

// freshIndex is what a compacted log leads to.
func freshIndex(m *model) *Index {
	ix := New()
	for seq, id := range m.ids("") {
		ix.Put(uint64(seq), m.docs[id])
	}
	return ix
}

func checkIndex(t *rapid.T, ix *Index, m *model) {
	all := m.ids("")
	var last ulid.ULID
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	if ix.Len() != len(all) || ix.LastID() != last {
		t.Fatalf("Len %d, LastID %v; want %d, %v", ix.Len(), ix.LastID(), len(all), last)
	}
	checkSessions(t, ix, m)
	checkMessages(t, ix, m)
	checkWords(t, ix, m)
	checkFilter(t, ix, m)
}

func checkSessions(t *rapid.T, ix *Index, m *model) {
	from := makeID(rapid.IntRange(0, 12).Draw(t, "from ms"), rapid.IntRange(0, 3).Draw(t, "from n"))
	for _, session := range append([]string{"nowhere"}, sessionNames...) {
		want, exists := m.info(session)
		got, ok := ix.SessionInfo(session)
		if diff := cmp.Diff(want, got); ok != exists || diff != "" {
			t.Fatalf("SessionInfo(%s): %v %s", session, ok, diff)
		}
		for _, descending := range []bool{false, true} {
			for _, from := range []ulid.ULID{{}, from} {
				got := slices.AppendSeq([]ulid.ULID{}, ix.History(session, from, descending))
				if diff := cmp.Diff(m.history(session, from, descending), got); diff != "" {
					t.Fatalf("History(%s, %v, %v): %s", session, from, descending, diff)
				}
			}
		}
	}
}

func checkMessages(t *rapid.T, ix *Index, m *model) {
	for ms := range 13 {
		for n := range 4 {
			id := makeID(ms, n)
			d, live := m.docs[id]
			session, ok := ix.Session(id)
			if ok != live || session != d.Session || ix.Contains(id) != live {
				t.Fatalf("Session = %q, %v; want %q, %v", session, ok, d.Session, live)
			}
			if diff := cmp.Diff(d.Relations, ix.Outgoing(id), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("Outgoing: %s", diff)
			}
			var incoming []Relation
			for _, relation := range relationTypes {
				for source := range ix.Incoming(id, relation) {
					incoming = append(incoming, Relation{relation, source})
				}
			}
			if diff := cmp.Diff(m.incoming(id), incoming); diff != "" {
				t.Fatalf("Incoming: %s", diff)
			}
			for range ix.Incoming(id, "depends_on") {
				break // must not panic
			}
			if got, want := ix.RelationCount(id), m.relationCount(id); got != want {
				t.Fatalf("RelationCount = %d, want %d", got, want)
			}
		}
	}
}

func checkWords(t *rapid.T, ix *Index, m *model) {
	wantStatistics, wantWords := m.wordsOf()
	statistics, words := wordsIn(ix)
	if diff := cmp.Diff(wantStatistics, statistics); diff != "" {
		t.Fatalf("Statistics: %s", diff)
	}
	if diff := cmp.Diff(wantWords, words); diff != "" {
		t.Fatalf("words: %s", diff)
	}
	for id, ordinal := range ix.byID {
		e := ix.Entry(ordinal)
		want := Entry{ID: id, Importance: m.docs[id].Importance}
		for f, counts := range fieldTerms(m.docs[id]) {
			for _, n := range counts {
				want.Lengths[f] += uint32(n)
			}
		}
		if e != want {
			t.Fatalf("Entry = %+v, want %+v", e, want)
		}
	}
}

func checkFilter(t *rapid.T, ix *Index, m *model) {
	f := drawFilter(t)
	match := ix.Matcher(f)
	for id, ordinal := range ix.byID {
		if got, want := match(ordinal), m.matches(id, f); got != want {
			t.Fatalf("%+v matches %+v: %v", f, m.docs[id], got)
		}
	}
}

// A replaced message stays in its session whatever the new Doc says.
func TestPutKeepsSession(t *testing.T) {
	ix := New()
	id := makeID(1, 1)
	ix.Put(1, Doc{ID: id, Session: "first"})
	ix.Put(2, Doc{ID: id, Session: "second"})
	if got, _ := ix.Session(id); got != "first" {
		t.Errorf("session %q", got)
	}
	if _, ok := ix.SessionInfo("second"); ok {
		t.Error("the second session exists")
	}
}

// The index shares no memory with the caller.
func TestPutCopies(t *testing.T) {
	ix := New()
	tags := []string{"one"}
	relations := []Relation{{"related_to", makeID(9, 9)}}
	ix.Put(1, Doc{ID: makeID(1, 1), Session: "s", Tags: tags, Relations: relations})
	tags[0] = "two"
	relations[0].Type = "supersedes"
	ix.Outgoing(makeID(1, 1))[0].Type = "changed"
	since := int64(0)
	match := ix.Matcher(Filter{Tags: []string{"one"}, Since: &since})
	since = 100
	if !match(0) || ix.Outgoing(makeID(1, 1))[0].Type != "related_to" {
		t.Error("the caller's changes reach the index")
	}
}

// However long messages are updated, deleted and renamed to new words, what
// the index holds is bounded by what is live.
func TestLongLifeIsBounded(t *testing.T) {
	ix := New()
	for i := range 500 {
		ix.Put(0, Doc{ID: makeID(i, 0), Session: "s", Content: "steady words"})
	}
	for i := range 10_000 {
		ix.Put(uint64(i), Doc{ID: makeID(i%3, 0), Session: "s", Content: "w" + letters(uint64(i))})
	}
	if n := len(ix.messages); n > 2*500+slack+1 {
		t.Errorf("%d rows for 500 messages", n)
	}
	if n := len(ix.words.terms); n > 2*500+slack+10 {
		t.Errorf("%d terms", n)
	}
	if ix.words.total > 2*1500+33*slack {
		t.Errorf("%d postings", ix.words.total)
	}
	if m := ix.Memory(); m.Columns+m.Search+m.History+m.Relations > 4<<20 {
		t.Errorf("%+v", m)
	}
}

// Large dead messages are compacted by what they hold, not by their number.
func TestLargeUpdatesAreBounded(t *testing.T) {
	ix := New()
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "w%s ", letters(uint64(i)))
	}
	for i := range 15 {
		ix.Put(uint64(i), Doc{ID: makeID(1, 0), Session: "s", Content: text.String()})
	}
	if ix.words.total > 3*10_000+33*slack {
		t.Errorf("%d postings for 10,000", ix.words.total)
	}
}

func TestMemoryGrowsAndShrinks(t *testing.T) {
	ix := New()
	empty := ix.Memory()
	for i := range 5000 {
		ix.Put(uint64(i), Doc{
			ID: makeID(i, i), Session: "s", Content: "some words to index", Tags: []string{"tag"},
			Relations: []Relation{{"related_to", makeID(1, 1)}},
		})
	}
	full := ix.Memory()
	for i := range 5000 {
		ix.Delete(uint64(5000+i), makeID(i, i))
	}
	after := ix.Memory()
	t.Logf("empty %+v, full %+v, after %+v", empty, full, after)
	if full.Columns < 5000*100 || full.Search < 5000*5*8 || full.History < 5000*16 || full.Relations < 5000*40 {
		t.Errorf("too small: %+v", full)
	}
	if after.Columns > full.Columns/2 || after.Search > full.Search/2 || after.History > full.History/2 || after.Relations > 0 {
		t.Errorf("deleting everything left %+v of %+v", after, full)
	}
}
