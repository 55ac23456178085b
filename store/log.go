// Package store is a crash-safe log of records: opaque payloads under ULIDs,
// appended, replaced and deleted, in one directory.
//
// # What is promised
//
// A change is on stable storage before [Log.Update] returns and before any
// [Log.View] shows it. After a crash at any moment, Open finds every change that
// was acknowledged, and of a change that was not either all or nothing.
//
// Damage is told from the trace of a crash. Every frame carries how much of the
// log was durable when it was built, so a frame that does not check, with a
// later one that vouches for it, was acknowledged and has been damaged since:
// Open fails with [ErrCorrupt] and changes nothing. Without such a later frame
// it is an unfinished write, and Open cuts it off.
//
// After a failed sync nothing more is written until the log is opened again,
// because no later sync can tell what the disk holds.
//
// # Files
//
//	convmem-<generation>.log  the live log; a rebuild makes the next generation
//	LOCK                      the lock of the writing process and what it says is durable
//	MAINT                     the lock of rebuilds
//	*.tmp                     files being built
//
// See header, frame and slot for their layout, and docs/format.md for how they
// work together.
package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
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

	// rebuilding and writing are locks that a caller can stop waiting for.
	// Whoever holds writing may read gen without mu. Order: rebuilding,
	// writing, mu.
	rebuilding chan struct{}
	writing    chan struct{}

	mu     sync.RWMutex // guards what follows against views
	gen    *generation
	closed bool

	recoveredTail bool
	state         health
}

// View is an unchanging state of the log.
type View struct {
	gen   *generation
	state *health
}

// Sink returns the derived state. It agrees with what Get returns, and must not
// be used after the function that got the View returns.
func (v *View) Sink() Sink { return v.gen.sink }

// View runs fn with a state that does not change meanwhile. Everything in it is
// durable. Views run beside each other and beside writes. A write waits for the
// views that run only to make its result visible, and later views wait for that:
// fn should not take long.
//
// The error is fn's, or ErrClosed, or ErrBusy when ctx had ended before.
func (l *Log) View(ctx context.Context, fn func(*View) error) error {
	if err := cancelled(ctx); err != nil {
		return err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return ErrClosed
	}
	return fn(&View{gen: l.gen, state: &l.state})
}

// Get returns a copy of the payload under id: one read of the file and a check
// of its checksum. It fails with ErrNotFound, or with a *CorruptError whose ID
// is set.
func (v *View) Get(id ulid.ULID) ([]byte, error) {
	payload, err := v.gen.get(id)
	return payload, v.state.noteDamage(err)
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

// Close waits for calls that run, marks the log as cleanly closed and lets go of
// the directory. Its errors are those of closing files; nothing acknowledged
// depends on them. Closing again does nothing.
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
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return errors.Join(l.gen.file.Close(), l.lock.close())
}

// writeClean appends a clean frame: its watermark covers the last batch, so that
// damage in it is told from an unfinished write.
func (l *Log) writeClean() error {
	sealed := l.gen.last == kindClean || l.gen.end.offset == l.gen.header.sealedEnd
	if sealed || l.state.poisoned() != nil {
		return nil
	}
	return l.commit([]change{{kind: kindClean}})
}
