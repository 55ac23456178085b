package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// RebuildStats says what a rebuild did.
type RebuildStats struct {
	// Records is the number of live records in the new log.
	Records int64
	// Removed is the number of frames that the new log does not have.
	Removed int64
	// BytesBefore and BytesAfter are the sizes of the log.
	BytesBefore int64
	BytesAfter  int64
}

const rebuildChunk = 1 << 20 // bytes gathered before each write of the copy

// Rebuild writes the live records to a new log file with a fresh sink and
// removes the old one. Nothing that was deleted or replaced before it began is
// left in any file. Views and updates go on, in all processes; only what they
// added meanwhile is copied while updates wait. Other processes move over at
// their next call. A new snapshot is written too.
//
// A rebuild that already runs, in whatever process, makes it fail with ErrBusy.
// A crash at any moment leaves the old log or the new one. A damaged live record
// makes it fail with ErrCorrupt, and nothing is changed.
func (l *Log) Rebuild(ctx context.Context) (RebuildStats, error) {
	if err := l.beginRebuild(ctx); err != nil {
		return RebuildStats{}, err
	}
	defer release(l.rebuilding)
	if err := l.View(ctx, func(*View) error { return l.writable() }); err != nil {
		return RebuildStats{}, err
	}
	maint, err := l.lockMaintenance()
	if err != nil {
		return RebuildStats{}, err
	}
	stats, err := l.rebuild(ctx)
	if err == nil {
		if err := l.saveSnapshot(); err != nil {
			l.options.Logger.Warn("a snapshot could not be written", "err", err)
		}
	}
	if closeErr := maint.Close(); closeErr != nil {
		l.options.Logger.Warn("letting go of "+maintName+" failed", "err", closeErr)
	}
	if errors.Is(err, ErrBusy) {
		return RebuildStats{}, err
	}
	return stats, l.state.noteWrite(l.state.noteDamage(err))
}

// beginRebuild waits for a snapshot that this process is writing, and not for a
// rebuild.
func (l *Log) beginRebuild(ctx context.Context) error {
	select {
	case l.rebuilding <- struct{}{}:
		return nil
	default:
	}
	if l.saving.Load() {
		return acquire(ctx, l.rebuilding)
	}
	return errRebuilding
}

// rebuild makes copies until one is of the log that is still the newest when it
// is done: what a killed rebuild left may be finished by a writer meanwhile.
func (l *Log) rebuild(ctx context.Context) (RebuildStats, error) {
	if err := errors.Join(l.removeAll(rebuildPrefix), l.removeAll(snapshotPrefix)); err != nil {
		return RebuildStats{}, err
	}
	for {
		c, err := l.copyLive(ctx)
		if err != nil && !errors.Is(err, errReplaced) {
			return RebuildStats{}, err
		}
		if err == nil {
			stats, err := l.switchTo(ctx, c)
			if !errors.Is(err, errReplaced) {
				return stats, err
			}
		}
		if err := l.catchUp(); err != nil {
			return RebuildStats{}, err
		}
	}
}

// errReplaced says that the log being copied is not the newest any more.
var errReplaced = errors.New("the log was replaced meanwhile")

// switchTo completes the copy and puts it in the place of the log.
func (l *Log) switchTo(ctx context.Context, c *compaction) (RebuildStats, error) {
	if err := acquire(ctx, l.writing); err != nil {
		return RebuildStats{}, errors.Join(err, c.discard())
	}
	defer release(l.writing)
	if err := l.beginWrite(ctx, l.deadline()); err != nil {
		return RebuildStats{}, errors.Join(err, c.discard())
	}
	defer l.leave()
	if !l.gen.slot().names(c.old.header) {
		return RebuildStats{}, errors.Join(errReplaced, c.discard())
	}
	if err := c.finish(l.gen); err != nil {
		return RebuildStats{}, errors.Join(err, c.discard())
	}
	stats := RebuildStats{
		Records:     int64(c.gen.table.len()),
		Removed:     l.gen.counts.records - c.gen.counts.records,
		BytesBefore: l.gen.end.offset,
		BytesAfter:  c.gen.end.offset,
	}
	if err := l.replace(c); err != nil {
		return RebuildStats{}, err
	}
	return stats, nil
}

// compaction is the next generation under construction.
type compaction struct {
	// old is the log as it was when the copy began, with a handle of its own,
	// live its records, and carry what its sink remembers beside them.
	old   generation
	live  *frozenTable
	carry []byte

	tmp     *temporary
	gen     *generation
	pending []byte // encoded frames not yet written, ending at gen.end
	group   [1]located
}

