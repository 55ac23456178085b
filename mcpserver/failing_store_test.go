package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// route is one way to call tools of a server: a transport and a revision of the
// protocol. call returns the text of the result.
type route struct {
	name string
	open func(t testing.TB, store convmem.Store, o *Options) (call func(tool, args string) (*mcp.CallToolResult, error))
}

func routes() (all []route) {
	for _, d := range dialects {
		all = append(all, route{"stdio at " + d.name, d.openStdio}, route{"in memory at " + d.name, d.openMemory}, route{"HTTP at " + d.name, d.openHTTP})
	}
	return all
}

type toolCaller = func(tool, args string) (*mcp.CallToolResult, error)

func (d dialect) openStdio(t testing.TB, store convmem.Store, o *Options) toolCaller {
	h := d.start(t, store, o)
	id := 0
	return func(tool, args string) (*mcp.CallToolResult, error) {
		id++
		if _, err := io.WriteString(h.in, d.call(id, tool, args)+"\n"); err != nil {
			return nil, err
		}
		r, err := h.read()
		if err != nil || r.ID != float64(id) || r.Error.Code != 0 {
			return nil, fmt.Errorf("call %d: %+v, %w", id, r, err)
		}
		return r.result(), nil
	}
}

// result is the result in a reply as the SDK would decode it.
func (r reply) result() *mcp.CallToolResult {
	result := &mcp.CallToolResult{IsError: r.Result.IsError}
	for _, c := range r.Result.Content {
		result.Content = append(result.Content, &mcp.TextContent{Text: c.Text})
	}
	return result
}

func (d dialect) openMemory(t testing.TB, store convmem.Store, o *Options) toolCaller {
	return d.connect(t, New(store, o))
}

// connect connects a client of the SDK to a server.
func (d dialect) connect(t testing.TB, server *mcp.Server) toolCaller {
	t.Helper()
	session := d.session(t, server)
	return func(tool, args string) (*mcp.CallToolResult, error) {
		return session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	}
}

func (d dialect) session(t testing.TB, server *mcp.Server) *mcp.ClientSession {
	t.Helper()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := Connect(context.Background(), server, serverSide, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), clientSide, &mcp.ClientSessionOptions{ProtocolVersion: d.name})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != d.name {
		t.Fatalf("the revision is %s, want %s", got, d.name)
	}
	return session
}

func (d dialect) openHTTP(t testing.TB, store convmem.Store, o *Options) toolCaller {
	var h HTTPOptions
	if o != nil {
		h.Options = *o
	}
	s := newSite(t, Handler(store, &h))
	return func(tool, args string) (*mcp.CallToolResult, error) {
		r := s.call(d, tool, args)
		if r.status != 200 || r.reply.Error.Code != 0 {
			return nil, fmt.Errorf("status %d: %s", r.status, r.body)
		}
		return r.reply.result(), nil
	}
}

// everyTool are arguments with which each tool reaches the store.
var everyTool = []struct{ tool, args string }{
	{"write_message", writeArgs(`,"metadata_json":{"tags":["` + secret + `"],"summary":"` + secret + `"}`)},
	{"update_message", `{"message_id":"` + idA + `","content":"` + secret + `"}`},
	{"read_messages", `{"session_id":"s"}`},
	{"read_messages", `{"view":"context","message_id":"` + idA + `"}`},
	{"read_messages", `{"view":"sessions"}`},
	{"search_messages", `{"query":"` + secret + `"}`},
	{"delete_message", `{"message_id":"` + idA + `"}`},
	{"rebuild_index", `{}`},
	{"get_system_health", `{}`},
}

// hostile is an error that panics whatever it is asked. It carries a path and a
// secret all the same.
type hostile struct{ path string }

func (hostile) Error() string        { panic("/home/somebody/" + secret) }
func (hostile) Unwrap() error        { panic(secret) }
func (hostile) Is(error) bool        { panic(secret) }
func (hostile) As(any) bool          { panic(secret) }
func (hostile) LogValue() slog.Value { panic(secret) }

// silent is an error that only panics when it is asked what it says.
type silent struct{}

func (silent) Error() string { panic(secret) }

// storeFault is a way in which a store fails, and the code that the caller sees.
type storeFault struct {
	name string
	fail func() error
	code convmem.Code
}

func noMap() map[string]int { return nil }

func returning(err error) func() error { return func() error { return err } }

// leaky is an error that no store made, with what no caller may see.
func leaky() error {
	return &fs.PathError{Op: "open", Path: "/home/somebody/" + secret, Err: fmt.Errorf("%T: %w", hostile{}, fs.ErrPermission)}
}

