package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/convmem"
)

func searchFilterChecks() []check {
	return []check{
		{"search/filters", checkFilters},
		{"search/filters on tags", checkTagFilters},
		{"search/since and until", checkSinceUntil},
		{"search/filters act before the limit", checkFiltersBeforeLimit},
		{"search/filters see updates", checkFiltersSeeUpdates},
		{"search/session", checkSearchSession},
	}
}

// corpus writes messages that all hold the word quartz. Each is named by its
// one tag; the answers of a search are then sets of names.
func (l *lab) corpus() {
	l.Helper()
	for i, m := range []struct {
		name       string
		role       convmem.Role
		tier       convmem.MemoryTier
		kind       convmem.MemoryKind
		importance int
	}{
		{"a", convmem.RoleUser, convmem.TierShort, convmem.KindConversation, 0},
		{"b", convmem.RoleAssistant, convmem.TierMid, convmem.KindEpisode, 49},
		{"c", convmem.RoleSystem, convmem.TierLong, convmem.KindSemantic, 50},
		{"d", convmem.RoleTool, convmem.TierDiscard, convmem.KindProcedure, 51},
		{"e", convmem.RoleUser, convmem.TierLong, convmem.KindPreference, 99},
		{"f", convmem.RoleAssistant, convmem.TierShort, convmem.KindSummary, 100},
	} {
		l.clock.step(time.Millisecond)
		l.write(convmem.WriteRequest{
			SessionID: fmt.Sprint("session ", i%2), Role: m.role, Content: "a piece of quartz",
			Metadata: convmem.MetadataPatch{Tags: []string{m.name}, Tier: m.tier, Kind: m.kind, Importance: &m.importance},
		})
	}
}

