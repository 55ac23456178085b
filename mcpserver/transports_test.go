package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	oldProtocol = "2025-06-18"
	newProtocol = "2026-07-28"
)

// newMeta is what every request carries at the new protocol.
const newMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + newProtocol +
	`","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// way is one of the ways in which a tool is called.
type way struct {
	name string
	call func(t testing.TB, tool, args string) *mcp.CallToolResult
	wire *wire // set if it takes frames as they are written
}

// wire carries one JSON-RPC message to a server as it is written, and its
// answer back.
type wire struct {
	name     string
	exchange func(t testing.TB, frame string) string
}

// everyWay makes a server for each of the ways, with a store of its own.
func everyWay(t testing.TB, s setting) []way {
	t.Helper()
	ways := []way{{name: "Call", call: directly(s.mustOpen(t), s.options())}}
	for _, version := range []string{oldProtocol, newProtocol} {
		ways = append(ways, way{name: "in memory at " + version, call: inMemory(t, s, version)})
	}
	for _, w := range []*wire{stdioWire(t, s, oldProtocol), httpWire(t, s, oldProtocol)} {
		ways = append(ways, way{name: w.name, call: w.callTool, wire: w})
	}
	return ways
}

func directly(store convmem.Store, o *Options) func(testing.TB, string, string) *mcp.CallToolResult {
	return func(_ testing.TB, tool, args string) *mcp.CallToolResult {
		return Call(context.Background(), store, o, tool, json.RawMessage(args))
	}
}

// inMemory connects the SDK's client at a protocol version.
func inMemory(t testing.TB, s setting, version string) func(testing.TB, string, string) *mcp.CallToolResult {
	t.Helper()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := Connect(context.Background(), New(s.mustOpen(t), s.options()), serverSide, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), clientSide, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the client speaks %s, want %s", got, version)
	}
	return func(t testing.TB, tool, args string) *mcp.CallToolResult {
		t.Helper()
		params := &mcp.CallToolParams{Name: tool}
		if args != "" {
			params.Arguments = json.RawMessage(args)
		}
		result, err := session.CallTool(context.Background(), params)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

// stdioWire starts a child process that speaks a protocol version.
func stdioWire(t testing.TB, s setting, version string) *wire {
	t.Helper()
	h := startChild(t, s)
	if version == oldProtocol {
		h.handshake()
	}
	return &wire{"stdio", func(t testing.TB, frame string) string {
		t.Helper()
		go h.send(frame)
		line, err := h.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(line, "\n")
	}}
}

// httpWire starts an HTTP server. What a client at the new protocol says in
// headers is taken from the frame.
func httpWire(t testing.TB, s setting, version string) *wire {
	t.Helper()
	server := httptest.NewServer(Handler(s.mustOpen(t), &HTTPOptions{Options: *s.options()}))
	t.Cleanup(server.Close)
	return &wire{"HTTP", func(t testing.TB, frame string) string {
		t.Helper()
		_, body := post(t, server.URL, version, frame)
		return body
	}}
}

// post sends one frame over HTTP as a client does.
func post(t testing.TB, url, version, frame string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(frame))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Mcp-Protocol-Version", version)
	var said struct {
		Method string
		Params struct{ Name string }
	}
	if version == newProtocol && json.Unmarshal([]byte(frame), &said) == nil {
		request.Header.Set("Mcp-Method", said.Method)
		request.Header.Set("Mcp-Name", said.Params.Name)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// callFrame is a tool call as it is written at a protocol version. No arguments
// at all are "".
func callFrame(version string, id any, tool, args string) string {
	members := []string{`"name":` + quoted(tool)}
	if version == newProtocol {
		members = append([]string{newMeta}, members...)
	}
	if args != "" {
		members = append(members, `"arguments":`+args)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s}}`, quote(id), strings.Join(members, ","))
}

// frame is a call on one line. Between the values of valid JSON a line break is
// white space like any other; in what is no JSON, one control character is as
// bad as another.
func (w *wire) frame(tool, args string) string {
	return strings.ReplaceAll(callFrame(oldProtocol, 1, tool, args), "\n", "\r")
}

func (w *wire) callTool(t testing.TB, tool, args string) *mcp.CallToolResult {
	t.Helper()
	text := w.exchange(t, w.frame(tool, args))
	var response struct {
		ID     int
		Result *struct {
			Content           []*mcp.TextContent
			StructuredContent any
			IsError           bool
		}
	}
	if err := json.Unmarshal([]byte(text), &response); err != nil || response.ID != 1 || response.Result == nil {
		t.Fatalf("%s: %v in %.300s", w.name, err, text)
	}
	result := response.Result
	return &mcp.CallToolResult{
		Content:           list(result.Content, func(c *mcp.TextContent) mcp.Content { return c }),
		StructuredContent: result.StructuredContent, IsError: result.IsError,
	}
}

// text calls a tool and returns what every result must have.
func (w way) text(t testing.TB, tool, args string) string {
	t.Helper()
	return check(t, w.call(t, tool, args))
}

// notJSONAnswer is the answer to a frame that is no JSON.
const notJSONAnswer = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error: this is not one JSON value"}}`

// runRows calls a tool with each form of arguments in every way. Each must have
// the same result, byte for byte: the request that the form means, or an error.
func runRows(t *testing.T, rows []row) {
	t.Helper()
	ways := everyWay(t, setting{Store: "echo"})
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			want := ways[0].text(t, c.tool, c.args)
			c.check(t, want)
			form, sendable := c.sent(t, ways)
			if !sendable {
				return
			}
			for _, w := range ways {
				if text := w.text(t, c.tool, form); text != want {
					t.Errorf("%s (-want +got):\n%s", w.name, cmp.Diff(want, text))
				}
			}
		})
	}
	t.Logf("%d forms in %d ways", len(rows), len(ways))
}

// sent is the form in which a client can send the arguments. A frame with
// arguments that are no JSON is none itself, which those that take such frames
// must say; in a string they are what they were, unless they are no text.
func (c row) sent(t *testing.T, ways []way) (form string, sendable bool) {
	t.Helper()
	if c.args == "" || json.Valid([]byte(c.args)) {
		return c.args, true
	}
	for _, w := range ways {
		if w.wire == nil {
			continue
		}
		if answer := w.wire.exchange(t, w.wire.frame(c.tool, c.args)); answer != notJSONAnswer {
			t.Errorf("%s: %s", w.name, answer)
		}
	}
	return quoted(c.args), utf8.ValidString(c.args)
}

// check compares the text of a result with the request that the row wants, as a
// store of the type echo repeats it, or looks for the error that it wants.
func (c row) check(t *testing.T, text string) {
	t.Helper()
	if c.want != nil {
		repeated := echoError(c.want)
		if n := utf8.RuneCountInString(repeated.Message); n > maxErrorCharacters {
			t.Fatalf("the request takes %d characters, which an error cuts", n)
		}
		if diff := cmp.Diff(errorText(*repeated), text); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		return
	}
	var d errorDocument
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.Error.Code != convmem.CodeValidation || d.Error.Field != c.field {
		t.Errorf("code %s, field %q: %s", d.Error.Code, d.Error.Field, text)
	}
	if !strings.HasPrefix(d.Error.Message, c.field+": ") || !strings.Contains(d.Error.Message, c.says) || strings.Contains(text, secret) {
		t.Errorf("message: %s", text)
	}
}
