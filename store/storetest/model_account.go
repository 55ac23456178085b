package storetest

import (
	"context"

	"example.com/convmem"
)

// frameBytes is what a record of the log that the Model does not write would
// take beside its text.
const frameBytes = 64

// account keeps the sizes that Health reports, as if every change had appended
// one record to a log.
type account struct {
	size, dead       int64 // bytes
	records          int64
	updates, deletes int64
	snapshot         int64 // size of the snapshot that Rebuild would write
}

// recordBytes is the size of the record that holds e as it is now.
func recordBytes(e *entry) int64 {
	m := e.message
	n := frameBytes + len(m.ID) + len(m.SessionID) + len(m.Content) + len(m.Metadata.Summary) + len(m.Metadata.ToolCallID) + len(e.key) +
		len(m.Payload.Type) + len(m.Payload.Data)
	for _, tag := range m.Metadata.Tags {
		n += len(tag)
	}
	return int64(n + ulidBytes*(len(m.Metadata.Relations)+len(m.Metadata.SourceMessageIDs)))
}

const ulidBytes = 26

// put appends the record of a message that was written or changed.
func (a *account) put(e *entry) {
	a.size += recordBytes(e)
	a.records++
	if e.message.Revision > 1 {
		a.updates++
	}
}

// replace marks the present record of a message as dead.
func (a *account) replace(e *entry) { a.dead += recordBytes(e) }

// remove appends a deletion. It is dead from the start: nothing needs it once
// the record that it hides is gone.
func (a *account) remove(e *entry) {
	a.replace(e)
	a.size += frameBytes
	a.dead += frameBytes
	a.records++
	a.deletes++
}

// Rebuild forgets what only a log would have kept.
func (m *Model) Rebuild(ctx context.Context, _ convmem.RebuildRequest) (convmem.RebuildResult, error) {
	return call(ctx, m, "rebuild", func() (convmem.RebuildResult, error) {
		before := m.account
		m.account = account{}
		for _, e := range m.live() {
			m.account.size += recordBytes(e)
			m.account.records++
		}
		m.account.snapshot = frameBytes * (1 + m.account.records)
		return convmem.RebuildResult{
			MessagesIndexed: m.account.records,
			RecordsRemoved:  before.records - m.account.records,
			BytesBefore:     before.size,
			BytesAfter:      m.account.size,
		}, nil
	})
}

// Health reports the account.
func (m *Model) Health(ctx context.Context, _ convmem.HealthRequest) (convmem.HealthResult, error) {
	return call(ctx, m, "health", func() (convmem.HealthResult, error) {
		return convmem.HealthResult{
			Status:          convmem.HealthOK,
			FormatVersion:   1,
			LogSize:         m.account.size,
			SnapshotSize:    m.account.snapshot,
			SnapshotValid:   m.account.snapshot > 0,
			ActiveMessages:  int64(len(m.live())),
			DeletedMessages: m.account.deletes,
			LastSequence:    m.sequence,
			UpdateRecords:   m.account.updates,
			DeadBytes:       m.account.dead,
			Memory:          m.memory(),
		}, nil
	})
}

// memory counts the text that the list holds; there is no index.
func (m *Model) memory() convmem.MemoryEstimate {
	var estimate convmem.MemoryEstimate
	for _, e := range m.entries {
		body := int64(len(e.message.Content))
		estimate.StoreEntries += frameBytes
		estimate.Bodies += body
		estimate.Metadata += recordBytes(e) - frameBytes - body
	}
	return estimate
}
