package convmem_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// namespaceCalls are all methods of a namespace with requests that are right.
func namespaceCalls(n *convmem.Namespace, id string) map[string]func() error {
	return map[string]func() error{
		"write": func() error {
			_, err := n.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "c"})
			return err
		},
		"write batch": func() error { _, err := n.WriteBatch(ctx, numberedBatch("s", 2)); return err },
		"update": func() error {
			_, err := n.Update(ctx, convmem.UpdateRequest{MessageID: id, Content: new("d")})
			return err
		},
		"read": func() error {
			_, err := n.Read(ctx, convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s"}})
			return err
		},
		"search": func() error { _, err := n.Search(ctx, convmem.SearchRequest{Query: "c"}); return err },
		"delete": func() error { _, err := n.Delete(ctx, convmem.DeleteRequest{MessageID: id}); return err },
		"delete session": func() error {
			_, err := n.DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: "s"})
			return err
		},
		"rebuild": func() error { _, err := n.Rebuild(ctx, convmem.RebuildRequest{}); return err },
		"health":  func() error { _, err := n.Health(ctx, convmem.HealthRequest{}); return err },
	}
}

// Every method of a namespace with a wrong name fails, and nothing is done.
func TestWrongNamespaces(t *testing.T) {
	for what, name := range map[string]string{
		"257 bytes": strings.Repeat("n", 257), "257 bytes of characters": strings.Repeat("日", 85) + "xx", "no UTF-8": "QZ\xff",
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, convmem.Options{})
			m := w.say("s", "c", convmem.MetadataPatch{})
			before := w.health()
			for op, call := range namespaceCalls(w.db.Namespace(name), m.ID) {
				e := w.fails(op, call(), convmem.CodeValidation)
				if e.Op != op || e.Field != "namespace" || strings.Contains(e.Error(), "QZ") {
					t.Errorf("%s: %v", op, e)
				}
			}
			if diff := cmp.Diff(before, w.health()); diff != "" {
				t.Errorf("health (-before +after):\n%s", diff)
			}
		})
	}
}

// Names that look like something to somebody are all different, and all are there
// in every later life, in the order of their bytes.
func TestNamespaceNames(t *testing.T) {
	names := []string{
		"", strings.Repeat("n", 256), strings.Repeat("n", 255), "\x00", "\x00\x00", "a", "A", "a ", " a", "a\n", "../a", "/", "*", "é", "e\u0301", "日本語", "a\x00s", "\U0010ffff",
	}
	w := newWorld(t, convmem.Options{})
	want := map[string]convmem.Message{}
	for _, name := range names {
		w.tick()
		r, err := w.db.Namespace(name).Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "of " + name, IdempotencyKey: "k"})
		w.ok("write", err)
		if r.Replayed {
			t.Errorf("%q takes the key of another namespace", name)
		}
		want[name] = r.Message
	}
	slices.Sort(names)
	see := func(when string) {
		t.Helper()
		got, err := w.db.Namespaces(ctx)
		w.ok("namespaces", err)
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		for name, m := range want {
			page, err := convmem.History(ctx, w.db.Namespace(name), convmem.HistoryRequest{SessionID: "s"})
			w.ok("history", err)
			if diff := cmp.Diff([]convmem.Message{m}, page.Messages); diff != "" {
				t.Errorf("%s, %q (-want +got):\n%s", when, name, diff)
			}
		}
	}
	see("at once")
	w.reopen()
	see("after a restart")
	w.rebuild()
	see("after a rebuild")
	w.reopen()
	see("after both")
	for _, name := range []string{"", "a"} {
		_, err := w.db.Namespace(name).DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: "s"})
		w.ok("delete session", err)
		delete(want, name)
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	}
	_, err := w.db.Namespace("never written to").Search(ctx, convmem.SearchRequest{Query: "of"})
	w.ok("search", err)
	see("after two are empty")
	w.reopen()
	see("after that and a restart")
}

