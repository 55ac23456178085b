package mcpserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestRequests sends what is no call, or one in an unusual form.
func TestRequests(t *testing.T) {
	t.Parallel()
	body, standard := question(dialects[0])
	const tooLong, limit = 413, 3000
	long := func(n int) string { return strings.Repeat(" ", n-len(body)) + body }
	for _, c := range []struct {
		name, method, body string
		header             []string
		status             int
		code               int // of the JSON-RPC error; 0: none
	}{
		{"a call", "POST", body, nil, 200, 0},
		{"GET", "GET", "", nil, 405, 0},
		{"GET of a stream", "GET", "", []string{"Accept", "text/event-stream"}, 405, 0},
		{"DELETE", "DELETE", "", []string{"Mcp-Session-Id", "1"}, 405, 0},
		{"PUT", "PUT", body, nil, 405, 0},
		{"PATCH", "PATCH", body, nil, 405, 0},
		{"HEAD", "HEAD", "", nil, 405, 0},
		{"OPTIONS", "OPTIONS", "", nil, 405, 0},
		{"a form", "POST", body, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, 0},
		{"plain text", "POST", body, []string{"Content-Type", "text/plain"}, 415, 0},
		{"no type", "POST", body, []string{"Content-Type", ""}, 415, 0},
		{"a type with a character set", "POST", body, []string{"Content-Type", "application/json; charset=utf-8"}, 200, 0},
		{"a session that is none", "POST", body, []string{"Mcp-Session-Id", "made up"}, 200, 0},
		{"a revision that is none", "POST", body, []string{"Mcp-Protocol-Version", "1999-01-01"}, 400, 0},
		{"no revision", "POST", body, []string{"Mcp-Protocol-Version", ""}, 200, 0},
		{"everything accepted", "POST", body, []string{"Accept", "*/*"}, 200, 0},
		{"nothing accepted that there is", "POST", body, []string{"Accept", "text/html"}, 400, 0},
		{"no body", "POST", "", nil, 400, -32700},
		{"spaces", "POST", " \r\n\t", nil, 400, -32700},
		{"no JSON", "POST", secret, nil, 400, -32700},
		{"half a message", "POST", body[:len(body)/2], nil, 400, -32700},
		{"two messages", "POST", body + body, nil, 400, -32700},
		{"a byte order mark", "POST", byteOrderMark + body, nil, 200, 0},
		{"CRLF", "POST", "\r\n" + body + "\r\n", nil, 200, 0},
		{"a batch", "POST", "[" + body + "]", nil, 400, -32600},
		{"an empty batch", "POST", "[]", nil, 400, -32600},
		{"a number", "POST", "7", nil, 400, -32600},
		{"no version", "POST", `{"id":7,"method":"ping"}`, nil, 400, -32600},
		{"nested deep", "POST", dialects[0].call(1, "search_messages", nested(1100)), nil, 400, -32700},
		{"nested deeper", "POST", dialects[0].call(1, "search_messages", nested(1400)), nil, 400, -32700},
		{"a notification", "POST", initialized, nil, 202, 0},
		{"as long as may be", "POST", long(limit), nil, 200, 0},
		{"a byte more", "POST", long(limit + 1), nil, tooLong, -32600},
		{"far more", "POST", long(100 * limit), nil, tooLong, -32600},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/chunked %t", c.name, chunked), func(t *testing.T) {
				s := newSite(t, Handler(newModel(), &HTTPOptions{MaxBodyBytes: limit}))
				var sent io.Reader = strings.NewReader(c.body)
				if chunked {
					sent = slowBody{sent}
				}
				r := s.do(c.method, sent, slices.Concat(standard, c.header)...)
				if r.status != c.status || r.reply.Error.Code != c.code || r.header.Get("X-Request-Id") == "" {
					t.Errorf("status %d, code %d, want %d, %d: %s", r.status, r.reply.Error.Code, c.status, c.code, r.body)
				}
				if strings.Contains(r.body, secret) || (r.reply.text() == `{"results":[]}`) != (c.status == 200) {
					t.Errorf("the answer is %.300s", r.body)
				}
				if allow := r.header.Get("Allow"); (allow == "POST") != (c.status == 405) {
					t.Errorf("Allow is %q", allow)
				}
				if r := s.do("POST", strings.NewReader(body), standard...); r.status != 200 {
					t.Errorf("the call after it: status %d, %s", r.status, r.body)
				}
			})
		}
	}
}

