// Package store is a crash-safe log of records: opaque payloads under ULIDs,
// appended, replaced and deleted, in one directory.
//
// # What is promised
//
// A change is on stable storage before [Log.Update] returns and before any
// [Log.View] shows it, in whatever process. After a crash at any moment, Open
// finds every change that was acknowledged, and of a change that was not either
// all or nothing.
//
// Any number of processes may have the store open. Changes happen one after
// another over all of them, and each View begins by taking over what others have
// made durable. A process that was killed holds nobody up; one that is stopped
// in the middle of a change makes others wait, at most Options.LockWait, and
// then fail with [ErrBusy], while views go on.
//
// Damage is told from the trace of a crash. Every frame carries how much of the
// log was durable when it was built, so a frame that does not check, with a
// later one that vouches for it, was acknowledged and has been damaged since:
// Open fails with [ErrCorrupt] and changes nothing. Without such a later frame
// it is an unfinished write, and is cut off.
//
// After a failed sync this Log writes nothing more until it is opened again,
// because no later sync can tell what the disk holds.
//
// # Files
//
//	convmem-<generation>.log  the live log; a rebuild makes the next generation
//	convmem.snap              a cache: what the log says up to some offset
//	LOCK                      the lock of writers and what they say is durable
//	MAINT                     the lock of rebuilds and snapshots
//	*.tmp                     files being built
//
// See header, frame, slot and snapshotHeader for their layout, and
// docs/format.md for how they work together.
package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// Options configures a Log.
type Options struct {
	// NewSink makes empty derived state. It is required, and called once for
	// every log file that is opened or built.
	NewSink func() Sink
	// LockWait bounds the wait for another process; 0 means 5 seconds.
	LockWait time.Duration
	// Exclusive keeps other processes from writing for as long as the Log is
	// open, which makes each change a little cheaper. Others can read.
	Exclusive bool
	// ReadOnly opens a store that must exist and changes no file of it.
	// Nothing is created or repaired, and it works where writing is not
	// permitted.
	ReadOnly bool
	// Now gives the creation time of log files; nil means time.Now.
	Now func() time.Time
	// Rand gives file ids; nil means crypto/rand. Frames are only safe from
	// forged content while file ids are secret.
	Rand io.Reader
	// Logger hears of recoveries and failures; nil discards. Payloads are
	// never logged.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.LockWait == 0 {
		o.LockWait = defaultLockWait
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Log is an open store. Its methods may be called by many goroutines at once.
// The functions given to View and Update must not call methods of the same Log.
type Log struct {
	options Options
	fs      *vfs.Counter
	lock    *lockFile
	queue   queue

	// What follows are locks, to be taken in this order.

	// rebuilding is held by a rebuild, and by a snapshot that is written in the
	// background, of which saving tells.
	rebuilding chan struct{}
	saving     atomic.Bool
	// writing is held by whoever may take LOCK. Having LOCK and having
	// settled, it may read gen without mu: nobody else changes it then.
	writing chan struct{}
	// following is held by whoever changes gen.
	following sync.Mutex
	// mu guards what follows against views.
	mu     sync.RWMutex
	gen    *generation
	closed bool

	// Guarded by writing: whether this process wrote since Open, and whether a
	// replaced log could not be removed, which is tried again then.
	wrote    bool
	leftover bool
	buffer   []byte // of commits

	state health
}

// View is an unchanging state of the log, for use by one goroutine.
type View struct {
	log *Log
	gen *generation
	// replaced: another process has replaced the log, and bytes that this
	// view needed are gone.
	replaced bool
}

// Sink returns the derived state. It agrees with what Get returns, and must not
// be used after the function that got the View returns.
func (v *View) Sink() Sink { return v.gen.sink }

// View runs fn with a state that does not change meanwhile. It is durable, and
// at least as new as every change that was acknowledged, by whatever process,
// before View was called. Views run beside each other and beside writes. A write
// waits for the views that run only to make its result visible, and later views
// wait for that: fn should not take long.
//
// fn is run again, on a newer state, when another process's rebuild took the
// file away under it; only its last run counts.
//
// The error is fn's, or ErrClosed, or ErrBusy when ctx had ended before, or that
// of taking over what other processes wrote: ErrCorrupt, or a failed read. A
// View costs a read of 136 bytes of LOCK, without Options.Exclusive.
func (l *Log) View(ctx context.Context, fn func(*View) error) error {
	for {
		if err := cancelled(ctx); err != nil {
			return err
		}
		behind, err := l.look(fn, true)
		if behind {
			if err := l.catchUp(); err != nil {
				return err
			}
			behind, err = l.look(fn, false)
		}
		if !behind {
			return err
		}
	}
}

// look runs fn, unless LOCK is to be compared and says that there is more than
// this process knows. It reports whether there is, also when fn found out.
func (l *Log) look(fn func(*View) error, compare bool) (behind bool, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return false, ErrClosed
	}
	if compare && !l.options.Exclusive {
		s, valid, _, err := l.lock.peek()
		if err != nil || valid && l.gen.isBehind(s) || l.gen.guess.isDoubted() {
			return err == nil, err
		}
	}
	v := &View{log: l, gen: l.gen}
	err = fn(v)
	return v.replaced, err
}

