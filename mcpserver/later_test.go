package mcpserver

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/convmem"
)

// opener counts attempts and fails as it is told.
type opener struct {
	attempts atomic.Int32
	fail     func(attempt int32) error // nil error: the store opens
	store    convmem.Store
}

func (o *opener) open(context.Context) (convmem.Store, error) {
	if err := o.fail(o.attempts.Add(1)); err != nil {
		return nil, err
	}
	return o.store, nil
}

func always(err error) func(int32) error { return func(int32) error { return err } }

// first fails with err the first n times.
func first(n int32, err error) func(int32) error {
	return func(attempt int32) error {
		if attempt <= n {
			return err
		}
		return nil
	}
}

// callEverything calls all seven methods and returns their codes.
func callEverything(store convmem.Store) []convmem.Code {
	ctx := context.Background()
	var errs [7]error
	_, errs[0] = store.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "c"})
	_, errs[1] = store.Update(ctx, convmem.UpdateRequest{MessageID: idA, Content: new("c")})
	_, errs[2] = store.Read(ctx, convmem.ReadRequest{Sessions: &convmem.SessionsRequest{}})
	_, errs[3] = store.Search(ctx, convmem.SearchRequest{Query: "q"})
	_, errs[4] = store.Delete(ctx, convmem.DeleteRequest{MessageID: idA})
	_, errs[5] = store.Rebuild(ctx, convmem.RebuildRequest{})
	_, errs[6] = store.Health(ctx, convmem.HealthRequest{})
	return list(errs[:], convmem.CodeOf)
}

func TestOpenLater(t *testing.T) {
	code := func(c convmem.Code) error { return &convmem.Error{Op: "open", Code: c, Message: "not now"} }
	open := []convmem.Code{"", convmem.CodeNotFound, "", "", "", "", ""}
	for _, c := range []struct {
		name     string
		fail     func(int32) error
		attempts int32 // after OpenLater and seven calls
		codes    []convmem.Code
	}{
		{"open at once", always(nil), 1, open},
		{"busy, then open", first(1, code(convmem.CodeBusy)), 2, open},
		{"an I/O error, then open", first(1, code(convmem.CodeIO)), 2, open},
		{"a deadline, then open", first(1, context.DeadlineExceeded), 2, open},
		{"busy for long", first(4, code(convmem.CodeBusy)), 5, []convmem.Code{"BUSY", "BUSY", "BUSY", "", "", "", ""}},
		{"busy for good", always(code(convmem.CodeBusy)), 8, seven(convmem.CodeBusy)},
		{"busy, then corrupt", func(attempt int32) error {
			if attempt > 2 {
				return code(convmem.CodeCorrupt)
			}
			return code(convmem.CodeBusy)
		}, 3, append([]convmem.Code{convmem.CodeBusy}, seven(convmem.CodeCorrupt)[1:]...)},
		{"corrupt", always(code(convmem.CodeCorrupt)), 1, seven(convmem.CodeCorrupt)},
		{"a wrong option", always(code(convmem.CodeValidation)), 1, seven(convmem.CodeValidation)},
		{"a foreign error", always(errors.New("no idea")), 1, seven(convmem.CodeInternal)},
		{"a panic", func(int32) error { panic(secret) }, 1, seven(convmem.CodeInternal)},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &opener{fail: c.fail, store: newModel()}
			l := OpenLater(o.open)
			defer l.Close()
			_ = l.Err() // the attempt that no call asked for
			if got := o.attempts.Load(); got != 1 {
				t.Errorf("%d attempts at once", got)
			}
			codes := callEverything(l)
			for i := range codes {
				if codes[i] != c.codes[i] {
					t.Errorf("call %d: %q, want %q", i, codes[i], c.codes[i])
				}
			}
			if got := o.attempts.Load(); got != c.attempts {
				t.Errorf("%d attempts, want %d", got, c.attempts)
			}
			if err := l.Err(); (err == nil) != (codes[6] == "") || err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("Err: %v", err)
			}
		})
	}
}

