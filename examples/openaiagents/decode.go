package openaiagents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"example.com/convmem"
	"github.com/nlpodyssey/openai-agents-go/memory"
	"github.com/openai/openai-go/v2/packages/param"
	"github.com/openai/openai-go/v2/responses"
)

// decode returns the item of a message that nobody claimed.
func decode(m convmem.Message) (memory.TResponseInputItem, error) {
	if m.Payload.Type != itemType {
		return textOf(m), nil
	}
	view, err := viewOf(m.Payload.Data)
	if err != nil {
		return memory.TResponseInputItem{}, &convmem.Error{
			Code: convmem.CodeCorrupt, Field: "payload.data",
			Message: fmt.Sprintf("of message %s: %v", m.ID, err), Err: err,
		}
	}
	if deeperThan(maxDepth, m.Payload.Data) {
		return param.Override[memory.TResponseInputItem](json.RawMessage(m.Payload.Data)), nil
	}
	return exact(typed(view, m.Payload.Data), m.Payload.Data), nil
}

// maxDepth is how deep JSON may be nested that is decoded into a variant. The time of
// the library's decoder grows with the square of the depth: a tool's schema of 60 KB,
// which another server sends, could take a second.
const maxDepth = 100

// deeperThan takes valid JSON.
func deeperThan(limit int, data []byte) bool {
	depth, inText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > limit {
			return true
		}
	}
	return false
}

// textOf reads a message that another program wrote.
func textOf(m convmem.Message) memory.TResponseInputItem {
	role := responses.EasyInputMessageRole(m.Role)
	if m.Role == convmem.RoleTool {
		role = responses.EasyInputMessageRoleAssistant
	}
	item := responses.ResponseInputItemParamOfMessage(m.Content, role)
	item.OfMessage.Type = responses.EasyInputMessageTypeMessage
	return item
}

// typed returns the variant that fits the JSON, filled in as far as it goes, or the
// zero item. The library's own decoder takes every message for OfMessage and cannot
// do without a type, so these cases are decided here.
func typed(v view, data []byte) memory.TResponseInputItem {
	var item memory.TResponseInputItem
	var err error
	switch {
	case v.isMessage() && slices.ContainsFunc(v.Content, isOutput):
		err = into(&item.OfOutputMessage, data)
	case v.isMessage() && v.Status != "":
		err = into(&item.OfInputMessage, data)
	case v.isMessage():
		err = into(&item.OfMessage, data)
	case v.Type == "" && v.ID != "":
		err = into(&item.OfItemReference, data)
	default:
		err = item.UnmarshalJSON(data)
	}
	if err != nil {
		return memory.TResponseInputItem{}
	}
	return item
}

func isOutput(p part) bool { return p.Type == "output_text" || p.Type == "refusal" }

func into[T any](variant **T, data []byte) error {
	*variant = new(T)
	return json.Unmarshal(data, *variant)
}

// exact returns the item so that its JSON is data, byte for byte.
func exact(item memory.TResponseInputItem, data []byte) memory.TResponseInputItem {
	if again, err := item.MarshalJSON(); err == nil && bytes.Equal(again, data) {
		return item
	}
	raw := json.RawMessage(data)
	overrideVariant(&item, raw)
	if reflect.ValueOf(item).IsZero() {
		return param.Override[memory.TResponseInputItem](raw)
	}
	return item
}

// overrideVariant gives the JSON to the variant that is set, if one is. A list,
// because Override is generic.
func overrideVariant(item *memory.TResponseInputItem, raw json.RawMessage) {
	override(item.OfMessage, raw)
	override(item.OfInputMessage, raw)
	override(item.OfOutputMessage, raw)
	override(item.OfFileSearchCall, raw)
	override(item.OfComputerCall, raw)
	override(item.OfComputerCallOutput, raw)
	override(item.OfWebSearchCall, raw)
	override(item.OfFunctionCall, raw)
	override(item.OfFunctionCallOutput, raw)
	override(item.OfReasoning, raw)
	override(item.OfImageGenerationCall, raw)
	override(item.OfCodeInterpreterCall, raw)
	override(item.OfLocalShellCall, raw)
	override(item.OfLocalShellCallOutput, raw)
	override(item.OfMcpListTools, raw)
	override(item.OfMcpApprovalRequest, raw)
	override(item.OfMcpApprovalResponse, raw)
	override(item.OfMcpCall, raw)
	override(item.OfCustomToolCallOutput, raw)
	override(item.OfCustomToolCall, raw)
	override(item.OfItemReference, raw)
}

// override makes a variant keep its fields and have raw as its JSON.
func override[T param.ParamStruct, P param.InferPtr[T]](variant *T, raw json.RawMessage) {
	if variant == nil {
		return
	}
	kept := param.Override[T, P](raw)
	from, to := reflect.ValueOf(*variant), reflect.ValueOf(&kept).Elem()
	for i := range from.NumField() {
		if from.Type().Field(i).IsExported() {
			to.Field(i).Set(from.Field(i))
		}
	}
	*variant = kept
}
