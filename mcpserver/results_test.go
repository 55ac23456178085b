package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// check returns the text of a result after looking at its form.
func check(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	if r == nil || len(r.Content) != 1 || r.StructuredContent != nil {
		t.Fatalf("the result is not one text: %+v", r)
	}
	text := textOf(r)
	var d errorDocument
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("the text is not JSON: %v", err)
	}
	if r.IsError != (d.Status == "ERROR") {
		t.Errorf("isError is %t in %.200s", r.IsError, text)
	}
	if n := utf8.RuneCountInString(d.Error.Message); n >= 1000 {
		t.Errorf("an error text of %d characters", n)
	}
	return text
}

func sessionsSample() convmem.SessionsResult {
	at := time.UnixMilli(1720843200000)
	return convmem.SessionsResult{NextCursor: "more", Sessions: []convmem.SessionInfo{{
		SessionID: "conversation-1", MessageCount: 21, RepresentativeSummary: "latest <summary>", StartedAt: at, LastMessageAt: at.Add(time.Hour),
		KindCounts: map[convmem.MemoryKind]int{"conversation": 1, "episode": 2, "semantic": 3, "procedure": 4, "preference": 5, "summary": 6},
	}}}
}

func contextSample() convmem.ContextResult {
	return convmem.ContextResult{
		Message: plainMessage(), Before: []convmem.Message{fullMessage()},
		Relations: []convmem.RelatedMessage{
			{Type: convmem.RelationDerivedFrom, Direction: convmem.Outgoing, Depth: 1, MessageID: idA, Message: new(plainMessage())},
			{Type: convmem.RelationRelatedTo, Direction: convmem.Incoming, Depth: 2, MessageID: idB},
		},
		Session: convmem.SessionRef{SessionID: "conversation-1", MessageCount: 12}, Truncated: true,
	}
}

func hitSample() convmem.Hit {
	return convmem.Hit{
		Message: fullMessage(), Score: 1.73, Breakdown: convmem.ScoreBreakdown{Content: 1.2, Summary: 0.5, Tags: 0.03},
		MatchedFields: []convmem.Field{"content", "summary", "tags"}, RelationCount: 2, SupersededBy: []string{idB},
		Before: []convmem.Message{plainMessage()},
	}
}

func healthSample() convmem.HealthResult {
	return convmem.HealthResult{
		Status: convmem.HealthDegraded, FormatVersion: 2, LogSize: 3, SnapshotSize: 4, ActiveMessages: 5, DeletedMessages: 6, LastSequence: 7,
		UpdateRecords: 8, DeadBytes: 9, RecoveredTail: true, LastError: "write failed",
		Memory: convmem.MemoryEstimate{StoreEntries: 1, Bodies: 2, Metadata: 4, SearchIndex: 8, HistoryIndex: 16, RelationIndex: 32},
		IO:     convmem.IOCounters{WriteBytes: 1, WriteCalls: 2, FlushCalls: 3, TruncateCalls: 4, ReplaceCalls: 5},
	}
}

