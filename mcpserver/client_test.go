package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remoteStore is a convmem.Store made of tool calls: it turns requests into
// arguments and results back into values. What the suite of storetest finds
// right through it, the wire carries.
type remoteStore struct {
	callTool func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

var _ convmem.Store = remoteStore{}

// direct calls the tools of store without a connection.
func direct(store convmem.Store, o *Options) remoteStore {
	return remoteStore{func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return Call(ctx, store, o, p.Name, p.Arguments.(json.RawMessage)), nil
	}}
}

// connect serves store in memory and returns a client of it.
func connect(t testing.TB, store convmem.Store, o *Options) remoteStore {
	t.Helper()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := Connect(context.Background(), New(store, o), serverSide, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), clientSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return remoteStore{session.CallTool}
}

// given are tool arguments. A nil value is one that is left out.
type given map[string]any

// raw writes v as JSON, with the bytes of its strings as they are: encoding/json
// would repair broken UTF-8, which the server must see.
func raw(v any) string {
	switch v := v.(type) {
	case string:
		return rawString(v)
	case []string:
		return "[" + strings.Join(mapped(v, rawString), ",") + "]"
	case []given:
		return "[" + strings.Join(mapped(v, func(g given) string { return raw(g) }), ",") + "]"
	case given:
		var members []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] != nil {
				members = append(members, rawString(name)+":"+raw(v[name]))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	return fmt.Sprint(v)
}

func mapped[From, To any](from []From, convert func(From) To) []To { return list(from, convert) }

func rawString(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// document is the value of a _json parameter: a string that holds JSON, or the
// JSON itself where a string could not hold it.
func document(v any) any {
	if text := raw(v); utf8.ValidString(text) {
		return text
	}
	return v
}

// optional leaves the zero value out.
func optional[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return fmt.Sprint(v) // "10" for an integer is accepted too
}

func pointer[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

func texts[T ~string](v []T) any {
	if v == nil {
		return nil
	}
	return mapped(v, func(s T) string { return string(s) })
}

func milliseconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// ask calls a tool and decodes its result.
func ask[Document any](ctx context.Context, s remoteStore, op, tool string, args given) (Document, error) {
	var document Document
	result, err := s.callTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(raw(args))})
	switch {
	case ctx.Err() != nil:
		return document, &convmem.Error{Op: op, Code: convmem.CodeBusy, Err: ctx.Err()}
	case err != nil:
		return document, err
	case result.IsError:
		return document, remoteError(op, textOf(result))
	}
	return document, json.Unmarshal([]byte(textOf(result)), &document)
}

func textOf(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

func remoteError(op, text string) error {
	var d errorDocument
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	return &convmem.Error{
		Op: op, Code: d.Error.Code, Field: d.Error.Field, Message: strings.TrimPrefix(d.Error.Message, d.Error.Field+": "),
		Revision: d.Error.CurrentRevision, NextCursor: d.Error.NextCursor,
	}
}

func patchOf(p convmem.MetadataPatch) given {
	g := given{
		"tool_call_id": pointer(p.ToolCallID), "tags": texts(p.Tags),
		"memory_tier": optional(p.Tier), "memory_kind": optional(p.Kind),
		"importance": pointer(p.Importance), "summary": pointer(p.Summary),
		"source_message_ids": texts(p.SourceMessageIDs), "occurred_at": milliseconds(p.OccurredAt),
	}
	if p.Relations != nil {
		g["relations"] = mapped(p.Relations, func(r convmem.Relation) given {
			return given{"type": string(r.Type), "message_id": r.MessageID}
		})
	}
	return g
}

func (s remoteStore) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	d, err := ask[writeDocument](ctx, s, "write", "write_message", given{
		"session_id": r.SessionID, "role": string(r.Role), "content": r.Content,
		"metadata_json": document(patchOf(r.Metadata)), "idempotency_key": optional(r.IdempotencyKey),
	})
	return convmem.WriteResult{Message: d.Message.value(), Replayed: d.Replayed}, err
}

func (s remoteStore) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	args := given{"message_id": r.MessageID, "content": pointer(r.Content), "expected_revision": optional(r.ExpectedRevision)}
	if r.Metadata != nil {
		args["metadata_json"] = document(patchOf(*r.Metadata))
	}
	d, err := ask[updateDocument](ctx, s, "update", "update_message", args)
	return convmem.UpdateResult{Changed: d.Changed, Message: d.Message.value()}, err
}

