package convmem

import (
	"context"

	"example.com/convmem/store"
)

// Rebuild implements [Store]. Reads and changes go on while it runs, but for the
// short time in which what they added meanwhile is copied. It needs free disk
// space for a second copy of all live messages and memory for a second index.
// A damaged live message makes it fail with [CodeCorrupt], and nothing is
// changed; delete the message first. It rebuilds all namespaces; MessagesIndexed
// counts the messages that the DB's own methods see.
func (db *DB) Rebuild(ctx context.Context, _ RebuildRequest) (RebuildResult, error) {
	stats, err := db.log.Rebuild(ctx)
	if err != nil {
		return RebuildResult{}, fail("rebuild", db.discreet(err))
	}
	var own int64
	err = db.log.View(context.WithoutCancel(ctx), func(v *store.View) error {
		own = int64(v.Sink().(*catalog).space(db.namespace).index.Len())
		return nil
	})
	if err != nil {
		return RebuildResult{}, fail("rebuild", err)
	}
	return RebuildResult{
		MessagesIndexed: own,
		RecordsRemoved:  stats.Removed,
		BytesBefore:     stats.BytesBefore,
		BytesAfter:      stats.BytesAfter,
	}, nil
}

// Health implements [Store]. It reads no message. ActiveMessages counts those that
// the DB's own methods see; Memory is that of all namespaces.
//
// LastError begins with the error's code. That of a failed write stands until a
// write or a rebuild succeeds; that of a failed sync or of damage stands until
// the store is opened again.
func (db *DB) Health(ctx context.Context, _ HealthRequest) (HealthResult, error) {
	var result HealthResult
	err := db.log.View(ctx, func(v *store.View) error {
		result = HealthResult{}
		c := v.Sink().(*catalog)
		result.ActiveMessages = int64(c.space(db.namespace).index.Len())
		if db.namespace == "" {
			for _, s := range c.spaces {
				result.Memory.add(s)
			}
		} else if s, inhabited := c.spaces[db.namespace]; inhabited {
			result.Memory.add(s)
		}
		return nil
	})
	if err != nil {
		return HealthResult{}, fail("health", err)
	}
	stats := db.log.Stats()
	stats.LastError = db.discreet(stats.LastError)
	result.describe(stats)
	return result, nil
}

// add counts what a namespace takes.
func (m *MemoryEstimate) add(s *space) {
	memory := s.index.Memory()
	m.Metadata += memory.Columns + s.memory()
	m.SearchIndex += memory.Search
	m.HistoryIndex += memory.History
	m.RelationIndex += memory.Relations
}

// describe fills in what the log knows. Bodies stay 0: they are read from the
// disk whenever they are needed.
func (h *HealthResult) describe(stats store.Stats) {
	h.Status = HealthOK
	h.FormatVersion = stats.FormatVersion
	h.LogSize = stats.LogSize
	h.SnapshotSize = stats.SnapshotSize
	h.SnapshotValid = stats.SnapshotSize > 0
	h.DeletedMessages = stats.DeleteRecords
	h.LastSequence = int64(stats.LastSeq)
	h.UpdateRecords = stats.UpdateRecords
	h.DeadBytes = stats.DeadBytes
	h.Memory.StoreEntries = stats.TableBytes
	h.IO = IOCounters{
		WriteBytes:    stats.IO.WriteBytes,
		WriteCalls:    stats.IO.WriteCalls,
		FlushCalls:    stats.IO.FlushCalls,
		TruncateCalls: stats.IO.TruncateCalls,
		ReplaceCalls:  stats.IO.ReplaceCalls,
	}
	h.RecoveredTail = stats.RecoveredTail
	if stats.LastError != nil {
		e := coded(stats.LastError)
		h.Status = HealthDegraded
		h.LastError = string(e.Code) + ": " + e.Message
	}
}
