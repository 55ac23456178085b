package openaiagents_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/openaiagents"
	"example.com/convmem/store/storetest"
	"github.com/nlpodyssey/openai-agents-go/memory"
	"github.com/openai/openai-go/v2/packages/param"
	"github.com/openai/openai-go/v2/responses"
)

// What cannot be kept as it is is refused, with the field and never with what it
// says, and nothing of the call is added.
func TestRefusedItems(t *testing.T) {
	const secret = "SECRET"
	ok := user("fine")
	manyItems := make([]item, convmem.MaxBatchMessages+1)
	for i := range manyItems {
		manyItems[i] = ok
	}
	for _, test := range []struct {
		name, field string
		items       []item
	}{
		{"no variant", "items[1]", []item{ok, {}}},
		{"two variants", "items[0]", []item{{OfMessage: ok.OfMessage, OfItemReference: &responses.ResponseInputItemItemReferenceParam{ID: secret}}}},
		{"an override of JSON that ends early", "items[0]", []item{raw(`{"SECRET":`)}},
		{"an override without JSON", "items[0]", []item{param.Override[item](math.NaN())}},
		{"an override whose error quotes it", "items[0]", []item{param.Override[item](talkative{})}},
		{"an override that is a list", "items[0]", []item{raw(`["SECRET"]`)}},
		{"an override that is null", "items[0]", []item{raw(`null`)}},
		{"an override of nothing", "items[0]", []item{param.Override[item](nil)}},
		{"a message of nothing", "items[0]", []item{{OfMessage: &responses.EasyInputMessageParam{}}}},
		{"text that is no UTF-8", "items[1]", []item{ok, user("SECRET\xff")}},
		{"an id that is no UTF-8", "items[0]", []item{responses.ResponseInputItemParamOfItemReference("SECRET\xff")}},
		{"a part that is no UTF-8", "items[0]", []item{responses.ResponseInputItemParamOfMessage(
			responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText("SECRET\xff")}, responses.EasyInputMessageRoleUser)}},
		{"an override that is no UTF-8", "items[0]", []item{param.Override[item](map[string]any{"a": []any{map[string]string{"b": "SECRET\xff"}}})}},
		{"a key that is no UTF-8", "items[0]", []item{param.Override[item](map[string]any{"SECRET\xff": 1})}},
		{"raw JSON that is no UTF-8", "items[0]", []item{raw("{\"a\":\"SECRET\xff\"}")}},
		{"text over 1 MiB", "items[1].content", []item{ok, user(strings.Repeat("x", convmem.MaxContentBytes+1))}},
		{"JSON over 1 MiB", "items[0].payload.data", []item{raw(`{"image":"` + strings.Repeat("A", convmem.MaxPayloadBytes) + `"}`)}},
		{"a long call id", "items[0].tool_call_id", []item{raw(call(strings.Repeat("c", 300)))}},
		{"1001 items", "items", manyItems},
	} {
		t.Run(test.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, store openaiagents.Store) {
				s := openaiagents.NewSession(store, "s")
				err := s.AddItems(t.Context(), test.items)
				e := failsWith(t, err, convmem.CodeValidation)
				if e.Field != test.field || strings.Contains(err.Error(), secret) || !strings.HasPrefix(err.Error(), "openaiagents: add items: ") {
					t.Errorf("field %q: %v", e.Field, err)
				}
				if got := get(t, s, 0); got != nil {
					t.Errorf("%d items added", len(got))
				}
			})
		})
	}
}

// talkative has no JSON, and says what it holds.
type talkative struct{}

func (talkative) MarshalJSON() ([]byte, error) { return nil, errors.New("SECRET") }

// Content and JSON count together.
func TestTooManyBytes(t *testing.T) {
	s := openaiagents.NewSession(storetest.Open(t), "s")
	const half = convmem.MaxContentBytes / 2
	items := slices.Repeat([]item{user(strings.Repeat("x", half))}, convmem.MaxBatchBytes/(2*half))
	e := failsWith(t, s.AddItems(t.Context(), items), convmem.CodeValidation)
	if e.Field != "items" || get(t, s, 0) != nil {
		t.Error(e)
	}
}

