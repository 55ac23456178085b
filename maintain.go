package convmem

import (
	"context"

	"example.com/convmem/store"
)

// Rebuild implements [Store]. Reads and changes go on while it runs, but for the
// short time in which what they added meanwhile is copied. It needs free disk
// space for a second copy of all live messages and memory for a second index.
// A damaged live message makes it fail with [CodeCorrupt], and nothing is
// changed; delete the message first.
func (db *DB) Rebuild(ctx context.Context, _ RebuildRequest) (RebuildResult, error) {
	stats, err := db.log.Rebuild(ctx)
	if err != nil {
		return RebuildResult{}, fail("rebuild", err)
	}
	return RebuildResult{
		MessagesIndexed: stats.Records,
		RecordsRemoved:  stats.Removed,
		BytesBefore:     stats.BytesBefore,
		BytesAfter:      stats.BytesAfter,
	}, nil
}

// Health implements [Store]. It reads no message.
//
// LastError begins with the error's code. That of a failed write stands until a
// write or a rebuild succeeds; that of a failed sync or of damage stands until
// the store is opened again.
func (db *DB) Health(ctx context.Context, _ HealthRequest) (HealthResult, error) {
	var result HealthResult
	err := db.log.View(ctx, func(v *store.View) error {
		result = HealthResult{}
		s := v.Sink().(*catalog).space(db.namespace)
		memory := s.index.Memory()
		result.ActiveMessages = int64(s.index.Len())
		result.Memory.Metadata = memory.Columns + s.memory()
		result.Memory.SearchIndex = memory.Search
		result.Memory.HistoryIndex = memory.History
		result.Memory.RelationIndex = memory.Relations
		return nil
	})
	if err != nil {
		return HealthResult{}, fail("health", err)
	}
	result.describe(db.log.Stats())
	return result, nil
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
