package openaiagents

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"example.com/convmem"
)

// view is what the adapter looks at in the JSON of an item. One struct serves all
// variants, those that are not known yet and overrides too.
type view struct {
	Type, Role, ID, Status string
	CallID                 string `json:"call_id"`
	ApprovalRequestID      string `json:"approval_request_id"`

	// Text, in the order in which it stands in the content.
	Name, Arguments, Input string
	Code                   string
	Action                 struct {
		Query   string
		Command []string
	}
	Queries                           []string
	Content, Summary, Output, Outputs parts
	Reason, Error                     string
}

// parts is text, or a list of parts of which some are text.
type parts []part

type part struct{ Type, Text, Refusal, Logs string }

// UnmarshalJSON takes any value: what is no text counts for nothing.
func (p *parts) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*p = parts{{Text: text}}
		return nil
	}
	var list []part
	err := json.Unmarshal(data, &list)
	*p = list
	return otherThanMismatch(err)
}

func viewOf(data []byte) (view, error) {
	if len(data) == 0 || data[0] != '{' || string(data) == "{}" {
		return view{}, errors.New("empty, or no JSON object")
	}
	var v view
	if otherThanMismatch(json.Unmarshal(data, &v)) != nil {
		return view{}, errors.New("not valid JSON")
	}
	return v, nil
}

// otherThanMismatch drops the error about a field of another type than the one
// looked for, which the decoder skips.
func otherThanMismatch(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// isMessage: the API lets the type of a message be left out.
func (v view) isMessage() bool { return v.Type == "message" || v.Type == "" && v.Role != "" }

func (v view) role() convmem.Role {
	switch {
	case strings.HasSuffix(v.Type, "_output") || v.Type == approvalResponse:
		return convmem.RoleTool
	case v.Role == "user":
		return convmem.RoleUser
	case v.Role == "system" || v.Role == "developer":
		return convmem.RoleSystem
	}
	return convmem.RoleAssistant
}

const (
	approvalRequest  = "mcp_approval_request"
	approvalResponse = "mcp_approval_response"
)

// callID is what a call and its result share, and so do the request for an approval
// and its answer. The result of a local shell call has it as its own id.
func (v view) callID() string {
	switch v.Type {
	case approvalRequest:
		return v.ID
	case approvalResponse:
		return v.ApprovalRequestID
	case "local_shell_call_output":
		return cmp.Or(v.CallID, v.ID)
	}
	return v.CallID
}

func (v view) content() string {
	lines := append([]string{v.call(), v.Code, v.Action.Query, strings.Join(v.Action.Command, " ")}, v.Queries...)
	for _, part := range slices.Concat(v.Content, v.Summary, v.Output, v.Outputs) {
		lines = append(lines, part.Text, part.Refusal, part.Logs)
	}
	lines = append(lines, v.Reason, v.Error)
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	if len(lines) == 0 {
		return v.kind()
	}
	return strings.Join(lines, "\n")
}

func (v view) call() string {
	if arguments := v.Arguments + v.Input; v.Name != "" && arguments != "" {
		return v.Name + " " + arguments
	}
	return v.Name
}

// kind names an item without text: by its first part, if it has one.
func (v view) kind() string {
	kind := v.Type
	switch {
	case len(v.Content) > 0 && v.Content[0].Type != "":
		kind = strings.TrimPrefix(v.Content[0].Type, "input_")
	case v.isMessage():
		kind = "message"
	case kind == "":
		kind = "item"
	}
	return "[" + kind + "]"
}
