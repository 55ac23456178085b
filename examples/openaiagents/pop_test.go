package openaiagents_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/openaiagents"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
)

var errKilled = errors.New("killed")

func fail(calls ...string) func(string) error {
	return func(call string) error {
		for _, c := range calls {
			if c == call {
				return &convmem.Error{Op: call, Code: convmem.CodeIO, Message: "the disk is gone", Err: errKilled}
			}
		}
		return nil
	}
}

// Goroutines over two handles pop everything once, while others add and read.
func TestConcurrentPops(t *testing.T) {
	dir := t.TempDir()
	dbs := []*convmem.DB{open(t, dir), open(t, dir)}
	const before, meanwhile = 200, 40
	want := map[string]int{}
	var first []item
	for i := range before {
		first = append(first, raw(note(fmt.Sprint("item ", i))))
		want[note(fmt.Sprint("item ", i))] = 1
	}
	add(t, openaiagents.NewSession(dbs[0], "s"), first...)
	var mu sync.Mutex
	popped := map[string]int{}
	var poppers, adders sync.WaitGroup
	adders.Go(func() {
		for i := range meanwhile {
			add(t, openaiagents.NewSession(dbs[1], "s"), raw(note(fmt.Sprint("late ", i))))
		}
	})
	for i := range meanwhile {
		want[note(fmt.Sprint("late ", i))] = 1
	}
	popAll := func(s *openaiagents.Session) {
		for {
			data := pop(t, s)
			if data == "" {
				return
			}
			mu.Lock()
			popped[data]++
			mu.Unlock()
		}
	}
	for i := range 8 {
		s := openaiagents.NewSession(dbs[i%2], "s")
		poppers.Go(func() { popAll(s) })
	}
	adders.Wait()
	poppers.Wait()
	popAll(openaiagents.NewSession(dbs[0], "s")) // what was added behind the last look
	if diff := cmp.Diff(want, popped); diff != "" {
		t.Errorf("popped (-want +got):\n%s", diff)
	}
	if n := len(history(t, dbs[1], "s")); n != 0 {
		t.Errorf("%d messages left", n)
	}
	t.Logf("%d items popped once each by 8 goroutines over 2 handles", len(popped))
}