// discard gives the copy up.
func (c *compaction) discard() error { return errors.Join(c.old.file.Close(), c.tmp.discard()) }

// copyLive copies the live records of this moment, syncs them and checks what
// the file holds, all without keeping writers away.
func (l *Log) copyLive(ctx context.Context) (*compaction, error) {
	c, err := l.beginCopy()
	if err != nil {
		return nil, err
	}
	err = c.copyRecords(ctx)
	c.live = nil // as it holds what the table has replaced since
	if err != nil {
		if errors.Is(err, ErrCorrupt) {
			err = l.whyUnreadable(&c.old, err)
		}
		return nil, errors.Join(err, c.discard())
	}
	return c, nil
}

func (l *Log) beginCopy() (*compaction, error) {
	old, live, carry := l.freeze()
	file, err := l.reopen(&old)
	if err != nil {
		return nil, err
	}
	old.file = file
	c := &compaction{old: old, live: live, carry: carry}
	if err := c.begin(l, old.header.generation+1, rebuildPrefix, l.options.NewSink()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return c, nil
}

// begin makes the file of the new generation in the directory of target.
func (c *compaction) begin(target *Log, number uint64, prefix string, sink Sink) error {
	h, err := target.newHeader(number)
	if err != nil {
		return err
	}
	if c.tmp, err = target.createTemporary(prefix); err != nil {
		return err
	}
	c.gen = newGeneration(logName(number), c.tmp.file, h, sink)
	c.gen.table = newTableFor(c.live.len())
	return nil
}

// freeze returns the state of the log file as it is now, without table and sink
// and with a file that is not its own, its live records, and what its sink
// remembers beside them.
func (l *Log) freeze() (old generation, live *frozenTable, carry []byte) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if carrier, ok := l.gen.sink.(Carrier); ok {
		carry = carrier.Carry()
	}
	old = *l.gen
	old.table, old.sink = nil, nil
	return old, l.gen.table.freeze(), carry
}

// reopen opens the log file of g once more, for somebody who reads it for long:
// the handle of g is closed when the log is replaced. It fails with errReplaced
// when that has happened.
func (l *Log) reopen(g *generation) (vfs.File, error) {
	file, err := l.fs.OpenRead(g.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = l.whyUnreadable(g, err)
	}
	return file, err
}

func (c *compaction) copyRecords(ctx context.Context) error {
	if c.carry != nil {
		if err := c.add(frame{kind: kindCarry, payload: c.carry}); err != nil {
			return err
		}
	}
	in := window{file: c.old.file, end: c.old.end.offset}
	for id, at := range c.live.inLogOrder() {
		f, err := c.read(ctx, &in, id, at)
		if err != nil {
			return err
		}
		f.more = false // the rest of its group may be gone
		if err := c.add(f); err != nil {
			return err
		}
	}
	return c.seal(c.gen.header.start())
}

// read returns the live record id of the old log, valid until the next call.
func (c *compaction) read(ctx context.Context, in *window, id ulid.ULID, at location) (f frame, err error) {
	whole, err := in.at(ctx, at.offset, at.size)
	switch {
	case errors.Is(err, io.EOF):
		err = &badFrame{offset: at.offset, reason: "the frame is cut off"}
	case err == nil:
		f, err = parseFrame(whole, c.old.salt, at.offset)
	}
	return f, c.old.checkRecord(f, err, id, at)
}

// add encodes a frame of the old log for the new one and applies it.
func (c *compaction) add(f frame) error {
	f.synced = headerSize
	var here located
	var end position
	c.pending, here, end = appendLocated(c.pending, f, c.gen.salt, c.gen.end)
	c.group[0] = here
	if err := c.gen.apply(c.group[:], end); err != nil {
		return err
	}
	if len(c.pending) >= rebuildChunk {
		return c.flush()
	}
	return nil
}

func (c *compaction) flush() error {
	_, err := c.tmp.file.WriteAt(c.pending, c.gen.end.offset-int64(len(c.pending)))
	c.pending = c.pending[:0]
	return err
}

// seal writes and syncs what was added and reads it back: the frames from the
// given position must lead, checksum by checksum, to where they should.
func (c *compaction) seal(from position) error {
	if err := c.flush(); err != nil {
		return err
	}
	if err := c.tmp.file.Sync(); err != nil {
		return err
	}
	return checkFrames(c.tmp.file, c.gen.salt, from, c.gen.end)
}

