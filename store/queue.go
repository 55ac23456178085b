package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// request is a call of Update that waits for its batch.
type request struct {
	ctx      context.Context
	fn       func(*Tx) error
	deadline time.Time     // for LOCK
	turn     chan struct{} // receives one value: the request leads now, or is over
	leads    bool
	// dependent: fn saw, or made, changes of its batch.
	dependent bool
	err       error
	panicked  any // of fn, which ran on the leader's goroutine
}

// queue holds the requests in the order of their calls. The first one leads: it
// takes the others along in its batch, and when that is over it makes the first
// of those that came meanwhile the next leader. No goroutine stands by, so a
// lone change costs no switch.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	leading bool
}

// join appends r and reports whether it leads.
func (q *queue) join(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, r)
	r.leads, q.leading = !q.leading, true
	return r.leads
}

// leave takes r out and reports whether it was still waiting.
func (q *queue) leave(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting, r)
	if at < 0 || r.leads {
		return false
	}
	q.waiting = slices.Delete(q.waiting, at, at+1)
	return true
}

// take removes the first request, nil when there is none.
func (q *queue) take() *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil
	}
	first := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return first
}

// putBack makes r the first one again.
func (q *queue) putBack(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.Insert(q.waiting, 0, r)
}

// passOn makes the first request the next leader.
func (q *queue) passOn() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leading = len(q.waiting) > 0
	if q.leading {
		q.waiting[0].leads = true
		q.waiting[0].turn <- struct{}{}
	}
}

// Update runs fn alone among all writers, of this and of other processes, on the
// newest state. When it returns nil, all that fn put and deleted is durable and
// visible, together; when fn changed nothing, nothing was written. An error of fn
// is returned as it is, and nothing of it is written; so it is with ErrTooLarge,
// and with ErrNotFound for the deletion of a record that is not live.
//
// Calls that come while another one is being written wait and are then written
// together: their functions run one after another, in the order of the calls, on
// one of their goroutines, each seeing what those before it have changed. fn may
// run more than once; what its last run changed counts.
//
// The context counts only until fn runs. Update fails with ErrBusy when another
// process has the lock of writers for longer than Options.LockWait. After a
// failed write the log is as before and goes on. After a failed sync the outcome
// is unknown, the changes may still appear, and Update fails with ErrPoisoned
// from then on; views go on.
//
// A change costs one write and one data sync of the log, and one small write
// that is not synced; a batch of up to 1,024 frames or 8 MiB costs no more.
func (l *Log) Update(ctx context.Context, fn func(*Tx) error) error {
	if err := cancelled(ctx); err != nil {
		return err
	}
	r := &request{ctx: ctx, fn: fn, deadline: l.deadline(), turn: make(chan struct{}, 1)}
	if !l.queue.join(r) {
		select {
		case <-r.turn:
		case <-ctx.Done():
			if l.queue.leave(r) {
				return cancelled(ctx)
			}
			<-r.turn
		}
	}
	if r.leads {
		l.lead(r)
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// deadline is until when a call that begins now waits for LOCK.
func (l *Log) deadline() time.Time { return time.Now().Add(l.options.LockWait) }

// lead writes a batch that begins with r.
func (l *Log) lead(r *request) {
	defer l.queue.passOn()
	err := acquire(r.ctx, l.writing)
	if err == nil {
		defer release(l.writing)
		err = l.beginWrite(r.ctx, r.deadline)
	}
	if err != nil {
		l.queue.take() // r, the first
		r.err = l.state.noteEntry(err)
		return
	}
	b := &batch{log: l, lastID: l.gen.lastID}
	err = errAbandoned
	// Also when a function of somebody else panics, or ends the goroutine.
	defer func() {
		l.leave()
		b.answer(err)
	}()
	b.gather()
	err = errUnfinished
	err = l.finish(b)
	l.snapshotWhenDue()
}

var (
	errAbandoned  = errors.New("nothing was written: another update of the batch ended without returning")
	errUnfinished = errors.New("the outcome of this change is unknown: writing it ended without returning")
)

// beginWrite makes the caller, who holds writing, the only writer of all
// processes, on the newest state.
func (l *Log) beginWrite(ctx context.Context, deadline time.Time) error {
	if err := l.writable(); err != nil {
		return err
	}
	return l.enter(ctx, deadline)
}

// writable says why nothing can be written, or nil. The caller holds writing or
// mu.
func (l *Log) writable() error {
	if l.closed {
		return ErrClosed
	}
	if l.options.ReadOnly {
		return ErrReadOnly
	}
	return l.state.poisoned()
}
