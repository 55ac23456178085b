package adk_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
		&genai.Part{Text: "Shall I <book> it?", ThoughtSignature: []byte{0, 255}},
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

func TestWhatIsNoMemory(t *testing.T) {
	partial := said("partial", "planner", "apple")
	partial.Partial = true
	picture := &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: make([]byte, 3<<20)}}
	of := func(id string, parts ...*genai.Part) *session.Event {
		e := said(id, "planner", "")
		e.Content.Parts = parts
		return e
	}
	thought := &genai.Part{Text: "an apple, I think", Thought: true}
	call := &genai.Part{FunctionCall: &genai.FunctionCall{Name: "apple"}}
	response := &genai.Part{FunctionResponse: &genai.FunctionResponse{
		Name: "look", Response: map[string]any{"seen": "pear"},
		Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{Data: make([]byte, 3<<20)}}},
	}}
	mixed := of("mixed", &genai.Part{Text: "an apple"}, nil, picture, thought, response,
		&genai.Part{Text: "and a pear", InlineData: picture.InlineData})

	db := storetest.Open(t)
	m := adk.NewMemory(db)
	add(t, m, conversation{app: "app", user: "alice", id: "s", events: []*session.Event{
		nil, partial, {ID: "nothing"}, of("image", picture), of("call", call, nil), of("thought", thought),
		said("empty", "user", ""), said("blank", "user", " \n\t"), mixed,
	}})
	want := []*genai.Part{
		{Text: "an apple"},
		{FunctionResponse: &genai.FunctionResponse{Name: "look", Response: map[string]any{"seen": "pear"}}},
		{Text: "and a pear"},
	}
	found := search(t, m, "apple")
	if len(found) != 1 || kept(t, db) != 1 {
		t.Fatalf("%d found of %d messages, want 1 of 1", len(found), kept(t, db))
	}
	if diff := cmp.Diff(want, found[0].Content.Parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if mixed.Content.Parts[5].InlineData == nil || len(mixed.Content.Parts) != 6 || response.FunctionResponse.Parts == nil {
		t.Error("the caller's event was changed")
	}
}

// Other programs that look at the store see who spoke, and when.
func TestWhatOtherProgramsSee(t *testing.T) {
	db := storetest.Open(t)
	c := conversation{app: "app", user: "alice", id: "s", events: []*session.Event{
		said("1", "user", "a question"), said("2", "planner", "an answer"), said("3", "planner", "a result"), said("4", "", "unsigned"),
	}}
	c.events[2].Content.Role = genai.RoleUser // as results of functions have it
	c.events[3].Content.Role = genai.RoleUser
	c.events[3].Timestamp = time.Date(1969, 7, 20, 0, 0, 0, 0, time.UTC)
	add(t, adk.NewMemory(db), c)
	var seen []string
	for m, err := range convmem.AllMessages(t.Context(), db.Namespace("app/alice"), convmem.HistoryRequest{SessionID: "s"}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, fmt.Sprintln(m.Role, m.Content, m.Metadata.OccurredAt.Format(time.RFC3339Nano)))
	}
	want := []string{"user a question 2026-03-01T11:00:00.123Z\n", "assistant an answer 2026-03-01T11:00:00.123Z\n",
		"assistant a result 2026-03-01T11:00:00.123Z\n", "user unsigned 0001-01-01T00:00:00Z\n"}
	if found := search(t, adk.NewMemory(db), "unsigned"); len(found) != 1 || !found[0].Timestamp.Equal(c.events[3].Timestamp) {
		t.Errorf("found %+v", found)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

	for _, payload := range []string{`{"content": secret`, `{"timestamp": "secret"}`, `{}`, `{"content":{"parts":[null]}}`} {
		written, err := namespace.Write(t.Context(), convmem.WriteRequest{
			SessionID: "notes", Role: convmem.RoleUser, Content: "a remark",
			Payload: convmem.Payload{Type: "adk.event", Data: []byte(payload)},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.SearchMemory(t.Context(), &memory.SearchRequest{AppName: "app", UserID: "alice", Query: "remark"})
		if convmem.CodeOf(err) != convmem.CodeCorrupt || !strings.Contains(err.Error(), written.Message.ID) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", payload, err)
		}
		if _, err := namespace.Delete(t.Context(), convmem.DeleteRequest{MessageID: written.Message.ID}); err != nil {
			t.Fatal(err)
		}
	}
}

// One event in the Go types of a running session, and as a database of sessions
// gives it back, is the same event.
func TestAnEventIsTheSameFromADatabase(t *testing.T) {
	type place struct{ B, A int }
	for name, value := range map[string]any{
		"a struct": place{1, 2}, "raw JSON": json.RawMessage(`{"b":1, "a":2}`), "a number": json.Number("1.0"),
		"a large integer": int64(1<<60 + 1), "no UTF-8": "\xff", "markup": "<b>&", "a time": noon, "bytes": []byte{1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			live := said("1", "user", "the harbour")
			live.CustomMetadata = map[string]any{"value": value}
			live.Content.Parts = append(live.Content.Parts, &genai.Part{
				FunctionCall: &genai.FunctionCall{Name: "f", Args: map[string]any{"value": value}},
			})
			data, err := json.Marshal(live)
			if err != nil {
				t.Fatal(err)
			}
			var loaded session.Event
			if err := json.Unmarshal(data, &loaded); err != nil {
				t.Fatal(err)
			}
			db := storetest.Open(t)
			for _, e := range []*session.Event{live, &loaded} {
				add(t, adk.NewMemory(db), conversation{app: "app", user: "alice", id: "s", events: []*session.Event{e}})
			}
			if n := kept(t, db); n != 1 {
				t.Errorf("%d messages, want 1", n)
			}
		})
	}
}
