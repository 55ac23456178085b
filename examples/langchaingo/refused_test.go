package langchaingo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/langchaingo"
	"example.com/convmem/store/storetest"
	"github.com/tmc/langchaingo/llms"
)

// foreign is a chat message that is none of the framework's.
type foreign struct{}

func (foreign) GetType() llms.ChatMessageType { return llms.ChatMessageTypeHuman }
func (foreign) GetContent() string            { return "secret" }

// What is refused is refused by AddMessage and by SetMessages, with the place in the
// list, and changes nothing.
func TestRefusedMessages(t *testing.T) {
	bad := "secret\xff"
	longID := strings.Repeat("i", convmem.MaxToolCallIDBytes+1)
	long := strings.Repeat("secret ", 1<<20/7+1)
	fits := jsonOf(1 << 20)
	for name, c := range map[string]struct {
		message llms.ChatMessage
		says    string
	}{
		"nil":                   {nil, ": <nil>, want AIChatMessage"},
		"another type":          {foreign{}, ": langchaingo_test.foreign, want"},
		"a pointer":             {&llms.HumanChatMessage{Content: "secret"}, ": *llms.HumanChatMessage, want"},
		"a nil pointer":         {(*llms.AIChatMessage)(nil), ": *llms.AIChatMessage, want"},
		"content not UTF-8":     {llms.HumanChatMessage{Content: bad}, ": a text in it is not valid UTF-8"},
		"reasoning not UTF-8":   {llms.AIChatMessage{Content: "secret", ReasoningContent: bad}, ": a text in it is not valid UTF-8"},
		"arguments not UTF-8":   {llms.AIChatMessage{ToolCalls: []llms.ToolCall{{FunctionCall: &llms.FunctionCall{Arguments: bad}}}}, ": a text in it is not valid UTF-8"},
		"name not UTF-8":        {llms.GenericChatMessage{Content: "secret", Name: bad}, ": a text in it is not valid UTF-8"},
		"over 1 MiB":            {llms.HumanChatMessage{Content: long}, ": 1048608 bytes as JSON, at most 1048576"},
		"over 1 MiB as JSON":    {llms.HumanChatMessage{Content: fits + "x"}, ": 1048577 bytes as JSON, at most 1048576"},
		"call over 1 MiB":       {llms.AIChatMessage{FunctionCall: &llms.FunctionCall{Name: "f", Arguments: long}}, ": 1048649 bytes as JSON, at most 1048576"},
		"long id of a result":   {llms.ToolChatMessage{ID: longID, Content: "secret"}, ".tool_call_id: 257 bytes, at most 256"},
		"long id of a call":     {llms.AIChatMessage{ToolCalls: []llms.ToolCall{{ID: "a"}, {ID: longID}}}, ".tool_calls[1].id: 257 bytes, at most 256"},
		"long function":         {llms.AIChatMessage{FunctionCall: &llms.FunctionCall{Name: longID}}, ".function_call.name: 257 bytes, at most 256"},
		"long function, hidden": {llms.AIChatMessage{ToolCalls: []llms.ToolCall{{ID: "a"}}, FunctionCall: &llms.FunctionCall{Name: longID}}, ".function_call.name: 257"},
		"long function result":  {llms.FunctionChatMessage{Name: longID, Content: "secret"}, ".name: 257 bytes, at most 256"},
	} {
		t.Run(name, func(t *testing.T) {
			h := langchaingo.NewHistory(storetest.Open(t), "s")
			ok(t, "set", h.SetMessages(ctx, humans("a b")))
			fails(t, "add", h.AddMessage(ctx, c.message), convmem.CodeValidation, "add message: convmem: write: VALIDATION_ERROR: message"+c.says)
			list := append(humans("c"), c.message)
			fails(t, "set", h.SetMessages(ctx, list), convmem.CodeValidation, "set messages: convmem: write: VALIDATION_ERROR: messages[1]"+c.says)
			same(t, "messages", texts(t, h), "a b")
		})
	}
}

