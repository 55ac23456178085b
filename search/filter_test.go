package search_test

import (
	"fmt"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/google/go-cmp/cmp"
)

// 500 better hits do not crowd out the one that passes, and the filter changes
// nothing but the selection.
func TestFiltersActBeforeLimit(t *testing.T) {
	docs := times(500, "one fox fox fox")
	for i := range docs {
		docs[i] = index.Doc{Content: docs[i].Content, Kind: "loud", Tier: "loud", Role: "loud", Time: 10, Tags: []string{"loud"}}
	}
	docs = append(docs, index.Doc{
		Session: "quiet", Kind: "quiet", Tier: "quiet", Role: "quiet", Importance: 9, Time: 20,
		Tags: []string{"quiet", "calm"}, Content: "a fox among many other words",
	})
	ix := build(docs...)
	fifteen, later := int64(15), int64(20)
	all := run(t, ix, search.Query{Text: "fox", Limit: 1000, Filter: index.Filter{Kinds: []string{"loud", "quiet"}}})
	if scoreOf(all, 501) != 0 {
		t.Fatal("the quiet one is among the best of all")
	}
	tests := []struct {
		name   string
		filter index.Filter
	}{
		{"session", index.Filter{Session: "quiet"}},
		{"kind", index.Filter{Kinds: []string{"none", "quiet"}}},
		{"tier", index.Filter{Tiers: []string{"quiet", "none"}}},
		{"role", index.Filter{Roles: []string{"quiet"}}},
		{"tag", index.Filter{Tags: []string{"quiet"}}},
		{"tags", index.Filter{Tags: []string{"calm", "quiet"}}},
		{"importance", index.Filter{MinImportance: 9}},
		{"since", index.Filter{Since: &fifteen}},
		{"since and until", index.Filter{Since: &later, Until: &later}},
		{"all of them", index.Filter{
			Session: "quiet", Kinds: []string{"quiet"}, Tiers: []string{"quiet"}, Roles: []string{"quiet"},
			Tags: []string{"quiet"}, MinImportance: 1, Since: &fifteen, Until: &later,
		}},
	}
	var first []search.Hit
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hits := run(t, ix, search.Query{Text: "fox", Limit: 1, Filter: test.filter})
			if diff := cmp.Diff([]uint64{501}, found(hits)); diff != "" {
				t.Fatal(diff)
			}
			if first == nil {
				first = hits
			}
			if diff := cmp.Diff(first, hits); diff != "" {
				t.Errorf("another filter gives another score: %s", diff)
			}
		})
	}
	loud := run(t, ix, search.Query{Text: "fox", Limit: 1000, Filter: index.Filter{Until: &fifteen}})
	if diff := cmp.Diff(found(all), found(loud)); diff != "" {
		t.Errorf("until: %s", diff)
	}
}

// A small session of a large index is looked at message by message, and finds bit
// for bit what a filter finds that selects the same messages in another way.
func TestSmallSessionIsLikeAnyFilter(t *testing.T) {
	ix := largeIndex(4000)
	for i := range 30 { // a talk with some of the words, in all fields
		ix.Put(uint64(5000+i), index.Doc{
			ID: makeID(5000+i, 0), Session: "small", Kind: "small", Role: fmt.Sprint(i % 2),
			Content: fmt.Sprintf("%s x%d %s", word(uint64(i%5)), i, []string{word(1), word(2) + "?"}[i%2]),
			Summary: word(uint64(i)), Tags: []string{word(3), word(1) + " " + word(2)},
		})
	}
	for _, text := range []string{word(1), word(1) + " " + word(2), word(1) + " " + word(2) + " x7", "the " + word(3)} {
		one := search.Query{Text: text, Filter: index.Filter{Session: "small"}, Limit: 100}
		another := search.Query{Text: text, Filter: index.Filter{Kinds: []string{"small"}}, Limit: 100}
		if ix.View([]string{word(1), word(2)}, one.Filter).Few() == nil || ix.View([]string{word(1)}, another.Filter).Few() != nil {
			t.Fatal("the session is not the small one")
		}
		few := run(t, ix, one)
		if diff := cmp.Diff(run(t, ix, another), few); diff != "" || len(few) == 0 {
			t.Errorf("%q: %d hits: %s", text, len(few), diff)
		}
	}
}
