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
	long := strings.Repeat("secret ", 1<<20/7+1)
	for name, c := range map[string]struct {
		message llms.ChatMessage
		says    string
	}{
		"nil":                 {nil, "<nil>, want AIChatMessage"},
		"another type":        {foreign{}, "langchaingo_test.foreign, want"},
		"a pointer":           {&llms.HumanChatMessage{Content: "secret"}, "*llms.HumanChatMessage, want"},
		"a nil pointer":       {(*llms.AIChatMessage)(nil), "*llms.AIChatMessage, want"},
		"content not UTF-8":   {llms.HumanChatMessage{Content: bad}, "UTF-8"},
		"reasoning not UTF-8": {llms.AIChatMessage{Content: "secret", ReasoningContent: bad}, "UTF-8"},
		"arguments not UTF-8": {llms.AIChatMessage{ToolCalls: []llms.ToolCall{{FunctionCall: &llms.FunctionCall{Arguments: bad}}}}, "UTF-8"},
		"name not UTF-8":      {llms.GenericChatMessage{Content: "secret", Name: bad}, "UTF-8"},
		"over 1 MiB":          {llms.HumanChatMessage{Content: long}, "content"},
		"over 1 MiB as JSON":  {llms.HumanChatMessage{Content: strings.Repeat("\n", 1<<20)}, "payload.data"},
		"long call id":        {llms.ToolChatMessage{ID: strings.Repeat("i", 257), Content: "secret"}, "tool_call_id"},
	} {
		t.Run(name, func(t *testing.T) {
			h := langchaingo.NewHistory(storetest.Open(t), "s")
			ok(t, "set", h.SetMessages(ctx, humans("a b")))
			fails(t, "add", h.AddMessage(ctx, c.message), convmem.CodeValidation, "add message", c.says)
			list := append(humans("c"), c.message)
			fails(t, "set", h.SetMessages(ctx, list), convmem.CodeValidation, "set messages", "messages[1]", c.says)
			same(t, "messages", texts(t, h), "a b")
		})
	}
}

// A megabyte of markup fits: nothing in it takes more bytes as JSON.
func TestLargeMessage(t *testing.T) {
	h := langchaingo.NewHistory(storetest.Open(t), "s")
	text := strings.Repeat("<b>&</b>", (1<<20-64)/8)
	ok(t, "add", h.AddUserMessage(ctx, text))
	ok(t, "set", h.SetMessages(ctx, append(messages(t, h), humans("b")...)))
	same(t, "messages", messages(t, h), append([]llms.ChatMessage{llms.HumanChatMessage{Content: text}}, humans("b")...))
}

func TestRefusedLists(t *testing.T) {
	h := langchaingo.NewHistory(storetest.Open(t), "s")
	ok(t, "add", h.AddUserMessage(ctx, "a"))
	fails(t, "1001 anew", h.SetMessages(ctx, humans(strings.Repeat("x ", 1001))), convmem.CodeValidation, "set messages", "1001")
	same(t, "messages", texts(t, h), "a")

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
