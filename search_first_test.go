package convmem_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"example.com/convmem"
	"pgregory.net/rapid"
)

// copyFirst takes each text as a query, which must find the message that says
// just this before all others. ids are those messages by their text.
func copyFirst(t rapid.TB, w *world, ids map[string]string) {
	t.Helper()
	for _, text := range slices.Sorted(maps.Keys(ids)) {
		r := convmem.SearchRequest{Query: text}
		hits := w.search(r).Hits
		checkHits(t, r, hits)
		switch {
		case len(hits) == 0:
			t.Errorf("nothing is found by a copy of %q", shortened(text))
		case hits[0].ID != ids[text]:
			t.Errorf("a copy of %q finds %q first", shortened(text), shortened(hits[0].Content))
		}
	}
}

func shortened(text string) string {
	if len(text) > 300 {
		return fmt.Sprintf("%.300s... (%d bytes)", text, len(text))
	}
	return text
}

// searchable reports whether a text has something to be found by.
func searchable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) || strings.Contains(text, "🐈")
}

// An exact copy of what a message says finds that message first, whatever else
// the store holds.
func TestSearchFindsACopyFirst(t *testing.T) {
	copies := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, convmem.Options{})
		defer w.db.Close()
		ids := map[string]string{}
		for range rapid.IntRange(2, 25).Draw(rt, "messages") {
			text := drawText(rt, rapid.SampledFrom([]int{1, 3, 12}).Draw(rt, "size"), "content")
			if ids[text] == "" && searchable(text) {
				ids[text] = w.say(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "session"), text, convmem.MetadataPatch{
					Importance: new(rapid.SampledFrom([]int{10, 90}).Draw(rt, "importance")),
				}).ID
			}
		}
		copyFirst(rt, w, ids)
		copies += len(ids)
	})
	t.Logf("%d copies", copies)
}

// The same beside summaries and tags of other messages that say it too.
func TestSearchFindsACopyBeforeSummariesAndTags(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, convmem.Options{})
		defer w.db.Close()
		ids := map[string]string{}
		for range rapid.IntRange(2, 25).Draw(rt, "messages") {
			if text := drawText(rt, 4, "content"); ids[text] == "" && searchable(text) {
				ids[text] = w.say("s", text, drawPatch(rt)).ID
			}
		}
		copyFirst(rt, w, ids)
	})
}

// Texts that are told apart by little: a mark, a case, an order, a length.
func TestSearchFindsACopyAmongNearCopies(t *testing.T) {
	long := strings.Repeat("The quick brown fox jumps over the lazy dog near the river bank. ", 62)
	for _, c := range []struct {
		name  string
		texts []string
	}{
		{"repetition", []string{"yes", "yes yes", "yes yes yes, yes", "yes, well"}},
		{"punctuation", []string{"Yes.", "Yes!", "Yes?", "yes yes yes, yes", "\"Yes\""}},
		{"case", []string{"ok", "OK", "Ok", "oK"}},
		{"white space", []string{"see you", "see  you", " see you", "see you\n"}},
		{"order", []string{"man bites dog", "dog bites man", "dog man bites", "bites dog man"}},
		{"length", []string{"the fox", "the fox ran", "the fox ran home", "fox"}},
		{"common words", []string{"to be or not to be", "to be", "be", "not to be", "or not"}},
		{"stems", []string{"runs", "running", "run", "ran"}},
		{"accents and width", []string{"cafe", "café", "cafe\u0301", "ＣＡＦＥ"}},
		{"Japanese", []string{"はい", "はい。", "はいはい", "はい、そうです", "東京", "東京都", "京都東京", "バリ", "パリ"}},
		{"Chinese", []string{"好", "好的", "好的。", "好好", "是", "是的是的"}},
		{"Korean", []string{"네", "네.", "네, 네", "서울", "서울에서", "에서 서울"}},
		{"emoji", []string{"🐈", "🐈🐈", "🐈 🐈", "👍", "👍🏽", "👍 ok"}},
		{"identifiers", []string{"E_CONN_RESET", "conn reset", "e conn reset", "reset conn", "E_CONN_RESET!"}},
		{"longest", []string{long + "end", long + "and", "end " + long, long}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, convmem.Options{})
			ids := map[string]string{}
			for _, text := range c.texts {
				ids[text] = w.say("s", text, convmem.MetadataPatch{}).ID
			}
			copyFirst(t, w, ids)
			for _, id := range ids { // equal scores now go to those that were the weaker
				w.update(convmem.UpdateRequest{MessageID: id, Metadata: &convmem.MetadataPatch{Importance: new(100 - len(c.texts))}})
			}
			for i, text := range c.texts {
				w.update(convmem.UpdateRequest{MessageID: ids[text], Metadata: &convmem.MetadataPatch{Importance: new(100 - i)}})
			}
			copyFirst(t, w, ids)
		})
	}
}

