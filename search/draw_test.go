package search

import (
	"strings"

	"example.com/convmem/index"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// corpus is the live messages by id.
type corpus map[ulid.ULID]index.Doc

// changes puts, replaces and deletes messages: some with all that may matter, and
// many at once that are much alike.
func changes(t *rapid.T, ix *index.Index, live corpus) {
	for range rapid.IntRange(1, 40).Draw(t, "changes") {
		id := drawID(t)
		switch rapid.IntRange(0, 7).Draw(t, "change") {
		case 0, 1:
			ix.Delete(0, id)
			delete(live, id)
		case 2:
			d := drawDoc(t, id)
			for n := range rapid.SampledFrom([]int{5, 60, 120}).Draw(t, "like it") {
				d.ID[14] = byte(n)
				d.Content += drawFiller(n)
				replace(ix, live, d)
			}
		default:
			replace(ix, live, drawDoc(t, id))
		}
	}
}

// drawFiller varies a long series of messages without drawing much.
func drawFiller(n int) string { return []string{"", " dog", " fox", " ...", " 東京"}[n*n%11%5] }

func drawID(t *rapid.T) (id ulid.ULID) {
	_ = id.SetTime(uint64(rapid.IntRange(1, 6).Draw(t, "ms")))
	id[15] = byte(rapid.IntRange(0, 3).Draw(t, "n"))
	return id
}

// replace puts a message, which stays in its session. Its kind is its session.
func replace(ix *index.Index, live corpus, d index.Doc) {
	if before, ok := live[d.ID]; ok {
		d.Session = before.Session
	}
	d.Kind = d.Session
	ix.Put(0, d)
	live[d.ID] = d
}

var someWords = []string{"fox", "foxes", "dog", "東京", "しりとり", "go-sdk", "sdk", "the", "...", "🎉", "why?"}

func drawWords(t *rapid.T, atMost int, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(someWords), 0, atMost).Draw(t, label), " ")
}

func drawDoc(t *rapid.T, id ulid.ULID) index.Doc {
	d := index.Doc{
		ID: id, Session: rapid.SampledFrom([]string{"a", "a", "b", "c"}).Draw(t, "session"),
		Role:       rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"),
		Importance: rapid.IntRange(0, 2).Draw(t, "importance"),
		Time:       int64(rapid.IntRange(0, 5).Draw(t, "time")) * 20 * 60 * 1000,
		Content:    drawWords(t, 6, "content"),
	}
	if rapid.IntRange(0, 2).Draw(t, "fields") == 0 {
		d.Summary = drawWords(t, 4, "summary")
		d.Tags = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"fox", "fox dog", "go-sdk", "東京 x"}), 0, 3, rapid.ID).Draw(t, "tags")
	}
	return d
}

func drawQuery(t *rapid.T) Query {
	text := drawWords(t, 5, "query")
	switch rapid.IntRange(0, 9).Draw(t, "query") {
	case 0:
		text = `dog "` + text + `" unknown`
	case 1:
		text = drawID(t).String()
	case 2:
		text = "fox dog" // the tag, and a content
	}
	q := Query{Text: text, Limit: rapid.IntRange(1, 300).Draw(t, "limit")}
	q.Filter.Session = rapid.SampledFrom([]string{"", "", "a", "b", "c"}).Draw(t, "in session")
	q.Filter.MinImportance = rapid.IntRange(0, 1).Draw(t, "least importance")
	if rapid.IntRange(0, 3).Draw(t, "filtered") == 0 {
		q.Filter.Kinds = []string{"a", "c"}
		q.Filter.Tags = rapid.SliceOfN(rapid.Just("fox"), 0, 1).Draw(t, "wanted tags")
	}
	return q
}
