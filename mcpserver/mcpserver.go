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
	"strings"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// New returns an MCP server with the tools over store that o asks for. It
// advertises no other capability than those. The store stays the caller's:
// nothing here closes it. New panics over a tool that does not exist in
// [Options.Tools].
//
// Connect the server with [Connect]. Connected in any other way it works too,
// except that calls which a client sends without waiting for the answers may
// then overtake each other, because the SDK starts them all at once.
func New(store convmem.Store, o *Options) *mcp.Server {
	server, err := newServer(oneStore(store), o)
	if err != nil {
		panic(err)
	}
	return server
}

func newServer(store storeFor, o *Options) (*mcp.Server, error) {
	c, err := newCaller(store, o)
	if err != nil {
		return nil, err
	}
	implementation := &mcp.Implementation{Name: "convmem", Title: "Conversation memory", Version: c.version}
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if c.resources {
		capabilities.Resources = &mcp.ResourceCapabilities{}
	}
	server := mcp.NewServer(implementation, &mcp.ServerOptions{Instructions: instructions, Logger: quiet(c.logger), Capabilities: capabilities})
	for _, t := range c.tools {
		server.AddTool(t.definition(), c.handler(t))
	}
	if c.resources {
		server.AddResourceTemplate(sessionTemplate(), c.readResource)
	}
	server.AddReceivingMiddleware(soundErrors)
	return server, nil
}

// Tools returns the definitions of the seven tools, in the order of the manual.
// They are the caller's to change.
func Tools() []*mcp.Tool {
	return list(tools, tool.definition)
}

// Call runs one tool with arguments as they came over the wire and returns its
// result, which is never nil: failures, a panic of the store and the name of a
// tool that o does not offer are results with IsError set. It runs at once and
// knows nothing of the order of calls; [Connect] adds that.
func Call(ctx context.Context, store convmem.Store, o *Options, tool string, args json.RawMessage) *mcp.CallToolResult {
	c, err := newCaller(oneStore(store), o)
	if err != nil {
		return newResult(errorText(explain(err)), convmem.CodeInternal)
	}
	for _, t := range c.tools {
		if t.name == tool {
			return newResult(c.call(ctx, t, args, atOnce))
		}
	}
	unknown := invalid("tool", "this server has no such tool, it has %s", strings.Join(namesOf(c.tools), ", "))
	return newResult(errorText(explain(unknown)), convmem.CodeValidation)
}
