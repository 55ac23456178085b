package eino_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"example.com/convmem/examples/eino"
	"example.com/convmem/store/storetest"
	"github.com/cloudwego/eino/schema"
)

// filler sets every field of a value that package json sees, so that a field which a
// newer eino adds is in the tests from its first day.
type filler struct{ fields int }

func (f *filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		f.fields++
		v.SetString(fmt.Sprint("text ", f.fields))
	case reflect.Int, reflect.Int64:
		f.fields++
		v.SetInt(int64(f.fields))
	case reflect.Float64:
		f.fields++
		v.SetFloat(float64(f.fields) + 0.25)
	case reflect.Bool:
		f.fields++
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		f.fields++
		v.Set(reflect.ValueOf(map[string]any{"text": "x", "number": 2.5, "list": []any{true, nil}, "map": map[string]any{"a": "b"}}))
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Tag.Get("json") != "-" && field.Type != reflect.TypeFor[*schema.ParamsOneOf]() {
				f.fill(v.Field(i))
			}
		}
	default:
		panic("a kind of field that the test does not know: " + v.Type().String())
	}
}

func TestEveryFieldRoundTrips(t *testing.T) {
	var f filler
	full := new(schema.Message)
	f.fill(reflect.ValueOf(full).Elem())
	full.Role = schema.User
	full.UserInputMultiContent[0].ToolSearchResult.Tools[0].ParamsOneOf = schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"city": {Type: schema.String, Desc: "where", Enum: []string{"Oslo"}, Required: true}})
	t.Logf("%d fields", f.fields)
	everywhere(t, func(t *testing.T, one, other eino.Store) {
		must(t, eino.NewMessages(one).Append(ctx, "s", full))
		wantAll(t, other, "s", []*schema.Message{full})
		if len(stored(t, other, "s")[0].Payload.Data) < 10*f.fields {
			t.Error("the payload is too small for all that")
		}
	})
	if f.fields < 170 {
		t.Errorf("only %d fields", f.fields)
	}
}

// The manual says what JSON does to a message.
func TestWhatJSONDoesNotKeep(t *testing.T) {
	db := storetest.Open(t)
	index := 1
	given := &schema.Message{
		Role: schema.Assistant, Content: "x",
		ToolCalls: []schema.ToolCall{{Index: &index, ID: "c", Type: "function", Extra: map[string]any{}}},
		AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "y", StreamingMeta: &schema.MessageStreamingMeta{Index: 3}},
		},
		Extra: map[string]any{"int": 1 << 53, "beyond": 1<<53 + 1, "struct": struct{ B, A int }{1, 2}, "bytes": []byte("hi")},
	}
	must(t, eino.NewMessages(db).Append(ctx, "s", given))
	wantAll(t, db, "s", []*schema.Message{{
		Role: schema.Assistant, Content: "x",
		ToolCalls:                []schema.ToolCall{{Index: &index, ID: "c", Type: "function"}},
		AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "y"}},
		Extra: map[string]any{
			"int": float64(1 << 53), "beyond": float64(1 << 53), "struct": map[string]any{"B": 1.0, "A": 2.0}, "bytes": "aGk=",
		},
	}})
	// The payload has all digits for programs that read it otherwise.
	var payload struct{ Extra map[string]json.Number }
	_ = json.Unmarshal(stored(t, db, "s")[0].Payload.Data, &payload)
	same(t, "digits", payload.Extra["beyond"], json.Number("9007199254740993"))
	same(t, "the caller's message", given.AssistantGenMultiContent[0].StreamingMeta.Index, 3)
}
