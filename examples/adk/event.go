package adk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/convmem"
	"google.golang.org/adk/memory"
	"google.golang.org/adk/session"
	"google.golang.org/genai"
)

// payloadType marks the messages of this package. It never changes.
const payloadType = "adk.event"

// event is what a message keeps of a session.Event, which has no JSON form of its
// own: what memory.Entry gives back.
type event struct {
	ID             string         `json:"id,omitempty"`
	Author         string         `json:"author,omitempty"`
	Timestamp      time.Time      `json:"timestamp,omitzero"`
	Content        *genai.Content `json:"content"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

// memorable returns the events of a session that memory keeps, and an error for
// each that has no JSON form.
func memorable(s session.Session) (events []convmem.WriteRequest, refused []error) {
	for e := range s.Events().All() {
		if e == nil || e.Partial || e.Content == nil {
			continue
		}
		content := said(e.Content)
		text := textOf(content)
		if strings.TrimSpace(text) == "" {
			continue
		}
		request, err := requestOf(s.ID(), e, content, text)
		if err != nil {
			refused = append(refused, ofEvent(e.ID, err))
			continue
		}
		events = append(events, request)
	}
	return events, refused
}

// said returns what memory keeps of a content: its parts without thoughts and bytes.
func said(content *genai.Content) *genai.Content {
	kept := &genai.Content{Role: content.Role}
	for _, part := range content.Parts {
		if part == nil || part.Thought {
			continue
		}
		light := withoutBytes(*part)
		if !reflect.ValueOf(light).IsZero() {
			kept.Parts = append(kept.Parts, &light)
		}
	}
	return kept
}

func withoutBytes(part genai.Part) genai.Part {
	part.InlineData = nil
	if part.FunctionResponse != nil {
		response := *part.FunctionResponse
		response.Parts = nil // images and files beside the response
		part.FunctionResponse = &response
	}
	return part
}

func textOf(content *genai.Content) string {
	var texts []string
	for _, part := range content.Parts {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func requestOf(sessionID string, e *session.Event, content *genai.Content, text string) (convmem.WriteRequest, error) {
	// A session that comes back from a database may have times that are less
	// exact than the running one had. It must not pass for another event.
	moment := e.Timestamp.UTC().Truncate(time.Millisecond)
	data, err := canonical(event{
		ID: e.ID, Author: e.Author, Timestamp: moment, Content: content, CustomMetadata: e.CustomMetadata,
	})
	if err != nil {
		return convmem.WriteRequest{}, err
	}
	var occurred time.Time // before 1970 there are none in convmem
	if !moment.Before(time.Unix(0, 0)) {
		occurred = moment
	}
	return convmem.WriteRequest{
		SessionID:      sessionID,
		Role:           roleOf(e),
		Content:        text,
		Metadata:       convmem.MetadataPatch{OccurredAt: occurred},
		Payload:        convmem.Payload{Type: payloadType, Data: data},
		IdempotencyKey: keyOf(e.ID, data),
	}, nil
}

// canonical returns the one JSON of an event, in whatever Go types its values come:
// structs as they were in the running session, or maps as they come from a database.
// The causes of its errors may quote the event.
func canonical(e event) ([]byte, error) {
	once, err := json.Marshal(e)
	if err != nil {
		return nil, refusal(convmem.CodeValidation, "has no JSON form")
	}
	var values any
	if err := json.Unmarshal(once, &values); err != nil {
		return nil, refusal(convmem.CodeValidation, "has a number that is too large")
	}
	var again bytes.Buffer
	encoder := json.NewEncoder(&again)
	encoder.SetEscapeHTML(false) // which makes six bytes of one
	if err := encoder.Encode(values); err != nil {
		return nil, refusal(convmem.CodeValidation, "has no JSON form")
	}
	return bytes.TrimSuffix(again.Bytes(), []byte("\n")), nil
}

// keyOf is the id of an event. One without an id, which did not come from a
// session service of ADK, is the same event if all of it is the same.
func keyOf(id string, data []byte) string {
	if id != "" {
		return id
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func roleOf(e *session.Event) convmem.Role {
	if e.Author == "user" || e.Author == "" && e.Content.Role == genai.RoleUser {
		return convmem.RoleUser
	}
	return convmem.RoleAssistant
}

// entryOf reads a memory. A message that another program wrote into the namespace
// is a memory too, of its text.
func entryOf(m convmem.Message) (memory.Entry, error) {
	if m.Payload.Type != payloadType {
		return entryOfText(m), nil
	}
	var e event
	if json.Unmarshal(m.Payload.Data, &e) != nil || e.Content == nil || slices.Contains(e.Content.Parts, nil) {
		return memory.Entry{}, damaged("message " + m.ID + " holds no event of ADK, though its payload says so")
	}
	return memory.Entry{
		ID: e.ID, Content: e.Content, Author: e.Author, Timestamp: e.Timestamp, CustomMetadata: e.CustomMetadata,
	}, nil
}

func entryOfText(m convmem.Message) memory.Entry {
	role := genai.Role(genai.RoleModel)
	if m.Role == convmem.RoleUser {
		role = genai.RoleUser
	}
	moment := m.Timestamp
	if !m.Metadata.OccurredAt.IsZero() {
		moment = m.Metadata.OccurredAt
	}
	content := genai.NewContentFromText(m.Content, role)
	return memory.Entry{ID: m.ID, Content: content, Author: string(m.Role), Timestamp: moment}
}

// ofEvent names the event of an error.
func ofEvent(id string, err error) error { return fmt.Errorf("event %.80q: %w", id, err) }

func damaged(message string) error { return refusal(convmem.CodeCorrupt, message) }

func refusal(code convmem.Code, message string) error {
	return &convmem.Error{Code: code, Message: message}
}
