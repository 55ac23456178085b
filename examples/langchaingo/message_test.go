package langchaingo_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/langchaingo"
	"example.com/convmem/store/storetest"
	"github.com/tmc/langchaingo/llms"
)

// variant is a message and what the store shows of it.
type variant struct {
	message llms.ChatMessage
	role    convmem.Role
	content string
	callID  string
	data    string // the JSON, which earlier versions have written
}

func variants() []variant {
	call := func(id, name, arguments string) llms.ToolCall {
		return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}}
	}
	return []variant{
		{llms.HumanChatMessage{Content: "a < b & \"c\"\n\x00\u2028é"}, "user", "a < b & \"c\"\n\x00\u2028é", "",
			`{"type":"human","content":"a < b & \"c\"\n\u0000\u2028é"}`},
		{llms.HumanChatMessage{}, "user", "[human]", "", `{"type":"human","content":""}`},
		{llms.SystemChatMessage{Content: "Be brief."}, "system", "Be brief.", "", `{"type":"system","content":"Be brief."}`},
		{llms.GenericChatMessage{Content: "Aye.", Role: "pirate", Name: "Ann"}, "user", "Aye.", "",
			`{"type":"generic","content":"Aye.","role":"pirate","name":"Ann"}`},
		{llms.AIChatMessage{Content: "Hello."}, "assistant", "Hello.", "", `{"type":"ai","content":"Hello."}`},
		{llms.AIChatMessage{}, "assistant", "[ai]", "", `{"type":"ai","content":""}`},
		{llms.AIChatMessage{
			Content: "I look.", ReasoningContent: "Two places.",
			FunctionCall: &llms.FunctionCall{Name: "old", Arguments: "{}"},
			ToolCalls:    []llms.ToolCall{call("c1", "weather", `{"in":"Rome"}`), call("c2", "weather", `{"in":"Oslo"}`)},
		}, "assistant", "I look.", "c1",
			`{"type":"ai","content":"I look.","reasoning_content":"Two places.","function_call":{"name":"old","arguments":"{}"},` +
				`"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"in\":\"Rome\"}"}},` +
				`{"id":"c2","type":"function","function":{"name":"weather","arguments":"{\"in\":\"Oslo\"}"}}]}`},
		{llms.ToolChatMessage{ID: "c2", Content: "Snow."}, "tool", "Snow.", "c1", `{"type":"tool","content":"Snow.","tool_call_id":"c2"}`},
		{llms.ToolChatMessage{ID: "c1", Content: ""}, "tool", "[tool]", "c1", `{"type":"tool","content":"","tool_call_id":"c1"}`},
		{llms.ToolChatMessage{ID: "c9", Content: "Nobody asked."}, "tool", "Nobody asked.", "c9",
			`{"type":"tool","content":"Nobody asked.","tool_call_id":"c9"}`},
		{llms.ToolChatMessage{Content: "No id."}, "tool", "No id.", "", `{"type":"tool","content":"No id."}`},
		{llms.AIChatMessage{ToolCalls: []llms.ToolCall{call("c3", "weather", `{"in":"Rome"}`), call("c4", "time", "")}},
			"assistant", "weather {\"in\":\"Rome\"}\ntime", "c3",
			`{"type":"ai","content":"","tool_calls":[{"id":"c3","type":"function","function":{"name":"weather","arguments":"{\"in\":\"Rome\"}"}},` +
				`{"id":"c4","type":"function","function":{"name":"time","arguments":""}}]}`},
		{llms.AIChatMessage{ToolCalls: []llms.ToolCall{{ID: "c5", Type: "other"}}}, "assistant", "[ai]", "c5",
			`{"type":"ai","content":"","tool_calls":[{"id":"c5","type":"other"}]}`},
		{llms.AIChatMessage{Content: "No calls.", ToolCalls: []llms.ToolCall{}}, "assistant", "No calls.", "",
			`{"type":"ai","content":"No calls.","tool_calls":[]}`},
		{llms.AIChatMessage{FunctionCall: &llms.FunctionCall{Name: "clock", Arguments: "{}"}}, "assistant", "clock {}", "clock",
			`{"type":"ai","content":"","function_call":{"name":"clock","arguments":"{}"}}`},
		{llms.FunctionChatMessage{Name: "clock", Content: "Noon."}, "tool", "Noon.", "clock", `{"type":"function","content":"Noon.","name":"clock"}`},
	}
}

func variantMessages() []llms.ChatMessage {
	var list []llms.ChatMessage
	for _, v := range variants() {
		list = append(list, v.message)
	}
	return list
}

// A field that a new version of the framework adds must not be lost silently: every
// field of every type has a value in some variant.
func TestVariantsHaveEveryField(t *testing.T) {
	fields, set := map[string]bool{}, map[string]bool{}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer:
			if !v.IsNil() {
				visit(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				name := v.Type().String() + "." + v.Type().Field(i).Name
				fields[name] = true
				set[name] = set[name] || !v.Field(i).IsZero()
				visit(v.Field(i))
			}
		}
	}
	visit(reflect.ValueOf(variantMessages()))
	for name := range fields {
		if !set[name] {
			t.Errorf("no variant has a value in %s", name)
		}
	}
	if len(fields) != 18 {
		t.Errorf("%d fields, want 18: is there a variant of each type? %v", len(fields), fields)
	}
	t.Logf("%d variants, %d fields", len(variants()), len(fields))
}

