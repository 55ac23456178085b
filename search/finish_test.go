package search_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/google/go-cmp/cmp"
)

const minute = 60 * 1000

// What the second stage is told of messages and query: the first message scores
// what the second does and what stands here.
func TestSecondStageIsTold(t *testing.T) {
	idf := func(n, df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }
	user := func(s, content string) index.Doc { return index.Doc{Session: s, Role: "user", Content: content} }
	helper := func(s, content string) index.Doc { return index.Doc{Session: s, Role: "helper", Content: content} }
	late := helper("a", "one fox")
	late.Time = 31 * minute
	tests := []struct {
		name, query string
		docs        []index.Doc
		want        func(plain float64) float64
	}{
		{"opening", "fox", []index.Doc{{Content: "fox one"}, {Content: "one fox"}},
			func(plain float64) float64 { return 1.3 * plain }},
		{"opening by a stop word", "the fox", []index.Doc{{Content: "the one fox"}, {Content: "a one fox"}},
			func(plain float64) float64 { return plain }},
		{"asking", "fox", []index.Doc{{Content: "one fox?"}, {Content: "one fox"}},
			func(plain float64) float64 { return 0.9 * plain }},
		{"rare pair", "red fox", []index.Doc{{Content: "one red fox"}, {Content: "one fox red"}, {Content: "x"}},
			func(plain float64) float64 { return plain + 0.1*min(2*idf(3, 2), idf(3, 1))/(2*idf(3, 2)) }},
		{"frequent pair", "red fox", append([]index.Doc{
			{Content: "one red fox"}, {Content: "one fox red"}, {Content: "x red fox x"},
		}, times(7, "x")...), func(plain float64) float64 { return plain + 0.1*min(2*idf(10, 3), idf(10, 2))/(2*idf(10, 3)) }},
		{"pair with a stop word", "fox of", []index.Doc{
			{Content: "one fox of x"}, {Content: "of one fox x"}, {Content: "of fox"}, {Content: "x"}, {Content: "x"},
		}, func(plain float64) float64 { return plain + 0.1*min(idf(5, 3)+idf(5, 3), idf(5, 1))/idf(5, 3) }},
		{"long silence", "fox", []index.Doc{user("a", "one fox"), helper("b", "one fox"), late},
			func(plain float64) float64 { return plain }},
		{"next one", "fox", []index.Doc{user("a", "one fox"), helper("b", "one fox"), helper("a", "one fox")},
			func(plain float64) float64 { return plain + 0.3*plain + 0.3*plain }},
		{"one role alone", "fox", []index.Doc{user("a", "one fox"), user("b", "one fox"), user("a", "one fox")},
			func(plain float64) float64 { return plain }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hits := run(t, build(test.docs...), search.Query{Text: test.query, Limit: 10})
			want := test.want(scoreOf(hits, 2))
			if got := scoreOf(hits, 1); math.Abs(got-want) > 1e-9 {
				t.Errorf("scores %v, want %v", got, want)
			}
		})
	}
}

// An answer gains by the question before it, and quotation marks by what is held.
func TestAnswersAndQuotations(t *testing.T) {
	ix := build(
		index.Doc{Session: "talk", Role: "user", Content: "where is this fox?"},
		index.Doc{Session: "talk", Role: "helper", Content: "that small fox slept"},
		index.Doc{Content: "that small fox slept"},
		index.Doc{Content: "one small red fox"},
	)
	hits := run(t, ix, search.Query{Text: "a fox", Limit: 10})
	plain := scoreOf(hits, 3)
	// The question and its answer have the own score of the others.
	if got, want := scoreOf(hits, 2), plain*(1+0.6+0.3); math.Abs(got-want) > 1e-9 {
		t.Errorf("the answer scores %v, want %v", got, want)
	}
	if got, want := scoreOf(hits, 1), plain*(1+0.3+0.3)*0.9; math.Abs(got-want) > 1e-9 {
		t.Errorf("the question scores %v, want %v", got, want)
	}
	bare := run(t, ix, search.Query{Text: "fox red", Limit: 10})
	quoting := run(t, ix, search.Query{Text: `fox 「red」 "blue"`, Limit: 10})
	if got := scoreOf(quoting, 4) - scoreOf(bare, 4); math.Abs(got-0.1) > 1e-9 {
		t.Errorf("one of two quotations adds %v", got)
	}
	if got := scoreOf(quoting, 3) - scoreOf(bare, 3); got != 0 {
		t.Errorf("no quotation adds %v", got)
	}
}

