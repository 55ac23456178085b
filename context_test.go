package convmem_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// graph is a world whose messages have one-letter names as contents.
type graph struct {
	*world
	ids map[string]string
}

// newGraph writes the messages named in order, one millisecond apart, and then
// gives each the relations that edges lists, as "a>b" with an optional type
// before it: "supersedes a>b". A name that order lacks is written and deleted.
func newGraph(t *testing.T, order string, edges ...string) graph {
	g := graph{newWorld(t, convmem.Options{}), map[string]string{}}
	for _, name := range strings.Split(order, "") {
		g.ids[name] = g.say("s", name, convmem.MetadataPatch{}).ID
	}
	relations := map[string][]convmem.Relation{}
	for _, text := range edges {
		kind, ends, typed := strings.Cut(text, " ")
		if !typed {
			kind, ends = "related_to", text
		}
		from, to, _ := strings.Cut(ends, ">")
		if _, ok := g.ids[to]; !ok {
			g.ids[to] = g.say("s", to, convmem.MetadataPatch{}).ID
			g.remove(g.ids[to])
		}
		relations[from] = append(relations[from], convmem.Relation{Type: convmem.RelationType(kind), MessageID: g.ids[to]})
	}
	for from, list := range relations {
		g.update(convmem.UpdateRequest{MessageID: g.ids[from], Metadata: &convmem.MetadataPatch{Relations: list}})
	}
	return g
}

// walk renders the relations of a context: "1>related_to b" is outgoing at depth
// 1, "2<supersedes c" incoming at depth 2, and a deleted message has its name in
// parentheses.
func (g graph) walk(r convmem.ContextRequest) []string {
	g.Helper()
	names := map[string]string{}
	for name, id := range g.ids {
		names[id] = name
	}
	var all []string
	for _, related := range g.context(r).Relations {
		arrow := map[convmem.Direction]string{convmem.Outgoing: ">", convmem.Incoming: "<"}[related.Direction]
		name := names[related.MessageID]
		switch {
		case related.Message == nil:
			name = "(" + name + ")"
		case related.Message.ID != related.MessageID || related.Message.Content != name:
			g.Errorf("%s stands for message %s with content %q", name, related.Message.ID, related.Message.Content)
		}
		all = append(all, fmt.Sprintf("%d%s%s %s", related.Depth, arrow, related.Type, name))
	}
	return all
}

