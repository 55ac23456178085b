package store

import (
	"errors"
	"slices"
)

// finish makes the changes of a batch durable and visible, if there are any.
func (l *Log) finish(b *batch) error {
	if len(b.groups) == 0 {
		return nil
	}
	return l.state.noteWrite(l.commit(b.groups))
}

// commit makes groups of changes durable, together, and then visible, one after
// another. The caller has entered.
func (l *Log) commit(groups [][]change) error {
	l.wrote = true
	batch, located, end := l.gen.encode(l.buffer[:0], groups)
	if cap(batch) <= keptBuffer {
		l.buffer = batch
	}
	if _, err := l.gen.file.WriteAt(batch, l.gen.end.offset); err != nil {
		return l.undo(err)
	}
	if err := l.gen.file.SyncData(); err != nil {
		return l.poison("sync of a commit", err)
	}
	// Views that find LOCK ahead of this process wait for following and then
	// find everything applied.
	l.following.Lock()
	defer l.following.Unlock()
	next := l.gen.slot()
	next.durableEnd, next.chain = end.offset, end.chain
	if err := l.lock.write(next); err != nil {
		return l.poison("announcing a commit", err)
	}
	for _, group := range located {
		if err := l.publish(group); err != nil {
			return err
		}
	}
	return nil
}

// writtenGroup is one atomic group with its place in the log.
type writtenGroup struct {
	frames []located
	end    position
}

// keptBuffer is the largest buffer that is kept from one commit to the next.
const keptBuffer = 1 << 20

// encode builds the frames of the groups, and appends their bytes to batch.
func (g *generation) encode(batch []byte, groups [][]change) (_ []byte, made []writtenGroup, end position) {
	var size int64
	for _, changes := range groups {
		size += sizeOf(changes)
	}
	batch, end = slices.Grow(batch, int(size)), g.end
	seq := g.lastSeq()
	for _, changes := range groups {
		group := writtenGroup{frames: make([]located, 0, len(changes))}
		for i, c := range changes {
			seq++
			f := frame{
				kind: c.kind, more: i < len(changes)-1, seq: seq,
				synced: g.end.offset, id: c.id, payload: c.payload,
			}
			var here located
			batch, here, end = appendLocated(batch, f, g.salt, end)
			group.frames = append(group.frames, here)
		}
		group.end = end
		made = append(made, group)
	}
	return batch, made, end
}

// publish shows a durable group to views.
func (l *Log) publish(group writtenGroup) error {
	// A sink that refuses, or panics at, what its owner put leaves the file
	// ahead of the memory: only opening it again can bring them together.
	panicked := true
	defer func() {
		if panicked {
			_ = l.poison("applying a commit", errors.New("the sink panicked"))
		}
	}()
	err := l.show(group.frames, group.end)
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
