package store

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"

	"example.com/convmem/store/vfs"
)

const (
	snapshotName = "convmem.snap"

	// A snapshot is written when the log behind the last one has grown by
	// this, or by half of that one's size if that is more; at Close a smaller
	// growth is enough.
	snapshotGrowth = 16 << 20
	closeGrowth    = 1 << 20
)

// Saver is a Sink that keeps something in snapshots, so that it need not be made
// again from all records.
type Saver interface {
	Sink
	// Save returns sections that hold the sink as it is. It is called while
	// no Apply runs, and everybody waits for it: it should copy little. The
	// sections are written later, beside Applies, and must be of the moment of
	// Save.
	Save() []Section
	// Restore fills a new sink from what Save gave. find returns a section by
	// name, and false when there is none or it is damaged. Restore reports
	// whether the sink is complete; otherwise all live records are applied to
	// it next. An error means that the content of a section is wrong, and the
	// sink is thrown away.
	Restore(find func(name string) (SavedSection, bool)) (complete bool, err error)
}

// restore starts g from the snapshot where that is possible, and otherwise
// leaves g at the log's beginning: what a snapshot holds is in the log too. An
// error is a *CorruptError: the snapshot knows more than the log holds.
func (l *Log) restore(g *generation) error {
	file, err := l.fs.OpenRead(snapshotName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(l.restoreFrom(g, file), file.Close())
	}
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	l.state.noteSnapshot(err)
	if err != nil {
		l.options.Logger.Warn("the snapshot is not used", "err", err)
	}
	return nil
}

func (l *Log) restoreFrom(g *generation, file vfs.File) error {
	s, err := readSnapshot(file)
	if err != nil {
		return err
	}
	h := s.header
	if h.fileID != g.header.fileID || h.generation != g.header.generation {
		return badSnapshot("it was made from another log")
	}
	// Only now: the log may have grown since it was opened.
	size, err := g.file.Size()
	if err != nil {
		return err
	}
	if h.covered.offset > size {
		return &CorruptError{File: g.name, Offset: size, Reason: "the log ends before what the snapshot covers"}
	}
	// What a snapshot covers was durable, whether the rest of it is good or not.
	g.watermark = max(g.watermark, h.covered.offset)
	if err := h.checkLastFrame(g); err != nil {
		return err
	}
	table, err := s.table()
	if err != nil {
		return err
	}
	return l.startFrom(g, s, table)
}

// checkLastFrame finds out whether the log is the one that the snapshot covers:
// the header of a frame vouches for all frames before it.
func (h snapshotHeader) checkLastFrame(g *generation) error {
	if h.lastFrame == 0 {
		return nil
	}
	b, err := readExactly(g.file, h.lastFrame, frameHeaderSize)
	if err != nil {
		return err
	}
	payload, ok := checkFrameHeader(b, g.salt)
	if !ok || binary.LittleEndian.Uint32(b[4:]) != h.covered.chain || seqOf(b) != h.covered.seq ||
		h.lastFrame+frameSize(payload) != h.covered.offset {
		return badSnapshot("the last frame that it covers is not in the log")
	}
	return nil
}

// startFrom takes everything over. Until here g is unchanged.
func (l *Log) startFrom(g *generation, s *snapshotReader, table *table) error {
	sink, complete := l.restoreSink(g, s)
	started := *g
	started.sink, started.table = sink, table
	started.end, started.counts, started.lastID = s.header.covered, s.header.counts, s.header.lastID
	started.last = lastFrame{kind: s.header.lastKind, offset: s.header.lastFrame}
	if !complete {
		_, saves := sink.(Saver)
		started.partial = saves
		if err := started.applyLive(); err != nil {
			return err
		}
	}
	*g = started
	return nil
}

// restoreSink returns a sink with what the snapshot has for it.
func (l *Log) restoreSink(g *generation, s *snapshotReader) (sink Sink, complete bool) {
	saver, ok := g.sink.(Saver)
	if !ok {
		return g.sink, false
	}
	complete, err := saver.Restore(func(name string) (SavedSection, bool) {
		section, ok, err := s.section(name)
		if err != nil {
			l.options.Logger.Warn("a section of the snapshot is not used", "section", name, "err", err)
		}
		return section, ok && err == nil
	})
	if err != nil {
		l.options.Logger.Warn("the snapshot's sections are not used", "err", err)
		return l.options.NewSink(), false
	}
	return saver, complete
}

// applyLive fills the sink with the records of the table, in log order.
func (g *generation) applyLive() error {
	s := newScanner(g.file, g.salt, g.header.start(), g.end.offset)
	for {
		f, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return g.unreadable(err)
		}
		if f.kind == kindCarry {
			if err := g.receive(f.payload); err != nil {
				return g.corrupt(f, err)
			}
		}
		if at, ok := g.table.get(f.id); !ok || at.offset != f.offset {
			continue
		}
		if err := g.sink.Apply(Record{ID: f.id, Seq: f.seq, Payload: f.payload}); err != nil {
			return g.corrupt(f, err)
		}
	}
}

