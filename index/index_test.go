package index

import (
	"bufio"
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// smallIndex has pages of few rows, gives the memory of dead ones back soon, and
// begins its ordinals anew now and then.
func smallIndex() *Index {
	ix := New(Standard())
	ix.rows.pageBytes, ix.slackBytes, ix.lastOrdinal = 300, 300, 4*pageRows
	return ix
}

// Random puts, replacements, deletions, renumberings and loads of what was saved
// leave an index that answers everything as the model does, and as a fresh index
// does.
func TestIndexMatchesModel(t *testing.T) {
	var replaced, deleted, moved, renumbered, loaded int
	rapid.Check(t, func(t *rapid.T) {
		ix, m := smallIndex(), newModel()
		for seq := range uint64(rapid.IntRange(1, 60).Draw(t, "operations")) {
			id := makeID(rapid.IntRange(1, 6).Draw(t, "ms"), rapid.IntRange(0, 2).Draw(t, "n"))
			_, live := m.docs[id]
			epoch := ix.epoch
			switch rapid.IntRange(0, 6).Draw(t, "operation") {
			case 3:
				ix = reloaded(t, ix)
				epoch = ix.epoch
				loaded++
			case 0, 1:
				if got := ix.Delete(seq, id); got != live {
					t.Fatalf("Delete = %v, want %v", got, live)
				}
				delete(m.docs, id)
				if live {
					deleted++
				}
			case 2:
				if ix.moveOne() > 0 {
					moved++
				}
			default:
				d := drawDoc(t, id)
				if live {
					d.Session = m.docs[id].Session
					replaced++
				}
				ix.Put(seq, d)
				m.docs[id] = d
			}
			renumbered += int(ix.epoch - epoch)
		}
		checkIndex(t, ix, m)
		fresh := freshIndex(m)
		checkIndex(t, fresh, m)
		if err := ix.Compare(fresh); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d replacements, %d deletions, %d moves, %d renumberings, %d loads", replaced, deleted, moved, renumbered, loaded)
	if replaced == 0 || deleted == 0 || moved == 0 || renumbered == 0 || loaded == 0 {
		t.Error("something never happened")
	}
}

// reloaded returns an index loaded from what ix saves.
func reloaded(t rapid.TB, ix *Index) *Index {
	t.Helper()
	var b bytes.Buffer
	if err := ix.Save().Write(&b); err != nil {
		t.Fatal(err)
	}
	loaded := smallIndex()
	in := bufio.NewReader(&b)
	if err := loaded.Load(in); err != nil {
		t.Fatal(err)
	}
	if in.Buffered()+b.Len() > 0 {
		t.Fatal("something is left")
	}
	if err := loaded.RestorePast(ix.AppendPast(nil)); err != nil {
		t.Fatal(err)
	}
	return loaded
}

// freshIndex is what a compacted log leads to.
func freshIndex(m *model) *Index {
	ix := New(Standard())
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
	v := ix.View(nil, Filter{})
	for id, ordinal := range ix.byID {
		checkEntry(t, v, ordinal, m.docs[id])
	}
}

func checkEntry(t *rapid.T, v *View, ordinal uint32, d Doc) {
	want := Entry{
		ID: d.ID, Time: d.Time, Importance: d.Importance, Role: d.Role,
		Asks: strings.Contains(d.Content, "?"), Fingerprint: Fingerprint(d.Content),
	}
	if e := v.Entry(ordinal); e != want {
		t.Fatalf("Entry = %+v, want %+v", e, want)
	}
	var lengths [FieldCount]uint32
	for f, counts := range fieldTerms(d) {
		for _, n := range counts {
			lengths[f] += uint32(n)
		}
	}
	if got := v.FieldLengths(ordinal); got != lengths {
		t.Fatalf("FieldLengths = %v, want %v", got, lengths)
	}
	if got := v.Lengths(int(ordinal / pageRows))[ordinal%pageRows]; got != uint8(lengths[Content]) {
		t.Fatalf("Lengths = %v, want %v", got, lengths[Content])
	}
}

func checkFilter(t *rapid.T, ix *Index, m *model) {
	f := drawFilter(t)
	v := ix.View(nil, f)
	for id, ordinal := range ix.byID {
		if got, want := v.Passes(ordinal), m.matches(id, f); got != want {
			t.Fatalf("%+v matches %+v: %v", f, m.docs[id], got)
		}
	}
}

// A replaced message stays in its session whatever the new Doc says.
func TestPutKeepsSession(t *testing.T) {
	ix := New(Standard())
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
	ix := New(Standard())
	tags := []string{"one"}
	relations := []Relation{{"related_to", makeID(9, 9)}}
	ix.Put(1, Doc{ID: makeID(1, 1), Session: "s", Tags: tags, Relations: relations})
	tags[0] = "two"
	relations[0].Type = "supersedes"
	ix.Outgoing(makeID(1, 1))[0].Type = "changed"
	if !ix.View(nil, Filter{Tags: []string{"one"}}).Passes(0) || ix.Outgoing(makeID(1, 1))[0].Type != "related_to" {
		t.Error("the caller's changes reach the index")
	}
}

// However long messages are updated, deleted and renamed to new words, what
// the index holds is bounded by what is live.
func TestLongLifeIsBounded(t *testing.T) {
	ix := New(Standard())
	for i := range 500 {
		ix.Put(0, Doc{ID: makeID(i, 0), Session: "s", Content: "steady words"})
	}
	for i := range 10_000 {
		ix.Put(uint64(i), Doc{ID: makeID(i%3, 0), Session: "s", Content: "w" + letters(uint64(i))})
	}
	if ix.rows.bytes > 2*ix.rows.liveBytes+slackBytes+pageBytes {
		t.Errorf("%d bytes of rows, %d of them live", ix.rows.bytes, ix.rows.liveBytes)
	}
	if n := len(ix.words.terms); n > 10 {
		t.Errorf("%d terms", n)
	}
	for i := range ix.words.terms {
		if l := &ix.words.terms[i].postings; l.mostlyDead() && !l.due {
			t.Errorf("%d postings, %d of them live", l.size, l.frequency)
		}
	}
	if m := ix.Memory(); m.Columns+m.Search+m.History+m.Relations > 4<<20 {
		t.Errorf("%+v", m)
	}
}

// Large dead messages go by what they hold, not by their number.
func TestLargeUpdatesAreBounded(t *testing.T) {
	withoutRaceDetector(t)
	ix := New(Standard())
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "w%s ", letters(uint64(i)))
	}
	for i := range 150 {
		ix.Put(uint64(i), Doc{ID: makeID(i%2, 0), Session: "s", Content: text.String()})
	}
	if limit := 2*ix.rows.liveBytes + slackBytes + pageBytes; ix.rows.bytes > limit {
		t.Errorf("%d bytes of rows, more than %d", ix.rows.bytes, limit)
	}
}

// Lists of words that messages share become mostly dead together, and are written
// anew a few with every change.
func TestSharedListsAreRewrittenByAndBy(t *testing.T) {
	withoutRaceDetector(t)
	ix := New(Standard())
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "w%s ", letters(uint64(i+1)))
	}
	const n = 3000
	for i := range n {
		ix.Put(uint64(i), Doc{ID: makeID(i, 0), Session: "s", Content: text.String()})
	}
	most, waiting := 0, 0
	for i := range n * 2 / 3 {
		before := len(ix.words.due)
		ix.Delete(uint64(n+i), makeID(i, 0))
		most = max(most, before-len(ix.words.due))
		waiting = max(waiting, len(ix.words.due))
	}
	if waiting < 50 || most > 1+rewriteAtOnce/(n/3) {
		t.Errorf("%d lists were due at once, %d were written by one change", waiting, most)
	}
	if len(ix.words.due) > 0 {
		t.Errorf("%d lists are due still", len(ix.words.due))
	}
}

