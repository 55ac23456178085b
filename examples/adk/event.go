package adk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
// those that have no JSON form.
func memorable(s session.Session) ([]convmem.WriteRequest, error) {
	var events []convmem.WriteRequest
	var errs []error
	for e := range s.Events().All() {
		text := textOf(e)
		if text == "" {
			continue
		}
		request, err := requestOf(s.ID(), text, e)
		if err != nil {
			errs = append(errs, fmt.Errorf("event %q: %w", e.ID, err))
			continue
		}
		events = append(events, request)
	}
	return events, errors.Join(errs...)
}

// textOf returns the text that memory keeps of an event, or "".
func textOf(e *session.Event) string {
	if e == nil || e.Partial || e.Content == nil {
		return ""
	}
	var texts []string
	for _, part := range e.Content.Parts {
		if part != nil && part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func requestOf(sessionID, text string, e *session.Event) (convmem.WriteRequest, error) {
	// A session that comes back from a database may have times that are less
	// exact than the running one had. It must not pass for another event.
	moment := e.Timestamp.UTC().Truncate(time.Millisecond)
	data, err := json.Marshal(event{
		ID: e.ID, Author: e.Author, Timestamp: moment,
		Content: withoutInlineData(e.Content), CustomMetadata: e.CustomMetadata,
	})
	if err != nil {
		return convmem.WriteRequest{}, err
	}
	return convmem.WriteRequest{
		SessionID:      sessionID,
		Role:           roleOf(e),
		Content:        text,
		Metadata:       convmem.MetadataPatch{OccurredAt: moment},
		Payload:        convmem.Payload{Type: payloadType, Data: data},
		IdempotencyKey: keyOf(e.ID, data),
	}, nil
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
	if e.Content.Role == genai.RoleUser {
		return convmem.RoleUser
	}
	return convmem.RoleAssistant
}

// withoutInlineData copies content and shares its parts, but for those with bytes.
func withoutInlineData(content *genai.Content) *genai.Content {
	kept := &genai.Content{Role: content.Role}
	for _, part := range content.Parts {
		if part == nil || part.InlineData != nil && part.Text == "" {
			continue
		}
		if part.InlineData != nil {
			text := *part
			text.InlineData = nil
			part = &text
		}
		kept.Parts = append(kept.Parts, part)
	}
	return kept
}

// entryOf reads a memory. A message that another program wrote into the namespace
// is a memory too, of its text.
func entryOf(m convmem.Message) (memory.Entry, error) {
	if m.Payload.Type != payloadType {
		return entryOfText(m), nil
	}
	var e event
	if err := json.Unmarshal(m.Payload.Data, &e); err != nil {
		return memory.Entry{}, err
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
	return memory.Entry{ID: m.ID, Content: genai.NewContentFromText(m.Content, role), Author: string(m.Role), Timestamp: moment}
}
