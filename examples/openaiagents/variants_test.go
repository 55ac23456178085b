package openaiagents_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/openaiagents"
	"github.com/google/go-cmp/cmp"
)

// Every variant of the union, filled in from its Go type and empty, with every
// choice of the unions inside it, comes back as the same variant with the same JSON,
// after the store was opened again too. The variants are those that the type has, so
// one that a new version brings is tested as well, and one that it does not know
// fails.
func TestEveryVariant(t *testing.T) {
	dir := t.TempDir()
	var items []item
	var names []string
	union := reflect.TypeFor[item]()
	for i := range union.NumField() {
		if union.Field(i).Anonymous {
			continue
		}
		for choice := -1; choice < 10; choice++ {
			value := reflect.New(union).Elem()
			value.Field(i).Set(reflect.New(union.Field(i).Type.Elem()))
			filler{choice: choice, name: union.Field(i).Name}.fill(value.Field(i).Elem())
			items = append(items, value.Interface().(item))
			names = append(names, union.Field(i).Name)
		}
	}
	if len(items) != 21*11 {
		t.Errorf("%d items, want 11 of each of 21 variants", len(items))
	}
	db := open(t, dir)
	add(t, openaiagents.NewSession(db, "s"), items...)
	checkVariants(t, items, names, openaiagents.NewSession(db, "s"))
	db.Close()
	checkVariants(t, items, names, openaiagents.NewSession(open(t, dir), "s"))
	t.Logf("%d items of %d variants", len(items), union.NumField()-1)
}

func checkVariants(t *testing.T, want []item, names []string, s *openaiagents.Session) {
	t.Helper()
	got, err := s.GetItems(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
		t.Fatalf("JSON (-want +got):\n%s", diff)
	}
	plain := 0
	for i := range want {
		value := reflect.ValueOf(got[i])
		name := names[i]
		data := texts(want[i : i+1])[0]
		if name == "OfOutputMessage" && !strings.Contains(data, "output_text") && !strings.Contains(data, "refusal") {
			name = "OfMessage" // a message without any part looks like any other
		}
		if name == "OfInputMessage" && !strings.Contains(data, `"status"`) {
			name = "OfMessage" // the same JSON
		}
		if value.FieldByName(name).IsNil() {
			t.Errorf("%s came back as another variant: %s", name, data)
			continue
		}
		variant := value.FieldByName(name).Interface().(interface{ Overrides() (any, bool) })
		if _, overridden := variant.Overrides(); !overridden {
			plain++
		}
	}
	t.Logf("%d of %d items without an override", plain, len(want))
	if plain != len(want) {
		t.Error("an item that a variant can hold needs none")
	}
}

// filler fills a value with something. Of a union it sets one variant; choice -1
// sets only what makes the JSON that of the variant.
type filler struct {
	choice int
	name   string
}

func (f filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("<text> & \u2028 \U0001f600 \ufffd %d", f.choice))
	case reflect.Int64, reflect.Int:
		v.SetInt(1<<53 + 1)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"type": "object", "b": []any{"x"}}))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		filler{f.choice + 1, f.name}.fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(value)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Struct:
		f.fillStruct(v)
	}
}

func (f filler) fillStruct(v reflect.Value) {
	var unions []int
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case field.Anonymous || strings.HasPrefix(field.Type.PkgPath(), "github.com/openai/openai-go/v2/shared/constant"):
		case strings.HasPrefix(field.Name, "Of"):
			unions = append(unions, i)
		case field.Name == "Type" && field.Type.Kind() == reflect.String:
			v.Field(i).SetString(f.typeOf(v))
		case field.Name == "Role" && field.Type.Kind() == reflect.String:
			v.Field(i).SetString("user")
		case f.choice >= 0:
			f.fill(v.Field(i))
		}
	}
	if len(unions) > 0 && f.choice >= 0 {
		f.fill(v.Field(unions[f.choice%len(unions)]))
	}
}

// typeOf is the one value of a Type that is no constant.
func (f filler) typeOf(v reflect.Value) string {
	switch name := v.Type().Name(); name {
	case "EasyInputMessageParam", "ResponseInputItemMessageParam":
		return "message"
	case "ResponseInputItemItemReferenceParam":
		return "item_reference"
	case "ResponseComputerToolCallParam":
		return "computer_call"
	default:
		return "function"
	}
}

