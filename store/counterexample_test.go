package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/oklog/ulid/v2"
)

// Each test here is a schedule that broke a simpler protocol, named after what
// it shows. These are about commits and what readers see of them; those about
// rebuilds and the directory are in counterexample_rebuild_test.go.

// Refutes: "LOCK says where the durable log ends, so cut off what follows". LOCK
// is never synced: after a power cut it may be as old as the disk likes, or gone.
func TestStaleDurableEndNeverCutsValidFrames(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tried := 0
		for age := range 6 {
			w := newWorld(t)
			defer w.end()
			a, b := w.opened("a"), w.opened("b")
			var slots [][]byte
			for n, p := range []*process{a, b, a, b, b} {
				slots = append(slots, w.readFile(lockName))
				p.must(updateCall("acknowledged", put(n+1, block(byte('0'+n)))))
			}
			slots = append(slots, make([]byte, lockFileSize))
			image := w.afterPowerCut()
			must(t, image.WriteFile(lockName, slots[age]))
			if err := survives(image.Kill(), w.oracle.allowed()); err != nil {
				w.fail("with LOCK as it was %d changes before: %v", 5-age, err)
			}
			next := worldOver(t, image, w.oracle.allowed()[0])
			defer next.end()
			c := next.opened("c")
			c.must(addCall("c"))
			next.opened("d")
			next.close()
			tried++
		}
		t.Logf("%d ages of LOCK, nothing lost", tried)
	})
}

func (w *world) readFile(name string) []byte {
	w.t.Helper()
	b, err := w.disk.ReadFile(name)
	if err != nil {
		w.fail("%v", err)
	}
	return b
}

// afterPowerCut returns the disk as a power cut leaves it that loses everything
// that no sync has made durable.
func (w *world) afterPowerCut() *vfs.Mem {
	for image := range w.disk.CrashImages() {
		return image // the first one is the durable state of everything
	}
	return nil
}

// Refutes: "another process wrote the tail and is alive, so it is good: append
// behind it". Its sync has failed and the disk has lost the tail; what is written
// behind it would vouch, after a power cut, for bytes that never were there.
func TestTailOfAPoisonedHolderIsNotDurable(t *testing.T) {
	for name, next := range map[string]func(*world) *process{
		"a process that had the store open": func(w *world) *process { return w.processes[1] },
		"a process that opens it":           func(w *world) *process { return w.opened("c") },
	} {
		for _, evict := range []bool{false, true} {
			inWorld(t, func(t *testing.T, w *world) {
				a, _ := w.opened("a"), w.opened("b")
				base(a)
				a.fs.Inject(faultfs.Fault{Kind: faultfs.Sync, Match: isLog, Effect: faultfs.Lost})
				if a.do(lostWrite()); !a.poisoned {
					w.fail("a lost sync did not poison: %v", a.err)
				}
				if evict {
					w.evict()
				}
				b := next(w)
				b.must(addCall("b"))
				count := w.powerCut(512)
				b.must(addCall("b again"))
				count += w.powerCut(512)
				w.agree()
				t.Logf("%s, page cache evicted %t: %d crash images", name, evict, count)
			})
		}
	}
}

// Refutes: "readers show what is in the file as long as a shared lock is free".
// The writer was killed between its write and its sync: the frames are whole and
// in nobody's hands, and the next power cut takes them away.
func TestReadersFollowWhatIsDurable(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, reader := w.opened("a"), w.opened("reader")
		base(a)
		reader.must(viewCall())
		before := reader.found
		a.startTo(lostWrite(), on(faultfs.Sync, logPrefix))
		reader.must(viewCall())
		w.showsStill(reader, before, "while the write is not synced")
		a.kill()
		reader.must(viewCall())
		w.showsStill(reader, before, "after the writer was killed")
		left := w.afterPowerCut()
		if found, err := contentsOf(left); err != nil || !equal(found, before) {
			w.fail("the power cut left %v (%v): the schedule shows nothing", found, err)
		}
		w.close()
	})
}

func (w *world) showsStill(p *process, want contents, when string) {
	w.t.Helper()
	if !equal(p.found, want) {
		w.fail("%s: %s shows %v, durable is %v", when, p.name, p.found, want)
	}
}

