package store

import (
	"errors"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// Refutes: "before writing, look whether the next generation's file exists". A
// process is stopped before it takes LOCK while others rebuild twice: of the
// generation after its own nothing is left, so its log would seem the newest, and
// it would write, and be answered, into a file that is gone.
func TestTwoRebuildsWhileAProcessIsPaused(t *testing.T) {
	tests := map[string]stop{
		"before it takes LOCK":    on(faultfs.TryLock, lockName),
		"before it looks at LOCK": on(faultfs.Read, lockName),
	}
	for name, at := range tests {
		for rebuilds := 1; rebuilds <= 3; rebuilds++ {
			inWorld(t, func(t *testing.T, w *world) {
				a, b := w.opened("a"), w.opened("b")
				base(b)
				a.must(viewCall())
				a.startTo(checkedCall(1, "one", "a"), at)
				for range rebuilds {
					b.must(rebuildCall())
				}
				b.must(checkedCall(1, "one", "b"))
				w.powerCut(64)
				if err := a.finish(); !errors.Is(err, errConflict) {
					w.fail("stopped %s, after %d rebuilds there are two winners: %v", name, rebuilds, err)
				}
				w.close()
			})
		}
	}
}

// The same without a conflict: what the paused process adds must not be lost.
func TestPausedProcessWritesIntoTheNewestLog(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.opened("a"), w.opened("b")
		base(b)
		a.startTo(addCall("a"), on(faultfs.TryLock, lockName))
		b.must(rebuildCall())
		b.must(rebuildCall())
		if err := a.finish(); err != nil {
			w.fail("%v", err)
		}
		w.opened("c")
		w.agree()
		t.Logf("%d crash images", w.powerCut(512))
		w.close()
	})
}

// Refutes: "a temporary file found at Open is rubbish", and "one name is enough
// for it". What another process is building must stay, and nobody else's half
// may get its name.
func TestTemporaryFilesOfOthersAreLeftAlone(t *testing.T) {
	t.Run("a rebuild is being copied", func(t *testing.T) {
		for _, at := range []stop{on(faultfs.Write, rebuildPrefix), on(faultfs.Sync, rebuildPrefix), on(faultfs.Rename, rebuildPrefix)} {
			inWorld(t, func(t *testing.T, w *world) {
				a, b := w.opened("a"), w.opened("b")
				base(a)
				a.startTo(rebuildCall(), at)
				c := w.process("c")
				c.do(openingCall())
				if err := b.do(rebuildCall()); !errors.Is(err, ErrBusy) {
					w.fail("a second rebuild: %v", err)
				}
				if err := a.finish(); err != nil {
					w.fail("its file was taken away: %v", err)
				}
				w.close()
			})
		}
	})
	t.Run("a store is being created", func(t *testing.T) {
		for _, at := range []stop{on(faultfs.Write, newPrefix), on(faultfs.Sync, newPrefix), on(faultfs.Rename, newPrefix)} {
			inWorld(t, func(t *testing.T, w *world) {
				a, b := w.process("a"), w.process("b")
				a.startTo(openingCall(), at)
				if err := b.do(openingCall()); !errors.Is(err, ErrBusy) {
					w.fail("a second creation: %v", err)
				}
				if err := a.finish(); err != nil {
					w.fail("its file was taken away: %v", err)
				}
				b.must(openingCall())
				w.close()
			})
		}
	})
	t.Run("a rebuild was killed", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			a, b := w.opened("a"), w.opened("b")
			base(a)
			a.startTo(rebuildCall(), on(faultfs.Rename, rebuildPrefix))
			a.kill()
			b.must(rebuildCall())
			w.opened("c")
			w.close()
			for _, name := range w.disk.Names() {
				if strings.HasSuffix(name, tmpSuffix) {
					w.fail("%s is left", name)
				}
			}
		})
	})
}

// Refutes: "a process rebuilds from, and shows, what it has in memory". One that
// slept through a deletion and a rebuild must bring nothing of the deleted text
// back: not with its sink, not with a rebuild of its own that had begun, nor with
// the snapshot that comes with it.
func TestSlowProcessBringsNothingBack(t *testing.T) {
	for name, at := range map[string]stop{
		"before it takes MAINT": on(faultfs.TryLock, maintName),
		"before it looks":       on(faultfs.Read, lockName),
	} {
		inWorld(t, func(t *testing.T, w *world) {
			a, b := w.opened("a"), w.opened("b")
			b.must(updateCall("two", put(1, "one"), put(2, secret)))
			a.must(viewCall())
			sink := a.sink()
			a.startTo(rebuildCall(), at)
			b.must(updateCall("delete", remove(2)))
			b.must(rebuildCall())
			w.powerCut(64)
			if err := a.finish(); err != nil {
				w.fail("stopped %s: %v", name, err)
			}
			if a.must(viewCall()); a.sink() == sink {
				w.fail("the sink of the old log is still in use")
			}
			w.checkErased(w.disk)
			a.must(closingCall())
			b.must(closingCall())
			w.powerCut(512)
		})
	}
}

