package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Placeholders in the arguments of FuzzCall, beside idA and idB, that become
// cursors of the store that is asked.
const (
	historyCursor  = "HISTORYCURSOR"
	sessionsCursor = "SESSIONSCURSOR"
)

// stored is in every message of fuzzStore, and in no arguments.
const stored = "plugh-tr0ub4dor"

// fuzzStore has messages that relate to each other, and returns
// what the placeholders stand for in it.
func fuzzStore(t *testing.T) (convmem.Store, *strings.Replacer) {
	t.Helper()
	ctx := context.Background()
	now := time.UnixMilli(1_750_000_000_000)
	store := storetest.NewModel(storetest.Config{Now: func() time.Time { return now }})
	var ids []string
	for i, content := range []string{secret, "<c> & \"q\" \\", "c \u2028 漢", strings.Repeat("q\x01", 300), "c q"} {
		r := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: content + " " + stored, Metadata: convmem.MetadataPatch{Summary: new(stored), Tags: []string{stored}}}
		if i > 0 {
			r.Metadata.Relations = []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: ids[i-1]}}
		}
		if i == 4 {
			r.SessionID = "t"
		}
		w, err := store.Write(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, w.Message.ID)
	}
	history, err := store.Read(ctx, convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s", Limit: 1}})
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := store.Read(ctx, convmem.ReadRequest{Sessions: &convmem.SessionsRequest{Limit: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return store, strings.NewReplacer(idA, ids[1], idB, ids[2], historyCursor, history.History.NextCursor, sessionsCursor, sessions.Sessions.NextCursor)
}

// callSeeds are arguments of every tool and for none.
func callSeeds() []string {
	byID := `{"message_id":"` + idA + `"`
	return []string{
		``, `null`, `{}`, `[]`, `"{}"`, `{"a":1,"a":2}`, `{"session_id":"\ud800"}`, "{\"session_id\":\"\xff\"}", nested(40), `{"limit":1e999999999}`,
		writeArgs(``), quoted(writeArgs(``)), writeArgs(`,"idempotency_key":"k"`), writeArgs(`,"role":"user"`), writeArgs(`,"rôle":1`),
		metadataArgs(`"{\"tags\":[\"a\"],\"importance\":\"7\",\"occurred_at\":1e3}"`), metadataArgs(`{"memory_tier":"mid","memory_kind":"episode","summary":"` + secret + `"}`),
		metadataArgs(`{"relations":[{"type":"supersedes","message_id":"` + idA + `"}],"source_message_ids":["` + idB + `"],"tool_call_id":"x"}`),
		byID + `,"content":"c","expected_revision":1e0}`, byID + `,"expected_revision":2,"content":"` + secret + `"}`, byID + `,"metadata_json":{"tags":[],"summary":""}}`,
		byID + `,"session_id":"s"}`, byID + `}`, byID + `,"session_id":""}`, `{"message_id":"` + secret + `"}`,
		historyArgs(``), historyArgs(`,"limit":"2","order":"desc","max_characters":9`), historyArgs(`,"cursor":"` + historyCursor + `"`), historyArgs(`,"cursor":"` + sessionsCursor + `"`),
		byID + `,"view":"context","before":10,"after":10,"relation_depth":2,"relation_types_json":"[\"supersedes\"]"}`, byID + `,"view":"context","max_content_characters":1}`,
		sessionsArgs(``), sessionsArgs(`,"limit":1`), sessionsArgs(`,"cursor":"` + sessionsCursor + `"`), sessionsArgs(`,"cursor":"x"`),
		`{"query":"c q"}`, `{"query":"c q","context_size":3}`, `{"query":"` + secret + `","context_size":3,"limit":100,"min_importance":1,"session_id":"s","max_content_characters":5}`,
		filterArgs(`{"since":0,"until":281474976710655,"kinds":["conversation"],"tiers":["short"],"roles":["user"],"tags":["` + secret + `"]}`),
	}
}

// FuzzCall gives tools any arguments, on a store with data and under budgets of
// several sizes. Whatever they are, there is a result in one of the two forms
// and within its budget, no error repeats what a message says, and no argument
// makes an internal error.
func FuzzCall(f *testing.F) {
	budgets := []int{1, 500, 5000, DefaultMaxResultBytes}
	names := append(ToolNames(), "no_such_tool")
	for tool := range names {
		for _, seed := range callSeeds() {
			for budget := range budgets {
				f.Add(uint8(tool), uint8(budget), []byte(seed))
			}
		}
	}
	f.Fuzz(func(t *testing.T, tool, budget uint8, args []byte) {
		store, placeholders := fuzzStore(t)
		args = []byte(placeholders.Replace(string(args)))
		name, most := names[int(tool)%len(names)], budgets[int(budget)%len(budgets)]
		text := check(t, Call(context.Background(), store, &Options{MaxResultBytes: most}, name, json.RawMessage(args)))
		if !utf8.ValidString(text) {
			t.Fatalf("not UTF-8: %q", text)
		}
		d := decodeAs[errorDocument](t, text)
		switch {
		case d.Status == "ERROR":
			checkError(t, text, d, args)
		case wireSize(text) > most && extraItems(t, text) > 0:
			t.Errorf("%s: %d bytes of %d: %s", name, wireSize(text), most, text)
		}
	})
}

// checkError looks for what messages say. The secret of the arguments may stand
// in the name of a parameter, which errors repeat.
func checkError(t *testing.T, text string, d errorDocument, args []byte) {
	t.Helper()
	if d.Error.Code == convmem.CodeInternal || d.Error.Code == "" || d.Error.Message == "" {
		t.Errorf("%s after %q", text, args)
	}
	problem := strings.TrimPrefix(d.Error.Message, d.Error.Field+": ")
	if strings.Contains(problem, secret) || strings.Contains(text, stored) && !bytes.Contains(args, []byte(stored)) {
		t.Errorf("content in %s after %q", text, args)
	}
}

// extraItems counts what a budget may take out of a result: every list item but
// the first of a page, everything around the message of a context, and every
// preview.
func extraItems(t *testing.T, text string) int {
	t.Helper()
	var d struct {
		History   []message
		Sessions  []sessionInfo
		Results   []hit
		Around    neighbours `json:"chronological_context"`
		Relations []related
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	extra := max(0, len(d.History)-1) + max(0, len(d.Sessions)-1) + max(0, len(d.Results)-1) + len(d.Around.Before) + len(d.Around.After) + len(d.Relations)
	for _, h := range d.Results {
		if h.Preview != nil {
			extra += len(h.Preview.Before) + len(h.Preview.After)
		}
	}
	return extra
}

// frameSeeds are lines and bodies that hosts and scripts send.
func frameSeeds() []string {
	return []string{
		initialize, initialized, initialize + "\n" + initialized + "\r\n\n \t\n" + toolCall(1, "search_messages", searching), byteOrderMark + initialize,
		toolCall("x", "write_message", writeArgs(``)), `{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}`,
		"[" + initialize + "]", `7`, `null`, `{}`, "\xff", `{"jsonrpc":"2.0","id":7}`, `{"jsonrpc":"1.0","id":7,"method":"ping"}`, `{"id":"x","method":"ping"}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":"b","method":"ping"}`, `{"jsonrpc":"2.0","id":"\ud83d\ude00\"","method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"method":5}`, `{"jsonrpc":"2.0","id":7,"method":"` + strings.Repeat("m", 200) + `"}`, `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":["` + secret + `"]}`, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":5,"arguments":{"content":"` + secret + `"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","name":"y"}}`, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","_meta":[]}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, `{"jsonrpc":"2.0","id":7,"method":"ping","params":` + nested(995) + `}`,
		`{"jsonrpc":"2.0","id":5,"ID":6,"method":5}`, `{"jsonrpc":"2.0","id":9007199254740993,"ID":6,"method":"ping"}`, `{"jsonrpc":"2.0","\u0069d":5,"method":5}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":5}",
		toolCall(7, "write_message", writeArgs(``))[:60], toolCall(7, "write_message", writeArgs(``)) + ` x`,
	}
}

// FuzzLine reads any bytes as the lines of a host. Each line is a message whose
// id is the one in the line, or is refused in a way that a host can read.
func FuzzLine(f *testing.F) {
	for _, seed := range frameSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := newFrames(bytes.NewReader(data))
		for range len(data) + 1 {
			line, err := lines.next()
			if err != nil {
				return
			}
			if len(line) == 0 || bytes.IndexByte(line, '\n') >= 0 || !bytes.Contains(data, line) {
				t.Fatalf("%q is no line of %q", line, data)
			}
			checkFrame(t, line)
		}
		t.Fatalf("the lines of %q never end", data)
	})
}

