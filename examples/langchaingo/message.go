package langchaingo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"example.com/convmem"
	"github.com/tmc/langchaingo/llms"
)

// Names in the JSON of payloads; they never change. They are those of
// llms.ChatMessageType, which is the framework's to change.
const (
	typeAI       = "ai"
	typeHuman    = "human"
	typeSystem   = "system"
	typeGeneric  = "generic"
	typeFunction = "function"
	typeTool     = "tool"
)

// stored is the JSON of a payload. It is this package's own: the framework's
// encoding of tool calls cannot read back one without a function, and its other
// structs have no name for their type.
type stored struct {
	Type             string        `json:"type"`
	Content          string        `json:"content"`
	Role             string        `json:"role,omitempty"` // generic
	Name             string        `json:"name,omitempty"` // generic, function
	ID               string        `json:"tool_call_id,omitempty"`
	ReasoningContent string        `json:"reasoning_content,omitempty"`
	FunctionCall     *functionCall `json:"function_call,omitempty"`
	ToolCalls        []toolCall    `json:"tool_calls,omitzero"` // empty is not nil
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type toolCall struct {
	ID       string        `json:"id"`
	Type     string        `json:"type"`
	Function *functionCall `json:"function,omitempty"`
}

// item is a message as it is written.
type item struct {
	stored stored
	data   []byte // its JSON
}

// newItem encodes a message; field names it in errors.
func newItem(field string, message llms.ChatMessage) (item, error) {
	s, ok := store(message)
	if !ok {
		return item{}, invalid(field, fmt.Sprintf(
			"%T, want AIChatMessage, HumanChatMessage, SystemChatMessage, GenericChatMessage, FunctionChatMessage or ToolChatMessage of package llms", message))
	}
	if err := s.checkIDs(field); err != nil {
		return item{}, err
	}
	data := s.encode()
	// The encoder replaces what is not UTF-8, which would be another message.
	if back, err := decode(data); err != nil || !reflect.DeepEqual(back, s) {
		return item{}, invalid(field, "a text in it is not valid UTF-8")
	}
	if len(data) > convmem.MaxPayloadBytes {
		return item{}, invalid(field, fmt.Sprintf("%d bytes as JSON, at most %d", len(data), convmem.MaxPayloadBytes))
	}
	return item{s, data}, nil
}

// checkIDs checks every text that may be a call id in the store.
func (s stored) checkIDs(field string) error {
	ids := [][2]string{{"tool_call_id", s.ID}}
	if s.Type == typeFunction {
		ids = append(ids, [2]string{"name", s.Name})
	}
	if s.FunctionCall != nil {
		ids = append(ids, [2]string{"function_call.name", s.FunctionCall.Name})
	}
	for i, c := range s.ToolCalls {
		ids = append(ids, [2]string{fmt.Sprintf("tool_calls[%d].id", i), c.ID})
	}
	for _, id := range ids {
		if len(id[1]) > convmem.MaxToolCallIDBytes {
			return invalid(field+"."+id[0], fmt.Sprintf("%d bytes, at most %d", len(id[1]), convmem.MaxToolCallIDBytes))
		}
	}
	return nil
}

func invalid(field, message string) error {
	return &convmem.Error{Op: "write", Code: convmem.CodeValidation, Field: field, Message: message}
}

// store returns the stored form of the six types.
func store(message llms.ChatMessage) (stored, bool) {
	switch m := message.(type) {
	case llms.AIChatMessage:
		return stored{
			Type: typeAI, Content: m.Content, ReasoningContent: m.ReasoningContent,
			FunctionCall: (*functionCall)(m.FunctionCall), ToolCalls: storeCalls(m.ToolCalls),
		}, true
	case llms.HumanChatMessage:
		return stored{Type: typeHuman, Content: m.Content}, true
	case llms.SystemChatMessage:
		return stored{Type: typeSystem, Content: m.Content}, true
	case llms.GenericChatMessage:
		return stored{Type: typeGeneric, Content: m.Content, Role: m.Role, Name: m.Name}, true
	case llms.FunctionChatMessage:
		return stored{Type: typeFunction, Content: m.Content, Name: m.Name}, true
	case llms.ToolChatMessage:
		return stored{Type: typeTool, Content: m.Content, ID: m.ID}, true
	}
	return stored{}, false
}

// message is the inverse of store. It is nil for a type that is none.
func (s stored) message() llms.ChatMessage {
	switch s.Type {
	case typeAI:
		return llms.AIChatMessage{
			Content: s.Content, ReasoningContent: s.ReasoningContent,
			FunctionCall: (*llms.FunctionCall)(s.FunctionCall), ToolCalls: loadCalls(s.ToolCalls),
		}
	case typeHuman:
		return llms.HumanChatMessage{Content: s.Content}
	case typeSystem:
		return llms.SystemChatMessage{Content: s.Content}
	case typeGeneric:
		return llms.GenericChatMessage{Content: s.Content, Role: s.Role, Name: s.Name}
	case typeFunction:
		return llms.FunctionChatMessage{Content: s.Content, Name: s.Name}
	case typeTool:
		return llms.ToolChatMessage{Content: s.Content, ID: s.ID}
	}
	return nil
}

func storeCalls(calls []llms.ToolCall) []toolCall {
	if calls == nil {
		return nil
	}
	all := make([]toolCall, len(calls))
	for i, c := range calls {
		all[i] = toolCall{ID: c.ID, Type: c.Type, Function: (*functionCall)(c.FunctionCall)}
	}
	return all
}

func loadCalls(calls []toolCall) []llms.ToolCall {
	if calls == nil {
		return nil
	}
	all := make([]llms.ToolCall, len(calls))
	for i, c := range calls {
		all[i] = llms.ToolCall{ID: c.ID, Type: c.Type, FunctionCall: (*llms.FunctionCall)(c.Function)}
	}
	return all
}

// encode leaves <, > and & alone: six bytes for each would make large messages of
// markup too large.
func (s stored) encode() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // texts have JSON, always
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decode refuses fields it does not know: a newer version wrote them, and a list
// that is written anew would lose them.
func decode(data []byte) (s stored, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return stored{}, err
	}
	if s.message() == nil || !json.Valid(data) { // Valid: nothing behind it
		return stored{}, errors.New("not one message of a known type")
	}
	return s, nil
}

