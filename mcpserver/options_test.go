package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// offered lists the tools of a server as a host sees them.
func offered(t testing.TB, d dialect, o *Options) (names []string) {
	t.Helper()
	session := d.session(t, New(newModel(), o))
	result, err := session.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestOfferedTools(t *testing.T) {
	reading := []string{"read_messages", "search_messages", "get_system_health"}
	for _, c := range []struct {
		name string
		o    *Options
		want []string
	}{
		{"no options", nil, ToolNames()},
		{"the zero value", &Options{}, ToolNames()},
		{"read only", &Options{ReadOnly: true}, reading},
		{"some", &Options{Tools: []string{"search_messages", "write_message"}}, []string{"write_message", "search_messages"}},
		{"one, twice", &Options{Tools: []string{"rebuild_index", "rebuild_index"}}, []string{"rebuild_index"}},
		{"none", &Options{Tools: []string{}}, nil},
		{"some, read only", &Options{ReadOnly: true, Tools: []string{"write_message", "search_messages"}}, []string{"search_messages"}},
		{"none that reads", &Options{ReadOnly: true, Tools: []string{"write_message"}}, nil},
	} {
		for _, d := range dialects {
			t.Run(c.name+"/"+d.name, func(t *testing.T) {
				got, want := offered(t, d, c.o), slices.Sorted(slices.Values(c.want))
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("offered are %q, want %q", got, want)
				}
			})
		}
	}
}

// TestToolsThatAreNotOffered calls them all the same. The host hears that there
// is no such tool, and nothing is done.
func TestToolsThatAreNotOffered(t *testing.T) {
	for name, o := range map[string]*Options{"read only": {ReadOnly: true}, "a list": {Tools: []string{"get_system_health"}}, "an empty list": {Tools: []string{}}} {
		for _, d := range dialects {
			t.Run(name+"/"+d.name, func(t *testing.T) {
				store := newModel()
				h, s := d.start(t, store, o), newSite(t, Handler(store, &HTTPOptions{Options: *o}))
				for _, c := range everyTool {
					if o.ReadOnly && slices.Contains([]string{"read_messages", "search_messages", "get_system_health"}, c.tool) || slices.Contains(o.Tools, c.tool) {
						continue
					}
					h.send(d.call(c.tool, c.tool, c.args))
					for where, r := range map[string]reply{"stdio": h.next(), "HTTP": s.call(d, c.tool, c.args).reply} {
						if r.Error.Code != -32602 || !strings.Contains(r.Error.Message, c.tool) || strings.Contains(r.Error.Message, secret) {
							t.Errorf("%s over %s: %+v", c.tool, where, r)
						}
					}
					if text := call(t, store, o, c.tool, c.args); !strings.Contains(text, `"VALIDATION_ERROR"`) {
						t.Errorf("%s by Call: %s", c.tool, text)
					}
				}
				if health, err := store.Health(t.Context(), convmem.HealthRequest{}); err != nil || health.LastSequence != 0 {
					t.Errorf("something was stored: %+v, %v", health, err)
				}
			})
		}
	}
}

// panicOf returns what a function panics with, or nil.
func panicOf(do func()) (cause any) {
	defer func() { cause = recover() }()
	do()
	return nil
}

func TestUnknownToolInTheList(t *testing.T) {
	for _, name := range []string{"search_message", "Write_Message", "", "resources/read"} {
		o := Options{Tools: []string{"write_message", name}}
		for where, cause := range map[string]any{
			"New":     panicOf(func() { New(newModel(), &o) }),
			"Handler": panicOf(func() { Handler(newModel(), &HTTPOptions{Options: o}) }),
			"serve":   ServeStdio(t.Context(), newModel(), &o),
		} {
			if cause == nil || !strings.Contains(fmt.Sprint(cause), fmt.Sprintf("%q", name)) || !strings.Contains(fmt.Sprint(cause), "search_messages") {
				t.Errorf("%s of %q: %v", where, name, cause)
			}
		}
		if text := call(t, newModel(), &o, "get_system_health", `{}`); !strings.Contains(text, `"status":"ERROR"`) {
			t.Errorf("Call with %q: %s", name, text)
		}
	}
}

// observer collects what OnCall is told.
type observer struct {
	mu    sync.Mutex
	calls []CallInfo
}

func (o *observer) see(_ context.Context, i CallInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, i)
}

// take returns what came since it was last asked.
func (o *observer) take() []CallInfo {
	o.mu.Lock()
	defer o.mu.Unlock()
	calls := o.calls
	o.calls = nil
	return calls
}

// TestOnCall compares what an observer is told with what went over the route.
func TestOnCall(t *testing.T) {
	for _, w := range append(routes()[:3], route{"Call", func(t testing.TB, store convmem.Store, o *Options) toolCaller {
		return direct(store, o).call
	}}) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var seen observer
			store := newMoody()
			ask := w.open(t, store, &Options{OnCall: seen.see})
			faults := slices.DeleteFunc(storeFaults(), func(f storeFault) bool { return f.name != string(f.code) && f.name != "nil pointer" })
			faults = append(faults, storeFault{name: "well"})
			for _, f := range faults {
				for _, c := range everyTool {
					if f.fail != nil {
						store.next.Store(&f.fail)
					}
					result, err := ask(c.tool, c.args)
					if err != nil {
						t.Fatal(err)
					}
					want := CallInfo{Tool: c.tool, Code: f.code, ArgumentBytes: len(c.args), ResultBytes: len(textOf(result))}
					checkInfo(t, f.name, seen.take(), want)
				}
			}
			result, err := ask("write_message", `{"content":5}`)
			if err != nil {
				t.Fatal(err)
			}
			checkInfo(t, "a wrong argument", seen.take(), CallInfo{Tool: "write_message", Code: convmem.CodeValidation, ArgumentBytes: 13, ResultBytes: len(textOf(result))})
		})
	}
}