// Every variant, added one by one and all at once, in memory and on disk, comes back
// as it was, also after a reopen, and shows in the store what it should.
func TestRoundTrip(t *testing.T) {
	all := variantMessages()
	ways := map[string]func(h *langchaingo.History) error{
		"one by one": func(h *langchaingo.History) error {
			for i, m := range all {
				if err := h.AddMessage(ctx, m); err != nil {
					return fmt.Errorf("variant %d: %w", i, err)
				}
			}
			return nil
		},
		"at once": func(h *langchaingo.History) error { return h.SetMessages(ctx, all) },
		"some and then the rest": func(h *langchaingo.History) error {
			if err := h.SetMessages(ctx, all[:7]); err != nil {
				return err
			}
			return h.SetMessages(ctx, all)
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			inMemory := storetest.Open(t)
			ok(t, "write", way(langchaingo.NewHistory(inMemory, "s")))
			shows(t, inMemory)

			dir := t.TempDir()
			db := open(t, dir)
			ok(t, "write", way(langchaingo.NewHistory(db.Namespace("n"), "s")))
			shows(t, db.Namespace("n"))
			same(t, "another namespace", len(messages(t, langchaingo.NewHistory(db, "s"))), 0)
			ok(t, "close", db.Close())
			shows(t, open(t, dir).Namespace("n"))
		})
	}
}

func shows(t *testing.T, s langchaingo.Store) {
	t.Helper()
	same(t, "messages", messages(t, langchaingo.NewHistory(s, "s")), variantMessages())
	stored := raw(t, s, "s")
	for i, v := range variants() {
		m := stored[i]
		what := fmt.Sprintf("variant %d", i)
		same(t, what+" role", m.Role, v.role)
		same(t, what+" content", m.Content, v.content)
		same(t, what+" call id", m.Metadata.ToolCallID, v.callID)
		same(t, what+" payload", string(m.Payload.Data), v.data)
		same(t, what+" payload type", m.Payload.Type, "langchaingo.message")
		back, err := langchaingo.FromMessage(m)
		ok(t, what, err)
		same(t, what+" from message", back, v.message)
	}
}

// A window has an answer only together with all results of its calls, also where not
// every call has an id, where a function was called beside tools, and over many
// pages. Where there is no id at all the answer is there without its results.
func TestWindowKeepsCallsWithResults(t *testing.T) {
	f := &llms.FunctionCall{Name: "f", Arguments: "{}"}
	answer := func(function *llms.FunctionCall, ids ...string) llms.AIChatMessage {
		m := llms.AIChatMessage{FunctionCall: function}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, llms.ToolCall{ID: id, FunctionCall: f})
		}
		return m
	}
	result := func(id string) llms.ChatMessage { return llms.ToolChatMessage{ID: id, Content: "r"} }
	function := llms.FunctionChatMessage{Name: "f", Content: "r"}
	large := []llms.ChatMessage{answer(nil, "0", "1", "2", "3", "4", "5", "6", "7")}
	for i := range 8 {
		large = append(large, llms.ToolChatMessage{ID: fmt.Sprint(i), Content: strings.Repeat("x", 300)})
	}
	for name, c := range map[string]struct {
		list  []llms.ChatMessage
		whole int // messages of the whole list in a window
	}{
		"two calls":               {[]llms.ChatMessage{answer(nil, "c1", "c2"), result("c2"), result("c1")}, 3},
		"the first without id":    {[]llms.ChatMessage{answer(nil, "", "c2"), result("c2"), result("")}, 3},
		"function beside a call":  {[]llms.ChatMessage{answer(f, "c1"), function, result("c1")}, 3},
		"function beside no id":   {[]llms.ChatMessage{answer(f, ""), function, result("")}, 3},
		"function":                {[]llms.ChatMessage{answer(f), function}, 2},
		"function, used again":    {[]llms.ChatMessage{answer(f, "c1"), function, result("c1"), answer(f, "c2"), function, result("c2")}, 6},
		"ids used again":          {[]llms.ChatMessage{answer(nil, "0", "1"), result("0"), result("1"), answer(nil, "1", "0"), result("0"), result("1")}, 6},
		"over many pages":         {large, 9},
		"no id":                   {[]llms.ChatMessage{answer(nil, ""), result("")}, 1},
		"no call of the function": {[]llms.ChatMessage{answer(nil, "c1"), function, result("c1")}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			one, all := small(t), small(t)
			for _, m := range c.list {
				ok(t, "add", langchaingo.NewHistory(one, "s").AddMessage(ctx, m))
			}
			ok(t, "set", langchaingo.NewHistory(all, "s").SetMessages(ctx, c.list))
			for _, db := range []*convmem.DB{one, all} {
				ok(t, "add", langchaingo.NewHistory(db, "s").AddAIMessage(ctx, "Done."))
				for bound, want := range map[int]int{1: 1, 2: 1, 99: c.whole + 1} {
					if c.whole == 1 && bound == 2 {
						want = 2
					}
					window, err := convmem.Window(ctx, db, convmem.WindowRequest{SessionID: "s", MaxMessages: bound})
					ok(t, "window", err)
					same(t, fmt.Sprintf("window of %d", bound), len(window.Messages), want)
				}
			}
		})
	}
}

