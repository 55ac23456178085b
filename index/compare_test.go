package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However an index came about, it equals one that was filled anew in the order
// of ids, and no longer once a message of it says something else.
func TestCompare(t *testing.T) {
	alike, different := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ix, m := New(Standard()), newModel()
		for seq := range uint64(rapid.IntRange(1, 30).Draw(t, "operations")) {
			id := makeID(rapid.IntRange(1, 6).Draw(t, "ms"), rapid.IntRange(0, 2).Draw(t, "n"))
			switch rapid.IntRange(0, 5).Draw(t, "operation") {
			case 0, 1:
				ix.Delete(seq, id)
				delete(m.docs, id)
			case 2:
				ix.renumber()
			default:
				d := drawDoc(t, id)
				if before, live := m.docs[id]; live {
					d.Session = before.Session
				}
				ix.Put(seq, d)
				m.docs[id] = d
			}
		}
		bothWays(t, ix, freshIndex(m), true)
		alike++
		if ids := m.ids(""); len(ids) > 0 {
			d := m.docs[rapid.SampledFrom(ids).Draw(t, "changed")]
			what := rapid.SampledFrom(changedDocs).Draw(t, "change")
			m.docs[d.ID] = what(d)
			bothWays(t, ix, freshIndex(m), false)
			different++
		}
	})
	t.Logf("%d indexes alike, %d different", alike, different)
	if different == 0 {
		t.Error("none was ever different")
	}
}

// changedDocs make another message, whatever it was.
var changedDocs = []func(Doc) Doc{
	func(d Doc) Doc { d.Session += "'"; return d },
	func(d Doc) Doc { d.Role += "'"; return d },
	func(d Doc) Doc { d.Kind += "'"; return d },
	func(d Doc) Doc { d.Tier += "'"; return d },
	func(d Doc) Doc { d.Importance++; return d },
	func(d Doc) Doc { d.Time++; return d },
	func(d Doc) Doc { d.Tags = append(slices.Clone(d.Tags), "more"); return d },
	func(d Doc) Doc { d.Summary += " more"; return d },
	func(d Doc) Doc { d.Content += " more"; return d },
	func(d Doc) Doc { d.Content, d.Summary = d.Content+" in both", d.Summary+" fields"; return d },
	func(d Doc) Doc {
		d.Relations = append(slices.Clone(d.Relations), Relation{"more", makeID(9, 9)})
		return d
	},
}

func bothWays(t *rapid.T, a, b *Index, alike bool) {
	for _, pair := range [][2]*Index{{a, b}, {b, a}} {
		if err := pair[0].Compare(pair[1]); (err == nil) != alike {
			t.Fatalf("alike: %v, but Compare says: %v", alike, err)
		}
	}
}

// exampleIndex has everything that an index can hold, dead rows too.
func exampleIndex() *Index {
	ix := New(Standard())
	for i := range 12 {
		ix.Put(uint64(i), Doc{
			ID: makeID(i/2+1, i), Session: fmt.Sprint("session ", i%3), Role: "user", Kind: "episode", Tier: "short",
			Importance: i, Time: int64(i), Tags: []string{"secrettag", "Two Words"}, Summary: "secretsummary alpha",
			Content:   strings.Repeat("secretword ", i%3+1) + fmt.Sprint("number", i),
			Relations: []Relation{{"related_to", makeID(1, 0)}, {"depends_on", makeID(i%4+1, i)}},
		})
	}
	ix.Delete(20, makeID(2, 3))
	return ix
}

