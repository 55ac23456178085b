package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// enter takes LOCK and brings this process up to everything that is durable,
// repairing what another may have left. What takes long is done before LOCK is
// taken, so that others hardly wait. The caller holds writing and leaves again
// unless enter failed.
func (l *Log) enter(ctx context.Context, deadline time.Time) error {
	if l.options.Exclusive {
		return nil // LOCK is held, and nobody else can have written
	}
	if err := l.catchUp(); err != nil {
		return err
	}
	return l.enterWith(ctx, deadline, nil, l.catchUp)
}

// enterWith is enter with a generation that was loaded already, or nil. While it
// waits for LOCK it calls keepUp: what this process has to catch up with under
// the lock makes everybody wait.
func (l *Log) enterWith(ctx context.Context, deadline time.Time, loaded *generation, keepUp func() error) error {
	for {
		if err := l.lock.acquire(ctx, deadline, keepUp); err != nil {
			return errors.Join(err, loaded.discard())
		}
		settled, err := l.settle(loaded)
		if settled {
			return nil
		}
		err = errors.Join(err, l.letGo(), loaded.discard())
		if err == nil {
			err = cancelled(ctx)
		}
		if err == nil {
			loaded, err = l.loadNewest()
		}
		if err != nil {
			return err
		}
	}
}

// discard closes a generation that was loaded and is not used, if there is one.
func (g *generation) discard() error {
	if g == nil {
		return nil
	}
	return g.file.Close()
}

// leave lets go of LOCK.
func (l *Log) leave() {
	if l.options.Exclusive {
		return
	}
	passThrough(&l.following)
	_ = l.letGo() // what was done stands, and poison keeps the next call away
}

// passThrough makes what this goroutine did, such as reading gen without a lock,
// happen before what the next owner of m does. LOCK sees to that order, but the
// memory model of the language knows nothing of files.
func passThrough(m *sync.Mutex) {
	m.Lock()
	defer m.Unlock()
}

// letGo unlocks LOCK. When that fails nobody knows who holds it.
func (l *Log) letGo() error {
	if err := l.lock.release(); err != nil {
		return l.poison("letting go of "+lockName, err)
	}
	return nil
}

// settle makes gen the newest generation, with all of it durable and applied.
// It returns false when the newest one is neither gen nor loaded, which nobody
// should wait for. The caller holds LOCK.
func (l *Log) settle(loaded *generation) (bool, error) {
	l.following.Lock()
	defer l.following.Unlock()
	if err := l.lock.read(); err != nil {
		return false, err
	}
	if undisturbed, err := l.undisturbed(); err != nil {
		return false, err
	} else if undisturbed && loaded == nil {
		err := l.complete(l.gen, false)
		return err == nil, err
	}
	names, err := l.fs.List()
	if err != nil {
		return false, err
	}
	logs := generations(names)
	if err := l.checkNames(names, logs); err != nil {
		return false, err
	}
	if len(logs) == 0 {
		err := l.create()
		return err == nil, err
	}
	g, err := l.pick(logs[len(logs)-1], loaded)
	if g == nil || err != nil {
		return false, err
	}
	if err := l.complete(g, len(logs) > 1); err != nil {
		if errors.Is(err, errReplaced) {
			err = nil
		}
		return false, err
	}
	if g != l.gen {
		l.swap(g)
		return true, nil
	}
	return true, loaded.discard()
}

// undisturbed reports whether the directory is as this process knows it, so that
// it need not be listed. Whoever makes a log marks LOCK dirty first, and names the
// new one when it is done.
func (l *Log) undisturbed() (bool, error) {
	s := l.lock.current
	if l.gen == nil || l.leftover || !l.lock.valid || s.dirty || !s.names(l.gen.header) {
		return false, nil
	}
	return l.fs.SameFile(l.gen.name, l.gen.file)
}

// checkNames compares the logs in the directory with what LOCK and this process
// know of: one that was durable cannot be gone.
func (l *Log) checkNames(names []string, logs []uint64) error {
	var newest, known uint64
	if len(logs) > 0 {
		newest = logs[len(logs)-1]
	}
	if l.lock.valid {
		known = l.lock.current.generation
	}
	if l.gen != nil {
		known = max(known, l.gen.header.generation)
	}
	if known > newest {
		return &CorruptError{File: logName(known), Reason: "the log is not in the directory"}
	}
	if newest == 0 && slices.Contains(names, snapshotName) {
		return &CorruptError{File: snapshotName, Reason: "it describes a log that is not in the directory"}
	}
	return nil
}

// pick returns whichever of gen and loaded is the open file of the generation,
// or nil when neither is.
func (l *Log) pick(number uint64, loaded *generation) (*generation, error) {
	for _, g := range []*generation{l.gen, loaded} {
		if g == nil || g.header.generation != number {
			continue
		}
		same, err := l.fs.SameFile(g.name, g.file)
		if same || err != nil {
			return g, err
		}
		// After a failed sync of the directory, names may go by themselves.
		if now, err := l.newest(); err != nil || now != number {
			return nil, err
		}
		return g, g.foreign()
	}
	return nil, nil
}

// complete repairs the log of g unless its last writer left it clean, and
// applies what g does not have yet.
func (l *Log) complete(g *generation, otherGenerations bool) error {
	if s := l.lock.current; l.lock.valid && s.generation == g.header.generation && !s.names(g.header) {
		return g.foreign()
	}
	size, err := g.file.Size()
	if err != nil {
		return err
	}
	if !l.clean(g, size) || otherGenerations {
		if err := l.lock.checkName(); err != nil {
			return err
		}
		if err := l.repair(g, size, otherGenerations); err != nil {
			return err
		}
	}
	if g == l.gen {
		return l.applyUpTo(l.lock.current)
	}
	if err := g.load(l.lock.current.durableEnd); err != nil {
		return g.unreadable(err)
	}
	return g.reached(l.lock.current)
}

// clean reports whether the log is exactly what LOCK says is durable.
func (l *Log) clean(g *generation, size int64) bool {
	s := l.lock.current
	return l.lock.valid && s.names(g.header) && !s.dirty && s.durableEnd == size
}

// create makes the first log file of a new store.
func (l *Log) create() error {
	h, err := l.newHeader(1)
	if err != nil {
		return err
	}
	h.sealedEnd = headerSize
	if err := l.publishEmpty(h); err != nil {
		return err
	}
	g, err := l.openGeneration(1)
	if err != nil {
		return err
	}
	if err := l.lock.write(g.slot()); err != nil {
		return fmt.Errorf("announcing a new store: %w", errors.Join(err, g.file.Close()))
	}
	l.swap(g)
	return nil
}

// publishEmpty makes a log that holds nothing but its header.
func (l *Log) publishEmpty(h header) error {
	tmp, err := l.createTemporary(newPrefix)
	if err != nil {
		return err
	}
	if _, err := tmp.file.WriteAt(h.encode(), 0); err != nil {
		return errors.Join(err, tmp.discard())
	}
	if err := tmp.file.Sync(); err != nil {
		return errors.Join(err, tmp.discard())
	}
	if err := tmp.rename(logName(h.generation)); err != nil {
		return err
	}
	return l.fs.SyncDir()
}
