package convmem_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// damaged is a world of the messages one to five, of which the third cannot be
// read any more.
func damaged(t *testing.T) (w *world, ids []string) {
	w = newWorld(t, convmem.Options{})
	for _, content := range []string{"first word", "second word", "third marker word", "fourth word", "fifth word"} {
		ids = append(ids, w.say("s", content, convmem.MetadataPatch{}).ID)
	}
	w.damage("third marker")
	return w, ids
}

// run follows a history over damage: contents, with "!" for a call that failed.
func (w *world) run(r convmem.HistoryRequest, bad string) []string {
	w.Helper()
	var all []string
	for range 20 {
		page, err := convmem.History(ctx, w.db, r)
		if err != nil {
			e := w.fails("history", err, convmem.CodeCorrupt, bad)
			all = append(all, "!")
			if !strings.Contains(e.Message, e.NextCursor) {
				w.Errorf("the text does not tell the cursor: %v", e)
			}
			page.NextCursor = e.NextCursor
		}
		for _, content := range contents(page.Messages) {
			all = append(all, strings.Fields(content)[0])
		}
		if r.Cursor = page.NextCursor; r.Cursor == "" {
			return all
		}
	}
	w.Fatal("the pages never end")
	return nil
}

func TestHistoryOverADamagedMessage(t *testing.T) {
	w, ids := damaged(t)
	up, down := []string{"first", "second", "!", "fourth", "fifth"}, []string{"fifth", "fourth", "!", "second", "first"}
	for limit := range 7 {
		r := convmem.HistoryRequest{SessionID: "s", Limit: limit}
		if diff := cmp.Diff(up, w.run(r, ids[2])); diff != "" {
			t.Errorf("limit %d, ascending (-want +got):\n%s", limit, diff)
		}
		r.Order = convmem.OrderDescending
		if diff := cmp.Diff(down, w.run(r, ids[2])); diff != "" {
			t.Errorf("limit %d, descending (-want +got):\n%s", limit, diff)
		}
	}
}

// TestDamageIsReportedWhereItIsNeeded goes through all other calls.
func TestDamageIsReportedWhereItIsNeeded(t *testing.T) {
	w, ids := damaged(t)
	if h := w.health(); h.Status != convmem.HealthOK {
		t.Errorf("before anything was read: %q", h.LastError)
	}
	around := func(id string, before, after int) error {
		_, err := convmem.Context(ctx, w.db, convmem.ContextRequest{MessageID: id, Before: &before, After: &after})
		return err
	}
	w.ok("context that does not need it", around(ids[1], 1, 0))
	w.fails("context of it", around(ids[2], 0, 0), convmem.CodeCorrupt, ids[2], ".log at offset")
	w.fails("context beside it", around(ids[1], 0, 1), convmem.CodeCorrupt, ids[2])
	_, err := w.db.Update(ctx, convmem.UpdateRequest{MessageID: ids[2], Content: new("other")})
	w.fails("update", err, convmem.CodeCorrupt, ids[2])
	_, err = w.db.Rebuild(ctx, convmem.RebuildRequest{})
	e := w.fails("rebuild", err, convmem.CodeCorrupt, ids[2])
	if e.Op != "rebuild" || strings.Contains(e.Error(), "marker") {
		t.Errorf("op %q: %v", e.Op, e)
	}
	w.say("s", "sixth word", convmem.MetadataPatch{})
	h := w.health()
	if h.Status != convmem.HealthDegraded || !strings.HasPrefix(h.LastError, "CORRUPT_STORE: message "+ids[2]) {
		t.Errorf("health after a write that worked: %s, %q", h.Status, h.LastError)
	}
	w.remove(ids[2])
	w.rebuild()
	if _, all := w.pages(convmem.HistoryRequest{SessionID: "s"}); len(all) != 5 {
		t.Errorf("after its deletion: %q", all)
	}
	w.reopen()
	if h := w.health(); h.Status != convmem.HealthOK {
		t.Errorf("after a restart: %q", h.LastError)
	}
}

func TestSearchSkipsADamagedMessage(t *testing.T) {
	w, ids := damaged(t)
	r := w.search(convmem.SearchRequest{Query: "word"})
	if len(r.Hits) != 4 || !r.Truncated {
		t.Errorf("%d hits, truncated %t", len(r.Hits), r.Truncated)
	}
	for _, hit := range r.Hits {
		if hit.ID == ids[2] {
			t.Errorf("the damaged message is shown as %q", hit.Content)
		}
	}
	if h := w.health(); h.Status != convmem.HealthDegraded {
		t.Errorf("health %s", h.Status)
	}
	r = w.search(convmem.SearchRequest{Query: "second", ContextSize: 1})
	if len(r.Hits) != 1 || names(r.Hits[0].Before) != "f" || len(r.Hits[0].After) != 0 || !r.Truncated {
		t.Errorf("a preview that would hold it: %+v", r)
	}
	r = w.search(convmem.SearchRequest{Query: "fifth", ContextSize: 1})
	if len(r.Hits) != 1 || names(r.Hits[0].Before) != "f" || r.Truncated {
		t.Errorf("a search that does not need it: %+v", r)
	}
}

func TestSessionsOverADamagedMessage(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	var bad string
	for _, session := range []string{"a", "b", "c", "d"} {
		id := w.say(session, "about "+session, convmem.MetadataPatch{}).ID
		if session == "b" {
			bad = id
		}
	}
	w.damage("about b")
	for limit := range 5 {
		var got []string
		r := convmem.SessionsRequest{Limit: limit}
		for {
			page, err := convmem.Sessions(ctx, w.db, r)
			var e *convmem.Error
			if errors.As(err, &e) {
				w.fails("sessions", err, convmem.CodeCorrupt, bad)
				got = append(got, "!")
				page.NextCursor = e.NextCursor
			}
			for _, s := range page.Sessions {
				got = append(got, s.SessionID)
			}
			if r.Cursor = page.NextCursor; r.Cursor == "" || len(got) > 9 {
				break
			}
		}
		if diff := cmp.Diff([]string{"d", "c", "!", "a"}, got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
}
