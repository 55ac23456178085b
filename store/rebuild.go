package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
// left in any file. Views and updates go on; only what they added meanwhile is
// copied while updates wait.
//
// A rebuild that already runs makes it fail with ErrBusy. A crash at any moment
// leaves the old log or the new one. A damaged live record makes it fail with
// ErrCorrupt, and nothing is changed.
func (l *Log) Rebuild(ctx context.Context) (RebuildStats, error) {
	select {
	case l.rebuilding <- struct{}{}:
		defer release(l.rebuilding)
	default:
		return RebuildStats{}, errRebuilding
	}
	if err := l.View(ctx, func(*View) error { return l.writable() }); err != nil {
		return RebuildStats{}, err
	}
	maint, err := l.lockMaintenance()
	if err != nil {
		return RebuildStats{}, err
	}
	stats, err := l.rebuild(ctx)
	if closeErr := maint.Close(); closeErr != nil {
		l.options.Logger.Warn("letting go of "+maintName+" failed", "err", closeErr)
	}
	if errors.Is(err, ErrBusy) {
		return RebuildStats{}, err
	}
	return stats, l.state.noteWrite(l.state.noteDamage(err))
}

func (l *Log) rebuild(ctx context.Context) (RebuildStats, error) {
	c, err := l.copyLive(ctx)
	if err != nil {
		return RebuildStats{}, err
	}
	if err := l.beginWrite(ctx); err != nil {
		return RebuildStats{}, errors.Join(err, c.tmp.discard())
	}
	defer release(l.writing)
	if err := c.finish(l.gen); err != nil {
		return RebuildStats{}, errors.Join(err, c.tmp.discard())
	}
	stats := RebuildStats{
		Records:     int64(len(c.gen.table)),
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
	tmp *temporary
	gen *generation
	// copied is the position in the old log up to which gen knows it.
	copied  position
	pending []byte // encoded frames not yet written, ending at gen.end
}

// copyLive copies the live records of this moment, syncs them and checks what
// the file holds, all without keeping writers away.
func (l *Log) copyLive(ctx context.Context) (*compaction, error) {
	if err := l.removeAll(rebuildPrefix); err != nil {
		return nil, err
	}
	old, live := l.snapshotTable()
	h, err := l.newHeader(old.header.generation + 1)
	if err != nil {
		return nil, err
	}
	tmp, err := l.createTemporary(rebuildPrefix)
	if err != nil {
		return nil, err
	}
	gen := newGeneration(logName(h.generation), tmp.file, h, l.options.NewSink())
	c := &compaction{tmp: tmp, gen: gen, copied: old.end}
	if err := c.copyRecords(ctx, old, live); err != nil {
		return nil, errors.Join(err, tmp.discard())
	}
	return c, nil
}

// liveRecord is an entry of the record table.
type liveRecord struct {
	id ulid.ULID
	location
}

// snapshotTable returns a copy of the current generation's position and its
// live records in log order.
func (l *Log) snapshotTable() (old generation, live []liveRecord) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	old = *l.gen
	old.table, old.sink = nil, nil
	live = make([]liveRecord, 0, len(l.gen.table))
	for id, at := range l.gen.table {
		live = append(live, liveRecord{id: id, location: at})
	}
	slices.SortFunc(live, func(a, b liveRecord) int { return cmp.Compare(a.offset, b.offset) })
	return old, live
}

func (c *compaction) copyRecords(ctx context.Context, old generation, live []liveRecord) error {
	for i, record := range live {
		if i%1024 == 0 && ctx.Err() != nil {
			return cancelled(ctx)
		}
		f, err := old.readRecord(record.id, record.location)
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

// add encodes a frame of the old log for the new one and applies it.
func (c *compaction) add(f frame) error {
	f.synced = headerSize
	var here located
	var end position
	c.pending, here, end = appendLocated(c.pending, f, c.gen.salt, c.gen.end)
	if err := c.gen.apply([]located{here}, end); err != nil {
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
	s := newScanner(c.tmp.file, c.gen.salt, from, c.gen.end.offset)
	for s.at.offset < c.gen.end.offset {
		if _, err := s.next(); err != nil {
			return fmt.Errorf("%w: %w", errCopy, err)
		}
	}
	if s.at != c.gen.end {
		return errCopy
	}
	return nil
}

// finish adds what was committed since the copy began and writes the header.
// The caller keeps writers away.
func (c *compaction) finish(old *generation) error {
	sealed := c.gen.end
	s := newScanner(old.file, old.salt, c.copied, old.end.offset)
	for s.at.offset < old.end.offset {
		f, err := s.next()
		if isBadFrame(err) {
			return &CorruptError{File: old.name, Offset: s.at.offset, Reason: err.Error()}
		}
		if err != nil {
			return err
		}
		if f.kind == kindClean {
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
	back := make([]byte, headerSize)
	if n, err := c.tmp.file.ReadAt(back, 0); n < len(back) {
		return err
	}
	if !bytes.Equal(back, c.gen.header.encode()) {
		return errCopy
	}
	return nil
}

// errCopy marks a copy that differs from what was written. The old log is
// intact, so the store is not corrupt.
var errCopy = errors.New("the copy differs from what was written")

// replace publishes the new generation and removes the old one. Until the
// rename nothing has changed; from then on a failure leaves it open which log
// the next Open finds, so it ends writing.
func (l *Log) replace(c *compaction) error {
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
	return l.dropOld(l.swap(c.gen))
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

// adopt opens the published file and tells others of it.
func (l *Log) adopt(next *generation) error {
	file, err := l.fs.Open(next.name)
	if err != nil {
		return err
	}
	next.file = file
	if err := l.lock.write(next.slot()); err != nil {
		return errors.Join(err, file.Close())
	}
	return nil
}

// dropOld removes the replaced log, and those that earlier rebuilds could not
// remove. Their text must be gone when a rebuild succeeds, so a failure is the
// rebuild's, although the new log is in use.
func (l *Log) dropOld(old *generation) error {
	if err := old.file.Close(); err != nil {
		l.options.Logger.Warn("closing a replaced log failed", "file", old.name, "err", err)
	}
	removed := l.removeOlder()
	if err := l.fs.SyncDir(); err != nil {
		return l.poison("removing a replaced log", err)
	}
	return removed
}

// swap shows the new generation to views and returns the old one, which no view
// uses any more.
func (l *Log) swap(next *generation) (old *generation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old = l.gen
	if heir, ok := next.sink.(Inheritor); ok {
		heir.Inherit(old.sink)
	}
	l.gen = next
	return old
}
