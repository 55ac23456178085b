package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/convmem"
)

func searchResultChecks() []check {
	return []check{
		{"search/order", checkSearchOrder},
		{"search/a smaller limit is a beginning", checkSearchPrefix},
		{"search/default limit", checkSearchLimit},
		{"search/fields", checkMatchedFields},
		{"search/hits are whole messages", checkHits},
		{"search/relation count and superseded by", checkHitRelations},
		{"search/previews", checkPreviews},
		{"search/writes nothing", checkSearchWritesNothing},
		{"search/size of a response", checkSearchBytes},
	}
}

// wellRanked fails unless hits have honest scores and stand in the one order
// that scores, importance, time and id give.
func (k *kit) wellRanked(what string, hits []convmem.Hit) {
	k.Helper()
	for i, hit := range hits {
		b := hit.Breakdown
		if sum := b.Content + b.Summary + b.Tags; hit.Score != sum || math.IsNaN(sum) || math.IsInf(sum, 0) {
			k.Errorf("%s: hit %d has score %v, its parts add up to %v", what, i, hit.Score, sum)
		}
		if len(hit.MatchedFields) == 0 {
			k.Errorf("%s: hit %d matches in no field", what, i)
		}
		if i > 0 && compareRank(hits[i-1], hit) >= 0 {
			k.Errorf("%s: hit %d %s does not come before hit %d %s", what, i-1, rank(hits[i-1]), i, rank(hit))
		}
	}
}

func compareRank(a, b convmem.Hit) int {
	return cmp.Or(
		-cmp.Compare(a.Score, b.Score),
		-cmp.Compare(a.Metadata.Importance, b.Metadata.Importance),
		-a.Timestamp.Compare(b.Timestamp),
		-strings.Compare(a.ID, b.ID),
	)
}

func rank(h convmem.Hit) string {
	return fmt.Sprintf("(score %v, importance %d, timestamp %v, id %s)", h.Score, h.Metadata.Importance, h.Timestamp, h.ID)
}

// alike writes messages that say exactly the same, each alone in its session,
// so that only importance, time and id can tell them apart.
func (l *lab) alike() {
	l.Helper()
	for i, importance := range []int{50, 20, 50, 80, 20, 80, 50} {
		if i%2 == 0 { // pairs share a moment
			l.clock.step(1e6)
		}
		l.write(convmem.WriteRequest{
			SessionID: fmt.Sprint("session ", i), Role: convmem.RoleUser, Content: "a piece of quartz",
			Metadata: convmem.MetadataPatch{Importance: &importance},
		})
	}
}

// mixed writes messages that match in many ways.
func (l *lab) mixed() {
	l.Helper()
	for i := range 60 {
		content := strings.Repeat("quartz ", i%4) + "and granite" + strings.Repeat(" filler", i%7) + strings.Repeat(" quartz", i%3%2)
		patch := convmem.MetadataPatch{Importance: new(i % 5 * 20)}
		if i%3 == 0 {
			patch.Summary = new("quartz in short")
		}
		if i%5 == 0 {
			patch.Tags = []string{"quartz", "stone"}
		}
		l.note(fmt.Sprint("session ", i%6), content, patch)
	}
}

// checkSearchOrder ranks messages that tie and messages that do not, and asks
// twice.
func checkSearchOrder(k *kit) {
	l := k.open()
	l.alike()
	hits := l.search(convmem.SearchRequest{Query: "quartz"})
	same(k, "number of hits", len(hits), 7)
	k.wellRanked("messages that say the same", hits)
	l.mixed()
	for _, query := range []string{"quartz", "granite", "quartz granite", "stone filler quartz"} {
		hits := l.search(convmem.SearchRequest{Query: query, Limit: 100})
		if len(hits) < 8 {
			k.Fatalf("query %q has %d hits", query, len(hits))
		}
		k.wellRanked(query, hits)
		same(k, "asked again", l.search(convmem.SearchRequest{Query: query, Limit: 100}), hits)
	}
}

