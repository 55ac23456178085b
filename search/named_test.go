package search_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/google/go-cmp/cmp"
)

// The message whose id the query is comes first, whatever else holds the id.
func TestMessageID(t *testing.T) {
	id := makeID(1, 0).String()
	named := index.Doc{Kind: "named", Content: "a fox"}
	selfish := index.Doc{Kind: "named", Content: "I am " + id, Tags: []string{id}, Summary: id}
	ix := build(named, index.Doc{Content: id}, index.Doc{Content: "see " + id, Tags: []string{id}}, index.Doc{Content: "a fox"})
	other := build(selfish, index.Doc{Content: id}, index.Doc{Content: "see " + id, Tags: []string{id}})
	alone := build(named)
	tests := []struct {
		name, query string
		ix          *index.Index
		filter      index.Filter
		named       bool
		want        []uint64 // without the named one
	}{
		{"as it is", id, ix, index.Filter{}, true, []uint64{2, 3}},
		{"in lower case", strings.ToLower(id), ix, index.Filter{}, true, []uint64{2, 3}},
		{"between spaces", " \t" + id + "\n", ix, index.Filter{}, true, []uint64{2, 3}},
		{"holds itself", id, other, index.Filter{}, true, []uint64{2, 3}},
		{"alone", id, alone, index.Filter{}, true, []uint64{}},
		{"passes the filter", id, ix, index.Filter{Kinds: []string{"named"}}, true, []uint64{}},
		{"filtered out", id, ix, index.Filter{Kinds: []string{""}}, false, []uint64{2, 3}},
		{"session that is not there", id, ix, index.Filter{Session: "none"}, false, []uint64{}},
		{"together with words", id + " fox", ix, index.Filter{}, false, []uint64{1, 2, 3, 4}},
		{"in quotation marks", `"` + id + `"`, ix, index.Filter{}, false, []uint64{2, 3}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := found(run(t, test.ix, search.Query{Text: test.query, Filter: test.filter, Limit: 10}))
			if test.named {
				if len(got) == 0 || got[0] != 1 {
					t.Fatalf("the message is not first: %v", got)
				}
				got = got[1:]
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := found(run(t, ix, search.Query{Text: id + " fox", Limit: 1})); got[0] == 1 {
		t.Error("an id among words names a message")
	}
}

// The score of the message that is named is above all others and at least 1, and
// its parts are those of the fields that match; without any it is the content's.
func TestMessageIDScore(t *testing.T) {
	id := makeID(1, 0).String()
	rival := index.Doc{Content: id, Tags: []string{id}, Summary: id}
	tests := []struct {
		name string
		docs []index.Doc
		want [index.FieldCount]bool
	}{
		{"no match", []index.Doc{{Content: "a fox"}}, [index.FieldCount]bool{true, false, false}},
		{"no match, with rivals", []index.Doc{{Content: "a fox"}, rival, rival}, [index.FieldCount]bool{true, false, false}},
		{"empty message", []index.Doc{{}, rival}, [index.FieldCount]bool{true, false, false}},
		{"matches in all fields", []index.Doc{{Content: "I am " + id, Summary: "so " + id, Tags: []string{id, "x"}}, rival},
			[index.FieldCount]bool{true, true, true}},
		{"matches in a tag", []index.Doc{{Content: "a fox", Tags: []string{id}}, rival}, [index.FieldCount]bool{false, false, true}},
		{"is a copy", []index.Doc{{Content: id}, rival, rival}, [index.FieldCount]bool{true, false, false}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hits := run(t, build(test.docs...), search.Query{Text: id, Limit: 10})
			if len(hits) != len(test.docs) || hits[0].ID != makeID(1, 0) {
				t.Fatalf("found %v", found(hits))
			}
			first := hits[0]
			if diff := cmp.Diff(test.want, first.Matched); diff != "" {
				t.Error(diff)
			}
			for f, part := range [...]float64{first.Content, first.Summary, first.Tags} {
				if (part > 0) != first.Matched[f] {
					t.Errorf("field %d adds %v, matched: %v", f, part, first.Matched)
				}
			}
			if first.Score() < 1 || math.IsInf(first.Score(), 0) {
				t.Errorf("scores %v", first.Score())
			}
			if len(hits) > 1 && first.Score() <= hits[1].Score() {
				t.Errorf("scores %v, the next %v", first.Score(), hits[1].Score())
			}
		})
	}
}

// A message that was named is gone after it was deleted, and takes no place of
// its limit.
func TestMessageIDOfADeletedMessage(t *testing.T) {
	id := makeID(1, 0).String()
	ix := build(index.Doc{Content: "a fox"}, index.Doc{Content: "see " + id})
	for _, limit := range []int{1, 2} {
		got := found(run(t, ix, search.Query{Text: id, Limit: limit}))
		if diff := cmp.Diff([]uint64{1, 2}[:limit], got); diff != "" {
			t.Error(diff)
		}
	}
	ix.Delete(9, makeID(1, 0))
	if diff := cmp.Diff([]uint64{2}, found(run(t, ix, search.Query{Text: id, Limit: 1}))); diff != "" {
		t.Error(diff)
	}
}

// mute is an analyzer that finds no terms.
type mute struct{ index.Analyzer }

func (mute) Name() string                      { return "mute" }
func (mute) Analyze(string, func(string, int)) {}

// A message is found by its id where the id has no terms.
func TestMessageIDWithoutTerms(t *testing.T) {
	ix := index.New(mute{index.Standard()})
	put(ix, index.Doc{Content: "a fox"}, index.Doc{Content: "another"})
	hits := run(t, ix, search.Query{Text: makeID(2, 0).String(), Limit: 5})
	if diff := cmp.Diff([]uint64{2}, found(hits)); diff != "" || hits[0].Score() < 1 {
		t.Errorf("%s %v", diff, hits)
	}
}
