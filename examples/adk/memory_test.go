package adk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/examples/adk"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/adk/memory"
	"google.golang.org/adk/session"
	"google.golang.org/genai"
)

func TestAMemoryIsTheWholeEvent(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	e := said("event-1", "planner", "The invoice number is 4711.")
	e.CustomMetadata = map[string]any{"source": "mail", "page": 3.0}
	e.Content.Parts = append(e.Content.Parts,
		&genai.Part{FunctionCall: &genai.FunctionCall{ID: "call", Name: "book", Args: map[string]any{"amount": 12.5}}},
		&genai.Part{Text: "Shall I book it?", ThoughtSignature: []byte{0, 255}},
	)
	add(t, adk.NewMemory(db), conversation{app: "app", user: "alice", id: "s", events: []*session.Event{e}})
	db.Close()

	want := []memory.Entry{{
		ID: "event-1", Author: "planner", Content: e.Content, CustomMetadata: e.CustomMetadata,
		Timestamp: e.Timestamp.UTC().Truncate(time.Millisecond),
	}}
	for _, query := range []string{"invoice", "book it"} {
		if diff := cmp.Diff(want, search(t, adk.NewMemory(open(t, dir)), query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

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

func TestWhatIsNoMemory(t *testing.T) {
	partial := said("partial", "planner", "apple")
	partial.Partial = true
	picture := &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: make([]byte, 3<<20)}}
	image := said("image", "user", "")
	image.Content.Parts = []*genai.Part{picture}
	call := said("call", "planner", "")
	call.Content.Parts = []*genai.Part{{FunctionCall: &genai.FunctionCall{Name: "apple"}}, nil}
	captioned := said("captioned", "user", "an apple")
	captioned.Content.Parts = append(captioned.Content.Parts, nil, picture,
		&genai.Part{Text: "and a pear", InlineData: picture.InlineData})

	db := storetest.Open(t)
	m := adk.NewMemory(db)
	add(t, m, conversation{app: "app", user: "alice", id: "s", events: []*session.Event{
		partial, {ID: "nothing"}, image, call, captioned, said("empty", "user", ""),
	}})
	if diff := cmp.Diff([]string{"an apple", "and a pear"}, texts(search(t, m, "apple"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := kept(t, db); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
	if captioned.Content.Parts[3].InlineData == nil || len(captioned.Content.Parts) != 4 {
		t.Error("the caller's event was changed")
	}
}

func TestABadEventKeepsNoOtherOut(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*session.Event)
		code   convmem.Code
	}{
		"too long":            {func(e *session.Event) { e.Content.Parts[0].Text = strings.Repeat("a", 1<<20+1) }, convmem.CodeValidation},
		"no UTF-8":            {func(e *session.Event) { e.Content.Parts[0].Text = "secret \xff" }, convmem.CodeValidation},
		"an id too long":      {func(e *session.Event) { e.ID = strings.Repeat("i", 257) }, convmem.CodeValidation},
		"the id of another":   {func(e *session.Event) { e.ID = "s-0" }, convmem.CodeConflict},
		"metadata is no JSON": {func(e *session.Event) { e.CustomMetadata = map[string]any{"f": func() {}} }, convmem.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t)
			c := talk("s", "first", "secret words", "last")
			test.change(c.events[1])
			err := adk.NewMemory(db).AddSessionToMemory(t.Context(), c)
			if code := convmem.CodeOf(err); code != test.code {
				t.Errorf("code %s of %v, want %s", code, err, test.code)
			}
			if err == nil || !strings.Contains(err.Error(), c.events[1].ID) || strings.Contains(err.Error(), "secret") {
				t.Errorf("the error must name the event and nothing of it: %v", err)
			}
			if n := kept(t, db); n != 2 {
				t.Errorf("%d messages, want 2", n)
			}
		})
	}
}

func TestABadSessionIsOneError(t *testing.T) {
	for name, c := range map[string]conversation{
		"session id": {app: "app", user: "alice", id: "", events: talk("s", "one", "two").events},
		"user id":    {app: "app", user: strings.Repeat("u", 300), id: "s", events: talk("s", "one", "two").events},
	} {
		err := adk.NewMemory(storetest.Open(t)).AddSessionToMemory(t.Context(), c)
		if convmem.CodeOf(err) != convmem.CodeValidation || strings.Contains(err.Error(), "event") {
			t.Errorf("%s: %v", name, err)
		}
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

// Other programs that look at the store see who spoke, and when.
func TestWhatOtherProgramsSee(t *testing.T) {
	db := storetest.Open(t)
	c := conversation{app: "app", user: "alice", id: "s", events: []*session.Event{said("1", "user", "a question"), said("2", "planner", "an answer")}}
	add(t, adk.NewMemory(db), c)
	var seen []string
	for m, err := range convmem.AllMessages(t.Context(), db.Namespace("app/alice"), convmem.HistoryRequest{SessionID: "s"}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, fmt.Sprintln(m.Role, m.Content, m.Metadata.OccurredAt.Format(time.RFC3339Nano)))
	}
	want := []string{"user a question 2026-03-01T11:00:00.123Z\n", "assistant an answer 2026-03-01T11:00:00.123Z\n"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQueriesOfAnyKind(t *testing.T) {
	m := adk.NewMemory(storetest.Open(t))
	add(t, m, talk("s", "the harbour at dawn"))
	for query, want := range map[string]int{
		"":                   0,
		"   ":                0,
		`"`:                  0,
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

func TestMessagesOfOtherPrograms(t *testing.T) {
	db := storetest.Open(t)
	m := adk.NewMemory(db)
	namespace := db.Namespace(adk.Namespace("app", "alice"))
	asked := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, r := range []convmem.WriteRequest{
		{Role: convmem.RoleUser, Content: "a note by hand", Metadata: convmem.MetadataPatch{OccurredAt: asked}},
		{Role: convmem.RoleTool, Content: "a note by a tool"},
	} {
		r.SessionID = "notes"
		if _, err := namespace.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	found := search(t, m, "note")
	slices.SortFunc(found, func(a, b memory.Entry) int { return a.Timestamp.Compare(b.Timestamp) })
	if len(found) != 2 || !found[0].Timestamp.Equal(asked) || found[0].Content.Role != genai.RoleUser ||
		found[1].Content.Role != genai.RoleModel || found[1].Author != "tool" || found[1].Timestamp.IsZero() {
		t.Errorf("found %+v", found)
	}

	written, err := namespace.Write(t.Context(), convmem.WriteRequest{
		SessionID: "notes", Role: convmem.RoleUser, Content: "another note",
		Payload: convmem.Payload{Type: "adk.event", Data: []byte(`{"content": secret`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.SearchMemory(t.Context(), &memory.SearchRequest{AppName: "app", UserID: "alice", Query: "note"})
	if err == nil || !strings.Contains(err.Error(), written.Message.ID) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a payload that is none: %v", err)
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
