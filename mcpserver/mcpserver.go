// Package mcpserver offers any [convmem.Store] to language models as seven
// tools of the Model Context Protocol.
//
// [ServeStdio] is a whole server on standard input and output. [New] makes a
// server for any other transport of the SDK; connect it with [Connect], which
// keeps the order of calls. [Call] runs one tool without any transport.
//
// # Results
//
// A result is one text that holds a JSON document: what was asked for, or
// {"status":"ERROR","error":{"code":...,"message":...}} with isError set. Every
// fault in the arguments, unknown and misspelt names included, is such a
// document and never a protocol error, so that a model can read it and correct
// itself. Error texts name the argument and its limit; they never repeat
// content, and hold no path of a file.
//
// # Order
//
// On one connection calls act as if handled one after another in the order in
// which they arrived: changes are made in that order, and a read or a search
// sees every change that arrived before it and none that arrived after it.
// Reads that no change separates run side by side. See [Connect] for the
// transports that this holds for.
package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// DefaultMaxResultBytes is the size at which a result ends when
// [Options.MaxResultBytes] does not say otherwise.
const DefaultMaxResultBytes = 8 << 20

// Options are the choices of a server. nil and the zero value mean the
// defaults, which are safe.
type Options struct {
	// Logger gets failures and what the SDK reports. It never gets the content
	// of a message. nil discards.
	Logger *slog.Logger

	// Version is what the server calls its own version. "" means "dev".
	Version string

	// MaxResultBytes bounds the text of one result as it goes over the wire,
	// where it is JSON inside JSON: a quotation mark in a message counts four
	// bytes and a control character seven. A page of history or sessions ends
	// early and its cursor goes on; a context or a search leaves out
	// previews, neighbours and relations, then hits, and says truncated. The
	// first message or session is always there, however large. 0 or less
	// means DefaultMaxResultBytes. Hosts that refuse large results need far
	// less: 64 KiB suits most.
	MaxResultBytes int
}

// New returns an MCP server with the seven tools over store. It advertises no
// other capability. The store stays the caller's: nothing here closes it.
//
// Connect the server with [Connect]. Connected in any other way it works too,
// except that calls which a client sends without waiting for the answers may
// then overtake each other, because the SDK starts them all at once.
func New(store convmem.Store, o *Options) *mcp.Server {
	c := newCaller(store, o)
	version := "dev"
	if o != nil && o.Version != "" {
		version = o.Version
	}
	server := mcp.NewServer(
		&mcp.Implementation{Name: "convmem", Title: "Conversation memory", Version: version},
		&mcp.ServerOptions{
			Instructions: instructions,
			Logger:       c.logger,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
	for _, t := range tools {
		server.AddTool(t.definition(), c.handler(t))
	}
	return server
}

// Tools returns the definitions of the seven tools, in the order of the manual.
// They are the caller's to change.
func Tools() []*mcp.Tool {
	definitions := make([]*mcp.Tool, len(tools))
	for i, t := range tools {
		definitions[i] = t.definition()
	}
	return definitions
}

// Call runs one tool with arguments as they came over the wire and returns its
// result, which is never nil: failures, a panic of the store and an unknown
// tool name are results with IsError set. It knows nothing of the order of
// calls; [Connect] adds that.
func Call(ctx context.Context, store convmem.Store, o *Options, tool string, args json.RawMessage) *mcp.CallToolResult {
	c := newCaller(store, o)
	for _, t := range tools {
		if t.name == tool {
			return c.call(ctx, t, args)
		}
	}
	return c.failure(ctx, tool, invalid("tool", "unknown tool"))
}

// caller is what every call needs beside its arguments.
type caller struct {
	store  convmem.Store
	logger *slog.Logger
	budget int // bytes of a result's text on the wire
}

func newCaller(store convmem.Store, o *Options) caller {
	c := caller{store: store, logger: slog.New(slog.DiscardHandler), budget: DefaultMaxResultBytes}
	if o != nil && o.Logger != nil {
		c.logger = o.Logger
	}
	if o != nil && o.MaxResultBytes > 0 {
		c.budget = o.MaxResultBytes
	}
	return c
}

// handler is t as the SDK wants it. It never returns nil or an error: the SDK
// would crash over the first and turn the second into a protocol error.
func (c caller) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		turn := turnOf(ctx, r.Extra)
		defer turn.leave()
		if err := turn.wait(ctx, t.readOnly); err != nil {
			return c.failure(ctx, t.name, err), nil
		}
		return c.call(ctx, t, r.Params.Arguments), nil
	}
}

// call runs a tool and makes a result of whatever happens.
func (c caller) call(ctx context.Context, t tool, raw json.RawMessage) (result *mcp.CallToolResult) {
	defer func() {
		if cause := recover(); cause != nil {
			result = c.panicked(ctx, t.name, cause)
		}
	}()
	text, err := c.run(ctx, t, raw)
	if err != nil {
		return c.failure(ctx, t.name, err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func (c caller) run(ctx context.Context, t tool, raw json.RawMessage) (string, error) {
	given, err := t.decode(raw)
	if err != nil {
		return "", err
	}
	return t.call(ctx, c, given)
}
