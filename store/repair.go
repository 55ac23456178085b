package store

import (
	"errors"

	"example.com/convmem/store/vfs"
)

// damage decides whether the log, whose whole groups end at X because of bad
// (nil when they end with the file), lost something that was durable.
func (l *Log) damage(size int64, bad error) error {
	end := l.gen.end.offset
	if bad == nil {
		bad = &badFrame{offset: end, reason: "the log ends before what was durable"}
	}
	known := l.gen.header.sealedEnd
	if l.matching() {
		known = max(known, l.lock.current.durableEnd)
	}
	lost := end < known
	if !lost && end < size {
		var err error
		if lost, err = vouched(l.gen.file, l.gen.salt, end, size); err != nil {
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

// repair makes the end of the log durable. Whole groups are kept even if nobody
// was told of them; what is not known to be durable is written again, because
// after a failed sync reads may show bytes that the disk lacks, and a sync alone
// would not write them. What follows the last whole group is cut off.
func (l *Log) repair(size, watermark int64, otherGenerations bool) error {
	foreign := !l.matching() || l.lock.current.dirty
	known := max(watermark, l.gen.header.sealedEnd)
	if l.matching() {
		known = l.lock.current.durableEnd
	}
	if err := l.lock.markDirty(); err != nil {
		return err
	}
	if foreign || otherGenerations {
		if err := l.syncDirAgain(); err != nil {
			return err
		}
	}
	end := l.gen.end.offset
	if err := rewrite(l.gen.file, known, end); err != nil {
		return err
	}
	if end < size {
		l.recoveredTail = true
		l.options.Logger.Warn("an unfinished write was cut off", "file", l.gen.name, "offset", end, "bytes", size-end)
		if err := l.gen.file.Truncate(end); err != nil {
			return err
		}
	}
	return l.gen.file.Sync()
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
		if _, err := f.ReadAt(part, from); err != nil {
			return err
		}
		if _, err := f.WriteAt(part, from); err != nil {
			return err
		}
		from += int64(len(part))
	}
	return nil
}

// removeOlder removes logs that a rebuild replaced. One that can be neither
// removed nor emptied is tried again at the next Open.
func (l *Log) removeOlder(logs []uint64) error {
	if len(logs) == 0 {
		return nil
	}
	for _, generation := range logs {
		if err := l.removeLog(logName(generation)); err != nil {
			l.options.Logger.Warn("a replaced log could not be removed", "file", logName(generation), "err", err)
		}
	}
	return l.fs.SyncDir()
}

// removeLog empties and removes a log file, so that its bytes go even while
// somebody has it open. It fails when neither worked. The caller syncs the
// directory.
func (l *Log) removeLog(name string) error {
	file, err := l.fs.Open(name)
	if err != nil {
		return err
	}
	emptied := errors.Join(file.Truncate(0), file.Sync(), file.Close())
	if err := l.fs.Remove(name); err != nil && emptied != nil {
		return errors.Join(emptied, err)
	}
	return nil
}
