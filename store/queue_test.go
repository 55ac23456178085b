package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

// heldUp is a log whose first update waits for its sync, so that what is called
// meanwhile comes into one batch.
type heldUp struct {
	t     *testing.T
	fs    *faultfs.FS
	log   *Log
	syncs gate
	calls []*outcome
}

// inQueue runs a test behind an update of record 100. The log that it gets has
// the sink that newSink makes.
func inQueue(t *testing.T, newSink func() Sink, test func(*heldUp)) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		fsys := faultfs.New(vfs.NewMem(1 << 16))
		o := testOptions()
		o.NewSink = newSink
		l, err := Open(context.Background(), fsys, o)
		must(t, err)
		defer l.Close()
		must(t, update(l, put(1, "one")))
		h := &heldUp{t: t, fs: fsys, log: l, syncs: gateSyncs(fsys)}
		h.call(func() error { return update(l, put(100, "first")) })
		<-h.syncs.reached
		test(h)
		fsys.Before = nil
	})
}

// call makes a call and returns when it waits or is over.
func (h *heldUp) call(do func() error) *outcome {
	o := spawn(do)
	h.calls = append(h.calls, o)
	synctest.Wait()
	return o
}

func (h *heldUp) update(fn func(*Tx) error) *outcome {
	return h.call(func() error { return h.log.Update(context.Background(), fn) })
}

// goOn lets all syncs pass until every call is over, and returns how many there
// were, the one that holds everything up included.
func (h *heldUp) goOn() (syncs int) {
	over := make(chan struct{})
	go func() {
		for _, o := range h.calls {
			_ = o.wait() // the tests look at their errors
		}
		close(over)
	}()
	h.syncs.pass <- nil
	for syncs = 1; ; syncs++ {
		select {
		case <-h.syncs.reached:
			h.syncs.pass <- nil
		case <-over:
			return syncs
		}
	}
}

func TestUpdatesRunInTheOrderOfTheirCalls(t *testing.T) {
	inQueue(t, newMirror, func(h *heldUp) {
		var order []int
		for n := range 5 {
			h.update(func(tx *Tx) error {
				order = append(order, n)
				tx.Put(id(n+1), []byte("x"))
				return nil
			})
		}
		if syncs := h.goOn(); syncs != 2 {
			h.t.Errorf("%d syncs", syncs)
		}
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, order); diff != "" {
			h.t.Error(diff)
		}
	})
}

// Calls that would make a batch too large wait for the next one, and nothing
// that was called later overtakes them.
func TestBatchIsLimited(t *testing.T) {
	for name, tt := range map[string]struct{ frames, bytes, syncs int }{
		"frames": {maxBatchFrames/2 - 1, 1, 3},
		"bytes":  {1, maxBatchBytes/2 - 1000, 3},
		"fits":   {1, 1, 2},
	} {
		inQueue(t, newMirror, func(h *heldUp) {
			call := func(who string, frames, bytes int) {
				h.update(func(tx *Tx) error {
					for range frames {
						tx.Put(id(1), []byte(who+strings.Repeat("x", bytes)))
					}
					return nil
				})
			}
			for _, who := range []string{"a", "b", "c"} {
				call(who, tt.frames, tt.bytes)
			}
			call("d", 1, 1)
			if syncs := h.goOn(); syncs != tt.syncs {
				h.t.Errorf("%s: %d syncs, want %d", name, syncs, tt.syncs)
			}
			found, err := held(h.log)
			must(h.t, err)
			if last := found[id(1)]; last[:1] != "d" {
				h.t.Errorf("%s: the last that took effect is %s", name, last[:1])
			}
		})
	}
}

func TestBatchTakesOneCallOfAnySize(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(0))
	many := make([]change, 0, maxBatchFrames+1)
	for n := range cap(many) {
		many = append(many, put(n+1, "x"))
	}
	must(t, update(l, many...))
	if found, err := held(l); err != nil || len(found) != len(many) {
		t.Errorf("%d records of %d, %v", len(found), len(many), err)
	}
}

// A call that gives up while it waits is answered at once and never runs.
func TestCancelledWhileItWaits(t *testing.T) {
	inQueue(t, newMirror, func(h *heldUp) {
		ctx, cancel := context.WithCancel(context.Background())
		ran := false
		o := h.call(func() error { return h.log.Update(ctx, func(*Tx) error { ran = true; return nil }) })
		cancel()
		synctest.Wait()
		if !o.answered() {
			h.t.Error("it waits on")
		}
		h.goOn()
		if err := o.wait(); ran || !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) {
			h.t.Errorf("ran %t, %v", ran, err)
		}
	})
}

// A call whose change is being written cannot give up any more: "nothing was
// stored" would be a lie.
func TestCancelledWhileItIsWritten(t *testing.T) {
	inQueue(t, newMirror, func(h *heldUp) {
		ctx, cancel := context.WithCancel(context.Background())
		h.update(func(tx *Tx) error { tx.Put(id(2), []byte("two")); return nil })
		o := h.call(func() error {
			return h.log.Update(ctx, func(tx *Tx) error { tx.Put(id(3), []byte("three")); return nil })
		})
		h.syncs.pass <- nil
		<-h.syncs.reached
		cancel()
		synctest.Wait()
		if o.answered() {
			h.t.Errorf("it is answered while it is written: %v", o.err)
		}
		h.goOn()
		if found, err := held(h.log); o.wait() != nil || err != nil || found[id(3)] != "three" {
			h.t.Errorf("%v, and the log holds %v, %v", o.err, found, err)
		}
	})
}

