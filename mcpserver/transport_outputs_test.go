package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// An outputRow is a rule that results keep, the call and the answer of a store
// that would show it broken, and the text of the result.
type outputRow struct {
	name, tool, args string
	store            *fake
	want             string
}

// The calls of the output rows. What they ask for does not matter.
const (
	anyWrite   = `{"session_id":"s","role":"user","content":"` + secret + `"}`
	anyUpdate  = `{"message_id":"` + idA + `","content":"` + secret + `"}`
	anyHistory = `{"session_id":"s"}`
	anyContext = `{"view":"context","message_id":"` + idA + `"}`
	anyDelete  = `{"message_id":"` + idA + `"}`
)

// The two samples of fake_test.go as messages of a result.
const (
	plainText = `{"message_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","session_id":"conversation-1","timestamp":1720843200000,"role":"user",` +
		`"content":"Remember this","revision":1,"updated_at":1720843200000,"metadata":{"tags":[],"memory_tier":"short",` +
		`"memory_kind":"conversation","importance":50,"relations":[],"source_message_ids":[]}}`
	fullText = `{"message_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","session_id":"conversation-1","timestamp":1720843200000,"role":"user",` +
		`"content":"<b> & \"q\" \\ ` + "\u2028\u2029 漢" + ` \u0000` + "\x7f" + `","content_truncated":true,"content_bytes":4711,` +
		`"revision":1,"updated_at":1720843200000,"metadata":{"tool_call_id":"call-1","tags":["project"],"memory_tier":"long",` +
		`"memory_kind":"semantic","importance":0,"summary":"why","relations":[{"type":"derived_from","message_id":"01ARZ3NDEKTSV4RRFFQ69G5FAW"}],` +
		`"source_message_ids":["01ARZ3NDEKTSV4RRFFQ69G5FAW"],"occurred_at":0}}`
	noKinds   = `"kind_counts":{"conversation":0,"episode":0,"semantic":0,"procedure":0,"preference":0,"summary":0}`
	unwritten = `{"status":"ERROR","error":{"code":"INTERNAL_ERROR","message":"the call failed inside the server, whose log says why"}}`
)

func ofHistory(messages ...convmem.Message) *fake {
	return &fake{read: convmem.ReadResult{History: &convmem.HistoryResult{Messages: messages}}}
}

func ofContext(r convmem.ContextResult) *fake {
	return &fake{read: convmem.ReadResult{Context: &r}}
}

