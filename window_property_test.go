package convmem_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// pairing is what a model checks of a prompt. It reads forward and knows nothing of
// how windows are made: a result answers the last call with its id, which stands
// before it, and no call is left without a result.
func pairing(messages []convmem.Message, openAllowed bool) error {
	answered := map[string]bool{} // by id of the calls so far
	for i, m := range messages {
		id := m.Metadata.ToolCallID
		done, called := answered[id]
		switch {
		case m.Role == convmem.RoleTool && (id == "" || !called):
			return fmt.Errorf("message %d is a result without its call", i)
		case m.Role == convmem.RoleTool:
			answered[id] = true
		case m.Role == convmem.RoleAssistant && id != "":
			if called && !done && !openAllowed {
				return fmt.Errorf("message %d repeats a call that has no result", i)
			}
			answered[id] = false
		}
	}
	for id, done := range answered {
		if !done && !openAllowed {
			return fmt.Errorf("call %q has no result", id)
		}
	}
	return nil
}

// whole checks that all results of each call in the window are there, too.
func whole(window, session []convmem.Message) error {
	in := map[string]bool{}
	for _, m := range window {
		in[m.ID] = true
	}
	lastCall := map[string]string{}
	for _, m := range session {
		id := m.Metadata.ToolCallID
		switch {
		case id == "":
		case m.Role == convmem.RoleAssistant:
			lastCall[id] = m.ID
		case m.Role == convmem.RoleTool && lastCall[id] != "" && in[lastCall[id]] != in[m.ID]:
			return fmt.Errorf("of a call and its result one is in the window: %v, %v", in[lastCall[id]], in[m.ID])
		}
	}
	return nil
}

// sendable is the brute-force definition of a window: what of a piece of a session
// can be sent when nothing else is.
func sendable(piece []convmem.Message, openAllowed bool) []convmem.Message {
	results := map[int]int{} // of the call at a place
	callOf := map[int]int{}  // the place of a result's call
	last := map[string]int{}
	for i, m := range piece {
		id := m.Metadata.ToolCallID
		if m.Role == convmem.RoleAssistant && id != "" {
			last[id] = i
		}
		if call, ok := last[id]; ok && id != "" && m.Role == convmem.RoleTool {
			callOf[i] = call
			results[call]++
		}
	}
	var sent []convmem.Message
	for i, m := range piece {
		_, answers := callOf[i]
		isCall := m.Role == convmem.RoleAssistant && m.Metadata.ToolCallID != ""
		if m.Role == convmem.RoleTool && !answers || isCall && results[i] == 0 && !openAllowed {
			continue
		}
		sent = append(sent, m)
	}
	return sent
}

// longest tries every end of the session, the longest first.
func longest(session []convmem.Message, r convmem.WindowRequest) (window []convmem.Message, fits bool) {
	system := 0
	for r.KeepSystem && system < len(session) && session[system].Role == convmem.RoleSystem {
		system++
	}
	for from := system; from <= len(session); from++ {
		window = append(slices.Clone(session[:system]), sendable(session[from:], r.KeepOpenCalls)...)
		if within(window, r) {
			return window, true
		}
	}
	return nil, false
}

func within(window []convmem.Message, r convmem.WindowRequest) bool {
	return (r.MaxMessages == 0 || len(window) <= r.MaxMessages) && (r.MaxTokens == 0 || tokensOf(window, r) <= r.MaxTokens)
}

func tokensOf(window []convmem.Message, r convmem.WindowRequest) int {
	tokens := 0
	for _, m := range window {
		if r.CountTokens == nil {
			tokens += convmem.EstimateTokens(m)
		} else {
			tokens += r.CountTokens(m)
		}
	}
	return tokens
}

// drawChanges fills a session at random: calls in parallel and interleaved, ids
// used again, results without call, open calls, updates and deletes in between.
func drawChanges(t *rapid.T, s convmem.Store) {
	ids := rapid.SampledFrom([]string{"", "x", "x", "y", "z"})
	roles := rapid.SampledFrom([]convmem.Role{
		convmem.RoleUser, convmem.RoleSystem, convmem.RoleAssistant, convmem.RoleAssistant, convmem.RoleTool, convmem.RoleTool,
	})
	var written []string
	for range rapid.IntRange(0, 2).Draw(t, "system messages") {
		written = append(written, put(t, s, convmem.RoleSystem, "", 1))
	}
	for range rapid.IntRange(0, 40).Draw(t, "changes") {
		switch kind := rapid.IntRange(0, 9).Draw(t, "change"); {
		case kind == 0 && len(written) > 0:
			_, err := s.Delete(ctx, convmem.DeleteRequest{MessageID: rapid.SampledFrom(written).Draw(t, "deleted")})
			must(t, err)
		case kind == 1 && len(written) > 0:
			update(t, s, rapid.SampledFrom(written).Draw(t, "updated"), ids.Draw(t, "new id"))
		default:
			written = append(written, put(t, s, roles.Draw(t, "role"), ids.Draw(t, "id"), rapid.IntRange(1, 30).Draw(t, "length")))
		}
	}
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *rapid.T, s convmem.Store, role convmem.Role, id string, length int) string {
	content := string(slices.Repeat([]byte("x"), length))
	r, err := s.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: role, Content: content, Metadata: convmem.MetadataPatch{ToolCallID: &id}})
	must(t, err)
	return r.Message.ID
}

