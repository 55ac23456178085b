package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// emptyTool is the name of a tool that does nothing: its result is text.
const emptyTool = "empty"

func emptyServer(text string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "empty", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: emptyTool, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return newResult(text, ""), nil
	})
	return server
}

// exchange sends a line to a server and returns its answer.
type exchange func(line string) string

// A track is a transport as a benchmark uses it.
type track struct {
	name string
	// open connects to a server.
	open func(b *testing.B, s *mcp.Server) exchange
}

var tracks = []track{{"stdio", overPipes}, {"memory", onMemory}, {"HTTP", overHTTP}}

// overPipes is ServeStdio on pipes.
func overPipes(b *testing.B, server *mcp.Server) exchange {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	s := newStdio(context.Background(), loggerOf(nil), outWrite, patience{time.Hour, time.Hour})
	go s.receive(newFrames(inRead))
	if _, err := Connect(context.Background(), server, s, nil); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { inWrite.Close(); outRead.Close() })
	return overLines(b, inWrite, outRead)
}

// overSDK is the SDK's own transport on pipes.
func overSDK(b *testing.B, server *mcp.Server) exchange {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	if _, err := server.Connect(context.Background(), ioTransport(inRead, outWrite), nil); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { inWrite.Close(); outRead.Close() })
	return overLines(b, inWrite, outRead)
}

func overLines(b *testing.B, in io.Writer, out io.Reader) exchange {
	h := &host{TB: b, out: bufio.NewReaderSize(out, 1<<20)}
	write := func(line string) {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			b.Error(err)
		}
	}
	write(initialize)
	h.next()
	write(initialized)
	return func(line string) string {
		write(line)
		answer, err := h.out.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		return answer
	}
}

// onMemory hands over messages, not lines.
func onMemory(b *testing.B, server *mcp.Server) exchange {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := Connect(context.Background(), server, serverSide, nil); err != nil {
		b.Fatal(err)
	}
	c, err := clientSide.Connect(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	send := func(line string) {
		m, err := jsonrpc.DecodeMessage([]byte(line))
		if err == nil {
			err = c.Write(context.Background(), m)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	receive := func() string {
		m, err := c.Read(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		return string(m.(*jsonrpc.Response).Result)
	}
	send(initialize)
	receive()
	send(initialized)
	return func(line string) string { send(line); return receive() }
}

// overHTTP is the part of Handler that sees every request, without a network.
func overHTTP(_ *testing.B, server *mcp.Server) exchange {
	next := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: quiet(loggerOf(nil)), MaxRequestBodyBytes: DefaultMaxBodyBytes})
	h := identify(&receiver{limit: DefaultMaxBodyBytes, next: next}, loggerOf(nil))
	return func(line string) string {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(line))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
}

// typicalContent is 28 words, 171 bytes.
func typicalContent(i int) string {
	return fmt.Sprintf("Message %d: we agreed to move the release to Thursday, because the review of "+
		"the storage format found two questions that have to be answered before anybody else writes files.", i)
}

// benchCalls are the tools that a conversation uses most, with arguments for a
// store of fillTypical.
func benchCalls() map[string]string {
	return map[string]string{
		"write_message":   raw(given{"session_id": "w", "role": "user", "content": strings.Repeat("0123456789abcde ", 64)}),
		"read_messages":   raw(given{"session_id": "s0", "limit": 10}),
		"search_messages": raw(given{"query": "release Thursday", "limit": 10}),
	}
}

// fillTypical opens a store in memory with 10 sessions of 10 messages.
func fillTypical(tb testing.TB) *convmem.DB {
	db := storetest.Open(tb)
	for i := range 100 {
		_, err := db.Write(context.Background(), convmem.WriteRequest{SessionID: fmt.Sprint("s", i/10), Role: convmem.RoleUser, Content: typicalContent(i)})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return db
}

// BenchmarkCall sets calls of convmem's tools beside calls of an empty tool on
// the same transport, in turn. All figures but the allocations are ratios of
// medians of time:
//
//	own/empty   decoding the arguments, the call of the store and encoding the
//	            result, without any transport, of a whole call of the empty tool
//	x/empty     a whole call, of one of the empty tool without arguments
//	x/echo      a whole call, of one of a tool that does nothing either, but is
//	            sent as many bytes and answers as many
func BenchmarkCall(b *testing.B) {
	for _, track := range tracks {
		for _, tool := range []string{"write_message", "read_messages", "search_messages"} {
			b.Run(track.name+"/"+tool, func(b *testing.B) { track.compare(b, tool, benchCalls()[tool]) })
		}
	}
}

func (w track) compare(b *testing.B, tool, args string) {
	db := fillTypical(b)
	sample := call(b, db, nil, tool, args)
	ours, empty, echo := w.open(b, New(db, nil)), w.open(b, emptyServer("ok")), w.open(b, emptyServer(sample))
	c := mustCaller(b, db, nil)
	t := tools[slices.Index(ToolNames(), tool)]
	id := 0
	next := func(e exchange, tool, args, want string) {
		id++
		if answer := e(toolCall(id, tool, args)); !strings.Contains(answer, want) {
			b.Fatalf("%.300s", answer)
		}
	}
	whole := func() { next(ours, tool, args, `\"message_id\":`) }
	nothing := func() { next(empty, emptyTool, `{}`, `"ok"`) }
	turns := inTurn(b, whole, nothing, func() { next(echo, emptyTool, args, `\"message_id\":`) }, func() {
		if _, code := c.call(context.Background(), t, json.RawMessage(args), atOnce); code != "" {
			b.Fatal(code)
		}
	})
	b.ReportMetric(0, "ns/op") // of four things at once
	b.ReportMetric(turns[3]/turns[1], "own/empty")
	b.ReportMetric(turns[0]/turns[1], "x/empty")
	b.ReportMetric(turns[0]/turns[2], "x/echo")
	b.ReportMetric(testing.AllocsPerRun(50, whole), "allocs/call")
	b.ReportMetric(testing.AllocsPerRun(50, nothing), "allocs/empty")
}

// inTurn runs each function in every round and returns the median time of each.
func inTurn(b *testing.B, functions ...func()) []float64 {
	times := make([][]float64, len(functions))
	for b.Loop() {
		for i, f := range functions {
			begun := time.Now()
			f()
			times[i] = append(times[i], float64(time.Since(begun)))
		}
	}
	return list(times, func(all []float64) float64 {
		slices.Sort(all)
		return all[len(all)/2]
	})
}

// BenchmarkTransport sets the transport of ServeStdio beside the SDK's own, in
// turn, with an empty tool that is sent contents of several sizes: what the
// looks at every line cost.
func BenchmarkTransport(b *testing.B) {
	for _, size := range []int{0, 1 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			line := toolCall(1, emptyTool, raw(given{"content": strings.Repeat("x", size)}))
			ours, theirs := overPipes(b, emptyServer("ok")), overSDK(b, emptyServer("ok"))
			turns := inTurn(b, func() { ours(line) }, func() { theirs(line) })
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(turns[0]/turns[1], "x/SDK")
			b.ReportMetric(testing.AllocsPerRun(20, func() { ours(line) }), "allocs/call")
			b.ReportMetric(testing.AllocsPerRun(20, func() { theirs(line) }), "allocs/SDK")
		})
	}
}