func (p *process) sink() Sink { return p.log.gen.sink }

// Refutes: "after a failed sync of the directory, sync it again". The second one
// has nothing to do and says that all is well; the name of the new log is lost at
// the next power cut, and with it everything written into it.
func TestFailedDirectorySyncNeedsANewChange(t *testing.T) {
	lose := faultfs.Fault{Kind: faultfs.SyncDir, Effect: faultfs.Lost}
	t.Run("of a rebuild", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			a, b := w.opened("a"), w.opened("b")
			base(a)
			a.fs.Inject(lose)
			if a.do(rebuildCall()); !a.poisoned {
				w.fail("a lost sync of the directory did not poison: %v", a.err)
			}
			count := w.powerCut(512)
			b.must(addCall("b"))
			t.Logf("%d crash images", count+w.powerCut(512))
			w.close()
		})
	})
	t.Run("of a creation", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			a := w.process("a")
			a.fs.Inject(lose)
			if err := a.do(openingCall()); err == nil {
				w.fail("a store was created although the directory could not be synced")
			}
			b := w.opened("b")
			b.must(addCall("b"))
			t.Logf("%d crash images", w.powerCut(512))
			w.close()
		})
	})
	t.Run("of the repair of a rebuild", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			a, b, c := w.opened("a"), w.opened("b"), w.opened("c")
			base(a)
			a.startTo(rebuildCall(), on(faultfs.SyncDir, ""))
			a.kill()
			b.fs.Inject(lose)
			if b.do(addCall("b")); !b.poisoned {
				w.fail("a lost sync of the directory did not poison: %v", b.err)
			}
			count := w.powerCut(512)
			c.must(addCall("c"))
			t.Logf("%d crash images", count+w.powerCut(512))
			w.close()
		})
	})
}

// Refutes: "the directory shows two logs, so a mark in LOCK adds nothing". Up to
// the moment at which LOCK names the new log, it must not call the old one clean:
// whoever comes next has to make the directory durable before it writes
// anything, and may not name the new log before.
func TestRebuildMarksLockBeforeItPublishes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.opened("a"), w.opened("b")
		base(a)
		a.startTo(rebuildCall(), on(faultfs.Rename, rebuildPrefix))
		for more := true; more; more = a.at.Kind != faultfs.Write {
			if s, ok := w.slot(); !ok || !s.dirty || s.generation != 1 {
				w.fail("before %s LOCK says %+v, %t", a.at, s, ok)
			}
			w.powerCut(256)
			a.goOnTo(before(0))
		}
		a.kill()
		first := len(b.fs.Ops())
		b.must(addCall("b"))
		b.ordered(first, kindOf{faultfs.SyncDir, ""}, kindOf{faultfs.Write, logPrefix})
		t.Logf("%d crash images", w.powerCut(512))
		w.close()
	})
}

// slot returns what LOCK says.
func (w *world) slot() (counts slot, valid bool) {
	w.t.Helper()
	b := w.readFile(lockName)
	for _, at := range []int{slotA, slotB} {
		if s, ok := decodeSlot(b[at:]); ok && (!valid || s.counter > counts.counter) {
			counts, valid = s, true
		}
	}
	return counts, valid
}

// Refutes: "copy, verify and replay with LOCK in hand". However much there is to
// copy, to load or to catch up on, the operations during which others are BUSY
// are as many as for a small store.
func TestBulkWorkHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]role{"rebuild": roles[4], "open": roles[0], "catching up": roles[1]} {
		small, large := busyPoints(t, r, 2), busyPoints(t, r, 12)
		if small == 0 || small != large {
			t.Errorf("%s: others are busy at %d operations of a small store and %d of a large one", name, small, large)
		}
		t.Logf("%s: others are busy at %d operations", name, small)
	}
}

// busyPoints counts the operations of a call before which another process finds
// LOCK taken, in a store of the given number of records that are larger than what
// is read at a time.
func busyPoints(t *testing.T, r role, records int) (busy int) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		w := worldOver(t, vfs.NewMem(1<<16), contents{})
		defer w.end()
		z := w.opened("z")
		a := w.player("a", r)
		for n := range records {
			z.must(updateCall("large", put(n+1, strings.Repeat("x", readAhead+1))))
		}
		if r.name == "rebuild" {
			a.must(viewCall())
		}
		nothing := updateCall("nothing")
		for more := a.start(r.call(1), before(0)); more; more = a.goOn(before(0)) {
			if errors.Is(z.do(nothing), ErrBusy) {
				busy++
			}
		}
		if a.err != nil {
			w.fail("%s: %v", r.name, a.err)
		}
	})
	return busy
}