// Get returns a copy of the payload under id: one read of the file and a check
// of its checksum. It fails with ErrNotFound, or with a *CorruptError whose ID
// is set.
func (v *View) Get(id ulid.ULID) ([]byte, error) {
	payload, err := v.gen.get(id)
	if errors.Is(err, ErrCorrupt) {
		if err = v.log.whyUnreadable(v.gen, err); errors.Is(err, errReplaced) {
			v.replaced = true
		}
	}
	return payload, v.log.state.noteDamage(err)
}

// whyUnreadable tells why a part of g that was durable cannot be read, which
// failed with err: errReplaced when another process has taken the log away, the
// error of finding out, or else err.
func (l *Log) whyUnreadable(g *generation, err error) error {
	if l.options.Exclusive {
		return err
	}
	s, valid, _, lookErr := l.lock.peek()
	replaced := valid && s.generation > g.header.generation
	if lookErr == nil && g.guess != nil {
		if replaced, lookErr = l.guessedWrong(g, s); replaced {
			g.guess.doubted.Store(true)
		}
	}
	switch {
	case lookErr != nil:
		return lookErr
	case replaced:
		return errReplaced
	}
	return err
}

// acquire takes one of the channel locks, unless ctx ends first.
func acquire(ctx context.Context, lock chan struct{}) error {
	if err := cancelled(ctx); err != nil {
		return err
	}
	select {
	case lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return cancelled(ctx)
	}
}

// cancelled returns an error that matches both ErrBusy and the context's error
// once ctx has ended.
func cancelled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", &BusyError{Reason: "the call ended before anything was stored"}, ctx.Err())
}

func release(lock chan struct{}) { <-lock }

// Close waits for calls that run, marks the log as cleanly closed, writes a
// snapshot when there is much that none covers, and releases the files. Its errors are those of closing files; nothing acknowledged depends
// on them. Closing again does nothing.
func (l *Log) Close() error {
	l.rebuilding <- struct{}{}
	defer release(l.rebuilding)
	l.writing <- struct{}{}
	defer release(l.writing)
	if l.closed {
		return nil
	}
	if err := l.writeClean(); err != nil {
		l.options.Logger.Warn("the log could not be marked as cleanly closed", "err", err)
	}
	if !l.options.ReadOnly && l.state.poisoned() == nil {
		l.snapshotAfter(func(int64) int64 { return closeGrowth })
	}
	l.following.Lock()
	defer l.following.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return errors.Join(l.gen.file.Close(), l.lock.close())
}

// closePatience bounds how long Close waits for LOCK: a clean frame is good to
// have, and not worth holding up the end of a process.
const closePatience = 100 * time.Millisecond

// writeClean appends a clean frame: its watermark covers the last batch, so that
// damage in it is told from an unfinished write.
func (l *Log) writeClean() error {
	if !l.wrote || l.state.poisoned() != nil {
		return nil
	}
	deadline := time.Now().Add(min(l.options.LockWait, closePatience))
	if err := l.enter(context.Background(), deadline); err != nil {
		return err
	}
	defer l.leave()
	if l.gen.last.kind == kindClean || l.gen.last.kind == 0 {
		return nil
	}
	return l.commit([][]change{{{kind: kindClean}}})
}
