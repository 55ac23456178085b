package adk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/adk"
	"example.com/convmem/store/storetest"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/adk/memory"
	"google.golang.org/adk/session"
)

func TestABadEventKeepsNoOtherOut(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*session.Event)
		code   convmem.Code
	}{
		"too long":              {func(e *session.Event) { e.Content.Parts[0].Text = strings.Repeat("a", 1<<20+1) }, convmem.CodeValidation},
		"no UTF-8":              {func(e *session.Event) { e.Content.Parts[0].Text = "secret \xff" }, convmem.CodeValidation},
		"an id too long":        {func(e *session.Event) { e.ID = strings.Repeat("i", 1<<20) }, convmem.CodeValidation},
		"the id of another":     {func(e *session.Event) { e.ID = "s-0" }, convmem.CodeConflict},
		"metadata is no JSON":   {func(e *session.Event) { e.CustomMetadata = map[string]any{"f": func() {}} }, convmem.CodeValidation},
		"a number that is none": {func(e *session.Event) { e.CustomMetadata = map[string]any{"f": json.Number("secret")} }, convmem.CodeValidation},
		"a number too large":    {func(e *session.Event) { e.CustomMetadata = map[string]any{"f": json.Number("1e999")} }, convmem.CodeValidation},
	} {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t)
			c := talk("s", "first", "secret words", "last")
			test.change(c.events[1])
			err := adk.NewMemory(db).AddSessionToMemory(t.Context(), c)
			if code := convmem.CodeOf(err); code != test.code {
				t.Errorf("code %s of %v, want %s", code, err, test.code)
			}
			if err == nil || !strings.Contains(err.Error(), c.events[1].ID[:3]) || len(err.Error()) > 300 || strings.Contains(err.Error(), "secret") {
				t.Errorf("the error must name the event and nothing of it: %v", err)
			}
			if n := kept(t, db); n != 2 {
				t.Errorf("%d messages, want 2", n)
			}
		})
	}
}

func TestABadSessionIsOneError(t *testing.T) {
	long := numbered(1500)
	for name, c := range map[string]conversation{
		"session id": {app: "app", user: "alice", id: "", events: long.events},
		"user id":    {app: "app", user: strings.Repeat("u", 300), id: "s", events: long.events},
	} {
		err := adk.NewMemory(storetest.Open(t)).AddSessionToMemory(t.Context(), c)
		if convmem.CodeOf(err) != convmem.CodeValidation || strings.Contains(err.Error(), "event") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsOfTheStoreComeThrough(t *testing.T) {
	db := open(t, t.TempDir())
	m := adk.NewMemory(db)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.AddSessionToMemory(cancelled, talk("s", "one")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if n := kept(t, db); n != 0 {
		t.Errorf("%d messages of a cancelled call", n)
	}
	db.Close()
	var e *convmem.Error
	if err := m.AddSessionToMemory(t.Context(), talk("s", "one", "two")); !errors.As(err, &e) || strings.Contains(err.Error(), "event") {
		t.Errorf("closed: %v", err)
	}
	if _, err := m.SearchMemory(t.Context(), &memory.SearchRequest{AppName: "app", UserID: "alice", Query: "one"}); !errors.As(err, &e) {
		t.Errorf("closed: %v", err)
	}
}

// numbered is a session of so many remarks.
func numbered(n int) conversation {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint("number ", i))
	}
	return talk("s", all...)
}

// checkNumbers wants every remark of numbered but one, in order.
func checkNumbers(t *testing.T, db *convmem.DB, n, without int) {
	t.Helper()
	next := 0
	for m, err := range convmem.AllMessages(t.Context(), db.Namespace("app/alice"), convmem.HistoryRequest{SessionID: "s"}) {
		if next == without {
			next++
		}
		if want := fmt.Sprint("number ", next); err != nil || m.Content != want {
			t.Fatalf("%q, %v, want %q", m.Content, err, want)
		}
		next++
	}
	if next != n {
		t.Errorf("%d remarks, want %d", next, n)
	}
}

// A bad event among many is found with few writes, and order is kept.
func TestABadEventAmongAThousand(t *testing.T) {
	db := storetest.Open(t)
	c := numbered(convmem.MaxBatchMessages)
	c.events[700].Content.Parts[0].Text = "\xff"
	before := flushes(t, db)
	if err := adk.NewMemory(db).AddSessionToMemory(t.Context(), c); convmem.CodeOf(err) != convmem.CodeValidation {
		t.Error(err)
	}
	if synced := flushes(t, db) - before; synced > 30 {
		t.Errorf("synced %d times", synced)
	}
	checkNumbers(t, db, len(c.events), 700)
}

// What follows a failure of the store is not added either: it would stand before
// what failed for good.
func TestAFailingStoreKeepsTheOrder(t *testing.T) {
	disk := faultfs.New(vfs.NewMem(0))
	inMemory := func() *convmem.DB {
		db, err := convmem.Open(t.Context(), "", &convmem.Options{FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	c := numbered(2*convmem.MaxBatchMessages + 1)
	c.events[10].Content.Parts[0].Text = "\xff" // so that batches are halved
	failures := 0
	for n := range 8 {
		db := inMemory()
		disk.FailNth(faultfs.Write, n, faultfs.ErrInjected)
		if err := adk.NewMemory(db).AddSessionToMemory(t.Context(), c); errors.Is(err, faultfs.ErrInjected) {
			failures++
		}
		db.Close()
	}
	if failures < 5 {
		t.Errorf("only %d calls failed", failures)
	}
	db := inMemory()
	if err := adk.NewMemory(db).AddSessionToMemory(t.Context(), c); convmem.CodeOf(err) != convmem.CodeValidation {
		t.Fatal(err)
	}
	checkNumbers(t, db, len(c.events), 10)
}

// An event of which the JSON is as large as it may be, and one byte more.
func TestTheLargestEvent(t *testing.T) {
	db := storetest.Open(t)
	m := adk.NewMemory(db)
	add(t, m, talk("short", "a"))
	envelope := 0
	for message, err := range convmem.AllMessages(t.Context(), db.Namespace("app/alice"), convmem.HistoryRequest{SessionID: "short"}) {
		if err != nil {
			t.Fatal(err)
		}
		envelope = len(message.Payload.Data) - 1
	}
	text := strings.Repeat("<", convmem.MaxPayloadBytes-envelope)
	add(t, m, talk("large", text)) // its ids are as long as those of short
	err := m.AddSessionToMemory(t.Context(), talk("LARGE", text+"<"))
	if convmem.CodeOf(err) != convmem.CodeValidation || kept(t, db) != 2 {
		t.Errorf("%d messages, %.200v", kept(t, db), err)
	}
}

// damage changes a byte of the log that holds a text.
func damage(t *testing.T, dir, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(text))
	if at < 0 {
		t.Fatal("the log does not hold the text")
	}
	data[at] ^= 1
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedMemoryIsNotNoMemory(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	m := adk.NewMemory(db)
	add(t, m, talk("s", "the locker is number 52", "the harbour at dawn"))
	damage(t, dir, "the locker")
	_, err := m.SearchMemory(t.Context(), &memory.SearchRequest{AppName: "app", UserID: "alice", Query: "locker"})
	if convmem.CodeOf(err) != convmem.CodeCorrupt {
		t.Errorf("nothing but damage: %v", err)
	}
	if diff := cmp.Diff([]string{"the harbour at dawn"}, texts(search(t, m, "locker harbour"))); diff != "" {
		t.Errorf("beside damage (-want +got):\n%s", diff)
	}
}
