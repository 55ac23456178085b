package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"pgregory.net/rapid"
)

// tenants are users, each with a store of their own, of one HTTP server.
type tenants struct {
	site
	mu     sync.Mutex
	stores map[string]*storetest.Model
}

var users = []string{"ann", "ben"}

func newTenants(t testing.TB) *tenants {
	t.Helper()
	h := &tenants{stores: map[string]*storetest.Model{}}
	o := &HTTPOptions{Options: Options{Resources: true}, Tokens: map[string]string{}}
	for _, user := range users {
		o.Tokens["token-of-"+user] = user
	}
	o.StoreFor = func(ctx context.Context) (convmem.Store, error) {
		return h.store(auth.TokenInfoFromContext(ctx).UserID), nil
	}
	h.clear()
	h.site = newSite(t, Handler(nil, o))
	return h
}

// clear gives every user an empty store.
func (h *tenants) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, user := range users {
		h.stores[user] = newModel()
	}
}

func (h *tenants) store(user string) *storetest.Model {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stores[user]
}

// ask calls a tool as a user.
func (h *tenants) ask(user, tool string, args given) string {
	h.Helper()
	r := h.call(dialects[0], tool, raw(args), "Authorization", "Bearer token-of-"+user)
	if r.status != 200 || r.reply.Error.Code != 0 {
		h.Fatalf("%s as %s: status %d, %s", tool, user, r.status, r.body)
	}
	return r.reply.text()
}

// readSession reads a resource as a user, and returns the body of the answer.
func (h *tenants) readSession(user, session string) string {
	h.Helper()
	body := dialects[0].request(1, "resources/read", `"uri":`+quoted("convmem://session/"+session))
	return h.post(body, "Mcp-Protocol-Version", dialects[0].name, "Authorization", "Bearer token-of-"+user).body
}

func (h *tenants) write(user string, args given) message {
	h.Helper()
	d := decodeAs[writeDocument](h.t(), h.ask(user, "write_message", args))
	if d.Status != statusOK {
		h.Fatalf("a write as %s: %+v", user, d)
	}
	return d.Message
}

// t is the test, for helpers that want the type.
func (h *tenants) t() *testing.T { return h.TB.(*testing.T) }

// marks stand in everything that a user says, and nowhere else.
func mark(user string) string { return "secretof" + user }

func other(user string) string {
	if user == users[0] {
		return users[1]
	}
	return users[0]
}