// checkSearchPrefix compares every smaller limit with the largest.
func checkSearchPrefix(k *kit) {
	l := k.open()
	l.mixed()
	l.alike()
	for _, r := range []convmem.SearchRequest{
		{Query: "quartz"}, {Query: "quartz granite"}, {Query: "granite", SessionID: "session 2"}, {Query: "stone quartz", MinImportance: 40, ContextSize: 1},
	} {
		r.Limit = 100
		all := l.search(r)
		for _, limit := range []int{1, 2, 3, 5, 10, 20, 50, 99} {
			r.Limit = limit
			same(k, fmt.Sprintf("query %q, limit %d", r.Query, limit), l.search(r), all[:min(limit, len(all))])
		}
	}
}

// checkSearchLimit counts hits with and without a limit.
func checkSearchLimit(k *kit) {
	l := k.open()
	for i := range 110 {
		l.say(fmt.Sprint("session ", i%10), "quartz")
	}
	for limit, count := range map[int]int{0: 20, 1: 1, 20: 20, 100: 100} {
		same(k, fmt.Sprint("hits with limit ", limit), len(l.search(convmem.SearchRequest{Query: "quartz", Limit: limit})), count)
	}
}

// checkMatchedFields puts the word into every combination of fields.
func checkMatchedFields(k *kit) {
	l := k.open()
	for mask := 1; mask < 8; mask++ {
		session, content, patch := fmt.Sprint("session ", mask), "granite", convmem.MetadataPatch{Summary: new("marble"), Tags: []string{"basalt"}}
		var fields []convmem.Field
		if mask&1 != 0 {
			content, fields = "quartz", append(fields, convmem.FieldContent)
		}
		if mask&2 != 0 {
			patch.Summary, fields = new("quartz"), append(fields, convmem.FieldSummary)
		}
		if mask&4 != 0 {
			patch.Tags, fields = []string{"basalt", "quartz"}, append(fields, convmem.FieldTags)
		}
		l.note(session, content, patch)
		hits := l.search(convmem.SearchRequest{Query: "quartz", SessionID: session})
		if len(hits) != 1 {
			k.Fatalf("fields %v: %d hits", fields, len(hits))
		}
		same(k, "matched fields", hits[0].MatchedFields, fields)
		b := hits[0].Breakdown
		for field, part := range map[convmem.Field]float64{convmem.FieldContent: b.Content, convmem.FieldSummary: b.Summary, convmem.FieldTags: b.Tags} {
			if matched := slices.Contains(fields, field); matched != (part > 0) {
				k.Errorf("fields %v: the share of %s is %v", fields, field, part)
			}
		}
	}
}

// checkHits compares hits with the messages they are about.
func checkHits(k *kit) {
	l := k.open()
	l.mixed()
	message := l.note("s", "topaz", fullPatch(strangerID(1)))
	message = l.setContent(message.ID, "topaz and more")
	hits := l.search(convmem.SearchRequest{Query: "topaz"})
	if len(hits) != 1 {
		k.Fatalf("%d hits for a word of one message", len(hits))
	}
	same(k, "the message of a hit", hits[0].Message, message)
	same(k, "its neighbours, unasked", [][]convmem.Message{hits[0].Before, hits[0].After}, [][]convmem.Message{nil, nil})
	for _, hit := range l.search(convmem.SearchRequest{Query: "quartz", Limit: 100}) {
		same(k, "a hit and the message", hit.Message, l.get(hit.ID))
	}
}