// What a namespace answers to ids, cursors, relations and keys of another one is
// what it answers to those that never were.
func TestNamespacesGuard(t *testing.T) {
	for _, names := range [][2]string{{"", "b"}, {"a", ""}, {"a", "b"}} {
		t.Run(fmt.Sprintf("%q beside %q", names[0], names[1]), func(t *testing.T) {
			w := newWorld(t, convmem.Options{})
			mine, theirs := w.db.Namespace(names[0]), w.db.Namespace(names[1])
			say := func(n *convmem.Namespace, content, key string, relations ...convmem.Relation) convmem.Message {
				w.tick()
				r, err := n.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: content, IdempotencyKey: key, Metadata: convmem.MetadataPatch{Relations: relations}})
				w.ok("write", err)
				return r.Message
			}
			own := say(mine, "quartz", "key")
			other := say(theirs, "quartz of others", "other key", convmem.Relation{Type: convmem.RelationSupersedes, MessageID: own.ID})
			say(theirs, "more", "")
			own2 := say(mine, "granite", "other key", convmem.Relation{Type: convmem.RelationDependsOn, MessageID: other.ID})
			for _, life := range []func(){func() {}, w.reopen, w.rebuild, w.reopen} {
				life()
				mine, theirs = w.db.Namespace(names[0]), w.db.Namespace(names[1])
				_, err := mine.Update(ctx, convmem.UpdateRequest{MessageID: other.ID, Content: new("taken")})
				w.fails("update", err, convmem.CodeNotFound)
				_, err = mine.Update(ctx, convmem.UpdateRequest{MessageID: other.ID, Content: new("taken"), ExpectedRevision: 9})
				w.fails("update at a revision", err, convmem.CodeNotFound)
				for _, guard := range []string{"", "s"} {
					deleted, err := mine.Delete(ctx, convmem.DeleteRequest{MessageID: other.ID, SessionID: guard})
					w.ok("delete", err)
					if deleted.Deleted {
						t.Error("a message of another namespace is deleted")
					}
				}
				_, err = convmem.Context(ctx, mine, convmem.ContextRequest{MessageID: other.ID})
				w.fails("context", err, convmem.CodeNotFound)
				around, err := convmem.Context(ctx, mine, convmem.ContextRequest{MessageID: own.ID, RelationDepth: new(2), Before: new(10), After: new(10)})
				w.ok("context", err)
				if diff := cmp.Diff([]convmem.Message{own2}, around.After); diff != "" || len(around.Before) > 0 || len(around.Relations) > 0 || around.Session.MessageCount != 2 {
					t.Errorf("%+v", around)
				}
				around, err = convmem.Context(ctx, mine, convmem.ContextRequest{MessageID: own2.ID, RelationDepth: new(2)})
				w.ok("context", err)
				dead := []convmem.RelatedMessage{{Type: convmem.RelationDependsOn, Direction: convmem.Outgoing, Depth: 1, MessageID: other.ID}}
				if diff := cmp.Diff(dead, around.Relations); diff != "" {
					t.Errorf("relations (-want +got):\n%s", diff)
				}
				for query, want := range map[string][]convmem.Message{
					"quartz": {own}, "granite": {own2}, "others": nil, other.ID: nil, strings.ToLower(other.ID): nil, own.ID: {own},
				} {
					found, err := mine.Search(ctx, convmem.SearchRequest{Query: query, ContextSize: 3})
					w.ok("search", err)
					if len(found.Hits) != len(want) {
						t.Fatalf("%s: %d hits, want %d", query, len(found.Hits), len(want))
					}
					for i, hit := range found.Hits {
						if hit.ID != want[i].ID || hit.RelationCount != 0 || len(hit.SupersededBy) != 0 || len(hit.Before)+len(hit.After) != 1 {
							t.Errorf("%s: %+v", query, hit)
						}
					}
				}
				history := convmem.HistoryRequest{SessionID: "s", Limit: 1}
				page, err := convmem.History(ctx, theirs, history)
				w.ok("history", err)
				history.Cursor = page.NextCursor
				_, err = convmem.History(ctx, mine, history)
				w.fails("a history cursor", err, convmem.CodeValidation, "cursor")
			}
		})
	}
}

// A cursor over the sessions of one namespace is none for another.
func TestNamespaceSessionCursors(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	for _, name := range []string{"", "a"} {
		for _, session := range []string{"one", "two"} {
			w.tick()
			_, err := w.db.Namespace(name).WriteBatch(ctx, numberedBatch(session, 1))
			w.ok("write", err)
		}
	}
	for _, names := range [][2]string{{"", "a"}, {"a", ""}, {"a", "b"}} {
		r := convmem.SessionsRequest{Limit: 1}
		page, err := convmem.Sessions(ctx, w.db.Namespace(names[0]), r)
		w.ok("sessions", err)
		r.Cursor = page.NextCursor
		_, err = convmem.Sessions(ctx, w.db.Namespace(names[1]), r)
		w.fails(fmt.Sprint(names), err, convmem.CodeValidation, "cursor")
		page, err = convmem.Sessions(ctx, w.db.Namespace(names[0]), r)
		w.ok("sessions", err)
		if len(page.Sessions) != 1 || page.Sessions[0].SessionID != "one" {
			t.Errorf("%+v", page)
		}
	}
}