// Whoever was made the leader leads, even if its context ends at that moment: the
// others wait for it.
func TestNextLeaderStays(t *testing.T) {
	var q queue
	first, second := &request{turn: make(chan struct{}, 1)}, &request{turn: make(chan struct{}, 1)}
	if !q.join(first) || q.join(second) {
		t.Fatal("the first to come does not lead alone")
	}
	q.take()
	q.passOn()
	if q.leave(second) {
		t.Error("the next leader has left")
	}
}

func TestCancelledIsNotRun(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(0))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ran := false
	r := &request{ctx: ctx, fn: func(*Tx) error { ran = true; return nil }}
	b := &batch{log: l, queued: map[ulid.ULID]change{}}
	if !b.include(r) || ran || !errors.Is(r.err, ErrBusy) {
		t.Errorf("ran %t, %v", ran, r.err)
	}
}

// A call that looked before anything was queued has seen what was durable: its
// answer stands, whatever becomes of those behind it.
func TestAnswerBeforeTheFirstChange(t *testing.T) {
	inQueue(t, newMirror, func(h *heldUp) {
		early := h.update(func(*Tx) error { return nil })
		failing := h.update(func(tx *Tx) error { tx.Put(id(2), []byte("two")); return nil })
		h.syncs.pass <- nil
		<-h.syncs.reached
		h.syncs.pass <- faultfs.ErrInjected
		if err := failing.wait(); !errors.Is(err, ErrPoisoned) {
			h.t.Errorf("the change: %v", err)
		}
		if err := early.wait(); err != nil {
			h.t.Errorf("the one before it: %v", err)
		}
	})
}

// A function that panics does so in the call that brought it, on whatever
// goroutine it ran, and takes nobody along.
func TestPanicStaysWithItsCall(t *testing.T) {
	inQueue(t, newMirror, func(h *heldUp) {
		var thrown any
		before := h.update(func(tx *Tx) error { tx.Put(id(2), []byte("two")); return nil })
		h.call(func() error {
			defer func() { thrown = recover() }()
			return h.log.Update(context.Background(), func(tx *Tx) error {
				tx.Put(id(3), []byte("three"))
				panic("thrown")
			})
		})
		behind := h.update(func(tx *Tx) error { tx.Put(id(4), []byte("four")); return nil })
		h.goOn()
		if thrown != "thrown" || before.wait() != nil || behind.wait() != nil {
			h.t.Errorf("thrown %v, the others got %v and %v", thrown, before.err, behind.err)
		}
		found, err := held(h.log)
		must(h.t, err)
		if diff := cmp.Diff(contents{id(1): "one", id(2): "two", id(4): "four", id(100): "first"}, found); diff != "" {
			h.t.Error(diff)
		}
	})
}

// staging is a mirror whose stage notes what it is told and refuses record 13.
type staging struct{ mirror }

func newStaging() Sink { return &staging{mirror{held: contents{}}} }

func (*staging) Stage() Stage { return &noted{} }

type noted struct{ records []string }

func (n *noted) Apply(r Record) error {
	if r.ID == id(13) {
		return errRefused
	}
	n.records = append(n.records, fmt.Sprintf("%d %t %s", r.ID[15], r.Deleted, r.Payload))
	return nil
}

// A queued function sees what those before it have queued, in every way in which
// it can look.
func TestQueuedChangesAreSeen(t *testing.T) {
	inQueue(t, newStaging, func(h *heldUp) {
		h.update(func(tx *Tx) error {
			tx.Put(id(105), []byte("queued"))
			tx.Delete(id(1))
			return nil
		})
		sees := func(tx *Tx) error {
			got, err := tx.Get(id(105))
			_, gone := tx.Get(id(1))
			stage, _ := tx.Stage().(*noted)
			if string(got) != "queued" || !errors.Is(gone, ErrNotFound) || tx.LastID() != id(105) ||
				stage == nil || !slices.Equal(stage.records, []string{"105 false queued", "1 true "}) {
				return fmt.Errorf("get %q (%w), the deleted one: %w, last id %v, stage %+v", got, err, gone, tx.LastID(), stage)
			}
			clear(got) // it belongs to the caller
			return nil
		}
		calls := []*outcome{h.update(sees), h.update(sees)}
		h.goOn()
		for _, o := range calls {
			if err := o.wait(); err != nil {
				h.t.Error(err)
			}
		}
		must(h.t, h.log.View(context.Background(), func(v *View) error {
			if got, err := v.Get(id(105)); string(got) != "queued" {
				h.t.Errorf("written was %q, %v", got, err)
			}
			return nil
		}))
	})
}

// What the stage refuses the sink would refuse when it is too late.
func TestStageRefuses(t *testing.T) {
	o := testOptions()
	o.NewSink = newStaging
	l, err := Open(context.Background(), vfs.NewMem(0), o)
	must(t, err)
	defer l.Close()
	if err := update(l, put(13, "refused")); !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
	must(t, update(l, put(14, "fourteen")))
	if n := l.Stats().LiveRecords; n != 1 {
		t.Errorf("%d records", n)
	}
}

// A rebuild puts its log in place only between commits.
func TestRebuildWaitsForTheWriter(t *testing.T) {
	inQueue(t, newMirror, func(h *heldUp) {
		o := h.call(func() error { return rebuild(h.log) })
		if o.answered() {
			h.t.Errorf("it did not wait: %v", o.err)
		}
		h.goOn()
		if err := o.wait(); err != nil {
			h.t.Error(err)
		}
		found, err := held(h.log)
		must(h.t, err)
		if diff := cmp.Diff(contents{id(1): "one", id(100): "first"}, found); diff != "" {
			h.t.Error(diff)
		}
	})
}
