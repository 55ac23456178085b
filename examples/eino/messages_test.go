package eino_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"example.com/convmem/store/storetest"
	"github.com/cloudwego/eino/schema"
)

// call is a tool call of eino's usual type.
func call(id, name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

func asks(calls ...schema.ToolCall) *schema.Message { return schema.AssistantMessage("", calls) }

func wantAll(t *testing.T, s eino.Store, session string, want []*schema.Message) {
	t.Helper()
	got, err := eino.NewMessages(s).All(ctx, session)
	must(t, err)
	same(t, "all of "+session, got, want)
}

func TestMessagesOfEachKind(t *testing.T) {
	url, encoded := "https://example.com/cat.png", "aGVsbG8="
	image := &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}
	file := &schema.MessageInputFile{MessagePartCommon: schema.MessagePartCommon{Base64Data: &encoded}, Name: "a.pdf"}
	input := func(parts ...schema.MessageInputPart) *schema.Message {
		return &schema.Message{Role: schema.User, UserInputMultiContent: parts}
	}
	//lint:ignore SA1019 what eino deprecated is still in its messages
	audio := []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeAudioURL, AudioURL: &schema.ChatMessageAudioURL{URL: url}}}
	kinds := []struct {
		content string
		message *schema.Message
	}{
		{"Which <database> & \\ufffd \ufffd?", schema.UserMessage("Which <database> & \\ufffd \ufffd?")},
		{"データベースは?", schema.UserMessage("データベースは?")},
		{"Be brief.", schema.SystemMessage("Be brief.")},
		{"4 degrees", schema.ToolMessage("4 degrees", "c1", schema.WithToolName("weather"))},
		{"[empty]", schema.ToolMessage("", "c1")},
		{"[empty]", schema.AssistantMessage("", nil)},
		{"[reasoning]", &schema.Message{Role: schema.Assistant, ReasoningContent: "They may want PostgreSQL."}},
		{`weather {"city":"Oslo"}` + "\nclock", asks(call("c1", "weather", `{"city":"Oslo"}`), call("c2", "clock", ""))},
		{"[call]", asks(schema.ToolCall{ID: "c3"})},
		{"I look.", schema.AssistantMessage("I look.", []schema.ToolCall{call("c1", "weather", "{}")})},
		{"What is this?\nAnd this?", input(
			schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: "What is this?"},
			schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: image},
			schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: "And this?"})},
		{"[image]\n[file]\n[part]", input(
			schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: image},
			schema.MessageInputPart{Type: schema.ChatMessagePartTypeFileURL, File: file},
			schema.MessageInputPart{Text: ""})},
		{"Said.\nWritten.", &schema.Message{Role: schema.Assistant, Content: "Said.",
			AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "Written."}}}},
		{"[audio]", &schema.Message{Role: schema.User, MultiContent: audio}},
	}
	var messages []*schema.Message
	for _, kind := range kinds {
		messages = append(messages, kind.message)
	}
	everywhere(t, func(t *testing.T, one, other eino.Store) {
		must(t, eino.NewMessages(one).Append(ctx, "monday", messages...))
		must(t, eino.NewMessages(one).Append(ctx, "monday"))
		wantAll(t, other, "monday", messages)
		wantAll(t, other, "tuesday", nil)
		for i, message := range stored(t, other, "monday") {
			same(t, "content", message.Content, kinds[i].content)
			same(t, "role", string(message.Role), string(kinds[i].message.Role))
			same(t, "payload type", message.Payload.Type, "eino.message")
			var inPayload *schema.Message
			must(t, json.Unmarshal(message.Payload.Data, &inPayload))
			same(t, "payload", inPayload, kinds[i].message)
		}
		must(t, eino.NewMessages(other).Clear(ctx, "monday"))
		must(t, eino.NewMessages(other).Clear(ctx, "monday"))
		wantAll(t, one, "monday", nil)
	})
}

// nested is lists in lists.
func nested(depth int) any {
	var inner any
	for range depth {
		inner = []any{inner}
	}
	return inner
}

