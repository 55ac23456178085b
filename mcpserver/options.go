package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"example.com/convmem"
)

const (
	// DefaultMaxResultBytes is the size at which a result ends when
	// [Options.MaxResultBytes] does not say otherwise.
	DefaultMaxResultBytes = 8 << 20

	// DefaultMaxConcurrentCalls is how many calls run at once when
	// [Options.MaxConcurrentCalls] does not say otherwise.
	DefaultMaxConcurrentCalls = 16
)

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

	// MaxConcurrentCalls bounds the calls of one server, over all its
	// connections, that are in a store at a time, and with them the memory that
	// results take. Others wait; none is refused. A store that hangs keeps its
	// places. 0 or less means DefaultMaxConcurrentCalls. [Call] runs at once,
	// and does not count.
	MaxConcurrentCalls int

	// ReadOnly offers only the tools that change nothing: read_messages,
	// search_messages and get_system_health.
	ReadOnly bool

	// Tools are the names of the tools that are offered, nil for all. With
	// ReadOnly only those of them that change nothing are. A name that no tool
	// has is a mistake that [New] and [Handler] panic over and [ServeStdio]
	// returns: a misspelt list must not pass for a shorter one.
	Tools []string

	// Resources also offers each session as a resource with the address
	// convmem://session/{id}, id percent-encoded. Its text is what
	// read_messages answers for the session's history. Few hosts read
	// resources, so the tools stay the way to everything.
	Resources bool

	// OnCall is told of every call of a tool that is offered, and of every
	// resource that is read, after it and with nothing of what it said. It
	// is called from many goroutines at once and delays the answer; a panic in
	// it is logged and dropped. The context is that of the call. nil: nobody
	// is told.
	OnCall func(context.Context, CallInfo)
}

// CallInfo is what an observer learns about a call.
type CallInfo struct {
	Tool string       // its name, or "resources/read"
	Code convmem.Code // of the error that was answered; "" when there was none
	// Waited is the time behind other calls of its connection, Duration the time
	// after that.
	Waited, Duration time.Duration
	// ArgumentBytes and ResultBytes are the lengths of the arguments as they
	// came and of the result's text.
	ArgumentBytes, ResultBytes int
}

// choose returns the tools that o offers.
func choose(o *Options) ([]tool, error) {
	for _, name := range o.Tools {
		if !slices.Contains(ToolNames(), name) {
			return nil, fmt.Errorf("mcpserver: Options.Tools has %q, which is none of %s", name, strings.Join(ToolNames(), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t tool) bool {
		return o.ReadOnly && !t.readOnly || o.Tools != nil && !slices.Contains(o.Tools, t.name)
	}), nil
}

// ToolNames returns the names of the seven tools, in the order of the manual.
func ToolNames() []string { return namesOf(tools) }

func namesOf(tools []tool) []string {
	return list(tools, func(t tool) string { return t.name })
}
