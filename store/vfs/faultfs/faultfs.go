// Package faultfs makes a file system fail on purpose, for tests of what is
// built on it. It wraps any [vfs.FS], logs every call, and makes chosen calls
// fail in chosen ways. Not for production: the log only grows.
//
// A test that makes each call of a run fail, one run after another, is one loop:
//
//	for n := 0; ; n++ {
//		fs := faultfs.New(vfs.NewMem(0))
//		fs.FailNth(faultfs.Any, n, faultfs.ErrInjected)
//		run(t, fs)
//		if fs.Fired() == 0 {
//			break // the run has no n-th call
//		}
//	}
//
// The same loop with [FS.Inject] tries other effects, and with [FS.SetBudget] a
// disk that is full after n bytes. [FS.Before] and [FS.After] are called around
// every call; a test of crashes takes its images there.
package faultfs

import (
	"errors"
	"slices"
	"sync"

	"example.com/convmem/store/vfs"
)

var (
	// ErrInjected is the error of a fault that names no other.
	ErrInjected = errors.New("faultfs: injected failure")

	// ErrKilled is the error of every call after [FS.Kill].
	ErrKilled = errors.New("faultfs: the process was killed")
)

// FS is a file system with faults. Its methods, and those of its files and
// locks, are safe for use by many goroutines at once; what a Lock allows is
// narrower, see [vfs.Lock].
type FS struct {
	// Before, when set, is called before each call is passed on, on the
	// goroutine of the caller and without any lock held: it may take crash
	// images, wait, inject faults or kill. An error makes the call fail with
	// that error, not passed on, as a fault that fired. Set it while no call
	// is running.
	Before func(Op) error

	// After, when set, is called when a call is over, with its error. The rest
	// is as for Before.
	After func(Op)

	inner vfs.FS

	// alive is held for reading while a call is passed on, and guards killed.
	alive  sync.RWMutex
	killed bool

	mu     sync.Mutex // guards what follows; not held during calls or hooks
	log    []Op
	rules  []*rule
	fired  int
	budget int64               // bytes still to be written; negative: no limit
	open   map[closer]struct{} // what Kill must release
}

type closer interface{ Close() error }

var _ vfs.FS = (*FS)(nil)

// New returns a file system that passes everything on to inner until told
// otherwise.
func New(inner vfs.FS) *FS {
	return &FS{inner: inner, budget: -1, open: map[closer]struct{}{}}
}

// Ops returns a copy of the log: every call so far in the order in which they
// began. A call that has not ended yet has no error.
func (f *FS) Ops() []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// Fired returns how many calls have failed because of a fault, the byte budget
// or Before. Calls that failed because of Kill, or by themselves, do not count.
func (f *FS) Fired() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// Kill does to this FS what kill -9 does to a process: its locks are free, its
// files are closed, and every call from now on fails with ErrKilled, also one
// that waits in Before. A call that is already being passed on ends first. The
// inner file system lives on for others.
func (f *FS) Kill() {
	f.alive.Lock()
	defer f.alive.Unlock()
	f.killed = true
	f.mu.Lock()
	defer f.mu.Unlock()
	for handle := range f.open {
		_ = handle.Close() // nobody is left to hear of an error
	}
	clear(f.open)
}

// call is an operation and the ways it can go.
type call struct {
	op    Op
	whole func() error
	short func(keep int) // nil: Short is NotDone
	lose  func()         // nil: Lost is NotDone
}

// do runs one call through log, hooks and faults.
func (f *FS) do(c call) error {
	c.op = f.record(c.op)
	var err error
	if f.Before != nil {
		err = f.Before(c.op)
	}
	c.op.Err = f.pass(c, err)
	f.mu.Lock()
	f.log[c.op.Index].Err = c.op.Err
	f.mu.Unlock()
	if f.After != nil {
		f.After(c.op)
	}
	return c.op.Err
}

func (f *FS) record(op Op) Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	op.Index = len(f.log)
	f.log = append(f.log, op)
	return op
}

// pass performs the call as the faults want it, unless Before has refused it.
func (f *FS) pass(c call, refused error) error {
	f.alive.RLock()
	defer f.alive.RUnlock()
	if f.killed {
		return ErrKilled
	}
	fault := f.decide(c.op, refused)
	switch {
	case fault.Err == nil:
		return c.whole()
	case fault.Effect == Done:
		_ = c.whole() // whatever came of it, the caller hears of the fault
	case fault.Effect == Short && c.short != nil:
		c.short(fault.Keep)
	case fault.Effect == Lost && c.lose != nil:
		c.lose()
	}
	return fault.Err
}

func (f *FS) keepOpen(handle closer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[handle] = struct{}{}
}

// release closes a handle even when the call is to fail: a close that fails has
// closed the file all the same, and a test must not leak.
func (f *FS) release(handle closer) error {
	f.mu.Lock()
	delete(f.open, handle)
	f.mu.Unlock()
	return handle.Close()
}
