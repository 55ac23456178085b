package store

import (
	"errors"
	"strings"
	"testing"

	"example.com/convmem/store/vfs/faultfs"
)

// setting is a state of the directory in which schedules begin.
type setting struct {
	name string
	// spoil gets a process that has written base and has the store open. It
	// runs after all others have opened it.
	spoil func(z *process)
}

func block(b byte) string { return string(b) + strings.Repeat("\x00", 512-frameHeaderSize-1) }

// base writes what every schedule finds: two records, and one that is deleted.
func base(z *process) {
	z.must(updateCall("base", put(1, "one")))
	z.must(updateCall("base", put(2, secret)))
	z.must(updateCall("base", put(3, block('3')), remove(2)))
}

// lostWrite is what the process that spoils the log writes and nobody is told of.
func lostWrite() call { return updateCall("lost write", put(11, block('a')), put(12, block('b'))) }

var settings = []setting{
	{"closed", func(z *process) { z.must(closingCall()) }},
	{"written but not synced", func(z *process) {
		z.startTo(lostWrite(), on(faultfs.Sync, logPrefix))
		z.kill()
	}},
	{"half written", func(z *process) {
		shortWrite(z, 512)
		z.startTo(lostWrite(), on(faultfs.Write, logPrefix))
		z.goOnTo(before(0))
		z.kill()
	}},
	{"taken back but not synced", func(z *process) {
		shortWrite(z, 1<<20)
		z.startTo(lostWrite(), on(faultfs.Truncate, logPrefix))
		z.goOnTo(before(0))
		z.kill()
	}},
	{"sync lost", func(z *process) {
		z.fs.Inject(faultfs.Fault{Kind: faultfs.Sync, Match: isLog, Effect: faultfs.Lost})
		if z.do(lostWrite()); !z.poisoned {
			z.world.fail("a lost sync did not poison: %v", z.err)
		}
	}},
	{"synced but not announced", func(z *process) {
		z.startTo(lostWrite(), on(faultfs.Sync, logPrefix))
		z.goOnTo(before(0))
		z.kill()
	}},
	{"rebuild renamed", func(z *process) {
		z.startTo(rebuildCall(), on(faultfs.Rename, rebuildPrefix))
		z.goOnTo(before(0))
		z.kill()
	}},
	{"rebuild published but not announced", func(z *process) {
		z.startTo(rebuildCall(), on(faultfs.Rename, rebuildPrefix))
		z.goOnTo(on(faultfs.SyncDir, ""))
		z.goOnTo(on(faultfs.Write, lockName))
		z.kill()
	}},
	{"rebuild announced", func(z *process) {
		z.startTo(rebuildCall(), on(faultfs.Rename, rebuildPrefix))
		z.goOnTo(on(faultfs.Write, lockName))
		z.goOnTo(before(0))
		z.kill()
	}},
	{"rebuild half copied", func(z *process) {
		z.startTo(rebuildCall(), on(faultfs.Sync, rebuildPrefix))
		z.kill()
	}},
	{"rebuild's directory sync lost", func(z *process) {
		z.fs.Inject(faultfs.Fault{Kind: faultfs.SyncDir, Effect: faultfs.Lost})
		if z.do(rebuildCall()); !z.poisoned {
			z.world.fail("a lost sync of the directory did not poison: %v", z.err)
		}
	}},
}

func isLog(op faultfs.Op) bool { return strings.HasPrefix(op.Name, logPrefix) }

// shortWrite makes the next write to the log write at most keep bytes.
func shortWrite(z *process, keep int) {
	z.fs.Inject(faultfs.Fault{Kind: faultfs.Write, Match: isLog, Effect: faultfs.Short, Keep: keep})
}

// role is a kind of call that a process of a schedule makes.
type role struct {
	name string
	open bool // the process has the store open before
	call func(n int) call
}

// roles are all kinds of calls. n tells the processes of a schedule apart.
var roles = []role{
	{"open", false, func(int) call { return openingCall() }},
	{"add", true, func(n int) call { return addCall(string(rune('a' + n))) }},
	{"update", true, func(n int) call { return checkedCall(1, "one", string(rune('a'+n))) }},
	{"batch", true, func(n int) call {
		return updateCall("batch", put(20*n, block('x')), remove(3), put(20*n+1, block('y')))
	}},
	{"rebuild", true, func(int) call { return rebuildCall() }},
	{"close", true, func(int) call { return closingCall() }},
	{"view", true, func(int) call { return viewCall() }},
}

// stage prepares a world: two processes for the roles, and a third that looks on.
func stage(t failer, s setting, a, b role) (w *world, pa, pb, watcher *process) {
	t.Helper()
	w = newWorld(t)
	z := w.opened("z")
	base(z)
	watcher = w.opened("watcher")
	pa, pb = w.player("a", a), w.player("b", b)
	s.spoil(z)
	w.forgetOperations()
	w.note("setting: %s", s.name)
	return w, pa, pb, watcher
}

func (w *world) player(name string, r role) *process {
	w.t.Helper()
	if r.open {
		return w.opened(name)
	}
	return w.process(name)
}