// jsonOf is a text whose message takes so many bytes as JSON.
func jsonOf(bytes int) string {
	return strings.Repeat("x", bytes-len(`{"type":"human","content":""}`))
}

// What is at the limits is accepted, by AddMessage and SetMessages, also where a list
// is written anew. Markup takes no more bytes as JSON.
func TestAtTheLimits(t *testing.T) {
	id := strings.Repeat("i", convmem.MaxToolCallIDBytes)
	call := &llms.FunctionCall{Name: id, Arguments: strings.Repeat("x", 1<<20-350)}
	list := []llms.ChatMessage{
		llms.HumanChatMessage{Content: jsonOf(1 << 20)},
		llms.HumanChatMessage{Content: strings.Repeat("<b>&</b>", (1<<20-64)/8)},
		llms.AIChatMessage{FunctionCall: call}, llms.FunctionChatMessage{Name: id},
		llms.AIChatMessage{ToolCalls: []llms.ToolCall{{ID: "a", FunctionCall: &llms.FunctionCall{Name: id + id}}, {ID: id}}},
		llms.ToolChatMessage{ID: id},
	}
	h := langchaingo.NewHistory(storetest.Open(t), "s")
	for _, m := range list {
		ok(t, "add", h.AddMessage(ctx, m))
	}
	same(t, "messages", messages(t, h), list)
	list[0], list[1] = list[1], list[0]
	ok(t, "set", h.SetMessages(ctx, list))
	same(t, "messages", messages(t, h), list)
}

func TestRefusedLists(t *testing.T) {
	h := langchaingo.NewHistory(storetest.Open(t), "s")
	ok(t, "add", h.AddUserMessage(ctx, "a"))
	fails(t, "1000 anew", h.SetMessages(ctx, humans(strings.Repeat("x ", 1000))), convmem.CodeValidation,
		"set messages", "messages: 1000 would be written, at most 999 written anew")
	fails(t, "1001 more", h.SetMessages(ctx, humans("a"+strings.Repeat(" x", 1001))), convmem.CodeValidation,
		"set messages", "messages: 1001 would be written, at most", "or 1000 added")
	same(t, "messages", texts(t, h), "a")
	ok(t, "999 anew", h.SetMessages(ctx, humans(strings.Repeat("x ", 999))))
	ok(t, "one", h.SetMessages(ctx, humans("a")))

	// Only what must be written counts.
	list := humans("a" + strings.Repeat(" x", 1000))
	ok(t, "1000 more", h.SetMessages(ctx, list))
	ok(t, "1000 more again", h.SetMessages(ctx, append(list, list...)[:2001]))
	same(t, "messages", len(messages(t, h)), 2001)

	megabyte := llms.HumanChatMessage{Content: strings.Repeat("x", 1<<20-64)}
	var large []llms.ChatMessage
	for range 33 { // content and payload
		large = append(large, megabyte)
	}
	fails(t, "66 MiB", h.SetMessages(ctx, large), convmem.CodeValidation, "set messages", "bytes of content")
	same(t, "messages", len(messages(t, h)), 2001)
}

// An error of the store's batch names the message of the caller's list, whether the
// batch begins with a mark, or behind what is kept.
func TestErrorsOfABatch(t *testing.T) {
	for _, c := range []struct{ new, field, want string }{
		{"x y z", "messages[3].content", "messages[2].content"},
		{"x y z", "messages[1]", "messages[0]"},
		{"x y z", "messages[0].role", "messages[0].role"}, // the mark
		{"a b x y", "messages[1].content", "messages[3].content"},
		{"a b x y", "messages", "messages"},
		{"a b x y", "", "IO_ERROR"},
	} {
		counted := &calls{Store: storetest.Open(t)}
		h := langchaingo.NewHistory(counted, "s")
		ok(t, "set", h.SetMessages(ctx, humans("a b")))
		counted.before = func(method string) error {
			if method == "batch" {
				return &convmem.Error{Op: "write batch", Code: convmem.CodeIO, Field: c.field, Message: "failed", Err: errDisk}
			}
			return nil
		}
		err := h.SetMessages(ctx, humans(c.new))
		fails(t, c.field, err, convmem.CodeIO, ": "+c.want+": failed")
		if !errors.Is(err, errDisk) {
			t.Errorf("%v has lost its cause", err)
		}
	}
	// Errors of another kind are passed on.
	counted := &calls{Store: storetest.Open(t), before: func(method string) error {
		if method == "batch" {
			return errDisk
		}
		return nil
	}}
	if err := langchaingo.NewHistory(counted, "s").SetMessages(ctx, humans("a")); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
}