// JSON that no variant can hold comes back byte for byte, as the variant that it
// resembles if there is one.
func TestExactJSON(t *testing.T) {
	for _, test := range []struct{ name, json, variant string }{
		{"an unknown field", `{"type":"function_call","call_id":"c","name":"n","arguments":"{}","later":{"b":1,"a":[2]}}`, "OfFunctionCall"},
		{"another order", `{"summary":[],"type":"reasoning","encrypted_content":"gAAA<+/=","id":"rs"}`, "OfReasoning"},
		{"null", `{"id":"rs","summary":[],"encrypted_content":null,"type":"reasoning"}`, "OfReasoning"},
		{"numbers", `{"type":"message","role":"user","content":"c","n":1e3,"big":12345678901234567890}`, "OfMessage"},
		{"without a type", `{"content":"c","role":"user"}`, "OfMessage"},
		{"without a type, a reference", `{"id":"msg_1"}`, "OfItemReference"},
		{"an answer of the model", `{"id":"m","content":[{"annotations":[],"text":"a","type":"output_text","more":1}],"status":"completed","role":"assistant","type":"message"}`, "OfOutputMessage"},
		{"a refusal", `{"id":"m","content":[{"refusal":"no","type":"refusal"}],"status":"completed","role":"assistant","type":"message"}`, "OfOutputMessage"},
		{"with a status", `{"content":[{"text":"a","type":"input_text"}],"role":"user","status":"completed","type":"message"}`, "OfInputMessage"},
		{"the output as a list", `{"call_id":"c","output":[{"type":"input_text","text":"42"}],"type":"function_call_output"}`, "OfFunctionCallOutput"},
		{"of a later type", `{"type":"shell_call","id":"x","action":{"commands":["ls"]}}`, ""},
		{"of no type", `{"a":"<&>\u2028","b":null}`, ""},
		{"a type that is no text", `{"type":7}`, ""},
		{"content of another kind", `{"type":"message","role":"user","content":{"text":7}}`, "OfMessage"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, store openaiagents.Store) {
				s := openaiagents.NewSession(store, "s")
				given := raw(test.json)
				add(t, s, given)
				items, err := s.GetItems(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(texts([]item{given}), texts(items)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if test.variant != "" && reflect.ValueOf(items[0]).FieldByName(test.variant).IsNil() {
					t.Errorf("not %s", test.variant)
				}
				if popped := pop(t, s); popped != texts([]item{given})[0] {
					t.Errorf("popped %s", popped)
				}
			})
		})
	}
}

