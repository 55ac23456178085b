package convmem_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// vocabulary is what random messages and queries are made of: few words, so that
// they meet, in many scripts.
var vocabulary = []string{
	"fox", "foxes", "ran", "running", "the", "it", "E_CONN_RESET", "conn", "readMessages", "v1.2.3", "C++", "café", "Straße",
	"東京", "京都", "京", "データベース", "ねこ", "猫", "内存", "서울", "서울에서", "ภาษาไทย", "हिन्दी", "مرحبا", "🐈", "42",
}

// separators stand between words. Without one, scripts touch.
var separators = []string{" ", " ", " ", "", ", ", "? ", ".\n"}

// drawText draws up to most words.
func drawText(rt *rapid.T, most int, label string) string {
	var text strings.Builder
	for range rapid.IntRange(1, most).Draw(rt, label+" words") {
		text.WriteString(rapid.SampledFrom(vocabulary).Draw(rt, label))
		text.WriteString(rapid.SampledFrom(separators).Draw(rt, "separator"))
	}
	return text.String()
}

func drawPatch(rt *rapid.T) (patch convmem.MetadataPatch) {
	if rapid.Bool().Draw(rt, "with tags") {
		patch.Tags = rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 3).Draw(rt, "tags")
	}
	if rapid.Bool().Draw(rt, "with a summary") {
		patch.Summary = new(drawText(rt, 3, "summary"))
	}
	patch.Importance = new(rapid.SampledFrom([]int{49, 50, 51}).Draw(rt, "importance"))
	return patch
}

// drawWrite draws a message. The clock stands still before half of them and now
// and then steps over an hour.
func (w *world) drawWrite(rt *rapid.T) convmem.Message {
	w.Helper()
	w.now = w.now.Add(rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, time.Second, time.Hour}).Draw(rt, "pause"))
	result, err := w.db.Write(ctx, convmem.WriteRequest{
		SessionID: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "session"),
		Role:      rapid.SampledFrom([]convmem.Role{convmem.RoleUser, convmem.RoleAssistant}).Draw(rt, "role"),
		Content:   drawText(rt, 8, "content"),
		Metadata:  drawPatch(rt),
	})
	w.ok("write", err)
	return result.Message
}

// drawChange does something to the store, most often a write.
func (w *world) drawChange(rt *rapid.T, ids *[]string) {
	w.Helper()
	some := func() string { return rapid.SampledFrom(*ids).Draw(rt, "id") }
	switch op := rapid.SampledFrom([]string{"write", "write", "write", "update", "update", "delete"}).Draw(rt, "change"); {
	case op == "write" || len(*ids) == 0:
		*ids = append(*ids, w.drawWrite(rt).ID)
	case op == "update":
		patch := drawPatch(rt)
		r := convmem.UpdateRequest{MessageID: some(), Metadata: &patch}
		if rapid.Bool().Draw(rt, "with content") {
			r.Content = new(drawText(rt, 8, "content"))
		}
		if _, err := w.db.Update(ctx, r); convmem.CodeOf(err) != convmem.CodeNotFound {
			w.ok("update", err)
		}
	default:
		_, err := w.db.Delete(ctx, convmem.DeleteRequest{MessageID: some()})
		w.ok("delete", err)
	}
}

// drawQueries draws requests with and without filters.
func drawQueries(rt *rapid.T, n int) (requests []convmem.SearchRequest) {
	for range n {
		r := convmem.SearchRequest{Query: drawText(rt, 4, "query"), Limit: convmem.MaxSearchLimit}
		switch rapid.IntRange(0, 5).Draw(rt, "filter") {
		case 0:
			r.SessionID = "a"
		case 1:
			r.Filters.Roles = []convmem.Role{convmem.RoleAssistant}
		case 2:
			r.MinImportance = 50
		case 3:
			r.Filters.Tags = []string{rapid.SampledFrom(vocabulary).Draw(rt, "tag")}
		}
		requests = append(requests, r)
	}
	return requests
}

// rareWord makes one of some four thousand words.
func rareWord(random *rand.Rand) string {
	return fmt.Sprintf("w%c%c%c", 'a'+random.IntN(6), 'a'+random.IntN(26), 'a'+random.IntN(26))
}

// exactHit is what must not differ by a bit between two views of one store.
type exactHit struct {
	ID                            string
	Score, Content, Summary, Tags uint64
	Fields                        string
}

// rankings are the ranked lists of several requests.
func rankings(t rapid.TB, db *convmem.DB, requests []convmem.SearchRequest) (lists [][]exactHit) {
	t.Helper()
	for _, r := range requests {
		result, err := db.Search(ctx, r)
		if err != nil {
			t.Fatalf("search: %v", err)
		}
		checkHits(t, r, result.Hits)
		list := []exactHit{}
		for _, h := range result.Hits {
			list = append(list, exactHit{
				h.ID, math.Float64bits(h.Score), math.Float64bits(h.Breakdown.Content),
				math.Float64bits(h.Breakdown.Summary), math.Float64bits(h.Breakdown.Tags), fmt.Sprint(h.MatchedFields),
			})
		}
		lists = append(lists, list)
	}
	return lists
}

