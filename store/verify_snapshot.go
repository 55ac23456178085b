package store

import (
	"errors"
	"io/fs"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// SnapshotState says what a snapshot is worth.
type SnapshotState string

// The states. The log holds everything in each of them.
const (
	// SnapshotUnchecked: the log is damaged before the end of what the
	// snapshot covers, so there was nothing to compare it with.
	SnapshotUnchecked SnapshotState = ""
	// SnapshotNone: there is none.
	SnapshotNone SnapshotState = "none"
	// SnapshotGood: it is intact and agrees with the log.
	SnapshotGood SnapshotState = "good"
	// SnapshotBad: it is damaged, of an unknown version, or does not agree
	// with the log. The next snapshot replaces it.
	SnapshotBad SnapshotState = "bad"
	// SnapshotForeign: it was made from another log. The next snapshot
	// replaces it.
	SnapshotForeign SnapshotState = "foreign"
)

// snapshotCheck is the snapshot on disk while the log is read that it covers.
type snapshotCheck struct {
	file     vfs.File // nil when there is none, or none that could be opened
	reader   *snapshotReader
	compared bool
	err      error // why it cannot be used
}

// openSnapshot opens the snapshot. That it could not be read is no more than
// what makes it bad.
func (l *Log) openSnapshot() *snapshotCheck {
	file, err := l.fs.OpenRead(snapshotName)
	if errors.Is(err, fs.ErrNotExist) {
		return &snapshotCheck{}
	}
	s := &snapshotCheck{file: file, err: err}
	if err == nil {
		s.reader, s.err = readSnapshot(file)
	}
	return s
}

func (s *snapshotCheck) close() {
	if s.file != nil {
		_ = s.file.Close() // it was only read
	}
}

// covers reports whether the snapshot was made from the log of g.
func (s *snapshotCheck) covers(g *generation) bool {
	h := s.reader.header
	return h.fileID == g.header.fileID && h.generation == g.header.generation
}

// meetSnapshot compares the snapshot when the reading is where it ends.
func (v *verification) meetSnapshot() {
	s := v.snapshot
	if s.file == nil || s.err != nil || !v.whole || !s.covers(v.then) || v.fresh.end.offset != s.reader.header.covered.offset {
		return
	}
	s.compared = true
	s.err = s.reader.agrees(v.fresh)
}

// agrees returns nil when the snapshot says of g, which ends where it ends, what
// g says, and all its sections are intact.
func (s *snapshotReader) agrees(g *generation) error {
	for name := range s.sections {
		if _, _, err := s.section(name); err != nil {
			return err
		}
	}
	table, err := s.table()
	if err != nil {
		return err
	}
	h := s.header
	if h.covered != g.end || h.counts != g.counts || h.lastID != g.lastID ||
		h.lastFrame != g.last.offset || h.lastKind != g.last.kind {
		return badSnapshot("the header does not agree with the log")
	}
	if _, differ := g.table.differs(table.freeze()); differ {
		return badSnapshot("the record table does not agree with the log")
	}
	return nil
}

// concludeSnapshot sets the state of the snapshot once the log is read.
func (v *verification) concludeSnapshot() {
	v.stats.Snapshot = v.snapshotState()
	if v.stats.Snapshot != SnapshotBad {
		return
	}
	v.stats.SnapshotError = v.snapshot.err
	if v.snapshot.file == nil {
		return
	}
	// Meanwhile it may have been replaced by a good one.
	if same, err := v.log.fs.SameFile(snapshotName, v.snapshot.file); err == nil && same {
		v.log.state.noteSnapshot(v.snapshot.err)
	}
}

func (v *verification) snapshotState() SnapshotState {
	s := v.snapshot
	switch {
	case s.file == nil && s.err == nil, s.emptied():
		return SnapshotNone
	case s.err != nil:
		return SnapshotBad
	case !s.covers(v.then):
		return SnapshotForeign
	case s.compared:
		return SnapshotGood
	case !v.whole:
		return SnapshotUnchecked
	case s.reader.header.covered.offset > v.fresh.end.offset:
		// Open refuses such a store for the same reason.
		v.damageAt(v.fresh.end.offset, ulid.ULID{}, "the log ends before what the snapshot covers")
		return SnapshotUnchecked
	}
	s.err = badSnapshot("no frame ends at the covered offset")
	return SnapshotBad
}

// emptied reports whether a rebuild has erased the file under its reader.
func (s *snapshotCheck) emptied() bool {
	if s.file == nil {
		return false
	}
	size, err := s.file.Size()
	return err == nil && size == 0
}
