package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
)

// Schedules in which one process takes over from another in the middle of
// something. They stop calls with the means of peers_test.go.

// A reader that knows of a log which is gone when it comes to open or read it
// looks again.
func TestReaderBetweenTwoRebuilds(t *testing.T) {
	for _, kind := range []faultfs.Kind{faultfs.Open, faultfs.Read} {
		inWorld(t, func(t *testing.T, w *world) {
			reader, b := w.opened("reader"), w.opened("b")
			base(b)
			reader.must(viewCall())
			b.must(rebuildCall())
			reader.startTo(viewCall(), on(kind, logName(2)))
			b.must(rebuildCall())
			if err := reader.finish(); err != nil {
				w.fail("stopped before %s: %v", kind, err)
			}
			w.close()
		})
	}
}

func TestOpenBetweenTwoRebuilds(t *testing.T) {
	for _, kind := range []faultfs.Kind{faultfs.Open, faultfs.Read} {
		inWorld(t, func(t *testing.T, w *world) {
			b := w.opened("b")
			base(b)
			a := w.process("a")
			a.startTo(openingCall(), on(kind, logName(1)))
			b.must(rebuildCall())
			if err := a.finish(); err != nil {
				w.fail("stopped before %s: %v", kind, err)
			}
			w.close()
		})
	}
}

// What was committed between the loading of a log and the taking of LOCK is not
// missed.
func TestOpenBesideAWriter(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b := w.opened("b")
		base(b)
		a := w.process("a")
		a.startTo(openingCall(), on(faultfs.TryLock, lockName))
		b.must(addCall("b"))
		if err := a.finish(); err != nil {
			w.fail("%v", err)
		}
		w.close()
	})
}

// A rebuild copies a log while a writer completes another rebuild that was
// killed: it begins again with the log that is the newest then.
func TestRebuildOverAnotherOne(t *testing.T) {
	for name, at := range map[string]stop{
		"before it opens the log": on(faultfs.Open, logPrefix),
		"before it reads":         on(faultfs.Read, logPrefix),
		"before it syncs":         on(faultfs.Sync, rebuildPrefix),
	} {
		inWorld(t, func(t *testing.T, w *world) {
			z, a, b := w.opened("z"), w.opened("a"), w.opened("b")
			base(z)
			a.must(viewCall())
			z.startTo(rebuildCall(), on(faultfs.Rename, rebuildPrefix))
			z.goOnTo(before(0))
			z.kill()
			a.startTo(rebuildCall(), at)
			b.must(addCall("b"))
			if err := a.finish(); err != nil {
				w.fail("stopped %s: %v", name, err)
			}
			w.close()
		})
	}
}

// The file is taken away while a view looks into it.
func TestViewIsRunAgainOverARebuild(t *testing.T) {
	m := vfs.NewMem(0)
	l, other := mustOpen(t, m), mustOpen(t, m)
	must(t, update(l, put(1, "one")))
	runs := 0
	var got []byte
	must(t, l.View(context.Background(), func(v *View) (err error) {
		if runs++; runs == 1 {
			must(t, rebuild(other))
		}
		got, err = v.Get(id(1))
		return err
	}))
	if string(got) != "one" || runs != 2 {
		t.Errorf("%q after %d runs", got, runs)
	}
}

func TestBackupIsOfTheNewestState(t *testing.T) {
	m, to := vfs.NewMem(0), vfs.NewMem(0)
	l, other := mustOpen(t, m), mustOpen(t, m)
	must(t, errors.Join(update(l, put(1, "one")), updateTwo(other)))
	must(t, l.Backup(context.Background(), to))
	found, err := contentsOf(to)
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "one", id(2): "two"}, found); diff != "" {
		t.Error(diff)
	}
}

// Nobody needs to read a record to find out that the log has been replaced.
func TestViewIsOfTheNewestLog(t *testing.T) {
	m := vfs.NewMem(0)
	l, other := mustOpen(t, m), mustOpen(t, m)
	must(t, errors.Join(update(l, put(1, "one")), rebuild(other)))
	must(t, l.View(context.Background(), func(v *View) error {
		if v.gen.header.generation != 2 {
			t.Errorf("it is of generation %d", v.gen.header.generation)
		}
		return nil
	}))
}

// What the dead were building goes with the next call that may remove it: it
// holds texts that may have been deleted since.
func TestUnfinishedFilesOfTheDeadAreRemoved(t *testing.T) {
	killed := func(z *process, c call, prefix string) {
		z.startTo(c, on(faultfs.Rename, prefix))
		z.kill()
		if !slices.ContainsFunc(z.world.disk.Names(), isTemporary) {
			z.world.fail("nothing is left to be removed")
		}
	}
	for name, schedule := range map[string]func(w *world){
		"of a rebuild, by an open": func(w *world) {
			z := w.opened("z")
			base(z)
			killed(z, rebuildCall(), rebuildPrefix)
			w.opened("a")
		},
		"of a rebuild, by a rebuild": func(w *world) {
			z, a := w.opened("z"), w.opened("a")
			base(z)
			killed(z, rebuildCall(), rebuildPrefix)
			a.must(rebuildCall())
		},
		"of a creation, by an open": func(w *world) {
			killed(w.process("z"), openingCall(), newPrefix)
			w.opened("a")
		},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			schedule(w)
			if names := w.disk.Names(); slices.ContainsFunc(names, isTemporary) {
				t.Errorf("%s: %q", name, names)
			}
		})
	}
}

