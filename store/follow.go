package store

import (
	"errors"
	"io"
)

// isBehind reports whether s names more than g holds. A slot of an older
// generation, or of less, is one that was read while the newer was written.
func (g *generation) isBehind(s slot) bool {
	if g.guess != nil {
		return s.counter != g.guess.counter
	}
	if s.generation != g.header.generation {
		return s.generation > g.header.generation
	}
	return s.durableEnd > g.end.offset || s.fileID != g.header.fileID
}

// catchUp takes over what LOCK says is durable, and no byte more: what follows
// may not be on the disk yet, or never get there.
func (l *Log) catchUp() error {
	l.following.Lock()
	defer l.following.Unlock()
	if l.closed {
		return ErrClosed
	}
	for {
		s, valid, _, err := l.lock.peek()
		if err != nil {
			return err
		}
		if l.gen.guess.isDoubted() {
			return l.startAgain()
		}
		if !valid || !l.gen.isBehind(s) {
			return nil
		}
		if err = l.follow(s); err == nil {
			return nil
		}
		// A rebuild takes files away and empties them under those who read.
		again, _, _, peekErr := l.lock.peek()
		if peekErr != nil {
			return peekErr
		}
		if again.generation <= s.generation {
			return l.state.noteDamage(err)
		}
	}
}

// follow brings gen to what the slot says. The caller holds following.
func (l *Log) follow(s slot) error {
	if l.gen.guess != nil {
		return l.startAgain()
	}
	if s.generation == l.gen.header.generation {
		return l.applyUpTo(s)
	}
	next, err := l.loadGeneration(s.generation, s)
	if err != nil {
		return err
	}
	// Loading again from where it stopped says why it stopped. A snapshot may
	// have brought it further, if LOCK has moved on meanwhile.
	if next.end.offset <= s.durableEnd {
		err = errors.Join(next.unreadable(next.load(s.durableEnd)), next.reached(s))
	}
	if err != nil {
		return errors.Join(err, next.file.Close())
	}
	l.swap(next)
	return nil
}

// applyUpTo applies the groups between what is applied and what the slot says is
// durable, each visible on its own. The caller holds following.
func (l *Log) applyUpTo(s slot) error {
	if s.fileID != l.gen.header.fileID {
		return l.gen.foreign()
	}
	groups := newScanner(l.gen.file, l.gen.salt, l.gen.end, s.durableEnd)
	for {
		frames, err := groups.group()
		if errors.Is(err, io.EOF) {
			return l.gen.reached(s)
		}
		if err != nil {
			return l.gen.unreadable(err)
		}
		if err := l.show(frames, groups.at); err != nil {
			return err
		}
	}
}

// show applies one durable group where views see it.
func (l *Log) show(frames []located, end position) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gen.apply(frames, end)
}

// reached reports as damage that g, loaded up to what s says is durable, does
// not end as s says.
func (g *generation) reached(s slot) error {
	if g.end.offset != s.durableEnd || g.end.chain != s.chain {
		return &CorruptError{File: g.name, Offset: g.end.offset, Reason: "the log is not what was made durable"}
	}
	return nil
}

// unreadable reports a frame that does not check below what is durable.
func (g *generation) unreadable(err error) error {
	var bad *badFrame
	if errors.As(err, &bad) {
		return &CorruptError{File: g.name, Offset: bad.offset, Reason: bad.reason}
	}
	return err
}

func (g *generation) foreign() error {
	return &CorruptError{File: g.name, Reason: "it is not the file that " + lockName + " names"}
}

// loadGeneration opens a log and applies what is known to be durable of it: what
// s says if s names this file, or else what the log's frames vouch for. It needs
// no lock. A log that is damaged is loaded up to there: what that means is for
// the caller to find out.
func (l *Log) loadGeneration(number uint64, s slot) (*generation, error) {
	g, err := l.openGeneration(number)
	if err != nil {
		return nil, err
	}
	err = l.load(g, s)
	if isBadFrame(err) {
		g.short, err = err, nil
	}
	if err != nil {
		return nil, errors.Join(err, g.file.Close())
	}
	return g, nil
}

func (l *Log) load(g *generation, s slot) (err error) {
	if err := l.restore(g); err != nil {
		return err
	}
	limit := s.durableEnd
	if !s.names(g.header) {
		if limit, err = g.findWatermark(); err != nil {
			return err
		}
	}
	// A snapshot may cover more than a LOCK that a power cut made old.
	return g.load(max(limit, g.end.offset))
}

// findWatermark reads the whole log for the greatest offset that a frame says
// was durable.
func (g *generation) findWatermark() (int64, error) {
	size, err := g.file.Size()
	if err != nil {
		return 0, err
	}
	s := newScanner(g.file, g.salt, g.end, size)
	for {
		_, err := s.next()
		if errors.Is(err, io.EOF) || isBadFrame(err) {
			return max(min(g.watermark, size), s.watermark), nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// loadNewest loads the log of the highest generation in the directory as far as
// it is durable, or returns nil when there is none.
func (l *Log) loadNewest() (*generation, error) {
	for {
		newest, err := l.newest()
		if err != nil || newest == 0 {
			return nil, err
		}
		s, _, _, err := l.lock.peek()
		if err != nil {
			return nil, err
		}
		g, err := l.loadGeneration(newest, s)
		if err == nil && g.short == nil {
			return g, nil
		}
		// Only the newest log is sure to stay and to keep its bytes.
		now, listErr := l.newest()
		if listErr == nil && now == newest {
			return g, err
		}
		if err := errors.Join(listErr, g.discard()); err != nil {
			return nil, err
		}
	}
}

// newest returns the highest generation in the directory, 0 if there is none.
func (l *Log) newest() (uint64, error) {
	names, err := l.fs.List()
	if err != nil {
		return 0, err
	}
	logs := generations(names)
	if len(logs) == 0 {
		return 0, nil
	}
	return logs[len(logs)-1], nil
}

// swap shows the next generation to views and closes the one before, which no
// view uses any more. The caller holds following.
func (l *Log) swap(next *generation) {
	old := l.exchange(next)
	if old == nil {
		return
	}
	if err := old.file.Close(); err != nil {
		l.options.Logger.Warn("closing a replaced log failed", "file", old.name, "err", err)
	}
}

func (l *Log) exchange(next *generation) (old *generation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, l.gen = l.gen, next
	return old
}
