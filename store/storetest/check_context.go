package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/convmem"
)

func contextChecks() []check {
	return []check{
		{"context/neighbours", checkNeighbours},
		{"context/neighbours live in the same session", checkNeighboursLive},
		{"context/not found", checkContextNotFound},
		{"context/relations", checkRelationWalk},
		{"context/related messages are whole", checkRelatedMessages},
		{"context/relations of updated and deleted messages", checkRelationsFollowChanges},
		{"context/at most 50 messages", checkContextCap},
		{"context/size of a response", checkContextBytes},
	}
}

// checkNeighbours asks at both ends of a session and in the middle, with and
// without numbers.
func checkNeighbours(k *kit) {
	l := k.open()
	written := l.sayAll("s", numbered(30)...)
	for _, at := range []int{0, 1, 9, 10, 15, 28, 29} {
		for _, c := range []struct{ before, after *int }{
			{nil, nil}, {new(0), new(0)}, {new(1), new(0)}, {new(0), new(1)}, {new(3), new(2)}, {new(10), new(10)}, {nil, new(5)}, {new(5), nil},
		} {
			before, after := 1, 1
			set(&before, c.before)
			set(&after, c.after)
			got := l.context(convmem.ContextRequest{MessageID: written[at].ID, Before: c.before, After: c.after})
			same(k, fmt.Sprintf("message %d, before %d, after %d", at, before, after), got, convmem.ContextResult{
				Message: written[at],
				Before:  written[max(0, at-before):at],
				After:   written[at+1 : min(len(written), at+1+after)],
				Session: convmem.SessionRef{SessionID: "s", MessageCount: 30},
			})
		}
	}
}

// checkNeighboursLive puts other sessions and deleted messages between the
// neighbours.
func checkNeighboursLive(k *kit) {
	l := k.open()
	var written []convmem.Message
	for _, content := range numbered(5) {
		written = append(written, l.say("s", content))
		l.say("other", content)
	}
	l.remove(written[1].ID)
	l.remove(written[3].ID)
	got := l.context(convmem.ContextRequest{MessageID: written[2].ID, Before: new(2), After: new(2)})
	same(k, "a session with gaps", got, convmem.ContextResult{
		Message: written[2], Before: written[:1], After: written[4:],
		Session: convmem.SessionRef{SessionID: "s", MessageCount: 3},
	})
}

// checkContextNotFound asks about ids that relations name but no live message
// has.
func checkContextNotFound(k *kit) {
	l := k.open()
	gone := l.say("s", "gone")
	l.note("s", "points there", convmem.MetadataPatch{Relations: relatedTo(gone.ID, strangerID(1))})
	l.remove(gone.ID)
	for name, id := range map[string]string{"never there": strangerID(1), "deleted": gone.ID} {
		_, err := l.store.Read(l.ctx(), convmem.ReadRequest{Context: &convmem.ContextRequest{MessageID: id}})
		k.fails(name, err, convmem.CodeNotFound, "")
	}
}

// graph makes one message for each capital letter in the edges, in the order
// of the alphabet, and relates them: "A depends_on B" and so on. Lower-case
// letters stand for messages that are deleted once everything is related.
func (l *lab) graph(edges string) map[string]convmem.Message {
	l.Helper()
	type edge struct{ from, kind, to string }
	var all []edge
	names := map[string]bool{}
	for line := range strings.SplitSeq(edges, ",") {
		f := strings.Fields(line)
		all = append(all, edge{f[0], f[1], f[2]})
		names[f[0]], names[f[2]] = true, true
	}
	nodes := map[string]convmem.Message{}
	order := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return strings.Compare(strings.ToUpper(a), strings.ToUpper(b)) })
	for _, name := range order {
		nodes[name] = l.say("session of "+name, "node "+name)
	}
	for name, node := range nodes {
		var relations []convmem.Relation
		for _, e := range all {
			if e.from == name {
				relations = append(relations, convmem.Relation{Type: convmem.RelationType(e.kind), MessageID: nodes[e.to].ID})
			}
		}
		if relations != nil {
			nodes[name] = l.setMetadata(node.ID, convmem.MetadataPatch{Relations: relations})
		}
	}
	for name, node := range nodes {
		if name == strings.ToLower(name) {
			l.remove(node.ID)
		}
	}
	return nodes
}

// describe writes related messages in the notation of the tables.
func describe(related []convmem.RelatedMessage, nodes map[string]convmem.Message) []string {
	names := map[string]string{}
	for name, node := range nodes {
		names[node.ID] = name
	}
	var all []string
	for _, r := range related {
		all = append(all, fmt.Sprintf("%d %s %s %s", r.Depth, r.Direction, r.Type, names[r.MessageID]))
	}
	return all
}

