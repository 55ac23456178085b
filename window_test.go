package convmem_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

// play writes a session from a script: one word for each message, s, u, a and t for
// its role, with "=" and a ToolCallID where it has one. A word's place, from 0, is
// the content, padded to three bytes.
func play(t testing.TB, s convmem.Store, session, script string) []convmem.Message {
	t.Helper()
	roles := map[string]convmem.Role{"s": convmem.RoleSystem, "u": convmem.RoleUser, "a": convmem.RoleAssistant, "t": convmem.RoleTool}
	var messages []convmem.Message
	for i, word := range strings.Fields(script) {
		role, call, _ := strings.Cut(word, "=")
		r, err := s.Write(ctx, convmem.WriteRequest{
			SessionID: session, Role: roles[role], Content: fmt.Sprintf("%03d", i), Metadata: convmem.MetadataPatch{ToolCallID: &call},
		})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, r.Message)
	}
	return messages
}

// places lists the places of messages in the script that play was given.
func places(messages []convmem.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, strings.TrimLeft(m.Content[:2], "0")+m.Content[2:])
	}
	return strings.Join(all, " ")
}

// oneEach is a counter that makes a token of each message.
func oneEach(convmem.Message) int { return 1 }

func TestWindow(t *testing.T) {
	count := func(n int) convmem.WindowRequest { return convmem.WindowRequest{MaxMessages: n} }
	for _, c := range []struct {
		name, script string
		request      convmem.WindowRequest
		want         string
		omitted      bool
	}{
		{"no messages", "", count(5), "", false},
		{"all", "u a u", count(5), "0 1 2", false},
		{"exactly all", "u a u", count(3), "0 1 2", false},
		{"the newest", "u a u", count(2), "1 2", true},
		{"a call and its result", "u a=x t=x a", count(3), "1 2 3", true},
		{"not a result alone", "u a=x t=x a", count(2), "3", true},
		{"a call at the very beginning", "a=x t=x", count(2), "0 1", false},
		{"nothing when the call does not fit", "u a=x t=x", count(1), "", true},
		{"it ends there, though something older would fit", "u u a=x t=x t=x u", count(3), "5", true},
		{"two results", "u a=x t=x t=x", count(3), "1 2 3", true},
		{"calls in parallel", "u a=x a=y t=y t=x a", count(5), "1 2 3 4 5", true},
		{"one of two parallel calls", "u a=x a=y t=y t=x a", count(4), "2 3 5", true},
		{"parallel calls that share an id", "u a=x t=x t=x t=x a", count(5), "1 2 3 4 5", true},
		{"parallel calls that share an id, too many", "u a=x t=x t=x t=x a", count(4), "5", true},
		{"a late result does not keep out what fits", "a=x u u u t=x u", count(4), "1 2 3 5", true},
		{"a late result comes with its call", "a=x u u u t=x u", count(6), "0 1 2 3 4 5", false},
		{"a result without call", "u t=x a", count(5), "0 2", true},
		{"a result without id", "u t a", count(5), "0 2", true},
		{"a result before its call", "u t=x a=x u", count(5), "0 3", true},
		{"what is left out takes no room", "u t=x t t u", count(2), "0 4", true},
		{"an open call", "u a=x", count(5), "0", true},
		{"an open call, kept", "u a=x", convmem.WindowRequest{MaxMessages: 5, KeepOpenCalls: true}, "0 1", false},
		{"an id used twice", "a=x t=x u a=x t=x", count(3), "2 3 4", true},
		{"an id used again, open", "a=x t=x u a=x", count(5), "0 1 2", true},
		{"an id used again at once", "u a=x a=x t=x", count(5), "0 2 3", true},
		{"an id used again at once, kept", "u a=x a=x t=x", convmem.WindowRequest{MaxMessages: 5, KeepOpenCalls: true}, "0 1 2 3", false},
		{"other roles with an id are plain", "s=x u=x", count(1), "1", true},
		{"a result does not answer a user", "u=x t=x u", count(5), "0 2", true},
		{"system messages are plain", "s u a u", count(3), "1 2 3", true},
		{"system messages kept", "s s u a u", convmem.WindowRequest{MaxMessages: 4, KeepSystem: true}, "0 1 3 4", true},
		{"system messages kept, all in", "s s u a", convmem.WindowRequest{MaxMessages: 4, KeepSystem: true}, "0 1 2 3", false},
		{"system messages take all room", "s s u a", convmem.WindowRequest{MaxMessages: 2, KeepSystem: true}, "0 1", true},
		{"nothing but system messages", "s s", convmem.WindowRequest{MaxMessages: 2, KeepSystem: true}, "0 1", false},
		{"later system messages are plain", "s u s u u", convmem.WindowRequest{MaxMessages: 3, KeepSystem: true}, "0 3 4", true},
		{"no leading system message", "u s u", convmem.WindowRequest{MaxMessages: 2, KeepSystem: true}, "1 2", true},
		{"many system messages", strings.Repeat("s ", 25) + "u u", convmem.WindowRequest{MaxMessages: 26, KeepSystem: true}, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 26", true},
		{"tokens", "u a u", convmem.WindowRequest{MaxTokens: 2, CountTokens: oneEach}, "1 2", true},
		{"both bounds, fewer messages", "u a u", convmem.WindowRequest{MaxMessages: 1, MaxTokens: 2, CountTokens: oneEach}, "2", true},
		{"both bounds, fewer tokens", "u a u", convmem.WindowRequest{MaxMessages: 3, MaxTokens: 1, CountTokens: oneEach}, "2", true},
		{"system messages take tokens", "s u a u", convmem.WindowRequest{MaxTokens: 2, CountTokens: oneEach, KeepSystem: true}, "0 3", true},
		{"messages without tokens fit at last", "u a u", convmem.WindowRequest{MaxTokens: 1, CountTokens: func(m convmem.Message) int { return int(m.Content[2]-'0') / 2 }}, "0 1 2", false},
		{"a counter that says never", "u a=x t=x u", convmem.WindowRequest{MaxTokens: 100, CountTokens: func(m convmem.Message) int {
			if m.Role == convmem.RoleAssistant {
				return math.MaxInt
			}
			return 1
		}}, "3", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := storetest.NewModel(storetest.Config{})
			play(t, s, "s", c.script)
			play(t, s, "another", "u u")
			c.request.SessionID = "s"
			got, err := convmem.Window(ctx, s, c.request)
			if err != nil {
				t.Fatal(err)
			}
			if places := places(got.Messages); places != c.want || got.Omitted != c.omitted {
				t.Errorf("got %q, omitted %v; want %q, %v", places, got.Omitted, c.want, c.omitted)
			}
		})
	}
}

