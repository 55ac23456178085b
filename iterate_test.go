package convmem_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
)

// watched counts the calls of a Store, cuts its pages of messages shorter, and
// lets a test do something before a Read.
type watched struct {
	convmem.Store
	page       int // most messages on a page, 0 for as many as asked for
	reads      int
	deletes    int
	beforeRead func(number int) // 1 is the first
}

func (w *watched) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	w.reads++
	if w.beforeRead != nil {
		w.beforeRead(w.reads)
	}
	if r.History != nil && w.page > 0 {
		history := *r.History
		history.Limit = w.page
		r.History = &history
	}
	return w.Store.Read(ctx, r)
}

func (w *watched) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	w.deletes++
	return w.Store.Delete(ctx, r)
}

// scripted is a Store whose pages are a table: what follows each cursor.
type scripted struct {
	convmem.Store
	pages map[string]scriptedPage
	reads int
}

type scriptedPage struct {
	items int
	next  string
	err   error
}

func (s *scripted) Read(_ context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	s.reads++
	if r.Sessions != nil {
		p := s.pages[r.Sessions.Cursor]
		return convmem.ReadResult{Sessions: &convmem.SessionsResult{Sessions: make([]convmem.SessionInfo, p.items), NextCursor: p.next}}, p.err
	}
	p := s.pages[r.History.Cursor]
	return convmem.ReadResult{History: &convmem.HistoryResult{Messages: make([]convmem.Message, p.items), NextCursor: p.next}}, p.err
}

// collect returns the items of a run and its errors.
func collect[V any](run iter.Seq2[V, error]) (items []V, errs []error) {
	for item, err := range run {
		if err != nil {
			errs = append(errs, err)
		} else {
			items = append(items, item)
		}
	}
	return items, errs
}

