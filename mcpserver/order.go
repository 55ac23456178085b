package mcpserver

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Connect is [mcp.Server.Connect] for a server of [New] that keeps the order of
// the calls of this connection, as the package comment describes. It works for
// every transport that hands over requests in the order in which they were
// sent: pipes, sockets, the SDK's in-memory and command transports. Requests
// over HTTP have no order to keep.
//
// The order is that in which the transport's Read returned the requests. The
// SDK starts each call in a goroutine of its own and keeps no order itself.
func Connect(ctx context.Context, server *mcp.Server, t mcp.Transport, o *mcp.ServerSessionOptions) (*mcp.ServerSession, error) {
	l := &line{}
	return server.Connect(context.WithValue(ctx, lineKey{}, l), &orderedTransport{t, l}, o)
}

// lineKey is where the contexts of handlers hold the line of their connection.
type lineKey struct{}

// arrivalHeader is how a request tells its handler which turn it has. It never
// leaves the process.
const arrivalHeader = "Convmem-Arrival"

// line is the queue of the calls of one connection.
type line struct {
	mu    sync.Mutex
	next  int
	turns []*turn // of calls that are not finished, in order of arrival
}

// turn is the place of one call in its line. A nil turn is that of a call that
// stands in no line: it never waits.
type turn struct {
	line   *line
	number int
	// shared lets the call run beside others that are shared too. Until its
	// handler says so, nobody knows and it runs alone.
	shared bool
	open   bool
	start  chan struct{} // closed when open
}

// join puts a new call at the end of the line.
func (l *line) join() *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &turn{line: l, number: l.next, start: make(chan struct{})}
	l.next++
	l.turns = append(l.turns, t)
	l.advance()
	return t
}

// advance opens every turn that may run now: the first, and those that are
// shared as long as all before them are.
func (l *line) advance() {
	for i, t := range l.turns {
		if i > 0 && !t.shared {
			return
		}
		if !t.open {
			t.open = true
			close(t.start)
		}
		if !t.shared {
			return
		}
	}
}

// find returns the turn of a number, or nil when it has left.
func (l *line) find(number int) *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, found := slices.BinarySearchFunc(l.turns, number, func(t *turn, number int) int { return t.number - number })
	if !found {
		return nil
	}
	return l.turns[i]
}

// turnOf returns the turn of the call that a handler was started for.
func turnOf(ctx context.Context, extra *mcp.RequestExtra) *turn {
	l, ok := ctx.Value(lineKey{}).(*line)
	if !ok || extra == nil {
		return nil
	}
	number, err := strconv.Atoi(extra.Header.Get(arrivalHeader))
	if err != nil {
		return nil
	}
	return l.find(number)
}

// wait returns when it is the turn of the call, or with the error of a context
// that ended before.
func (t *turn) wait(ctx context.Context, shared bool) error {
	if t == nil {
		return nil
	}
	t.line.mu.Lock()
	t.shared = shared
	t.line.advance()
	t.line.mu.Unlock()
	select {
	case <-t.start:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave lets those behind go on. Leaving twice does no harm.
func (t *turn) leave() {
	if t == nil {
		return
	}
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	t.line.turns = slices.DeleteFunc(t.line.turns, func(other *turn) bool { return other == t })
	t.line.advance()
}

// standsInLine holds the methods that reach the store.
var standsInLine = map[string]bool{"tools/call": true, "resources/read": true}

// orderedTransport gives every call that reaches the store a turn when it
// arrives.
type orderedTransport struct {
	mcp.Transport
	line *line
}

func (t *orderedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &orderedConnection{Connection: inner, line: t.line, turns: map[jsonrpc.ID]*turn{}}, nil
}

// orderedConnection also ends turns whose handler never ran, such as that of
// an unknown tool: every call is answered, and the answer passes here.
type orderedConnection struct {
	mcp.Connection
	line  *line
	mu    sync.Mutex
	turns map[jsonrpc.ID]*turn
}

func (c *orderedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.IsCall() && standsInLine[r.Method] {
		c.stamp(r)
	}
	return m, err
}

// stamp gives a call its turn. One with the id of a call that still runs gets
// none: the SDK drops it without an answer that could end the turn.
func (c *orderedConnection) stamp(r *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.turns[r.ID]; taken {
		return
	}
	t := c.line.join()
	c.turns[r.ID] = t
	extra := &mcp.RequestExtra{}
	if given, ok := r.Extra.(*mcp.RequestExtra); ok && given != nil {
		*extra = *given
	}
	if extra.Header = extra.Header.Clone(); extra.Header == nil {
		extra.Header = http.Header{}
	}
	extra.Header.Set(arrivalHeader, strconv.Itoa(t.number))
	r.Extra = extra
}

func (c *orderedConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		t := c.turns[r.ID]
		delete(c.turns, r.ID)
		c.mu.Unlock()
		t.leave()
	}
	return c.Connection.Write(ctx, m)
}