func TestWindowErrors(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	play(t, w.db, "s", "s s u")
	for _, c := range []struct {
		name    string
		request convmem.WindowRequest
		field   string
	}{
		{"no bound", convmem.WindowRequest{SessionID: "s"}, "max_messages"},
		{"less than no messages", convmem.WindowRequest{SessionID: "s", MaxMessages: -1, MaxTokens: 1}, "max_messages"},
		{"less than no tokens", convmem.WindowRequest{SessionID: "s", MaxMessages: 1, MaxTokens: -1}, "max_tokens"},
		{"no session", convmem.WindowRequest{MaxMessages: 1}, "session_id"},
		{"a long session", convmem.WindowRequest{SessionID: strings.Repeat("s", 257), MaxMessages: 1}, "session_id"},
		{"more system messages than allowed", convmem.WindowRequest{SessionID: "s", MaxMessages: 1, KeepSystem: true}, "max_messages"},
		{"more system tokens than allowed", convmem.WindowRequest{SessionID: "s", MaxMessages: 9, MaxTokens: 1, CountTokens: oneEach, KeepSystem: true}, "max_tokens"},
		{"a counter below zero", convmem.WindowRequest{SessionID: "s", MaxTokens: 5, CountTokens: func(convmem.Message) int { return -1 }}, "count_tokens"},
		{"a counter below zero for a system message", convmem.WindowRequest{SessionID: "s", MaxTokens: 5, KeepSystem: true, CountTokens: func(convmem.Message) int { return -1 }}, "count_tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := convmem.Window(ctx, w.db, c.request)
			if e := w.fails("window", err, convmem.CodeValidation); e.Field != c.field || e.Op != "read" {
				t.Errorf("field %q, op %q in %v; want field %q, op read", e.Field, e.Op, err, c.field)
			}
			if diff := cmp.Diff(convmem.WindowResult{}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A small window of a long session reads one page, two with system messages.
func TestWindowReads(t *testing.T) {
	s := storetest.Open(t)
	play(t, s, "s", "s "+strings.Repeat("u a=x t=x a ", 200))
	for _, c := range []struct {
		name    string
		request convmem.WindowRequest
		page    int
		reads   int
	}{
		{"messages", convmem.WindowRequest{MaxMessages: 30}, 0, 1},
		{"messages and system", convmem.WindowRequest{MaxMessages: 30, KeepSystem: true}, 0, 2},
		{"tokens", convmem.WindowRequest{MaxTokens: 50, CountTokens: oneEach}, 0, 1},
		{"tokens over a page", convmem.WindowRequest{MaxTokens: 150, CountTokens: oneEach}, 0, 2},
		{"all of it", convmem.WindowRequest{MaxMessages: 801}, 0, 1},
		{"more than a page can have", convmem.WindowRequest{MaxMessages: math.MaxInt, KeepSystem: true}, 0, 2},
		{"a store with small pages", convmem.WindowRequest{MaxMessages: 29}, 10, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &watched{Store: s, page: c.page}
			c.request.SessionID = "s"
			if _, err := convmem.Window(ctx, w, c.request); err != nil || w.reads != c.reads {
				t.Errorf("%v, %d reads, want %d", err, w.reads, c.reads)
			}
		})
	}
}

// What others do between two pages never splits a pair.
func TestWindowBesideChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s convmem.Store, messages []convmem.Message)
		want   string
	}{
		{"nothing", func(convmem.Store, []convmem.Message) {}, "0 1 2 3 4 5"},
		{"a call goes before its page is read", func(s convmem.Store, m []convmem.Message) { remove(t, s, m[1].ID) }, "0 2 3 5"},
		{"a result goes after its page was read", func(s convmem.Store, m []convmem.Message) { remove(t, s, m[4].ID) }, "0 1 2 3 4 5"},
		{"a message comes", func(s convmem.Store, m []convmem.Message) { play(t, s, "s", "u") }, "0 1 2 3 4 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := storetest.NewModel(storetest.Config{})
			messages := play(t, s, "s", "u a=x u u t=x u")
			w := &watched{Store: s, page: 2}
			w.beforeRead = func(number int) {
				if number == 2 { // 5 and 4 were read
					c.change(s, messages)
				}
			}
			got, err := convmem.Window(ctx, w, convmem.WindowRequest{SessionID: "s", MaxMessages: 9})
			if err != nil || places(got.Messages) != c.want {
				t.Errorf("%v, %q, want %q", err, places(got.Messages), c.want)
			}
			if err := pairing(got.Messages, false); err != nil {
				t.Error(err)
			}
		})
	}
}

