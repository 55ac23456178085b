package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oklog/ulid/v2"
)

// Model is a Store in memory that is meant to be right at a glance: one list
// of messages, looked through from end to end for every question, under one
// lock. It keeps the whole contract and is far too slow for anything but
// tests. [RunRandom] measures other stores by it, and a test of one's own may
// use it where a store is wanted and a real one would be a bother.
//
// Its ranking is its own and simple. It has no files: the sizes in Health
// describe the log that it would have written, and its I/O counters stay 0.
type Model struct {
	now func() time.Time

	mu       sync.Mutex
	entries  []*entry // in the order of ids, with those that are deleted
	lastID   ulid.ULID
	sequence int64 // number of the last change
	account  account
}

var (
	_ convmem.Store          = (*Model)(nil)
	_ convmem.BatchWriter    = (*Model)(nil)
	_ convmem.SessionDeleter = (*Model)(nil)
)

// entry is a message and what the store remembers beside it.
type entry struct {
	message convmem.Message
	// key is the idempotency key and first is what its request said.
	key   string
	first convmem.Message
	// deletedAt is the number of the deletion, 0 while the message lives. The
	// entry stays: cursors over sessions are about the past.
	deletedAt int64
	// counted holds how often each word stands in content, summary and tags,
	// once somebody searched; nil when that is not known.
	counted *[3]map[string]int
}

func (e *entry) live() bool { return e.deletedAt == 0 }

// NewModel returns an empty Model.
func NewModel(c Config) *Model {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	return &Model{now: now}
}

// call is the frame of every method: one call at a time, nothing done for a
// context that has ended, and every error says which operation it is from.
func call[R any](ctx context.Context, m *Model, op string, do func() (R, error)) (R, error) {
	var none R
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return none, &convmem.Error{Op: op, Code: convmem.CodeBusy, Message: "the call was cancelled before anything was done", Err: err}
	}
	result, err := do()
	if err != nil {
		fault := *err.(*convmem.Error)
		fault.Op = op
		return none, &fault
	}
	return result, nil
}

// Write stores a new message.
func (m *Model) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	return call(ctx, m, "write", func() (convmem.WriteResult, error) {
		message, err := draft(r)
		if err != nil {
			return convmem.WriteResult{}, err
		}
		return m.put(message, r.IdempotencyKey)
	})
}

// put stores a checked message, or answers with the one that has its key.
func (m *Model) put(message convmem.Message, key string) (convmem.WriteResult, error) {
	if earlier := m.keyed(message.SessionID, key); earlier != nil {
		if !equalMessages(earlier.first, message) {
			return convmem.WriteResult{}, &convmem.Error{Code: convmem.CodeConflict, Field: "idempotency_key", Message: "the key was used for a message that says something else"}
		}
		return convmem.WriteResult{Message: clone(earlier.message), Replayed: true}, nil
	}
	e := &entry{message: clone(message), key: key, first: message}
	m.stamp(&e.message)
	m.entries = append(m.entries, e)
	m.sequence++
	m.account.put(e)
	return convmem.WriteResult{Message: clone(e.message)}, nil
}

// keyed finds the live message of a session that was written with the key.
func (m *Model) keyed(session, key string) *entry {
	for _, e := range m.entries {
		if key != "" && e.live() && e.message.SessionID == session && e.key == key {
			return e
		}
	}
	return nil
}

// stamp gives a message its identity. The id always follows the last one, and
// the message's times are those of its id.
func (m *Model) stamp(message *convmem.Message) {
	m.lastID = nextID(m.lastID, m.now())
	message.ID = m.lastID.String()
	message.Timestamp = m.lastID.Timestamp().UTC()
	message.UpdatedAt = message.Timestamp
	message.Revision = 1
}

// nextID makes a fresh id when the clock is past the last one, else adds one
// to the last: the carry may reach its time, which is then a millisecond on.
func nextID(last ulid.ULID, now time.Time) ulid.ULID {
	if ms := uint64(max(0, now.UnixMilli())); ms > last.Time() {
		return ulid.MustNew(ms, rand.Reader)
	}
	next := last
	low := binary.BigEndian.Uint64(next[8:]) + 1
	binary.BigEndian.PutUint64(next[8:], low)
	if low == 0 {
		binary.BigEndian.PutUint64(next[:8], binary.BigEndian.Uint64(next[:8])+1)
	}
	return next
}