// The largest that is allowed, and texts that only look wrong.
func TestAcceptedItems(t *testing.T) {
	envelope := len(texts([]item{user("")})[0])
	manyItems := make([]item, convmem.MaxBatchMessages)
	for i := range manyItems {
		manyItems[i] = user("x")
	}
	for name, items := range map[string][]item{
		"JSON of 1 MiB":           {user(strings.Repeat("x", convmem.MaxPayloadBytes-envelope))},
		"1000 items":              manyItems,
		"a replacement character": {user("\ufffd"), raw(`{"a":"\ufffd"}`), raw(`{"a":"\\ufffd"}`)},
		"a circle": {{OfMcpListTools: &responses.ResponseInputItemMcpListToolsParam{
			Tools: []responses.ResponseInputItemMcpListToolsToolParam{{Name: "t", InputSchema: circle()}},
		}}},
		"what is not in the JSON":    {param.Override[item](hidden{"a", "\xff"})},
		"NUL and spaces":             {user("\x00"), user(" "), user("\n")},
		"bytes":                      {param.Override[item](map[string]any{"a": []byte{0xff}})},
		"an empty text":              {user("")},
		"a variant of nothing":       {{OfFunctionCall: &responses.ResponseFunctionToolCallParam{}}},
		"a pointer in an override":   {param.Override[item](map[string]any{"a": &[]string{"b"}[0], "n": nil, "p": (*string)(nil)})},
		"an array in an override":    {param.Override[item](map[string]any{"a": [2]string{"b", "c"}})},
		"a message of no known role": {raw(`{"type":"message","role":"critic","content":"hm"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, store openaiagents.Store) {
				s := openaiagents.NewSession(store, "s")
				add(t, s, items...)
				want, got := texts(items), get(t, s, 0)
				if len(want) != len(got) {
					t.Fatalf("%d items, want %d", len(got), len(want))
				}
				for i := range want {
					if want[i] != got[i] {
						t.Errorf("item %d is another", i)
					}
				}
			})
		})
	}
}

// ring has JSON that does not follow its fields, which lead in a circle.
type ring struct{ Next *ring }

func (*ring) MarshalJSON() ([]byte, error) { return []byte(`"\ufffd"`), nil }

func circle() *ring {
	r := new(ring)
	r.Next = r
	return r
}

type hidden struct {
	A       string
	private string
}

// With a wrong session id every method fails and says so.
func TestWrongSessionIDs(t *testing.T) {
	for name, id := range map[string]string{"empty": "", "300 bytes": strings.Repeat("s", 300), "no UTF-8": "SECRET\xff"} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, store openaiagents.Store) {
				s := openaiagents.NewSession(store, id)
				if s.SessionID(t.Context()) != id {
					t.Error("another id")
				}
				_, getting := s.GetItems(t.Context(), 0)
				_, popping := s.PopItem(t.Context())
				for what, err := range map[string]error{
					"get items": getting, "pop item": popping, "clear session": s.ClearSession(t.Context()),
					"add items": s.AddItems(t.Context(), []memory.TResponseInputItem{user("x")}),
				} {
					e := failsWith(t, err, convmem.CodeValidation)
					if e.Field != "session_id" || !strings.HasPrefix(err.Error(), "openaiagents: "+what+": ") || strings.Contains(err.Error(), "SECRET") {
						t.Errorf("%s: %v", what, err)
					}
				}
			})
		})
	}
}

// The caller's items and the store's share no memory.
func TestNothingIsShared(t *testing.T) {
	s := openaiagents.NewSession(open(t, t.TempDir()), "s")
	data := []byte(`{"type":"later","a":"b"}`)
	given := []item{param.Override[item](json.RawMessage(data)), user("text")}
	add(t, s, given...)
	want := get(t, s, 0)
	given[1].OfMessage.Role = "system"
	copy(data, "XXXX")
	read, err := s.GetItems(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	read[1].OfMessage.Content.OfString = param.NewOpt("changed")
	read[0] = item{}
	if got := get(t, s, 0); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}