func seven(code convmem.Code) []convmem.Code {
	return []convmem.Code{code, code, code, code, code, code, code}
}

// TestOpenLaterNothing has an open function that returns neither of the two.
func TestOpenLaterNothing(t *testing.T) {
	l := OpenLater(func(context.Context) (convmem.Store, error) { return nil, nil })
	if got := convmem.CodeOf(l.Err()); got != convmem.CodeInternal {
		t.Errorf("code %q", got)
	}
}

// slowOpener opens when it is told to, or when its context ends.
type slowOpener struct {
	attempts atomic.Int32
	begun    chan struct{}
	finish   chan error
	store    convmem.Store
}

func newSlowOpener(store convmem.Store) *slowOpener {
	return &slowOpener{begun: make(chan struct{}, 100), finish: make(chan error), store: store}
}

func (o *slowOpener) open(ctx context.Context) (convmem.Store, error) {
	o.attempts.Add(1)
	o.begun <- struct{}{}
	select {
	case err := <-o.finish:
		if err != nil {
			return nil, err
		}
		return o.store, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// impatient is a context that has ended.
func impatient() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestOpenLaterShared lets many calls wait for one attempt, one of which gives
// up without ending it for the others.
func TestOpenLaterShared(t *testing.T) {
	o := newSlowOpener(newModel())
	l := OpenLater(o.open)
	<-o.begun
	if _, err := l.Health(impatient(), convmem.HealthRequest{}); convmem.CodeOf(err) != convmem.CodeBusy || !errors.Is(err, context.Canceled) {
		t.Errorf("a call that gave up: %v", err)
	}
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if _, err := l.Health(context.Background(), convmem.HealthRequest{}); err != nil {
				t.Error(err)
			}
		})
	}
	o.finish <- nil
	calls.Wait()
	if got := o.attempts.Load(); got != 1 {
		t.Errorf("%d attempts", got)
	}
}

// closing counts how often a store was closed.
type closing struct {
	convmem.Store
	closed atomic.Int32
	err    error
}

func (c *closing) Close() error {
	c.closed.Add(1)
	return c.err
}

func TestOpenLaterClose(t *testing.T) {
	store := &closing{Store: newModel(), err: errBroken}
	l := OpenLater(func(context.Context) (convmem.Store, error) { return store, nil })
	if err := l.Close(); !errors.Is(err, errBroken) {
		t.Errorf("close: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	if got := store.closed.Load(); got != 1 {
		t.Errorf("closed %d times", got)
	}
	if _, err := l.Health(context.Background(), convmem.HealthRequest{}); !errors.Is(err, convmem.ErrClosed) || convmem.CodeOf(err) != convmem.CodeInternal {
		t.Errorf("a call after close: %v", err)
	}
}

// TestOpenLaterCloseWhileOpening ends an attempt that would not end itself.
func TestOpenLaterCloseWhileOpening(t *testing.T) {
	o := newSlowOpener(newModel())
	l := OpenLater(o.open)
	<-o.begun
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if !errors.Is(l.Err(), context.Canceled) {
		t.Errorf("the attempt ended with %v", l.Err())
	}
}

// TestOpenLaterOverTheWire asks a server for whose store there is no hope.
func TestOpenLaterOverTheWire(t *testing.T) {
	l := OpenLater(func(context.Context) (convmem.Store, error) {
		return nil, &convmem.Error{Op: "open", Code: convmem.CodeCorrupt, Message: "convmem.log at offset 96: bad checksum"}
	})
	for tool, args := range map[string]string{
		"write_message": writeArgs(``), "update_message": `{"message_id":"m","content":"c"}`, "read_messages": sessionsArgs(``), "search_messages": searching,
		"delete_message": `{"message_id":"m"}`, "rebuild_index": ``, "get_system_health": ``,
	} {
		want := `{"status":"ERROR","error":{"code":"CORRUPT_STORE","message":"convmem.log at offset 96: bad checksum"}}`
		if text := call(t, l, nil, tool, args); text != want {
			t.Errorf("%s: %s", tool, text)
		}
	}
}
