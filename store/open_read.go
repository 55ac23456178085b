package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"
)

// guess says that a reader shows more than LOCK vouches for: what the next
// writer would keep, if the disk has it. Whatever moves LOCK, or does not read as
// before, is a reason to load the log again.
type guess struct {
	counter uint64 // of the slot that LOCK had
	doubted atomic.Bool
}

func (g *guess) isDoubted() bool { return g != nil && g.doubted.Load() }

// guessedWrong reports whether g, which is a guess, is not what the disk holds any
// more: LOCK, whose slot is s now, has moved, or the file is another one or has
// lost its end.
func (l *Log) guessedWrong(g *generation, s slot) (bool, error) {
	if s.counter != g.guess.counter {
		return true, nil
	}
	if newest, err := l.newest(); err != nil || newest != g.header.generation {
		return err == nil, err
	}
	if same, err := l.fs.SameFile(g.name, g.file); err != nil || !same {
		return err == nil, err
	}
	size, err := g.file.Size()
	return size < g.end.offset, err
}

// openToRead loads what LOCK says is durable. When nobody is writing it also
// shows what a killed writer left, as far as the next writer would keep it; that
// it is durable is not known, and health says so.
func (l *Log) openToRead(ctx context.Context) error {
	for deadline := l.deadline(); ; sleep(ctx, lockPoll) {
		done, err := l.tryToRead()
		if done || err != nil {
			return err
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			return l.lock.busy(ctx)
		}
	}
}

// tryToRead returns false while a writer makes the store.
func (l *Log) tryToRead() (done bool, err error) {
	loaded, err := l.loadNamed()
	if err != nil {
		return false, err
	}
	taken, err := l.lock.tryShared()
	if err != nil {
		return false, errors.Join(err, loaded.discard())
	}
	if !taken {
		return l.readBesideWriter(loaded)
	}
	err = l.readAlone(loaded)
	return err == nil, errors.Join(err, l.lock.releaseShared())
}

// loadNamed loads the log that LOCK names, or else the newest.
func (l *Log) loadNamed() (*generation, error) {
	s, valid, _, err := l.lock.peek()
	if err != nil {
		return nil, err
	}
	if valid {
		g, err := l.loadGeneration(s.generation, s)
		if err == nil && s.names(g.header) {
			return g, nil
		}
		if err := g.discard(); err != nil {
			return nil, err
		}
	}
	return l.loadNewest()
}

// readBesideWriter shows what was loaded: as far as LOCK vouches for it, or else
// as far as its own frames do.
func (l *Log) readBesideWriter(loaded *generation) (done bool, err error) {
	if loaded == nil {
		return false, nil
	}
	s, valid, _, err := l.lock.peek()
	named := valid && s.names(loaded.header)
	if err == nil && named {
		err = loaded.unreadable(loaded.short)
	}
	if err != nil || loaded.short != nil {
		return false, errors.Join(err, loaded.discard())
	}
	if !named {
		loaded.guess = &guess{counter: s.counter}
	}
	l.swap(loaded)
	return true, l.catchUp()
}

// readAlone shows the newest log up to its last whole group. The caller keeps
// writers away.
func (l *Log) readAlone(loaded *generation) error {
	newest, err := l.newest()
	if err == nil && (loaded == nil || loaded.header.generation != newest) {
		err = loaded.discard()
		if err == nil {
			loaded, err = l.loadNewest()
		}
	}
	if err == nil && loaded == nil {
		err = fmt.Errorf("there is no log in the directory: %w", fs.ErrNotExist)
	}
	if err == nil {
		err = l.showTail(loaded)
	}
	if err != nil {
		return errors.Join(err, loaded.discard())
	}
	l.swap(loaded)
	return nil
}

// showTail applies the whole groups behind what is known to be durable.
func (l *Log) showTail(g *generation) (err error) {
	if l.lock.current, l.lock.valid, _, err = l.lock.peek(); err != nil {
		return err
	}
	size, err := g.file.Size()
	if err != nil {
		return err
	}
	t, err := g.findTail(size)
	if err != nil {
		return err
	}
	if err := l.checkLoss(g, t); err != nil {
		return err
	}
	known, sure := l.knownDurable(g, t)
	if err := g.load(t.end.offset); err != nil {
		return err
	}
	if !sure || t.end.offset > known {
		g.guess = &guess{counter: l.lock.current.counter}
	}
	end := g.end.offset
	if g.last.kind == kindClean {
		end = g.last.offset // without it nothing would be missing
	}
	l.state.noteUnconfirmed(end - known)
	return nil
}

// startAgain replaces a guess by what is durable now. The caller holds
// following.
func (l *Log) startAgain() error {
	g, err := l.loadNewest()
	switch {
	case err != nil:
	case g == nil:
		err = &CorruptError{File: l.gen.name, Reason: "the log is not in the directory"}
	case g.short != nil:
		err = errors.Join(g.unreadable(g.short), g.discard())
	}
	if err != nil {
		return l.state.noteDamage(err)
	}
	l.state.noteUnconfirmed(0)
	l.swap(g)
	return nil
}