// update gives a message, if it lives, another ToolCallID.
func update(t *rapid.T, s convmem.Store, message, id string) {
	_, err := s.Update(ctx, convmem.UpdateRequest{MessageID: message, Metadata: &convmem.MetadataPatch{ToolCallID: &id}})
	if convmem.CodeOf(err) != convmem.CodeNotFound {
		must(t, err)
	}
}

func drawWindow(t *rapid.T) convmem.WindowRequest {
	r := convmem.WindowRequest{
		SessionID:     "s",
		MaxMessages:   rapid.IntRange(0, 20).Draw(t, "max messages"),
		MaxTokens:     rapid.IntRange(0, 120).Draw(t, "max tokens"),
		KeepSystem:    rapid.Bool().Draw(t, "keep system"),
		KeepOpenCalls: rapid.Bool().Draw(t, "keep open calls"),
	}
	if r.MaxMessages == 0 && r.MaxTokens == 0 {
		r.MaxMessages = 1
	}
	if rapid.Bool().Draw(t, "own counter") {
		r.CountTokens = func(m convmem.Message) int { return len(m.Content) / 3 }
	}
	return r
}

// checkWindow compares a window with its definition and says what sort it was.
func checkWindow(t *rapid.T, s convmem.Store, r convmem.WindowRequest) string {
	session, errs := collect(convmem.AllMessages(ctx, s, convmem.HistoryRequest{SessionID: "s"}))
	if errs != nil {
		t.Fatal(errs)
	}
	got, err := convmem.Window(ctx, s, r)
	want, fits := longest(session, r)
	if !fits {
		if convmem.CodeOf(err) != convmem.CodeValidation {
			t.Fatalf("the system messages do not fit, and yet %v", err)
		}
		return "refused"
	}
	must(t, err)
	if diff := cmp.Diff(want, got.Messages, cmpopts.EquateEmpty()); diff != "" {
		t.Fatal("not the longest end that fits:", diff)
	}
	if err := pairing(got.Messages, r.KeepOpenCalls); err != nil {
		t.Fatal(err)
	}
	if err := whole(got.Messages, session); err != nil {
		t.Fatal(err)
	}
	if !within(got.Messages, r) || got.Tokens != tokensOf(got.Messages, r) {
		t.Fatalf("%d messages, %d tokens: against the bounds or wrongly counted", len(got.Messages), got.Tokens)
	}
	if got.Omitted != (len(got.Messages) < len(session)) {
		t.Fatalf("omitted %v with %d of %d messages", got.Omitted, len(got.Messages), len(session))
	}
	again, err := convmem.Window(ctx, s, r)
	must(t, err)
	a, _ := json.Marshal(got)
	if b, _ := json.Marshal(again); string(a) != string(b) {
		t.Fatal("the same state gave another window")
	}
	if len(got.Messages) == 0 || !got.Omitted {
		return "empty or all"
	}
	return "some"
}

func TestWindowProperty(t *testing.T) {
	withoutRaceDetector(t)
	for _, c := range []struct {
		name string
		open func(*rapid.T) (s convmem.Store, release func())
	}{
		{"model", func(*rapid.T) (convmem.Store, func()) {
			return storetest.NewModel(storetest.Config{}), func() {}
		}},
		{"db", func(t *rapid.T) (convmem.Store, func()) {
			db, err := convmem.Open(ctx, "", &convmem.Options{FS: vfs.NewMem(0)})
			must(t, err)
			return db, func() { db.Close() }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sorts := map[string]int{}
			rapid.Check(t, func(t *rapid.T) {
				s, release := c.open(t)
				defer release()
				drawChanges(t, s)
				small := &watched{Store: s, page: rapid.IntRange(1, 50).Draw(t, "page")}
				for range 5 {
					sorts[checkWindow(t, small, drawWindow(t))]++
				}
			})
			t.Log("windows:", sorts)
			for _, sort := range []string{"some", "empty or all", "refused"} {
				if sorts[sort] == 0 {
					t.Errorf("no window was %s", sort)
				}
			}
		})
	}
}

// The validator must know bad prompts.
func TestPairingRefuses(t *testing.T) {
	for script, open := range map[string]bool{
		"t=x": true, "t": true, "u t=x a=x": true, "a=x t=y": true,
		"a=x": false, "a=x t=x a=x": false, "a=x a=x t=x": false, "a=x a=y t=y": false,
	} {
		s := storetest.NewModel(storetest.Config{})
		if pairing(play(t, s, "s", script), open) == nil {
			t.Errorf("%q was accepted", script)
		}
	}
}