func TestRelations(t *testing.T) {
	types := func(list ...convmem.RelationType) []convmem.RelationType { return list }
	for _, c := range []struct {
		name  string
		order string
		edges []string
		depth int
		types []convmem.RelationType
		want  []string
	}{
		{"none", "ab", nil, 2, nil, nil},
		{"depth 0", "ab", []string{"a>b"}, 0, nil, nil},
		{"both directions", "abc", []string{"a>b", "c>a"}, 1, nil, []string{"1>related_to b", "1<related_to c"}},
		{"depth 1 stops", "abc", []string{"a>b", "b>c"}, 1, nil, []string{"1>related_to b"}},
		{"depth 2 goes on", "abcd", []string{"a>b", "b>c", "c>d"}, 2, nil, []string{"1>related_to b", "2>related_to c"}},
		{"directions mix over hops", "abcd", []string{"a>b", "c>b", "d>c"}, 2, nil, []string{"1>related_to b", "2<related_to c"}},
		{"types in their order", "abcde", []string{"related_to a>b", "supersedes a>c", "derived_from a>d", "depends_on a>e"}, 1, nil,
			[]string{"1>depends_on e", "1>derived_from d", "1>supersedes c", "1>related_to b"}},
		{"ids in one type", "adcb", []string{"a>b", "a>c", "a>d"}, 1, nil, []string{"1>related_to d", "1>related_to c", "1>related_to b"}},
		{"outgoing before incoming, whatever the type", "abc", []string{"related_to a>b", "depends_on c>a"}, 1, nil,
			[]string{"1>related_to b", "1<depends_on c"}},
		{"a cycle never shows the start", "abc", []string{"a>b", "b>c", "c>a"}, 2, nil, []string{"1>related_to b", "1<related_to c"}},
		{"back and forth shows the outgoing edge", "ab", []string{"supersedes a>b", "depends_on b>a"}, 2, nil, []string{"1>supersedes b"}},
		{"several types show the first", "ab", []string{"related_to a>b", "derived_from a>b", "supersedes a>b"}, 1, nil, []string{"1>derived_from b"}},
		{"least depth", "abc", []string{"a>b", "a>c", "b>c"}, 2, nil, []string{"1>related_to b", "1>related_to c"}},
		{"two ways of one length show the first", "abcd", []string{"a>b", "a>c", "supersedes b>d", "depends_on c>d"}, 2, nil,
			[]string{"1>related_to b", "1>related_to c", "2>depends_on d"}},
		{"depth 2 sorts over all of depth 1", "abcde", []string{"depends_on a>b", "related_to a>c", "related_to b>d", "depends_on c>e"}, 2, nil,
			[]string{"1>depends_on b", "1>related_to c", "2>depends_on e", "2>related_to d"}},
		{"deleted target", "ab", []string{"a>x", "a>b"}, 2, nil, []string{"1>related_to b", "1>related_to (x)"}},
		{"nothing through a deleted message", "abc", []string{"a>x", "b>x", "a>c"}, 2, nil, []string{"1>related_to c", "1>related_to (x)"}},
		{"deleted at depth 2", "ab", []string{"a>b", "b>x"}, 2, nil, []string{"1>related_to b", "2>related_to (x)"}},
		{"type filter", "abcd", []string{"supersedes a>b", "related_to a>c", "supersedes d>a"}, 1, types(convmem.RelationSupersedes),
			[]string{"1>supersedes b", "1<supersedes d"}},
		{"type filter at every hop", "abcd", []string{"supersedes a>b", "related_to b>c", "supersedes b>d"}, 2, types(convmem.RelationSupersedes),
			[]string{"1>supersedes b", "2>supersedes d"}},
		{"filter hides the shorter way", "abc", []string{"related_to a>c", "supersedes a>b", "supersedes b>c"}, 2, types(convmem.RelationSupersedes),
			[]string{"1>supersedes b", "2>supersedes c"}},
		{"filter of two types", "abcd", []string{"related_to a>b", "supersedes a>c", "depends_on a>d"}, 1,
			types(convmem.RelationRelatedTo, convmem.RelationDependsOn), []string{"1>depends_on d", "1>related_to b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t, c.order, c.edges...)
			r := convmem.ContextRequest{MessageID: g.ids["a"], RelationDepth: &c.depth, RelationTypes: c.types}
			if diff := cmp.Diff(c.want, g.walk(r)); diff != "" {
				t.Errorf("relations (-want +got):\n%s", diff)
			}
			g.rebuild()
			g.reopen()
			if diff := cmp.Diff(c.want, g.walk(r)); diff != "" {
				t.Errorf("relations after a rebuild and a restart (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNeighbours(t *testing.T) {
	g := newGraph(t, "abcde")
	g.say("other", "x", convmem.MetadataPatch{})
	g.remove(g.ids["b"])
	for _, c := range []struct {
		of            string
		before, after *int
		want          string
	}{
		{"c", nil, nil, "a|d"},
		{"c", new(0), new(0), "|"},
		{"c", new(10), new(10), "a|de"},
		{"e", new(2), nil, "cd|"},
		{"a", nil, new(2), "|cd"},
	} {
		around := g.context(convmem.ContextRequest{MessageID: g.ids[c.of], Before: c.before, After: c.after})
		got := strings.Join(contents(around.Before), "") + "|" + strings.Join(contents(around.After), "")
		if got != c.want || around.Truncated || around.Session != (convmem.SessionRef{SessionID: "s", MessageCount: 4}) {
			t.Errorf("around %s: %s, want %s; truncated %t, session %+v", c.of, got, c.want, around.Truncated, around.Session)
		}
	}
	_, err := convmem.Context(ctx, g.db, convmem.ContextRequest{MessageID: g.ids["b"]})
	g.fails("a deleted message", err, convmem.CodeNotFound, g.ids["b"])
}

// TestContextOfFiftyMessages counts the message, its neighbours and deleted
// targets against the limit.
func TestContextOfFiftyMessages(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	hub := w.say("hub", "hub", convmem.MetadataPatch{}).ID
	next := w.say("hub", "next", convmem.MetadataPatch{}).ID
	gone := w.say("x", "gone", convmem.MetadataPatch{}).ID
	to := func(id string) convmem.MetadataPatch {
		return convmem.MetadataPatch{Relations: []convmem.Relation{{Type: convmem.RelationDependsOn, MessageID: id}}}
	}
	w.update(convmem.UpdateRequest{MessageID: hub, Metadata: new(to(gone))})
	w.remove(gone)
	for i := range 47 {
		w.say("spokes", fmt.Sprint(i), to(hub))
	}
	around := func(after, depth int) convmem.ContextResult {
		return w.context(convmem.ContextRequest{MessageID: hub, After: &after, RelationDepth: &depth})
	}
	if r := around(1, 1); len(r.Relations) != 48 || r.Truncated {
		t.Errorf("message, neighbour, 48 related ones: %d, truncated %t", len(r.Relations), r.Truncated)
	}
	if r := around(1, 2); len(r.Relations) != 48 || r.Truncated {
		t.Errorf("nothing beyond: %d, truncated %t", len(r.Relations), r.Truncated)
	}
	w.say("spokes", "one more", to(hub))
	r := around(1, 1)
	if len(r.Relations) != 48 || !r.Truncated || r.Relations[0].Message != nil || r.Relations[47].Message.Content != "46" {
		t.Errorf("one too many: %d, truncated %t", len(r.Relations), r.Truncated)
	}
	if r := around(0, 1); len(r.Relations) != 49 || r.Truncated {
		t.Errorf("without the neighbour: %d, truncated %t", len(r.Relations), r.Truncated)
	}
	w.update(convmem.UpdateRequest{MessageID: next, Metadata: new(to(hub))})
	if r := around(0, 1); len(r.Relations) != 49 || !r.Truncated {
		t.Errorf("one too many without the neighbour: %d, truncated %t", len(r.Relations), r.Truncated)
	}
}

// TestContextTruncatedBeyondDepth1 is full at depth 1 and has something left at
// depth 2 alone.
func TestContextTruncatedBeyondDepth1(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	far := w.say("far", "far", convmem.MetadataPatch{}).ID
	hub := w.say("hub", "hub", convmem.MetadataPatch{}).ID
	for i := range 49 {
		relations := []convmem.Relation{{Type: convmem.RelationDependsOn, MessageID: hub}}
		if i == 0 {
			relations = append(relations, convmem.Relation{Type: convmem.RelationDependsOn, MessageID: far})
		}
		w.say("spokes", fmt.Sprint(i), convmem.MetadataPatch{Relations: relations})
	}
	for depth, truncated := range []bool{false, false, true} {
		r := w.context(convmem.ContextRequest{MessageID: hub, RelationDepth: &depth})
		if r.Truncated != truncated || len(r.Relations) != min(49, depth*49) {
			t.Errorf("depth %d: %d related, truncated %t", depth, len(r.Relations), r.Truncated)
		}
	}
}

func TestSupersededBy(t *testing.T) {
	g := newGraph(t, "abcd", "supersedes b>a", "supersedes d>a", "related_to c>a")
	hit := func() convmem.Hit {
		hits := g.search(convmem.SearchRequest{Query: "a"}).Hits
		at := slices.IndexFunc(hits, func(h convmem.Hit) bool { return h.Content == "a" })
		if at < 0 {
			t.Fatalf("not found among %d hits", len(hits))
		}
		return hits[at]
	}
	if diff := cmp.Diff([]string{g.ids["b"], g.ids["d"]}, hit().SupersededBy); diff != "" || hit().RelationCount != 3 {
		t.Errorf("superseded by (-want +got):\n%s%d relations", diff, hit().RelationCount)
	}
	g.remove(g.ids["b"])
	if diff := cmp.Diff([]string{g.ids["d"]}, hit().SupersededBy); diff != "" || hit().RelationCount != 2 {
		t.Errorf("after a deletion (-want +got):\n%s%d relations", diff, hit().RelationCount)
	}
}
