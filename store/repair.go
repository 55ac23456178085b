package store

import (
	"cmp"
	"errors"
	"io"
	"io/fs"

	"example.com/convmem/store/vfs"
)

// tail is what a log holds behind what is applied.
type tail struct {
	end       position // behind the last whole group
	bad       error    // why the groups end there, nil when the file does
	size      int64    // of the file
	watermark int64    // an offset that a frame says was durable
}

// findTail reads the groups between what is applied and the end of the file.
func (g *generation) findTail(size int64) (tail, error) {
	s := newScanner(g.file, g.salt, g.end, size)
	for {
		frames, err := s.group()
		if err == nil {
			err = g.checkKinds(frames)
		}
		switch {
		case errors.Is(err, io.EOF):
			err = nil
		case err == nil:
			continue
		case !isBadFrame(err):
			return tail{}, err
		}
		return tail{end: s.at, bad: err, size: size, watermark: max(g.watermark, s.watermark)}, nil
	}
}

// checkKinds refuses frames of a later version before anything is changed.
func (g *generation) checkKinds(frames []located) error {
	for _, f := range frames {
		if f.kind < kindPut || f.kind > kindCarry {
			return g.corrupt(f, unknownKind(f.kind))
		}
	}
	return nil
}

// checkLoss decides whether the log lost something that was durable. Its error
// is a *CorruptError then, or that of a failed read.
func (l *Log) checkLoss(g *generation, t tail) error {
	lost := t.end.offset < g.watermark || t.end.offset > t.size
	if s := l.lock.current; l.matching(g) {
		lost = lost || t.end.offset < s.durableEnd || t.end.offset == s.durableEnd && t.end.chain != s.chain
	}
	if !lost && t.end.offset < t.size {
		var err error
		if lost, err = vouched(g.file, g.salt, t.end.offset, t.size); err != nil {
			return err
		}
	}
	if !lost {
		return nil
	}
	if t.bad == nil {
		t.bad = &badFrame{offset: t.end.offset, reason: "the log ends before what was durable"}
	}
	return g.unreadable(t.bad)
}

// matching reports whether LOCK speaks of the log of g.
func (l *Log) matching(g *generation) bool { return l.lock.valid && l.lock.current.names(g.header) }

// repair makes the log of g durable up to its last whole group, which is kept
// even if nobody was told of it, cuts off what follows and says so in LOCK. Of a
// log that lost something durable nothing is changed. The caller holds LOCK.
func (l *Log) repair(g *generation, size int64, otherGenerations bool) error {
	t, err := g.findTail(size)
	if err != nil {
		return err
	}
	if err := l.checkLoss(g, t); err != nil {
		return err
	}
	err = l.mend(g, t, otherGenerations)
	if err == nil || errors.Is(err, errReplaced) || l.gen == nil {
		return err // an Open that fails leaves nobody behind who could write
	}
	return l.poison("repairing the log", err)
}

func (l *Log) mend(g *generation, t tail, otherGenerations bool) error {
	known, sure := l.knownDurable(g, t)
	if err := l.lock.markDirty(); err != nil {
		return err
	}
	if !sure || otherGenerations {
		if err := l.syncDirAgain(); err != nil {
			return err
		}
		// A name that an earlier sync failed to write may have gone before
		// this one could; the logs that are there must not be removed then.
		if same, err := l.fs.SameFile(g.name, g.file); err != nil || !same {
			return cmp.Or(err, errReplaced)
		}
	}
	// After a failed sync reads may show bytes that the disk lacks, and another
	// sync would not write them: they have to be written again.
	if err := rewrite(g.file, known, t.end.offset); err != nil {
		return err
	}
	if err := l.cutTail(g, t); err != nil {
		return err
	}
	if err := g.file.Sync(); err != nil {
		return err
	}
	next := g.slot()
	next.durableEnd, next.chain = t.end.offset, t.end.chain
	if err := l.lock.write(next); err != nil {
		return err
	}
	if !otherGenerations {
		return nil
	}
	err := l.removeOlder(g.header.generation)
	if l.leftover = err != nil; l.leftover {
		l.options.Logger.Warn("a replaced log could not be removed", "err", err)
	}
	return l.fs.SyncDir()
}

// knownDurable returns an offset below which the log needs no repair, and
// whether LOCK vouches for it and for the log's name.
func (l *Log) knownDurable(g *generation, t tail) (end int64, sure bool) {
	if !l.matching(g) {
		return t.watermark, false
	}
	return l.lock.current.durableEnd, !l.lock.current.dirty
}

// cutTail cuts off what follows the last whole group.
func (l *Log) cutTail(g *generation, t tail) error {
	if t.end.offset == t.size {
		return nil
	}
	l.state.noteCut()
	l.options.Logger.Warn("an unfinished write was cut off", "file", g.name, "offset", t.end.offset, "bytes", t.size-t.end.offset)
	return g.file.Truncate(t.end.offset)
}

// syncDirAgain changes the directory and syncs it. The change matters: after a
// failed sync of the directory the system may take it for clean, and a sync of
// a clean directory does nothing.
func (l *Log) syncDirAgain() error {
	tmp, err := l.createTemporary(newPrefix)
	if err != nil {
		return err
	}
	if err := tmp.discard(); err != nil {
		return err
	}
	return l.fs.SyncDir()
}

// rewrite writes the bytes in [from, to) in place.
func rewrite(f vfs.File, from, to int64) error {
	chunk := make([]byte, min(1<<20, max(0, to-from)))
	for from < to {
		part := chunk[:min(int64(len(chunk)), to-from)]
		if n, err := f.ReadAt(part, from); n < len(part) {
			return err
		}
		if _, err := f.WriteAt(part, from); err != nil {
			return err
		}
		from += int64(len(part))
	}
	return nil
}

// removeOlder removes the logs that the given generation replaced. The caller
// syncs the directory.
func (l *Log) removeOlder(than uint64) error {
	names, err := l.fs.List()
	for _, generation := range generations(names) {
		if generation < than {
			err = errors.Join(err, l.removeLog(logName(generation)))
		}
	}
	return err
}

// removeLog empties and removes a log file.
func (l *Log) removeLog(name string) error {
	return l.erase(name, func(file vfs.File) error {
		_, err := readHeader(name, file)
		return err
	})
}

// erase empties and removes a file, so that its bytes go even while somebody has
// it open. It fails when neither worked. What check says is no file of ours is
// not emptied: it may be a link to something else.
func (l *Log) erase(name string, check func(vfs.File) error) error {
	emptied := l.empty(name, check)
	if errors.Is(emptied, fs.ErrNotExist) {
		return nil
	}
	if err := l.fs.Remove(name); err != nil && emptied != nil {
		return errors.Join(emptied, err)
	}
	return nil
}

func (l *Log) empty(name string, check func(vfs.File) error) error {
	file, err := l.fs.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(emptyFile(file, check), file.Close())
}

func emptyFile(file vfs.File, check func(vfs.File) error) error {
	if size, err := file.Size(); size == 0 || err != nil {
		return err
	}
	if err := check(file); err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	return file.Sync()
}