// A process that dies, or whose deletion fails, behind the claim has popped the
// item: no reader sees it, and the next pop, or clearing, removes what is left.
func TestDeleteFailsBehindClaim(t *testing.T) {
	for _, cleaner := range []string{"pop", "clear"} {
		t.Run(cleaner, func(t *testing.T) {
			dir := t.TempDir()
			db := open(t, dir)
			s := openaiagents.NewSession(&hooked{Store: db, before: fail("delete")}, "s")
			add(t, s, raws(note("a"), note("b"), note("c"))...)
			if got := pop(t, s); got != note("c") {
				t.Fatalf("popped %q", got)
			}
			if n := len(history(t, db, "s")); n != 3 {
				t.Fatalf("%d messages, want the claimed one among them", n)
			}
			found, err := db.Search(t.Context(), convmem.SearchRequest{Query: "c"})
			if err != nil || len(found.Hits) != 0 {
				t.Errorf("the text of a claimed item is found: %d hits, %v", len(found.Hits), err)
			}
			if last := history(t, db, "s")[2]; last.Content != "[popped]" || len(last.Payload.Data) != 0 {
				t.Errorf("left is %q", last.Content)
			}
			db.Close()
			db = open(t, dir)
			s = openaiagents.NewSession(db, "s")
			for limit, want := range map[int][]string{0: {note("a"), note("b")}, 1: {note("b")}, 2: {note("a"), note("b")}} {
				if diff := cmp.Diff(want, get(t, s, limit)); diff != "" {
					t.Errorf("limit %d (-want +got):\n%s", limit, diff)
				}
			}
			left := 1
			if cleaner == "pop" {
				if got := pop(t, s); got != note("b") {
					t.Errorf("popped %q", got)
				}
			} else {
				left = 0
				if err := s.ClearSession(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if n := len(history(t, db, "s")); n != left {
				t.Errorf("%d messages left, want %d", n, left)
			}
		})
	}
}

// More leftovers than PopItem reads at once.
func TestManyLeftovers(t *testing.T) {
	db := storetest.Open(t)
	dying := openaiagents.NewSession(&hooked{Store: db, before: fail("delete")}, "s")
	const items = 30
	for i := range items {
		add(t, dying, raw(note(fmt.Sprint(i))))
	}
	// Each pop of a store that cannot delete would stop at the leftover before it,
	// so they are claimed by hand.
	for _, m := range history(t, db, "s")[1:] {
		_, err := db.Update(t.Context(), convmem.UpdateRequest{MessageID: m.ID, Payload: &convmem.Payload{Type: "openaiagents.popped"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dying.PopItem(t.Context()); !errors.Is(err, errKilled) {
		t.Errorf("leftovers stay, but the error is %v", err)
	}
	s := openaiagents.NewSession(db, "s")
	if got := get(t, s, 1); !cmp.Equal(got, []string{note("0")}) {
		t.Errorf("got %q", got)
	}
	if got := pop(t, s); got != note("0") {
		t.Errorf("popped %q", got)
	}
	if n := len(history(t, db, "s")); n != 0 || pop(t, s) != "" {
		t.Errorf("%d messages left", n)
	}
}

// Between the look at the newest item and its claim somebody else changes it, pops
// it, deletes it, or adds one.
func TestChangedBeforeClaim(t *testing.T) {
	foreign := convmem.WriteRequest{SessionID: "s", Role: "user", Content: "old"}
	for _, test := range []struct {
		name   string
		change func(*testing.T, openaiagents.Store, convmem.Message)
		want   string
		left   int
	}{
		{"edited", func(t *testing.T, store openaiagents.Store, m convmem.Message) {
			_, err := store.Update(t.Context(), convmem.UpdateRequest{MessageID: m.ID, Content: new("new")})
			if err != nil {
				t.Fatal(err)
			}
		}, note("new"), 1},
		{"popped", func(t *testing.T, store openaiagents.Store, _ convmem.Message) {
			if got := pop(t, openaiagents.NewSession(store, "s")); got != note("old") {
				t.Fatal(got)
			}
		}, note("first"), 0},
		{"deleted", func(t *testing.T, store openaiagents.Store, m convmem.Message) {
			if _, err := store.Delete(t.Context(), convmem.DeleteRequest{MessageID: m.ID}); err != nil {
				t.Fatal(err)
			}
		}, note("first"), 0},
		{"one added", func(t *testing.T, store openaiagents.Store, _ convmem.Message) {
			add(t, openaiagents.NewSession(store, "s"), raw(note("behind")))
		}, note("old"), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, store openaiagents.Store) {
				add(t, openaiagents.NewSession(store, "s"), raw(note("first")))
				w, err := store.Write(t.Context(), foreign)
				if err != nil {
					t.Fatal(err)
				}
				var once sync.Once
				h := &hooked{Store: store, before: func(call string) error {
					if call == "update" {
						once.Do(func() { test.change(t, store, w.Message) })
					}
					return nil
				}}
				if got := pop(t, openaiagents.NewSession(h, "s")); got != test.want {
					t.Errorf("popped %s, want %s", got, test.want)
				}
				if n := len(history(t, store, "s")); n != test.left {
					t.Errorf("%d messages left, want %d", n, test.left)
				}
			})
		})
	}
}

// Every call of the store fails once, before it does something and behind it. The
// error says so, and afterwards nothing is half done.
func TestStoreFails(t *testing.T) {
	methods := map[string]func(context.Context, *openaiagents.Session) error{
		"get": func(ctx context.Context, s *openaiagents.Session) error { _, err := s.GetItems(ctx, 0); return err },
		"add": func(ctx context.Context, s *openaiagents.Session) error {
			return s.AddItems(ctx, raws(note("c"), note("d")))
		},
		"pop":   func(ctx context.Context, s *openaiagents.Session) error { _, err := s.PopItem(ctx); return err },
		"clear": func(ctx context.Context, s *openaiagents.Session) error { return s.ClearSession(ctx) },
	}
	a, b := note("a"), note("b")
	for _, test := range []struct {
		method, call  string
		before, after []string // what is there then
	}{
		{"get", "read", []string{a, b}, []string{a, b}},
		{"add", "write batch", []string{a, b}, []string{a, b, note("c"), note("d")}},
		{"pop", "read", []string{a, b}, []string{a, b}},
		{"pop", "update", []string{a, b}, []string{a}},
		{"clear", "delete session", []string{a, b}, nil},
	} {
		for when, want := range map[string][]string{"before": test.before, "after": test.after} {
			t.Run(test.method+" "+test.call+" "+when, func(t *testing.T) {
				onBoth(t, func(t *testing.T, store openaiagents.Store) {
					s := openaiagents.NewSession(store, "s")
					add(t, s, raws(a, b)...)
					h := &hooked{Store: store}
					if when == "before" {
						h.before = fail(test.call)
					} else {
						h.after = fail(test.call)
					}
					err := methods[test.method](t.Context(), openaiagents.NewSession(h, "s"))
					if e := failsWith(t, err, convmem.CodeIO); e.Op != test.call || !errors.Is(err, errKilled) || !errors.Is(err, convmem.ErrIO) {
						t.Error(err)
					}
					if diff := cmp.Diff(want, get(t, s, 0)); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
			})
		}
	}
	t.Run("a context that ended", func(t *testing.T) {
		s := openaiagents.NewSession(open(t, t.TempDir()), "s")
		add(t, s, raws(a, b)...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, method := range methods {
			if err := method(ctx, s); convmem.CodeOf(err) != convmem.CodeBusy || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff([]string{a, b}, get(t, s, 0)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a closed store", func(t *testing.T) {
		db := open(t, t.TempDir())
		db.Close()
		for name, method := range methods {
			if err := method(t.Context(), openaiagents.NewSession(db, "s")); !errors.Is(err, convmem.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