// checkRelationWalk walks small graphs: order, least depth, filters at every
// hop, and a stop at what is deleted.
func checkRelationWalk(k *kit) {
	for _, c := range []struct {
		name  string
		edges string
		depth *int
		types string
		want  string // from A, one per comma
	}{
		{"order within a depth", "A related_to F, A supersedes E, A derived_from D, A depends_on C, B related_to A, G supersedes A, H derived_from A, I depends_on A, J related_to A", nil, "",
			"1 outgoing depends_on C,1 outgoing derived_from D,1 outgoing supersedes E,1 outgoing related_to F,1 incoming depends_on I,1 incoming derived_from H,1 incoming supersedes G,1 incoming related_to B,1 incoming related_to J"},
		{"ids within a type", "A related_to D, A related_to B, A related_to C", nil, "", "1 outgoing related_to B,1 outgoing related_to C,1 outgoing related_to D"},
		{"depth 0", "A related_to B", new(0), "", ""},
		{"the default is depth 1", "A related_to B, B related_to C", nil, "", "1 outgoing related_to B"},
		{"depth 2", "A related_to B, B related_to C, C related_to D", new(2), "", "1 outgoing related_to B,2 outgoing related_to C"},
		{"depth 2, all directions", "A related_to B, C related_to B, B supersedes D, E depends_on A, E derived_from F, G related_to E", new(2), "",
			"1 outgoing related_to B,1 incoming depends_on E,2 outgoing derived_from F,2 outgoing supersedes D,2 incoming related_to C,2 incoming related_to G"},
		{"the order of depth 2 is not that of depth 1", "A depends_on Z, A related_to B, Z related_to C, B depends_on D", new(2), "",
			"1 outgoing depends_on Z,1 outgoing related_to B,2 outgoing depends_on D,2 outgoing related_to C"},
		{"each message once, at its least depth", "A related_to B, A related_to C, B depends_on C, C depends_on D, B depends_on D", new(2), "",
			"1 outgoing related_to B,1 outgoing related_to C,2 outgoing depends_on D"},
		{"the first edge of several", "A related_to B, A supersedes B, B depends_on A", nil, "", "1 outgoing supersedes B"},
		{"outgoing before incoming for one message", "A related_to B, B depends_on A", nil, "", "1 outgoing related_to B"},
		{"the start never appears", "A related_to B, B related_to A, B depends_on C, C related_to A", new(2), "", "1 outgoing related_to B,1 incoming related_to C"},
		{"a filter", "A related_to B, A supersedes C, D supersedes A", nil, "supersedes", "1 outgoing supersedes C,1 incoming supersedes D"},
		{"two filters", "A related_to B, A supersedes C, A depends_on D", nil, "supersedes related_to", "1 outgoing supersedes C,1 outgoing related_to B"},
		{"a filter shows the edge it lets through", "A related_to B, A depends_on B", nil, "related_to", "1 outgoing related_to B"},
		{"a filter holds at every hop", "A supersedes B, B related_to C, B supersedes D, A related_to E, E supersedes F", new(2), "supersedes", "1 outgoing supersedes B,2 outgoing supersedes D"},
		{"a filter that nothing passes", "A related_to B", new(2), "depends_on", ""},
		{"deleted targets are named", "A related_to b, A depends_on c", nil, "", "1 outgoing depends_on c,1 outgoing related_to b"},
		{"deleted sources are not", "b related_to A, C related_to A", nil, "", "1 incoming related_to C"},
		{"nothing is followed through a deleted message", "A related_to b, b related_to C, D related_to b, D depends_on E", new(2), "", "1 outgoing related_to b"},
		{"deleted targets of the second hop", "A related_to B, B supersedes c", new(2), "", "1 outgoing related_to B,2 outgoing supersedes c"},
	} {
		k.run(c.name, func(k *kit) {
			l := k.open()
			nodes := l.graph(c.edges)
			r := convmem.ContextRequest{MessageID: nodes["A"].ID, RelationDepth: c.depth}
			for _, kind := range strings.Fields(c.types) {
				r.RelationTypes = append(r.RelationTypes, convmem.RelationType(kind))
			}
			result := l.context(r)
			var expected []string
			if c.want != "" {
				expected = strings.Split(c.want, ",")
			}
			same(k, "relations", describe(result.Relations, nodes), expected)
			same(k, "truncated", result.Truncated, false)
			for _, related := range result.Relations {
				k.whole(related, nodes)
			}
		})
	}
}

