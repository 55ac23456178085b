package search_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

var nearly = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })

// Scores worked out by hand from the formula, of messages that nothing in the
// second stage changes.
func TestOwnScores(t *testing.T) {
	ix := build(
		index.Doc{Content: "big red old fox", Tags: []string{"fox"}},
		index.Doc{Content: "dog red dog red", Summary: "fox"},
		index.Doc{Content: "big blue bird"},
	)
	// There are 3 messages; two hold red, two fox and one blue. The average
	// content has 11/3 terms, the average summary 1.
	average := 11.0 / 3
	c1 := 1 / (0.8 + 0.2*4/average) // one of four words
	c2 := 2 / (0.8 + 0.2*4/average) // two of four
	c3 := 1 / (0.8 + 0.2*3/average)
	fox, blue := math.Log(1+1.5/2.5), math.Log(1+2.5/1.5)
	foxShare, blueShare := fox/(fox+blue), blue/(fox+blue)
	twoTerms := []search.Hit{
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
	}
	tests := []struct {
		name, query string
		want        []search.Hit
	}{
		{"two terms over three fields", "Foxes red", twoTerms},
		{"a term counts once", "foxes red fox red Fox", twoTerms},
		{"unknown terms do not matter", "foxes elephant red sky", twoTerms},
		{"rare terms and coverage", "fox blue", []search.Hit{
			{
				ID:      makeID(3, 0),
				Content: blueShare * c3 / (1.2 + c3) * math.Pow(blueShare, 0.2),
				Matched: [3]bool{true, false, false},
			},
			{
				ID:      makeID(1, 0),
				Content: foxShare * c1 / (1.2 + c1 + 2) * math.Pow(foxShare, 0.2),
				Tags:    foxShare * 2 / (1.2 + c1 + 2) * math.Pow(foxShare, 0.2),
				Matched: [3]bool{true, false, true},
			},
			{
				ID:      makeID(2, 0),
				Summary: foxShare * 1 / (1.2 + 1) * math.Pow(foxShare, 0.2),
				Matched: [3]bool{false, true, false},
			},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := run(t, ix, search.Query{Text: test.query, Limit: 10})
			if diff := cmp.Diff(test.want, got, nearly); diff != "" {
				t.Error(diff)
			}
		})
	}
	// The same as numbers, worked out elsewhere.
	got := run(t, ix, search.Query{Text: "fox red", Limit: 10})
	for i, want := range []float64{0.5815738, 0.5376565} {
		if math.Abs(got[i].Score()-want) > 1e-6 {
			t.Errorf("hit %d scores %.7f, want %.7f", i, got[i].Score(), want)
		}
	}
}

