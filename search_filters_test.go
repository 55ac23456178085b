package convmem_test

import (
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// weakHit is a message that search finds last, and a filter that only it passes.
type weakHit struct {
	session string // "strong" where the case says nothing
	role    convmem.Role
	patch   convmem.MetadataPatch
	request convmem.SearchRequest
}

var weakHits = map[string]weakHit{
	"session_id":     {session: "weak", request: convmem.SearchRequest{SessionID: "weak"}},
	"kinds":          {patch: convmem.MetadataPatch{Kind: convmem.KindProcedure}, request: convmem.SearchRequest{Filters: convmem.Filters{Kinds: []convmem.MemoryKind{convmem.KindProcedure, convmem.KindSummary}}}},
	"tiers":          {patch: convmem.MetadataPatch{Tier: convmem.TierDiscard}, request: convmem.SearchRequest{Filters: convmem.Filters{Tiers: []convmem.MemoryTier{convmem.TierDiscard}}}},
	"roles":          {role: convmem.RoleTool, request: convmem.SearchRequest{Filters: convmem.Filters{Roles: []convmem.Role{convmem.RoleTool}}}},
	"tags":           {patch: convmem.MetadataPatch{Tags: []string{"common", "wanted"}}, request: convmem.SearchRequest{Filters: convmem.Filters{Tags: []string{"wanted", "common"}}}},
	"min_importance": {patch: convmem.MetadataPatch{Importance: new(51)}, request: convmem.SearchRequest{MinImportance: 51}},
	"since":          {patch: convmem.MetadataPatch{OccurredAt: time.UnixMilli(9e12)}, request: convmem.SearchRequest{Filters: convmem.Filters{Since: time.UnixMilli(9e12)}}},
	"until":          {patch: convmem.MetadataPatch{OccurredAt: time.UnixMilli(5e11)}, request: convmem.SearchRequest{Filters: convmem.Filters{Until: time.UnixMilli(5e11)}}},
}

// newStrongStore holds 500 messages that match a query far better than the weak
// ones do, and after them one weak message for each filter.
func newStrongStore(t *testing.T) (w *world, weak map[string]string) {
	w = newWorld(t, convmem.Options{})
	for range 500 {
		w.say("strong", "otter badger, otter badger", convmem.MetadataPatch{Tags: []string{"common", "otter"}, Summary: new("the otter and the badger")})
	}
	weak = map[string]string{}
	for name, c := range weakHits {
		r := convmem.WriteRequest{
			SessionID: "strong", Role: convmem.RoleUser, Metadata: c.patch,
			Content: "For once a long and winding message about rivers, banks, mud and reeds that names an otter.",
		}
		if c.session != "" {
			r.SessionID = c.session
		}
		if c.role != "" {
			r.Role = c.role
		}
		w.tick()
		result, err := w.db.Write(ctx, r)
		w.ok("write", err)
		weak[name] = result.Message.ID
	}
	return w, weak
}

// Filters act before ranking and limit: however many better hits they refuse,
// the one that they let through is found.
func TestSearchFiltersBeforeItRanks(t *testing.T) {
	w, weak := newStrongStore(t)
	for _, stage := range []struct {
		name string
		do   func()
	}{{"live", func() {}}, {"after a restart", w.reopen}, {"after a rebuild", w.rebuild}} {
		stage.do()
		isWeak := map[string]bool{}
		for _, id := range weak {
			isWeak[id] = true
		}
		all := w.search(convmem.SearchRequest{Query: "otter badger", Limit: convmem.MaxSearchLimit}).Hits
		for i, hit := range all {
			if isWeak[hit.ID] {
				t.Fatalf("%s: hit %d of %d is a weak one, so this test shows nothing", stage.name, i, len(all))
			}
		}
		for name, c := range weakHits {
			r := c.request
			r.Query, r.Limit = "otter badger", 1
			if hits := w.search(r).Hits; len(hits) != 1 || hits[0].ID != weak[name] {
				t.Errorf("%s, %s: got %v, want the weak message", stage.name, name, hits)
			}
		}
	}
}

// The same where an update gave the message what the filter wants, and where it
// took it away.
func TestSearchFiltersByWhatAMessageSaysNow(t *testing.T) {
	w, weak := newStrongStore(t)
	strong := w.history(convmem.HistoryRequest{SessionID: "strong", Limit: 1}).Messages[0].ID
	for _, name := range []string{"kinds", "tiers", "tags", "min_importance", "since", "until"} {
		c := weakHits[name]
		plain := convmem.MetadataPatch{
			Kind: convmem.KindConversation, Tier: convmem.TierShort, Tags: []string{"common"},
			Importance: new(50), OccurredAt: w.now,
		}
		w.update(convmem.UpdateRequest{MessageID: weak[name], Metadata: &plain})
		r := c.request
		r.Query, r.Limit = "otter badger", 1
		if hits := w.search(r).Hits; len(hits) != 0 {
			t.Errorf("%s: %v passes, though it was changed", name, hits)
		}
		w.update(convmem.UpdateRequest{MessageID: strong, Metadata: &c.patch})
		if hits := w.search(r).Hits; len(hits) != 1 || hits[0].ID != strong {
			t.Errorf("%s: got %v, want the message that was changed to pass", name, hits)
		}
		w.update(convmem.UpdateRequest{MessageID: strong, Metadata: &plain})
	}
}

// A filter that every message passes changes nothing, to the bit.
func TestSearchFilterThatRefusesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, convmem.Options{})
		defer w.db.Close()
		for i := range rapid.IntRange(1, 30).Draw(rt, "messages") {
			w.tick()
			patch := drawPatch(rt)
			patch.Tags = append(patch.Tags, "every")
			_, err := w.db.Write(ctx, convmem.WriteRequest{
				SessionID: "s", Role: []convmem.Role{convmem.RoleUser, convmem.RoleAssistant}[i%2],
				Content: drawText(rt, 8, "content"), Metadata: patch,
			})
			w.ok("write", err)
		}
		plain := convmem.SearchRequest{Query: drawText(rt, 4, "query"), Limit: convmem.MaxSearchLimit}
		want := rankings(rt, w.db, []convmem.SearchRequest{plain})
		for name, open := range map[string]func(*convmem.SearchRequest){
			"session_id": func(r *convmem.SearchRequest) { r.SessionID = "s" },
			"kinds":      func(r *convmem.SearchRequest) { r.Filters.Kinds = []convmem.MemoryKind{convmem.KindConversation} },
			"tiers": func(r *convmem.SearchRequest) {
				r.Filters.Tiers = []convmem.MemoryTier{convmem.TierMid, convmem.TierShort}
			},
			"tags": func(r *convmem.SearchRequest) { r.Filters.Tags = []string{"every"} },
			"roles": func(r *convmem.SearchRequest) {
				r.Filters.Roles = []convmem.Role{convmem.RoleUser, convmem.RoleAssistant}
			},
			"min_importance": func(r *convmem.SearchRequest) { r.MinImportance = 49 },
			"since":          func(r *convmem.SearchRequest) { r.Filters.Since = time.UnixMilli(1) },
			"until":          func(r *convmem.SearchRequest) { r.Filters.Until = w.now },
		} {
			r := plain
			open(&r)
			if diff := cmp.Diff(want, rankings(rt, w.db, []convmem.SearchRequest{r})); diff != "" {
				rt.Errorf("%q, %s (-without +with the filter):\n%s", plain.Query, name, diff)
			}
		}
	})
}
