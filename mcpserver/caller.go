package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// storeFor finds the store of a call.
type storeFor func(context.Context) (convmem.Store, error)

// oneStore is the storeFor of a server that has one store.
func oneStore(store convmem.Store) storeFor {
	return func(context.Context) (convmem.Store, error) { return store, nil }
}

// caller is what every call needs beside its arguments: a store and the options
// of the server, with the defaults filled in.
type caller struct {
	storeFor  storeFor
	store     convmem.Store // set while a call runs
	tools     []tool        // those that are offered
	resources bool
	version   string
	logger    *slog.Logger
	budget    int           // bytes of a result's text on the wire
	slots     chan struct{} // has room for every call that may run at once
	onCall    func(context.Context, CallInfo)
}

func newCaller(store storeFor, o *Options) (caller, error) {
	if o == nil {
		o = &Options{}
	}
	offered, err := choose(o)
	if err != nil {
		return caller{}, err
	}
	c := caller{
		storeFor: store, tools: offered, resources: o.Resources, version: o.Version,
		logger: loggerOf(o), budget: DefaultMaxResultBytes, onCall: o.OnCall,
	}
	if c.version == "" {
		c.version = "dev"
	}
	if o.MaxResultBytes > 0 {
		c.budget = o.MaxResultBytes
	}
	slots := DefaultMaxConcurrentCalls
	if o.MaxConcurrentCalls > 0 {
		slots = o.MaxConcurrentCalls
	}
	c.slots = make(chan struct{}, slots)
	return c, nil
}

// handler is t as the SDK wants it. It never returns nil or an error: the SDK
// would crash over the first and turn the second into a protocol error.
func (c caller) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		turn := turnOf(ctx, r.Extra)
		defer turn.leave()
		return newResult(c.call(ctx, t, r.Params.Arguments, func() error { return turn.wait(ctx, t.readOnly) })), nil
	}
}

// place waits until one more call may run. leave, which is never nil, ends it.
func (c caller) place(ctx context.Context) (leave func(), err error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
	return func() { <-c.slots }, ctx.Err() // both may have been ready
}

// atOnce is the entrance for calls that wait for nothing.
func atOnce() error { return nil }

// call runs a tool once enter lets it and tells the observers. It returns the
// text of the result, whatever happens, and the code of the error in it.
func (c caller) call(ctx context.Context, t tool, raw json.RawMessage, enter func() error) (text string, code convmem.Code) {
	arrived := time.Now()
	err := enter()
	started := time.Now()
	text, code = c.answer(ctx, t, raw, err)
	c.tell(ctx, CallInfo{
		Tool: t.name, Code: code, Waited: started.Sub(arrived), Duration: time.Since(started),
		ArgumentBytes: len(raw), ResultBytes: len(text),
	})
	return text, code
}

// answer runs a tool, unless the call could not enter. It does so in a goroutine
// of its own: a store may end that, as a test does that fails, and the client must
// be answered all the same.
func (c caller) answer(ctx context.Context, t tool, raw json.RawMessage, entered error) (text string, code convmem.Code) {
	if entered != nil {
		return c.failed(ctx, t.name, entered)
	}
	ended, returned := make(chan struct{}), false
	go func() {
		defer close(ended)
		defer func() {
			if !returned {
				text, code = c.panicked(ctx, t.name, recover())
			}
		}()
		text, code = c.attempt(ctx, t, raw)
		returned = true
	}()
	<-ended
	return text, code
}

// attempt runs a tool that may panic.
func (c caller) attempt(ctx context.Context, t tool, raw json.RawMessage) (string, convmem.Code) {
	text, err := c.run(ctx, t, raw)
	if err != nil {
		return c.failed(ctx, t.name, err)
	}
	return text, ""
}

func (c caller) run(ctx context.Context, t tool, raw json.RawMessage) (string, error) {
	given, err := t.decode(raw)
	if err != nil {
		return "", err
	}
	if c.store, err = c.storeFor(ctx); err != nil {
		return "", err
	}
	if c.store == nil {
		return "", errors.New("the host found neither a store nor an error")
	}
	leave, err := c.place(ctx) // only now: finding one store must not keep others waiting
	defer leave()
	if err != nil {
		return "", err
	}
	return t.call(ctx, c, given)
}

func newResult(text string, code convmem.Code) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: code != "", Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// tell reports a call to the log and to the observer, which must not bring the
// server down.
func (c caller) tell(ctx context.Context, i CallInfo) {
	c.logger.DebugContext(ctx, "tool call", "tool", i.Tool, "code", i.Code, "waited", i.Waited, "duration", i.Duration,
		"argument_bytes", i.ArgumentBytes, "result_bytes", i.ResultBytes)
	if c.onCall == nil {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			c.logger.ErrorContext(ctx, "the observer of calls panicked", "reason", reasonOf(cause), "stack", string(debug.Stack()))
		}
	}()
	c.onCall(ctx, i)
}