// AddMessage finds the call among the newest 100 messages, in one page, and no
// further back.
func TestCallTooFarBack(t *testing.T) {
	for between, want := range map[int]string{0: "c1", 99: "c1", 100: "c2"} {
		counted := &calls{Store: storetest.Open(t)}
		h := langchaingo.NewHistory(counted, "s")
		ok(t, "set", h.SetMessages(ctx, append(append(humans("a"), variantMessages()[6]), humans(strings.Repeat("x ", between))...)))
		counted.reads.Store(0)
		ok(t, "add", h.AddMessage(ctx, llms.ToolChatMessage{ID: "c2", Content: "Late."}))
		same(t, "reads", counted.reads.Load(), int64(1))
		same(t, "call id", raw(t, counted, "s")[between+2].Metadata.ToolCallID, want)
		counted.reads.Store(0)
		ok(t, "add", h.AddUserMessage(ctx, "b"))
		ok(t, "add", h.AddMessage(ctx, variantMessages()[6]))
		same(t, "reads for what is no result", counted.reads.Load(), int64(0))
	}
}

// Messages of other programs are plain text of their role.
func TestMessagesOfOthers(t *testing.T) {
	db := storetest.Open(t)
	id := "call"
	for _, r := range []convmem.WriteRequest{
		{Role: convmem.RoleSystem, Content: "a"},
		{Role: convmem.RoleUser, Content: "b", Payload: convmem.Payload{Type: "other", Data: []byte("{")}},
		{Role: convmem.RoleAssistant, Content: "c", Metadata: convmem.MetadataPatch{ToolCallID: &id}},
		{Role: convmem.RoleTool, Content: "d", Metadata: convmem.MetadataPatch{ToolCallID: &id}},
	} {
		r.SessionID = "s"
		_, err := db.Write(ctx, r)
		ok(t, "write", err)
	}
	same(t, "messages", messages(t, langchaingo.NewHistory(db, "s")), []llms.ChatMessage{
		llms.SystemChatMessage{Content: "a"}, llms.HumanChatMessage{Content: "b"},
		llms.AIChatMessage{Content: "c"}, llms.ToolChatMessage{ID: "call", Content: "d"},
	})
}

// An edit of the content is found and not returned.
func TestEditOfTheContent(t *testing.T) {
	db := storetest.Open(t)
	h := langchaingo.NewHistory(db, "s")
	ok(t, "add", h.AddUserMessage(ctx, "apple"))
	pear := "pear"
	_, err := db.Update(ctx, convmem.UpdateRequest{MessageID: raw(t, db, "s")[0].ID, Content: &pear})
	ok(t, "update", err)
	same(t, "messages", texts(t, h), "apple")
	found, err := db.Search(ctx, convmem.SearchRequest{Query: "pear"})
	ok(t, "search", err)
	same(t, "hits", len(found.Hits), 1)
}

// A payload of this package that does not decode is an error that names the message,
// and Clear still works.
func TestBadPayloads(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":          ``,
		"no JSON":          `{"type":"human","content":"secret`,
		"unknown type":     `{"type":"secret","content":"secret"}`,
		"no type":          `{"content":"secret"}`,
		"unknown field":    `{"type":"human","content":"x","secret":1}`,
		"wrong type":       `{"type":"human","content":7}`,
		"something behind": `{"type":"human","content":"secret"} {}`,
		"a bracket behind": `{"type":"human","content":"secret"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t)
			written, err := db.Write(ctx, convmem.WriteRequest{
				SessionID: "s", Role: convmem.RoleUser, Content: "secret",
				Payload: convmem.Payload{Type: "langchaingo.message", Data: []byte(data)},
			})
			ok(t, "write", err)
			h := langchaingo.NewHistory(db, "s")
			_, err = h.Messages(ctx)
			fails(t, "messages", err, convmem.CodeCorrupt, "messages", written.Message.ID)
			fails(t, "set", h.SetMessages(ctx, humans("a")), convmem.CodeCorrupt, written.Message.ID)
			_, err = langchaingo.FromMessage(written.Message)
			fails(t, "from message", err, convmem.CodeCorrupt, written.Message.ID)
			ok(t, "adding a result behind it", h.AddMessage(ctx, llms.ToolChatMessage{ID: "c", Content: "x"}))
			ok(t, "clear", h.Clear(ctx))
			same(t, "messages", messages(t, h), []llms.ChatMessage{})
		})
	}
}