func (s remoteStore) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	switch {
	case r.History != nil && r.Context == nil && r.Sessions == nil:
		return s.history(ctx, *r.History)
	case r.Context != nil && r.History == nil && r.Sessions == nil:
		return s.context(ctx, *r.Context)
	case r.Sessions != nil && r.History == nil && r.Context == nil:
		return s.sessions(ctx, *r.Sessions)
	}
	_, err := ask[historyDocument](ctx, s, "read", "read_messages", given{"view": "several"})
	return convmem.ReadResult{}, err
}

func (s remoteStore) history(ctx context.Context, r convmem.HistoryRequest) (convmem.ReadResult, error) {
	d, err := ask[historyDocument](ctx, s, "read", "read_messages", given{
		"session_id": r.SessionID, "order": optional(r.Order), "limit": optional(r.Limit), "cursor": optional(r.Cursor),
		"max_characters": optional(r.MaxCharacters), "max_content_characters": optional(r.MaxContentCharacters),
	})
	result := convmem.HistoryResult{NextCursor: d.NextCursor, Messages: mapped(d.History, message.value)}
	return convmem.ReadResult{History: &result}, err
}

func (s remoteStore) context(ctx context.Context, r convmem.ContextRequest) (convmem.ReadResult, error) {
	args := given{
		"view": "context", "message_id": r.MessageID, "before": pointer(r.Before), "after": pointer(r.After),
		"relation_depth": pointer(r.RelationDepth), "max_content_characters": optional(r.MaxContentCharacters),
	}
	if r.RelationTypes != nil {
		args["relation_types_json"] = document(texts(r.RelationTypes))
	}
	d, err := ask[contextDocument](ctx, s, "read", "read_messages", args)
	result := convmem.ContextResult{
		Message: d.Message.value(), Before: mapped(d.Around.Before, message.value), After: mapped(d.Around.After, message.value),
		Session: convmem.SessionRef(d.Session), Truncated: d.Truncated, Relations: mapped(d.Relations, related.value),
	}
	return convmem.ReadResult{Context: &result}, err
}

func (s remoteStore) sessions(ctx context.Context, r convmem.SessionsRequest) (convmem.ReadResult, error) {
	d, err := ask[sessionsDocument](ctx, s, "read", "read_messages", given{
		"view": "sessions", "limit": optional(r.Limit), "cursor": optional(r.Cursor),
		"max_content_characters": optional(r.MaxContentCharacters),
	})
	result := convmem.SessionsResult{NextCursor: d.NextCursor, Sessions: mapped(d.Sessions, sessionInfo.value)}
	return convmem.ReadResult{Sessions: &result}, err
}

func (s remoteStore) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	f := r.Filters
	d, err := ask[searchDocument](ctx, s, "search", "search_messages", given{
		"query": r.Query, "session_id": r.SessionID, "min_importance": r.MinImportance, "context_size": r.ContextSize,
		"limit": optional(r.Limit), "max_content_characters": optional(r.MaxContentCharacters),
		"filters_json": document(given{
			"kinds": texts(f.Kinds), "tiers": texts(f.Tiers), "tags": texts(f.Tags), "roles": texts(f.Roles),
			"since": milliseconds(f.Since), "until": milliseconds(f.Until),
		}),
	})
	return convmem.SearchResult{Truncated: d.Truncated, RerankError: d.RerankError, Hits: mapped(d.Results, hit.value)}, err
}

func (s remoteStore) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	d, err := ask[deleteDocument](ctx, s, "delete", "delete_message", given{"message_id": r.MessageID, "session_id": optional(r.SessionID)})
	return convmem.DeleteResult{Deleted: d.Status == "OK"}, err
}

func (s remoteStore) Rebuild(ctx context.Context, _ convmem.RebuildRequest) (convmem.RebuildResult, error) {
	d, err := ask[rebuildDocument](ctx, s, "rebuild", "rebuild_index", nil)
	return convmem.RebuildResult{
		MessagesIndexed: d.MessagesIndexed, RecordsRemoved: d.RecordsRemoved, BytesBefore: d.BytesBefore, BytesAfter: d.BytesAfter,
	}, err
}

