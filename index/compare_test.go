package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unique"

	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// However an index came about, it equals one that was filled anew in the order
// of ids, and no longer once a message of it says something else.
func TestCompare(t *testing.T) {
	alike, different := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ix, m := New(), newModel()
		for seq := range uint64(rapid.IntRange(1, 30).Draw(t, "operations")) {
			id := makeID(rapid.IntRange(1, 6).Draw(t, "ms"), rapid.IntRange(0, 2).Draw(t, "n"))
			switch rapid.IntRange(0, 5).Draw(t, "operation") {
			case 0, 1:
				ix.Delete(seq, id)
				delete(m.docs, id)
			case 2:
				ix.compact()
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
	ix := New()
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
	row := func(ix *Index) *message { return &ix.messages[ix.byID[id]] }
	word := func(ix *Index) *term { return &ix.words.terms[ix.words.ids["secretword"]] }
	session := func(ix *Index) *session { return ix.sessions["session 1"] }
	for name, breakIt := range map[string]func(*Index){
		"a message missing":             func(ix *Index) { delete(ix.byID, id) },
		"a message of no row":           func(ix *Index) { ix.byID[id] = 1000 },
		"another message's row":         func(ix *Index) { ix.byID[id] = ix.byID[makeID(1, 0)] },
		"another id":                    func(ix *Index) { delete(ix.byID, id); ix.byID[makeID(1, 9)] = 1 },
		"a row that is dead":            func(ix *Index) { row(ix).live = false },
		"a dead row that lives":         func(ix *Index) { ix.messages[3].live = true; ix.messages[3].session = session(ix) },
		"a row without session":         func(ix *Index) { row(ix).session = nil },
		"a row of another session":      func(ix *Index) { row(ix).session = ix.sessions["session 2"] },
		"role":                          func(ix *Index) { row(ix).role = unique.Make("tool") },
		"kind":                          func(ix *Index) { row(ix).kind = unique.Make("summary") },
		"tier":                          func(ix *Index) { row(ix).tier = unique.Make("long") },
		"importance":                    func(ix *Index) { row(ix).importance++ },
		"time":                          func(ix *Index) { row(ix).time++ },
		"tags":                          func(ix *Index) { row(ix).tags = row(ix).tags[:1] },
		"summary flag":                  func(ix *Index) { row(ix).summarised = false },
		"length":                        func(ix *Index) { row(ix).lengths[Content]++ },
		"entries":                       func(ix *Index) { row(ix).entries++ },
		"list of terms":                 func(ix *Index) { row(ix).terms[0] = row(ix).terms[1] },
		"list of terms, shorter":        func(ix *Index) { row(ix).terms = row(ix).terms[1:] },
		"list of terms, out of range":   func(ix *Index) { row(ix).terms[0] = 1000 },
		"statistics":                    func(ix *Index) { ix.stats.Fields[Summary].Terms++ },
		"frequency":                     func(ix *Index) { word(ix).frequency-- },
		"a term counted as unused":      func(ix *Index) { word(ix).frequency = 0 },
		"a term under another number":   func(ix *Index) { ix.words.ids["secretword"]++ },
		"a term of no number":           func(ix *Index) { ix.words.ids["secretword"] = 1000 },
		"a term forgotten":              func(ix *Index) { delete(ix.words.ids, "secretword") },
		"a posting missing":             func(ix *Index) { word(ix).entries = word(ix).entries[1:] },
		"a posting of another message":  func(ix *Index) { word(ix).entries[1].ordinal = 3 },
		"a posting of no message":       func(ix *Index) { word(ix).entries[len(word(ix).entries)-1].ordinal = 1000 },
		"a posting in another field":    func(ix *Index) { word(ix).entries[1].count |= uint32(Summary) << countBits },
		"a posting with another count":  func(ix *Index) { word(ix).entries[1].count++ },
		"postings out of order":         func(ix *Index) { e := word(ix).entries; e[0], e[1] = e[1], e[0] },
		"total":                         func(ix *Index) { ix.words.total++ },
		"dead":                          func(ix *Index) { ix.words.dead++ },
		"a session missing":             func(ix *Index) { delete(ix.sessions, "session 1") },
		"a session under another name":  func(ix *Index) { ix.sessions["x"] = session(ix); delete(ix.sessions, "session 1") },
		"another name in a session":     func(ix *Index) { session(ix).name = "x" },
		"history shorter":               func(ix *Index) { session(ix).history.remove(id) },
		"history out of order":          func(ix *Index) { slices.Reverse(session(ix).history.chunks[0]) },
		"history of another length":     func(ix *Index) { session(ix).history.length-- },
		"history with an empty chunk":   func(ix *Index) { h := &session(ix).history; h.chunks = append(h.chunks, []ulid.ULID{}) },
		"a summary missing":             func(ix *Index) { session(ix).summaries.remove(id) },
		"count of a kind":               func(ix *Index) { session(ix).kinds[unique.Make("episode")]++ },
		"activity":                      func(ix *Index) { session(ix).activity++ },
		"not in the order of activity":  func(ix *Index) { ix.byActivity.remove(session(ix)) },
		"not in the order of change":    func(ix *Index) { ix.byChange.remove(session(ix)) },
		"order of activity wrong":       func(ix *Index) { slices.Reverse(ix.byActivity.chunks[0]) },
		"order of change wrong":         func(ix *Index) { slices.Reverse(ix.byChange.chunks[0]) },
		"a copy of a session in order":  func(ix *Index) { s := *ix.byChange.chunks[0][0]; ix.byChange.chunks[0][0] = &s },
		"relations of a message":        func(ix *Index) { ix.outgoing[id][0].Type = "depends_on" },
		"relations of a message gone":   func(ix *Index) { delete(ix.outgoing, id) },
		"relations of another message":  func(ix *Index) { ix.outgoing[makeID(9, 9)] = ix.outgoing[id]; delete(ix.outgoing, id) },
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

// Compares two indexes of 100,000 messages of 30 words.
func BenchmarkCompare(b *testing.B) {
	one, other := New(), New()
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
