package mcpserver

import "example.com/convmem"

// The types of this file are the JSON documents of results. The order of their
// fields is the order on the wire. What says how to go on, a cursor or
// truncated, comes before the list that it is about: hosts cut long results in
// the middle or at the end.

const statusOK = "OK"

type message struct {
	MessageID        string   `json:"message_id"`
	SessionID        string   `json:"session_id"`
	Timestamp        int64    `json:"timestamp"`
	Role             string   `json:"role"`
	Content          string   `json:"content"`
	ContentTruncated bool     `json:"content_truncated,omitempty"`
	ContentBytes     int      `json:"content_bytes,omitempty"`
	Revision         int64    `json:"revision"`
	UpdatedAt        int64    `json:"updated_at"`
	Metadata         metadata `json:"metadata"`
}

type metadata struct {
	ToolCallID       string     `json:"tool_call_id,omitempty"`
	Tags             []string   `json:"tags"`
	Tier             string     `json:"memory_tier"`
	Kind             string     `json:"memory_kind"`
	Importance       int        `json:"importance"`
	Summary          string     `json:"summary,omitempty"`
	Relations        []relation `json:"relations"`
	SourceMessageIDs []string   `json:"source_message_ids"`
	OccurredAt       *int64     `json:"occurred_at,omitempty"`
}

type relation struct {
	Type      string `json:"type"`
	MessageID string `json:"message_id"`
}

type writeDocument struct {
	Status   string  `json:"status"`
	Replayed bool    `json:"replayed,omitempty"`
	Message  message `json:"message"`
}

type updateDocument struct {
	Status  string  `json:"status"`
	Changed bool    `json:"changed"`
	Message message `json:"message"`
}

type historyDocument struct {
	NextCursor string    `json:"nextCursor,omitempty"`
	History    []message `json:"history"`
}

type contextDocument struct {
	Truncated bool       `json:"truncated"`
	Session   sessionRef `json:"session"`
	Message   message    `json:"message"`
	Around    neighbours `json:"chronological_context"`
	Relations []related  `json:"relations"`
}

type sessionRef struct {
	SessionID    string `json:"session_id"`
	MessageCount int    `json:"message_count"`
}

type neighbours struct {
	Before []message `json:"before"`
	After  []message `json:"after"`
}

// related holds a message, or the id and status of one that is gone.
type related struct {
	Type      string   `json:"type"`
	Direction string   `json:"direction"`
	Depth     int      `json:"depth"`
	Message   *message `json:"message,omitempty"`
	MessageID string   `json:"message_id,omitempty"`
	Status    string   `json:"status,omitempty"`
}

type sessionsDocument struct {
	NextCursor string        `json:"nextCursor,omitempty"`
	Sessions   []sessionInfo `json:"sessions"`
}

type sessionInfo struct {
	SessionID             string     `json:"session_id"`
	MessageCount          int        `json:"message_count"`
	KindCounts            kindCounts `json:"kind_counts"`
	RepresentativeSummary string     `json:"representative_summary"`
	StartedAt             int64      `json:"started_at"`
	LastMessageAt         int64      `json:"last_message_at"`
}

type kindCounts struct {
	Conversation int `json:"conversation"`
	Episode      int `json:"episode"`
	Semantic     int `json:"semantic"`
	Procedure    int `json:"procedure"`
	Preference   int `json:"preference"`
	Summary      int `json:"summary"`
}

type searchDocument struct {
	Truncated   bool   `json:"truncated,omitempty"`
	RerankError string `json:"rerank_error,omitempty"`
	Results     []hit  `json:"results"`
}

type hit struct {
	message
	Score         float64        `json:"score"`
	Breakdown     scoreBreakdown `json:"score_breakdown"`
	MatchedFields []string       `json:"matched_fields"`
	RelationCount int            `json:"relation_count"`
	SupersededBy  []string       `json:"superseded_by,omitempty"`
	Preview       *neighbours    `json:"context_preview,omitempty"`
}

type scoreBreakdown struct {
	Content float64 `json:"content"`
	Summary float64 `json:"summary"`
	Tags    float64 `json:"tags"`
}

type deleteDocument struct {
	Status string `json:"status"`
}

type rebuildDocument struct {
	Status          string `json:"status"`
	MessagesIndexed int64  `json:"messages_indexed"`
	RecordsRemoved  int64  `json:"records_removed"`
	BytesBefore     int64  `json:"bytes_before"`
	BytesAfter      int64  `json:"bytes_after"`
}

type healthDocument struct {
	Status          string     `json:"status"`
	FormatVersion   int        `json:"format_version"`
	LogSize         int64      `json:"log_size"`
	SnapshotSize    int64      `json:"snapshot_size"`
	ActiveMessages  int64      `json:"active_messages"`
	DeletedMessages int64      `json:"deleted_messages"`
	LastSequence    int64      `json:"last_sequence"`
	UpdateRecords   int64      `json:"update_records"`
	DeadBytes       int64      `json:"dead_bytes"`
	Memory          memory     `json:"memory_estimate"`
	IO              ioCounters `json:"io"`
	RecoveredTail   bool       `json:"recovered_tail"`
	SnapshotValid   bool       `json:"snapshot_valid"`
	LastError       string     `json:"last_error"`
	SchemaVersion   int        `json:"schema_version"`
}

type memory struct {
	Total         int64 `json:"total_bytes"`
	StoreEntries  int64 `json:"store_entries_bytes"`
	Bodies        int64 `json:"body_bytes"`
	Metadata      int64 `json:"metadata_bytes"`
	SearchIndex   int64 `json:"search_index_bytes"`
	HistoryIndex  int64 `json:"history_index_bytes"`
	RelationIndex int64 `json:"relation_index_bytes"`
}

type ioCounters struct {
	WriteBytes    int64 `json:"write_bytes"`
	WriteCalls    int64 `json:"write_calls"`
	FlushCalls    int64 `json:"flush_calls"`
	TruncateCalls int64 `json:"truncate_calls"`
	ReplaceCalls  int64 `json:"replace_calls"`
}

type errorDocument struct {
	Status string      `json:"status"`
	Error  errorDetail `json:"error"`
}

type errorDetail struct {
	Code            convmem.Code `json:"code"`
	Message         string       `json:"message"`
	Field           string       `json:"field,omitempty"`
	CurrentRevision int64        `json:"current_revision,omitempty"`
	NextCursor      string       `json:"nextCursor,omitempty"`
}
