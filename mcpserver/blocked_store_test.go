package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// blocked is a Store whose searches last until their context ends, or until
// they are let go. It counts those that are in it.
type blocked struct {
	convmem.Store
	inside, most atomic.Int64
	entered      chan string // queries
	open         chan struct{}
	ended        chan string // queries whose context has ended
}

func newBlocked() *blocked {
	return &blocked{Store: newModel(), entered: make(chan string), open: make(chan struct{}), ended: make(chan string)}
}

func (b *blocked) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	inside := b.inside.Add(1)
	defer b.inside.Add(-1)
	for most := b.most.Load(); inside > most && !b.most.CompareAndSwap(most, inside); most = b.most.Load() {
	}
	b.entered <- r.Query
	select {
	case <-b.open:
		return b.Store.Search(ctx, r)
	case <-ctx.Done():
		b.ended <- r.Query
		return convmem.SearchResult{}, fmt.Errorf("%s: %w", secret, ctx.Err())
	}
}

// TestBlockedStore holds calls of several connections in the store. Others go on
// until as many are held as may run, and again when one of those is cancelled.
func TestBlockedStore(t *testing.T) {
	const together = 3
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			store := newBlocked()
			server := New(store, &Options{MaxConcurrentCalls: together})
			search := func(ctx context.Context, name string) <-chan error {
				session, done := d.session(t, server), make(chan error, 1)
				go func() {
					r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "search_messages", Arguments: given{"query": name}})
					if err == nil && textOf(r) != `{"results":[]}` {
						err = errors.New(textOf(r))
					}
					done <- err
				}()
				return done
			}
			free := d.connect(t, server)
			ctx, cancel := context.WithCancel(context.Background())
			var held []<-chan error
			for i := range together {
				if result, err := free("get_system_health", `{}`); err != nil || result.IsError {
					t.Fatalf("beside %d held calls: %v", i, err)
				}
				held = append(held, search(ctx, fmt.Sprint(i)))
				<-store.entered
			}
			waits := search(context.Background(), "waits")
			cancel()
			<-store.ended
			if name := <-store.entered; name != "waits" {
				t.Errorf("a place is free and %q has it", name)
			}
			for i, done := range held {
				if i > 0 {
					<-store.ended
				}
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("held call %d: %v", i, err)
				}
			}
			store.open <- struct{}{}
			if err := <-waits; err != nil {
				t.Errorf("the call that waited: %v", err)
			}
			if result, err := free("get_system_health", `{}`); err != nil || result.IsError {
				t.Errorf("after all: %v", err)
			}
			if most := store.most.Load(); most > together {
				t.Errorf("%d calls ran together", most)
			}
		})
	}
}

// TestCancelledInTheQueue cancels a call that waits for a place. It never
// reaches the store.
func TestCancelledInTheQueue(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newBlocked()
				o, busy := busyCalls(1)
				h := d.start(t, store, o)
				search := func(name string) string { return d.call(name, "search_messages", raw(given{"query": name})) }
				h.send(search("held"))
				<-store.entered
				h.send(search("cancelled"), search("last"))
				synctest.Wait() // a call that is cancelled before its handler runs tells nobody
				d.cancelAndSettle(h, "cancelled")
				<-busy
				store.open <- struct{}{}
				if r := h.next(); r.ID != "held" {
					t.Errorf("the held call: %+v", r)
				}
				if name := <-store.entered; name != "last" {
					t.Errorf("the store gets %q", name)
				}
				store.open <- struct{}{}
				if r := h.next(); r.ID != "last" {
					t.Errorf("the last call: %+v", r)
				}
				h.endInput()
				if err := h.end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestFailingDisk makes each file operation of a change fail, in every way. The
// answer is IO_ERROR, or the change is confirmed; the server lives; and what was
// confirmed, or refused before it was tried, is what a restart finds.
func TestFailingDisk(t *testing.T) {
	effects := map[string]faultfs.Effect{"not done": faultfs.NotDone, "short": faultfs.Short, "done": faultfs.Done, "lost": faultfs.Lost}
	for _, c := range changes {
		r := rehearse(t, c)
		for name, effect := range effects {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				for n := range int(r.operations) {
					failOnce(t, c, r, n, effect)
				}
			})
		}
	}
}

func failOnce(t *testing.T, c change, r rehearsal, n int, effect faultfs.Effect) {
	t.Helper()
	d := newSlowDisk()
	db, target := prepared(t, d)
	h := start(t, db, nil)
	d.Inject(faultfs.Fault{N: n, Effect: effect, Err: &fs.PathError{Op: "write", Path: "/home/somebody/" + secret, Err: syscall.ENOSPC}})
	h.send(toolCall(1, c.tool, c.args(target)))
	answer := h.next()
	confirmed := strings.Contains(answer.text(), c.confirmed)
	if !confirmed {
		checkFailure(t, fmt.Sprintf("operation %d", n), answer.result(), convmem.CodeIO)
	}
	d.Clear()
	h.send(toolCall(2, "get_system_health", `{}`), toolCall(3, "read_messages", `{"session_id":"s"}`))
	for id, answer := range h.collect(2) {
		if answer.Result.IsError || len(answer.Result.Content) != 1 {
			t.Errorf("operation %d, call %v after it: %+v", n, id, answer)
		}
	}
	h.endInput()
	if err := h.end(); err != nil {
		t.Error(err)
	}
	images := append(d.powerCuts(uint64(n)), d.disk.Kill())
	d.Kill()
	_ = db.Close()
	for _, left := range images {
		if there := r.remains(t, left); confirmed && !there {
			t.Errorf("operation %d: the change was confirmed and is not there", n)
		}
	}
}

var _ vfs.FS = (*slowDisk)(nil)
