package index

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// seen is all that a view tells of the messages that pass its filter.
type seen struct {
	Statistics  Statistics
	Frequencies []int
	Entries     map[ulid.ULID]Entry
	Words       map[ulid.ULID][]Counts
	Content     map[ulid.ULID]int
}

func look(v *View, terms []string) seen {
	s := seen{Statistics: v.Statistics(), Entries: map[ulid.ULID]Entry{}, Words: map[ulid.ULID][]Counts{}, Content: map[ulid.ULID]int{}}
	for page := range v.Pages() {
		for slot := range v.Lengths(page) {
			ordinal := uint32(page*PageRows + slot)
			if v.Passes(ordinal) {
				e := v.Entry(ordinal)
				s.Entries[e.ID] = e
				s.Content[e.ID] = len(v.AppendContent(nil, ordinal, 1000))
			}
		}
	}
	for term := range terms {
		s.Frequencies = append(s.Frequencies, v.Frequency(term))
		for c := v.Cursor(term); c.Next(); {
			if v.Passes(c.Ordinal()) {
				id := v.Entry(c.Ordinal()).ID
				s.Words[id] = append(s.Words[id], c.Counts())
			}
		}
	}
	return s
}

// A view tells the same for as long as it lives, whatever becomes of the index,
// and what an index of that moment tells.
func TestViewsStayAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ix, m := smallIndex(), newModel()
		terms := []string{"fox", "dog", "東京", "sdk"}
		filter := drawFilter(t)
		filter.Session = ""
		type kept struct {
			view *View
			saw  seen
		}
		var views []kept
		for seq := range uint64(rapid.IntRange(1, 60).Draw(t, "operations")) {
			id := makeID(rapid.IntRange(1, 6).Draw(t, "ms"), rapid.IntRange(0, 2).Draw(t, "n"))
			switch rapid.IntRange(0, 4).Draw(t, "operation") {
			case 0:
				ix.Delete(seq, id)
				delete(m.docs, id)
			case 1:
				v := ix.View(terms, filter)
				views = append(views, kept{v, look(v, terms)})
				if diff := cmp.Diff(look(freshIndex(m).View(terms, filter), terms), views[len(views)-1].saw); diff != "" {
					t.Fatalf("a view differs from one of a fresh index: %s", diff)
				}
			default:
				d := drawDoc(t, id)
				if before, live := m.docs[id]; live {
					d.Session = before.Session
				}
				ix.Put(seq, d)
				m.docs[id] = d
			}
		}
		for _, k := range views {
			if diff := cmp.Diff(k.saw, look(k.view, terms)); diff != "" {
				t.Fatalf("a view has changed: %s", diff)
			}
		}
	})
}

// Views are read while the index changes: the race detector looks on.
func TestViewsBesideChanges(t *testing.T) {
	ix := smallIndex()
	docs := someDocs(200)
	for i, d := range docs {
		ix.Put(uint64(i), d)
	}
	terms := []string{"wb", "wc", "wd"}
	stop := make(chan struct{})
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				v := ix.View(terms, Filter{})
				saved := ix.Save()
				want := look(v, terms)
				mu.Unlock()
				if diff := cmp.Diff(want, look(v, terms)); diff != "" {
					t.Errorf("a view has changed: %s", diff)
				}
				var size counter
				if err := saved.Write(&size); err != nil || size == 0 {
					t.Errorf("saved %d bytes, %v", size, err)
				}
			}
		})
	}
	for i := range 100 {
		mu.Lock()
		d := docs[i%len(docs)]
		if i%3 == 0 {
			ix.Delete(uint64(1000+i), d.ID)
		} else {
			d.Content += fmt.Sprint(" more", i)
			ix.Put(uint64(1000+i), d)
		}
		mu.Unlock()
	}
	close(stop)
	wg.Wait()
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// Holds tells whether what a view says of a row is still so.
func TestHolds(t *testing.T) {
	ix := New(Standard())
	for i := range 4 {
		ix.Put(uint64(i), Doc{ID: makeID(i+1, 0), Session: "s", Content: "word"})
	}
	v := ix.View([]string{"word"}, Filter{})
	ix.Put(4, Doc{ID: makeID(2, 0), Session: "s", Content: "other"})
	ix.Delete(5, makeID(3, 0))
	for ordinal, want := range []bool{true, false, false, true} {
		if got := ix.Holds(v, uint32(ordinal)); got != want {
			t.Errorf("row %d: %v, want %v", ordinal, got, want)
		}
	}
	if New(Standard()).Holds(v, 0) {
		t.Error("another index holds a row of the view")
	}
	ix.renumber()
	if ix.Holds(v, 0) {
		t.Error("a row is held although ordinals began anew")
	}
	if !ix.Holds(ix.View(nil, Filter{}), 0) {
		t.Error("a row of a view that was made since is not held")
	}
}