// checkHits holds one ranked list against what every list keeps to.
func checkHits(t rapid.TB, r convmem.SearchRequest, hits []convmem.Hit) {
	t.Helper()
	for i, h := range hits {
		b := h.Breakdown
		var fields []convmem.Field
		for _, part := range []struct {
			field convmem.Field
			score float64
		}{{convmem.FieldContent, b.Content}, {convmem.FieldSummary, b.Summary}, {convmem.FieldTags, b.Tags}} {
			if !(part.score >= 0) || math.IsInf(part.score, 0) {
				t.Errorf("%q, hit %d: %s has %v", r.Query, i, part.field, part.score)
			}
			if part.score > 0 {
				fields = append(fields, part.field)
			}
		}
		if h.Score != b.Content+b.Summary+b.Tags {
			t.Errorf("%q, hit %d: the score %v is not the sum of %+v", r.Query, i, h.Score, b)
		}
		if len(fields) == 0 || !slices.Equal(fields, h.MatchedFields) {
			t.Errorf("%q, hit %d: matched %v, but the parts say %v", r.Query, i, h.MatchedFields, fields)
		}
		if i > 0 && !before(hits[i-1], h) {
			t.Errorf("%q, hits %d and %d are in the wrong order: %+v, %+v", r.Query, i-1, i, hits[i-1], h)
		}
	}
}

// before is the order of hits.
func before(a, b convmem.Hit) bool {
	switch {
	case a.Score != b.Score:
		return a.Score > b.Score
	case a.Metadata.Importance != b.Metadata.Importance:
		return a.Metadata.Importance > b.Metadata.Importance
	case !a.Timestamp.Equal(b.Timestamp):
		return a.Timestamp.After(b.Timestamp)
	}
	return a.ID > b.ID
}

// sameRankings runs the requests over each way to see the store: by another
// process, after a restart with and without the snapshot, and after a rebuild.
// want is what the store said that made the changes.
func (w *world) sameRankings(t rapid.TB, other *convmem.DB, requests []convmem.SearchRequest, want [][]exactHit) {
	t.Helper()
	compare := func(name string, db *convmem.DB) {
		t.Helper()
		if diff := cmp.Diff(want, rankings(t, db, requests)); diff != "" {
			t.Errorf("%s (-live +got):\n%s", name, diff)
		}
	}
	compare("another process", other)
	w.reopen()
	compare("after a restart", w.db)
	w.ok("close", w.db.Close())
	_ = w.fsys.(*vfs.Mem).Remove("convmem.snap") // there may be none
	w.open()
	compare("after a restart without a snapshot", w.db)
	w.rebuild()
	compare("after a rebuild", w.db)
	compare("another process after a rebuild", other)
	w.reopen()
	if !w.health().SnapshotValid {
		t.Errorf("a rebuild leaves no snapshot")
	}
	compare("after a restart with the snapshot of a rebuild", w.db)
}

// Whatever way a store came to hold its messages, the same query finds the same
// ones in the same order with the same scores, to the bit.
func TestSearchIsTheSameFromEverywhere(t *testing.T) {
	withoutRaceDetector(t)
	var queries, hits int
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, convmem.Options{})
		defer w.db.Close()
		other, err := convmem.Open(ctx, "", &convmem.Options{FS: w.fsys})
		w.ok("open", err)
		defer other.Close()
		var ids []string
		for range 2 { // the second time what is new stands behind a snapshot
			for range rapid.IntRange(1, 20).Draw(rt, "changes") {
				w.drawChange(rt, &ids)
			}
			requests := drawQueries(rt, 4)
			live := rankings(rt, w.db, requests)
			w.sameRankings(rt, other, requests, live)
			queries += len(live)
			hits += len(slices.Concat(live...))
		}
	})
	t.Logf("%d queries with %d hits", queries, hits)
}

// The same for a store that is large enough for Close to write a snapshot, of a
// life with updates and deletions and not of what a rebuild leaves.
func TestSearchAfterTheSnapshotOfClose(t *testing.T) {
	withoutRaceDetector(t)
	w := newWorld(t, convmem.Options{})
	random := rand.New(rand.NewPCG(4, 1))
	text := func(words int) string {
		var all []string
		for range words {
			all = append(all, vocabulary[random.IntN(len(vocabulary))], rareWord(random))
		}
		return strings.Join(all, " ")
	}
	var ids []string
	live := func(n int) {
		for i := range n {
			words := 1 + random.IntN(3)
			if i%10 == 0 {
				words = 600
			}
			ids = append(ids, w.say(fmt.Sprint(i%7), text(words), convmem.MetadataPatch{Summary: new(text(1))}).ID)
			if i%4 == 0 {
				w.update(convmem.UpdateRequest{MessageID: ids[len(ids)-1], Content: new(text(words))})
			}
			if i%9 == 8 {
				w.remove(ids[len(ids)-1-random.IntN(3)*3])
			}
		}
	}
	live(1100)
	w.reopen()
	if !w.health().SnapshotValid {
		t.Fatal("the store is too small for Close to write a snapshot")
	}
	live(100)
	var requests []convmem.SearchRequest
	for i := range 20 {
		requests = append(requests, convmem.SearchRequest{Query: text(1 + i%3), Limit: convmem.MaxSearchLimit})
	}
	other, err := convmem.Open(ctx, "", &convmem.Options{FS: w.fsys})
	w.ok("open", err)
	defer other.Close()
	w.sameRankings(t, other, requests, rankings(t, w.db, requests))
}

