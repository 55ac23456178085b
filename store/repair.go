package store

import (
	"errors"

	"example.com/convmem/store/vfs"
)

// checkLoss decides whether the log, whose whole groups end at X because of bad
// (nil when they end with the file), lost something that was durable. Its error
// is a *CorruptError then, or that of a failed read.
func (l *Log) checkLoss(size int64, bad error) error {
	end := l.gen.end
	if bad == nil {
		bad = &badFrame{offset: end.offset, reason: "the log ends before what was durable"}
	}
	lost := end.offset < l.gen.header.sealedEnd
	if s := l.lock.current; l.matching() {
		lost = lost || end.offset < s.durableEnd || end.offset == s.durableEnd && end.chain != s.chain
	}
	if !lost && end.offset < size {
		var err error
		if lost, err = vouched(l.gen.file, l.gen.salt, end.offset, size); err != nil {
			return err
		}
	}
	if !lost {
		return nil
	}
	var reason *badFrame
	errors.As(bad, &reason)
	return &CorruptError{File: l.gen.name, Offset: reason.offset, Reason: reason.reason}
}

// matching reports whether LOCK speaks of the log that is open.
func (l *Log) matching() bool { return l.lock.valid && l.lock.current.names(l.gen.header) }

// clean reports whether the log is exactly what its last holder left durable.
func (l *Log) clean(size int64) bool {
	s := l.lock.current
	return l.matching() && !s.dirty && s.durableEnd == size && l.gen.end.offset == size
}

// repair makes the log durable up to its last whole group, which is kept even if
// nobody was told of it, and cuts off what follows.
func (l *Log) repair(size, watermark int64, otherGenerations bool) error {
	known, sure := l.knownDurable(watermark)
	if err := l.lock.markDirty(); err != nil {
		return err
	}
	if !sure || otherGenerations {
		if err := l.syncDirAgain(); err != nil {
			return err
		}
	}
	// After a failed sync reads may show bytes that the disk lacks, and another
	// sync would not write them: they have to be written again.
	if err := rewrite(l.gen.file, known, l.gen.end.offset); err != nil {
		return err
	}
	if err := l.cutTail(size); err != nil {
		return err
	}
	return l.gen.file.Sync()
}

// knownDurable returns an offset below which the log needs no repair, and
// whether LOCK vouches for it and for the log's name.
func (l *Log) knownDurable(watermark int64) (end int64, sure bool) {
	if !l.matching() {
		return max(watermark, l.gen.header.sealedEnd), false
	}
	return l.lock.current.durableEnd, !l.lock.current.dirty
}

// cutTail cuts off what follows the last whole group.
func (l *Log) cutTail(size int64) error {
	end := l.gen.end.offset
	if end == size {
		return nil
	}
	l.recoveredTail = true
	l.options.Logger.Warn("an unfinished write was cut off", "file", l.gen.name, "offset", end, "bytes", size-end)
	return l.gen.file.Truncate(end)
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

// removeOlder removes the logs that rebuilds replaced. The caller syncs the
// directory.
func (l *Log) removeOlder() error {
	names, err := l.fs.List()
	for _, generation := range generations(names) {
		if generation < l.gen.header.generation {
			err = errors.Join(err, l.removeLog(logName(generation)))
		}
	}
	return err
}

// removeLog empties and removes a log file, so that its bytes go even while
// somebody has it open. It fails when neither worked.
func (l *Log) removeLog(name string) error {
	emptied := l.empty(name)
	if err := l.fs.Remove(name); err != nil && emptied != nil {
		return errors.Join(emptied, err)
	}
	return nil
}

// empty takes the bytes out of a log file. What is no log is left alone: it may
// be a link to something else.
func (l *Log) empty(name string) error {
	file, err := l.fs.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(emptyFile(name, file), file.Close())
}

func emptyFile(name string, file vfs.File) error {
	if size, err := file.Size(); size == 0 || err != nil {
		return err
	}
	if _, err := readHeader(name, file); err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	return file.Sync()
}