func (s remoteStore) Health(ctx context.Context, _ convmem.HealthRequest) (convmem.HealthResult, error) {
	d, err := ask[healthDocument](ctx, s, "health", "get_system_health", nil)
	m := d.Memory
	return convmem.HealthResult{
		Status: convmem.HealthStatus(d.Status), FormatVersion: d.FormatVersion, LogSize: d.LogSize, SnapshotSize: d.SnapshotSize,
		ActiveMessages: d.ActiveMessages, DeletedMessages: d.DeletedMessages, LastSequence: d.LastSequence,
		UpdateRecords: d.UpdateRecords, DeadBytes: d.DeadBytes,
		Memory: convmem.MemoryEstimate{
			StoreEntries: m.StoreEntries, Bodies: m.Bodies, Metadata: m.Metadata,
			SearchIndex: m.SearchIndex, HistoryIndex: m.HistoryIndex, RelationIndex: m.RelationIndex,
		},
		IO: convmem.IOCounters(d.IO), RecoveredTail: d.RecoveredTail, SnapshotValid: d.SnapshotValid, LastError: d.LastError,
	}, err
}

func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func (m message) value() convmem.Message {
	out := convmem.Message{
		ID: m.MessageID, SessionID: m.SessionID, Timestamp: moment(m.Timestamp), Role: convmem.Role(m.Role), Content: m.Content,
		Revision: m.Revision, UpdatedAt: moment(m.UpdatedAt), ContentTruncated: m.ContentTruncated, ContentBytes: m.ContentBytes,
		Metadata: convmem.Metadata{
			ToolCallID: m.Metadata.ToolCallID, Tags: m.Metadata.Tags, Tier: convmem.MemoryTier(m.Metadata.Tier),
			Kind: convmem.MemoryKind(m.Metadata.Kind), Importance: m.Metadata.Importance, Summary: m.Metadata.Summary,
			SourceMessageIDs: m.Metadata.SourceMessageIDs,
		},
	}
	for _, r := range m.Metadata.Relations {
		out.Metadata.Relations = append(out.Metadata.Relations, convmem.Relation{Type: convmem.RelationType(r.Type), MessageID: r.MessageID})
	}
	if m.Metadata.OccurredAt != nil {
		out.Metadata.OccurredAt = moment(*m.Metadata.OccurredAt)
	}
	return out
}

func (r related) value() convmem.RelatedMessage {
	out := convmem.RelatedMessage{
		Type: convmem.RelationType(r.Type), Direction: convmem.Direction(r.Direction), Depth: r.Depth, MessageID: r.MessageID,
	}
	if r.Message != nil {
		out.MessageID, out.Message = r.Message.MessageID, new(r.Message.value())
	}
	return out
}

func (s sessionInfo) value() convmem.SessionInfo {
	k := s.KindCounts
	return convmem.SessionInfo{
		SessionID: s.SessionID, MessageCount: s.MessageCount, RepresentativeSummary: s.RepresentativeSummary,
		StartedAt: moment(s.StartedAt), LastMessageAt: moment(s.LastMessageAt),
		KindCounts: map[convmem.MemoryKind]int{
			convmem.KindConversation: k.Conversation, convmem.KindEpisode: k.Episode, convmem.KindSemantic: k.Semantic,
			convmem.KindProcedure: k.Procedure, convmem.KindPreference: k.Preference, convmem.KindSummary: k.Summary,
		},
	}
}

func (h hit) value() convmem.Hit {
	out := convmem.Hit{
		Message: h.message.value(), Score: h.Score, Breakdown: convmem.ScoreBreakdown(h.Breakdown),
		MatchedFields: mapped(h.MatchedFields, func(s string) convmem.Field { return convmem.Field(s) }),
		RelationCount: h.RelationCount, SupersededBy: h.SupersededBy,
	}
	if h.Preview != nil {
		out.Before, out.After = mapped(h.Preview.Before, message.value), mapped(h.Preview.After, message.value)
	}
	return out
}