// A smaller limit gives the first hits of a larger one, and each list keeps to
// the order of hits.
func TestSearchLimits(t *testing.T) {
	withoutRaceDetector(t)
	ties := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, convmem.Options{})
		defer w.db.Close()
		for range rapid.IntRange(2, 40).Draw(rt, "messages") {
			w.drawWrite(rt)
		}
		for _, r := range drawQueries(rt, 5) {
			all := w.search(r).Hits
			checkHits(rt, r, all)
			for i := range all {
				if i > 0 && all[i].Score == all[i-1].Score {
					ties++
				}
			}
			for _, limit := range []int{1, 5, 20} {
				r.Limit = limit
				if diff := cmp.Diff(all[:min(limit, len(all))], w.search(r).Hits); diff != "" {
					rt.Errorf("%q, limit %d (-limit 100 +got):\n%s", r.Query, limit, diff)
				}
			}
		}
	})
	t.Logf("%d ties", ties)
}

// The same where far more messages match than a search returns.
func TestSearchLimitsOfALargeStore(t *testing.T) {
	withoutRaceDetector(t)
	w := newWorld(t, convmem.Options{})
	random := rand.New(rand.NewPCG(4, 3))
	animal := func() string { return animals[random.IntN(len(animals))] }
	for range 900 {
		text := strings.Repeat("reed ", random.IntN(6)) + animal() + " " + animal() + []string{"?", ".", " " + animal()}[random.IntN(3)]
		w.say(fmt.Sprint(random.IntN(4)), text, convmem.MetadataPatch{Importance: new(50 + random.IntN(2))})
	}
	for range 12 {
		r := convmem.SearchRequest{Query: animal() + " " + animal(), Limit: convmem.MaxSearchLimit}
		all := w.search(r).Hits
		checkHits(t, r, all)
		if len(all) != convmem.MaxSearchLimit {
			t.Fatalf("%d hits", len(all))
		}
		for _, limit := range []int{1, 2, 5, 10, 50, 99} {
			r.Limit = limit
			if diff := cmp.Diff(all[:limit], w.search(r).Hits); diff != "" {
				t.Errorf("%q, limit %d (-limit 100 +got):\n%s", r.Query, limit, diff)
			}
		}
	}
}

// animals are words that share nothing with each other.
var animals = []string{"otter", "badger", "heron", "lynx", "magpie", "viper", "walrus", "zebu"}

// A message is found when it holds a word of the query itself, and then in each
// field that does; neighbours add no hit and no field.
func TestSearchFindsByOwnWordsOnly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, convmem.Options{})
		defer w.db.Close()
		words := rapid.SliceOfN(rapid.SampledFrom(animals), 0, 3)
		query := rapid.SliceOfNDistinct(rapid.SampledFrom(animals), 1, 3, rapid.ID).Draw(rt, "query")
		want := map[string][]convmem.Field{}
		for i := range rapid.IntRange(2, 40).Draw(rt, "messages") {
			content, summary, tags := words.Draw(rt, "content"), words.Draw(rt, "summary"), words.Draw(rt, "tags")
			w.tick()
			result, err := w.db.Write(ctx, convmem.WriteRequest{
				SessionID: "s", Role: []convmem.Role{convmem.RoleUser, convmem.RoleAssistant}[i%2],
				Content:  "cave " + strings.Join(content, " ") + rapid.SampledFrom([]string{"?", "."}).Draw(rt, "end"),
				Metadata: convmem.MetadataPatch{Summary: new(strings.Join(summary, " ")), Tags: tags},
			})
			w.ok("write", err)
			for _, field := range []struct {
				name  convmem.Field
				words []string
			}{{convmem.FieldContent, content}, {convmem.FieldSummary, summary}, {convmem.FieldTags, tags}} {
				if slices.ContainsFunc(field.words, func(word string) bool { return slices.Contains(query, word) }) {
					want[result.Message.ID] = append(want[result.Message.ID], field.name)
				}
			}
		}
		got := map[string][]convmem.Field{}
		r := convmem.SearchRequest{Query: strings.Join(query, " "), Limit: convmem.MaxSearchLimit}
		hits := w.search(r).Hits
		checkHits(rt, r, hits)
		for _, hit := range hits {
			got[hit.ID] = hit.MatchedFields
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("fields by message (-want +got):\n%s", diff)
		}
	})
}
