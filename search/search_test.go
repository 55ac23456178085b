package search_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

func makeID(ms, n int) ulid.ULID {
	var id ulid.ULID
	if err := id.SetTime(uint64(ms)); err != nil {
		panic(err)
	}
	id[14], id[15] = byte(n>>8), byte(n)
	return id
}

// build fills an index with documents that get the ids 1, 2, 3, ...
func build(docs ...index.Doc) *index.Index {
	ix := index.New()
	for i, d := range docs {
		if d.ID.IsZero() {
			d.ID = makeID(i+1, 0)
		}
		if d.Session == "" {
			d.Session = "s"
		}
		ix.Put(uint64(i+1), d)
	}
	return ix
}

func run(t testing.TB, ix *index.Index, q search.Query) []search.Hit {
	t.Helper()
	hits, err := search.Run(t.Context(), ix, q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

// found returns the times of the hits, which name them in these tests.
func found(hits []search.Hit) []uint64 {
	times := []uint64{}
	for _, h := range hits {
		times = append(times, h.ID.Time())
	}
	return times
}

// Scores worked out by hand from the formula.
func TestScores(t *testing.T) {
	ix := build(
		index.Doc{Content: "red fox", Tags: []string{"fox"}},
		index.Doc{Content: "red dog red", Summary: "fox"},
		index.Doc{Content: "blue bird"},
	)
	// N 3; red and fox are in two messages each; the average content has 7/3
	// terms, the average summary 1. Both terms weigh the same, so their idf
	// cancels out.
	c1 := 1 / (0.8 + 0.2*2/(7.0/3)) // one of two words
	c2 := 2 / (0.8 + 0.2*3/(7.0/3)) // two of three
	tests := []struct {
		name, query string
		want        []search.Hit
	}{
		{"two terms over three fields", "Red foxes", []search.Hit{
			{
				ID:      makeID(1, 0),
				Content: c1/(1.2+c1)/2 + c1/(1.2+c1+2)/2,
				Tags:    2 / (1.2 + c1 + 2) / 2,
				Matched: [3]bool{true, false, true},
			},
			{
				ID:      makeID(2, 0),
				Content: c2 / (1.2 + c2) / 2,
				Summary: 1 / (1.2 + 1) / 2,
				Matched: [3]bool{true, true, false},
			},
		}},
		{"unknown terms do not matter", "blue elephant", []search.Hit{
			{ID: makeID(3, 0), Content: c1 / (1.2 + c1), Matched: [3]bool{true, false, false}},
		}},
	}
	close := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := run(t, ix, search.Query{Text: test.query, Limit: 10})
			if diff := cmp.Diff(test.want, got, close); diff != "" {
				t.Error(diff)
			}
		})
	}
	// The same as numbers, worked out elsewhere.
	got := run(t, ix, search.Query{Text: "red fox", Limit: 10})
	for i, want := range []float64{0.5890070, 0.5332168} {
		if math.Abs(got[i].Score()-want) > 1e-6 {
			t.Errorf("hit %d scores %.7f, want %.7f", i, got[i].Score(), want)
		}
	}
}

// A rare word counts more than a frequent one: idf in numbers.
func TestRareWordsCountMore(t *testing.T) {
	ix := build(
		index.Doc{Content: "common rare"}, index.Doc{Content: "common x"}, index.Doc{Content: "common y"},
	)
	rare, common := math.Log(1+2.5/1.5), math.Log(1+0.5/3.5)
	got := run(t, ix, search.Query{Text: "common rare", Limit: 2})
	if ratio := got[1].Score() / got[0].Score(); math.Abs(ratio-common/(common+rare)) > 1e-12 {
		t.Errorf("the scores are as 1 to %v", ratio)
	}
}

