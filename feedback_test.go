package convmem_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

// library fills a store with count messages in sessions of ten and returns one of
// them. Words repeat at different rates, so that scores spread.
func library(w *world, count int) convmem.Message {
	w.Helper()
	words := strings.Fields("database choice postgresql index tea kettle garden river bridge lantern copper violin harbour winter market paper engine cloud forest signal")
	var noted convmem.Message
	for i := range count {
		var text []string
		for j := range 5 + i%7 {
			text = append(text, words[(i*i+3*i*j+j*j)%(len(words)-j%4)])
		}
		m := w.say(fmt.Sprint("talk ", i/10), strings.Join(text, " "), convmem.MetadataPatch{})
		if i == count/2 {
			noted = m
		}
	}
	return noted
}

var libraryQueries = []string{
	"database", "database choice postgresql", "tea kettle garden", "winter market paper engine cloud", "signal", "river bridge lantern copper violin harbour",
}

func (w *world) searchAll() []convmem.SearchResult {
	w.Helper()
	var all []convmem.SearchResult
	for _, query := range libraryQueries {
		all = append(all, w.search(convmem.SearchRequest{
			Query: query, Limit: 100, ContextSize: 2,
			Filters: convmem.Filters{Tiers: []convmem.MemoryTier{convmem.TierShort, convmem.TierMid, convmem.TierLong}},
		}))
	}
	return all
}

func TestFeedback(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	noted := w.say("s", "We chose PostgreSQL.", convmem.MetadataPatch{})
	notes := storetest.Open(t)
	first, err := convmem.Feedback(ctx, w.db, notes, convmem.FeedbackRequest{MessageID: noted.ID, Note: "wrong", IdempotencyKey: "k"})
	w.ok("feedback", err)
	again, err := convmem.Feedback(ctx, w.db, notes, convmem.FeedbackRequest{MessageID: noted.ID, Note: "wrong", IdempotencyKey: "k"})
	w.ok("the same feedback", err)
	_, err = convmem.Feedback(ctx, w.db, notes, convmem.FeedbackRequest{MessageID: noted.ID, Note: "right after all", Role: convmem.RoleSystem})
	w.ok("more feedback", err)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	if first.Metadata.Tier != convmem.TierDiscard || first.Metadata.SourceMessageIDs[0] != noted.ID || first.Role != convmem.RoleUser {
		t.Errorf("%+v", first)
	}
	read, errs := collect(convmem.AllMessages(ctx, notes, convmem.HistoryRequest{SessionID: convmem.FeedbackSession(noted.ID)}))
	if diff := cmp.Diff([]string{"wrong", "right after all"}, contents(read)); diff != "" || errs != nil {
		t.Error(errs, diff)
	}
	if diff := cmp.Diff(noted, w.context(convmem.ContextRequest{MessageID: noted.ID}).Message); diff != "" {
		t.Error("the noted message changed:", diff)
	}
}

func TestFeedbackErrors(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	live, dead := w.say("s", "x", convmem.MetadataPatch{}), w.say("s", "y", convmem.MetadataPatch{})
	w.remove(dead.ID)
	for _, c := range []struct {
		name    string
		request convmem.FeedbackRequest
		code    convmem.Code
		field   string
	}{
		{"deleted", convmem.FeedbackRequest{MessageID: dead.ID, Note: "n"}, convmem.CodeNotFound, "message_id"},
		{"no id", convmem.FeedbackRequest{Note: "n"}, convmem.CodeValidation, "message_id"},
		{"no note", convmem.FeedbackRequest{MessageID: live.ID}, convmem.CodeValidation, "content"},
		{"no role", convmem.FeedbackRequest{MessageID: live.ID, Note: "n", Role: "judge"}, convmem.CodeValidation, "role"},
	} {
		_, err := convmem.Feedback(ctx, w.db, w.db, c.request)
		if e := w.fails(c.name, err, c.code); e.Field != c.field {
			t.Errorf("%s: field %q", c.name, e.Field)
		}
		if n := w.health().ActiveMessages; n != 1 {
			t.Errorf("%s: %d messages", c.name, n)
		}
	}
}

// Notes in another store change no bit of what searches return.
func TestFeedbackElsewhereChangesNoSearch(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	noted := library(w, 1000)
	before := w.searchAll()
	notes := storetest.Open(t)
	for i := range 20 {
		_, err := convmem.Feedback(ctx, w.db, notes, convmem.FeedbackRequest{MessageID: noted.ID, Note: fmt.Sprint("database choice ", i)})
		w.ok("feedback", err)
	}
	if diff := cmp.Diff(before, w.searchAll()); diff != "" {
		t.Error(diff)
	}
}

// Notes in the same store move scores as little as Feedback says.
func TestFeedbackInTheSameStore(t *testing.T) {
	for _, note := range []string{"unhelpful, outdated", "database choice postgresql", "👎"} {
		t.Run(note, func(t *testing.T) {
			w := newWorld(t, convmem.Options{FS: vfs.NewMem(0)})
			noted := library(w, 1000)
			before := w.searchAll()
			_, err := convmem.Feedback(ctx, w.db, w.db, convmem.FeedbackRequest{MessageID: noted.ID, Note: note})
			w.ok("feedback", err)
			moved, swapped := 0.0, 0
			for i, after := range w.searchAll() {
				m, s := compareHits(t, before[i], after)
				moved, swapped = max(moved, m), swapped+s
			}
			t.Logf("scores moved by at most %.2g of themselves, %d of %d places hold another hit", moved, swapped, 100*len(before))
			if moved == 0 || moved > 1e-3 {
				t.Errorf("scores moved by %g of themselves", moved)
			}
		})
	}
}

// scoreOf returns the score of a hit, and that of the last one for others: they were
// just below the limit.
func scoreOf(r convmem.SearchResult, id string) float64 {
	for _, hit := range r.Hits {
		if hit.ID == id {
			return hit.Score
		}
	}
	return r.Hits[len(r.Hits)-1].Score
}

// compareHits returns how far scores moved, relatively, and in how many places the
// order changed. Everything else about a hit must be the same.
func compareHits(t *testing.T, before, after convmem.SearchResult) (moved float64, swapped int) {
	t.Helper()
	was := map[string]convmem.Hit{}
	for i, hit := range before.Hits {
		was[hit.ID] = hit
		if i < len(after.Hits) && after.Hits[i].ID != hit.ID {
			swapped++
			if better := hit.Score; scoreOf(before, after.Hits[i].ID) < better*(1-2e-3) {
				t.Errorf("%s takes the place of a hit that was clearly better", after.Hits[i].ID)
			}
		}
	}
	for _, hit := range after.Hits {
		old, ok := was[hit.ID]
		if !ok {
			continue // it was just below the limit
		}
		moved = max(moved, math.Abs(hit.Score-old.Score)/old.Score)
		if hit.RelationCount != old.RelationCount || len(hit.SupersededBy) != len(old.SupersededBy) || cmp.Diff(old.Message, hit.Message) != "" {
			t.Errorf("%s is not as before", hit.ID)
		}
	}
	return moved, swapped
}