func sayNumbers(t *testing.T, s convmem.Store, session string, count int) {
	t.Helper()
	for i := range count {
		_, err := s.Write(ctx, convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAllMessages(t *testing.T) {
	s := storetest.Open(t)
	sayNumbers(t, s, "other", 1)
	sayNumbers(t, s, "s", 7)
	first, err := convmem.History(ctx, s, convmem.HistoryRequest{SessionID: "s", Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		request convmem.HistoryRequest
		want    []string
		reads   int
	}{
		{"one page", convmem.HistoryRequest{SessionID: "s"}, []string{"0", "1", "2", "3", "4", "5", "6"}, 1},
		{"pages of three", convmem.HistoryRequest{SessionID: "s", Limit: 3}, []string{"0", "1", "2", "3", "4", "5", "6"}, 3},
		{"a page exactly full", convmem.HistoryRequest{SessionID: "s", Limit: 7}, []string{"0", "1", "2", "3", "4", "5", "6"}, 1},
		{"newest first", convmem.HistoryRequest{SessionID: "s", Order: convmem.OrderDescending, Limit: 4}, []string{"6", "5", "4", "3", "2", "1", "0"}, 2},
		{"from a cursor", convmem.HistoryRequest{SessionID: "s", Cursor: first.NextCursor, Limit: 2}, []string{"2", "3", "4", "5", "6"}, 3},
		{"nothing", convmem.HistoryRequest{SessionID: "none"}, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &watched{Store: s}
			run := convmem.AllMessages(ctx, w, c.request)
			for range 2 { // ranging again begins again
				messages, errs := collect(run)
				if diff := cmp.Diff(c.want, contents(messages)); diff != "" || errs != nil {
					t.Errorf("%v %s", errs, diff)
				}
			}
			if w.reads != 2*c.reads {
				t.Errorf("%d reads, want %d for each run", w.reads, c.reads)
			}
		})
	}
}

func TestAllSessions(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	var want []string
	for i := range 7 {
		w.say(fmt.Sprint(i), "x", convmem.MetadataPatch{})
		want = append([]string{fmt.Sprint(i)}, want...)
	}
	counted := &watched{Store: w.db}
	sessions, errs := collect(convmem.AllSessions(ctx, counted, convmem.SessionsRequest{Limit: 3}))
	var got []string
	for _, session := range sessions {
		got = append(got, session.SessionID)
	}
	if diff := cmp.Diff(want, got); diff != "" || errs != nil || counted.reads != 3 {
		t.Errorf("%v, %d reads: %s", errs, counted.reads, diff)
	}
}

// Leaving the loop early reads no further.
func TestAllMessagesLeftEarly(t *testing.T) {
	w := &watched{Store: storetest.Open(t)}
	sayNumbers(t, w, "s", 6)
	for _, c := range []struct{ leaveAfter, reads int }{{1, 1}, {2, 1}, {3, 2}, {4, 2}, {5, 3}} {
		w.reads = 0
		seen := 0
		for range convmem.AllMessages(ctx, w, convmem.HistoryRequest{SessionID: "s", Limit: 2}) {
			if seen++; seen == c.leaveAfter {
				break
			}
		}
		if w.reads != c.reads {
			t.Errorf("left after %d: %d reads, want %d", c.leaveAfter, w.reads, c.reads)
		}
	}
}

// An error comes once, with the zero value; only one with NextCursor lets the run go on.
func TestAllMessagesErrors(t *testing.T) {
	damage := &convmem.Error{Code: convmem.CodeCorrupt, NextCursor: "behind"}
	failed := &convmem.Error{Code: convmem.CodeIO}
	for _, c := range []struct {
		name    string
		pages   map[string]scriptedPage
		items   int
		errs    []error
		reads   int
		stopped bool // the loop stops at the first error
	}{
		{"at once", map[string]scriptedPage{"": {err: failed}}, 0, []error{failed}, 1, false},
		{"later", map[string]scriptedPage{"": {2, "a", nil}, "a": {err: failed}}, 2, []error{failed}, 2, false},
		{"damage", map[string]scriptedPage{"": {2, "a", nil}, "a": {err: damage}, "behind": {items: 3}}, 5, []error{damage}, 3, false},
		{"wrapped damage", map[string]scriptedPage{"": {err: fmt.Errorf("x: %w", damage)}, "behind": {items: 3}}, 3, []error{fmt.Errorf("x: %w", damage)}, 2, false},
		{"damage where the loop stops", map[string]scriptedPage{"": {err: damage}, "behind": {items: 3}}, 0, []error{damage}, 1, true},
		{"foreign error", map[string]scriptedPage{"": {err: context.Canceled}}, 0, []error{context.Canceled}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{pages: c.pages}
			items, errs := 0, []error(nil)
			for message, err := range convmem.AllMessages(ctx, s, convmem.HistoryRequest{SessionID: "s"}) {
				if err == nil {
					items++
					continue
				}
				errs = append(errs, err)
				if diff := cmp.Diff(convmem.Message{}, message); diff != "" {
					t.Error("an error comes with a message:", diff)
				}
				if c.stopped {
					break
				}
			}
			if items != c.items || fmt.Sprint(errs) != fmt.Sprint(c.errs) || s.reads != c.reads {
				t.Errorf("%d items, %v, %d reads; want %d, %v, %d", items, errs, s.reads, c.items, c.errs, c.reads)
			}
		})
	}
}

// A Store that sends its readers round and round is found out.
func TestRunsEndWhateverTheStoreDoes(t *testing.T) {
	for _, c := range []struct {
		name  string
		pages map[string]scriptedPage
		most  int // reads
	}{
		{"the cursor it was asked with", map[string]scriptedPage{"": {1, "a", nil}, "a": {1, "a", nil}}, 2},
		{"an empty page with a cursor", map[string]scriptedPage{"": {0, "a", nil}}, 1},
		{"damage that leads to itself", map[string]scriptedPage{"": {err: &convmem.Error{Code: convmem.CodeCorrupt, NextCursor: "a"}}, "a": {err: &convmem.Error{Code: convmem.CodeCorrupt, NextCursor: "a"}}}, 2},
		{"its own cursor after a way of 20", lasso(20, 1), 21},
		{"two in turn", lasso(1, 2), 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{pages: c.pages}
			_, errs := collect(convmem.AllMessages(ctx, s, convmem.HistoryRequest{SessionID: "s"}))
			messageReads := s.reads
			s.reads = 0
			_, sessionErrs := collect(convmem.AllSessions(ctx, s, convmem.SessionsRequest{}))
			for _, errs := range [][]error{errs, sessionErrs} {
				if len(errs) == 0 || !errors.Is(errs[len(errs)-1], convmem.ErrInternal) {
					t.Errorf("errors %v, want the last to be %s", errs, convmem.CodeInternal)
				}
			}
			if messageReads > c.most || s.reads > c.most {
				t.Errorf("%d and %d reads, want at most %d", messageReads, s.reads, c.most)
			}
		})
	}
}

// lasso is a way of pages with one item each that leads into a circle.
func lasso(way, circle int) map[string]scriptedPage {
	pages := map[string]scriptedPage{}
	for i := range way + circle {
		from, to := strconv.Itoa(i), i+1
		if i == 0 {
			from = ""
		}
		if to == way+circle {
			to = way
		}
		pages[from] = scriptedPage{1, strconv.Itoa(to), nil}
	}
	return pages
}

func TestEveryCircleIsFound(t *testing.T) {
	for way := 1; way <= 40; way++ {
		for circle := 1; circle <= 40; circle++ {
			s := &scripted{pages: lasso(way, circle)}
			_, errs := collect(convmem.AllMessages(ctx, s, convmem.HistoryRequest{SessionID: "s"}))
			if len(errs) != 1 || s.reads > 4*(way+circle) {
				t.Fatalf("way %d, circle %d: errors %v after %d reads", way, circle, errs, s.reads)
			}
		}
	}
}

// Long honest runs are not taken for circles.
func TestLongRunIsNoCircle(t *testing.T) {
	pages := map[string]scriptedPage{"": {1, "0", nil}}
	for i := range 5000 {
		pages[strconv.Itoa(i)] = scriptedPage{1, strconv.Itoa(i + 1), nil}
	}
	items, errs := collect(convmem.AllMessages(ctx, &scripted{pages: pages}, convmem.HistoryRequest{SessionID: "s"}))
	if len(items) != 5001 || errs != nil {
		t.Errorf("%d items, %v", len(items), errs)
	}
}

func TestAllMessagesCancelled(t *testing.T) {
	s := storetest.Open(t)
	sayNumbers(t, s, "s", 6)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen, errs := 0, []error(nil)
	for _, err := range convmem.AllMessages(ctx, s, convmem.HistoryRequest{SessionID: "s", Limit: 2}) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if seen++; seen == 3 {
			cancel()
		}
	}
	if seen != 4 || len(errs) != 1 || convmem.CodeOf(errs[0]) != convmem.CodeBusy {
		t.Errorf("%d messages, errors %v; want the page to its end and one %s", seen, errs, convmem.CodeBusy)
	}
}

// A loop that goes on behind a damaged message sees all others.
func TestAllMessagesBehindDamage(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	for _, content := range []string{"one", "two", "DAMAGEHERE", "four", "five"} {
		w.say("s", content, convmem.MetadataPatch{})
	}
	w.damage("DAMAGEHERE")
	for order, want := range map[convmem.Order][]string{
		convmem.OrderAscending: {"one", "two", "four", "five"}, convmem.OrderDescending: {"five", "four", "two", "one"},
	} {
		messages, errs := collect(convmem.AllMessages(ctx, w.db, convmem.HistoryRequest{SessionID: "s", Order: order}))
		if diff := cmp.Diff(want, contents(messages)); diff != "" || len(errs) != 1 {
			t.Errorf("%s: %v %s", order, errs, diff)
			continue
		}
		w.fails(string(order), errs[0], convmem.CodeCorrupt)
	}
}