func TestTies(t *testing.T) {
	same := func(ms, n, importance int) index.Doc {
		return index.Doc{ID: makeID(ms, n), Content: "equal words", Importance: importance}
	}
	ix := build(same(1, 1, 50), same(3, 1, 50), same(2, 9, 50), same(1, 2, 60), same(3, 2, 50), same(9, 1, 0),
		index.Doc{ID: makeID(1, 7), Content: "equal words equal"})
	var got []ulid.ULID
	for _, h := range run(t, ix, search.Query{Text: "equal", Limit: 10}) {
		got = append(got, h.ID)
	}
	want := []ulid.ULID{
		makeID(1, 7),                             // the better score
		makeID(1, 2),                             // then importance
		makeID(3, 2), makeID(3, 1), makeID(2, 9), // then the newer one
		makeID(1, 1), makeID(9, 1),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFiltersActBeforeLimit(t *testing.T) {
	var docs []index.Doc
	for range 50 {
		docs = append(docs, index.Doc{Session: "loud", Content: "fox fox fox"})
	}
	docs = append(docs, index.Doc{Session: "quiet", Content: "a fox among many other words"})
	ix := build(docs...)
	unfiltered := run(t, ix, search.Query{Text: "fox", Limit: 100})
	got := run(t, ix, search.Query{Text: "fox", Limit: 1, Filter: index.Filter{Session: "quiet"}})
	if diff := cmp.Diff(unfiltered[50:], got); diff != "" {
		t.Errorf("the filter changed more than the selection: %s", diff)
	}
}

func TestNoHits(t *testing.T) {
	ix := build(index.Doc{Content: "a fox"})
	tests := []struct {
		name string
		ix   *index.Index
		q    search.Query
	}{
		{"no terms", ix, search.Query{Text: `" ... "`, Limit: 5}},
		{"unknown terms", ix, search.Query{Text: "elephant", Limit: 5}},
		{"no limit", ix, search.Query{Text: "fox"}},
		{"negative limit", ix, search.Query{Text: "fox", Limit: -1}},
		{"filtered", ix, search.Query{Text: "fox", Limit: 5, Filter: index.Filter{Session: "other"}}},
		{"empty index", index.New(), search.Query{Text: "fox", Limit: 5}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := run(t, test.ix, test.q); len(got) != 0 {
				t.Errorf("found %v", got)
			}
		})
	}
}

// What people look for, in several languages, through the whole of it.
func TestFinds(t *testing.T) {
	tests := []struct {
		name, content, query string
		found                bool
	}{
		{"inflection", "we were deploying it", "deployed", true},
		{"part of an identifier", "got E_CONN_RESET", "conn reset", true},
		{"identifier by its parts", "call readMessages", "read messages", true},
		{"Latin word inside Chinese", "重跑gen-itgc後", "itgc", true},
		{"Chinese of two characters", "今天讨论设计方案", "设计", true},
		{"one Chinese character", "我喜歡喝茶", "茶", true},
		{"hiragana only", "みんなでしりとりをした", "しりとり", true},
		{"half width katakana", "データベースの設計", "ﾃﾞｰﾀﾍﾞｰｽ", true},
		{"another kana letter", "パリに行く", "バリ", false},
		{"katakana for hiragana", "ねこがいる", "ネコ", false},
		{"Korean stem", "데이터베이스를 만들었다", "데이터베이스", true},
		{"Thai word", "ฉันชอบกาแฟดำ", "กาแฟ", true},
		{"emoji", "done 🎉", "🎉", true},
		{"C++ is not C", "written in C", "C++", false},
		{"C++", "written in C++", "C++", true},
		{"operators are text", "AND", `"AND" OR (*`, true},
		{"only stop words", "to be or not to be", "to be", true},
		{"accents", "Crème brûlée", "creme BRULEE", true},
		{"hidden by a zero width space", "pass\u200Bword", "password", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hits := run(t, build(index.Doc{Content: test.content}), search.Query{Text: test.query, Limit: 1})
			if (len(hits) > 0) != test.found {
				t.Errorf("%q in %q: %v", test.query, test.content, hits)
			}
		})
	}
}