// TestTenantsAreApart lets one user try each way to another's message.
func TestTenantsAreApart(t *testing.T) {
	h := newTenants(t)
	var all []message
	for i := range 5 {
		all = append(all, h.write("ann", given{
			"session_id": "s", "role": "user", "content": fmt.Sprint(mark("ann"), " ", i), "idempotency_key": fmt.Sprint("key ", i),
		}))
	}
	h.write("ann", given{"session_id": "another", "role": "user", "content": mark("ann")})
	before := h.ask("ann", "read_messages", given{"session_id": "s"})
	target := all[0].MessageID
	cursor := decodeAs[historyDocument](t, h.ask("ann", "read_messages", given{"session_id": "s", "limit": 1})).NextCursor
	sessionsCursor := decodeAs[sessionsDocument](t, h.ask("ann", "read_messages", given{"view": "sessions", "limit": 1})).NextCursor
	if cursor == "" || sessionsCursor == "" {
		t.Fatal("there are no cursors to try")
	}

	for _, c := range []struct {
		name, tool string
		args       given
		want       string // stands in the answer
	}{
		{"history", "read_messages", given{"session_id": "s"}, `{"history":[]}`},
		{"sessions", "read_messages", given{"view": "sessions"}, `{"sessions":[]}`},
		{"search", "search_messages", given{"query": mark("ann")}, `{"results":[]}`},
		{"search of the session", "search_messages", given{"query": mark("ann"), "session_id": "s", "context_size": 3}, `{"results":[]}`},
		{"context by id", "read_messages", given{"view": "context", "message_id": target}, `"NOT_FOUND"`},
		{"update by id", "update_message", given{"message_id": target, "content": "changed"}, `"NOT_FOUND"`},
		{"update at a revision", "update_message", given{"message_id": target, "content": "changed", "expected_revision": 7}, `"NOT_FOUND"`},
		{"delete by id", "delete_message", given{"message_id": target}, `{"status":"NOT_FOUND"}`},
		{"delete in the session", "delete_message", given{"message_id": target, "session_id": "s"}, `{"status":"NOT_FOUND"}`},
		{"a cursor of the history", "read_messages", given{"session_id": "s", "cursor": cursor}, ``},
		{"a cursor of the sessions", "read_messages", given{"view": "sessions", "cursor": sessionsCursor}, ``},
		{"rebuild", "rebuild_index", nil, `"messages_indexed":0`},
		{"health", "get_system_health", nil, `"active_messages":0`},
		{"the key", "write_message", given{"session_id": "s", "role": "user", "content": mark("ben"), "idempotency_key": "key 0"}, `{"status":"OK","message"`},
	} {
		text := h.ask("ben", c.tool, c.args)
		if !strings.Contains(text, c.want) || strings.Contains(text, mark("ann")) {
			t.Errorf("%s: %s", c.name, text)
		}
	}
	if body := h.readSession("ben", "another"); strings.Contains(body, mark("ann")) || !strings.Contains(body, `"error"`) {
		t.Errorf("a resource: %s", body)
	}
	if body := h.readSession("ann", "another"); !strings.Contains(body, mark("ann")) {
		t.Errorf("a resource of one's own: %s", body)
	}
	checkForeignRelation(t, h, target)
	if after := h.ask("ann", "read_messages", given{"session_id": "s"}); after != before {
		t.Errorf("what the other did changed\n%s\nto\n%s", before, after)
	}
	if text := h.ask("ann", "read_messages", given{"view": "context", "message_id": target}); !strings.Contains(text, `"relations":[]`) {
		t.Errorf("the relation of the other shows: %s", text)
	}
}

// checkForeignRelation relates a message of ben's to one of ann's. It reads as
// deleted, and nothing tells that there is such a message.
func checkForeignRelation(t *testing.T, h *tenants, target string) {
	t.Helper()
	const nobodys = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	relate := func(to string) (around contextDocument, found searchDocument) {
		metadata := raw(given{"relations": []given{{"type": "derived_from", "message_id": to}}})
		m := h.write("ben", given{"session_id": to, "role": "user", "content": "related", "metadata_json": metadata})
		around = decodeAs[contextDocument](t, h.ask("ben", "read_messages", given{"view": "context", "message_id": m.MessageID, "relation_depth": 2}))
		found = decodeAs[searchDocument](t, h.ask("ben", "search_messages", given{"query": "related", "session_id": to}))
		return around, found
	}
	around, found := relate(target)
	want := []related{{Type: "derived_from", Direction: "outgoing", Depth: 1, MessageID: target, Status: "deleted"}}
	if diff := cmp.Diff(want, around.Relations); diff != "" {
		t.Errorf("a relation to the other's message (-want +got):\n%s", diff)
	}
	aroundNobody, foundNobody := relate(nobodys)
	aroundNobody.Relations[0].MessageID = target
	if diff := cmp.Diff(aroundNobody.Relations, around.Relations); diff != "" {
		t.Errorf("it does not look like one to a message that never was (-never +other's):\n%s", diff)
	}
	if len(found.Results) != 1 || found.Results[0].RelationCount != 0 || foundNobody.Results[0].RelationCount != 0 {
		t.Errorf("relations are counted: %+v, %+v", found.Results, foundNobody.Results)
	}
}

