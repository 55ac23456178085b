package index

import (
	"slices"
	"testing"
)

// Each part of a filter alone: what it lets pass, up to its very bounds.
func TestFilterPasses(t *testing.T) {
	ix := New(Standard())
	docs := []Doc{
		{Session: "a", Kind: "x", Tier: "x", Role: "x", Importance: 1, Time: 10, Tags: []string{"one", "two"}},
		{Session: "b", Kind: "y", Tier: "x", Role: "x", Importance: 2, Time: 20, Tags: []string{"one"}},
		{Session: "b", Kind: "y", Tier: "y", Role: "y", Importance: 3, Time: 30, Tags: []string{"two", "three"}},
		{Session: "a", Kind: "z", Tier: "z", Role: "z", Importance: 3, Time: -5},
	}
	for i, d := range docs {
		d.ID = makeID(i+1, 0)
		ix.Put(uint64(i), d)
	}
	at := func(ms int64) *int64 { return &ms }
	for _, test := range []struct {
		name   string
		filter Filter
		want   []int
	}{
		{"nothing", Filter{}, []int{0, 1, 2, 3}},
		{"session", Filter{Session: "b"}, []int{1, 2}},
		{"first session", Filter{Session: "a"}, []int{0, 3}},
		{"unknown session", Filter{Session: "c"}, nil},
		{"kind", Filter{Kinds: []string{"y"}}, []int{1, 2}},
		{"kinds", Filter{Kinds: []string{"w", "x", "z"}}, []int{0, 3}},
		{"tier", Filter{Tiers: []string{"x"}}, []int{0, 1}},
		{"role", Filter{Roles: []string{"y"}}, []int{2}},
		{"tag", Filter{Tags: []string{"one"}}, []int{0, 1}},
		{"both tags", Filter{Tags: []string{"one", "two"}}, []int{0}},
		{"both tags, the other way round", Filter{Tags: []string{"two", "one"}}, []int{0}},
		{"last tag", Filter{Tags: []string{"three"}}, []int{2}},
		{"part of a tag", Filter{Tags: []string{"thr"}}, nil},
		{"importance", Filter{MinImportance: 2}, []int{1, 2, 3}},
		{"since", Filter{Since: at(20)}, []int{1, 2}},
		{"until", Filter{Until: at(20)}, []int{0, 1, 3}},
		{"one moment", Filter{Since: at(20), Until: at(20)}, []int{1}},
		{"before 1970", Filter{Until: at(-1)}, []int{3}},
		{"at zero", Filter{Since: at(0)}, []int{0, 1, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := ix.View(nil, test.filter)
			var got []int
			for i := range docs {
				if v.Passes(uint32(i)) {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v pass, want %v", got, test.want)
			}
			if all := len(test.want) == len(docs); v.Filtered() == all {
				t.Errorf("filtered %v", v.Filtered())
			}
		})
	}
}