// whole fails unless a related message is there as it is stored, or is left
// out because it is deleted.
func (k *kit) whole(related convmem.RelatedMessage, nodes map[string]convmem.Message) {
	k.Helper()
	for name, node := range nodes {
		if node.ID != related.MessageID {
			continue
		}
		if deleted := name == strings.ToLower(name); deleted != (related.Message == nil) {
			k.Errorf("%s: message %v", name, related.Message)
		} else if !deleted {
			same(k, name, *related.Message, node)
		}
	}
}

// checkRelatedMessages relates to a neighbour and to what never existed.
func checkRelatedMessages(k *kit) {
	l := k.open()
	first := l.say("s", "first")
	second := l.note("s", "second", convmem.MetadataPatch{Relations: relatedTo(first.ID, strangerID(1))})
	got := l.context(convmem.ContextRequest{MessageID: second.ID})
	same(k, "a neighbour appears again", got.Relations, []convmem.RelatedMessage{
		{Type: convmem.RelationRelatedTo, Direction: convmem.Outgoing, Depth: 1, MessageID: strangerID(1)},
		{Type: convmem.RelationRelatedTo, Direction: convmem.Outgoing, Depth: 1, MessageID: first.ID, Message: &first},
	})
	same(k, "the neighbour", got.Before, []convmem.Message{first})
}

// checkRelationsFollowChanges changes and deletes both ends of relations: a
// context shows what holds now.
func checkRelationsFollowChanges(k *kit) {
	l := k.open()
	nodes := l.graph("A related_to B, C supersedes A")
	see := func() []string {
		return describe(l.context(convmem.ContextRequest{MessageID: nodes["A"].ID}).Relations, nodes)
	}
	l.setMetadata(nodes["A"].ID, convmem.MetadataPatch{Relations: relations(convmem.RelationDependsOn, nodes["C"].ID)})
	same(k, "after an update of the message", see(), []string{"1 outgoing depends_on C"})
	l.setMetadata(nodes["A"].ID, convmem.MetadataPatch{Relations: []convmem.Relation{}})
	same(k, "after its relations were cleared", see(), []string{"1 incoming supersedes C"})
	l.setMetadata(nodes["C"].ID, convmem.MetadataPatch{Relations: relatedTo(nodes["B"].ID)})
	same(k, "after an update of the other end", see(), nil)
	l.setMetadata(nodes["B"].ID, convmem.MetadataPatch{Relations: relatedTo(nodes["A"].ID)})
	l.setContent(nodes["B"].ID, "new content")
	same(k, "after an update of content alone", see(), []string{"1 incoming related_to B"})
	l.remove(nodes["B"].ID)
	same(k, "after the other end was deleted", see(), nil)
}

// hub makes a message with n messages that relate to it, and returns its id.
func (l *lab) hub(n int) string {
	l.Helper()
	written := l.sayAll("s", numbered(21)...)
	for range n {
		l.note("t", "spoke", convmem.MetadataPatch{Relations: relatedTo(written[10].ID)})
	}
	return written[10].ID
}

// checkContextCap counts the message and its neighbours first, then relations.
func checkContextCap(k *kit) {
	for _, c := range []struct {
		name          string
		spokes        int
		before, after int
		related       int
		truncated     bool
	}{
		{"exactly 50 with neighbours", 29, 10, 10, 29, false},
		{"51 with neighbours", 30, 10, 10, 29, true},
		{"exactly 50 alone", 49, 0, 0, 49, false},
		{"51 alone", 50, 0, 0, 49, true},
	} {
		k.run(c.name, func(k *kit) {
			l := k.open()
			got := l.context(convmem.ContextRequest{MessageID: l.hub(c.spokes), Before: &c.before, After: &c.after})
			same(k, "before, after", []int{len(got.Before), len(got.After)}, []int{c.before, c.after})
			same(k, "related messages", len(got.Relations), c.related)
			same(k, "truncated", got.Truncated, c.truncated)
		})
	}
	k.run("deleted messages count", func(k *kit) {
		l := k.open()
		hub := l.hub(30)
		l.setMetadata(hub, convmem.MetadataPatch{Relations: relatedTo(distinct(20, strangerID)...)})
		got := l.context(convmem.ContextRequest{MessageID: hub, Before: new(0), After: new(0)})
		same(k, "related messages", len(got.Relations), 49)
		same(k, "truncated", got.Truncated, true)
	})
}

// checkContextBytes asks for neighbours that do not fit into a response: the
// message itself comes in any case.
func checkContextBytes(k *kit) {
	l := k.open()
	written := l.large(12)
	got := l.context(convmem.ContextRequest{MessageID: written[6].ID, Before: new(6), After: new(5)})
	same(k, "the message", got.Message.ID, written[6].ID)
	same(k, "truncated", got.Truncated, true)
	if n := 1 + len(got.Before) + len(got.After); n > 8 {
		k.Errorf("%d messages of 1 MiB in one response", n)
	}
}