func TestExactTagIsBest(t *testing.T) {
	ix := build(
		index.Doc{Content: "x", Tags: []string{"project", "plan b"}},
		index.Doc{Content: "x", Tags: []string{"Project  Plan"}},
		index.Doc{Content: "x", Tags: []string{"plan", "project"}},
	)
	hits := run(t, ix, search.Query{Text: "project plan", Limit: 3})
	if got := found(hits); got[0] != 2 {
		t.Errorf("order %v", got)
	}
}

func TestLongQuery(t *testing.T) {
	ix := build(index.Doc{Content: "漢字の長い文章"}, index.Doc{Content: "other"})
	query := strings.Repeat("漢字長文章熟語", 4096/21)
	if got := found(run(t, ix, search.Query{Text: query, Limit: 5})); !slices.Equal(got, []uint64{1}) {
		t.Errorf("found %v", got)
	}
}

func TestRunLooksAtContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ix := build(index.Doc{Content: "fox"})
	for _, q := range []search.Query{{Text: "fox", Limit: 5}, {Text: "fox"}, {Text: "unknown", Limit: 5}} {
		if hits, err := search.Run(ctx, ix, q); !errors.Is(err, context.Canceled) || hits != nil {
			t.Errorf("%+v: %v, %v", q, hits, err)
		}
	}
}

// Many messages span several windows, and none leaves a trace in the next.
func TestManyMessages(t *testing.T) {
	ix := needles(10_240)
	hits := run(t, ix, search.Query{Text: "needle", Limit: 20})
	if diff := cmp.Diff([]uint64{10240, 9216, 8192, 7168, 6144, 5120, 4096, 3072, 2048, 1024}, found(hits)); diff != "" {
		t.Error(diff)
	}
	for _, h := range hits {
		if h.Content != hits[0].Content {
			t.Errorf("%v scores %v, %v scores %v", h.ID, h.Content, hits[0].ID, hits[0].Content)
		}
	}
}

// needles builds n messages of which every 1024th says "needle".
func needles(n int) *index.Index {
	docs := make([]index.Doc, n)
	for i := range docs {
		docs[i].Content = "filler"
		if i%1024 == 1023 {
			docs[i].Content = "needle"
		}
	}
	return build(docs...)
}

// ending is a context that ends after it was looked at a few times.
type ending struct {
	context.Context
	looks, last int
}

func (c *ending) Err() error {
	c.looks++
	if c.looks > c.last {
		return context.DeadlineExceeded
	}
	return nil
}

func TestRunStopsEarly(t *testing.T) {
	ctx := &ending{Context: t.Context(), last: 2}
	hits, err := search.Run(ctx, needles(40_000), search.Query{Text: "filler", Limit: 5})
	if !errors.Is(err, context.DeadlineExceeded) || hits != nil {
		t.Errorf("%v, %v", hits, err)
	}
	if ctx.looks > 4 {
		t.Errorf("went on after the end: %d looks", ctx.looks)
	}
}

// After any puts, replacements and deletions, search finds bit for bit what
// scoring every message afresh finds, and so does an index that was filled
// with the live messages alone; a smaller limit finds the beginning of it.
func TestSearchMatchesNaive(t *testing.T) {
	searches, hits, ties := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ix, live := index.New(), corpus{}
		for seq := range uint64(rapid.IntRange(10, 80).Draw(t, "operations")) {
			change(t, ix, live, seq)
		}
		fresh := index.New()
		for id, d := range live { // in any order
			fresh.Put(1, d)
			if !fresh.Contains(id) {
				t.Fatal("not there")
			}
		}
		for range 3 {
			q := drawQuery(t)
			got := runRapid(t, ix, q)
			compareNaive(t, live.naive(q), got)
			if diff := cmp.Diff(got, runRapid(t, fresh, q)); diff != "" {
				t.Fatalf("a fresh index differs: %s", diff)
			}
			fewer := q
			fewer.Limit = rapid.IntRange(0, q.Limit).Draw(t, "fewer")
			if diff := cmp.Diff(append([]search.Hit{}, got[:min(fewer.Limit, len(got))]...), append([]search.Hit{}, runRapid(t, ix, fewer)...)); diff != "" {
				t.Fatalf("limit %d of %d: %s", fewer.Limit, q.Limit, diff)
			}
			searches++
			hits += len(got)
			for i := 1; i < len(got); i++ {
				if got[i].Score() == got[i-1].Score() {
					ties++
				}
			}
		}
	})
	t.Logf("%d searches, %d hits, %d ties", searches, hits, ties)
	if hits == 0 || ties == 0 {
		t.Error("nothing was compared")
	}
}