// checkFrames reads back the frames of a new log: they must lead, checksum by
// checksum, from one position to the other.
func checkFrames(f vfs.File, salt uint32, from, to position) error {
	s := newScanner(f, salt, from, to.offset)
	for s.at.offset < to.offset {
		if _, err := s.next(); err != nil {
			return fmt.Errorf("%w: %w", errCopy, err)
		}
	}
	if s.at != to {
		return errCopy
	}
	return nil
}

// checkHeader reads back the header of a new log.
func checkHeader(f vfs.File, want header) error {
	back := make([]byte, headerSize)
	if n, err := f.ReadAt(back, 0); n < len(back) {
		return err
	}
	if !bytes.Equal(back, want.encode()) {
		return errCopy
	}
	return nil
}

// finish adds what was committed since the copy began and writes the header.
// The caller keeps writers away.
func (c *compaction) finish(old *generation) error {
	sealed := c.gen.end
	s := newScanner(old.file, old.salt, c.old.end, old.end.offset)
	for s.at.offset < old.end.offset {
		f, err := s.next()
		if isBadFrame(err) {
			return &CorruptError{File: old.name, Offset: s.at.offset, Reason: err.Error()}
		}
		if err != nil {
			return err
		}
		if f.kind == kindClean || f.kind == kindCarry {
			continue
		}
		if err := c.add(f.frame); err != nil {
			return err
		}
	}
	c.gen.header.sealedEnd = c.gen.end.offset
	c.gen.header.lastSeq = old.lastSeq()
	c.gen.header.lastID = old.lastID
	c.gen.lastID = old.lastID
	if _, err := c.tmp.file.WriteAt(c.gen.header.encode(), 0); err != nil {
		return err
	}
	if err := c.seal(sealed); err != nil {
		return err
	}
	return checkHeader(c.tmp.file, c.gen.header)
}

// errCopy marks a copy that differs from what was written. The old log is
// intact, so the store is not corrupt.
var errCopy = errors.New("the copy differs from what was written")

// replace publishes the new generation and removes the old one. Until the
// rename nothing has changed; from then on a failure leaves it open which log
// the next holder of LOCK finds, so it ends writing.
func (l *Log) replace(c *compaction) error {
	if err := c.old.file.Close(); err != nil {
		l.options.Logger.Warn("closing a copied log failed", "file", c.old.name, "err", err)
	}
	// From here on LOCK vouches for nothing: should this process be killed,
	// the next one finds both logs and does not take either for settled.
	if err := l.lock.markDirty(); err != nil {
		return errors.Join(err, c.tmp.discard())
	}
	if err := c.tmp.rename(c.gen.name); err != nil {
		return l.notPublished(c, err)
	}
	if err := l.fs.SyncDir(); err != nil {
		return l.poison("publishing a rebuild", err)
	}
	if err := l.adopt(c.gen); err != nil {
		return l.poison("switching to a rebuilt log", err)
	}
	return l.dropOld()
}

// notPublished goes on with the old log after a rename that failed, if it is
// certain that it did.
func (l *Log) notPublished(c *compaction, cause error) error {
	names, err := l.fs.List()
	if err != nil || slices.Contains(names, c.gen.name) {
		return l.poison("publishing a rebuild", cause)
	}
	if err := l.lock.write(l.gen.slot()); err != nil {
		return l.poison("giving up a rebuild", err)
	}
	return errors.Join(cause, l.fs.Remove(c.tmp.name))
}

// adopt opens the published file, tells others of it and shows it to views.
func (l *Log) adopt(next *generation) error {
	file, err := l.fs.Open(next.name)
	if err != nil {
		return err
	}
	next.file = file
	l.following.Lock()
	defer l.following.Unlock()
	if err := l.lock.write(next.slot()); err != nil {
		return errors.Join(err, file.Close())
	}
	l.wrote = true
	l.swap(next)
	return nil
}

// dropOld removes the snapshot, the replaced log, and those that earlier
// rebuilds could not remove. Their text must be gone when a rebuild succeeds, so
// a failure is the rebuild's, although the new log is in use.
func (l *Log) dropOld() error {
	older := l.removeOlder(l.gen.header.generation)
	l.leftover = older != nil
	removed := errors.Join(l.removeSnapshot(), older)
	if err := l.fs.SyncDir(); err != nil {
		return l.poison("removing a replaced log", err)
	}
	return removed
}