// Scores of a namespace are to the last bit those of a store that holds nothing
// else, whatever its neighbours say and however often.
func TestNamespaceScores(t *testing.T) {
	texts := []string{"green tea in the morning", "tea", "black tea and green tea", "coffee", "データベースの選択", "PostgreSQL データベース tea"}
	fill := func(w *world, n *convmem.Namespace) {
		for i, text := range texts {
			w.tick()
			_, err := n.Write(ctx, convmem.WriteRequest{SessionID: fmt.Sprint(i % 2), Role: convmem.RoleUser, Content: text, Metadata: convmem.MetadataPatch{Tags: []string{"drink"}}})
			w.ok("write", err)
		}
	}
	alone, beside := newWorld(t, convmem.Options{}), newWorld(t, convmem.Options{})
	fill(alone, alone.db.Namespace(""))
	for i := range 30 {
		for _, name := range []string{"", "other"} {
			_, err := beside.db.Namespace(name).WriteBatch(ctx, convmem.WriteBatchRequest{Messages: []convmem.WriteRequest{
				{SessionID: "0", Role: convmem.RoleUser, Content: fmt.Sprint("tea tea tea green データベース ", i)},
			}})
			beside.ok("write", err)
		}
	}
	fill(beside, beside.db.Namespace("mine"))
	for _, life := range []func(){func() {}, beside.reopen, beside.rebuild, beside.reopen} {
		life()
		for _, query := range []string{"tea", "green tea", "データベース", "the green database tea coffee", "drink"} {
			r := convmem.SearchRequest{Query: query}
			want := alone.search(r)
			got, err := beside.db.Namespace("mine").Search(ctx, r)
			beside.ok("search", err)
			if diff := cmp.Diff(scores(want), scores(got)); diff != "" || len(got.Hits) == 0 {
				t.Errorf("%s (-alone +beside others):\n%s", query, diff)
			}
		}
	}
}

// scores lists contents with their scores, which have no ids in them.
func scores(r convmem.SearchResult) (all []string) {
	for _, hit := range r.Hits {
		all = append(all, fmt.Sprint(hit.Content, hit.Score, hit.Breakdown, hit.MatchedFields))
	}
	return all
}

// Many use many namespaces at once, while the store is rebuilt: everybody finds
// exactly what is his own.
func TestNamespacesConcurrently(t *testing.T) {
	w := newWorld(t, convmem.Options{Now: nil})
	const tenants, rounds = 6, 15
	var group sync.WaitGroup
	for i := range tenants * 2 { // two goroutines for each
		name := fmt.Sprint("tenant ", i/2)
		group.Go(func() {
			n := w.db.Namespace(name)
			for round := range rounds {
				session := fmt.Sprint("session ", i%2)
				if err := useNamespace(n, name, session, round); err != nil {
					t.Errorf("%s, round %d: %v", name, round, err)
					return
				}
			}
		})
	}
	group.Go(func() {
		for range 4 {
			if _, err := w.db.Rebuild(ctx, convmem.RebuildRequest{}); err != nil {
				t.Errorf("rebuild: %v", err)
			}
			if names, err := w.db.Namespaces(ctx); err != nil || len(names) > tenants {
				t.Errorf("%q, %v", names, err)
			}
		}
	})
	group.Wait()
	w.reopen()
	w.verify()
	for i := range tenants {
		name := fmt.Sprint("tenant ", i)
		h, err := w.db.Namespace(name).Health(ctx, convmem.HealthRequest{})
		w.ok("health", err)
		if h.ActiveMessages != 2*3 {
			t.Errorf("%s has %d messages", name, h.ActiveMessages)
		}
	}
}

// useNamespace replaces the messages of a session and looks at what is there.
func useNamespace(n *convmem.Namespace, name, session string, round int) error {
	deleted, err := n.DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: session})
	if err != nil {
		return err
	}
	if round > 0 && deleted.Deleted != 3 {
		return fmt.Errorf("%d messages deleted", deleted.Deleted)
	}
	batch := numberedBatch(session, 3)
	for i := range batch.Messages {
		batch.Messages[i].Content = name + " says " + fmt.Sprint(i)
	}
	if _, err := n.WriteBatch(ctx, batch); err != nil {
		return err
	}
	page, err := convmem.History(ctx, n, convmem.HistoryRequest{SessionID: session})
	found, err2 := n.Search(ctx, convmem.SearchRequest{Query: "says", SessionID: session})
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if len(page.Messages) != 3 || len(found.Hits) != 3 {
		return fmt.Errorf("%d messages, %d hits", len(page.Messages), len(found.Hits))
	}
	for i, m := range page.Messages {
		if !strings.HasPrefix(m.Content, name+" ") || !strings.HasPrefix(found.Hits[i].Content, name+" ") {
			return errors.New("a message of somebody else")
		}
	}
	return nil
}
