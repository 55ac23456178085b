package eino

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"example.com/convmem"
	"github.com/cloudwego/eino/schema"
)

// messageType is the payload type of every message. It is in stored data and must
// never change.
const messageType = "eino.message"

// encode makes the request that writes a message, but for its session and call id.
func encode(message *schema.Message, field string) (convmem.WriteRequest, error) {
	if message == nil {
		return convmem.WriteRequest{}, invalid("write batch", field, "nil, want a message", nil)
	}
	if err := checkCallIDs(message, field); err != nil {
		return convmem.WriteRequest{}, err
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // which makes six bytes of one
	err := encoder.Encode(message)
	data := bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
	if err == nil {
		// Not all that can be written can be read: numbers too large for a float64,
		// lists in lists 10000 deep.
		err = json.Unmarshal(data, new(schema.Message))
	}
	if err != nil {
		// The text of the error may quote the message; its type says enough.
		return convmem.WriteRequest{}, invalid("write batch", field, fmt.Sprintf("has no JSON form that can be read: %T", err), err)
	}
	if !utf8.Valid(data) || holdsReplacement(data) {
		return convmem.WriteRequest{}, invalid("write batch", field, "holds text that is not valid UTF-8", nil)
	}
	return convmem.WriteRequest{
		Role:    convmem.Role(message.Role),
		Content: searchText(message),
		Payload: convmem.Payload{Type: messageType, Data: data},
	}, nil
}

// checkCallIDs checks all of them: the store sees one for each message.
func checkCallIDs(message *schema.Message, field string) error {
	check := func(name, id string) error {
		if len(id) <= convmem.MaxToolCallIDBytes {
			return nil
		}
		return invalid("write batch", field+"."+name, fmt.Sprintf("%d bytes, at most %d", len(id), convmem.MaxToolCallIDBytes), nil)
	}
	err := check("tool_call_id", message.ToolCallID)
	for i, call := range message.ToolCalls {
		err = cmp.Or(err, check(fmt.Sprintf("tool_calls[%d].id", i), call.ID))
	}
	return err
}

// holdsReplacement reports whether text was changed to make this JSON: package json
// writes U+FFFD as an escape where it replaces bytes that are not UTF-8, and as itself
// where it stood in the text.
func holdsReplacement(data []byte) bool {
	withoutBackslashes := bytes.ReplaceAll(data, []byte(`\\`), []byte(" ")) // those of the text
	return bytes.Contains(withoutBackslashes, []byte(`\ufffd`))
}

// decode returns the message that a stored one stands for.
func decode(stored convmem.Message) (*schema.Message, error) {
	if stored.Payload.Type != messageType {
		return plain(stored), nil
	}
	message := new(schema.Message)
	if err := json.Unmarshal(stored.Payload.Data, message); err != nil {
		return nil, unreadable(stored.ID, "its payload is no JSON of an eino message", err)
	}
	return message, nil
}

// plain is a message that another program wrote.
func plain(stored convmem.Message) *schema.Message {
	message := &schema.Message{Role: schema.RoleType(stored.Role), Content: stored.Content}
	if message.Role == schema.Tool {
		message.ToolCallID = stored.Metadata.ToolCallID
	}
	return message
}
