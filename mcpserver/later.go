package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"example.com/convmem"
)

// LaterStore is a [convmem.Store] that may not be open yet. Until it is, every
// call fails with the error of opening it. It lets a server start whose store
// is locked, damaged or too new, so that its host learns the reason from the
// first call and not from a process that is gone.
//
// It may be used by many goroutines at once.
type LaterStore struct {
	open   func(context.Context) (convmem.Store, error)
	cancel context.CancelFunc // ends opening
	life   context.Context

	mu     sync.Mutex
	latest *opening
	closed bool
}

var _ convmem.Store = (*LaterStore)(nil)

// opening is one attempt to open the store.
type opening struct {
	done  chan struct{} // closed when store and err are set
	store convmem.Store
	err   error
}

// OpenLater begins to call open at once and does not wait for it: a host gets
// its tools while the store is still being opened, and calls wait for the
// outcome. An error with the code BUSY or IO_ERROR is worth another try: each
// later call then opens again, and calls that come while one does share its
// outcome. Any other error stays, and open is not called again.
//
// The context that open gets ends with Close and not with the call that caused
// the attempt, because other calls may wait for the same.
func OpenLater(open func(context.Context) (convmem.Store, error)) *LaterStore {
	life, cancel := context.WithCancel(context.Background())
	l := &LaterStore{open: open, life: life, cancel: cancel}
	l.latest = l.begin()
	return l
}

// begin starts to open the store.
func (l *LaterStore) begin() *opening {
	o := &opening{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		defer func() {
			if cause := recover(); cause != nil {
				o.store, o.err = nil, internal("opening the store failed", fmt.Errorf("panic with a value of type %T\n%s", cause, debug.Stack()))
			}
		}()
		o.store, o.err = l.open(l.life)
		if o.store == nil && o.err == nil {
			o.err = internal("opening the store failed", errors.New("open returned neither a store nor an error"))
		}
	}()
	return o
}

func internal(message string, cause error) error {
	return &convmem.Error{Op: "open", Code: convmem.CodeInternal, Message: message, Err: cause}
}

// settled reports whether an attempt is over and another would not help.
func (o *opening) settled() bool {
	code := convmem.CodeOf(o.err)
	return code != convmem.CodeBusy && code != convmem.CodeIO
}

// attempt returns the attempt whose outcome a call gets: the latest, unless
// that has failed and is worth repeating.
func (l *LaterStore) attempt() (*opening, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, internal("the store is closed", convmem.ErrClosed)
	}
	select {
	case <-l.latest.done:
		if !l.latest.settled() {
			l.latest = l.begin()
		}
	default:
	}
	return l.latest, nil
}

// store returns the open store or the reason why there is none.
func (l *LaterStore) store(ctx context.Context) (convmem.Store, error) {
	o, err := l.attempt()
	if err != nil {
		return nil, err
	}
	select {
	case <-o.done:
		return o.store, o.err
	case <-ctx.Done():
		return nil, &convmem.Error{Op: "open", Code: convmem.CodeBusy, Message: "the call ended while the store was being opened", Err: ctx.Err()}
	}
}

// Err returns why the store was not open when opening was last tried, or nil.
// It waits for an attempt that runs.
func (l *LaterStore) Err() error {
	l.mu.Lock()
	o := l.latest
	l.mu.Unlock()
	<-o.done
	return o.err
}

// Close ends an attempt to open that runs, and closes the store if it is open
// and has a Close method. Later calls fail with [convmem.ErrClosed] as their
// cause. Closing twice is allowed; the second call does nothing.
func (l *LaterStore) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	o := l.latest
	l.mu.Unlock()
	l.cancel()
	<-o.done
	if closer, ok := o.store.(io.Closer); ok && !again && o.err == nil {
		return closer.Close()
	}
	return nil
}

// later runs a call on the open store.
func later[Request, Result any](
	ctx context.Context, l *LaterStore, r Request, call func(convmem.Store, context.Context, Request) (Result, error),
) (Result, error) {
	store, err := l.store(ctx)
	if err != nil {
		var none Result
		return none, err
	}
	return call(store, ctx, r)
}

// Write implements convmem.Store.
func (l *LaterStore) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	return later(ctx, l, r, convmem.Store.Write)
}

// Update implements convmem.Store.
func (l *LaterStore) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	return later(ctx, l, r, convmem.Store.Update)
}

// Read implements convmem.Store.
func (l *LaterStore) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return later(ctx, l, r, convmem.Store.Read)
}

// Search implements convmem.Store.
func (l *LaterStore) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	return later(ctx, l, r, convmem.Store.Search)
}

// Delete implements convmem.Store.
func (l *LaterStore) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return later(ctx, l, r, convmem.Store.Delete)
}

// Rebuild implements convmem.Store.
func (l *LaterStore) Rebuild(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
	return later(ctx, l, r, convmem.Store.Rebuild)
}

// Health implements convmem.Store.
func (l *LaterStore) Health(ctx context.Context, r convmem.HealthRequest) (convmem.HealthResult, error) {
	return later(ctx, l, r, convmem.Store.Health)
}