// role is the one of convmem's four.
func (s stored) role() convmem.Role {
	switch s.Type {
	case typeAI:
		return convmem.RoleAssistant
	case typeSystem:
		return convmem.RoleSystem
	case typeFunction, typeTool:
		return convmem.RoleTool
	}
	return convmem.RoleUser
}

// text is what searches find, never empty.
func (s stored) text() string {
	if s.Content != "" {
		return s.Content
	}
	var lines []string
	for _, c := range append(slices.Clone(s.ToolCalls), toolCall{Function: s.FunctionCall}) {
		if f := c.Function; f != nil {
			lines = append(lines, strings.TrimSpace(f.Name+" "+f.Arguments))
		}
	}
	return cmp.Or(strings.TrimSpace(strings.Join(lines, "\n")), "["+s.Type+"]")
}

// ownCallID is the id in the store of an answer that calls, or of a result whose
// call is not known. convmem has one for each message, so the first id of an answer
// stands for all that it calls; functions have a name only, which may be used again.
func (s stored) ownCallID() string {
	for _, c := range s.ToolCalls {
		if c.ID != "" {
			return c.ID
		}
	}
	switch {
	case s.FunctionCall != nil:
		return s.FunctionCall.Name
	case s.Type == typeFunction:
		return s.Name
	}
	return s.ID
}

func (s stored) isResult() bool { return s.Type == typeTool || s.Type == typeFunction }

// calls reports whether s makes the call of a result.
func (s stored) calls(result stored) bool {
	if result.Type == typeFunction {
		return s.FunctionCall != nil && s.FunctionCall.Name == result.Name
	}
	return slices.ContainsFunc(s.ToolCalls, func(c toolCall) bool { return c.ID == result.ID })
}