func TestMessagesRefuse(t *testing.T) {
	good, long := schema.UserMessage("good"), strings.Repeat("x", 300)
	with := func(extra any) *schema.Message {
		return &schema.Message{Role: schema.User, Content: "secret", Extra: map[string]any{"k": extra}}
	}
	tests := map[string]struct {
		session string
		message *schema.Message
		says    string
	}{
		"no session":            {"", good, "session_id"},
		"long session":          {long, good, "session_id"},
		"session not UTF-8":     {"\xff", good, "session_id"},
		"nil":                   {"s", nil, "messages[1]"},
		"no role":               {"s", &schema.Message{Content: "secret"}, "messages[1].role"},
		"unknown role":          {"s", &schema.Message{Role: "critic", Content: "secret"}, "messages[1].role"},
		"content not UTF-8":     {"s", schema.UserMessage("secret \xff"), "messages[1]: holds text that is not valid UTF-8"},
		"arguments not UTF-8":   {"s", asks(call("c", "f", "secret \xe3\x81")), "not valid UTF-8"},
		"extra not UTF-8":       {"s", with("\\\xff"), "not valid UTF-8"},
		"raw JSON not UTF-8":    {"s", with(json.RawMessage("\"secret \xff\"")), "not valid UTF-8"},
		"extra without JSON":    {"s", with(math.NaN()), "messages[1]: has no JSON form that can be read: *json.UnsupportedValueError"},
		"function in extra":     {"s", with(func() {}), "*json.UnsupportedTypeError"},
		"marshaler that fails":  {"s", with(json.RawMessage("secret")), "*json.MarshalerError"},
		"number out of range":   {"s", with(json.Number("1e400")), "messages[1]: has no JSON form that can be read: *json.UnmarshalTypeError"},
		"raw number":            {"s", with(json.RawMessage("1e400")), "*json.UnmarshalTypeError"},
		"too deep":              {"s", with(nested(20000)), "*json.SyntaxError"},
		"long text":             {"s", schema.UserMessage(strings.Repeat("secret", 1<<18)), "messages[1].content"},
		"long JSON":             {"s", schema.UserMessage(strings.Repeat("\n", 1<<19)), "messages[1].payload.data"},
		"long call id":          {"s", asks(call(long, "f", "")), "messages[1].tool_calls[0].id: 300 bytes, at most 256"},
		"long id of the second": {"s", asks(call("c", "f", ""), call(long, "f", "")), "messages[1].tool_calls[1].id"},
		"long result id":        {"s", schema.ToolMessage("secret", long), "messages[1].tool_call_id"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t)
			messages := eino.NewMessages(db)
			err := messages.Append(ctx, test.session, good, test.message)
			refused(t, err, convmem.CodeValidation, test.says)
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%q tells the message", err)
			}
			wantAll(t, db, "s", nil)
		})
	}
	db := storetest.Open(t)
	messages := eino.NewMessages(db)
	many := make([]*schema.Message, convmem.MaxBatchMessages+1)
	for i := range many {
		many[i] = schema.UserMessage(fmt.Sprint("message ", i))
	}
	refused(t, messages.Append(ctx, "s", many...), convmem.CodeValidation, "1001")
	must(t, messages.Append(ctx, "s", many[1:]...))
	wantAll(t, db, "s", many[1:])
	large := slices.Repeat([]*schema.Message{schema.UserMessage(strings.Repeat("x", 1<<20-100))}, 33)
	refused(t, messages.Append(ctx, "s", large...), convmem.CodeValidation, "67108864")
	wantAll(t, db, "s", many[1:])
	_, err := messages.All(ctx, "")
	refused(t, err, convmem.CodeValidation, "session_id")
	_, err = messages.Latest(ctx, "s", eino.Window{})
	refused(t, err, convmem.CodeValidation, "max_messages")
	_, err = messages.Latest(ctx, "s", eino.Window{MaxTokens: 9, CountTokens: func(*schema.Message) int { return -1 }})
	refused(t, err, convmem.CodeValidation, "count_tokens")
	_, err = messages.Search(ctx, "", "", 0)
	refused(t, err, convmem.CodeValidation, "query")
	_, err = messages.Search(ctx, "x", "", 101)
	refused(t, err, convmem.CodeValidation, "limit")
	refused(t, messages.Clear(ctx, ""), convmem.CodeValidation, "session_id")
}

func TestMessagesCancelled(t *testing.T) {
	db := storetest.Open(t)
	messages := eino.NewMessages(db)
	must(t, messages.Append(ctx, "s", schema.UserMessage("kept")))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, err := range everyMethod(cancelled, messages) {
		refused(t, err, convmem.CodeBusy)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v hides why", err)
		}
	}
	wantAll(t, db, "s", []*schema.Message{schema.UserMessage("kept")})
}

// everyMethod calls each method once and returns the errors.
func everyMethod(ctx context.Context, messages *eino.Messages) []error {
	_, allErr := messages.All(ctx, "s")
	_, latestErr := messages.Latest(ctx, "s", eino.Window{MaxMessages: 5})
	_, searchErr := messages.Search(ctx, "kept", "", 0)
	result := schema.ToolMessage("4 degrees", "c9")
	return []error{allErr, latestErr, searchErr, messages.Append(ctx, "s", schema.UserMessage("new")),
		messages.Append(ctx, "s", result), messages.Clear(ctx, "s")}
}