// Refutes: "the frames of a batch are frames like any other". A write of a batch
// that stops behind a whole frame, and any subset of the blocks after a power
// cut, must be taken for nothing.
func TestHalfABatchIsNeverRolledForward(t *testing.T) {
	batch := updateCall("batch", put(11, block('a')), put(12, block('b')), put(13, block('c')))
	for frames := 1; frames <= 2; frames++ {
		inWorld(t, func(t *testing.T, w *world) {
			a, b := w.opened("a"), w.opened("b")
			base(a)
			shortWrite(a, frames*512)
			a.startTo(batch, on(faultfs.Write, logPrefix))
			a.goOnTo(before(0))
			count := w.powerCut(512)
			a.kill()
			b.must(addCall("b"))
			b.must(viewCall())
			if _, half := b.found[id(11)]; half {
				w.fail("after %d of 3 frames the batch is there: %v", frames, b.found)
			}
			t.Logf("%d of 3 frames written: %d crash images", frames, count+w.powerCut(512))
			w.close()
		})
	}
	inWorld(t, func(t *testing.T, w *world) {
		a := w.opened("a")
		base(a)
		a.startTo(batch, on(faultfs.Sync, logPrefix))
		t.Logf("all frames written, none synced: %d crash images", w.powerCut(4096))
	})
}

// Refutes: "a short write that was truncated away is as if it had never been".
// The writer is killed after the truncation and before its sync: until somebody
// has synced it, a power cut may bring the second frame back behind whatever
// another process has put in the place of the first. The size of the file shows
// nothing; only the dirty mark tells the next holder to sync before it writes.
//
// In this format the frame's chain would refuse the old second frame, so the
// order of the operations is checked as well as the outcome.
func TestShortWriteTakenBackLeavesAMark(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.opened("a"), w.opened("b")
		base(a)
		shortWrite(a, 1<<20)
		a.startTo(lostWrite(), on(faultfs.Truncate, logPrefix))
		a.goOnTo(on(faultfs.Sync, logPrefix))
		a.kill()
		first := len(b.fs.Ops())
		b.startTo(updateCall("in its place", put(21, block('n'))), on(faultfs.Sync, logPrefix))
		count := 0
		for more := true; more; more = b.goOn(before(0)) {
			count += w.powerCut(1024)
		}
		count += w.powerCut(1024)
		b.ordered(first, kindOf{faultfs.Sync, logPrefix}, kindOf{faultfs.Write, logPrefix})
		w.agree()
		t.Logf("%d crash images", count)
		w.close()
	})
}

// The same for a repair: it is killed when it has cut off what a half-written
// batch left, and has not synced that.
func TestRepairLeavesAMark(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		z, b, c := w.opened("z"), w.opened("b"), w.opened("c")
		base(z)
		shortWrite(z, 512)
		z.startTo(lostWrite(), on(faultfs.Write, logPrefix))
		z.goOnTo(before(0))
		z.kill()
		b.startTo(addCall("b"), on(faultfs.Truncate, logPrefix))
		b.goOnTo(on(faultfs.Sync, logPrefix))
		b.kill()
		first := len(c.fs.Ops())
		c.must(addCall("c"))
		c.ordered(first, kindOf{faultfs.Sync, logPrefix}, kindOf{faultfs.Write, logPrefix})
		w.close()
	})
}

// kindOf names a kind of operation on files whose names start with prefix.
type kindOf struct {
	kind   faultfs.Kind
	prefix string
}

// ordered checks that from operation number first on one of the kind earlier
// comes before the first of the kind later.
func (p *process) ordered(first int, earlier, later kindOf) {
	p.world.t.Helper()
	ops := p.fs.Ops()[first:]
	find := func(s kindOf) int {
		return slices.IndexFunc(ops, func(op faultfs.Op) bool { return matches(op, s.kind, s.prefix) })
	}
	if e, l := find(earlier), find(later); e < 0 || l < 0 || e > l {
		p.world.fail("%s has to do %v before %v", p.name, earlier, later)
	}
}

// Refutes: "what changes nothing need not wait for a sync". The answers of calls
// that looked at a queued change, a no-op, a replay, a deletion of what it has
// deleted, are true only once it is durable; if it fails they must be told.
func TestAnswersWaitForWhatTheyDependOn(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			disk := vfs.NewMem(0)
			fsys := faultfs.New(disk)
			l := mustOpen(t, fsys)
			must(t, update(l, put(1, "one")))
			syncs := gateSyncs(fsys)
			lead := spawn(func() error { return update(l, put(2, "leader")) })
			<-syncs.reached
			early := spawn(func() error { return seen(l, 2) })
			predecessor := spawn(func() error { return update(l, remove(1), put(3, "three")) })
			synctest.Wait()
			dependents := map[string]*outcome{
				"a no-op":                spawn(func() error { return seen(l, 3) }),
				"a delete of the gone":   spawn(func() error { return update(l, remove(1)) }),
				"a check that fails":     spawn(func() error { return absent(l, 3) }),
				"a no-op for the leader": early,
			}
			synctest.Wait()
			noneAnswered(t, "before the first sync", dependents, predecessor, lead)
			syncs.pass <- nil
			<-syncs.reached
			synctest.Wait()
			noneAnswered(t, "before the second sync", dependents, predecessor)
			if lost {
				dropUnsynced(t, disk)
				syncs.pass <- faultfs.ErrInjected
			} else {
				syncs.pass <- nil
			}
			answersAfter(t, lost, dependents, predecessor)
			fsys.Before = nil
		})
	}
}