// wanderer is a user of a random walk, and what is known of the store.
type wanderer struct {
	contents map[string]string // by id, live ones
	ids      []string          // of all messages, deleted ones too
	cursors  []string
	keys     map[string]string // idempotency key to message id
}

// TestTenantsWander lets two users do anything in turn, with ids, cursors and
// keys of their own and of the other. No answer ever holds what the other said,
// and each store holds what its user did.
func TestTenantsWander(t *testing.T) {
	t.Parallel()
	h, steps := newTenants(t), 0
	rapid.Check(t, func(r *rapid.T) {
		h.clear()
		known := map[string]*wanderer{}
		for _, user := range users {
			known[user] = &wanderer{contents: map[string]string{}, keys: map[string]string{}}
		}
		for range rapid.IntRange(3, 20).Draw(r, "steps") {
			steps++
			wander(r, h, known)
		}
		for _, user := range users {
			history, err := convmem.History(t.Context(), h.store(user), convmem.HistoryRequest{SessionID: "s", Limit: convmem.MaxReadLimit})
			if err != nil {
				r.Fatal(err)
			}
			held := map[string]string{}
			for _, m := range history.Messages {
				held[m.ID] = m.Content
			}
			if !maps.Equal(held, known[user].contents) {
				r.Fatalf("the store of %s holds %v, want %v", user, held, known[user].contents)
			}
		}
	})
	t.Logf("%d steps", steps)
}

func wander(r *rapid.T, h *tenants, known map[string]*wanderer) {
	user := rapid.SampledFrom(users).Draw(r, "user")
	own, foreign := known[user], known[other(user)]
	id, isOwn := pickFrom(r, "id", own.ids, foreign.ids)
	content := fmt.Sprint(mark(user), " ", len(own.ids))
	_, live := own.contents[id]
	tool, args, want := "", given{}, ""
	step := rapid.SampledFrom([]string{"write", "write", "write", "key", "update", "delete", "context", "history", "sessions", "search", "resource"}).Draw(r, "step")
	switch step {
	case "write":
		args = given{"session_id": "s", "role": "user", "content": content}
		if id != "" {
			args["metadata_json"] = raw(given{"relations": []given{{"type": "supersedes", "message_id": id}}})
		}
		own.learn(h.write(user, args))
		return
	case "key":
		key := rapid.SampledFrom([]string{"k1", "k2"}).Draw(r, "key")
		m := decodeAs[writeDocument](h.t(), h.ask(user, "write_message", given{"session_id": "s", "role": "user", "content": mark(user) + key, "idempotency_key": key}))
		if first := own.keys[key]; m.Replayed != (own.contents[first] != "") || m.Replayed && m.Message.MessageID != first {
			r.Fatalf("the key %s of %s: %+v, want that of %q", key, user, m, first)
		}
		own.keys[key] = m.Message.MessageID
		if !m.Replayed {
			own.learn(m.Message)
		}
		return
	case "update":
		tool, args = "update_message", given{"message_id": id, "content": content}
		if want = `"NOT_FOUND"`; live {
			want, own.contents[id] = `"status":"OK"`, content
		}
	case "delete":
		tool, args = "delete_message", given{"message_id": id}
		if want = `{"status":"NOT_FOUND"}`; live {
			want = `{"status":"OK"}`
			delete(own.contents, id)
		}
	case "context":
		tool, args = "read_messages", given{"view": "context", "message_id": id, "before": 10, "after": 10, "relation_depth": 2}
		if want = `"NOT_FOUND"`; live {
			want = id
		}
	case "history", "sessions":
		cursor, _ := pickFrom(r, "cursor", own.cursors, foreign.cursors)
		tool, args = "read_messages", given{"view": step, "limit": 2, "cursor": optional(cursor)}
		if step == "history" {
			args["session_id"] = "s"
		}
	case "search":
		whose := rapid.SampledFrom(users).Draw(r, "whose")
		tool, args = "search_messages", given{"query": mark(whose), "context_size": 1, "limit": 100}
		if whose != user {
			want = `{"results":[]}`
		}
	case "resource":
		if body := h.readSession(user, "s"); strings.Contains(body, mark(other(user))) {
			r.Fatalf("%s reads %s", user, body)
		}
		return
	}
	if id == "" && (step == "update" || step == "delete" || step == "context") {
		return // nobody has written anything
	}
	text := h.ask(user, tool, args)
	if !strings.Contains(text, want) || strings.Contains(text, mark(other(user))) {
		r.Fatalf("%s of %s, with an own id: %t, live: %t: %s, want %s", step, user, isOwn, live, text, want)
	}
	if cursor := decodeAs[historyDocument](h.t(), text).NextCursor; cursor != "" {
		own.cursors = append(own.cursors, cursor)
	}
}

