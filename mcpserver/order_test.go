package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// script is a pipeline of calls: writes, small and large in turn so that a
// small one would overtake, each followed by reads of what must be there.
func script(writes int) (lines []string, calls int) {
	for i := range writes {
		size := 1
		if i%10 == 0 {
			size = 200_000
		}
		lines = append(lines,
			writeCall(fmt.Sprint("write ", i), "s", fmt.Sprint(i, " ", strings.Repeat("x", size))),
			toolCall(fmt.Sprint("read ", i), "read_messages", `{"session_id":"s","limit":1000,"max_content_characters":5}`),
			toolCall(fmt.Sprint("health ", i), "get_system_health", `{}`))
	}
	return lines, 3 * writes
}

// checkScript looks at what the reads of a script saw: the writes before each
// and none after it, in order.
func checkScript(t *testing.T, writes int, replies map[any]reply) {
	t.Helper()
	for i := range writes {
		var d historyDocument
		if err := json.Unmarshal([]byte(replies[fmt.Sprint("read ", i)].text()), &d); err != nil {
			t.Fatal(err)
		}
		if len(d.History) != i+1 {
			t.Fatalf("read %d sees %d messages", i, len(d.History))
		}
		for j, m := range d.History {
			if !strings.HasPrefix(m.Content, fmt.Sprint(j, " ")) {
				t.Fatalf("read %d: message %d begins with %.10q", i, j, m.Content)
			}
		}
		if want := fmt.Sprintf(`"active_messages":%d,`, i+1); !strings.Contains(replies[fmt.Sprint("health ", i)].text(), want) {
			t.Fatalf("health %d: %s", i, replies[fmt.Sprint("health ", i)].text())
		}
	}
}

// TestPipelinedCalls sends 200 writes and 400 reads without waiting for an
// answer.
func TestPipelinedCalls(t *testing.T) {
	h := start(t, newModel(), nil)
	lines, calls := script(200)
	go func() {
		h.send(lines...)
		h.endInput()
	}()
	checkScript(t, 200, h.collect(calls))
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

// TestPipelinedCallsElsewhere does the same over a transport of the SDK.
func TestPipelinedCallsElsewhere(t *testing.T) {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	session, err := Connect(context.Background(), New(newModel(), nil), ioTransport(inRead, outWrite), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{TB: t, in: inWrite, out: bufio.NewReader(outRead)}
	h.handshake()
	lines, calls := script(50)
	go h.send(lines...)
	checkScript(t, 50, h.collect(calls))
	session.Close()
}

// TestReadsRunTogether holds several reads in the store at once.
func TestReadsRunTogether(t *testing.T) {
	const readers = 5
	var inside sync.WaitGroup
	inside.Add(readers)
	store := &meeting{newModel(), &inside}
	h := start(t, store, nil)
	for i := range readers {
		h.send(toolCall(i, "search_messages", `{"query":"q"}`))
	}
	h.collect(readers)
}

// TestReadsAreBounded sends more reads than may run together. The rest wait for
// their turn, and all are answered.
func TestReadsAreBounded(t *testing.T) {
	store := &crowded{Store: newModel(), entered: make(chan struct{}), open: make(chan struct{})}
	const together = 3
	h := start(t, store, &Options{MaxConcurrentCalls: together})
	const calls = 3 * together
	for i := range calls {
		h.send(toolCall(i, "search_messages", searching))
	}
	for range together {
		<-store.entered
	}
	go func() {
		for i := range calls {
			store.open <- struct{}{}
			if i < calls-together {
				<-store.entered // the next in line
			}
		}
	}()
	h.collect(calls)
	if most := store.most.Load(); most != together {
		t.Errorf("%d searches ran together, want %d", most, together)
	}
}

// crowded is a Store whose searches say that they run and wait to be let out.
type crowded struct {
	convmem.Store
	inside, most  atomic.Int64
	entered, open chan struct{}
}

func (c *crowded) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	inside := c.inside.Add(1)
	defer c.inside.Add(-1)
	for most := c.most.Load(); inside > most && !c.most.CompareAndSwap(most, inside); most = c.most.Load() {
	}
	c.entered <- struct{}{}
	<-c.open
	return c.Store.Search(ctx, r)
}

// meeting is a Store whose searches wait for each other.
type meeting struct {
	convmem.Store
	inside *sync.WaitGroup
}

func (m *meeting) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	m.inside.Done()
	m.inside.Wait()
	return m.Store.Search(ctx, r)
}