func change(t *rapid.T, ix *index.Index, live corpus, seq uint64) {
	id := makeID(rapid.IntRange(1, 5).Draw(t, "ms"), rapid.IntRange(0, 3).Draw(t, "n"))
	if rapid.IntRange(0, 3).Draw(t, "operation") == 0 {
		ix.Delete(seq, id)
		delete(live, id)
		return
	}
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"fox", "foxes", "dog", "東京", "go-sdk", "sdk", "the", "...", "🎉"}), 0, 6)
	d := index.Doc{
		ID:         id,
		Session:    rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session"),
		Kind:       rapid.SampledFrom([]string{"episode", "summary"}).Draw(t, "kind"),
		Importance: rapid.IntRange(0, 2).Draw(t, "importance"),
		Content:    strings.Join(words.Draw(t, "content"), " "),
		Tags:       rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"fox", "fox dog", "go-sdk", "東京 x"}), 0, 3, rapid.ID).Draw(t, "tags"),
	}
	if rapid.Bool().Draw(t, "summarised") {
		d.Summary = strings.Join(words.Draw(t, "summary"), " ")
	}
	if before, ok := live[id]; ok {
		d.Session = before.Session
	}
	ix.Put(seq, d)
	live[id] = d
}

func drawQuery(t *rapid.T) search.Query {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"fox", "dog", "東京", "sdk", "go-sdk", "the", "!", "🎉", "unknown"}), 0, 4)
	f := index.Filter{
		Session:       rapid.SampledFrom([]string{"", "", "a"}).Draw(t, "session"),
		MinImportance: rapid.IntRange(0, 1).Draw(t, "importance"),
	}
	if rapid.Bool().Draw(t, "filtered") {
		f.Kinds = []string{"episode"}
		f.Tags = rapid.SliceOfN(rapid.Just("fox"), 0, 1).Draw(t, "tags")
	}
	return search.Query{Text: strings.Join(words.Draw(t, "query"), " "), Filter: f, Limit: rapid.IntRange(1, 30).Draw(t, "limit")}
}

func runRapid(t *rapid.T, ix *index.Index, q search.Query) []search.Hit {
	hits, err := search.Run(context.Background(), ix, q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func compareNaive(t *rapid.T, want []scored, got []search.Hit) {
	var hits []search.Hit
	for _, s := range want {
		hits = append(hits, search.Hit{
			ID: s.id, Content: s.parts[0], Summary: s.parts[1], Tags: s.parts[2],
			Matched: [3]bool{s.parts[0] > 0, s.parts[1] > 0, s.parts[2] > 0},
		})
	}
	if diff := cmp.Diff(append([]search.Hit{}, hits...), append([]search.Hit{}, got...)); diff != "" {
		t.Fatalf("naive search differs: %s", diff)
	}
	for _, h := range got {
		if h.Score() != (h.Content+h.Summary)+h.Tags || h.Score() <= 0 || h.Score() > 1+1e-9 {
			t.Fatalf("score %v of %+v", h.Score(), h)
		}
	}
}

// Many searches at once, each with what it finds alone.
func TestParallelSearches(t *testing.T) {
	ix := largeIndex(5000)
	q := search.Query{Text: word(1) + " " + word(30), Limit: 50}
	want := run(t, ix, q)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := search.Run(context.Background(), ix, q)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
	wg.Wait()
}