// length counts the operations of a's call when nobody interferes.
func length(t failer, s setting, a, b role) int {
	t.Helper()
	w, pa, _, _ := stage(t, s, a, b)
	defer w.end()
	before := len(pa.fs.Ops())
	pa.start(a.call(1), never)
	return len(pa.fs.Ops()) - before
}

// thinned is true for one of every n calls, the same ones in every run.
func thinned(n int) func() bool {
	count := 0
	return func() bool { count++; return count%n == 0 }
}

// eachRole runs a test for every kind of call as the one that is interrupted.
// The tests run beside each other.
func eachRole(t *testing.T, test func(t *testing.T, a role)) {
	for _, a := range roles {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) { test(t, a) })
		})
	}
}

// One call stops before each of its operations, another process makes a whole
// call, a third one looks on. Then the first goes on, or is killed; or it has been
// killed before.
func TestOnePreemption(t *testing.T) {
	eachRole(t, func(t *testing.T, a role) {
		schedules, cuts, busy := 0, 0, 0
		chosen := thinned(sample(37, 1))
		for _, s := range settings {
			for _, b := range roles {
				for k := range length(t, s, a, b) {
					for ending := range endingCount {
						if chosen() {
							n, wasBusy := preempted(t, s, a, b, k, ending)
							schedules++
							cuts += n
							busy += wasBusy
						}
					}
				}
			}
		}
		t.Logf("%d schedules, %d of them with a busy call, %d crash images, no violation", schedules, busy, cuts)
	})
}

// What becomes of the call that has stopped.
const (
	goesOn        = iota
	isKilled      // when the other call is over; then a third process opens the store
	isKilledFirst // before the other call begins
	endingCount
)

func preempted(t *testing.T, s setting, a, b role, k, ending int) (cuts, busy int) {
	t.Helper()
	w, pa, pb, watcher := stage(t, s, a, b)
	defer w.end()
	pa.startTo(a.call(1), before(k))
	if ending == isKilledFirst {
		pa.kill()
	}
	if err := pb.do(b.call(2)); errors.Is(err, ErrBusy) {
		busy = 1
		if ending == isKilledFirst {
			w.fail("nobody is there, and %s is busy: %v", b.name, err)
		}
	}
	watcher.must(viewCall())
	w.agree()
	cuts = w.powerCut(sample(1, 2))
	switch ending {
	case goesOn:
		pa.finish()
	case isKilled:
		pa.kill()
	}
	if ending != goesOn {
		w.opened("c")
	}
	return cuts + w.close(), busy
}

// close checks at the end of a schedule, when nobody is stopped, that all agree,
// can go on, and that all of it is durable.
func (w *world) close() int {
	w.t.Helper()
	w.agree()
	w.goOnWriting()
	return w.powerCut(sample(1, 2))
}

// Creation has no log to begin with: two processes make the same store.
func TestTwoProcessesCreateTheStore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		schedules, cuts := 0, 0
		for _, kill := range []bool{false, true} {
			for k := 0; ; k++ {
				n, stopped := createdTwice(t, k, kill)
				if !stopped {
					break
				}
				schedules++
				cuts += n
			}
		}
		t.Logf("%d schedules, %d crash images, no violation", schedules, cuts)
	})
}

func createdTwice(t *testing.T, k int, kill bool) (cuts int, stopped bool) {
	t.Helper()
	w := newWorld(t)
	defer w.end()
	a, b := w.process("a"), w.process("b")
	if !a.start(openingCall(), before(k)) {
		return 0, false
	}
	if b.do(openingCall()) == nil {
		b.must(addCall("b"))
	}
	cuts = w.powerCut(sample(8, 64))
	if kill {
		a.kill()
		w.opened("c")
	} else if a.finish() != nil {
		w.fail("creating beside another process: %v", a.err)
	}
	return cuts + w.close(), true
}

// Both calls stop: the first, then the second within, then both go on in turn.
func TestTwoPreemptions(t *testing.T) {
	eachRole(t, func(t *testing.T, a role) {
		schedules := 0
		chosen := thinned(sample(1999, 101))
		for _, s := range settings {
			for _, b := range roles {
				first, second := length(t, s, a, b), length(t, s, b, a)
				for k := range first {
					for j := range second {
						for ending := range 4 {
							if chosen() {
								preemptedTwice(t, s, a, b, k, j, ending)
								schedules++
							}
						}
					}
				}
			}
		}
		t.Logf("%d schedules, no violation", schedules)
	})
}

// preemptedTwice stops a before its operation k, b before its operation j, and
// ends them in one of four ways: a, b; b, a; a killed, b; a, b killed.
func preemptedTwice(t *testing.T, s setting, a, b role, k, j, ending int) {
	t.Helper()
	w, pa, pb, watcher := stage(t, s, a, b)
	defer w.end()
	pa.startTo(a.call(1), before(k))
	stopped := pb.start(b.call(2), before(j))
	watcher.must(viewCall())
	ways := []func(){
		func() { pa.finish(); pb.through(stopped) },
		func() { pb.through(stopped); pa.finish() },
		func() { pa.kill(); pb.through(stopped) },
		func() { pa.finish(); pb.kill() },
	}
	ways[ending]()
	w.close()
}

// through ends a call that has stopped, if it has.
func (p *process) through(stopped bool) {
	p.world.t.Helper()
	if stopped {
		p.finish()
	}
}
