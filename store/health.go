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

func (h *health) last() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, err := range []error{h.poison, h.damage, h.failure} {
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
	LiveRecords   int64
	// DeleteRecords, UpdateRecords and DeadBytes count what the live log holds
	// beside its live records.
	DeleteRecords int64
	UpdateRecords int64
	DeadBytes     int64
	// LastSeq is the greatest sequence number ever used; it never falls.
	LastSeq uint64
	// TableBytes estimates the memory of the record table.
	TableBytes int64
	// RecoveredTail is true when Open cut off an unfinished write.
	RecoveredTail bool
	// LastError is nil while all is well. A failed write clears with the next
	// write or rebuild that works, a failed sync and damage only by opening
	// the log again.
	LastError error
	// IO counts file operations since Open began.
	IO vfs.Totals
}

// tableEntryBytes is what one record takes in the record table: key and value,
// and the control byte and the free slots that the map keeps for each.
const tableEntryBytes = (16 + 16 + 1) * 4 / 3

// Stats returns the figures of this moment.
func (l *Log) Stats() Stats {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return Stats{
		FormatVersion: FormatVersion,
		LogSize:       l.gen.end.offset,
		LiveRecords:   int64(len(l.gen.table)),
		DeleteRecords: l.gen.counts.deletes,
		UpdateRecords: l.gen.counts.updates,
		DeadBytes:     l.gen.deadBytes(),
		LastSeq:       l.gen.lastSeq(),
		TableBytes:    int64(len(l.gen.table)) * tableEntryBytes,
		RecoveredTail: l.recoveredTail,
		LastError:     l.state.last(),
		IO:            l.fs.Totals(),
	}
}