func storeFaults() []storeFault {
	faults := []storeFault{
		{"panic with a text", func() error { panic("/home/somebody/" + secret) }, convmem.CodeInternal},
		{"panic with an error", func() error { panic(leaky()) }, convmem.CodeInternal},
		{"panic with a coded error", func() error { panic(&convmem.Error{Code: convmem.CodeBusy, Message: secret}) }, convmem.CodeInternal},
		{"panic with nil", func() error { panic(nil) }, convmem.CodeInternal},
		{"panic with an error that panics", func() error { panic(hostile{}) }, convmem.CodeInternal},
		{"write to a nil map", func() error { noMap()[secret] = 1; return nil }, convmem.CodeInternal},
		{"nil pointer", func() error { var m *convmem.Message; return errors.New(m.Content) }, convmem.CodeInternal},
		{"index out of range", func() error { return []error{}[len(secret)] }, convmem.CodeInternal},
		{"an error of its own", returning(leaky()), convmem.CodeInternal},
		{"an error that panics", returning(hostile{"/home/somebody"}), convmem.CodeInternal},
		{"an error that has no words", returning(silent{}), convmem.CodeInternal},
		{"a nil error value", returning((*convmem.Error)(nil)), convmem.CodeInternal},
		{"a nil error value, wrapped", returning(fmt.Errorf("wrapped: %w", (*convmem.Error)(nil))), convmem.CodeInternal},
		{"the zero error", returning(&convmem.Error{}), convmem.CodeInternal},
		{"cancelled", returning(context.Canceled), convmem.CodeBusy},
		{"out of time", returning(fmt.Errorf("%s: %w", secret, context.DeadlineExceeded)), convmem.CodeBusy},
		{"several errors", returning(errors.Join(leaky(), &convmem.Error{Code: convmem.CodeIO, Message: "disk full"})), convmem.CodeIO},
		{"far too long", returning(&convmem.Error{Code: convmem.CodeIO, Field: strings.Repeat("f", 5000), Message: strings.Repeat("漢\xff", 5000)}), convmem.CodeIO},
	}
	for _, code := range []convmem.Code{
		convmem.CodeValidation, convmem.CodeNotFound, convmem.CodeConflict, convmem.CodeBusy, convmem.CodeIO, convmem.CodeCorrupt, convmem.CodeInternal,
	} {
		coded := &convmem.Error{Op: "write", Code: code, Message: "that went wrong", Err: leaky()}
		silent := &convmem.Error{Code: code, Err: leaky()}
		faults = append(faults,
			storeFault{string(code), returning(coded), code},
			storeFault{string(code) + ", wrapped", returning(fmt.Errorf("%s: %w", secret, coded)), code},
			storeFault{string(code) + ", without words", returning(silent), code})
	}
	return faults
}

// moody is a Store that fails on demand and is well otherwise.
type moody struct {
	*fake
	next atomic.Pointer[func() error]
}

// newMoody answers every call with something.
func newMoody() *moody {
	m := &moody{fake: &fake{
		write: convmem.WriteResult{Message: plainMessage()}, update: convmem.UpdateResult{Message: plainMessage()},
		read: convmem.ReadResult{
			History: &convmem.HistoryResult{}, Context: &convmem.ContextResult{Message: plainMessage()}, Sessions: &convmem.SessionsResult{},
		},
	}}
	m.fail = func(context.Context) error {
		if fail := m.next.Swap(nil); fail != nil {
			return (*fail)()
		}
		return nil
	}
	return m
}

// revealing is what no answer may hold: content, paths, types and places of Go.
var revealing = []string{secret, "somebody", "/", "mcpserver.", "convmem.", "fs.", "*", "runtime", "goroutine", "panic", "nil", "hostile", "wrapped"}

// TestFailingStore lets every tool of a store fail in every way, one after
// another over the same connection, and over every route.
func TestFailingStore(t *testing.T) {
	for _, w := range routes() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			store := newMoody()
			ask := w.open(t, store, nil)
			faults := storeFaults()
			for _, f := range faults {
				for _, c := range everyTool {
					store.next.Store(&f.fail)
					result, err := ask(c.tool, c.args)
					if err != nil {
						t.Fatalf("%s, %s: %v", f.name, c.tool, err)
					}
					checkFailure(t, f.name+", "+c.tool, result, f.code)
				}
				if result, err := ask("search_messages", searching); err != nil || result.IsError {
					t.Fatalf("the call after %s: %v, %v", f.name, result, err)
				}
			}
			t.Logf("%d ways to fail, %d calls each", len(faults), len(everyTool))
		})
	}
}

