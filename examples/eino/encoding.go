package eino

import (
	"bytes"
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
		return convmem.WriteRequest{}, invalid(field, "nil, want a message", nil)
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // which makes six bytes of one
	if err := encoder.Encode(message); err != nil {
		// The text of the error may quote the message; its type says enough.
		return convmem.WriteRequest{}, invalid(field, fmt.Sprintf("has no JSON form: %T", err), err)
	}
	data := bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
	if !utf8.Valid(data) || holdsReplacement(data) {
		return convmem.WriteRequest{}, invalid(field, "holds text that is not valid UTF-8", nil)
	}
	return convmem.WriteRequest{
		Role:    convmem.Role(message.Role),
		Content: searchText(message),
		Payload: convmem.Payload{Type: messageType, Data: data},
	}, nil
}

// holdsReplacement reports whether text was changed to make this JSON: package json
// writes U+FFFD as an escape where it replaces bytes that are not UTF-8, and as itself
// where it stood in the text.
func holdsReplacement(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(data[i:], []byte(`\ufffd`)) {
			return true
		}
		i++ // what is escaped may be a backslash
	}
	return false
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