// A message that is not among the best is found when it stands beside one of
// them, and then only if it holds a term of the query and passes the filter.
func TestNeighboursOfTheBest(t *testing.T) {
	weak := "a fox among very many other words of no use at all in this place"
	docs := times(150, "one fox fox fox fox") // more than there are candidates
	docs = append(docs,
		index.Doc{Content: weak},                                            // 151: alone
		index.Doc{Session: "talk", Kind: "x", Content: weak},                // 152: three before
		index.Doc{Session: "talk", Kind: "x", Content: weak},                // 153: two before
		index.Doc{Session: "talk", Kind: "y", Content: weak},                // 154: filtered below
		index.Doc{Session: "talk", Kind: "x", Content: "x fox fox fox fox"}, // 155: one of the best
		index.Doc{Session: "talk", Kind: "x", Content: "nothing of it"},     // 156: no term
		index.Doc{Session: "talk", Kind: "x", Content: weak},                // 157: two behind
		index.Doc{Session: "talk", Kind: "x", Content: weak},                // 158: three behind
	)
	for i := range 150 {
		docs[i].Kind = "x"
	}
	ix := build(docs...)
	late := func(f index.Filter) []uint64 {
		times := slices.DeleteFunc(found(run(t, ix, search.Query{Text: "fox", Limit: 500, Filter: f})),
			func(ms uint64) bool { return ms <= 150 })
		slices.Sort(times)
		return times
	}
	if diff := cmp.Diff([]uint64{153, 154, 155, 157}, late(index.Filter{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]uint64{153, 155, 157}, late(index.Filter{Kinds: []string{"x"}})); diff != "" {
		t.Errorf("filtered: %s", diff)
	}
}

// Only the best thirty bring in what stands beside them.
func TestNeighboursOfTheBestThirty(t *testing.T) {
	var docs []index.Doc
	for i := range 120 {
		session := fmt.Sprint("talk ", i)
		docs = append(docs,
			index.Doc{Session: session, Importance: i, Content: "one fox fox fox fox"},
			index.Doc{Session: session, Content: "a fox among very many other words of no use at all"})
	}
	var got, want []uint64
	for _, h := range run(t, build(docs...), search.Query{Text: "fox", Limit: 500}) {
		if ms := h.ID.Time(); ms%2 == 0 { // the second of its talk
			got = append(got, ms)
		}
	}
	for i := 90; i < 120; i++ {
		want = append(want, uint64(2*i+2))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The second stage reads the beginning of a very long message only.
func TestReadTerms(t *testing.T) {
	for before, read := range map[int]bool{2046: true, 2047: false, 3000: false} {
		filler := strings.Repeat("word ", before)
		hits := run(t, build(index.Doc{Content: filler + "red fox"}, index.Doc{Content: filler + "fox red"}, index.Doc{Content: "x"}),
			search.Query{Text: "red fox", Limit: 5})
		if len(hits) != 2 || scoreOf(hits, 1) > scoreOf(hits, 2) != read {
			t.Errorf("behind %d terms the pair adds %v", before, scoreOf(hits, 1)-scoreOf(hits, 2))
		}
	}
}

// Copies of the query come first although more messages than there are candidates
// fit better by their words; what differs from it in one character does not.
func TestCopiesBeyondTheBest(t *testing.T) {
	text := "It was the fox, so that we all were there with them as they did it"
	docs := times(150, "one fox fox fox fox")
	docs = append(docs,
		index.Doc{Content: text}, index.Doc{Content: text + "."}, index.Doc{Content: "it" + text[2:]},
		index.Doc{Content: text, Importance: 7, Kind: "x"}, index.Doc{Content: "x", Summary: text},
	)
	ix := build(docs...)
	tests := []struct {
		name   string
		filter index.Filter
		want   []uint64
	}{
		{"all", index.Filter{}, []uint64{154, 151}},
		{"of a kind", index.Filter{Kinds: []string{"x"}}, []uint64{154}},
		{"of another kind", index.Filter{Kinds: []string{""}}, []uint64{151}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hits := run(t, ix, search.Query{Text: text, Limit: 500, Filter: test.filter})
			if diff := cmp.Diff(test.want, found(hits)[:len(test.want)]); diff != "" {
				t.Error(diff)
			}
			if len(hits) > len(test.want) && hits[len(test.want)].Score() >= hits[len(test.want)-1].Score() {
				t.Errorf("a copy scores %v, another message %v", hits[len(test.want)-1].Score(), hits[len(test.want)].Score())
			}
		})
	}
	ix.Delete(1000, makeID(154, 0))
	ix.Put(1001, index.Doc{ID: makeID(151, 0), Session: "session 151", Content: "other"})
	for _, h := range run(t, ix, search.Query{Text: text, Limit: 500}) {
		if ms := h.ID.Time(); ms == 151 || ms == 154 {
			t.Errorf("found %d, which has changed", ms)
		}
	}
}

// A copy that holds a scored term only in passing is as good as any: stop words
// alone, one word, a text of one repeated word, Chinese.
func TestCopiesOfAllKinds(t *testing.T) {
	for _, text := range []string{"to be or not to be", "fox", "fox fox fox", "今天讨论设计方案", "see /var/log/x.go:42 (again)?", "🎉"} {
		t.Run(text, func(t *testing.T) {
			docs := []index.Doc{{Content: text}}
			for i := range 150 {
				docs = append(docs, index.Doc{Content: fmt.Sprintf("%s %s %s", text, text, text), Tags: []string{text}, Importance: i})
			}
			hits := run(t, build(docs...), search.Query{Text: text, Limit: 5})
			if got := found(hits); len(got) != 5 || got[0] != 1 || hits[0].Score() <= hits[1].Score() {
				t.Errorf("found %v", got)
			}
		})
	}
}

// A copy is told from what has the same words by its length too, which is known
// exactly only up to a point.
func TestLongCopies(t *testing.T) {
	for _, n := range []int{253, 254, 255, 256, 257, 600} {
		text := strings.Repeat("fox ", n)
		ix := build(index.Doc{Content: text}, index.Doc{Content: text + "."}) // the newer one wins a tie
		hits := run(t, ix, search.Query{Text: text, Limit: 2})
		if got := found(hits); !slices.Equal(got, []uint64{1, 2}) || hits[0].Score() <= hits[1].Score() {
			t.Errorf("%d terms: found %v", n, got)
		}
	}
}

// Of more than 63 terms those of the greatest weight are scored: others find
// nothing, but a copy is found by all of them.
func TestManyTerms(t *testing.T) {
	letter := func(i int) string { return string(rune('b'+i/20)) + string(rune('c'+i%20)) + "q" }
	query := ""
	var docs []index.Doc
	for i := range 100 {
		query += letter(i) + " "
		// The first 40 words are in one message each, the next 23 in two, the
		// others in three.
		for range 1 + min(i/40, 1) + min(i/63, 1) {
			docs = append(docs, index.Doc{Content: "x " + letter(i), Importance: i})
		}
	}
	ix := build(docs...)
	scored := map[int]bool{}
	for _, h := range run(t, ix, search.Query{Text: query, Limit: 500}) {
		scored[docs[h.ID.Time()-1].Importance] = true
	}
	for i := range 100 {
		if scored[i] != (i < 63) {
			t.Errorf("word %d: found %v", i, scored[i])
		}
	}
	put(ix, index.Doc{Content: query})
	if got := found(run(t, ix, search.Query{Text: query, Limit: 1})); !slices.Equal(got, []uint64{uint64(len(docs) + 1)}) {
		t.Errorf("the copy is not first: %v", got)
	}
}

// Every limit gives the beginning of what a greater one gives.
func TestLimitsGivePrefixes(t *testing.T) {
	ix := largeIndex(2000)
	put(ix, index.Doc{Content: word(1) + " " + word(30)})
	q := search.Query{Text: word(1) + " " + word(30), Limit: 1000}
	all := run(t, ix, q)
	if len(all) < 100 {
		t.Fatalf("%d hits", len(all))
	}
	for _, limit := range []int{1, 2, 5, 20, 50, 99, 100, 101, len(all), 500} {
		q.Limit = limit
		if diff := cmp.Diff(all[:min(limit, len(all))], run(t, ix, q)); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
	}
}