// checkFailure holds an error to the contract.
func checkFailure(t testing.TB, what string, result *mcp.CallToolResult, code convmem.Code) {
	t.Helper()
	text := check(t, result)
	var d struct {
		Status string
		Error  struct {
			Code    convmem.Code
			Message string
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Status != "ERROR" || d.Error.Code != code || d.Error.Message == "" {
		t.Errorf("%s: %s, want %s", what, text, code)
	}
	for _, word := range revealing {
		if strings.Contains(text, word) {
			t.Errorf("%s: the answer says %q: %s", what, word, text)
		}
	}
}

// TestNothingInside has a store whose results are empty where something must be,
// or hold what no JSON can.
func TestNothingInside(t *testing.T) {
	broken := plainMessage()
	broken.Content, broken.SessionID, broken.Metadata.Tags = "\xff\xed\xa0\x80", "\xfe", []string{"\xff"}
	for _, c := range []struct {
		name  string
		store *fake
		fails map[string]bool // by tool or view; others answer
	}{
		{"zero values", &fake{}, map[string]bool{"history": true, "context": true, "sessions": true}},
		{"the wrong view", &fake{read: convmem.ReadResult{Sessions: &convmem.SessionsResult{}}}, map[string]bool{"history": true, "context": true}},
		{"empty views", &fake{read: convmem.ReadResult{History: &convmem.HistoryResult{}, Context: &convmem.ContextResult{}, Sessions: &convmem.SessionsResult{}}}, nil},
		{"empty items", &fake{
			read: convmem.ReadResult{
				History:  &convmem.HistoryResult{Messages: make([]convmem.Message, 2)},
				Context:  &convmem.ContextResult{Before: make([]convmem.Message, 1), Relations: make([]convmem.RelatedMessage, 1)},
				Sessions: &convmem.SessionsResult{Sessions: make([]convmem.SessionInfo, 1)},
			},
			search: convmem.SearchResult{Hits: make([]convmem.Hit, 2)},
		}, nil},
		{"no UTF-8", &fake{
			write: convmem.WriteResult{Message: broken}, update: convmem.UpdateResult{Message: broken},
			read: convmem.ReadResult{
				History: &convmem.HistoryResult{Messages: []convmem.Message{broken}}, Context: &convmem.ContextResult{Message: broken},
				Sessions: &convmem.SessionsResult{Sessions: []convmem.SessionInfo{{SessionID: "\xff", RepresentativeSummary: "\xff"}}},
			},
			search: convmem.SearchResult{Hits: []convmem.Hit{{Message: broken}}},
			health: convmem.HealthResult{LastError: "\xff"},
		}, nil},
	} {
		for _, w := range routes() {
			t.Run(c.name+"/"+w.name, func(t *testing.T) {
				ask := w.open(t, c.store, nil)
				for _, e := range everyTool {
					view := decodeAs[struct{ View string }](t, e.args).View
					if e.tool == "read_messages" && view == "" {
						view = viewHistory
					}
					result, err := ask(e.tool, e.args)
					switch {
					case err != nil:
						t.Fatalf("%s %s: %v", e.tool, view, err)
					case c.fails[view]:
						checkFailure(t, e.tool+" "+view, result, convmem.CodeInternal)
					case strings.Contains(check(t, result), `"status":"ERROR"`), strings.Contains(textOf(result), ":null"):
						t.Errorf("%s %s: %s", e.tool, view, textOf(result))
					}
				}
			})
		}
	}
}

// TestStoreThatEndsItsGoroutine calls runtime.Goexit inside the store, as
// testing.T.FailNow does. The call is answered, its place is free again.
func TestStoreThatEndsItsGoroutine(t *testing.T) {
	exit := func() error { runtime.Goexit(); return nil }
	for _, w := range routes() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			store := newMoody()
			ask := w.open(t, store, &Options{MaxConcurrentCalls: 1})
			for _, c := range everyTool[:3] {
				store.next.Store(&exit)
				result, err := answerOrGiveUp(t, ask, c.tool, c.args)
				if err != nil {
					t.Fatalf("%s: %v", c.tool, err)
				}
				checkFailure(t, c.tool, result, convmem.CodeInternal)
				if result, err := answerOrGiveUp(t, ask, c.tool, c.args); err != nil || result.IsError {
					t.Fatalf("the call after %s: %v", c.tool, err)
				}
			}
		})
	}
}

// answerOrGiveUp keeps a test from hanging where an answer never comes.
func answerOrGiveUp(t testing.TB, ask toolCaller, tool, args string) (result *mcp.CallToolResult, err error) {
	t.Helper()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		result, err = ask(tool, args)
	}()
	select {
	case <-answered:
		return result, err
	case <-time.After(5 * time.Second):
		t.Fatalf("%s: no answer", tool)
		return nil, nil
	}
}
