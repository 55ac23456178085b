package adk_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/examples/adk"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/adk/memory"
)

func TestASessionIsAddedManyTimes(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	m := adk.NewMemory(db)
	c := talk("s", "one", "two")
	add(t, m, c)
	synced := flushes(t, db)
	for range 3 {
		add(t, m, c)
	}
	if now := flushes(t, db); now != synced {
		t.Errorf("adding the same again synced %d times", now-synced)
	}
	db.Close()

	db = open(t, dir)
	c.events = append(c.events, said("s-2", "user", "three"))
	// As it comes back from a database with coarser times.
	c.events[0].Timestamp = noon.Truncate(time.Microsecond).UTC()
	add(t, adk.NewMemory(db), c)
	if n := kept(t, db); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
	// The same ids in another session are other events.
	add(t, adk.NewMemory(db), conversation{app: "app", user: "alice", id: "t", events: c.events})
	if n := kept(t, db); n != 6 {
		t.Errorf("%d messages in two sessions, want 6", n)
	}
}

func flushes(t *testing.T, db *convmem.DB) int64 {
	t.Helper()
	health, err := db.Health(t.Context(), convmem.HealthRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return health.IO.FlushCalls
}

func TestEventsWithoutIDsAreKnownByWhatTheyAre(t *testing.T) {
	db := storetest.Open(t)
	c := talk("s", "one", "two", "one more")
	for _, e := range c.events {
		e.ID = ""
	}
	add(t, adk.NewMemory(db), c)
	c.events = c.events[1:] // the newest events of a session, as a host may ask for
	add(t, adk.NewMemory(db), c)
	if n := kept(t, db); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
}

func TestMoreEventsThanABatch(t *testing.T) {
	db := storetest.Open(t)
	var all []string
	for i := range convmem.MaxBatchMessages + 200 {
		all = append(all, fmt.Sprint("number ", i))
	}
	before := flushes(t, db)
	add(t, adk.NewMemory(db), talk("s", all...))
	if n := kept(t, db); n != int64(len(all)) {
		t.Errorf("%d messages, want %d", n, len(all))
	}
	if synced := flushes(t, db) - before; synced > 10 {
		t.Errorf("two batches synced %d times", synced)
	}
}

func TestQueriesOfAnyKind(t *testing.T) {
	m := adk.NewMemory(storetest.Open(t))
	add(t, m, talk("s", "the harbour at dawn"))
	for query, want := range map[string]int{
		"":                   0,
		"   ":                0,
		`"`:                  0,
		"harbour\xff":        1,
		"harbour AND (NOT *": 1,
		"harbour " + strings.Repeat("長い質問 ", 2000): 1,
		strings.Repeat("界", 4096):                  0,
	} {
		if found := search(t, m, query); len(found) != want {
			t.Errorf("%.20q: %d memories, want %d", query, len(found), want)
		}
	}
}

func TestUsersAndAppsShareNothing(t *testing.T) {
	db := storetest.Open(t)
	m := adk.NewMemory(db)
	owners := [][2]string{{"a", "b/c"}, {"a/b", "c"}, {"a%2Fb", "c"}, {"a", "b"}, {"", "a/b"}, {"a", ""}, {"", ""}, {"アプリ", "利用者"}}
	for _, owner := range owners {
		c := talk("s", "the colour of "+owner[0]+" and "+owner[1])
		c.app, c.user = owner[0], owner[1]
		add(t, m, c)
	}
	for _, owner := range owners {
		response, err := m.SearchMemory(t.Context(), &memory.SearchRequest{AppName: owner[0], UserID: owner[1], Query: "colour"})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"the colour of " + owner[0] + " and " + owner[1]}
		if diff := cmp.Diff(want, texts(response.Memories)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", owner, diff)
		}
	}
}

// Two programs and many goroutines add one growing session at once.
func TestEachEventOnceWhoeverAddsIt(t *testing.T) {
	dir := t.TempDir()
	handles := []*convmem.DB{open(t, dir), open(t, dir)}
	var all []string
	for i := range 30 {
		all = append(all, fmt.Sprint("remark ", i))
	}
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			m := adk.NewMemory(handles[worker%2])
			for n := range all {
				if err := m.AddSessionToMemory(context.Background(), talk("s", all[:n+1]...)); err != nil {
					t.Error(err)
				}
				if _, err := m.SearchMemory(context.Background(), &memory.SearchRequest{AppName: "app", UserID: "alice", Query: "remark"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for i, db := range handles {
		if n := kept(t, db); n != int64(len(all)) {
			t.Errorf("handle %d: %d messages, want %d", i, n, len(all))
		}
	}
}

// A session of three thousand events is added after every turn.
func BenchmarkAddAgain(b *testing.B) {
	db := open(b, b.TempDir())
	c := conversation{app: "app", user: "alice", id: "s"}
	for i := range 3000 {
		c.events = append(c.events, said(fmt.Sprint(i), "user", fmt.Sprint("remark ", i, strings.Repeat(" and so on", 10))))
	}
	m := adk.NewMemory(db)
	add(b, m, c)
	for b.Loop() {
		add(b, m, c)
	}
}