func outputRows() []outputRow {
	paged := ofHistory(plainMessage(), fullMessage())
	paged.read.History.NextCursor = "<more>"
	gone := convmem.RelatedMessage{Type: convmem.RelationRelatedTo, Direction: convmem.Incoming, Depth: 2, MessageID: idB}
	bare := hitSample()
	bare.SupersededBy = nil
	return []outputRow{
		{"a message has its fields in one order", "write_message", anyWrite, &fake{write: convmem.WriteResult{Message: fullMessage()}},
			`{"status":"OK","message":` + fullText + `}`},
		{"what is unset is left out, arrays are there", "write_message", anyWrite, &fake{write: convmem.WriteResult{Message: plainMessage()}},
			`{"status":"OK","message":` + plainText + `}`},
		{"a replay says so", "write_message", anyWrite, &fake{write: convmem.WriteResult{Message: plainMessage(), Replayed: true}},
			`{"status":"OK","replayed":true,"message":` + plainText + `}`},
		{"an update that changes nothing says so", "update_message", anyUpdate, &fake{update: convmem.UpdateResult{Message: plainMessage()}},
			`{"status":"OK","changed":false,"message":` + plainText + `}`},
		{"an update", "update_message", anyUpdate, &fake{update: convmem.UpdateResult{Changed: true, Message: fullMessage()}},
			`{"status":"OK","changed":true,"message":` + fullText + `}`},
		{"an empty history is an empty array", "read_messages", anyHistory, ofHistory(), `{"history":[]}`},
		{"the last page has no cursor", "read_messages", anyHistory, ofHistory(plainMessage()), `{"history":[` + plainText + `]}`},
		{"a page before it has one", "read_messages", anyHistory, paged, `{"nextCursor":"<more>","history":[` + plainText + `,` + fullText + `]}`},
		{"a context alone has empty arrays", "read_messages", anyContext, ofContext(convmem.ContextResult{Message: plainMessage(), Session: convmem.SessionRef{SessionID: "s", MessageCount: 1}}),
			`{"truncated":false,"session":{"session_id":"s","message_count":1},"message":` + plainText + `,"chronological_context":{"before":[],"after":[]},"relations":[]}`},
		{"a relation to nothing has an id and a status", "read_messages", anyContext, ofContext(convmem.ContextResult{Message: plainMessage(), Relations: []convmem.RelatedMessage{gone}, Truncated: true}),
			`{"truncated":true,"session":{"session_id":"","message_count":0},"message":` + plainText + `,"chronological_context":{"before":[],"after":[]},` +
				`"relations":[{"type":"related_to","direction":"incoming","depth":2,"message_id":"01ARZ3NDEKTSV4RRFFQ69G5FAW","status":"deleted"}]}`},
		{"no sessions", "read_messages", `{"view":"sessions"}`, &fake{read: convmem.ReadResult{Sessions: &convmem.SessionsResult{}}}, `{"sessions":[]}`},
		{"a session counts all six kinds", "read_messages", `{"view":"sessions"}`,
			&fake{read: convmem.ReadResult{Sessions: &convmem.SessionsResult{Sessions: []convmem.SessionInfo{{SessionID: "s", StartedAt: standstill(), LastMessageAt: standstill()}}}}},
			`{"sessions":[{"session_id":"s","message_count":0,` + noKinds + `,"representative_summary":"","started_at":1720843200000,"last_message_at":1720843200000}]}`},
		{"no match", "search_messages", searching, &fake{}, `{"results":[]}`},
		{"a hit", "search_messages", searching, &fake{search: convmem.SearchResult{Hits: []convmem.Hit{bare}}},
			`{"results":[` + strings.TrimSuffix(fullText, "}") + `,"score":1.73,"score_breakdown":{"content":1.2,"summary":0.5,"tags":0.03},` +
				`"matched_fields":["content","summary","tags"],"relation_count":2}]}`},
		{"a hit with all there is", "search_messages", `{"query":"q","context_size":1}`, &fake{search: convmem.SearchResult{Truncated: true, Hits: []convmem.Hit{hitSample()}}},
			`{"truncated":true,"results":[` + strings.TrimSuffix(fullText, "}") + `,"score":1.73,"score_breakdown":{"content":1.2,"summary":0.5,"tags":0.03},` +
				`"matched_fields":["content","summary","tags"],"relation_count":2,"superseded_by":["01ARZ3NDEKTSV4RRFFQ69G5FAW"],` +
				`"context_preview":{"before":[` + plainText + `],"after":[]}}]}`},
		{"a deletion", "delete_message", anyDelete, &fake{delete: convmem.DeleteResult{Deleted: true}}, `{"status":"OK"}`},
		{"a deletion of nothing is no error", "delete_message", anyDelete, &fake{}, `{"status":"NOT_FOUND"}`},
		{"a rebuild", "rebuild_index", ``, &fake{rebuild: convmem.RebuildResult{MessagesIndexed: 1, RecordsRemoved: 2, BytesBefore: 3, BytesAfter: 4}},
			`{"status":"OK","messages_indexed":1,"records_removed":2,"bytes_before":3,"bytes_after":4}`},
		{"health has all its fields", "get_system_health", ``, &fake{health: convmem.HealthResult{Status: convmem.HealthOK}},
			`{"status":"OK","format_version":0,"log_size":0,"snapshot_size":0,"active_messages":0,"deleted_messages":0,"last_sequence":0,"update_records":0,"dead_bytes":0,` +
				`"memory_estimate":{"total_bytes":0,"store_entries_bytes":0,"body_bytes":0,"metadata_bytes":0,"search_index_bytes":0,"history_index_bytes":0,"relation_index_bytes":0},` +
				`"io":{"write_bytes":0,"write_calls":0,"flush_calls":0,"truncate_calls":0,"replace_calls":0},"recovered_tail":false,"snapshot_valid":false,"last_error":"","schema_version":1}`},

		{"an error names its field", "write_message", anyWrite, failing(&convmem.Error{Op: "write", Code: convmem.CodeValidation, Field: "tags[3]", Message: "140 bytes, at most 128"}),
			`{"status":"ERROR","error":{"code":"VALIDATION_ERROR","message":"tags[3]: 140 bytes, at most 128","field":"tags[3]"}}`},
		{"a conflict names the revision", "update_message", anyUpdate, failing(&convmem.Error{Code: convmem.CodeConflict, Field: "expected_revision", Message: "the current revision is 7", Revision: 7}),
			`{"status":"ERROR","error":{"code":"CONFLICT","message":"expected_revision: the current revision is 7","field":"expected_revision","current_revision":7}}`},
		{"an error without a field", "update_message", anyUpdate, failing(&convmem.Error{Code: convmem.CodeNotFound, Message: "no such <message>"}),
			`{"status":"ERROR","error":{"code":"NOT_FOUND","message":"no such <message>"}}`},
		{"a damaged page goes on", "read_messages", anyHistory, failing(&convmem.Error{Code: convmem.CodeCorrupt, Message: "message damaged", NextCursor: "behind"}),
			`{"status":"ERROR","error":{"code":"CORRUPT_STORE","message":"message damaged","nextCursor":"behind"}}`},
		{"a call that ended", "rebuild_index", ``, failing(context.Canceled),
			`{"status":"ERROR","error":{"code":"BUSY","message":"the store is busy or the call was cancelled before anything was stored: try again"}}`},
		{"a failure without words", "rebuild_index", ``, failing(fmt.Errorf("wrapped: %w", &convmem.Error{Code: convmem.CodeIO, Err: errors.New("write /secret/file: no space")})),
			`{"status":"ERROR","error":{"code":"IO_ERROR","message":"reading or writing the store failed"}}`},
		{"no path and no type", "get_system_health", ``, failing(&fs.PathError{Op: "open", Path: "/secret/file", Err: fs.ErrPermission}), unwritten},
		{"no panic gets out", "write_message", anyWrite, &fake{fail: func(context.Context) error { panic("at " + secret) }}, unwritten},
		{"an error text is below 1000 characters", "rebuild_index", ``, failing(&convmem.Error{Code: convmem.CodeIO, Message: strings.Repeat("漢", 5000)}),
			`{"status":"ERROR","error":{"code":"IO_ERROR","message":"` + strings.Repeat("漢", 996) + `..."}}`},
		{"a broken error text is mended", "rebuild_index", ``, failing(&convmem.Error{Code: convmem.CodeIO, Message: "a\xffb"}),
			`{"status":"ERROR","error":{"code":"IO_ERROR","message":"a` + "\ufffd" + `b"}}`},
	}
}

// TestOutputs has the same text in every way, and the text that the rules want.
func TestOutputs(t *testing.T) {
	rows := outputRows()
	ways := everyWay(t, setting{Store: "samples"})
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			for _, w := range ways {
				w.text(t, "write_message", raw(given{"session_id": choosing, "role": "user", "content": c.name}))
				if text := w.text(t, c.tool, c.args); text != c.want {
					t.Errorf("%s (-want +got):\n%s", w.name, cmp.Diff(c.want, text))
				}
			}
			if strings.Contains(c.want, "null") || strings.Contains(c.want, secret) || strings.Contains(c.want, `\u003c`) {
				t.Error("the row itself breaks a rule")
			}
		})
	}
	t.Logf("%d rows in %d ways", len(rows), len(ways))
}
