package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/oklog/ulid/v2"
)

// Tx is one atomic change under construction.
type Tx struct {
	view    View
	changes []change
}

// change is a frame to be.
type change struct {
	kind    kind
	id      ulid.ULID
	payload []byte
}

// Sink returns the newest derived state, without what this Tx has put.
func (t *Tx) Sink() Sink { return t.view.Sink() }

// Get is [View.Get] on the newest state, without what this Tx has put.
func (t *Tx) Get(id ulid.ULID) ([]byte, error) { return t.view.Get(id) }

// LastID returns the greatest id that the log ever held, over deletions and
// rebuilds, or the zero id. New ids must be greater.
func (t *Tx) LastID() ulid.ULID { return t.view.gen.lastID }

// Put makes payload, at most MaxPayload bytes, the new state of the record id.
// The payload is not copied and belongs to the log from now on.
func (t *Tx) Put(id ulid.ULID, payload []byte) {
	t.changes = append(t.changes, change{kind: kindPut, id: id, payload: payload})
}

// Delete removes the live record id.
func (t *Tx) Delete(id ulid.ULID) {
	t.changes = append(t.changes, change{kind: kindDelete, id: id})
}

// Update runs fn alone among all writers, on the newest state. When it returns
// nil, all that fn put and deleted is durable and visible, together; when fn
// changed nothing, nothing was written. An error of fn is returned as it is, and
// nothing is written; so it is with ErrTooLarge, and with ErrNotFound for the
// deletion of a record that is not live.
//
// The context counts only until fn runs. After a failed write the log is as
// before and goes on. After a failed sync the outcome is unknown, and Update
// fails with ErrPoisoned from then on; views go on.
//
// A change costs one write and one data sync of the log, and one small write
// that is not synced.
func (l *Log) Update(ctx context.Context, fn func(*Tx) error) error {
	if err := l.beginWrite(ctx); err != nil {
		return err
	}
	defer release(l.writing)
	tx := &Tx{view: View{gen: l.gen, state: &l.state}}
	if err := fn(tx); err != nil || len(tx.changes) == 0 {
		return err
	}
	if err := l.gen.check(tx.changes); err != nil {
		return err
	}
	return l.state.noteWrite(l.commit(tx.changes))
}

// check refuses changes that could be written but not read again.
func (g *generation) check(changes []change) error {
	live := map[ulid.ULID]bool{} // as far as the changes before say
	for _, c := range changes {
		if len(c.payload) > MaxPayload {
			return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(c.payload), MaxPayload)
		}
		alive, changed := live[c.id]
		if _, stored := g.table[c.id]; c.kind == kindDelete && !alive && (changed || !stored) {
			return fmt.Errorf("deleting %s: %w", c.id, ErrNotFound)
		}
		live[c.id] = c.kind == kindPut
	}
	return nil
}

// beginWrite makes the caller the only writer. Its state is the newest there
// is: LOCK is held for life, so nobody else can have appended meanwhile.
func (l *Log) beginWrite(ctx context.Context) error {
	if err := acquire(ctx, l.writing); err != nil {
		return err
	}
	if err := l.writable(); err != nil {
		release(l.writing)
		return err
	}
	return nil
}

// writable says why nothing can be written, or nil. The caller holds writing or
// mu.
func (l *Log) writable() error {
	if l.closed {
		return ErrClosed
	}
	return l.state.poisoned()
}

// commit makes the changes durable and then visible. The caller holds writing.
func (l *Log) commit(changes []change) error {
	frames, batch, end := l.gen.encode(changes)
	if _, err := l.gen.file.WriteAt(batch, l.gen.end.offset); err != nil {
		return l.undo(err)
	}
	if err := l.gen.file.SyncData(); err != nil {
		return l.poison("sync of a commit", err)
	}
	next := l.gen.slot()
	next.durableEnd, next.chain = end.offset, end.chain
	if err := l.lock.write(next); err != nil {
		return l.poison("announcing a commit", err)
	}
	return l.publish(frames, end)
}

// encode builds the frames of one atomic group and their bytes.
func (g *generation) encode(changes []change) (frames []located, batch []byte, end position) {
	var size int64
	for _, c := range changes {
		size += frameSize(len(c.payload))
	}
	batch, end = make([]byte, 0, size), g.end
	seq := g.lastSeq()
	for i, c := range changes {
		seq++
		f := frame{
			kind: c.kind, more: i < len(changes)-1, seq: seq,
			synced: g.end.offset, id: c.id, payload: c.payload,
		}
		var here located
		batch, here, end = appendLocated(batch, f, g.salt, end)
		frames = append(frames, here)
	}
	return frames, batch, end
}

// publish shows a durable group to views.
func (l *Log) publish(frames []located, end position) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A sink that refuses, or panics at, what its owner put leaves the file
	// ahead of the memory: only opening it again can bring them together.
	panicked := true
	defer func() {
		if panicked {
			_ = l.poison("applying a commit", errors.New("the sink panicked"))
		}
	}()
	err := l.gen.apply(frames, end)
	panicked = false
	if err != nil {
		return l.state.noteDamage(l.poison("applying a commit", err))
	}
	return nil
}

// undo takes a failed or short write back. The dirty mark comes first: a crash
// in between leaves bytes that no slot may vouch for.
func (l *Log) undo(cause error) error {
	l.options.Logger.Error("a write failed and is taken back", "err", cause)
	steps := []func() error{
		l.lock.markDirty,
		func() error { return l.gen.file.Truncate(l.gen.end.offset) },
		l.gen.file.SyncData,
		func() error { return l.lock.write(l.gen.slot()) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return l.poison("taking back a write", errors.Join(cause, err))
		}
	}
	return cause
}

// poison ends writing: what the disk holds is unknown until the next Open.
func (l *Log) poison(doing string, cause error) error {
	l.options.Logger.Error("writing ends until the store is opened again", "after", doing, "err", cause)
	return l.state.setPoison(cause)
}
