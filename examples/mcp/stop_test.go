package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// closer is a store that can be closed.
type closer func() error

func (c closer) Close() error { return c() }

// stoppable is serveUntil in this process.
type stoppable struct {
	address string
	stop    context.CancelFunc
	ended   chan error
}

func serveHere(t *testing.T, h http.HandlerFunc, store closer, p patience) stoppable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := stoppable{listener.Addr().String(), stop, make(chan error, 1)}
	go func() { s.ended <- serveUntil(ctx, listener, h, store, p, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(stop)
	return s
}

func closedWell() error { return nil }

// slowClients are those that a stop must not wait for. Each ends where it stays.
var slowClients = []struct {
	name string
	do   func(*connection)
}{
	{"silent", func(*connection) {}},
	{"in the headers", func(c *connection) { c.write("POST /mcp HTTP/1.1\r\nHo") }},
	{"between requests", func(c *connection) {
		c.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if r := c.read(); r.status != 200 {
			c.t.Errorf("%+v", r)
		}
	}},
	{"in the headers of the second request", func(c *connection) {
		c.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if r := c.read(); r.status != 200 {
			c.t.Errorf("%+v", r)
		}
		c.write("POST /mcp HTTP/1.1\r\nHo")
	}},
	{"in the body", func(c *connection) {
		c.write(headers("Content-Length: 1000", "Authorization: Bearer "+secretToken) + "{")
	}},
	{"in the body that the server reads", func(c *connection) {
		c.write(headers("Content-Length: 1000", "Authorization: Bearer "+secretToken, "Expect: 100-continue"))
		if r := c.read(); r.status != http.StatusContinue {
			c.t.Errorf("%+v", r)
		}
		c.write("{")
	}},
	{"in a body in pieces", func(c *connection) {
		c.write(headers("Transfer-Encoding: chunked", "Authorization: Bearer "+secretToken) + "10\r\n{")
	}},
	{"in a body that nobody reads", func(c *connection) { c.write(headers("Content-Length: 1000") + "{") }},
}

func headers(lines ...string) string {
	return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
		strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// TestStopWithSlowClient: what net/http would wait five seconds for, or for ever,
// is over before the patience with calls is.
func TestStopWithSlowClient(t *testing.T) {
	t.Parallel()
	for _, client := range slowClients {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			s := serveHere(t, func(w http.ResponseWriter, r *http.Request) {
				if client.name != "in a body that nobody reads" {
					_, _ = io.Copy(w, r.Body)
				}
			}, closedWell, patience{unsent: 10 * time.Millisecond, calls: 4 * time.Second, whole: time.Minute})
			client.do(dial(t, s.address))
			checkAccepted(t, s.address)
			s.stop()
			if err := <-s.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// checkAccepted makes sure that the server has all connections made before: it
// takes them in their order.
func checkAccepted(t *testing.T, address string) {
	t.Helper()
	c := dial(t, address)
	c.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if r := c.read(); r.status != 200 {
		t.Errorf("%+v", r)
	}
}

// TestProgramStopsWithSlowClients has all of them at once.
func TestProgramStopsWithSlowClients(t *testing.T) {
	t.Parallel()
	s := build(t).serve(t, t.TempDir(), secretToken)
	for _, client := range slowClients {
		client.do(dial(t, s.address))
	}
	checkAccepted(t, s.address)
	s.stop()
}

// TestStop looks at what a call that runs has to expect.
func TestStop(t *testing.T) {
	t.Parallel()
	const long, short = time.Minute, time.Millisecond
	post := headers("Content-Length: 2") + "{}"
	for _, c := range []struct {
		name     string
		patience patience
		request  string
		finish   bool // the call ends once the server stops
		store    closer
		says     string
	}{
		{"a call that ends", patience{unsent: short, calls: long, whole: long}, post, true, closedWell, ""},
		{"a call in pieces", patience{unsent: short, calls: long, whole: long}, headers("Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\n\r\n", true, closedWell, ""},
		{"a request without a body", patience{unsent: short, calls: long, whole: long}, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", true, closedWell, ""},
		{"a call that does not", patience{unsent: short, calls: short, whole: long}, post, false, closedWell, "stopped while calls were still running"},
		{"a store that fails", patience{unsent: short, calls: long, whole: long}, post, true, func() error { return fmt.Errorf("out of luck") }, "out of luck"},
		{"a store that hangs", patience{unsent: short, calls: short, whole: 2 * short}, post, false, func() error { select {} }, "the store was not closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			running, release := make(chan struct{}), make(chan struct{})
			s := serveHere(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					_, _ = io.Copy(io.Discard, r.Body)
				}
				close(running)
				<-release
				fmt.Fprint(w, "answered")
			}, c.store, c.patience)
			silent, client := dial(t, s.address), dial(t, s.address)
			client.write(c.request)
			<-running
			s.stop()
			if c.finish {
				if _, err := silent.in.ReadByte(); err == nil { // the time for requests to arrive is over
					t.Error("a client that said nothing gets an answer")
				}
				close(release)
				if r := client.read(); r.status != 200 || r.body != "answered" {
					t.Errorf("%+v", r)
				}
			} else {
				defer close(release)
			}
			if err := <-s.ended; (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("ended with %v, want %q", err, c.says)
			}
		})
	}
}

// TestListenerFails: a server that cannot go on says so and closes the store.
func TestListenerFails(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	closed := false
	store := closer(func() error { closed = true; return nil })
	err = serveUntil(t.Context(), listener, http.NotFoundHandler(), store, standardPatience(), slog.New(slog.DiscardHandler))
	if err == nil || !closed {
		t.Errorf("ended with %v, the store closed: %t", err, closed)
	}
}
