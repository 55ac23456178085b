package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.com/convmem/store/vfs"
)

// Open opens the store in fsys, or creates it when there is none, and replays
// the log into a sink made by Options.NewSink.
//
// It waits up to Options.LockWait for another process and then fails with
// ErrBusy. What a crash left unfinished is completed or cut off. A damaged store
// and one of a newer version fail with ErrCorrupt, and no file of theirs is
// changed; only a LOCK that is missing is made. Any other error is a failed file
// operation.
//
// The cost is one read of the whole log, plus, after a crash, one sync.
func Open(ctx context.Context, fsys vfs.FS, o Options) (*Log, error) {
	o = o.withDefaults()
	counter := vfs.Count(fsys)
	lock, err := takeLockFile(ctx, counter, o.LockWait)
	if err != nil {
		return nil, err
	}
	l := &Log{
		options: o, fs: counter, lock: lock,
		rebuilding: make(chan struct{}, 1), writing: make(chan struct{}, 1),
	}
	if err := l.open(); err != nil {
		return nil, errors.Join(err, l.abandon())
	}
	return l, nil
}

// abandon releases what a failed Open holds.
func (l *Log) abandon() error {
	if l.gen == nil {
		return l.lock.close()
	}
	return errors.Join(l.gen.file.Close(), l.lock.close())
}

func (l *Log) open() error {
	names, err := l.fs.List()
	if err != nil {
		return err
	}
	logs := generations(names)
	if len(logs) == 0 {
		err = l.create()
	} else {
		err = l.recover(logs)
	}
	if err != nil {
		return err
	}
	if err := l.lock.grow(); err != nil {
		return err
	}
	// The slot names this process for the message of those who wait.
	if err := l.lock.write(l.gen.slot()); err != nil {
		return err
	}
	if len(logs) > 1 {
		if err := l.removeOlder(); err != nil {
			l.options.Logger.Warn("a replaced log could not be removed", "err", err)
		}
		if err := l.fs.SyncDir(); err != nil {
			return err
		}
	}
	if err := l.removeTemporary(); err != nil {
		l.options.Logger.Warn("an unfinished file could not be removed", "err", err)
	}
	return nil
}

// generations returns the generations of the logs among names, rising.
func generations(names []string) []uint64 {
	var found []uint64
	for _, name := range names {
		if generation, ok := parseLogName(name); ok {
			found = append(found, generation)
		}
	}
	slices.Sort(found)
	return found
}

// create makes the first log file of a new store.
func (l *Log) create() error {
	if l.lock.valid {
		return &CorruptError{File: lockName, Offset: slotA, Reason: "it names a log that is not in the directory"}
	}
	h, err := l.newHeader(1)
	if err != nil {
		return err
	}
	h.sealedEnd = headerSize
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
	if err := tmp.rename(logName(1)); err != nil {
		return err
	}
	if err := l.fs.SyncDir(); err != nil {
		return err
	}
	l.gen, err = openGeneration(l.fs, logName(1), l.options.NewSink())
	return err
}

// newHeader starts the header of a log file. sealedEnd is for the caller to
// set when it knows it.
func (l *Log) newHeader(generation uint64) (header, error) {
	h := header{
		formatVersion: FormatVersion, minReader: minReaderVersion,
		generation: generation, created: uint64(l.options.Now().UnixMilli()),
	}
	_, err := io.ReadFull(l.options.Rand, h.fileID[:])
	return h, err
}

// recover loads the newest log and repairs what a crash left, unless it is
// damaged.
func (l *Log) recover(logs []uint64) error {
	newest := logs[len(logs)-1]
	if l.lock.valid && l.lock.current.generation > newest {
		return &CorruptError{File: lockName, Offset: slotA, Reason: fmt.Sprintf(
			"it names generation %d, the newest log is of generation %d", l.lock.current.generation, newest)}
	}
	var err error
	if l.gen, err = openGeneration(l.fs, logName(newest), l.options.NewSink()); err != nil {
		return err
	}
	if l.lock.valid && l.lock.current.generation == newest && !l.matching() {
		return &CorruptError{File: l.gen.name, Reason: "it is not the file that " + lockName + " names"}
	}
	size, err := l.gen.file.Size()
	if err != nil {
		return err
	}
	watermark, err := l.gen.load(size)
	if err != nil && !isBadFrame(err) {
		return err
	}
	if err := l.checkLoss(size, err); err != nil {
		return err
	}
	if l.clean(size) && len(logs) == 1 {
		return nil
	}
	return l.repair(size, watermark, len(logs) > 1)
}
