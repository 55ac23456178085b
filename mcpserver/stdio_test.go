package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func newModel() *storetest.Model { return storetest.NewModel(storetest.Config{}) }

const searching = `{"query":"q"}`

// TestBadLines sends what is no message. Each line gets its error, and the call
// after it is answered as if nothing had happened.
func TestBadLines(t *testing.T) {
	call := toolCall(1, "search_messages", searching)
	for _, c := range []struct {
		name, line string
		id         any
		code       int
	}{
		{"no JSON", "hello", nil, -32700},
		{"half a message", call[:len(call)/2], nil, -32700},
		{"two messages", call + call, nil, -32700},
		{"text after a message", call + " x", nil, -32700},
		{"a bare byte", "\xff", nil, -32700},
		{"no version", `{"id":7,"method":"ping"}`, 7.0, -32600},
		{"a wrong version", `{"jsonrpc":"1.0","id":"x","method":"ping"}`, "x", -32600},
		{"an id that is none", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, -32600},
		{"an id too large to be exact", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, 9007199254740992.0, -32600},
		{"a fraction as id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, 1.5, -32600},
		{"no name", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":5,"arguments":{"content":"secret"}}}`, 7.0, -32602},
		{"parameters that are none", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":["secret"]}`, 7.0, -32602},
		{"meta that is none", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":5,"name":"search_messages","arguments":{"query":"secret"}}}`, 7.0, -32602},
		{"arguments twice", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_messages","arguments":{"query":"secret"},"arguments":{}}}`, 7.0, -32602},
		{"a long tool name", toolCall(7, strings.Repeat("x", 3000), `{}`), 7.0, -32602},
		{"a long method name", `{"jsonrpc":"2.0","id":7,"method":"` + strings.Repeat("x", 3000) + `"}`, 7.0, -32601},
		{"a batch", "[" + call + "]", nil, -32600},
		{"a number", "7", nil, -32600},
		{"no method and no id", `{"jsonrpc":"2.0"}`, nil, -32600},
		{"deeper than the SDK reads", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_messages","arguments":` + nested(1000) + `}}`, 7.0, -32700},
		{"far deeper than the SDK reads", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_messages","arguments":` + nested(9_000) + `}}`, 7.0, -32700},
		{"deeper than any JSON", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_messages","arguments":` + nested(20_000) + `}}`, nil, -32700},
		{"longer than a frame", strings.Repeat("x", maxFrameBytes+1), nil, -32600},
		{"a message longer than a frame", toolCall(7, "search_messages", `{"query":"`+strings.Repeat("x", maxFrameBytes)+`"}`), nil, -32600},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, newModel(), nil)
			go h.send(c.line, call)
			if r := h.next(); r.Error.Code != c.code || r.ID != c.id || r.Error.Message == "" ||
				len(r.Error.Message) > 200 || strings.Contains(r.Error.Message, "secret") {
				t.Errorf("the answer: %+v", r)
			}
			if r := h.next(); r.ID != 1.0 || r.text() != `{"results":[]}` {
				t.Errorf("the call after it: %+v", r)
			}
		})
	}
}

// TestForgivenLines sends messages with what does not belong to them.
func TestForgivenLines(t *testing.T) {
	call := toolCall(1, "search_messages", searching)
	for name, text := range map[string]string{
		"CRLF":              call + "\r\n",
		"spaces after":      call + "  \t\n",
		"spaces before":     " \t" + call + "\n",
		"blank lines":       "\n\r\n  \n" + call + "\n",
		"no newline at all": call,
		"the largest frame": call + strings.Repeat(" ", maxFrameBytes-len(call)-1) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, newModel(), nil)
			go func() {
				h.sendRaw(text)
				h.endInput()
			}()
			if r := h.next(); r.ID != 1.0 || r.text() != `{"results":[]}` {
				t.Errorf("the answer: %+v", r)
			}
			if err := h.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestByteOrderMark(t *testing.T) {
	h := startSilent(t, newModel(), nil)
	h.sendRaw("\ufeff" + initialize + "\r\n")
	if r := h.next(); r.ID != "init" || r.Error.Code != 0 {
		t.Errorf("after a byte order mark: %+v", r)
	}
	h.sendRaw("\ufeff" + initialized + "\n")
	if r := h.next(); r.Error.Code != -32700 {
		t.Errorf("a byte order mark later on: %+v", r)
	}
}

// TestDeepArguments nests arguments as deep as the SDK still reads.
func TestDeepArguments(t *testing.T) {
	h := start(t, newModel(), nil)
	h.send(toolCall(1, "search_messages", `{"query":`+nested(900)+`}`))
	if r := h.next(); !r.Result.IsError || !strings.Contains(r.text(), "VALIDATION_ERROR") || !strings.Contains(r.text(), "deeper than 32") {
		t.Errorf("the answer: %+v", r)
	}
}

// TestIDInUse sends a second call with the id of one that runs.
func TestIDInUse(t *testing.T) {
	g := newGate(newModel())
	h := start(t, g, nil)
	h.send(writeCall(1, "s", "one"))
	<-g.entered
	h.send(writeCall(1, "s", "two"))
	if r := h.next(); r.ID != nil || r.Error.Code != -32600 {
		t.Errorf("the second call: %+v", r)
	}
	g.open <- struct{}{}
	if r := h.next(); r.ID != 1.0 || !strings.Contains(r.text(), `"one"`) {
		t.Errorf("the first call: %+v", r)
	}
	h.send(toolCall(1, "search_messages", searching))
	if r := h.next(); r.ID != 1.0 || r.text() != `{"results":[]}` {
		t.Errorf("the id again: %+v", r)
	}
}

// TestEndOfInput closes the input while calls wait in the store and in line:
// all are done and answered, with contexts that have not ended.
func TestEndOfInput(t *testing.T) {
	g := newGate(newModel())
	h := start(t, g, nil)
	go func() {
		for i := range 5 {
			h.send(writeCall(i, "s", fmt.Sprint(i)))
		}
		h.send(toolCall("read", "read_messages", `{"session_id":"s"}`))
		h.endInput()
	}()
	for i := range 5 {
		if content := <-g.entered; content != fmt.Sprint(i) {
			t.Errorf("write %d is of %s", i, content)
		}
		g.open <- struct{}{}
		if i == 4 {
			break // the read may now be answered first
		}
		if r := h.next(); !strings.Contains(r.text(), `"OK"`) {
			t.Errorf("write %d: %+v", i, r)
		}
	}
	replies := h.collect(2)
	if r := replies[4.0]; !strings.Contains(r.text(), `"OK"`) {
		t.Errorf("the last write: %+v", r)
	}
	if r := replies["read"]; strings.Count(r.text(), `"revision"`) != 5 {
		t.Errorf("the read: %+v", r)
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

// TestNewProtocol speaks the protocol that has no handshake. A subscription,
// which would last as long as the session, ends at once: nothing that a client
// could subscribe to ever changes.
func TestNewProtocol(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	h := startSilent(t, newModel(), nil)
	h.send(
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{`+meta+`,"notifications":{"toolsListChanged":true}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+meta+`,"name":"search_messages","arguments":{"query":"q"}}}`)
	h.endInput()
	replies := h.collect(3) // one is the notification that acknowledges
	if replies[1.0].Error.Message != "" || replies[2.0].text() != `{"results":[]}` {
		t.Errorf("%+v", replies)
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

// TestStop ends the context while a call runs: it is answered.
func TestStop(t *testing.T) {
	g := newGate(newModel())
	h := start(t, g, nil)
	h.send(writeCall(1, "s", "content"))
	<-g.entered
	h.stop()
	g.open <- struct{}{}
	if r := h.next(); !strings.Contains(r.text(), `"OK"`) {
		t.Errorf("the write: %+v", r)
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

// TestCallWithoutEnd has a call that outlives every patience. Its context ends
// and serve returns.
func TestCallWithoutEnd(t *testing.T) {
	for _, c := range []struct {
		name     string
		patience patience
		end      func(*host)
	}{
		{"the input ends", patience{afterInput: time.Millisecond, afterStop: time.Hour}, (*host).endInput},
		{"the context ends", patience{afterInput: time.Hour, afterStop: time.Millisecond}, func(h *host) { h.stop() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(newModel())
			h := startPatient(t, g, nil, c.patience)
			h.handshake()
			h.send(writeCall(1, "s", "content"))
			<-g.entered
			c.end(h)
			if err := h.end(); err == nil || !strings.Contains(err.Error(), "1 calls unanswered") {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// TestStopWhileDraining ends the context after the input has ended.
func TestStopWhileDraining(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	s := newStdio(ctx, slog.New(slog.DiscardHandler), io.Discard, patience{afterInput: time.Hour, afterStop: time.Millisecond})
	message, _ := decodeFrame([]byte(toolCall(1, "rebuild_index", `{}`)))
	s.begin(message.(*jsonrpc.Request))
	drained := make(chan error)
	go func() { drained <- s.drain(s.afterInput) }()
	stop()
	if err := <-drained; err != io.EOF {
		t.Error(err)
	}
	if err := s.failure(); err == nil {
		t.Error("a call is left and nobody says so")
	}
}

// TestBrokenOutput breaks the output after the first call was sent. What was
// received is done all the same, and serve reports the output.
func TestBrokenOutput(t *testing.T) {
	inner := newModel()
	g := newGate(inner)
	inRead, inWrite := io.Pipe()
	out := &breakable{refused: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() { ended <- serve(context.Background(), g, nil, inRead, out, standardPatience) }()
	h := &host{TB: t, in: inWrite}
	h.send(initialize, initialized, writeCall(1, "s", "one"), writeCall(2, "s", "two"), toolCall(3, "get_system_health", `{}`), "{")
	<-g.entered
	<-out.refused // so the calls before that line have been received
	out.broken.Store(true)
	g.open <- struct{}{}
	<-g.entered
	g.open <- struct{}{}
	if err := <-ended; !errors.Is(err, errBroken) {
		t.Errorf("ended with %v", err)
	}
	r, err := inner.Read(context.Background(), convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s"}})
	if err != nil || len(r.History.Messages) != 2 {
		t.Errorf("%d messages are stored: %v", len(r.History.Messages), err)
	}
}

// TestBrokenInput fails while reading.
func TestBrokenInput(t *testing.T) {
	in := io.MultiReader(strings.NewReader(initialize+"\n"), brokenReader{})
	if err := serve(context.Background(), newModel(), nil, in, io.Discard, standardPatience); !errors.Is(err, errBroken) {
		t.Errorf("ended with %v", err)
	}
}

// The id of a cancelled call is free again once the call has ended, although no
// answer says so.
func TestCancelledIDIsFreeAgain(t *testing.T) {
	var out bytes.Buffer
	s := newStdio(t.Context(), slog.New(slog.DiscardHandler), &out, patience{afterInput: time.Hour, afterStop: time.Hour})
	accepted := func(line string) bool { return s.accept(received{line: []byte(line)}) != nil }
	const call = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if !accepted(call) || !accepted(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`) {
		t.Fatal("the call or its cancellation is refused")
	}
	if accepted(call) || !strings.Contains(out.String(), "still runs") {
		t.Errorf("a second call with the id of one that runs is told %q", out.String())
	}
	out.Reset()
	id, err := jsonrpc.MakeID(1.0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), &jsonrpc.Response{ID: id, Result: []byte("{}")}); err != nil || out.Len() != 0 {
		t.Errorf("the answer of a cancelled call: %q, %v", out.String(), err)
	}
	if !accepted(call) {
		t.Errorf("the id is not free: %q", out.String())
	}
}