func remove(t testing.TB, s convmem.Store, id string) {
	t.Helper()
	if r, err := s.Delete(ctx, convmem.DeleteRequest{MessageID: id}); err != nil || !r.Deleted {
		t.Fatal(r, err)
	}
}

func TestWindowOfDamage(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	for _, content := range []string{"one", "DAMAGEHERE", "three", "four"} {
		w.say("s", content, convmem.MetadataPatch{})
	}
	w.damage("DAMAGEHERE")
	got, err := convmem.Window(ctx, w.db, convmem.WindowRequest{SessionID: "s", MaxMessages: 1})
	if w.ok("before the damage", err); len(got.Messages) != 1 {
		t.Error(got)
	}
	_, err = convmem.Window(ctx, w.db, convmem.WindowRequest{SessionID: "s", MaxMessages: 3})
	w.fails("with the damage", err, convmem.CodeCorrupt)
}

func TestWindowCancelled(t *testing.T) {
	s := storetest.Open(t)
	play(t, s, "s", "s u u")
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	for _, keep := range []bool{false, true} {
		_, err := convmem.Window(ctx, s, convmem.WindowRequest{SessionID: "s", MaxMessages: 2, KeepSystem: keep})
		if convmem.CodeOf(err) != convmem.CodeBusy {
			t.Errorf("keep system %v: %v", keep, err)
		}
	}
}

// CountTokens sees each message at most once.
func TestWindowCountsOnce(t *testing.T) {
	s := storetest.Open(t)
	play(t, s, "s", "s s u a=x a=y t=y t=x t=z u")
	seen := map[string]int{}
	count := func(m convmem.Message) int { seen[m.ID]++; return 2 }
	got, err := convmem.Window(ctx, s, convmem.WindowRequest{SessionID: "s", MaxTokens: 100, CountTokens: count, KeepSystem: true})
	if err != nil || got.Tokens != 16 || places(got.Messages) != "0 1 2 3 4 5 6 8" {
		t.Errorf("%v: %d tokens, %s", err, got.Tokens, places(got.Messages))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("message %s counted %d times", id, n)
		}
	}
}

func TestEstimateTokens(t *testing.T) {
	for _, c := range []struct {
		content string
		want    int
	}{
		{"", 4},
		{"a", 5},
		{"four", 5},
		{"Hello, world!", 8},
		{`{"a":1}`, 7},
		{"数据库", 7},
		{"データベース", 10},
		{"привет", 7},
		{"é", 5},
		{"สวัสดี", 10},
		{"😀😀", 8},
		{"\xff", 5}, // no valid UTF-8: what reads as U+FFFD
	} {
		if got := convmem.EstimateTokens(convmem.Message{Content: c.content}); got != c.want {
			t.Errorf("%q: %d, want %d", c.content, got, c.want)
		}
	}
}

// The same state gives the same window after a rebuild and after opening again.
func TestWindowStays(t *testing.T) {
	w := newWorld(t, convmem.Options{FS: vfs.NewMem(0)})
	messages := play(t, w.db, "s", "s u a=x a=y t=y u t=x a u a=z")
	w.remove(messages[1].ID)
	request := convmem.WindowRequest{SessionID: "s", MaxTokens: 60, KeepSystem: true}
	window := func() convmem.WindowResult {
		got, err := convmem.Window(ctx, w.db, request)
		w.ok("window", err)
		return got
	}
	first := window()
	again := window()
	w.rebuild()
	rebuilt := window()
	w.reopen()
	for i, got := range []convmem.WindowResult{again, rebuilt, window()} {
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
}