func TestMessagesOfAFailingStore(t *testing.T) {
	db := storetest.Open(t)
	kept := []*schema.Message{schema.UserMessage("kept")}
	must(t, eino.NewMessages(db).Append(ctx, "s", kept...))
	for i, err := range everyMethod(ctx, eino.NewMessages(&faulty{Store: db, failAt: 1, failFor: 99})) {
		injected(t, err)
		if !strings.HasPrefix(err.Error(), "eino: ") {
			t.Errorf("error %d is %q", i, err)
		}
	}
	// A batch that begins with a result reads first; then the write fails.
	batch := []*schema.Message{schema.ToolMessage("4 degrees", "c9"), schema.UserMessage("new")}
	injected(t, eino.NewMessages(&faulty{Store: db, failAt: 2, failFor: 1}).Append(ctx, "s", batch...))
	wantAll(t, db, "s", kept)
}

// What another program wrote is plain text; a payload of ours that is damaged is an
// error that names the message and not what is in it.
func TestForeignMessages(t *testing.T) {
	db := storetest.Open(t)
	messages := eino.NewMessages(db)
	id := "c1"
	for _, r := range []convmem.WriteRequest{
		{Role: convmem.RoleUser, Content: "quartz", Payload: convmem.Payload{Type: "other", Data: []byte("{")}},
		{Role: convmem.RoleAssistant, Content: "clock", Metadata: convmem.MetadataPatch{ToolCallID: &id}},
		{Role: convmem.RoleTool, Content: "noon", Metadata: convmem.MetadataPatch{ToolCallID: &id}},
	} {
		r.SessionID = "s"
		say(t, db, r)
	}
	must(t, messages.Append(ctx, "s", schema.ToolMessage("late", "c1")))
	want := []*schema.Message{
		schema.UserMessage("quartz"), schema.AssistantMessage("clock", nil), schema.ToolMessage("noon", "c1"), schema.ToolMessage("late", "c1"),
	}
	wantAll(t, db, "s", want)
	latest, err := messages.Latest(ctx, "s", eino.Window{MaxMessages: 3})
	must(t, err)
	same(t, "latest, in which the call is none of eino's", latest, want[1:2])
	latest, err = messages.Latest(ctx, "s", eino.Window{MaxMessages: 3, KeepOpenCalls: true})
	must(t, err)
	same(t, "latest, with open calls", latest, want[1:2])

	bad := say(t, db, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleAssistant, Content: "quartz", Metadata: convmem.MetadataPatch{ToolCallID: &id},
		Payload: convmem.Payload{Type: "eino.message", Data: []byte(`secret`)}})
	_, allErr := messages.All(ctx, "s")
	_, latestErr := messages.Latest(ctx, "s", eino.Window{MaxTokens: 1000, KeepOpenCalls: true})
	_, searchErr := messages.Search(ctx, "quartz", "s", 0)
	appendErr := messages.Append(ctx, "s", schema.ToolMessage("later", "c1"))
	for _, err := range []error{allErr, latestErr, searchErr, appendErr} {
		refused(t, err, convmem.CodeCorrupt, bad.ID)
		var syntax *json.SyntaxError
		if !errors.As(err, &syntax) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "invalid character") {
			t.Errorf("%v: wrong cause, or the text quotes the message", err)
		}
	}
}

func TestSearchMessages(t *testing.T) {
	everywhere(t, func(t *testing.T, one, other eino.Store) {
		messages := eino.NewMessages(one)
		must(t, messages.Append(ctx, "monday", schema.UserMessage("Which database for billing?"), asks(call("c1", "lookup", `{"topic":"postgresql"}`))))
		must(t, messages.Append(ctx, "tuesday", schema.UserMessage("The database moved."), schema.UserMessage("Lunch?")))
		for _, test := range []struct {
			query, session string
			limit          int
			want           []string
		}{
			{"billing database", "", 0, []string{"monday Which database for billing?", "tuesday The database moved."}},
			{"billing database", "", 1, []string{"monday Which database for billing?"}},
			{"database", "tuesday", 0, []string{"tuesday The database moved."}},
			{"postgresql", "", 0, []string{"monday "}},
			{"nothing like it", "monday", 0, nil},
		} {
			found, err := eino.NewMessages(other).Search(ctx, test.query, test.session, test.limit)
			must(t, err)
			var got []string
			for _, hit := range found.Hits {
				got = append(got, hit.SessionID+" "+hit.Message.Content)
				if around, err := convmem.Context(ctx, one, convmem.ContextRequest{MessageID: hit.MessageID}); err != nil || around.Session.SessionID != hit.SessionID || hit.Score <= 0 {
					t.Errorf("hit %+v: %v", hit, err)
				}
			}
			same(t, test.query, got, test.want)
			same(t, "truncated", found.Truncated, false)
		}
	})
}