// TestBodyOfTheLargestMessage sends content of 1 MiB in its longest form, and
// then a body beyond the limit that holds without options.
func TestBodyOfTheLargestMessage(t *testing.T) {
	t.Parallel()
	s := newSite(t, Handler(&fake{write: convmem.WriteResult{Message: plainMessage()}}, nil))
	args := raw(given{"session_id": "s", "role": "user", "content": strings.Repeat("\x01", convmem.MaxContentBytes)})
	if r := s.call(dialects[1], "write_message", args); r.status != 200 || !strings.Contains(r.reply.text(), `"OK"`) {
		t.Errorf("status %d, %.200s", r.status, r.body)
	}
	if r := s.call(dialects[1], "write_message", args+strings.Repeat(" ", DefaultMaxBodyBytes-len(args))); r.status != 413 || r.reply.Error.Code != -32600 {
		t.Errorf("status %d, %.200s", r.status, r.body)
	}
}

// TestEveryRevision asks the same over HTTP in every revision of the protocol,
// after an initialize where there is one, and compares with stdio.
func TestEveryRevision(t *testing.T) {
	for _, version := range mcp.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			d := dialects[0]
			if version >= dialects[1].name {
				d = dialects[1]
			}
			d.name = version
			store := fill(t, "s", 3, "<content> & \"more\" 漢")
			s, h := newSite(t, Handler(store, nil)), d.start(t, store, nil)
			if d.greet {
				greeting := strings.Replace(initialize, dialects[0].name, version, 1)
				if r := s.post(greeting); r.status != 200 || !strings.Contains(r.body, `"protocolVersion":"`+version+`"`) {
					t.Errorf("initialize: status %d, %s", r.status, r.body)
				}
				if r := s.post(initialized, "Mcp-Protocol-Version", version); r.status != 202 || r.body != "" {
					t.Errorf("initialized: status %d, %s", r.status, r.body)
				}
			}
			for _, c := range everyTool {
				if c.tool == "write_message" || c.tool == "rebuild_index" {
					continue // answers twice with two different things
				}
				h.send(d.call(1, c.tool, c.args))
				line, err := h.out.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				r := s.call(d, c.tool, c.args)
				if diff := cmp.Diff(strings.TrimSpace(line), strings.TrimSpace(r.body)); diff != "" || r.status != 200 || r.header.Get("Content-Type") != "application/json" {
					t.Errorf("%s: status %d (-stdio +HTTP):\n%s", c.tool, r.status, diff)
				}
			}
		})
	}
}

// TestRequestIDs follows the id of a request to the response, the observer, the
// choice of the store and the log.
func TestRequestIDs(t *testing.T) {
	for _, c := range []struct {
		name, sent string
		kept       bool
	}{
		{"plain", "abc-DEF_1.2", true},
		{"the longest", strings.Repeat("x", 64), true},
		{"none", "", false},
		{"too long", strings.Repeat("x", 65), false},
		{"a space", "a b", false},
		{"a quotation mark", `a"b`, false},
		{"markup", "<b>", false},
		{"no ASCII", "é", false},
		{"a tab", "a\tb", false},
		{"a line of a log", "x level=ERROR", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log logBuffer
			seen := make(chan string, 2)
			h := Handler(nil, &HTTPOptions{
				Options: Options{
					Logger: slog.New(slog.NewTextHandler(&log, nil)),
					OnCall: func(ctx context.Context, _ CallInfo) { seen <- RequestID(ctx) },
				},
				StoreFor: func(ctx context.Context) (convmem.Store, error) { seen <- RequestID(ctx); return nil, leaky() },
			})
			body, header := question(dialects[1])
			r := newSite(t, h).post(body, append(header, "X-Request-Id", c.sent)...)
			id := r.header.Get("X-Request-Id")
			if (id == c.sent) != c.kept || id == "" || len(r.header.Values("X-Request-Id")) != 1 {
				t.Errorf("%q becomes %q", c.sent, id)
			}
			if inStoreFor, inOnCall := <-seen, <-seen; inStoreFor != id || inOnCall != id {
				t.Errorf("the id is %q, StoreFor has %q, OnCall %q", id, inStoreFor, inOnCall)
			}
			if text := log.String(); !strings.Contains(text, "request="+id) || !c.kept && c.sent != "" && strings.Contains(text, c.sent) {
				t.Errorf("the log: %s", text)
			}
		})
	}
	if id := RequestID(t.Context()); id != "" {
		t.Errorf("a context of no request has the id %q", id)
	}
}
