package store

import (
	"errors"
	"fmt"
	"sync"

	"example.com/convmem/store/vfs"
)

// health remembers what went wrong.
type health struct {
	mu sync.Mutex
	// poison is what ended writing, or nil.
	poison error
	// damage is the first corruption that a read met, or nil.
	damage error
	// failure is the last failed write, nil again after the next that works.
	failure error
	// unconfirmed says that a reader shows what may not be durable, or nil.
	unconfirmed error
	// badSnapshot: the snapshot on disk cannot be used.
	badSnapshot bool
	// The next snapshot of dueGeneration is due when its log ends at due.
	dueGeneration uint64
	due           int64
	// cut: an unfinished write was cut off.
	cut bool
}

// noteUnconfirmed remembers that bytes are shown that no writer has vouched for.
func (h *health) noteUnconfirmed(bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unconfirmed = nil; bytes <= 0 {
		return
	}
	h.unconfirmed = fmt.Errorf("the last %d bytes of the log are intact but may not survive a power cut; open the store for writing to settle it", bytes)
}

// noteSnapshot remembers whether the snapshot on disk can be used.
func (h *health) noteSnapshot(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.badSnapshot = err != nil
}

func (h *health) snapshotIsBad() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.badSnapshot
}

func (h *health) setSnapshotDue(generation uint64, end int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dueGeneration, h.due = generation, end
}

// snapshotDue returns where the log of a generation ends when its next snapshot
// is due.
func (h *health) snapshotDue(generation uint64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dueGeneration != generation {
		return headerSize + snapshotGrowth
	}
	return h.due
}

func (h *health) noteCut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = true
}

func (h *health) hasCut() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cut
}

// noteDamage remembers corruption and passes err on.
func (h *health) noteDamage(err error) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.damage == nil {
			h.damage = corrupt
		}
	}
	return err
}

// setPoison ends writing and returns the error of the call that it happened to.
func (h *health) setPoison(cause error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.poison == nil {
		h.poison = fmt.Errorf("%w: %w", ErrPoisoned, cause)
	}
	return fmt.Errorf("the outcome of this change is unknown: %w", h.poison)
}

// poisoned is the error of every call that would write after writing ended.
func (h *health) poisoned() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.poison == nil {
		return nil
	}
	return fmt.Errorf("nothing was written: %w", h.poison)
}

// noteWrite remembers how the last write went and passes err on.
func (h *health) noteWrite(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failure = err
	return err
}

// noteEntry remembers why a write could not begin, unless somebody else was in
// the way or the log does not write, and passes err on.
func (h *health) noteEntry(err error) error {
	for _, other := range []error{ErrBusy, ErrClosed, ErrReadOnly, ErrPoisoned} {
		if errors.Is(err, other) {
			return err
		}
	}
	return h.noteWrite(h.noteDamage(err))
}

func (h *health) last() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, err := range []error{h.poison, h.damage, h.failure, h.unconfirmed} {
		if err != nil {
			return err
		}
	}
	return nil
}

// Stats describes a log. Sizes are bytes.
type Stats struct {
	FormatVersion int
	LogSize       int64
	// SnapshotSize is that of the snapshot on disk, 0 when there is none that
	// goes with the live log.
	SnapshotSize int64
	LiveRecords  int64
	// DeleteRecords, UpdateRecords and DeadBytes count what the live log holds
	// beside its live records.
	DeleteRecords int64
	UpdateRecords int64
	DeadBytes     int64
	// LastSeq is the greatest sequence number ever used; it never falls.
	LastSeq uint64
	// TableBytes estimates the memory of the record table.
	TableBytes int64
	// RecoveredTail is true when this Log cut off an unfinished write, at Open
	// or after another process was killed.
	RecoveredTail bool
	// LastError is nil while all is well. A failed write clears with the next
	// write or rebuild that works, a failed sync and damage only by opening
	// the log again.
	LastError error
	// IO counts file operations since Open began.
	IO vfs.Totals
}

// Stats returns the figures of this moment, as far as this process has followed
// the log. It reads the header of the snapshot.
func (l *Log) Stats() Stats {
	s := l.stats()
	s.SnapshotSize = l.snapshotSize()
	return s
}

func (l *Log) stats() Stats {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return Stats{
		FormatVersion: FormatVersion,
		LogSize:       l.gen.end.offset,
		LiveRecords:   int64(l.gen.table.len()),
		DeleteRecords: l.gen.counts.deletes,
		UpdateRecords: l.gen.counts.updates,
		DeadBytes:     l.gen.deadBytes(),
		LastSeq:       l.gen.lastSeq(),
		TableBytes:    l.gen.table.memory(),
		RecoveredTail: l.state.hasCut(),
		LastError:     l.state.last(),
		IO:            l.fs.Totals(),
	}
}

// snapshotSize returns 0 for a snapshot that would not be used.
func (l *Log) snapshotSize() int64 {
	h, size, err := l.snapshotOnDisk()
	live, _, _ := l.where()
	if err != nil || l.state.snapshotIsBad() || h.fileID != live.fileID {
		return 0
	}
	return size
}