func TestMemoryGrowsAndShrinks(t *testing.T) {
	withoutRaceDetector(t)
	ix := New(Standard())
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
	if full.Columns < 5000*70 || full.Search < 5000*40 || full.History < 5000*16 || full.Relations < 5000*32 {
		t.Errorf("too small: %+v", full)
	}
	if after.Columns > full.Columns/2 || after.Search > full.Search/2 || after.History > full.History/2 || after.Relations > 0 {
		t.Errorf("deleting everything left %+v of %+v", after, full)
	}
}

// The estimate is near what the index takes, for natural text and for text that
// never repeats a word.
func TestMemoryIsNearTheHeap(t *testing.T) {
	withoutRaceDetector(t)
	for name, docs := range map[string]func() []Doc{
		"natural": func() []Doc { return someDocs(20_000) },
		"random": func() []Doc {
			docs := someDocs(2000)
			for i := range docs {
				docs[i].Content = ""
				for j := range 30 {
					docs[i].Content += "x" + letters(uint64(i*30+j)) + " "
				}
			}
			return docs
		},
	} {
		t.Run(name, func(t *testing.T) {
			texts := docs()
			analyzer := Standard()
			for _, d := range texts {
				analyzer.Analyze(d.Content, func(string, int) {}) // fills what it keeps
			}
			before := heapInUse()
			ix := New(analyzer)
			for i, d := range texts {
				ix.Put(uint64(i), d)
			}
			heap := heapInUse() - before
			m := ix.Memory()
			estimate := m.Columns + m.Search + m.History + m.Relations
			ratio := float64(estimate) / float64(heap)
			t.Logf("%d bytes estimated, %d in the heap, ratio %.2f; %+v", estimate, heap, ratio, m)
			if ratio < 0.75 || ratio > 1.3 {
				t.Error("the estimate is far off")
			}
			runtime.KeepAlive(texts)
			runtime.KeepAlive(analyzer)
		})
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