// A copy is first however many messages say the same words more often.
func TestSearchFindsACopyAmongManyStronger(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	ids := map[string]string{}
	for _, text := range []string{"otter", "an otter and a heron", "獺"} {
		ids[text] = w.say("s", text, convmem.MetadataPatch{}).ID
	}
	for i := range 500 {
		w.say("s", fmt.Sprint("otter otter heron otter heron 獺獺獺 ", i%7), convmem.MetadataPatch{Importance: new(90), Tags: []string{"otter", "heron"}})
	}
	copyFirst(t, w, ids)
}

// Texts as long as a query may be, of many words, which differ in few of them.
func TestSearchFindsALongCopyFirst(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	random := rand.New(rand.NewPCG(4, 2))
	ids := map[string]string{}
	keep := func(words []string) {
		text := strings.Join(words, " ")
		if len(text) > convmem.MaxQueryBytes {
			t.Fatalf("a text of %d bytes", len(text))
		}
		ids[text] = w.say("s", text, convmem.MetadataPatch{}).ID
	}
	for _, size := range []int{80, 200, 500, 819} {
		var words []string
		for range size {
			words = append(words, rareWord(random))
		}
		keep(words)
		for range 5 {
			other := slices.Clone(words)
			other[random.IntN(size)] = rareWord(random)
			keep(other)
		}
		keep(words[1:])
		keep(append(words[1:size:size], words[0]))
	}
	copyFirst(t, w, ids)
}

// The id of a message, taken as a query, finds that message first, and the ones
// that speak of it behind it.
func TestSearchFindsAMessageByItsID(t *testing.T) {
	for _, spelling := range []struct {
		name string
		of   func(string) string
	}{{"as it is", func(id string) string { return id }}, {"in lower case", strings.ToLower}, {"between spaces", func(id string) string { return " " + id + "\n" }}} {
		t.Run(spelling.name, func(t *testing.T) {
			w := newWorld(t, convmem.Options{})
			m := w.say("a", "The fox ran.", convmem.MetadataPatch{Importance: new(0)})
			about := w.say("a", "See "+m.ID+" "+m.ID, convmem.MetadataPatch{Tags: []string{m.ID}, Summary: &m.ID})
			search := func(r convmem.SearchRequest) (ids []string) {
				t.Helper()
				r.Query = spelling.of(m.ID)
				hits := w.search(r).Hits
				checkHits(t, r, hits)
				for _, hit := range hits {
					ids = append(ids, hit.ID)
				}
				return ids
			}
			check := func(when string, r convmem.SearchRequest, want ...string) {
				t.Helper()
				if got := search(r); !slices.Equal(got, want) {
					t.Errorf("%s: got %v, want %v", when, got, want)
				}
			}
			check("plain", convmem.SearchRequest{}, m.ID, about.ID)
			check("limit 1", convmem.SearchRequest{Limit: 1}, m.ID)
			check("its session", convmem.SearchRequest{SessionID: "a"}, m.ID, about.ID)
			check("another session", convmem.SearchRequest{SessionID: "b"})
			check("a filter that refuses it", convmem.SearchRequest{MinImportance: 1}, about.ID)
			w.update(convmem.UpdateRequest{MessageID: m.ID, Content: new("The foxes ran.")})
			check("after an update", convmem.SearchRequest{}, m.ID, about.ID)
			w.rebuild()
			w.reopen()
			check("after a rebuild and a restart", convmem.SearchRequest{}, m.ID, about.ID)
			w.remove(m.ID)
			check("deleted", convmem.SearchRequest{}, about.ID)
			w.reopen()
			check("deleted, after a restart", convmem.SearchRequest{}, about.ID)
		})
	}
}

// So it is for every message of any store, however alike their ids are.
func TestSearchFindsEveryMessageByItsID(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, convmem.Options{Entropy: &sequence{}})
		defer w.db.Close()
		var ids []string
		for range rapid.IntRange(1, 20).Draw(rt, "changes") {
			w.drawChange(rt, &ids)
		}
		live := map[string]bool{}
		for _, session := range []string{"a", "b"} {
			for _, m := range w.history(convmem.HistoryRequest{SessionID: session}).Messages {
				live[m.ID] = true
			}
		}
		for _, id := range ids {
			r := convmem.SearchRequest{Query: id}
			hits := w.search(r).Hits
			checkHits(rt, r, hits)
			if first := len(hits) > 0 && hits[0].ID == id; first != live[id] {
				rt.Errorf("%s: found first %v, live %v", id, first, live[id])
			}
		}
	})
}