// TestFrameSeeds looks at the whole of each seed as a body.
func TestFrameSeeds(t *testing.T) {
	for _, seed := range frameSeeds() {
		checkFrame(t, []byte(seed))
	}
}

// checkFrame compares what becomes of a line with what stands in it.
func checkFrame(t *testing.T, line []byte) {
	t.Helper()
	message, refusal := decodeFrame(line)
	id := idAsWritten(line)
	switch m := message.(type) {
	case nil:
		checkRefusal(t, line, refusal, id)
	case *jsonrpc.Request:
		checkID(t, line, m.ID, id)
	case *jsonrpc.Response:
		checkID(t, line, m.ID, id)
	}
	if message != nil && (refusal != nil || !json.Valid(line)) {
		t.Errorf("both a message and %q for %q", refusal, line)
	}
}

// idAsWritten returns the id in a line as it is written, or "null" for none that a
// request can have: a number, or a string of whole characters.
func idAsWritten(line []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil {
		return "null"
	}
	v, problem := parse(members["id"])
	if problem != nil || v.shape != shapeString && v.shape != shapeNumber {
		return "null"
	}
	return string(members["id"])
}

func checkRefusal(t *testing.T, line, refusal []byte, id string) {
	t.Helper()
	var r struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   struct {
			Code    int64
			Message string
		}
	}
	if err := json.Unmarshal(refusal, &r); err != nil || r.Version != "2.0" || !utf8.Valid(refusal) || bytes.IndexByte(refusal, '\n') >= 0 {
		t.Fatalf("%q is refused with %q: %v", line, refusal, err)
	}
	if string(r.ID) != id {
		t.Errorf("%q is refused with id %s: want %s", line, r.ID, id)
	}
	codes := []int64{jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams}
	if !slices.Contains(codes, r.Error.Code) || r.Error.Message == "" || len(r.Error.Message) > 200 || strings.Contains(r.Error.Message, secret) {
		t.Errorf("%q is refused with %s", line, refusal)
	}
}

