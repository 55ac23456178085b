package store

import (
	"fmt"

	"github.com/oklog/ulid/v2"
)

// A batch takes no further request along when it would pass one of these.
const (
	maxBatchFrames = 1024
	maxBatchBytes  = 8 << 20
)

// change is a frame to be.
type change struct {
	kind    kind
	id      ulid.ULID
	payload []byte
}

// batch is what one write makes durable: the changes of several requests, each
// of them atomic, on top of one another.
type batch struct {
	log      *Log
	requests []*request
	groups   [][]change
	frames   int
	bytes    int64
	// queued is the newest change of each record in groups, nil until somebody
	// asks: a lone update never does.
	queued map[ulid.ULID]change
	lastID ulid.ULID
	stage  Stage
}

// Stage is what a Sink's owner needs to know of changes that are queued and not
// durable yet, to check further ones.
type Stage interface {
	// Apply takes the next queued record, under the rules of [Sink]; its Seq
	// is 0. It is called after the function that put the record has returned.
	// An error means that the sink would refuse the record, and fails the
	// Update that put it; the stage is then replaced by a new one.
	Apply(Record) error
}

// Stager is a Sink whose owner wants a Stage for each batch.
type Stager interface {
	Sink
	// Stage returns a new stage over the sink as it is, without any change.
	Stage() Stage
}

// Tx is one atomic change under construction.
type Tx struct {
	batch   *batch
	changes []change
}

// Sink returns the newest durable derived state. Changes that are queued before
// this Tx are not in it, see [Tx.Stage].
func (t *Tx) Sink() Sink { return t.batch.log.gen.sink }

// Stage returns the stage with everything that is queued before this Tx, nil
// when the sink is no [Stager].
func (t *Tx) Stage() Stage { return t.batch.stage }

// Get returns a copy of the newest payload under id, queued or durable, without
// what this Tx has put. Its errors are those of [View.Get].
func (t *Tx) Get(id ulid.ULID) ([]byte, error) {
	if c, ok := t.batch.change(id); ok {
		if c.kind == kindDelete {
			return nil, ErrNotFound
		}
		return append([]byte(nil), c.payload...), nil
	}
	payload, err := t.batch.log.gen.get(id)
	return payload, t.batch.log.state.noteDamage(err)
}

// LastID returns the greatest id that the log ever held, over deletions and
// rebuilds and with what is queued, or the zero id. New ids must be greater.
func (t *Tx) LastID() ulid.ULID { return t.batch.lastID }

// Put makes payload, at most MaxPayload bytes, the new state of the record id.
// The payload is not copied and belongs to the log from now on.
func (t *Tx) Put(id ulid.ULID, payload []byte) {
	t.changes = append(t.changes, change{kind: kindPut, id: id, payload: payload})
}

// Delete removes the live record id.
func (t *Tx) Delete(id ulid.ULID) {
	t.changes = append(t.changes, change{kind: kindDelete, id: id})
}

// gather runs the functions of waiting requests until the batch is full. The
// caller has entered.
func (b *batch) gather() {
	b.restage()
	queue := &b.log.queue
	for r := queue.take(); r != nil; r = queue.take() {
		if !b.include(r) {
			queue.putBack(r)
			return
		}
	}
}

// restage makes the stage anew from what is queued.
func (b *batch) restage() {
	sink, ok := b.log.gen.sink.(Stager)
	if !ok {
		return
	}
	b.stage = sink.Stage()
	for _, group := range b.groups {
		// It took the same records before.
		_ = b.stageGroup(group)
	}
}

func (b *batch) stageGroup(changes []change) error {
	if b.stage == nil {
		return nil
	}
	for _, c := range changes {
		if err := b.stage.Apply(Record{ID: c.id, Deleted: c.kind == kindDelete, Payload: c.payload}); err != nil {
			return err
		}
	}
	return nil
}

// include runs the function of r and takes its changes along. It returns false
// when they do not fit.
func (b *batch) include(r *request) bool {
	b.requests = append(b.requests, r)
	if r.err = cancelled(r.ctx); r.err != nil {
		return true
	}
	tx := &Tx{batch: b}
	r.err = errAbandoned // should run never return
	err := r.run(tx)
	if err == nil {
		err = b.check(tx.changes)
	}
	if err == nil && !b.fits(tx.changes) {
		b.requests = b.requests[:len(b.requests)-1]
		return false
	}
	if err == nil {
		err = b.add(tx.changes)
	}
	r.err, r.dependent = err, b.frames > 0
	return true
}

// run calls the function of r. A panic goes to the goroutine that called Update.
func (r *request) run(tx *Tx) (err error) {
	returned := false
	defer func() {
		if !returned {
			r.panicked = recover()
			tx.changes, err = nil, fmt.Errorf("the function of an update panicked")
		}
	}()
	err = r.fn(tx)
	returned = true
	return err
}

// check refuses changes that could be written but not read again.
func (b *batch) check(changes []change) error {
	var live map[ulid.ULID]bool // as far as the changes before say
	if len(changes) > 1 {
		live = map[ulid.ULID]bool{}
	}
	for _, c := range changes {
		if len(c.payload) > MaxPayload {
			return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(c.payload), MaxPayload)
		}
		alive, changed := live[c.id]
		if !changed && c.kind == kindDelete {
			alive = b.isLive(c.id)
		}
		if c.kind == kindDelete && !alive {
			return fmt.Errorf("deleting %s: %w", c.id, ErrNotFound)
		}
		if live != nil {
			live[c.id] = c.kind == kindPut
		}
	}
	return nil
}

// change returns the newest queued change of a record.
func (b *batch) change(id ulid.ULID) (change, bool) {
	if b.queued == nil {
		b.queued = map[ulid.ULID]change{}
		for _, group := range b.groups {
			b.remember(group)
		}
	}
	c, ok := b.queued[id]
	return c, ok
}

func (b *batch) remember(changes []change) {
	for _, c := range changes {
		b.queued[c.id] = c
	}
}

func (b *batch) isLive(id ulid.ULID) bool {
	if c, ok := b.change(id); ok {
		return c.kind == kindPut
	}
	_, ok := b.log.gen.table.get(id)
	return ok
}

// fits reports whether the changes may join what the batch holds. The changes of
// one request are never parted, so they fit into an empty batch in any case.
func (b *batch) fits(changes []change) bool {
	return b.frames == 0 || b.frames+len(changes) <= maxBatchFrames && b.bytes+sizeOf(changes) <= maxBatchBytes
}

func sizeOf(changes []change) (size int64) {
	for _, c := range changes {
		size += frameSize(len(c.payload))
	}
	return size
}

// add queues the changes of one request.
func (b *batch) add(changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	if err := b.stageGroup(changes); err != nil {
		b.restage() // some of the changes may be in it
		return err
	}
	if b.queued != nil {
		b.remember(changes)
	}
	for _, c := range changes {
		if b.lastID.Compare(c.id) < 0 {
			b.lastID = c.id
		}
	}
	b.groups = append(b.groups, changes)
	b.frames += len(changes)
	b.bytes += sizeOf(changes)
	return nil
}

// answer ends the requests. When the batch failed, so did everything that looked
// at it: also what changed nothing, and what was refused because of it.
func (b *batch) answer(err error) {
	for _, r := range b.requests {
		if err != nil && r.dependent {
			r.err = err
		}
		if !r.leads {
			r.turn <- struct{}{}
		}
	}
}
