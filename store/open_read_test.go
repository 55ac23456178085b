package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// Tests of Options.ReadOnly: what such a process shows and what it leaves alone.

func readOnlyOptions() Options {
	o := testOptions()
	o.ReadOnly = true
	return o
}

// While somebody writes, what stands behind the durable end is nobody's business.
func TestReadOnlyBesideAWriter(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, reader := w.opened("a"), w.process("reader")
		reader.options = readOnlyOptions
		base(a)
		a.must(viewCall())
		durable := a.found
		a.startTo(lostWrite(), on(faultfs.Sync, logPrefix))
		reader.must(openingCall())
		reader.must(viewCall())
		w.showsStill(reader, durable, "while the write is not synced")
		a.finish()
		w.agree()
	})
}

// When nobody writes, a reader shows what the next writer would keep, and says
// that it may not last.
func TestReadOnlyShowsTheTail(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, reader := w.opened("a"), w.process("reader")
		reader.options = readOnlyOptions
		base(a)
		a.startTo(lostWrite(), on(faultfs.Sync, logPrefix))
		a.kill()
		reader.must(openingCall())
		reader.must(viewCall())
		if _, shown := reader.found[id(12)]; !shown || reader.log.Stats().LastError == nil {
			w.fail("it shows %v, and says %v", reader.found, reader.log.Stats().LastError)
		}
	})
}

func TestReadOnlyNoticesALoss(t *testing.T) {
	d, _, ends := written(t, closedCleanly)
	log := bytes.Clone(d[logName(1)])
	log[ends[10]] ^= 1
	if _, err := Open(context.Background(), d.with(logName(1), log).restore(t, lockName), readOnlyOptions()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// A reader has shown a tail that was not durable. It is lost, which the reader may
// notice, and another takes its place: the reader follows.
func TestReadOnlyTailIsLost(t *testing.T) {
	for _, notices := range []bool{true, false} {
		inWorld(t, func(t *testing.T, w *world) {
			z, b, reader := w.opened("z"), w.opened("b"), w.process("reader")
			reader.options = readOnlyOptions
			base(z)
			z.fs.Inject(faultfs.Fault{Kind: faultfs.Sync, Match: isLog, Effect: faultfs.Lost})
			z.do(lostWrite())
			z.kill()
			reader.reads()
			if found, err := held(reader.log); err != nil || found[id(12)] == "" {
				w.fail("the tail is not shown: %v, %v", found, err)
			}
			w.disk.Evict()
			if notices {
				reader.reads()
			}
			b.must(addCall("b"))
			b.must(viewCall())
			if found, err := held(reader.log); err != nil || !equal(found, b.found) {
				w.fail("the reader shows %v, %v, others show %v", found, err, b.found)
			}
		})
	}
}

// A process that opened the store for reading changes nothing, not even when it
// closes a log that has grown.
func TestReadOnlyWritesNothing(t *testing.T) {
	disk := vfs.NewMem(1 << 16)
	l := mustOpen(t, disk)
	must(t, update(l, change{kind: kindPut, id: id(1), payload: make([]byte, 2*closeGrowth)}))
	fsys := faultfs.New(disk.Kill())
	o := testOptions()
	o.ReadOnly = true
	reader, err := Open(context.Background(), fsys, o)
	must(t, err)
	if found, err := held(reader); err != nil || len(found) != 1 {
		t.Errorf("it shows %d records, %v", len(found), err)
	}
	if err := updateTwo(reader); !errors.Is(err, ErrReadOnly) {
		t.Errorf("an update: %v", err)
	}
	if err := rebuild(reader); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a rebuild: %v", err)
	}
	must(t, reader.Close())
	for _, op := range fsys.Ops() {
		if changesDisk(op.Kind) && !slices.Contains([]faultfs.Kind{faultfs.Lock, faultfs.Close}, op.Kind) {
			t.Errorf("it did %s", op)
		}
	}
}
