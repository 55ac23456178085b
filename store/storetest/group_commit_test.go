package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"pgregory.net/rapid"
)

// The tests of this file make calls queue up behind one whose sync is held up,
// one after another, so that it is known which of them share a batch and in what
// order they are run.

// gate holds up the next sync of a log.
type gate struct {
	armed  atomic.Bool
	opened chan struct{}
}

func (g *gate) before(op faultfs.Op) error {
	if op.Kind == faultfs.SyncData && isLog(op.Name) && g.armed.CompareAndSwap(true, false) {
		<-g.opened
	}
	return nil
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// fork returns a Model that goes its own way from here.
func (m *Model) fork() *Model {
	other := &Model{now: m.now, lastID: m.lastID, sequence: m.sequence, account: m.account}
	for _, e := range m.entries {
		copied := *e
		copied.message, copied.counted = clone(e.message), nil
		other.entries = append(other.entries, &copied)
	}
	return other
}

// commits is a store with some messages and a gate, and another process.
type commits struct {
	*world
	disk  *vfs.Mem
	fsys  *faultfs.FS
	gate  *gate
	other *convmem.DB
}

func newCommits(t testing.TB, r *rapid.T) *commits {
	c := &commits{disk: vfs.NewMem(0), gate: &gate{opened: make(chan struct{})}}
	c.fsys = faultfs.New(c.disk)
	c.fsys.Before = c.gate.before
	c.world = newWorld(t, r, func(t testing.TB, config Config) Subject {
		return Subject{Store: c.open(t, c.fsys, config.Now)}
	})
	c.other = c.open(c.scope, c.disk, c.clock.Now)
	for i := range 3 {
		c.keep(batchCall{write: &convmem.WriteRequest{SessionID: "session 1", Role: convmem.RoleUser, Content: fmt.Sprint("quartz ", i)}})
	}
	c.keep(batchCall{write: &convmem.WriteRequest{SessionID: "session 1", Role: convmem.RoleUser, Content: "quartz", IdempotencyKey: "key 1"}})
	return c
}

func (c *commits) open(t testing.TB, fsys vfs.FS, now func() time.Time) *convmem.DB {
	db, err := convmem.Open(context.Background(), "", &convmem.Options{FS: fsys, Now: now, LockWait: time.Nanosecond})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return db
}

// keep makes a call of both stores, alone.
func (c *commits) keep(call batchCall) {
	c.compareAnswer(call, c.forSubject(call).do(c.ctx(), c.subject.Store), call.do(c.ctx(), c.model))
}

// forSubject translates a call for the store.
func (c *commits) forSubject(call batchCall) batchCall {
	if call.update != nil {
		call.update = new(*call.update)
		call.update.MessageID = translated(call.update.MessageID, c.toSubject)
	}
	if call.remove != nil {
		call.remove = new(*call.remove)
		call.remove.MessageID = translated(call.remove.MessageID, c.toSubject)
	}
	return call
}

// compareAnswer compares an answer with the Model's, and gets to know the ids of
// new messages.
func (c *commits) compareAnswer(call batchCall, got, want answer) {
	if !compareErrors(c.r, call.name, got.err, want.err) {
		return
	}
	compare(c.r, "results of "+call.name, len(got.several.Results), len(want.several.Results))
	if call.write != nil {
		c.know(got.write, want.write)
	}
	for i := range want.several.Results {
		one := &got.several.Results[i]
		c.know(*one, want.several.Results[i])
		one.Message = c.seen(one.Message)
	}
	got.write.Message, got.update.Message = c.seen(got.write.Message), c.seen(got.update.Message)
	got.err, want.err = nil, nil
	compare(c.r, call.name, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}

// know remembers the ids of a message that a call has written.
func (c *commits) know(got, want convmem.WriteResult) {
	if !want.Replayed {
		ids := pair{got.Message.ID, want.Message.ID}
		c.created = append(c.created, ids)
		c.toSubject[ids.model], c.toModel[ids.subject] = ids.subject, ids.model
	}
}

// someCalls draws calls that get in each other's way.
func (c *commits) someCalls(r *rapid.T) (calls []batchCall) {
	for range choose(r, "calls", 1, 2, 3, 4, 6, 9) {
		call := c.someCall(r)
		call.cancelled = oneIn(r, 8, "cancelled")
		calls = append(calls, call)
	}
	return calls
}

func (c *commits) someCall(r *rapid.T) batchCall {
	id := choose(r, "message", append(c.created[:2:2], c.created[3], pair{model: strangerID(1)})...).model
	content := choose(r, "content", "quartz 0", "quartz", "topaz", "obsidian")
	switch kind := choose(r, "kind", "write", "key", "key", "update", "update", "expect", "expect", "delete", "batch", "batch", "session"); kind {
	case "write":
		return batchCall{name: "write " + content, write: &convmem.WriteRequest{SessionID: "session 1", Role: convmem.RoleUser, Content: content}}
	case "key":
		key := choose(r, "key", "key 1", "key 2")
		return batchCall{name: "write " + content + " with " + key, write: &convmem.WriteRequest{
			SessionID: "session 1", Role: convmem.RoleUser, Content: content, IdempotencyKey: key,
		}}
	case "batch":
		return c.severalCall(r)
	case "session":
		return batchCall{name: "delete session", session: &convmem.DeleteSessionRequest{SessionID: "session 1"}}
	case "delete":
		return batchCall{name: "delete " + id, remove: &convmem.DeleteRequest{MessageID: id}}
	default:
		call := batchCall{name: "update " + id + " to " + content, update: &convmem.UpdateRequest{MessageID: id, Content: &content}}
		if kind == "expect" {
			call.update.ExpectedRevision = choose[int64](r, "expected", 1, 2, 3)
			call.name += fmt.Sprint(" from ", call.update.ExpectedRevision)
		}
		return call
	}
}

// severalCall draws a batch, whose keys others use too.
func (c *commits) severalCall(r *rapid.T) batchCall {
	call := batchCall{name: "batch", several: &convmem.WriteBatchRequest{}}
	for range choose(r, "size", 1, 2, 3) {
		one := plain("session 1", choose(r, "content", "quartz", "quartz", "topaz"), choose(r, "key", "", "key 1", "key 2", "key 3"))
		call.several.Messages = append(call.several.Messages, one)
		call.name += fmt.Sprintf(", %s with %q", one.Content, one.IdempotencyKey)
	}
	return call
}

// histories is what the sessions hold, without ids where the Model's are not
// known.
func (c *commits) histories(s convmem.Store) (all []convmem.Message) {
	result, err := convmem.History(c.ctx(), s, convmem.HistoryRequest{SessionID: "session 1"})
	if err != nil {
		c.r.Fatalf("history: %v", err)
	}
	for _, m := range result.Messages {
		m = c.seen(m)
		if !slices.ContainsFunc(c.created, func(p pair) bool { return p.model == m.ID }) {
			m.ID = "new"
		}
		all = append(all, m)
	}
	return all
}

// queue starts a call that leads and is held up in its sync, and then others
// that wait behind it, and returns their answers to be once release is called.
func (c *commits) queue(lead batchCall, calls []batchCall) (answers []*answer, release func()) {
	answers = make([]*answer, len(calls)+1)
	c.gate.armed.Store(true)
	for i, call := range append([]batchCall{lead}, calls...) {
		answers[i] = new(answer)
		ctx, cancel := context.WithCancel(context.Background())
		c.r.Cleanup(cancel)
		call := c.forSubject(call)
		go func() { *answers[i] = call.do(ctx, c.subject.Store) }()
		synctest.Wait()
		if call.cancelled {
			cancel()
			synctest.Wait()
		}
	}
	if c.gate.armed.Load() {
		c.r.Fatalf("the first call has not come to its sync")
	}
	return answers, func() {
		close(c.gate.opened)
		synctest.Wait()
	}
}

// syncs counts the syncs of logs from an operation on.
func (c *commits) syncs(from int) (n int) {
	for _, op := range c.fsys.Ops()[from:] {
		if op.Kind == faultfs.SyncData && isLog(op.Name) {
			n++
		}
	}
	return n
}

// checkInBubble checks a property where it can be known that all other goroutines
// wait.
func checkInBubble(t *testing.T, property func(testing.TB, *rapid.T)) {
	synctest.Test(t, func(t *testing.T) {
		// Hidden in a struct, t is not asked for its deadline, which the bubble
		// does not allow.
		rapid.Check(struct{ testing.TB }{t}, func(r *rapid.T) { property(t, r) })
	})
}

func leadCall() batchCall {
	return batchCall{name: "lead", write: &convmem.WriteRequest{SessionID: "session 1", Role: convmem.RoleUser, Content: "the first"}}
}

// expect runs calls on forks of the Model: states[i] is the one before call i,
// and changing the first call that changes something.
func (c *commits) expect(calls []batchCall) (answers []answer, states []*Model, changing int) {
	states, changing = []*Model{c.model.fork()}, len(calls)
	for i, call := range calls {
		next := states[i].fork()
		a := answer{err: &convmem.Error{Code: convmem.CodeBusy}}
		if !call.cancelled {
			a = call.do(c.ctx(), next)
		}
		if a.changed() {
			changing = min(changing, i)
		}
		answers, states = append(answers, a), append(states, next)
	}
	return answers, states, changing
}

// TestBatchAnswersInOrder: calls of one batch are answered as if each had been
// made after the one before it, with one sync for all, and nobody sees anything
// before that.
func TestBatchAnswersInOrder(t *testing.T) {
	shared := 0
	defer func() { t.Logf("%d changes rode along", shared) }()
	checkInBubble(t, func(t testing.TB, r *rapid.T) {
		c := newCommits(t, r)
		lead, calls := leadCall(), c.someCalls(r)
		before, from := c.histories(c.model), len(c.fsys.Ops())
		got, release := c.queue(lead, calls)
		compare(r, "history before the sync", c.histories(c.subject.Store), before)
		compare(r, "history of another process before the sync", c.histories(c.other), before)
		release()

		want, states, _ := c.expect(append([]batchCall{lead}, calls...))
		syncs := 1
		for i, call := range append([]batchCall{lead}, calls...) {
			c.compareAnswer(call, *got[i], want[i])
			if i > 0 && want[i].changed() {
				syncs = 2
				shared++
			}
		}
		compare(r, "syncs", c.syncs(from), syncs)
		c.model = states[len(states)-1]
		compare(r, "history", c.histories(c.subject.Store), c.histories(c.model))
		compare(r, "history of another process", c.histories(c.other), c.histories(c.model))
		c.compareHealth(r)
	})
}

// TestBatchFails: when the write or the sync of a batch fails, so does every call
// that made, or looked at, a change of it; those before have their answers; and
// nothing of it is to be seen. After a failed write the store goes on. After a
// failed sync the next writer finds all of it, and a power cut leaves a
// beginning.
func TestBatchFails(t *testing.T) {
	failed := 0
	defer func() { t.Logf("%d calls failed with their batch", failed) }()
	checkInBubble(t, func(t testing.TB, r *rapid.T) {
		c := newCommits(t, r)
		c.keep(batchCall{name: "clean", remove: &convmem.DeleteRequest{MessageID: c.created[2].model}})
		lead, calls := leadCall(), c.someCalls(r)
		got, release := c.queue(lead, calls)
		kind := choose(r, "failing", faultfs.Write, faultfs.Sync)
		fault := faultfs.Fault{
			Kind: kind, Effect: choose(r, "effect", faultfs.NotDone, faultfs.Short, faultfs.Done, faultfs.Lost),
			Match: func(op faultfs.Op) bool { return isLog(op.Name) },
		}
		if kind == faultfs.Sync {
			fault.N = 1 // the sync of the first call is still to come
		}
		c.fsys.Inject(fault)
		release()

		want, _, _ := c.expect([]batchCall{lead})
		c.compareAnswer(lead, *got[0], want[0])
		lead.do(c.ctx(), c.model) // its id in the Model is not used any more
		c.model.entries[len(c.model.entries)-1].message.ID = want[0].write.Message.ID

		want, states, changing := c.expect(calls)
		for i, call := range calls {
			if i >= changing && !call.cancelled {
				want[i] = answer{err: &convmem.Error{Code: convmem.CodeIO}}
				failed++
			}
			c.compareAnswer(call, *got[i+1], want[i])
		}
		base := c.histories(c.model)
		compare(r, "history", c.histories(c.subject.Store), base)
		compare(r, "history of another process", c.histories(c.other), base)
		switch {
		case changing == len(calls):
			c.fsys.Clear()
			fallthrough
		case kind == faultfs.Write:
			c.goOn(r, calls)
		default:
			c.afterFailedSync(r, states)
		}
	})
}

// goOn makes calls again, one by one, now that nothing fails.
func (c *commits) goOn(r *rapid.T, calls []batchCall) {
	for _, call := range calls {
		c.keep(call)
	}
	compare(r, "history after going on", c.histories(c.other), c.histories(c.model))
	c.compareHealth(r)
}

// afterFailedSync looks at what the disk holds and at what the other process
// makes of it. states are those after each call of the batch.
func (c *commits) afterFailedSync(r *rapid.T, states []*Model) {
	if a := leadCall().do(c.ctx(), c.subject.Store); convmem.CodeOf(a.err) != convmem.CodeIO {
		r.Fatalf("a write after a failed sync: got error %v, want %s", a.err, convmem.CodeIO)
	}
	image := c.disk.CrashImage(rand.New(rand.NewPCG(1, uint64(choose(r, "image", distinct(256, func(i int) int { return i })...)))))
	survivor := c.open(c.scope, image, c.clock.Now)
	found := c.histories(survivor)
	if !slices.ContainsFunc(states, func(m *Model) bool { return difference(found, c.histories(m)) == "" }) {
		r.Fatalf("a power cut leaves what no beginning of the batch explains: %v", contents(found))
	}
	if a := c.forSubject(batchCall{remove: &convmem.DeleteRequest{MessageID: strangerID(1)}}).do(c.ctx(), c.other); a.err != nil {
		r.Fatalf("a call by the other process: %v", a.err)
	}
	compare(r, "history after another process has entered", c.histories(c.other), c.histories(states[len(states)-1]))
}