// TestCancelledTurn cancels a call that waits for its turn. It gets no answer,
// and what stands behind it does not overtake what stands before it.
func TestCancelledTurn(t *testing.T) {
	g := newGate(newModel())
	h := start(t, g, nil)
	h.send(writeCall("first", "s", "first"))
	<-g.entered
	h.send(
		writeCall("second", "s", "second"),
		toolCall("read", "read_messages", `{"session_id":"s"}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"second"}}`)
	g.open <- struct{}{}
	replies := h.collect(2)
	if text := replies["read"].text(); !strings.Contains(text, `"first"`) || strings.Contains(text, `"second"`) {
		t.Errorf("the read saw %s", text)
	}
	h.endInput()
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

// TestCancelledHandler does the same below the SDK.
func TestCancelledHandler(t *testing.T) {
	l := &line{}
	first, second, third := l.join(), l.join(), l.join()
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), lineKey{}, l))
	cancel()
	request := &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{}, Extra: &mcp.RequestExtra{Header: http.Header{arrivalHeader: {fmt.Sprint(second.number)}}},
	}
	store := &fake{}
	result, err := mustCaller(t, store, nil).handler(tools[0])(ctx, request)
	if err != nil || !strings.Contains(check(t, result), `"BUSY"`) || store.request != nil {
		t.Errorf("%+v, %v, the store got %v", result, err, store.request)
	}
	if third.isOpen() {
		t.Error("a call overtakes the first one")
	}
	if first.leave(); !third.isOpen() {
		t.Error("a call waits for one that is gone")
	}
}

// TestTurnsWithoutHandlers puts calls that never reach a tool between others.
func TestTurnsWithoutHandlers(t *testing.T) {
	h := start(t, newModel(), nil)
	h.send(
		toolCall(1, "no_such_tool", `{}`),
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":7}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":4,"method":"no/such/method","params":{}}`,
		writeCall(5, "s", "content"))
	replies := h.collect(5)
	if !strings.Contains(replies[5.0].text(), `"OK"`) {
		t.Errorf("the write: %+v", replies[5.0])
	}
	for id := 1.0; id < 5; id++ {
		if replies[id].Error.Code == 0 {
			t.Errorf("call %v: %+v", id, replies[id])
		}
	}
}

// TestSeparateConnections holds a write on one connection while another works.
func TestSeparateConnections(t *testing.T) {
	g := newGate(newModel())
	held, free := start(t, g, nil), start(t, g, nil)
	held.send(writeCall(1, "s", "content"))
	<-g.entered
	free.send(toolCall(1, "search_messages", `{"query":"content"}`))
	if r := free.next(); r.text() != `{"results":[]}` {
		t.Errorf("the free connection: %+v", r)
	}
	g.open <- struct{}{}
	held.next()
}

// TestLine lets random calls arrive, ask for their turn, give up and leave, and
// holds the line to its rule: a call runs exactly when everything before it is
// finished, or when it and everything before it is a read.
func TestLine(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := &line{}
		type call struct {
			turn   *turn
			shared bool // as declared
		}
		var calls []call
		pick := func() int {
			if len(calls) == 0 {
				r.Skip("nobody stands in line")
			}
			return rapid.IntRange(0, len(calls)-1).Draw(r, "call")
		}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		r.Repeat(map[string]func(*rapid.T){
			"join": func(*rapid.T) { calls = append(calls, call{turn: l.join()}) },
			"declare": func(*rapid.T) {
				c := &calls[pick()]
				if !c.shared {
					c.shared = rapid.Bool().Draw(r, "shared")
				}
				_ = c.turn.wait(cancelled, c.shared)
			},
			"leave": func(*rapid.T) {
				i := pick()
				calls[i].turn.leave()
				calls[i].turn.leave()
				calls = slices.Delete(calls, i, i+1)
			},
			"": func(*rapid.T) {
				together := true
				for i, c := range calls {
					together = together && c.shared
					if want := i == 0 || together; c.turn.isOpen() != want && !c.turn.isOpen() {
						r.Fatalf("call %d of %d waits for nothing", i, len(calls))
					} else if !want && c.turn.isOpen() {
						r.Fatalf("call %d of %d runs too early", i, len(calls))
					}
				}
			},
		})
	})
}

func (t *turn) isOpen() bool {
	select {
	case <-t.start:
		return true
	default:
		return false
	}
}

// TestUnstampedCall runs a tool over a connection that keeps no order.
func TestUnstampedCall(t *testing.T) {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := New(newModel(), nil).Connect(context.Background(), serverSide, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), clientSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	r, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "search_messages", Arguments: given{"query": "q"}})
	if err != nil || textOf(r) != `{"results":[]}` {
		t.Errorf("%+v, %v", r, err)
	}
}
