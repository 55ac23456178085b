package openaiagents

import (
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
	if !utf8.Valid(data) || !validText(reflect.ValueOf(item)) {
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

// validText reports whether every text in a value is valid UTF-8. The JSON does not
// tell: its encoder replaces invalid bytes silently. The value has JSON, so there is
// no end to fear.
func validText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || validText(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !validText(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		return validElements(v)
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			if !validText(entry.Key()) || !validText(entry.Value()) {
				return false
			}
		}
	}
	return true
}

func validElements(v reflect.Value) bool {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return true // bytes: base 64, or JSON that was looked at
	}
	for i := range v.Len() {
		if !validText(v.Index(i)) {
			return false
		}
	}
	return true
}