// dueGrowth is how much the log grows behind a snapshot of some size until the
// next one is due: the work that snapshots make stays in proportion.
func dueGrowth(size int64) int64 { return max(snapshotGrowth, size/2) }

// snapshotWhenDue writes a snapshot in the background when the log has grown
// enough since the last one, unless somebody else is at it. The caller has
// entered.
func (l *Log) snapshotWhenDue() {
	if l.gen.end.offset < l.state.snapshotDue(l.gen.header.generation) {
		return
	}
	select {
	case l.rebuilding <- struct{}{}:
	default:
		return
	}
	l.saving.Store(true)
	go func() {
		defer release(l.rebuilding)
		defer l.saving.Store(false)
		l.snapshotAfter(dueGrowth)
	}()
}

// snapshotAfter writes a snapshot when the log has grown by what growth says
// since the one on disk. That none can be written harms nobody. The caller holds
// rebuilding.
func (l *Log) snapshotAfter(growth func(size int64) int64) {
	maint, err := l.lockMaintenance()
	if errors.Is(err, ErrBusy) {
		return
	}
	if err == nil {
		err = errors.Join(l.saveIfGrown(growth), maint.Close())
	}
	if err != nil {
		l.options.Logger.Warn("a snapshot could not be written", "err", err)
	}
}

// saveIfGrown is snapshotAfter for one who holds MAINT.
func (l *Log) saveIfGrown(growth func(size int64) int64) error {
	if err := l.catchUp(); err != nil {
		return err
	}
	live, end, partial := l.where()
	h, size, err := l.snapshotOnDisk()
	if err != nil {
		return err
	}
	covered := int64(headerSize)
	if h.fileID == live.fileID && !partial {
		covered = h.covered.offset
		l.state.setSnapshotDue(live.generation, covered+dueGrowth(size))
	}
	if end-covered < growth(size) {
		return nil
	}
	return l.saveSnapshot()
}

// where returns the header of the live log, where what is applied of it ends, and
// whether it started from a snapshot that lacked something.
func (l *Log) where() (h header, end int64, partial bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.gen.header, l.gen.end.offset, l.gen.partial
}

// noteWhole says that a snapshot of a log file now has all that the sink needs.
func (l *Log) noteWhole(fileID [16]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gen.header.fileID == fileID {
		l.gen.partial = false
	}
}

// snapshotOnDisk returns header and size of the snapshot, zero when there is no
// good one.
func (l *Log) snapshotOnDisk() (snapshotHeader, int64, error) {
	file, err := l.fs.OpenRead(snapshotName)
	if errors.Is(err, fs.ErrNotExist) {
		return snapshotHeader{}, 0, nil
	}
	if err != nil {
		return snapshotHeader{}, 0, err
	}
	defer file.Close() // it was only read
	s, err := readSnapshot(file)
	if errors.Is(err, errBadSnapshot) {
		return snapshotHeader{}, 0, nil
	}
	if err != nil {
		return snapshotHeader{}, 0, err
	}
	size, err := file.Size()
	return s.header, size, err
}

// saveSnapshot writes a snapshot of this moment and puts it in the place of the
// one before. Nobody waits for more than the copying of the table's list of
// pages and what Save copies. The caller holds MAINT and rebuilding.
func (l *Log) saveSnapshot() error {
	if err := l.state.poisoned(); err != nil {
		return err
	}
	h, sections := l.moment()
	// Whatever happens, the next try is only due when there is more to save.
	l.state.setSnapshotDue(h.generation, h.covered.offset+snapshotGrowth)
	tmp, err := l.createTemporary(snapshotPrefix)
	if err != nil {
		return err
	}
	size, err := writeSnapshot(tmp.file, h, sections)
	if err == nil {
		err = tmp.file.Sync()
	}
	if err != nil {
		return errors.Join(err, tmp.discard())
	}
	if err := tmp.rename(snapshotName); err != nil {
		return errors.Join(err, l.fs.Remove(tmp.name))
	}
	// The directory is not synced. A snapshot that a power cut takes back costs
	// nothing, but a sync that fails, beside a holder of LOCK who relies on his
	// own, would make that one succeed without doing anything.
	l.state.noteSnapshot(nil)
	l.noteWhole(h.fileID)
	l.state.setSnapshotDue(h.generation, h.covered.offset+dueGrowth(size))
	return nil
}

// moment returns what a snapshot of now consists of.
func (l *Log) moment() (snapshotHeader, []Section) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	g := l.gen
	h := snapshotHeader{
		fileID: g.header.fileID, generation: g.header.generation,
		covered: g.end, lastFrame: g.last.offset, lastKind: g.last.kind, lastID: g.lastID, counts: g.counts,
	}
	sections := []Section{g.table.freeze().section()}
	if saver, ok := g.sink.(Saver); ok {
		sections = append(sections, saver.Save()...)
	}
	return h, sections
}

// removeSnapshot removes the snapshot, which may tell of what was deleted. It is
// emptied too, like a log.
func (l *Log) removeSnapshot() error {
	return l.erase(snapshotName, func(file vfs.File) error {
		_, err := readSnapshot(file)
		return err
	})
}
