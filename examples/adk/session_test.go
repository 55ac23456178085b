package adk_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/examples/adk"
	"google.golang.org/adk/memory"
	"google.golang.org/adk/model"
	"google.golang.org/adk/session"
	"google.golang.org/genai"
)

// conversation is a session.Session of given events, which no service of ADK has
// to make.
type conversation struct {
	app, user, id string
	events        []*session.Event
}

func (c conversation) ID() string                    { return c.id }
func (c conversation) AppName() string               { return c.app }
func (c conversation) UserID() string                { return c.user }
func (c conversation) State() session.State          { return nil }
func (c conversation) Events() session.Events        { return c }
func (c conversation) LastUpdateTime() time.Time     { return time.Time{} }
func (c conversation) All() iter.Seq[*session.Event] { return slices.Values(c.events) }
func (c conversation) Len() int                      { return len(c.events) }
func (c conversation) At(i int) *session.Event       { return c.events[i] }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))

// said is an event of a text.
func said(id, author, text string) *session.Event {
	role := genai.Role(genai.RoleModel)
	if author == "user" {
		role = genai.RoleUser
	}
	return &session.Event{
		ID: id, Author: author, Timestamp: noon,
		LLMResponse: model.LLMResponse{Content: genai.NewContentFromText(text, role)},
	}
}

// talk is a session of alice in which she said texts.
func talk(id string, texts ...string) conversation {
	c := conversation{app: "app", user: "alice", id: id}
	for i, text := range texts {
		c.events = append(c.events, said(fmt.Sprint(id, "-", i), "user", text))
	}
	return c
}

func open(t testing.TB, dir string) *convmem.DB {
	t.Helper()
	db, err := convmem.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func add(t testing.TB, m memory.Service, c conversation) {
	t.Helper()
	if err := m.AddSessionToMemory(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// search returns what alice finds.
func search(t testing.TB, m memory.Service, query string) []memory.Entry {
	t.Helper()
	response, err := m.SearchMemory(t.Context(), &memory.SearchRequest{AppName: "app", UserID: "alice", Query: query})
	if err != nil {
		t.Fatal(err)
	}
	return response.Memories
}

func texts(entries []memory.Entry) []string {
	var all []string
	for _, entry := range entries {
		for _, part := range entry.Content.Parts {
			all = append(all, part.Text)
		}
	}
	return all
}

// kept counts the messages of alice.
func kept(t testing.TB, db *convmem.DB) int64 {
	t.Helper()
	health, err := db.Namespace(adk.Namespace("app", "alice")).Health(context.Background(), convmem.HealthRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return health.ActiveMessages
}
