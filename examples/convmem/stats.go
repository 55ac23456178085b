package main

import (
	"context"

	"example.com/convmem"
)

type statsDocument struct {
	Status          convmem.HealthStatus `json:"status"`
	FormatVersion   int                  `json:"format_version"`
	LogSize         int64                `json:"log_size"`
	SnapshotSize    int64                `json:"snapshot_size"`
	ActiveMessages  int64                `json:"active_messages"`
	DeletedMessages int64                `json:"deleted_messages"`
	LastSequence    int64                `json:"last_sequence"`
	UpdateRecords   int64                `json:"update_records"`
	DeadBytes       int64                `json:"dead_bytes"`
	Memory          memoryDocument       `json:"memory_estimate"`
	SnapshotValid   bool                 `json:"snapshot_valid"`
	LastError       string               `json:"last_error"`
	Namespaces      int                  `json:"namespaces"`
	AllMessages     int64                `json:"all_messages"`
}

type memoryDocument struct {
	Total         int64 `json:"total_bytes"`
	StoreEntries  int64 `json:"store_entries_bytes"`
	Bodies        int64 `json:"body_bytes"`
	Metadata      int64 `json:"metadata_bytes"`
	SearchIndex   int64 `json:"search_index_bytes"`
	HistoryIndex  int64 `json:"history_index_bytes"`
	RelationIndex int64 `json:"relation_index_bytes"`
}

func stats(ctx context.Context, c *call) error {
	return c.read(ctx, func(db *convmem.DB) error {
		health, err := c.store(db).Health(ctx, convmem.HealthRequest{})
		if err != nil {
			return err
		}
		d := newStats(health)
		if d.Namespaces, d.AllMessages, err = countAll(ctx, db); err != nil {
			return err
		}
		return c.print(d, statsText, d.Status, d.ActiveMessages, d.AllMessages, number(d.Namespaces, "namespace"), d.LogSize, d.DeadBytes,
			number(d.DeletedMessages, "deleted message"), number(d.UpdateRecords, "update"), d.SnapshotSize, d.Memory.Total, d.LastSequence, d.FormatVersion)
	})
}

const statsText = `status      %s
messages    %d in this namespace, %d in all of %s
log         %d bytes, of which a rebuild removes about %d
            %s, %s
snapshot    %d bytes
memory      about %d bytes for this namespace
sequence    %d
format      version %d`

// countAll counts the namespaces and the messages in all of them.
func countAll(ctx context.Context, db *convmem.DB) (spaces int, messages int64, err error) {
	names, err := db.Namespaces(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, n := range names {
		health, err := db.Namespace(n).Health(ctx, convmem.HealthRequest{})
		if err != nil {
			return 0, 0, err
		}
		messages += health.ActiveMessages
	}
	return len(names), messages, nil
}

func newStats(h convmem.HealthResult) statsDocument {
	m := h.Memory
	return statsDocument{
		Status: h.Status, FormatVersion: h.FormatVersion, LogSize: h.LogSize, SnapshotSize: h.SnapshotSize,
		ActiveMessages: h.ActiveMessages, DeletedMessages: h.DeletedMessages, LastSequence: h.LastSequence,
		UpdateRecords: h.UpdateRecords, DeadBytes: h.DeadBytes, SnapshotValid: h.SnapshotValid, LastError: h.LastError,
		Memory: memoryDocument{m.Total(), m.StoreEntries, m.Bodies, m.Metadata, m.SearchIndex, m.HistoryIndex, m.RelationIndex},
	}
}
