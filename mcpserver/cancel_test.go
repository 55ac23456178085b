package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// dialect is how a host of some protocol revision writes requests.
type dialect struct {
	name  string
	greet bool
	meta  string // member of params
}

var dialects = []dialect{
	{"2025-06-18", true, ""},
	{"2026-07-28", false, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},`},
}

// start serves store to a host of the dialect.
func (d dialect) start(t testing.TB, store convmem.Store, o *Options) *host {
	t.Helper()
	if d.greet {
		return start(t, store, o)
	}
	return startSilent(t, store, o)
}

func (d dialect) call(id any, tool, args string) string {
	return d.request(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
}

func (d dialect) request(id any, method, params string) string {
	params = strings.TrimSuffix(d.meta+params, ",")
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, quote(id), method, params)
}

func cancelled(id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"changed my mind"}}`, quote(id))
}

// cancelAndSettle cancels a call and returns when the server has read that and
// answered something that was sent later. The context of the call may end later
// still: the SDK ends it in a goroutine of its own.
func (d dialect) cancelAndSettle(h *host, id any) {
	h.Helper()
	h.send(cancelled(id), d.request("settled", "tools/list", ""))
	if r := h.next(); r.ID != "settled" || r.Error.Code != 0 {
		h.Errorf("after a cancellation: %+v", r)
	}
}

// watched is a Store that shows the contexts of its changes.
type watched struct {
	convmem.Store
	contexts chan context.Context
}

func watch(store convmem.Store) watched { return watched{store, make(chan context.Context, 1)} }

func (w watched) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	w.contexts <- ctx
	return w.Store.Write(ctx, r)
}

func (w watched) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	w.contexts <- ctx
	return w.Store.Update(ctx, r)
}

func (w watched) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	w.contexts <- ctx
	return w.Store.Delete(ctx, r)
}

// busyCalls are options that tell of every call that ends with BUSY.
func busyCalls(together int) (*Options, <-chan struct{}) {
	busy := make(chan struct{}, 10)
	return &Options{MaxConcurrentCalls: together, OnCall: func(_ context.Context, i CallInfo) {
		if i.Code == convmem.CodeBusy {
			busy <- struct{}{}
		}
	}}, busy
}

// TestCancelledChanges cancels a change while it waits for the disk, at each of
// its file operations. It is stopped up to one of them and done from there on;
// it is never answered; and the call behind it sees what a power cut would leave.
func TestCancelledChanges(t *testing.T) {
	for _, c := range changes {
		r := rehearse(t, c)
		for _, d := range dialects {
			t.Run(c.name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				done := int64(0)
				for n := range r.operations {
					if cancelInTheMiddle(t, d, c, r, n) {
						done++
					} else if done > 0 {
						t.Errorf("stopped at operation %d, although it was done from one before on", n)
					}
				}
				t.Logf("%d operations, from %d on it was done", r.operations, r.operations-done)
				if done == 0 || done == r.operations {
					t.Errorf("done in %d of %d cases, want some and not all", done, r.operations)
				}
			})
		}
	}
}

func cancelInTheMiddle(t *testing.T, d dialect, c change, r rehearsal, n int64) (done bool) {
	t.Helper()
	disk := newSlowDisk()
	db, target := prepared(t, disk)
	store := watch(db)
	h := d.start(t, store, nil)
	disk.begin(n)
	h.send(d.call("slow", c.tool, c.args(target)))
	<-disk.reached
	d.cancelAndSettle(h, "slow")
	<-(<-store.contexts).Done()
	close(disk.letGo)
	h.send(d.call("read", "read_messages", `{"session_id":"s"}`))
	answer := h.next()
	if answer.ID != "read" {
		t.Fatalf("operation %d: a cancelled call was answered: %+v", n, answer)
	}
	images := append(disk.powerCuts(uint64(n)), disk.disk.Kill())
	h.endInput()
	if err := h.end(); err != nil {
		t.Errorf("operation %d: the server ended with %v", n, err)
	}
	var shown historyDocument
	if err := json.Unmarshal([]byte(answer.text()), &shown); err != nil {
		t.Fatal(err)
	}
	read := list(shown.History, message.value)
	done = !cmp.Equal(r.before.History, read, apartFromIDs)
	if diff := cmp.Diff(r.after.History, read, apartFromIDs); done && diff != "" {
		t.Errorf("operation %d: the read saw neither as before nor as after it (-after +read):\n%s", n, diff)
	}
	if err := db.Close(); err != nil {
		t.Errorf("operation %d: close: %v", n, err)
	}
	for _, left := range append(images, disk.disk.Kill()) {
		if there := r.remains(t, left); there != done {
			t.Errorf("operation %d: the read saw the change: %t, the disk holds it: %t", n, done, there)
		}
	}
	return done
}

// TestCancelledIsNotAnswered cancels calls that wait in the store, in line, and
// for a place, and one that nobody made. None is answered, each frees what it
// held, and everything else is answered.
func TestCancelledIsNotAnswered(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(newModel())
				o, busy := busyCalls(1)
				h := d.start(t, g, o)
				write := func(id string) string {
					return d.call(id, "write_message", raw(given{"session_id": "s", "role": "user", "content": id}))
				}
				h.send(write("in the store"))
				<-g.entered
				h.send(write("in line"), write("last"))
				synctest.Wait() // a call that is cancelled before its handler runs tells nobody
				d.cancelAndSettle(h, "in line")
				<-busy
				d.cancelAndSettle(h, "never made")
				d.cancelAndSettle(h, "in the store")
				<-busy
				if content := <-g.entered; content != "last" {
					t.Errorf("after two cancellations the store gets %q", content)
				}
				g.open <- struct{}{}
				if r := h.next(); r.ID != "last" || !strings.Contains(r.text(), `"status":"OK"`) {
					t.Errorf("the call that nobody cancelled: %+v", r)
				}
				h.send(d.call("read", "read_messages", `{"session_id":"s"}`))
				if r := h.next(); r.ID != "read" || strings.Count(r.text(), `"content"`) != 1 {
					t.Errorf("the read: %+v", r)
				}
				h.endInput()
				if err := h.end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCancelledTooLate cancels a call that is answered already, and sends
// cancellations that are none. Nothing comes of it.
func TestCancelledTooLate(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			h := d.start(t, newModel(), nil)
			h.send(d.call(1, "search_messages", searching))
			if r := h.next(); r.ID != 1.0 {
				t.Errorf("the call: %+v", r)
			}
			h.send(
				cancelled(1), cancelled(nil), cancelled(true), cancelled([]int{1}),
				`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`,
				d.call(1, "search_messages", searching))
			if r := h.next(); r.ID != 1.0 || r.text() != `{"results":[]}` {
				t.Errorf("the same id again: %+v", r)
			}
			h.endInput()
			if err := h.end(); err != nil {
				t.Error(err)
			}
		})
	}
}