func isTemporary(name string) bool { return strings.HasSuffix(name, tmpSuffix) }

// LOCK says that repaired bytes are durable when they are, and not before.
func TestRepairIsAnnouncedWhenItIsDurable(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		z, b, reader := w.opened("z"), w.opened("b"), w.opened("reader")
		base(z)
		reader.must(viewCall())
		before := reader.found
		z.startTo(lostWrite(), on(faultfs.Sync, logPrefix))
		z.kill()
		b.startTo(addCall("b"), on(faultfs.Sync, logPrefix))
		reader.must(viewCall())
		w.showsStill(reader, before, "before the repair is synced")
		w.powerCut(64)
		b.finish()
		w.close()
	})
}

// The wait for LOCK ends with LockWait, long before the context.
func TestBusyEndsAtTheDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fsys := vfs.NewMem(0)
		l := mustOpenExclusive(t, fsys)
		defer l.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		o := testOptions()
		o.LockWait = 10 * time.Millisecond
		if _, err := Open(ctx, fsys, o); !errors.Is(err, ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// Of several that wrote and close only one marks the log.
func TestCloseMarksTheLogOnceForAll(t *testing.T) {
	m := vfs.NewMem(0)
	a, b := mustOpen(t, m), mustOpen(t, m)
	must(t, errors.Join(update(a, put(1, "one")), updateTwo(b)))
	must(t, a.Close())
	before := snapshot(t, m)[logName(1)]
	must(t, b.Close())
	if diff := cmp.Diff(before, snapshot(t, m)[logName(1)]); diff != "" {
		t.Error(diff)
	}
}

// From the moment at which the new log has its name, and to the end, LOCK names
// nothing that a power cut could take away.
func TestLockNamesOnlyWhatIsDurable(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.opened("a")
		base(a)
		a.startTo(rebuildCall(), on(faultfs.Rename, rebuildPrefix))
		cuts := 0
		for more := true; more; more = a.goOn(before(0)) {
			cuts += w.powerCut(128)
		}
		w.close()
		t.Logf("%d crash images", cuts)
	})
}

// Two processes that write in turn see each other's changes, and a third sees
// all of them at once.
func TestProcessesWriteInTurn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b, reader := w.opened("a"), w.opened("b"), w.opened("reader")
		for range 5 {
			b.must(addCall("b"))
		}
		for range 2 {
			a.must(addCall("a"))
			reader.must(viewCall())
			b.must(addCall("b"))
			w.agree()
		}
		w.close()
	})
}

// A mark that another process has set in LOCK counts, even for the one that wrote
// the last slot but that and finds the log as long as it left it.
func TestMarkOfAnotherIsSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.opened("a"), w.opened("b")
		b.must(addCall("b"))
		shortWrite(a, 1<<20)
		a.startTo(lostWrite(), on(faultfs.Truncate, logPrefix))
		a.goOnTo(on(faultfs.Sync, logPrefix))
		a.kill()
		first := len(b.fs.Ops())
		b.must(addCall("b again"))
		b.ordered(first, kindOf{faultfs.Sync, logPrefix}, kindOf{faultfs.Write, logPrefix})
		w.close()
	})
}

// A failed sync of the directory leaves names that the system may forget at any
// time. Whoever is about to settle on such a log finds the one before it again.
func TestNameGoesByItself(t *testing.T) {
	for name, at := range map[string]stop{
		"before the log is looked at":  on(faultfs.SameFile, logName(2)),
		"before the directory changes": on(faultfs.Create, newPrefix),
	} {
		inWorld(t, func(t *testing.T, w *world) {
			a, b := w.opened("a"), w.opened("b")
			base(a)
			a.fs.Inject(faultfs.Fault{Kind: faultfs.SyncDir, Effect: faultfs.Lost})
			if a.do(rebuildCall()); !a.poisoned {
				w.fail("a lost sync of the directory did not poison: %v", a.err)
			}
			b.startTo(addCall("b"), at)
			w.disk.Evict()
			if err := b.finish(); err != nil {
				w.fail("the name goes %s: %v", name, err)
			}
			w.close()
		})
	}
}

// A commit goes behind what another process has committed while this one came
// for LOCK.
func TestCommitBehindAnother(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.opened("a"), w.opened("b")
		base(b)
		a.startTo(addCall("a"), on(faultfs.TryLock, lockName))
		b.must(addCall("b"))
		if err := a.finish(); err != nil {
			w.fail("%v", err)
		}
		w.close()
	})
}

// A reader that slept through a deletion and a rebuild shows the new log with a
// sink of its own.
func TestReaderOfARebuild(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		reader, b := w.opened("reader"), w.opened("b")
		b.must(updateCall("two", put(1, "one"), put(2, secret)))
		reader.must(viewCall())
		b.must(updateCall("delete", remove(2)))
		b.must(rebuildCall())
		reader.must(viewCall())
		w.close()
	})
}