// answersAfter checks how calls ended whose predecessor's sync did or did not.
func answersAfter(t *testing.T, lost bool, dependents map[string]*outcome, predecessor *outcome) {
	t.Helper()
	want := map[string]error{
		"a no-op": nil, "a delete of the gone": ErrNotFound, "a check that fails": errConflict,
		"a no-op for the leader": nil,
	}
	if err := predecessor.wait(); (err != nil) != lost {
		t.Errorf("the predecessor, its sync lost %t: %v", lost, err)
	}
	for name, o := range dependents {
		err := o.wait()
		dependsOnLeader := name == "a no-op for the leader"
		if lost && !dependsOnLeader && !errors.Is(err, ErrPoisoned) {
			t.Errorf("%s whose predecessor was lost: %v", name, err)
		}
		if !lost && !errors.Is(err, want[name]) {
			t.Errorf("%s: %v, want %v", name, err, want[name])
		}
	}
}

// seen changes nothing and fails unless record n is there.
func seen(l *Log, n int) error {
	return l.Update(context.Background(), func(tx *Tx) error { _, err := tx.Get(id(n)); return err })
}

// absent fails with errConflict when record n is there.
func absent(l *Log, n int) error {
	return l.Update(context.Background(), func(tx *Tx) error {
		if _, err := tx.Get(id(n)); !errors.Is(err, ErrNotFound) {
			return errors.Join(errConflict, err)
		}
		return nil
	})
}

// gate stops every data sync of the log until it is told how it ends.
type gate struct {
	reached chan struct{}
	pass    chan error
}

func gateSyncs(fsys *faultfs.FS) gate {
	g := gate{reached: make(chan struct{}), pass: make(chan error)}
	fsys.Before = func(op faultfs.Op) error {
		if !matches(op, faultfs.Sync, logPrefix) {
			return nil
		}
		g.reached <- struct{}{}
		return <-g.pass
	}
	return g
}

func dropUnsynced(t *testing.T, disk *vfs.Mem) {
	t.Helper()
	f, err := disk.Open(logName(1))
	must(t, err)
	f.(vfs.Dropper).DropUnsynced()
	must(t, f.Close())
}

// outcome is a call on a goroutine of its own.
type outcome struct {
	done chan struct{}
	err  error
}

func spawn(call func() error) *outcome {
	o := &outcome{done: make(chan struct{})}
	go func() { o.err = call(); close(o.done) }()
	return o
}

func (o *outcome) wait() error { <-o.done; return o.err }

func (o *outcome) answered() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

func noneAnswered(t *testing.T, when string, named map[string]*outcome, others ...*outcome) {
	t.Helper()
	for name, o := range named {
		if o.answered() && !(name == "a no-op for the leader" && strings.HasPrefix(when, "before the second")) {
			t.Errorf("%s %s is answered: %v", when, name, o.err)
		}
	}
	for i, o := range others {
		if o.answered() {
			t.Errorf("%s call %d is answered: %v", when, i, o.err)
		}
	}
}

// Refutes: "the greatest id is that of a record". Deleting the record with the
// greatest id and rebuilding leaves no trace of it but the log's header; with a
// clock that steps back the id would be given to another record. For a process
// that was there, for one that comes, and after a power cut.
func TestLastIDSurvivesDeleteAndRebuild(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.opened("a"), w.opened("b")
		base(a)
		a.must(updateCall("greatest", put(500, "greatest")))
		a.must(updateCall("delete", remove(500)))
		a.must(rebuildCall())
		a.must(rebuildCall())
		for image := range w.disk.CrashImages() {
			if last := lastID(t, mustOpen(t, image)); last != id(500) {
				w.fail("after a power cut the last id is %v", last)
			}
		}
		for _, p := range []*process{a, b, w.opened("c")} {
			var last ulid.ULID
			must(t, p.log.Update(context.Background(), func(tx *Tx) error { last = tx.LastID(); return nil }))
			if last != id(500) {
				w.fail("%s: the last id is %v", p.name, last)
			}
		}
		w.close()
	})
}
