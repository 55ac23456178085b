package main

import (
	"example.com/convmem"
)

// The documents of -json about messages and sessions have the names of the MCP
// tools' answers.

type messageDocument struct {
	MessageID string           `json:"message_id"`
	SessionID string           `json:"session_id"`
	Timestamp int64            `json:"timestamp"`
	Role      convmem.Role     `json:"role"`
	Content   string           `json:"content"`
	Revision  int64            `json:"revision"`
	UpdatedAt int64            `json:"updated_at"`
	Metadata  metadataDocument `json:"metadata"`
	Payload   *payloadDocument `json:"payload,omitempty"`
}

type metadataDocument struct {
	ToolCallID       string             `json:"tool_call_id,omitempty"`
	Tags             []string           `json:"tags"`
	Tier             convmem.MemoryTier `json:"memory_tier"`
	Kind             convmem.MemoryKind `json:"memory_kind"`
	Importance       int                `json:"importance"`
	Summary          string             `json:"summary,omitempty"`
	Relations        []relationDocument `json:"relations"`
	SourceMessageIDs []string           `json:"source_message_ids"`
	OccurredAt       *int64             `json:"occurred_at,omitempty"`
}

type relationDocument struct {
	Type      convmem.RelationType `json:"type"`
	MessageID string               `json:"message_id"`
}

type payloadDocument struct {
	Type string `json:"type"`
	Data []byte `json:"data"`
}

func newMessage(m convmem.Message) messageDocument {
	d := messageDocument{
		MessageID: m.ID, SessionID: m.SessionID, Timestamp: m.Timestamp.UnixMilli(), Role: m.Role, Content: m.Content,
		Revision: m.Revision, UpdatedAt: m.UpdatedAt.UnixMilli(), Metadata: newMetadata(m.Metadata),
	}
	if m.Payload.Type != "" || len(m.Payload.Data) > 0 {
		d.Payload = &payloadDocument{m.Payload.Type, append([]byte{}, m.Payload.Data...)}
	}
	return d
}

func newMetadata(m convmem.Metadata) metadataDocument {
	d := metadataDocument{
		ToolCallID: m.ToolCallID, Tags: append([]string{}, m.Tags...), Tier: m.Tier, Kind: m.Kind, Importance: m.Importance,
		Summary: m.Summary, Relations: []relationDocument{}, SourceMessageIDs: append([]string{}, m.SourceMessageIDs...),
	}
	for _, relation := range m.Relations {
		d.Relations = append(d.Relations, relationDocument(relation))
	}
	if !m.OccurredAt.IsZero() {
		d.OccurredAt = new(m.OccurredAt.UnixMilli())
	}
	return d
}

type sessionDocument struct {
	SessionID             string                     `json:"session_id"`
	MessageCount          int                        `json:"message_count"`
	KindCounts            map[convmem.MemoryKind]int `json:"kind_counts"`
	RepresentativeSummary string                     `json:"representative_summary"`
	StartedAt             int64                      `json:"started_at"`
	LastMessageAt         int64                      `json:"last_message_at"`
}

func newSession(s convmem.SessionInfo) sessionDocument {
	return sessionDocument{s.SessionID, s.MessageCount, s.KindCounts, s.RepresentativeSummary, s.StartedAt.UnixMilli(), s.LastMessageAt.UnixMilli()}
}

type hitDocument struct {
	messageDocument
	Score         float64         `json:"score"`
	Breakdown     scoreDocument   `json:"score_breakdown"`
	MatchedFields []convmem.Field `json:"matched_fields"`
	RelationCount int             `json:"relation_count"`
	SupersededBy  []string        `json:"superseded_by,omitempty"`
}

type scoreDocument struct {
	Content float64 `json:"content"`
	Summary float64 `json:"summary"`
	Tags    float64 `json:"tags"`
}

func newHit(h convmem.Hit) hitDocument {
	return hitDocument{
		newMessage(h.Message), h.Score, scoreDocument(h.Breakdown),
		append([]convmem.Field{}, h.MatchedFields...), h.RelationCount, h.SupersededBy,
	}
}

type rebuildDocument struct {
	MessagesIndexed int64 `json:"messages_indexed"`
	RecordsRemoved  int64 `json:"records_removed"`
	BytesBefore     int64 `json:"bytes_before"`
	BytesAfter      int64 `json:"bytes_after"`
}
