package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// host is the other end of a server on pipes. It writes lines as they are.
type host struct {
	testing.TB
	in    io.WriteCloser
	out   *bufio.Reader
	stop  context.CancelFunc
	ended chan error // gets what serve returned
}

// start serves store and shakes hands.
func start(t testing.TB, store convmem.Store, o *Options) *host {
	h := startSilent(t, store, o)
	h.handshake()
	return h
}

func startSilent(t testing.TB, store convmem.Store, o *Options) *host {
	t.Helper()
	return startPatient(t, store, o, patience{afterInput: time.Hour, afterStop: time.Hour})
}

func startPatient(t testing.TB, store convmem.Store, o *Options, p patience) *host {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	h := &host{TB: t, in: inWrite, out: bufio.NewReader(outRead), stop: stop, ended: make(chan error, 1)}
	go func() {
		h.ended <- serve(ctx, store, o, inRead, outWrite, p)
		outWrite.Close()
	}()
	t.Cleanup(func() {
		stop()
		outRead.Close()
		inWrite.Close()
	})
	return h
}

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func (h *host) handshake() {
	h.Helper()
	h.send(initialize, initialized)
	if a := h.next(); a.ID != "init" {
		h.Fatalf("the answer to initialize: %+v", a)
	}
}

// send writes lines. It returns when the server has read them, which it may
// not do before its own lines are read.
func (h *host) send(lines ...string) { h.sendRaw(strings.Join(lines, "\n") + "\n") }

func (h *host) sendRaw(text string) {
	h.Helper()
	if _, err := io.WriteString(h.in, text); err != nil {
		h.Fatal(err)
	}
}

// toolCall is a tool call as a host writes it.
func toolCall(id any, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, quote(id), tool, args)
}

// reply is one line from the server.
type reply struct {
	Version string `json:"jsonrpc"`
	ID      any
	Error   struct {
		Code    int
		Message string
	}
	Result struct {
		IsError bool
		Content []struct{ Text string }
	}
}

func (r reply) text() string {
	if len(r.Result.Content) == 0 {
		return ""
	}
	return r.Result.Content[0].Text
}

// next reads one reply. io.EOF is a failure.
func (h *host) next() reply {
	h.Helper()
	r, err := h.read()
	if err != nil {
		h.Fatal(err)
	}
	return r
}

func (h *host) read() (reply, error) {
	line, err := h.out.ReadString('\n')
	if err != nil {
		return reply{}, err
	}
	var r reply
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Version != "2.0" {
		h.Fatalf("no JSON-RPC on the output: %q: %v", line, err)
	}
	return r, nil
}

// collect reads so many replies and returns them by id. The id of a number is
// a float64.
func (h *host) collect(count int) map[any]reply {
	h.Helper()
	replies := map[any]reply{}
	for range count {
		r := h.next()
		if _, twice := replies[r.ID]; twice {
			h.Fatalf("two answers to %v", r.ID)
		}
		replies[r.ID] = r
	}
	return replies
}

// end waits for serve to return.
func (h *host) end() error {
	h.Helper()
	if r, err := h.read(); err != io.EOF {
		h.Fatalf("after all answers: %+v, %v", r, err)
	}
	return <-h.ended
}

// endInput closes the input; what is still to come can be read.
func (h *host) endInput() { h.in.Close() }

// gate is a Store whose writes wait to be let through, one by one.
type gate struct {
	convmem.Store
	entered chan string // content of the write that waits
	open    chan struct{}
}

func newGate(inner convmem.Store) *gate {
	return &gate{Store: inner, entered: make(chan string), open: make(chan struct{})}
}

func (g *gate) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	select {
	case g.entered <- r.Content:
	case <-ctx.Done():
		return convmem.WriteResult{}, ctx.Err()
	}
	select {
	case <-g.open:
		return g.Store.Write(ctx, r)
	case <-ctx.Done():
		return convmem.WriteResult{}, ctx.Err()
	}
}

// ioTransport is a server's end of a pipe with the SDK's own transport.
func ioTransport(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
	return &mcp.IOTransport{Reader: in, Writer: out}
}

func writeCall(id any, session, content string) string {
	return toolCall(id, "write_message", raw(given{"session_id": session, "role": "user", "content": content}))
}
