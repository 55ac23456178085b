package openaiagents_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/openaiagents"
	"example.com/convmem/store/storetest"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func note(text string) string {
	return fmt.Sprintf(`{"content":%q,"role":"user","type":"message"}`, text)
}

func call(id string) string {
	return fmt.Sprintf(`{"arguments":"{}","call_id":%q,"name":"n","type":"function_call"}`, id)
}

func result(id string) string {
	return fmt.Sprintf(`{"call_id":%q,"output":"1","type":"function_call_output"}`, id)
}

func TestSession(t *testing.T) {
	onBoth(t, func(t *testing.T, store openaiagents.Store) {
		s := openaiagents.NewSession(store, "monday")
		if id := s.SessionID(t.Context()); id != "monday" {
			t.Errorf("id %q", id)
		}
		other := openaiagents.NewSession(store, "tuesday")
		add(t, other, raw(note("other")))
		if got := get(t, s, 0); got != nil || pop(t, s) != "" {
			t.Errorf("an empty session has %v", got)
		}
		add(t, s)
		all := []string{note("a"), note("b"), note("c"), note("d")}
		add(t, s, raws(all[:3]...)...)
		add(t, s, raws(all[3:]...)...)
		for limit, want := range map[int][]string{-1: all, 0: all, 1: all[3:], 2: all[2:], 4: all, 5: all, 5000: all} {
			if diff := cmp.Diff(want, get(t, s, limit)); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
		}
		if popped := pop(t, s); popped != all[3] {
			t.Errorf("popped %s", popped)
		}
		if n := len(history(t, store, "monday")); n != 3 {
			t.Errorf("%d messages after a pop of 4", n)
		}
		for range 2 {
			if err := s.ClearSession(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := get(t, s, 0); got != nil {
			t.Errorf("cleared, but %v", got)
		}
		if diff := cmp.Diff([]string{note("other")}, get(t, other, 0)); diff != "" {
			t.Errorf("the other session (-want +got):\n%s", diff)
		}
	})
}

// A limit does not part results from their calls.
func TestLimitAndResults(t *testing.T) {
	for _, test := range []struct {
		name  string
		items []string
		want  map[int][]int // places of what is read, by limit
	}{
		{"parallel calls", []string{note("q"), call("a"), call("b"), result("a"), result("b"), note("r")},
			map[int][]int{0: {0, 1, 2, 3, 4, 5}, 1: {5}, 2: {5}, 3: {5}, 4: {2, 4, 5}, 5: {1, 2, 3, 4, 5}, 6: {0, 1, 2, 3, 4, 5}}},
		{"an id used again", []string{call("a"), result("a"), call("a"), result("a")}, map[int][]int{1: {}, 2: {2, 3}, 3: {2, 3}, 4: {0, 1, 2, 3}}},
		{"a result without a call", []string{result("a"), note("r")}, map[int][]int{0: {0, 1}, 2: {1}}},
		{"an approval", []string{approval("p"), approved("p"), note("r")}, map[int][]int{1: {2}, 2: {2}, 3: {0, 1, 2}}},
		{"a result without an id", []string{`{"type":"later_output"}`, note("r")}, map[int][]int{0: {0, 1}, 2: {0, 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := openaiagents.NewSession(open(t, t.TempDir()), "s")
			add(t, s, raws(test.items...)...)
			for limit, places := range test.want {
				var want []string
				for _, place := range places {
					want = append(want, test.items[place])
				}
				if diff := cmp.Diff(want, get(t, s, limit)); diff != "" {
					t.Errorf("limit %d (-want +got):\n%s", limit, diff)
				}
			}
		})
	}
}

func approval(id string) string {
	return fmt.Sprintf(`{"id":%q,"arguments":"{}","name":"n","server_label":"l","type":"mcp_approval_request"}`, id)
}

func approved(id string) string {
	return fmt.Sprintf(`{"approval_request_id":%q,"approve":true,"type":"mcp_approval_response"}`, id)
}

// What another program wrote is text, whatever its call id.
func TestLimitAndACallOfAnotherProgram(t *testing.T) {
	db := storetest.Open(t)
	id := "a"
	_, err := db.Write(t.Context(), convmem.WriteRequest{
		SessionID: "s", Role: convmem.RoleAssistant, Content: "called", Metadata: convmem.MetadataPatch{ToolCallID: &id},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := openaiagents.NewSession(db, "s")
	add(t, s, raws(result("a"), note("r"))...)
	got := get(t, s, 3)
	if len(got) != 2 || got[1] != note("r") {
		t.Errorf("got %q", got)
	}
}

// Sessions longer than a page of the store, in messages and in bytes.
func TestLongSession(t *testing.T) {
	s := openaiagents.NewSession(open(t, t.TempDir()), "s")
	var want []string
	for i := range 2300 {
		want = append(want, note(fmt.Sprint(i)))
	}
	for batch := range slices.Chunk(want, 1000) {
		add(t, s, raws(batch...)...)
	}
	check := func(limits ...int) {
		t.Helper()
		for _, limit := range limits {
			from := 0
			if limit > 0 {
				from = max(0, len(want)-limit)
			}
			if !slices.Equal(want[from:], get(t, s, limit)) {
				t.Errorf("limit %d: not the latest items", limit)
			}
		}
	}
	check(0, 1, 999, 1000, 1001, 2300, 3000)
	large := note(strings.Repeat("x", 900_000))
	for range 6 { // content and JSON of five make a page
		add(t, s, raw(large))
		want = append(want, large)
	}
	check(0, 7)
}

// What other programs write is read as text, popped and cleared like the rest.
func TestMessagesOfOtherPrograms(t *testing.T) {
	onBoth(t, func(t *testing.T, store openaiagents.Store) {
		s := openaiagents.NewSession(store, "s")
		text := func(role, content string) string {
			return fmt.Sprintf(`{"content":%q,"role":%q,"type":"message"}`, content, role)
		}
		var want []string
		for _, m := range []struct {
			role convmem.Role
			as   string
		}{{"user", "user"}, {"assistant", "assistant"}, {"system", "system"}, {"tool", "assistant"}} {
			_, err := store.Write(t.Context(), convmem.WriteRequest{
				SessionID: "s", Role: m.role, Content: "by " + string(m.role), Payload: convmem.Payload{Type: "other.message", Data: []byte("{")},
				Metadata: convmem.MetadataPatch{ToolCallID: new("c")},
			})
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, text(m.as, "by "+string(m.role)))
		}
		for _, limit := range []int{0, 1, 4} {
			if diff := cmp.Diff(want[max(0, 4-limit)*min(limit, 1):], get(t, s, limit)); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
		}
		for _, last := range slices.Backward(want) {
			if popped := pop(t, s); popped != last {
				t.Errorf("popped %s, want %s", popped, last)
			}
		}
		if n := len(history(t, store, "s")); n != 0 {
			t.Errorf("%d messages left", n)
		}
	})
}

// A payload of ours that does not decode is an error that names the message and not
// what it says. Nothing is lost, and the session can be cleared.
func TestBrokenPayload(t *testing.T) {
	for _, data := range []string{"", "SECRET", `{"SECRET":`, `["SECRET"]`, "null", `{"content":"SECRET"} x`} {
		t.Run(data, func(t *testing.T) {
			db := open(t, t.TempDir())
			s := openaiagents.NewSession(db, "s")
			w, err := db.Write(t.Context(), convmem.WriteRequest{
				SessionID: "s", Role: "user", Content: "SECRET", Payload: convmem.Payload{Type: "openaiagents.item", Data: []byte(data)},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, getting := s.GetItems(t.Context(), 0)
			_, popping := s.PopItem(t.Context())
			for _, err := range []error{getting, popping} {
				failsWith(t, err, convmem.CodeCorrupt)
				if !strings.Contains(err.Error(), w.Message.ID) || strings.Contains(err.Error(), "SECRET") {
					t.Error(err)
				}
			}
			if n := len(history(t, db, "s")); n != 1 {
				t.Errorf("%d messages", n)
			}
			if err := s.ClearSession(t.Context()); err != nil || get(t, s, 0) != nil {
				t.Errorf("clear: %v", err)
			}
		})
	}
}

// Two sessions of two handles on one file system, which now and then is opened again,
// behave as one list.
func TestSessionIsAList(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		disk := vfs.NewMem(0)
		reopen := func() *convmem.DB {
			db, err := convmem.Open(t.Context(), "", &convmem.Options{FS: disk})
			if err != nil {
				r.Fatal(err)
			}
			return db
		}
		dbs := []*convmem.DB{reopen(), reopen()}
		defer func() { dbs[0].Close(); dbs[1].Close() }()
		var model []string
		next := 0
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			handle := rapid.IntRange(0, 1).Draw(r, "handle")
			s := openaiagents.NewSession(dbs[handle], "s")
			switch rapid.SampledFrom([]string{"add", "add", "pop", "get", "clear", "reopen"}).Draw(r, "step") {
			case "add":
				for range rapid.IntRange(0, 5).Draw(r, "items") {
					next++
					model = append(model, note(fmt.Sprint(next)))
				}
				add(t, s, raws(model[len(get(t, s, 0)):]...)...)
			case "pop":
				want := ""
				if len(model) > 0 {
					want, model = model[len(model)-1], model[:len(model)-1]
				}
				if got := pop(t, s); got != want {
					r.Fatalf("popped %q, want %q", got, want)
				}
			case "get":
				limit := rapid.IntRange(-1, 8).Draw(r, "limit")
				want := model
				if limit > 0 {
					want = model[max(0, len(model)-limit):]
				}
				if got := get(t, s, limit); !slices.Equal(got, want) {
					r.Fatalf("limit %d: %q, want %q", limit, got, want)
				}
			case "clear":
				model = nil
				if err := s.ClearSession(t.Context()); err != nil {
					r.Fatal(err)
				}
			case "reopen":
				dbs[handle].Close()
				dbs[handle] = reopen()
			}
		}
		if got := get(t, openaiagents.NewSession(dbs[0], "s"), 0); !slices.Equal(got, model) {
			r.Fatalf("%q at the end, want %q", got, model)
		}
	})
}

// A few long texts, many small parts, and a tool whose schema is nested deeply, each
// of a megabyte in all.
func BenchmarkGetItems(b *testing.B) {
	parts := strings.Repeat(`{"type":"input_text","text":"a word or two"},`, 6000)
	nested := strings.Repeat(`{"a":`, 4900) + "1" + strings.Repeat("}", 4900)
	for name, text := range map[string]string{
		"texts":  note(strings.Repeat("x", 250_000)),
		"parts":  `{"content":[` + strings.TrimSuffix(parts, ",") + `],"role":"user","type":"message"}`,
		"nested": `{"id":"l","server_label":"l","tools":[{"name":"t","input_schema":` + nested + `}],"type":"mcp_list_tools"}`,
	} {
		b.Run(name, func(b *testing.B) {
			s := openaiagents.NewSession(storetest.Open(b), "s")
			items := raws(slices.Repeat([]string{text}, max(1, 1_000_000/len(text)))...)
			if err := s.AddItems(b.Context(), items); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text) * len(items)))
			for b.Loop() {
				if got, err := s.GetItems(b.Context(), 0); err != nil || len(got) != len(items) {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

// JSON that is nested so deeply that decoding it would take long comes back as it was.
func TestDeepJSON(t *testing.T) {
	s := openaiagents.NewSession(storetest.Open(t), "s")
	var want []string
	for _, depth := range []int{95, 96, 97, 98, 5000} { // 100 is the last that is decoded
		text := `{"tools":[{"name":"[[[{\"","input_schema":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}],"type":"mcp_list_tools"}`
		want = append(want, text)
	}
	add(t, s, raws(want...)...)
	items, err := s.GetItems(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(items)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var variants []bool
	for _, item := range items {
		variants = append(variants, item.OfMcpListTools != nil)
	}
	if diff := cmp.Diff([]bool{true, true, true, false, false}, variants); diff != "" {
		t.Errorf("which have a variant (-want +got):\n%s", diff)
	}
}