// operations are all methods, by the name that their errors have.
func operations(h *langchaingo.History) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"add message":   func(ctx context.Context) error { return h.AddUserMessage(ctx, "secret") },
		"add message: ": func(ctx context.Context) error { return h.AddMessage(ctx, llms.ToolChatMessage{ID: "c"}) },
		"messages":      func(ctx context.Context) error { _, err := h.Messages(ctx); return err },
		"set messages":  func(ctx context.Context) error { return h.SetMessages(ctx, humans("secret")) },
		"set messages:": func(ctx context.Context) error { return h.SetMessages(ctx, nil) },
		"clear":         h.Clear,
	}
}

func TestBadSessions(t *testing.T) {
	for name, session := range map[string]string{"empty": "", "300 bytes": strings.Repeat("s", 300), "not UTF-8": "\xff"} {
		t.Run(name, func(t *testing.T) {
			for what, operation := range operations(langchaingo.NewHistory(storetest.Open(t), session)) {
				fails(t, what, operation(ctx), convmem.CodeValidation, what, "session_id")
			}
		})
	}
}

func TestCancelledContext(t *testing.T) {
	h := langchaingo.NewHistory(storetest.Open(t), "s")
	ok(t, "set", h.SetMessages(ctx, humans("a b")))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for what, operation := range operations(h) {
		err := operation(ended)
		fails(t, what, err, convmem.CodeBusy, what)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v is no context.Canceled", what, err)
		}
	}
	same(t, "messages", texts(t, h), "a b")
}

// Cancelled during the deletions, the new list stands, and the next call cleans up.
func TestCancelledDuringDeletions(t *testing.T) {
	counted := &calls{Store: storetest.Open(t)}
	h := langchaingo.NewHistory(counted, "s")
	for old, new := range map[string]string{"a b c": "x y", "a b c d": "c d"} {
		ok(t, "set", h.SetMessages(ctx, humans(old)))
		ended, cancel := context.WithCancel(ctx)
		counted.before = func(method string) error {
			if method == "delete" {
				cancel()
			}
			return nil
		}
		err := h.SetMessages(ended, humans(new))
		fails(t, "set", err, convmem.CodeBusy, "set messages")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v is no context.Canceled", err)
		}
		counted.before = nil
		same(t, "messages", texts(t, h), new)
		ok(t, "set", h.SetMessages(ctx, humans(new)))
		same(t, "stored", len(raw(t, counted, "s")), 2)
	}
}

func TestClosedStore(t *testing.T) {
	db := open(t, t.TempDir())
	ok(t, "close", db.Close())
	for what, operation := range operations(langchaingo.NewHistory(db, "s")) {
		if err := operation(ctx); !errors.Is(err, convmem.ErrClosed) {
			t.Errorf("%s: %v is no ErrClosed", what, err)
		}
	}
}

// Clear is for the one session, and what other programs wrote there goes with it.
func TestClear(t *testing.T) {
	db := storetest.Open(t)
	h, other := langchaingo.NewHistory(db, "s"), langchaingo.NewHistory(db, "t")
	ok(t, "add", h.AddUserMessage(ctx, "a"))
	ok(t, "add", other.AddAIMessage(ctx, "b"))
	_, err := db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "c"})
	ok(t, "write", err)
	ok(t, "clear", h.Clear(ctx))
	ok(t, "clear again", h.Clear(ctx))
	same(t, "messages", messages(t, h), []llms.ChatMessage{})
	same(t, "the other session", texts(t, other), "b")
	same(t, "raw", len(raw(t, db, "s")), 0)
}
