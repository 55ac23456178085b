package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// patience is how long things may take once the server is to stop.
type patience struct {
	unsent time.Duration // for a request to arrive
	calls  time.Duration // for the calls that run to be answered
	whole  time.Duration // for everything, closing the store included
}

// standardPatience is done before container runtimes kill, which they do ten
// seconds after the signal.
func standardPatience() patience {
	return patience{unsent: time.Second, calls: 8 * time.Second, whole: 9500 * time.Millisecond}
}

// stop takes no more requests, waits for those that run and closes the store.
func (p patience) stop(server *http.Server, a *arrivals, store io.Closer) error {
	whole, cancel := context.WithTimeout(context.Background(), p.whole)
	defer cancel()
	calls, cancel := context.WithTimeout(whole, p.calls)
	defer cancel()
	defer time.AfterFunc(p.unsent, a.closeAll).Stop()
	err := server.Shutdown(calls)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("stopped while calls were still running")
	}
	return errors.Join(err, closeWithin(whole, store))
}

// closeWithin closes the store, which waits for calls that run, also for those
// whose callers are gone. Nothing that was acknowledged depends on it.
func closeWithin(ctx context.Context, store io.Closer) error {
	closed := make(chan error, 1)
	go func() { closed <- store.Close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return errors.New("the store was not closed, because calls were still running")
	}
}

// arrivals knows the connections whose next request has not wholly arrived. A
// stop need not wait for them, but http.Server does: five seconds for the first
// request of a connection, and for the body of any as long as it may take.
type arrivals struct {
	mu      sync.Mutex
	sending map[net.Conn]bool
}

func newArrivals() *arrivals { return &arrivals{sending: map[net.Conn]bool{}} }

// note is http.Server.ConnState. A connection is active when the headers of a
// request are there. Between two requests it is idle, and Shutdown closes it.
func (a *arrivals) note(conn net.Conn, state http.ConnState) {
	a.set(conn, state == http.StateNew || state == http.StateActive)
}

func (a *arrivals) set(conn net.Conn, sending bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if sending {
		a.sending[conn] = true
	} else {
		delete(a.sending, conn)
	}
}

func (a *arrivals) closeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for conn := range a.sending {
		_ = conn.Close() // nobody was promised anything on it
	}
}

type connectionKey struct{}

// remember is http.Server.ConnContext.
func (a *arrivals) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// watch notices when a request is wholly there.
func (a *arrivals) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := r.Context().Value(connectionKey{}).(net.Conn)
		arrived := func() { a.set(conn, false) }
		if r.ContentLength == 0 {
			arrived()
		}
		r = r.WithContext(r.Context()) // a copy: the request is not ours to change
		r.Body = &body{r.Body, arrived}
		next.ServeHTTP(w, r)
	})
}

// body is that of a request. It says when reading it has ended.
type body struct {
	io.ReadCloser
	ended func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended()
	}
	return n, err
}