// TestResults pins the text of every tool and of every error code, byte for
// byte.
func TestResults(t *testing.T) {
	const writing = `{"session_id":"s","role":"user","content":"c"}`
	history := func(r convmem.HistoryResult) *fake { return &fake{read: convmem.ReadResult{History: &r}} }
	full := &fake{search: convmem.SearchResult{Truncated: true, Hits: []convmem.Hit{hitSample()}}}
	coded := func(e convmem.Error) *fake { return failing(fmt.Errorf("wrapped: %w", &e)) }
	var all strings.Builder
	for _, c := range []struct {
		name, tool, args string
		store            *fake
	}{
		{"write", "write_message", writing, &fake{write: convmem.WriteResult{Message: plainMessage()}}},
		{"write, every field", "write_message", writing, &fake{write: convmem.WriteResult{Message: fullMessage()}}},
		{"write, replayed", "write_message", writing, &fake{write: convmem.WriteResult{Message: plainMessage(), Replayed: true}}},
		{"update", "update_message", `{"message_id":"x","content":"c"}`, &fake{update: convmem.UpdateResult{Changed: true, Message: plainMessage()}}},
		{"update, nothing to do", "update_message", `{"message_id":"x","content":"c"}`, &fake{update: convmem.UpdateResult{Message: plainMessage()}}},
		{"history", "read_messages", `{"session_id":"s"}`, history(convmem.HistoryResult{Messages: []convmem.Message{plainMessage()}, NextCursor: "<more>"})},
		{"history, empty", "read_messages", `{"session_id":"s"}`, history(convmem.HistoryResult{})},
		{"context", "read_messages", `{"view":"context","message_id":"x"}`, &fake{read: convmem.ReadResult{Context: new(contextSample())}}},
		{"context, alone", "read_messages", `{"view":"context","message_id":"x"}`, &fake{read: convmem.ReadResult{Context: &convmem.ContextResult{Message: plainMessage()}}}},
		{"sessions", "read_messages", `{"view":"sessions"}`, &fake{read: convmem.ReadResult{Sessions: new(sessionsSample())}}},
		{"sessions, none", "read_messages", `{"view":"sessions"}`, &fake{read: convmem.ReadResult{Sessions: &convmem.SessionsResult{}}}},
		{"search", "search_messages", `{"query":"q"}`, full},
		{"search, previews", "search_messages", `{"query":"q","context_size":1}`, full},
		{"search, no match", "search_messages", `{"query":"q","context_size":1}`, &fake{}},
		{"delete", "delete_message", `{"message_id":"x"}`, &fake{delete: convmem.DeleteResult{Deleted: true}}},
		{"delete, nothing there", "delete_message", `{"message_id":"x"}`, &fake{}},
		{"rebuild", "rebuild_index", ``, &fake{rebuild: convmem.RebuildResult{MessagesIndexed: 1, RecordsRemoved: 2, BytesBefore: 3, BytesAfter: 4}}},
		{"health", "get_system_health", ``, &fake{health: healthSample()}},
		{"validation", "write_message", writing, coded(convmem.Error{Op: "write", Code: convmem.CodeValidation, Field: "tags[3]", Message: "140 bytes, at most 128"})},
		{"validation of our own", "write_message", `{"session_id":5}`, &fake{}},
		{"not found", "update_message", `{"message_id":"x","content":"c"}`, coded(convmem.Error{Code: convmem.CodeNotFound, Message: "no such message"})},
		{"conflict", "update_message", `{"message_id":"x","content":"c"}`, coded(convmem.Error{Code: convmem.CodeConflict, Field: "expected_revision", Message: "the current revision is 7", Revision: 7})},
		{"busy", "rebuild_index", ``, coded(convmem.Error{Code: convmem.CodeBusy, Message: "a rebuild runs already"})},
		{"cancelled", "rebuild_index", ``, failing(context.Canceled)},
		{"out of time", "rebuild_index", ``, failing(fmt.Errorf("waiting: %w", context.DeadlineExceeded))},
		{"io", "rebuild_index", ``, coded(convmem.Error{Code: convmem.CodeIO, Message: "disk full", Err: errors.New("write /secret: no space")})},
		{"corrupt", "get_system_health", ``, coded(convmem.Error{Code: convmem.CodeCorrupt, Message: "convmem.log at offset 96: checksum"})},
		{"a damaged page", "read_messages", `{"session_id":"s"}`, coded(convmem.Error{Code: convmem.CodeCorrupt, Message: "message damaged", NextCursor: "behind"})},
		{"internal", "get_system_health", ``, coded(convmem.Error{Code: convmem.CodeInternal, Message: "out of order"})},
		{"a foreign error", "get_system_health", ``, failing(&fs.PathError{Op: "open", Path: "/secret", Err: fs.ErrPermission})},
		{"a code of its own", "get_system_health", ``, coded(convmem.Error{Code: "OUT_OF_CHEESE", Message: "no cheese"})},
		{"no code at all", "get_system_health", ``, coded(convmem.Error{})},
		{"a nil error value", "get_system_health", ``, failing((*convmem.Error)(nil))},
		{"no words", "rebuild_index", ``, coded(convmem.Error{Code: convmem.CodeIO})},
		{"an unknown tool", "forget_everything", ``, &fake{}},
		{"no result", "read_messages", `{"session_id":"s"}`, &fake{}},
		{"a score that is no number", "search_messages", `{"query":"q"}`, &fake{search: convmem.SearchResult{Hits: []convmem.Hit{{Score: math.NaN()}}}}},
	} {
		fmt.Fprintf(&all, "# %s\n%s\n\n", c.name, call(t, c.store, nil, c.tool, c.args))
	}
	golden(t, "results.txt", all.String())
}

// TestErrorTextIsShort gives an error text that is far too long, in characters
// of several bytes and with broken ones.
func TestErrorTextIsShort(t *testing.T) {
	long := &convmem.Error{Code: convmem.CodeIO, Field: "field", Message: strings.Repeat("漢", 5000) + "\xff"}
	text := call(t, failing(long), nil, "rebuild_index", "")
	if !strings.Contains(text, "漢...") {
		t.Errorf("a long error text was not cut: %.100s", text)
	}
}

// TestPanic looks at a panic whose value is the text of a message.
func TestPanic(t *testing.T) {
	const secret = "hunter2"
	for _, c := range []struct {
		name  string
		panic func()
		logs  string
	}{
		{"text", func() { panic(secret) }, "a value of type string"},
		{"error", func() { panic(errors.New(secret)) }, "a value of type *errors.errorString"},
		{"runtime", func() { clear((map[string]int)(nil)); _ = []int{}[len(secret)] }, "index out of range [7] with length 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			store := &fake{fail: func(context.Context) error { c.panic(); return nil }}
			for _, tool := range tools {
				args := `{"session_id":"s","role":"user","content":"` + secret + `"}`
				switch tool.name {
				case "update_message":
					args = `{"message_id":"m","content":"` + secret + `"}`
				case "read_messages":
					args = `{"session_id":"s"}`
				case "search_messages":
					args = `{"query":"` + secret + `"}`
				case "delete_message":
					args = `{"message_id":"m"}`
				}
				text := call(t, store, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, tool.name, args)
				if !strings.Contains(text, `"INTERNAL_ERROR"`) || strings.Contains(text, "errorString") {
					t.Errorf("%s: %s", tool.name, text)
				}
			}
			if !strings.Contains(log.String(), c.logs) || strings.Contains(log.String(), secret) {
				t.Errorf("the log: %.300s", log.String())
			}
		})
	}
}

// TestLog looks for the cause of a failure, which the caller does not see.
func TestLog(t *testing.T) {
	var log strings.Builder
	o := &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	call(t, failing(&convmem.Error{Code: convmem.CodeIO, Message: "failed", Err: errors.New("the cause")}), o, "rebuild_index", "")
	call(t, failing(&convmem.Error{Code: convmem.CodeNotFound, Message: "unheard"}), o, "rebuild_index", "")
	if got := log.String(); !strings.Contains(got, "the cause") || strings.Contains(got, "unheard") {
		t.Errorf("the log: %s", got)
	}
}