// TestCompareFindsEveryInconsistency breaks one thing that answers depend on
// after the other.
func TestCompareFindsEveryInconsistency(t *testing.T) {
	id := makeID(1, 1)
	at := func(ix *Index) uint32 { return ix.byID[id] }
	row := func(ix *Index) *row { return ix.rows.row(at(ix)) }
	word := func(ix *Index) *term { return &ix.words.terms[secretNumber(ix)] }
	session := func(ix *Index) *session { return ix.sessions["session 1"] }
	alter := func(ix *Index, change func(*traits)) {
		c := ix.traitsOf(at(ix))
		change(&c)
		row(ix).traits = ix.traits.number(c)
	}
	// block replaces the block of the message by what change makes of it.
	block := func(ix *Index, change func([]byte) []byte) {
		made := change(slices.Clone(ix.rows.block(at(ix))))
		if len(made) > len(ix.rows.block(at(ix))) {
			panic("a longer block has no room")
		}
		copy(ix.rows.block(at(ix)), made)
	}
	for name, breakIt := range map[string]func(*Index){
		"a message missing":            func(ix *Index) { delete(ix.byID, id) },
		"a message of no row":          func(ix *Index) { ix.byID[id] = 1000 },
		"another message's row":        func(ix *Index) { ix.byID[id] = ix.byID[makeID(1, 0)] },
		"another id":                   func(ix *Index) { ix.byID[makeID(1, 9)] = at(ix); delete(ix.byID, id) },
		"a row that is dead":           func(ix *Index) { ix.rows.page(at(ix)).died[at(ix)] = 1 },
		"a dead row that lives":        func(ix *Index) { ix.rows.tail.died[3] = 0 },
		"a row without session":        func(ix *Index) { row(ix).session = 1000 },
		"a row of another session":     func(ix *Index) { row(ix).session = ix.sessions["session 2"].number },
		"a row without traits":         func(ix *Index) { row(ix).traits = 1000 },
		"role":                         func(ix *Index) { alter(ix, func(c *traits) { c.role = "tool" }) },
		"kind":                         func(ix *Index) { alter(ix, func(c *traits) { c.kind = "summary" }) },
		"tier":                         func(ix *Index) { alter(ix, func(c *traits) { c.tier = "long" }) },
		"importance":                   func(ix *Index) { alter(ix, func(c *traits) { c.importance++ }) },
		"summary flag":                 func(ix *Index) { alter(ix, func(c *traits) { c.summarised = false }) },
		"question":                     func(ix *Index) { alter(ix, func(c *traits) { c.asks = !c.asks }) },
		"time":                         func(ix *Index) { row(ix).time++ },
		"fingerprint":                  func(ix *Index) { row(ix).fingerprint++ },
		"length":                       func(ix *Index) { ix.rows.page(at(ix)).lengths[at(ix)]++ },
		"live rows":                    func(ix *Index) { ix.rows.live++ },
		"the first byte of a tag":      func(ix *Index) { block(ix, func(b []byte) []byte { b[2]++; return b }) },
		"the last term":                func(ix *Index) { block(ix, func(b []byte) []byte { b[len(b)-1] ^= 2; return b }) },
		"the last position":            func(ix *Index) { block(ix, func(b []byte) []byte { b[len(b)-1] ^= 1; return b }) },
		"a block that can't be read":   func(ix *Index) { block(ix, func(b []byte) []byte { b[0] = 200; return b }) },
		"bytes of rows":                func(ix *Index) { ix.rows.bytes++ },
		"live bytes of rows":           func(ix *Index) { ix.rows.liveBytes-- },
		"live bytes of a page":         func(ix *Index) { ix.rows.tail.live++ },
		"dead rows of a page":          func(ix *Index) { ix.rows.tail.dead-- },
		"deaths":                       func(ix *Index) { ix.rows.deaths-- },
		"size of a list":               func(ix *Index) { word(ix).postings.size-- },
		"last of a list":               func(ix *Index) { word(ix).postings.last++ },
		"bounds of a list":             func(ix *Index) { word(ix).postings.max[Content]-- },
		"blocks of a list":             func(ix *Index) { word(ix).postings.blocks = &blocks{} },
		"statistics":                   func(ix *Index) { ix.words.stats.Fields[Summary].Terms++ },
		"frequency":                    func(ix *Index) { word(ix).postings.frequency-- },
		"a term counted as unused":     func(ix *Index) { word(ix).postings.frequency = 0 },
		"a term under another number":  func(ix *Index) { *slot(ix)++ },
		"a term too many":              func(ix *Index) { ix.words.dictionary.count++ },
		"a term forgotten":             func(ix *Index) { *slot(ix) = gone },
		"a term with another text":     func(ix *Index) { word(ix).text = "other" },
		"a term that is free":          func(ix *Index) { ix.words.free = append(ix.words.free, 0) },
		"a posting missing":            func(ix *Index) { postings(ix, func(o uint32, c Counts) (uint32, Counts) { return o, c }, at(ix)) },
		"a posting of another message": func(ix *Index) { postings(ix, func(o uint32, c Counts) (uint32, Counts) { return o + 1, c }) },
		"a posting in another field": func(ix *Index) {
			postings(ix, func(o uint32, c Counts) (uint32, Counts) { c[Summary], c[Content] = c[Content], 0; return o, c })
		},
		"a posting with another count": func(ix *Index) {
			postings(ix, func(o uint32, c Counts) (uint32, Counts) { c[Content]++; return o, c })
		},
		"a session missing":             func(ix *Index) { delete(ix.sessions, "session 1") },
		"a session under another name":  func(ix *Index) { ix.sessions["x"] = session(ix); delete(ix.sessions, "session 1") },
		"another name in a session":     func(ix *Index) { session(ix).name = "x" },
		"history shorter":               func(ix *Index) { session(ix).history.remove(entry{id: id}) },
		"history with another row":      func(ix *Index) { session(ix).history.find(entry{id: id}).ordinal++ },
		"history out of order":          func(ix *Index) { slices.Reverse(session(ix).history.chunks[0]) },
		"history of another length":     func(ix *Index) { session(ix).history.length-- },
		"history with an empty chunk":   func(ix *Index) { h := &session(ix).history; h.chunks = append(h.chunks, []entry{}) },
		"a summary missing":             func(ix *Index) { session(ix).summaries.remove(id) },
		"count of a kind":               func(ix *Index) { session(ix).kinds["episode"]++ },
		"activity":                      func(ix *Index) { session(ix).activity++ },
		"not in the order of activity":  func(ix *Index) { ix.byActivity.remove(session(ix)) },
		"not in the order of change":    func(ix *Index) { ix.byChange.remove(session(ix)) },
		"order of activity wrong":       func(ix *Index) { slices.Reverse(ix.byActivity.chunks[0]) },
		"order of change wrong":         func(ix *Index) { slices.Reverse(ix.byChange.chunks[0]) },
		"a copy of a session in order":  func(ix *Index) { s := *ix.byChange.chunks[0][0]; ix.byChange.chunks[0][0] = &s },
		"relations to a message":        func(ix *Index) { ix.incoming[makeID(1, 0)].remove(Relation{"related_to", id}) },
		"relations to a message gone":   func(ix *Index) { delete(ix.incoming, makeID(1, 0)) },
		"relations to another message":  func(ix *Index) { ix.incoming[makeID(9, 9)] = ix.incoming[id]; delete(ix.incoming, id) },
		"relations to one out of order": func(ix *Index) { slices.Reverse(ix.incoming[makeID(1, 0)].chunks[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			good, bad := exampleIndex(), exampleIndex()
			if err := good.Compare(bad); err != nil {
				t.Fatalf("before: %v", err)
			}
			breakIt(bad)
			for _, err := range []error{bad.Compare(good), good.Compare(bad)} {
				if err == nil {
					t.Fatal("no difference found")
				}
				for _, text := range []string{"secret", "alpha", "session 1"} {
					if strings.Contains(err.Error(), text) {
						t.Errorf("the error repeats what a message says: %v", err)
					}
				}
			}
		})
	}
}

func secretNumber(ix *Index) uint32 {
	number, ok := ix.words.number("secretword")
	if !ok {
		panic("no such term")
	}
	return number
}

// slot returns the one of secretword in the dictionary.
func slot(ix *Index) *uint32 {
	number := secretNumber(ix)
	for i, n := range ix.words.dictionary.slots {
		if n == number+1 {
			return &ix.words.dictionary.slots[i]
		}
	}
	panic("no slot")
}

// postings makes those of secretword anew, without some, the others as change
// says.
func postings(ix *Index, change func(uint32, Counts) (uint32, Counts), without ...uint32) {
	l := &ix.words.terms[secretNumber(ix)].postings
	frequency := l.frequency
	var made list
	for c := l.cursor(); c.Next(); {
		if !slices.Contains(without, c.ordinal) {
			ordinal, counts := change(c.ordinal, c.Counts())
			made.add(ordinal, counts, c.posting.Lengths)
		}
	}
	*l = made
	l.frequency = frequency
}

// Compares two indexes of 100,000 messages of 30 words.
func BenchmarkCompare(b *testing.B) {
	one, other := New(Standard()), New(Standard())
	for i, d := range someDocs(100_000) {
		one.Put(uint64(i), d)
		other.Put(uint64(i), d)
	}
	for b.Loop() {
		if err := one.Compare(other); err != nil {
			b.Fatal(err)
		}
	}
}