// Update changes a message.
func (m *Model) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	return call(ctx, m, "update", func() (convmem.UpdateResult, error) {
		if err := checkUpdate(r); err != nil {
			return convmem.UpdateResult{}, err
		}
		e, err := m.find(r.MessageID)
		if err != nil {
			return convmem.UpdateResult{}, err
		}
		if current := e.message.Revision; r.ExpectedRevision != 0 && r.ExpectedRevision != current {
			fault := problem(convmem.CodeConflict, "expected_revision", "got %d, the current revision is %d", r.ExpectedRevision, current)
			fault.Revision = current
			return convmem.UpdateResult{}, fault
		}
		changed := merge(clone(e.message), r)
		if equalMessages(changed, e.message) {
			return convmem.UpdateResult{Message: clone(e.message)}, nil
		}
		changed.Revision++
		changed.UpdatedAt = later(e.message.UpdatedAt, m.now().UTC().Truncate(time.Millisecond))
		m.sequence++
		m.account.replace(e)
		e.message, e.counted = changed, nil
		m.account.put(e)
		return convmem.UpdateResult{Changed: true, Message: clone(e.message)}, nil
	})
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// find returns the live message of that id.
func (m *Model) find(id string) (*entry, error) {
	for _, e := range m.entries {
		if e.live() && e.message.ID == id {
			return e, nil
		}
	}
	return nil, problem(convmem.CodeNotFound, "message_id", "there is no live message with this id")
}

// Delete hides a message.
func (m *Model) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return call(ctx, m, "delete", func() (convmem.DeleteResult, error) {
		err := firstOf(checkID("message_id", r.MessageID), checkLength("session_id", r.SessionID, 0, convmem.MaxSessionIDBytes))
		if err != nil {
			return convmem.DeleteResult{}, err
		}
		e, err := m.find(r.MessageID)
		if err != nil || r.SessionID != "" && r.SessionID != e.message.SessionID {
			return convmem.DeleteResult{}, nil
		}
		m.sequence++
		e.deletedAt = m.sequence
		m.account.remove(e)
		return convmem.DeleteResult{Deleted: true}, nil
	})
}

// Read answers one of the three views.
func (m *Model) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return call(ctx, m, "read", func() (result convmem.ReadResult, err error) {
		switch {
		case r.History != nil && r.Context == nil && r.Sessions == nil:
			result.History, err = m.history(*r.History)
		case r.Context != nil && r.History == nil && r.Sessions == nil:
			result.Context, err = m.context(*r.Context)
		case r.Sessions != nil && r.History == nil && r.Context == nil:
			result.Sessions, err = m.sessions(*r.Sessions)
		default:
			err = problem(convmem.CodeValidation, "view", "want exactly one of history, context and sessions")
		}
		return result, err
	})
}

// live lists the live messages in the order of ids.
func (m *Model) live() []*entry {
	var live []*entry
	for _, e := range m.entries {
		if e.live() {
			live = append(live, e)
		}
	}
	return live
}

// session lists the live messages of one session in the order of ids.
func (m *Model) session(name string) []*entry {
	var live []*entry
	for _, e := range m.live() {
		if e.message.SessionID == name {
			live = append(live, e)
		}
	}
	return live
}

// equalMessages compares by value; nil and empty lists are the same.
func equalMessages(a, b convmem.Message) bool {
	if a.Payload.Type != b.Payload.Type || !bytes.Equal(a.Payload.Data, b.Payload.Data) {
		return false
	}
	a.Payload, b.Payload = convmem.Payload{}, convmem.Payload{} // slow to compare as any other list
	return cmp.Equal(a, b, cmpopts.EquateEmpty())
}

// clone copies a message together with its lists and its payload.
func clone(message convmem.Message) convmem.Message {
	metadata := &message.Metadata
	metadata.Tags = append([]string{}, metadata.Tags...)
	metadata.Relations = append([]convmem.Relation{}, metadata.Relations...)
	metadata.SourceMessageIDs = append([]string{}, metadata.SourceMessageIDs...)
	message.Payload.Data = bytes.Clone(message.Payload.Data)
	return message
}