// Fields are filled in although the JSON is an override, as is an override and an
// extra field that the caller set on a variant.
func TestOverriddenVariants(t *testing.T) {
	s := openaiagents.NewSession(open(t, t.TempDir()), "s")
	call := raw(`{"type":"function_call","call_id":"c","name":"n","arguments":"{}","later":1}`)
	extra := user("with more")
	extra.OfMessage.Type = "message"
	extra.OfMessage.SetExtraFields(map[string]any{"later": map[string]any{"a": "<b>"}})
	add(t, s, call, extra)
	items, err := s.GetItems(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(texts([]item{call, extra}), texts(items)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := items[0].OfFunctionCall; c == nil || c.Name != "n" || c.CallID != "c" || *items[0].GetCallID() != "c" {
		t.Errorf("call %+v", c)
	}
	if m := items[1].OfMessage; m == nil || m.Content.OfString.Value != "with more" {
		t.Errorf("message %+v", m)
	}
}

// What people see of an item: role, content and call id.
func TestMessageOfItem(t *testing.T) {
	type message struct{ role, content, call string }
	for _, test := range []struct {
		json string
		want message
	}{
		{`{"type":"message","role":"user","content":"hello"}`, message{"user", "hello", ""}},
		{`{"role":"developer","content":"rules"}`, message{"system", "rules", ""}},
		{`{"role":"system","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"u"},{"type":"input_text","text":"b"}]}`, message{"system", "a\nb", ""}},
		{`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"u"}]}`, message{"user", "[image]", ""}},
		{`{"type":"message","role":"user","content":[{"type":"input_file","file_id":"f"}]}`, message{"user", "[file]", ""}},
		{`{"type":"message","role":"user","content":""}`, message{"user", "[message]", ""}},
		{`{"role":"user","content":[]}`, message{"user", "[message]", ""}},
		{`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"},{"type":"refusal","refusal":"no"}]}`, message{"assistant", "x\nno", ""}},
		{`{"type":"function_call","call_id":"c1","name":"weather","arguments":"{\"city\":\"Rome\"}"}`, message{"assistant", `weather {"city":"Rome"}`, "c1"}},
		{`{"type":"function_call","call_id":"c1","name":"now","arguments":""}`, message{"assistant", "now", "c1"}},
		{`{"type":"function_call_output","call_id":"c1","output":"sunny"}`, message{"tool", "sunny", "c1"}},
		{`{"type":"function_call_output","call_id":"c1","output":""}`, message{"tool", "[function_call_output]", "c1"}},
		{`{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"parts"}]}`, message{"tool", "parts", "c1"}},
		{`{"type":"custom_tool_call","call_id":"c2","name":"sh","input":"ls -l"}`, message{"assistant", "sh ls -l", "c2"}},
		{`{"type":"custom_tool_call_output","call_id":"c2","output":"files"}`, message{"tool", "files", "c2"}},
		{`{"type":"local_shell_call","id":"i","call_id":"c3","action":{"type":"exec","command":["ls","-l"],"env":{}},"status":"completed"}`, message{"assistant", "ls -l", "c3"}},
		{`{"type":"local_shell_call_output","id":"c3","output":"total 0"}`, message{"tool", "total 0", "c3"}},
		{`{"type":"computer_call","id":"i","call_id":"c4","action":{"type":"wait"}}`, message{"assistant", "[computer_call]", "c4"}},
		{`{"type":"computer_call_output","call_id":"c4","output":{"type":"computer_screenshot","file_id":"f"}}`, message{"tool", "[computer_call_output]", "c4"}},
		{`{"type":"web_search_call","id":"w","action":{"type":"search","query":"go iterators"},"status":"completed"}`, message{"assistant", "go iterators", ""}},
		{`{"type":"file_search_call","id":"f","queries":["a","b"],"status":"completed"}`, message{"assistant", "a\nb", ""}},
		{`{"type":"code_interpreter_call","id":"i","code":"print(1)","outputs":[{"type":"logs","logs":"1"}]}`, message{"assistant", "print(1)\n1", ""}},
		{`{"type":"image_generation_call","id":"i","result":"AAAA","status":"completed"}`, message{"assistant", "[image_generation_call]", ""}},
		{`{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"why"}],"content":[{"type":"reasoning_text","text":"thus"}]}`, message{"assistant", "thus\nwhy", ""}},
		{`{"type":"reasoning","id":"r","summary":[],"encrypted_content":"gAAA"}`, message{"assistant", "[reasoning]", ""}},
		{`{"type":"mcp_list_tools","id":"i","server_label":"l","tools":[]}`, message{"assistant", "[mcp_list_tools]", ""}},
		{`{"type":"mcp_call","id":"i","name":"n","arguments":"{}","output":"o","error":"e"}`, message{"assistant", "n {}\no\ne", ""}},
		{`{"type":"mcp_approval_request","id":"i","name":"n","arguments":"{}"}`, message{"assistant", "n {}", "i"}},
		{`{"type":"mcp_approval_response","approval_request_id":"i","approve":false,"reason":"too dear"}`, message{"tool", "too dear", "i"}},
		{`{"type":"item_reference","id":"i"}`, message{"assistant", "[item_reference]", ""}},
		{`{"id":"i"}`, message{"assistant", "[item]", ""}},
	} {
		t.Run(test.json, func(t *testing.T) {
			db := open(t, t.TempDir())
			add(t, openaiagents.NewSession(db, "s"), raw(test.json))
			m := history(t, db, "s")[0]
			got := message{string(m.Role), m.Content, m.Metadata.ToolCallID}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(message{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if m.Payload.Type != "openaiagents.item" || string(m.Payload.Data) != texts(raws(test.json))[0] {
				t.Errorf("payload %q %s", m.Payload.Type, m.Payload.Data)
			}
		})
	}
}

// A window of the store keeps calls and results together.
func TestWindow(t *testing.T) {
	db := open(t, t.TempDir())
	s := openaiagents.NewSession(db, "s")
	add(t, s, user("q"), raws(
		`{"type":"function_call","call_id":"a","name":"n","arguments":"{}"}`, `{"type":"function_call","call_id":"b","name":"n","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"a","output":"1"}`, `{"type":"function_call_output","call_id":"b","output":"2"}`)[0])
	add(t, s, raw(`{"type":"function_call_output","call_id":"a","output":"1"}`), user("r"))
	for size, want := range map[int]int{2: 1, 3: 3, 4: 4} {
		window, err := convmem.Window(t.Context(), db, convmem.WindowRequest{SessionID: "s", MaxMessages: size})
		if err != nil || len(window.Messages) != want {
			t.Errorf("%d messages of at most %d, want %d: %v", len(window.Messages), size, want, err)
		}
	}
}