func TestTies(t *testing.T) {
	same := func(ms, n, importance int) index.Doc {
		return index.Doc{ID: makeID(ms, n), Content: "two equal words", Importance: importance}
	}
	ix := build(same(1, 1, 50), same(3, 1, 50), same(2, 9, 50), same(1, 2, 60), same(3, 2, 50), same(9, 1, 0),
		index.Doc{ID: makeID(1, 7), Content: "two equal words equal"})
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

// More messages of one score than there are candidates: those that ties prefer
// are among them.
func TestTiesAmongManyCandidates(t *testing.T) {
	docs := times(250, "the same words")
	for i := range docs {
		docs[i].Importance = i % 5 // 50 of each
	}
	hits := run(t, build(docs...), search.Query{Text: "words", Limit: 250})
	var want []uint64
	for _, importance := range []int{4, 3} {
		for i := 249; i >= 0; i-- {
			if i%5 == importance {
				want = append(want, uint64(i+1))
			}
		}
	}
	if diff := cmp.Diff(want, found(hits)); diff != "" {
		t.Error(diff)
	}
}

func TestNoHits(t *testing.T) {
	ix := build(index.Doc{Content: "a fox"})
	tests := []struct {
		name string
		ix   *index.Index
		q    search.Query
	}{
		{"empty", ix, search.Query{Limit: 5}},
		{"no terms", ix, search.Query{Text: `" ... "`, Limit: 5}},
		{"unknown terms", ix, search.Query{Text: "elephant", Limit: 5}},
		{"no limit", ix, search.Query{Text: "fox"}},
		{"negative limit", ix, search.Query{Text: "fox", Limit: -1}},
		{"another session", ix, search.Query{Text: "fox", Limit: 5, Filter: index.Filter{Session: "other"}}},
		{"another kind", ix, search.Query{Text: "fox", Limit: 5, Filter: index.Filter{Kinds: []string{"other"}}}},
		{"empty index", index.New(index.Standard()), search.Query{Text: "fox", Limit: 5}},
		{"id of no message", ix, search.Query{Text: makeID(2, 0).String(), Limit: 5}},
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
		{"stop words beside others", "to be or not to be", "to be a fox", false},
		{"accents", "Crème brûlée", "creme BRULEE", true},
		{"hidden by a zero width space", "pass\u200Bword", "password", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hits := run(t, build(index.Doc{Content: test.content}, index.Doc{Content: "x fox"}), search.Query{Text: test.query, Limit: 5})
			if (scoreOf(hits, 1) > 0) != test.found {
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
	if got := found(run(t, ix, search.Query{Text: "project plan", Limit: 3})); got[0] != 2 || len(got) != 3 {
		t.Errorf("order %v", got)
	}
}

// A message that holds the query in a summary or a tag alone is a hit with no part
// of the score in the content.
func TestMatchesOutsideTheContent(t *testing.T) {
	ix := build(
		index.Doc{Content: "nothing here", Summary: "about a zebra"},
		index.Doc{Content: "nothing there", Tags: []string{"zebra"}},
		index.Doc{Content: "nothing anywhere", Summary: "a zebra", Tags: []string{"zebra crossing"}},
		index.Doc{Content: "one zebra"},
	)
	want := map[uint64][index.FieldCount]bool{
		1: {false, true, false}, 2: {false, false, true}, 3: {false, true, true}, 4: {true, false, false},
	}
	hits := run(t, ix, search.Query{Text: "zebra", Limit: 10})
	got := map[uint64][index.FieldCount]bool{}
	for _, h := range hits {
		got[h.ID.Time()] = h.Matched
		for f, part := range [...]float64{h.Content, h.Summary, h.Tags} {
			if (part > 0) != h.Matched[f] {
				t.Errorf("%v gives %v for field %d, matched: %v", h.ID.Time(), part, f, h.Matched)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLongQuery(t *testing.T) {
	ix := build(index.Doc{Content: "漢字の長い文章"}, index.Doc{Content: "other"})
	query := strings.Repeat("漢字長文章熟語", 4096/21)
	if diff := cmp.Diff([]uint64{1}, found(run(t, ix, search.Query{Text: query, Limit: 5}))); diff != "" {
		t.Error(diff)
	}
}

// Many messages span several pages, and none leaves a trace in the next.
func TestManyMessages(t *testing.T) {
	docs := times(10_240, "filler")
	var want []uint64
	for i := 10_239; i >= 0; i -= 1024 {
		docs[i].Content = "one needle"
		want = append(want, uint64(i+1))
	}
	hits := run(t, build(docs...), search.Query{Text: "needle", Limit: 20})
	if diff := cmp.Diff(want, found(hits)); diff != "" {
		t.Error(diff)
	}
	for _, h := range hits {
		if h.Content != hits[0].Content {
			t.Errorf("%v scores %v, %v scores %v", h.ID, h.Content, hits[0].ID, hits[0].Content)
		}
	}
}

// Many searches at once, each with what it finds alone.
func TestParallelSearches(t *testing.T) {
	ix := largeIndex(3000)
	q := search.Query{Text: word(1) + " " + word(30), Limit: 50}
	want := run(t, ix, q)
	if len(want) != 50 {
		t.Fatalf("%d hits", len(want))
	}
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
