package store

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/store/vfs/faultfs"
)

// The n-th operation of a call fails, in every way, while another process has
// the store open: the other one goes on, and so does the first unless it is
// poisoned. Where the page cache forgets what a failed sync has lost, too.
func TestFaultsBesideAnotherProcess(t *testing.T) {
	eachRole(t, func(t *testing.T, a role) {
		points, cuts, poisoned := 0, 0, 0
		chosen := thinned(sample(29, 5))
		for _, s := range settings {
			for _, name := range slices.Sorted(maps.Keys(effects)) {
				for n := range length(t, s, a, roles[0]) {
					for _, way := range []faultWay{{}, {always: true}, {evict: true}} {
						if !chosen() {
							continue
						}
						c, p := faulted(t, s, a, faultfs.Fault{N: n, Effect: effects[name], Always: way.always}, way.evict)
						points++
						cuts += c
						poisoned += p
					}
				}
			}
		}
		t.Logf("%d fault points, %d of them poisoned, %d crash images, no violation", points, poisoned, cuts)
	})
}

type faultWay struct{ always, evict bool }

func faulted(t *testing.T, s setting, a role, fault faultfs.Fault, evict bool) (cuts, poisoned int) {
	t.Helper()
	w, pa, pb, _ := stage(t, s, a, roles[1])
	defer w.end()
	w.note("fault: %+v, page cache evicted %t", fault, evict)
	seen := len(pa.fs.Ops())
	pa.fs.Inject(fault)
	pa.do(a.call(1))
	if pa.poisoned {
		poisoned = 1
	}
	if evict {
		w.evict()
	}
	if !fault.Always {
		pa.fs.Clear()
	}
	stuck := holdsLock(pa.fs.Ops()[seen:])
	w.agreeAfter(pa, fault.Always)
	if err := pb.do(addCall("b")); err != nil && !(stuck && errors.Is(err, ErrBusy)) {
		w.fail("the other process cannot write: %v", err)
	}
	w.agreeAfter(pa, fault.Always)
	cuts = w.powerCut(sample(1, 4))
	if !stuck && !fault.Always {
		return cuts + w.close(), poisoned
	}
	pa.kill()
	return cuts + w.close(), poisoned
}

// holdsLock reports whether a process may still hold a lock because letting go
// of it failed.
func holdsLock(ops []faultfs.Op) bool {
	return slices.ContainsFunc(ops, func(op faultfs.Op) bool { return op.Kind == faultfs.Unlock && op.Err != nil })
}

// agreeAfter is agree without a process whose every operation fails.
func (w *world) agreeAfter(failing *process, always bool) {
	w.t.Helper()
	if !always {
		w.agree()
		return
	}
	log := failing.log
	failing.log = nil // out of the live ones
	w.agree()
	failing.log = log
}

// A call stops, another process rebuilds and takes the log away under it, and one
// of the operations by which the call finds that out fails. That is a failed
// operation, and no damage, not even in the stats.
func TestFaultsAfterARebuild(t *testing.T) {
	eachRole(t, func(t *testing.T, a role) {
		schedules := 0
		chosen := thinned(sample(5, 1))
		rebuild := roles[4]
		for k := range length(t, settings[0], a, rebuild) {
			for n := range 8 {
				for _, again := range []bool{false, true} {
					if chosen() {
						overtaken(t, a, rebuild, k, n, again)
						schedules++
					}
				}
			}
		}
		t.Logf("%d schedules, no violation", schedules)
	})
}

func overtaken(t *testing.T, a, rebuild role, k, n int, again bool) {
	t.Helper()
	w, pa, pb, _ := stage(t, settings[0], a, rebuild)
	defer w.end()
	pa.startTo(a.call(1), before(k))
	pb.do(rebuild.call(2))
	if again {
		pb.do(rebuild.call(2))
	}
	pa.fs.Inject(faultfs.Fault{N: n})
	w.note("operation %d of a from here will fail", n)
	pa.finish()
	if pa.log != nil && errors.Is(pa.log.Stats().LastError, ErrCorrupt) {
		w.fail("the stats speak of damage: %v", pa.log.Stats().LastError)
	}
	pa.kill()
	w.close()
}

// syncKinds are the operations that poison when they fail.
var syncKinds = []faultfs.Kind{faultfs.Sync, faultfs.SyncDir}

// A process whose sync has failed writes, syncs, truncates, renames, creates and
// removes nothing any more, whatever it is asked to do, its own unfinished file
// excepted, and shows what others write; others repair what it left and go on.
func TestNothingIsWrittenAfterAFailedSync(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, r := range roles[1:5] {
		for _, s := range settings {
			for _, kind := range syncKinds {
				for _, name := range slices.Sorted(maps.Keys(effects)) {
					inBubble(t, func(t *testing.T) {
						for n := 0; ; n++ {
							fault := faultfs.Fault{Kind: kind, N: n, Effect: effects[name]}
							fired, poisoned := poisonedBy(t, s, r, fault)
							if !fired {
								return
							}
							if poisoned {
								cases++
							}
						}
					})
				}
			}
		}
	}
	if cases < 100 {
		t.Errorf("only %d failed syncs have poisoned", cases)
	}
	t.Logf("%d failed syncs have poisoned, no violation", cases)
}

func poisonedBy(t *testing.T, s setting, r role, fault faultfs.Fault) (fired, poisoned bool) {
	t.Helper()
	w, a, b, _ := stage(t, s, r, roles[1])
	defer w.end()
	w.note("fault: %+v in %s", fault, r.name)
	a.fs.Inject(fault)
	err := a.do(r.call(1))
	if a.fs.Fired() == 0 || !errors.Is(err, ErrPoisoned) {
		return a.fs.Fired() > 0, false
	}
	since := a.lastFault()
	b.must(addCall("by the other"))
	for _, c := range []call{addCall("refused"), rebuildCall(), updateCall("delete", remove(1))} {
		if err := a.do(c); !errors.Is(err, ErrPoisoned) {
			w.fail("%s of a poisoned process: %v", c.name, err)
		}
	}
	w.agree()
	b.must(rebuildCall())
	b.must(addCall("by the other again"))
	w.agree()
	a.must(closingCall())
	a.writesNothing(since)
	w.close()
	return true, true
}

// lastFault is the index of the last operation that was made to fail.
func (p *process) lastFault() (last int) {
	for _, op := range p.fs.Ops() {
		if errors.Is(op.Err, faultfs.ErrInjected) {
			last = op.Index
		}
	}
	return last
}

// writesNothing checks that after operation number since there was none that
// changes a file or the directory, or makes a change durable.
func (p *process) writesNothing(since int) {
	p.world.t.Helper()
	changing := []faultfs.Kind{
		faultfs.Create, faultfs.Rename, faultfs.Remove, faultfs.SyncDir,
		faultfs.Write, faultfs.Truncate, faultfs.Sync, faultfs.SyncData,
	}
	for _, op := range p.fs.Ops()[since+1:] {
		ownTemporary := op.Kind == faultfs.Remove && strings.HasSuffix(op.Name, tmpSuffix)
		if slices.Contains(changing, op.Kind) && !ownTemporary {
			p.world.fail("%s is poisoned since operation %d and did %s", p.name, since, op)
		}
	}
}