// checkID compares the id of a message with that in its line. Numbers are the
// same when their values are: -0 comes back as 0.
func checkID(t *testing.T, line []byte, got jsonrpc.ID, want string) {
	t.Helper()
	var same bool
	switch id := got.Raw().(type) {
	case nil:
		same = want == "null"
	case string:
		var text string
		same = json.Unmarshal([]byte(want), &text) == nil && text == id
	case int64:
		n, err := strconv.ParseInt(want, 10, 64)
		same = err == nil && n == id
	}
	if !same {
		t.Errorf("%q has id %v: want %s", line, got.Raw(), want)
	}
}

// FuzzBody posts any bytes. What stdio refuses is refused in the same words,
// and everything else has an answer that is one JSON object or none at all.
func FuzzBody(f *testing.F) {
	for _, seed := range frameSeeds() {
		f.Add([]byte(seed))
	}
	store := fill(f, "s", 3, secret)
	handler := Handler(store, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		request := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", bytes.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		got := response.Body.Bytes()
		line := bytes.TrimSpace(bytes.TrimPrefix(body, []byte(byteOrderMark)))
		message, refusal := decodeFrame(line)
		if message == nil {
			if response.Code != statusOf(refusal) || !bytes.Equal(got, refusal) {
				t.Errorf("%q: status %d, %q, want %q", body, response.Code, got, refusal)
			}
			return
		}
		switch response.Code {
		case http.StatusOK:
			if r := object(t, got); string(r["jsonrpc"]) != `"2.0"` || (r["result"] == nil) == (r["error"] == nil) || !utf8.Valid(got) {
				t.Errorf("%q: %q", body, got)
			}
		case http.StatusAccepted:
			if len(got) != 0 {
				t.Errorf("%q is no call and has the answer %q", body, got)
			}
		case http.StatusBadRequest: // the SDK's own words, such as for a call without an id
			if bytes.Contains(got, []byte(secret)) || !utf8.Valid(got) {
				t.Errorf("%q: %q", body, got)
			}
		default:
			t.Errorf("%q: status %d, %q", body, response.Code, got)
		}
	})
}