// named lists the first tags of what a search finds, sorted.
func (l *lab) named(r convmem.SearchRequest) string {
	l.Helper()
	r.Limit = convmem.MaxSearchLimit
	var names []string
	for _, hit := range l.search(r) {
		names = append(names, hit.Metadata.Tags[0])
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// checkFilters combines filters: OR inside a list, AND between them, and
// empty lists that filter nothing.
func checkFilters(k *kit) {
	l := k.open()
	l.corpus()
	for _, c := range []struct {
		name    string
		request convmem.SearchRequest
		want    string
	}{
		{"none", convmem.SearchRequest{}, "a b c d e f"},
		{"empty lists", convmem.SearchRequest{Filters: convmem.Filters{
			Kinds: []convmem.MemoryKind{}, Tiers: []convmem.MemoryTier{}, Tags: []string{}, Roles: []convmem.Role{},
		}}, "a b c d e f"},
		{"one kind", convmem.SearchRequest{Filters: convmem.Filters{Kinds: []convmem.MemoryKind{convmem.KindEpisode}}}, "b"},
		{"two kinds", convmem.SearchRequest{Filters: convmem.Filters{Kinds: []convmem.MemoryKind{convmem.KindEpisode, convmem.KindSummary}}}, "b f"},
		{"every kind", convmem.SearchRequest{Filters: convmem.Filters{Kinds: kinds()}}, "a b c d e f"},
		{"one tier", convmem.SearchRequest{Filters: convmem.Filters{Tiers: []convmem.MemoryTier{convmem.TierLong}}}, "c e"},
		{"two tiers, one twice", convmem.SearchRequest{Filters: convmem.Filters{Tiers: []convmem.MemoryTier{convmem.TierDiscard, convmem.TierMid, convmem.TierMid}}}, "b d"},
		{"one role", convmem.SearchRequest{Filters: convmem.Filters{Roles: []convmem.Role{convmem.RoleUser}}}, "a e"},
		{"two roles", convmem.SearchRequest{Filters: convmem.Filters{Roles: []convmem.Role{convmem.RoleSystem, convmem.RoleTool}}}, "c d"},
		{"kinds and tiers", convmem.SearchRequest{Filters: convmem.Filters{
			Kinds: []convmem.MemoryKind{convmem.KindSemantic, convmem.KindSummary}, Tiers: []convmem.MemoryTier{convmem.TierLong, convmem.TierMid},
		}}, "c"},
		{"kinds and tiers without a common message", convmem.SearchRequest{Filters: convmem.Filters{
			Kinds: []convmem.MemoryKind{convmem.KindEpisode}, Tiers: []convmem.MemoryTier{convmem.TierLong},
		}}, ""},
		{"roles and tiers", convmem.SearchRequest{Filters: convmem.Filters{
			Roles: []convmem.Role{convmem.RoleUser}, Tiers: []convmem.MemoryTier{convmem.TierShort, convmem.TierMid},
		}}, "a"},
		{"importance 0", convmem.SearchRequest{MinImportance: 0}, "a b c d e f"},
		{"importance 1", convmem.SearchRequest{MinImportance: 1}, "b c d e f"},
		{"importance 50", convmem.SearchRequest{MinImportance: 50}, "c d e f"},
		{"importance 100", convmem.SearchRequest{MinImportance: 100}, "f"},
		{"importance and role", convmem.SearchRequest{MinImportance: 50, Filters: convmem.Filters{Roles: []convmem.Role{convmem.RoleAssistant}}}, "f"},
		{"session and tier", convmem.SearchRequest{SessionID: "session 0", Filters: convmem.Filters{Tiers: []convmem.MemoryTier{convmem.TierLong}}}, "c e"},
		{"everything at once", convmem.SearchRequest{SessionID: "session 1", MinImportance: 51, Filters: convmem.Filters{
			Tiers: []convmem.MemoryTier{convmem.TierDiscard}, Kinds: []convmem.MemoryKind{convmem.KindProcedure}, Roles: []convmem.Role{convmem.RoleTool}, Tags: []string{"d"},
		}}, "d"},
	} {
		c.request.Query = "quartz"
		same(k, c.name, l.named(c.request), c.want)
	}
}

// checkTagFilters wants all tags and each of them exactly.
func checkTagFilters(k *kit) {
	l := k.open()
	for _, tags := range [][]string{{"1", "red", "green"}, {"2", "red"}, {"3", "Red"}, {"4", "red green"}, {"5", "reds"}, {"6", "green", "red"}, {"7"}} {
		l.note("s", "a piece of quartz", convmem.MetadataPatch{Tags: tags})
	}
	for _, c := range []struct {
		tags []string
		want string
	}{
		{[]string{"red"}, "1 2 6"},
		{[]string{"red", "green"}, "1 6"},
		{[]string{"green", "red", "red"}, "1 6"},
		{[]string{"Red"}, "3"},
		{[]string{"red green"}, "4"},
		{[]string{"re"}, ""},
		{[]string{"red", "blue"}, ""},
		{[]string{"1", "red", "green"}, "1"},
	} {
		got := l.named(convmem.SearchRequest{Query: "quartz", Filters: convmem.Filters{Tags: c.tags}})
		same(k, fmt.Sprintf("tags %q", c.tags), got, c.want)
	}
}

// checkSinceUntil sets two messages back in time by OccurredAt; the others
// count from when they were written.
func checkSinceUntil(k *kit) {
	l := k.open()
	start := l.clock.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	say := func(name string, occurred time.Time) convmem.Message {
		return l.note("s", "a piece of quartz", convmem.MetadataPatch{Tags: []string{name}, OccurredAt: occurred})
	}
	say("1", time.Time{})
	say("2", time.Time{})
	say("old", at(-1000))
	say("epoch", time.UnixMilli(0))
	say("5", time.Time{})
	say("future", at(1000))
	for _, c := range []struct {
		name         string
		since, until time.Time
		want         string
	}{
		{"no bounds", time.Time{}, time.Time{}, "1 2 5 epoch future old"},
		{"since, inclusive", at(2), time.Time{}, "2 5 future"},
		{"since, one more", at(3), time.Time{}, "5 future"},
		{"until, inclusive", time.Time{}, at(2), "1 2 epoch old"},
		{"until, one less", time.Time{}, at(1), "1 epoch old"},
		{"both", at(1), at(5), "1 2 5"},
		{"one moment", at(2), at(2), "2"},
		{"the time it was written does not count where another is set", at(3), at(4), ""},
		{"the past", time.UnixMilli(0), at(-1000), "epoch old"},
		{"until the epoch", time.Time{}, time.UnixMilli(0), "epoch"},
		{"the future", at(1000), at(1000), "future"},
		{"nothing between", at(2), at(1), ""},
	} {
		got := l.named(convmem.SearchRequest{Query: "quartz", Filters: convmem.Filters{Since: c.since, Until: c.until}})
		same(k, c.name, got, c.want)
	}
}

// checkFiltersBeforeLimit hides a few weak matches behind many strong ones.
func checkFiltersBeforeLimit(k *kit) {
	l := k.open()
	for i := range 120 {
		l.note(fmt.Sprint("strong ", i), "quartz quartz quartz", convmem.MetadataPatch{Tags: []string{"strong", "quartz"}, Importance: new(90)})
	}
	weak := convmem.MetadataPatch{Tags: []string{"weak"}, Importance: new(10), Kind: convmem.KindEpisode, Tier: convmem.TierDiscard}
	filler := strings.Repeat("many other words about something else ", 20)
	first, second := l.note("weak", filler+"quartz "+filler, weak), l.note("weak", filler+filler+"quartz", weak)
	expected := []string{first.ID, second.ID}
	for name, r := range map[string]convmem.SearchRequest{
		"kind":    {Filters: convmem.Filters{Kinds: []convmem.MemoryKind{convmem.KindEpisode}}},
		"tier":    {Filters: convmem.Filters{Tiers: []convmem.MemoryTier{convmem.TierDiscard}}},
		"tag":     {Filters: convmem.Filters{Tags: []string{"weak"}}},
		"since":   {Filters: convmem.Filters{Since: first.Timestamp}},
		"session": {SessionID: "weak"},
	} {
		r.Query, r.Limit = "quartz", 2
		got := l.found(r)
		slices.Sort(got)
		same(k, name, got, expected)
	}
}

// checkFiltersSeeUpdates changes everything that filters look at.
func checkFiltersSeeUpdates(k *kit) {
	l := k.open()
	message := l.note("s", "a piece of quartz", convmem.MetadataPatch{Tags: []string{"before"}})
	l.setMetadata(message.ID, convmem.MetadataPatch{
		Tags: []string{"after"}, Tier: convmem.TierLong, Kind: convmem.KindSemantic, Importance: new(80), OccurredAt: time.UnixMilli(1000),
	})
	for name, c := range map[string]struct {
		r    convmem.SearchRequest
		want string
	}{
		"old tag":        {convmem.SearchRequest{Filters: convmem.Filters{Tags: []string{"before"}}}, ""},
		"new tag":        {convmem.SearchRequest{Filters: convmem.Filters{Tags: []string{"after"}}}, "after"},
		"old tier":       {convmem.SearchRequest{Filters: convmem.Filters{Tiers: []convmem.MemoryTier{convmem.TierShort}}}, ""},
		"new tier":       {convmem.SearchRequest{Filters: convmem.Filters{Tiers: []convmem.MemoryTier{convmem.TierLong}}}, "after"},
		"old kind":       {convmem.SearchRequest{Filters: convmem.Filters{Kinds: []convmem.MemoryKind{convmem.KindConversation}}}, ""},
		"new kind":       {convmem.SearchRequest{Filters: convmem.Filters{Kinds: []convmem.MemoryKind{convmem.KindSemantic}}}, "after"},
		"new importance": {convmem.SearchRequest{MinImportance: 80}, "after"},
		"old time":       {convmem.SearchRequest{Filters: convmem.Filters{Since: message.Timestamp}}, ""},
		"new time":       {convmem.SearchRequest{Filters: convmem.Filters{Until: time.UnixMilli(1000)}}, "after"},
	} {
		c.r.Query = "quartz"
		same(k, name, l.named(c.r), c.want)
	}
}

// checkSearchSession searches one session at a time.
func checkSearchSession(k *kit) {
	l := k.open()
	l.corpus()
	same(k, "one session", l.named(convmem.SearchRequest{Query: "quartz", SessionID: "session 0"}), "a c e")
	same(k, "the other", l.named(convmem.SearchRequest{Query: "quartz", SessionID: "session 1"}), "b d f")
	same(k, "an unknown session", l.named(convmem.SearchRequest{Query: "quartz", SessionID: "session"}), "")
}