func (w *wanderer) learn(m message) {
	w.contents[m.MessageID] = m.Content
	w.ids = append(w.ids, m.MessageID)
}

// pickFrom draws from what is one's own or the other's; "" if there is nothing.
func pickFrom(r *rapid.T, what string, own, foreign []string) (picked string, isOwn bool) {
	all := slices.Concat(own, foreign)
	if len(all) == 0 {
		return "", false
	}
	i := rapid.IntRange(0, len(all)-1).Draw(r, what)
	return all[i], i < len(own)
}

// TestStoreForFails has no store for the caller. The call says why, as far as
// the caller may know, the log says the rest, and the next call is fine.
func TestStoreForFails(t *testing.T) {
	for _, c := range []struct {
		name string
		find func() (convmem.Store, error)
		code convmem.Code
		says string
		logs string
	}{
		{"coded", func() (convmem.Store, error) {
			return nil, &convmem.Error{Code: convmem.CodeBusy, Message: "this user has too many calls"}
		}, convmem.CodeBusy, "this user has too many calls", ""},
		{"coded and wrapped", func() (convmem.Store, error) {
			return nil, fmt.Errorf("somebody: %w", &convmem.Error{Code: convmem.CodeCorrupt, Message: "damaged"})
		}, convmem.CodeCorrupt, "damaged", "somebody"},
		{"bare", func() (convmem.Store, error) { return nil, leaky() }, convmem.CodeInternal, "", "somebody"},
		{"a store and an error", func() (convmem.Store, error) { return newModel(), errors.New("no, not this one") }, convmem.CodeInternal, "", "no, not this one"},
		{"neither", func() (convmem.Store, error) { return nil, nil }, convmem.CodeInternal, "", "neither"},
		{"a nil pointer", func() (convmem.Store, error) { return (*storetest.Model)(nil), nil }, convmem.CodeInternal, "", "nil pointer"},
		{"panic", func() (convmem.Store, error) { panic(secret) }, convmem.CodeInternal, "", "panicked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log logBuffer
			var fail atomic.Bool
			h := Handler(nil, &HTTPOptions{
				Options: Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))},
				StoreFor: func(context.Context) (convmem.Store, error) {
					if fail.Load() {
						return c.find()
					}
					return newModel(), nil
				},
			})
			s := newSite(t, h)
			for _, e := range everyTool {
				fail.Store(true)
				r := s.call(dialects[1], e.tool, e.args, "X-Request-Id", "number-7")
				checkFailure(t, e.tool, r.reply.result(), c.code)
				if !strings.Contains(r.reply.text(), c.says) {
					t.Errorf("%s: %s", e.tool, r.reply.text())
				}
				fail.Store(false)
				if r := s.call(dialects[1], "get_system_health", `{}`); r.reply.Result.IsError || r.status != 200 {
					t.Errorf("the call after it: %s", r.body)
				}
			}
			if text := log.String(); !strings.Contains(text, c.logs) || c.logs != "" && !strings.Contains(text, `"request":"number-7"`) {
				t.Errorf("the log: %s", text)
			}
		})
	}
}
