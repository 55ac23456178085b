package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

var (
	// ErrStoreExists: the directory that [Salvage] or [Log.Backup] should fill
	// holds files of a store.
	ErrStoreExists = errors.New("the directory holds a store already")
	// ErrNoStore: the directory that [Salvage] should read holds no log.
	ErrNoStore = errors.New("the directory holds no store")
)

// SalvageReport says what [Salvage] found and what it could not save.
type SalvageReport struct {
	// File is the log that was read: the newest of which something is left.
	File string
	// Frames is the number of intact frames in it: states of records that were
	// replaced later and deletions are among them.
	Frames int64
	// Records is the number of records in the new store.
	Records int64
	// SkippedBytes is how much of File is neither an intact header nor in an
	// intact frame that this version knows.
	SkippedBytes int64
	// Gaps are the places where something is lost, those of one file in the
	// order of their offsets. Without gaps nothing is.
	Gaps []Gap
	// Refused are the records that the sink refused, in log order.
	Refused []RefusedRecord
}

// Gap is a place of a damaged store where something is lost.
type Gap struct {
	File   string // name inside the store's directory
	Offset int64
	// Length counts bytes. It goes beyond the end of a file that was cut, and
	// is 0 where two frames stand side by side and something between them is
	// gone.
	Length int64
	Reason string
}

// RefusedRecord is an intact record that is not in the new store because the
// sink does not accept it beside the others.
type RefusedRecord struct {
	ID     ulid.ULID
	Offset int64 // of its frame in the damaged log
	Reason string
}

// Salvage copies every record whose checksum holds out of the damaged store in
// from into a new store in to, and reports what is lost. It is for stores that
// Open refuses with ErrCorrupt, whatever is damaged in them: it needs neither a
// header nor LOCK, only intact frames. A sound store is copied as a whole.
//
// Nothing in from is changed, made or locked, so no process should be writing
// to it. If to holds a store, Salvage fails with ErrStoreExists and writes
// nothing.
//
// The new store holds, of each record, the newest state that is intact. Where a
// gap swallowed an update, that is the state before it; where it swallowed a
// deletion, the record is back; of an atomic change the intact part is kept.
// What was written and never acknowledged may be there as well. Identity and
// order of the records stay, and new ids and sequence numbers will be greater
// than all that are still to be seen in from.
//
// A record that Options.NewSink refuses is left out and reported. Of two that
// exclude each other the newer one is kept: a first sink gets the records newest
// first, with rising Seq all the same, a second one those it took, in log order.
// An Apply that fails must have changed nothing.
//
// A store of a newer version fails with a *VersionError, one without any intact
// frame with a *CorruptError, a directory without logs with ErrNoStore, an ended
// ctx with ErrBusy; any other error is a failed file operation. A read of from
// that fails ends the salvage: copy the files off a failing disk first. After an
// error to holds no store, or, when only the last steps failed, the whole new
// one.
//
// The log is read three times and the new one once. Memory grows with the number of
// records, not with their size.
func Salvage(ctx context.Context, from, to vfs.FS, o Options) (SalvageReport, error) {
	o = o.withDefaults()
	if err := holdsNoStore(to); err != nil {
		return SalvageReport{}, err
	}
	source, err := newestUsable(ctx, from)
	if err != nil {
		return SalvageReport{}, err
	}
	err = source.copyTo(ctx, to, o)
	if err = errors.Join(err, source.file.Close()); err != nil {
		return SalvageReport{}, err
	}
	r := source.report
	o.Logger.Warn("a store was salvaged", "file", r.File, "records", r.Records,
		"gaps", len(r.Gaps), "skipped bytes", r.SkippedBytes, "refused", len(r.Refused))
	return r, nil
}

// holdsNoStore fails with ErrStoreExists if a log is in the directory, or a LOCK
// or a snapshot that tell of one: a new log would read as the wrong one.
func holdsNoStore(fsys vfs.FS) error {
	names, err := fsys.List()
	if err != nil {
		return err
	}
	if len(generations(names)) > 0 || slices.Contains(names, snapshotName) {
		return ErrStoreExists
	}
	slots, err := readSlots(fsys, names)
	if err == nil && len(slots) > 0 {
		err = fmt.Errorf("%w: %s names a log", ErrStoreExists, lockName)
	}
	return err
}

// copyTo makes the new store under the lock of its directory: a process that
// opens it meanwhile waits instead of making another log.
func (l *damagedLog) copyTo(ctx context.Context, to vfs.FS, o Options) error {
	lock, err := to.Lock(lockName)
	if err != nil {
		return err
	}
	taken, err := lock.TryLock()
	if err == nil && !taken {
		err = &BusyError{Reason: "another process is using the directory of the new store"}
	}
	if err == nil {
		err = holdsNoStore(to)
	}
	if err == nil {
		err = l.publish(ctx, to, o)
	}
	return errors.Join(err, lock.Close())
}