// checkInfo compares what an observer was told with one call, apart from times.
func checkInfo(t testing.TB, what string, got []CallInfo, want CallInfo) {
	t.Helper()
	if len(got) != 1 {
		t.Fatalf("%s, %s: the observer was told %d times", what, want.Tool, len(got))
	}
	if got[0].Waited < 0 || got[0].Duration < 0 {
		t.Errorf("%s, %s: waited %v, lasted %v", what, want.Tool, got[0].Waited, got[0].Duration)
	}
	got[0].Waited, got[0].Duration = 0, 0
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("%s, %s (-want +got):\n%s", what, want.Tool, diff)
	}
}

func (s remoteStore) call(tool, args string) (*mcp.CallToolResult, error) {
	return s.callTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
}

// TestOnCallWaiting measures a call that has to wait for another by the order in
// which both end.
func TestOnCallWaiting(t *testing.T) {
	var seen observer
	g := newGate(newModel())
	h := start(t, g, &Options{OnCall: seen.see})
	h.send(writeCall(1, "s", "first"))
	<-g.entered
	h.send(writeCall(2, "s", "second"), `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	if r := h.next(); r.ID != 3.0 {
		t.Errorf("%+v", r)
	}
	g.open <- struct{}{}
	<-g.entered
	g.open <- struct{}{}
	h.collect(2)
	calls := seen.take()
	if len(calls) != 2 || calls[0].Waited > calls[0].Duration+calls[1].Waited || calls[1].Waited <= 0 || calls[0].Duration <= 0 {
		t.Errorf("%+v", calls)
	}
}

// TestOnCallPanics has an observer that panics. The calls are answered.
func TestOnCallPanics(t *testing.T) {
	for _, w := range routes() {
		t.Run(w.name, func(t *testing.T) {
			var log logBuffer
			ask := w.open(t, newModel(), &Options{
				OnCall: func(context.Context, CallInfo) { panic(secret) }, MaxConcurrentCalls: 1,
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			for range 3 {
				if result, err := ask("get_system_health", `{}`); err != nil || result.IsError {
					t.Fatalf("%v, %v", result, err)
				}
			}
			if text := log.String(); strings.Count(text, "panicked") != 3 || strings.Contains(text, secret) {
				t.Errorf("the log: %s", text)
			}
		})
	}
}

// TestLogsHoldNoContent does everything that a log could tell of, at the level
// that tells most, and looks for what nobody but the store may keep.
func TestLogsHoldNoContent(t *testing.T) {
	const token = "token-nobody-may-see"
	var log logBuffer
	o := Options{Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Resources: true, MaxResultBytes: 300}
	store := newModel()
	site := newSite(t, Handler(store, &HTTPOptions{Options: o, Tokens: map[string]string{token: "ann", token + "2": "ben"}}))
	other := newSite(t, Handler(nil, &HTTPOptions{
		Options: o,
		Verifier: func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
			return nil, fmt.Errorf("%w: expired", auth.ErrInvalidToken)
		},
		StoreFor: func(context.Context) (convmem.Store, error) { return store, nil },
	}))
	calls := slices.Clone(everyTool)
	for _, args := range []string{
		writeArgs(`,"conten":"` + secret + `"`), writeArgs(`,"content":"` + secret + `"`), `{"` + secret, `"` + secret + `"`, `["` + secret + `"]`,
		metadataArgs(quoted(secret)), metadataArgs(`{"tags":"` + secret + `"}`), metadataArgs(`{"relations":[{"type":"` + secret + `"}]}`),
	} {
		calls = append(calls, struct{ tool, args string }{"write_message", args})
	}
	calls = append(calls, struct{ tool, args string }{"no_such_tool", `{"content":"` + secret + `"}`})
	for _, d := range dialects {
		h := d.start(t, store, &o)
		for _, c := range calls {
			h.send(d.call(1, c.tool, c.args))
			h.next()
			site.call(d, c.tool, c.args, "Authorization", "Bearer "+token)
			site.call(d, c.tool, c.args, "Authorization", "Bearer "+token+"3")
			site.call(d, c.tool, c.args, "Authorization", token, "X-Request-Id", token+" "+secret)
			other.call(d, c.tool, c.args, "Authorization", "Bearer "+token)
		}
		for _, line := range []string{secret, `{"content":"` + secret + `"}`, `{"jsonrpc":"2.0","id":1,"method":"` + secret + `"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":"` + secret + `"}`} {
			h.send(line)
			h.next()
			site.post(line, "Authorization", "Bearer "+token)
		}
		h.endInput()
		if err := h.end(); err != nil {
			t.Error(err)
		}
	}
	text := log.String()
	for _, word := range []string{secret, token} {
		if i := strings.Index(text, word); i >= 0 {
			t.Errorf("the log holds %q: %s", word, text[max(0, i-300):min(len(text), i+100)])
		}
	}
	records := strings.Count(text, "\n")
	t.Logf("%d records, %d bytes", records, len(text))
	if records < 100 || !strings.Contains(text, `"tool call"`) {
		t.Error("hardly anything was logged")
	}
}
