package store

import (
	"context"
	"errors"
	"io"
	"slices"

	"example.com/convmem/store/vfs"
)

// Open opens the store in fsys, or creates it when there is none, and brings a
// sink made by Options.NewSink up to it.
//
// What a crash left unfinished is completed or cut off, for which Open takes the
// lock of writers: it waits up to Options.LockWait and then fails with ErrBusy. A
// damaged store and one of a newer version fail with ErrCorrupt, and no file of
// theirs is changed; only a LOCK that is missing is made. Any other error is a
// failed file operation.
//
// With Options.ReadOnly nothing is created, repaired or locked for others, and a
// directory without a log is an error that matches fs.ErrNotExist.
//
// The cost is a read of the snapshot and of the log behind it, or of the whole
// log where there is no good snapshot, plus, after a crash, one sync.
func Open(ctx context.Context, fsys vfs.FS, o Options) (*Log, error) {
	o = o.withDefaults()
	l := &Log{
		options: o, fs: vfs.Count(fsys),
		rebuilding: make(chan struct{}, 1), writing: make(chan struct{}, 1),
	}
	openLock, open := openLockFile, l.open
	if o.ReadOnly {
		openLock, open = openLockFileToRead, l.openToRead
	}
	var err error
	if l.lock, err = openLock(l.fs); err != nil {
		return nil, err
	}
	if err := open(ctx); err != nil {
		return nil, errors.Join(err, l.abandon())
	}
	return l, nil
}

// abandon releases what a failed Open holds.
func (l *Log) abandon() error { return errors.Join(l.gen.discard(), l.lock.close()) }

func (l *Log) open(ctx context.Context) error {
	if err := l.sweep(); err != nil {
		l.options.Logger.Warn("an unfinished file could not be removed", "err", err)
	}
	loaded, err := l.loadNewest()
	if err != nil {
		return err
	}
	nothing := func() error { return nil } // there is no state yet that could keep up
	if err := l.enterWith(ctx, l.deadline(), loaded, nothing); err != nil {
		return err
	}
	defer l.leave()
	if err := l.removeAll(newPrefix); err != nil {
		l.options.Logger.Warn("an unfinished file could not be removed", "err", err)
	}
	if err := l.lock.grow(); err != nil {
		return err
	}
	if l.options.Exclusive {
		// The slot names this process to those who wait.
		return l.lock.write(l.gen.slot())
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