// checkHitRelations counts relations from and to live messages only, and
// names live successors, oldest first.
func checkHitRelations(k *kit) {
	l := k.open()
	nodes := l.graph("A related_to B, A depends_on B, A supersedes c, C supersedes B, D supersedes B, E related_to B, f supersedes B, B derived_from E, Z related_to Y")
	l.setMetadata(nodes["A"].ID, convmem.MetadataPatch{Relations: append(nodes["A"].Metadata.Relations, relatedTo(strangerID(1))...)})
	l.reopen()
	for name, c := range map[string]struct {
		count      int
		superseded []string
	}{
		"A": {2, nil}, // both edges to B; neither the deleted c nor the stranger
		"B": {6, []string{nodes["C"].ID, nodes["D"].ID}},
		"C": {1, nil},
		"E": {2, nil},
		"Y": {1, nil},
	} {
		hits := l.search(convmem.SearchRequest{Query: "node", SessionID: "session of " + name})
		if len(hits) != 1 {
			k.Fatalf("%s: %d hits", name, len(hits))
		}
		same(k, name+": relation count", hits[0].RelationCount, c.count)
		same(k, name+": superseded by", hits[0].SupersededBy, c.superseded)
	}
	l.remove(nodes["C"].ID)
	l.setMetadata(nodes["D"].ID, convmem.MetadataPatch{Relations: []convmem.Relation{}})
	hit := l.search(convmem.SearchRequest{Query: "node", SessionID: "session of B"})[0]
	same(k, "after a delete and an update: relation count", hit.RelationCount, 4)
	same(k, "after a delete and an update: superseded by", hit.SupersededBy, []string(nil))
}

// checkPreviews asks for neighbours at a distance, past a deleted message and
// another session.
func checkPreviews(k *kit) {
	l := k.open()
	written := l.sayAll("s", "one", "two", "three", "quartz", "five", "six", "seven")
	l.say("other", "between")
	l.remove(written[2].ID)
	for size, c := range map[int]struct{ before, after []convmem.Message }{
		0: {nil, nil},
		1: {written[1:2], written[4:5]},
		2: {written[:2], written[4:6]},
		3: {written[:2], written[4:7]},
	} {
		hits := l.search(convmem.SearchRequest{Query: "quartz", ContextSize: size})
		if len(hits) != 1 {
			k.Fatalf("%d hits for a word of one message", len(hits))
		}
		same(k, fmt.Sprintf("context size %d, before", size), hits[0].Before, c.before)
		same(k, fmt.Sprintf("context size %d, after", size), hits[0].After, c.after)
	}
	filtered := l.search(convmem.SearchRequest{Query: "quartz", ContextSize: 1, MinImportance: 50, Filters: convmem.Filters{Since: written[3].Timestamp, Until: written[3].Timestamp}})
	same(k, "filters are about hits, not their neighbours", ids(filtered[0].Before), ids(written[1:2]))
}

// checkSearchWritesNothing compares health before and after searches.
func checkSearchWritesNothing(k *kit) {
	l := k.open()
	l.mixed()
	before := l.health()
	for range 3 {
		l.search(convmem.SearchRequest{Query: "quartz", ContextSize: 2})
	}
	after := l.health()
	same(k, "last sequence", after.LastSequence, before.LastSequence)
	same(k, "log size", after.LogSize, before.LogSize)
	same(k, "bytes written", after.IO.WriteBytes, before.IO.WriteBytes)
}

// checkSearchBytes finds more than a response may hold. Hits go before
// previews, and the answer says that something is missing.
func checkSearchBytes(k *kit) {
	l := k.open()
	l.large(9)
	for _, size := range []int{0, 2} {
		result, err := l.store.Search(l.ctx(), convmem.SearchRequest{Query: "marker", ContextSize: size})
		k.ok("search", err)
		n := len(result.Hits)
		for _, hit := range result.Hits {
			n += len(hit.Before) + len(hit.After)
		}
		if len(result.Hits) == 0 || n > 8 || !result.Truncated {
			k.Errorf("context size %d: %d hits, %d messages of 1 MiB, truncated %t", size, len(result.Hits), n, result.Truncated)
		}
	}
	few, err := l.store.Search(l.ctx(), convmem.SearchRequest{Query: "marker", Limit: 2})
	k.ok("search", err)
	same(k, "hits that fit", len(few.Hits), 2)
	same(k, "truncated when all fits", few.Truncated, false)
}