// publish gives the new log its name when all of it is durable. The caller
// holds LOCK.
func (l *damagedLog) publish(ctx context.Context, to vfs.FS, o Options) error {
	maker := &Log{options: o, fs: vfs.Count(to)}
	tmp, err := maker.createTemporary(newPrefix)
	if err != nil {
		return err
	}
	if err := l.write(ctx, tmp.file, o); err != nil {
		return errors.Join(err, tmp.discard())
	}
	if err := tmp.rename(logName(1)); err != nil {
		if removeErr := to.Remove(tmp.name); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
		return err
	}
	return to.SyncDir()
}

// write fills file with a whole log and reads it back.
func (l *damagedLog) write(ctx context.Context, file vfs.File, o Options) error {
	live, err := l.compatible(ctx, l.inOrder(), o.NewSink())
	if err != nil {
		return err
	}
	w, err := newLogWriter(file, o)
	if err != nil {
		return err
	}
	for _, at := range live {
		f, err := l.read(ctx, at)
		if err != nil {
			return err
		}
		refusal, err := w.add(f)
		if err != nil {
			return err
		}
		if refusal != nil {
			l.refuse(f, at, refusal)
		} else {
			l.report.Records++
		}
	}
	slices.SortFunc(l.report.Refused, func(a, b RefusedRecord) int { return cmp.Compare(a.Offset, b.Offset) })
	return w.seal(l.lastSeq, l.lastID)
}

// compatible leaves out the records that the sink refuses when it gets the
// newest first. Of two that exclude each other, the older one is only back
// because what removed it is lost.
func (l *damagedLog) compatible(ctx context.Context, live []survivor, sink Sink) ([]survivor, error) {
	kept := make([]survivor, 0, len(live))
	for i, at := range slices.Backward(live) {
		f, err := l.read(ctx, at)
		if err != nil {
			return nil, err
		}
		if refusal := sink.Apply(Record{ID: f.id, Seq: uint64(len(live) - i), Payload: f.payload}); refusal != nil {
			l.refuse(f, at, refusal)
		} else {
			kept = append(kept, at)
		}
	}
	slices.Reverse(kept)
	return kept, nil
}

// read reads and checks a frame again.
func (l *damagedLog) read(ctx context.Context, at survivor) (frame, error) {
	if err := cancelled(ctx); err != nil {
		return frame{}, err
	}
	f, err := readFrameAt(l.file, l.salt, at.offset, at.size)
	if err != nil {
		return frame{}, fmt.Errorf("%s changed while it was read: %w", l.report.File, err)
	}
	return f, nil
}

func (l *damagedLog) refuse(f frame, at survivor, refusal error) {
	l.report.Refused = append(l.report.Refused, RefusedRecord{ID: f.id, Offset: at.offset, Reason: refusal.Error()})
}

// inOrder returns where the live records stand, in the order of their sequence
// numbers. That is log order, unless damage has moved frames.
func (l *damagedLog) inOrder() []survivor {
	live := make([]survivor, 0, len(l.newest))
	for _, s := range l.newest {
		if s.size > 0 {
			live = append(live, s)
		}
	}
	slices.SortFunc(live, func(a, b survivor) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.offset, b.offset))
	})
	return live
}

// logWriter writes the first log of a store from beginning to end.
type logWriter struct {
	file    vfs.File
	header  header
	sink    Sink
	end     position
	pending []byte // encoded frames not yet written, ending at end
}

func newLogWriter(file vfs.File, o Options) (*logWriter, error) {
	h := header{
		formatVersion: FormatVersion, minReader: minReaderVersion,
		generation: 1, created: uint64(o.Now().UnixMilli()),
	}
	if _, err := io.ReadFull(o.Rand, h.fileID[:]); err != nil {
		return nil, err
	}
	return &logWriter{file: file, header: h, sink: o.NewSink(), end: h.start()}, nil
}

// add appends the frame of a put, unless the sink refuses it. Frames keep their
// sequence numbers, except where two have the same one.
func (w *logWriter) add(f frame) (refusal, err error) {
	f.more, f.synced = false, headerSize
	f.seq = max(f.seq, w.end.seq+1)
	if err := w.sink.Apply(Record{ID: f.id, Seq: f.seq, Payload: f.payload}); err != nil {
		return err, nil
	}
	w.pending, w.end = appendFrame(w.pending, f, w.header.salt(), w.end)
	if len(w.pending) < rebuildChunk {
		return nil, nil
	}
	return nil, w.flush()
}

func (w *logWriter) flush() error {
	_, err := w.file.WriteAt(w.pending, w.end.offset-int64(len(w.pending)))
	w.pending = w.pending[:0]
	return err
}

// seal makes the log complete and durable.
func (w *logWriter) seal(lastSeq uint64, lastID ulid.ULID) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.header.sealedEnd = w.end.offset
	w.header.lastSeq, w.header.lastID = max(lastSeq, w.end.seq), lastID
	if _, err := w.file.WriteAt(w.header.encode(), 0); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	return w.readBack()
}

// readBack checks what the file holds now: the header must be the one that was
// written and valid, and the frames must lead, checksum by checksum, to the end.
func (w *logWriter) readBack() error {
	if err := checkHeader(w.file, w.header); err != nil {
		return err
	}
	if _, err := decodeHeader(logName(1), w.header.encode()); err != nil {
		return fmt.Errorf("%w: %w", errCopy, err)
	}
	return checkFrames(w.file, w.header.salt(), w.header.start(), w.end)
}
