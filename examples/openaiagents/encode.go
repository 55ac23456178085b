package openaiagents

import (
	"bytes"
	"errors"
	"reflect"
	"unicode/utf8"

	"example.com/convmem"
	"github.com/nlpodyssey/openai-agents-go/memory"
)

// encode returns the message of an item, still without its session.
func encode(item memory.TResponseInputItem) (convmem.WriteRequest, error) {
	data, err := item.MarshalJSON()
	if err != nil {
		// The cause may quote the item.
		return convmem.WriteRequest{}, errors.New("has no JSON: want one variant of the union, with values that JSON knows")
	}
	if !utf8.Valid(data) || replaced(item, data) {
		return convmem.WriteRequest{}, errors.New("text that is not valid UTF-8")
	}
	view, err := viewOf(data)
	if err != nil {
		return convmem.WriteRequest{}, err
	}
	callID := view.callID()
	return convmem.WriteRequest{
		Role:     view.role(),
		Content:  view.content(),
		Metadata: convmem.MetadataPatch{ToolCallID: &callID},
		Payload:  convmem.Payload{Type: itemType, Data: data},
	}, nil
}

// replaced reports whether the encoder put U+FFFD in the place of bytes that are
// not UTF-8. It writes that as an escape. So may the JSON of an override, which
// was a text before it came here; only then are the texts themselves looked at.
func replaced(item memory.TResponseInputItem, data []byte) bool {
	return bytes.Contains(data, []byte(`\ufffd`)) && !(texts{}).valid(reflect.ValueOf(item))
}

// texts remembers the pointers and maps on a way through a value, which may lead in circles
// where the JSON of a type does not follow its fields.
type texts map[uintptr]bool

// valid reports whether every text in a value is valid UTF-8.
func (t texts) valid(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Interface:
		return v.IsNil() || t.valid(v.Elem())
	case reflect.Pointer:
		return v.IsNil() || t.met(v) || t.valid(v.Elem())
	case reflect.Struct:
		return t.validFields(v)
	case reflect.Slice, reflect.Array:
		return t.validElements(v)
	case reflect.Map:
		return t.met(v) || t.validEntries(v)
	}
	return true
}

func (t texts) met(v reflect.Value) bool {
	met := t[v.Pointer()]
	t[v.Pointer()] = true
	return met
}

func (t texts) validFields(v reflect.Value) bool {
	for i := range v.NumField() {
		if !t.valid(v.Field(i)) { // also one that is not exported: overrides stand there
			return false
		}
	}
	return true
}

func (t texts) validElements(v reflect.Value) bool {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return true // bytes: base 64, or JSON, which was looked at
	}
	for i := range v.Len() {
		if !t.valid(v.Index(i)) {
			return false
		}
	}
	return true
}

func (t texts) validEntries(v reflect.Value) bool {
	for entry := v.MapRange(); entry.Next(); {
		if !t.valid(entry.Key()) || !t.valid(entry.Value()) {
			return false
		}
	}
	return true
}