// A small session is looked at by itself, a large one or an unknown one is not.
func TestFew(t *testing.T) {
	ix := New(Standard())
	for i := range 1000 {
		session := "large"
		if i%100 == 0 {
			session = "small"
		}
		ix.Put(uint64(i), Doc{ID: makeID(i+1, 0), Session: session, Content: "word"})
	}
	for session, want := range map[string]int{"small": 10, "large": 0, "unknown": 0, "": 0} {
		if got := len(ix.View([]string{"word"}, Filter{Session: session}).Few()); got != want {
			t.Errorf("session %q: %d rows, want %d", session, got, want)
		}
	}
	ix.Put(2000, Doc{ID: makeID(1, 0), Session: "small", Content: strings.Repeat("word ", 2000)})
	if few := ix.View([]string{"word"}, Filter{Session: "small"}).Few(); few != nil {
		t.Errorf("%d rows although a message among them is longer than all postings", len(few))
	}
	if few := ix.View([]string{"unknown"}, Filter{Session: "small"}).Few(); few != nil {
		t.Errorf("%d rows although no posting needs to be read", len(few))
	}
	if !ix.View(nil, Filter{Session: "unknown"}).Nothing() || ix.View(nil, Filter{Session: "small"}).Nothing() {
		t.Error("wrong about whether any message passes")
	}
}

// Lengths and FieldLengths of contents around the longest that a page tells.
func TestLengths(t *testing.T) {
	ix := New(Standard())
	lengths := []int{0, 1, 254, 255, 256, 257, 600}
	for i, n := range lengths {
		ix.Put(uint64(i), Doc{ID: makeID(i+1, 0), Session: "s", Content: strings.Repeat("word ", n)})
	}
	v := ix.View(nil, Filter{})
	for i, n := range lengths {
		if got := v.Lengths(0)[i]; int(got) != min(n, LongLength) {
			t.Errorf("length %d of %d terms", got, n)
		}
		if got := v.FieldLengths(uint32(i))[Content]; int(got) != n {
			t.Errorf("field length %d of %d terms", got, n)
		}
	}
	if err := ix.Compare(ix); err != nil {
		t.Error(err)
	}
}

// AppendContent appends the first terms with the places where they stand.
func TestAppendContent(t *testing.T) {
	ix := New(slicing{})
	ix.Put(1, Doc{ID: makeID(1, 0), Session: "s", Tags: []string{"tag"}, Summary: "one", Content: "one two one"})
	v := ix.View([]string{"one", "two"}, Filter{})
	one, _ := v.Number(0)
	two, _ := v.Number(1)
	all := []Token{{one, 0}, {two, 1}, {one, 2}}
	for limit, want := range [][]Token{{}, all[:1], all[:2], all, all} {
		if diff := cmp.Diff(want, v.AppendContent([]Token{}, 0, limit)); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
	}
	before := []Token{{Number: 7}}
	if got := v.AppendContent(before, 0, 1); len(got) != 2 || got[0] != before[0] {
		t.Errorf("%v behind %v", got, before)
	}
}

// A view seeks in the postings that it was made with, though their list has sealed
// blocks since.
func TestViewKeepsItsBlocks(t *testing.T) {
	ix := New(Standard())
	put := func(n int) {
		for range n {
			i := ix.Len()
			ix.Put(uint64(i), Doc{ID: makeID(i+1, 0), Session: "s", Content: "fox"})
		}
	}
	put(blockPostings + 20)
	v := ix.View([]string{"fox"}, Filter{})
	put(5 * blockPostings)
	for ordinal := range uint32(7 * blockPostings) {
		c := v.Cursor(0)
		if found := c.Seek(ordinal); found != (ordinal < blockPostings+20) || found && c.Ordinal() != ordinal {
			t.Fatalf("Seek(%d) says %v, at %d", ordinal, found, c.Ordinal())
		}
	}
}
