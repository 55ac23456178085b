package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
)

func backup(l *Log, to vfs.FS) error { return l.Backup(context.Background(), to) }

// theCopy opens what a Backup made and compares it with the log that it was made
// of. It must look like a store that was closed.
func theCopy(t *testing.T, to *vfs.Mem, of *Log) {
	t.Helper()
	if names := to.Names(); len(names) != 1 || names[0] != of.gen.name {
		t.Fatalf("the directory holds %v", names)
	}
	want, err := held(of)
	if err != nil {
		t.Fatal(err)
	}
	l := opened(t, to, testOptions())
	defer l.Close()
	got, err := held(l)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	stats := l.Stats()
	if stats.LastError != nil || stats.RecoveredTail || stats.LastSeq != of.Stats().LastSeq || l.gen.lastID != of.gen.lastID {
		t.Errorf("the copy: %+v, last id %v; the log: %+v, last id %v", stats, l.gen.lastID, of.Stats(), of.gen.lastID)
	}
	if stats.DeadBytes != 0 || l.gen.header.fileID == of.gen.header.fileID {
		t.Errorf("%d dead bytes, file id %x", stats.DeadBytes, l.gen.header.fileID)
	}
	if verified, err := verify(l); err != nil || verified.Records != int64(len(want)) {
		t.Errorf("%+v, %v", verified, err)
	}
}

// A backup can be made however the log is open, and changes nothing of it.
func TestBackup(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"default":   func(*Options) {},
		"exclusive": func(o *Options) { o.Exclusive = true },
		"read only": func(o *Options) { o.ReadOnly = true },
	} {
		t.Run(name, func(t *testing.T) {
			disk, l := verified(t)
			mustUpdate(t, l, put(99, "the last id"))
			mustUpdate(t, l, remove(99))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			o := testOptions()
			change(&o)
			l = opened(t, disk, o)
			before := snapshot(t, disk)
			to := vfs.NewMem(0)
			if err := backup(l, to); err != nil {
				t.Fatal(err)
			}
			untouched(t, disk, before)
			theCopy(t, to, l)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if err := backup(l, vfs.NewMem(0)); !errors.Is(err, ErrClosed) {
				t.Errorf("closed: %v", err)
			}
		})
	}
}

func TestBackupOfAnEmptyStore(t *testing.T) {
	l := opened(t, vfs.NewMem(0), testOptions())
	to := vfs.NewMem(0)
	if err := backup(l, to); err != nil {
		t.Fatal(err)
	}
	theCopy(t, to, l)
}

// The store goes on where the copy was made, and so does the copy: neither
// knows of the other, and neither takes the other's LOCK and snapshot for its
// own.
func TestBackupIsAStoreOfItsOwn(t *testing.T) {
	disk, l := verified(t)
	to := vfs.NewMem(0)
	if err := backup(l, to); err != nil {
		t.Fatal(err)
	}
	want, err := held(l)
	if err != nil {
		t.Fatal(err)
	}
	d, ours := snapshot(t, to), snapshot(t, disk)
	mustUpdate(t, l, put(40, "not in the copy"))
	mem := d.restore(t)
	if err := survives(mem, []contents{want}); err != nil {
		t.Error(err)
	}
	withSnapshot := d.with(snapshotName, ours[snapshotName]).restore(t)
	if err := survives(withSnapshot, []contents{want}); err != nil {
		t.Errorf("beside the original's snapshot: %v", err)
	}
	withLock := d.with(lockName, ours[lockName])
	mem = withLock.restore(t)
	if _, err := openTest(mem); !errors.Is(err, ErrCorrupt) {
		t.Errorf("beside the original's LOCK: %v", err)
	}
	untouched(t, mem, withLock)
}

// Nothing that was deleted or replaced is in the copy.
func TestBackupErases(t *testing.T) {
	l := opened(t, vfs.NewMem(0), testOptions())
	mustUpdate(t, l, put(1, "secret deleted"), put(2, "secret replaced"), put(3, "stays"))
	mustUpdate(t, l, remove(1), put(2, "changed"))
	to := vfs.NewMem(0)
	if err := backup(l, to); err != nil {
		t.Fatal(err)
	}
	for name, b := range snapshot(t, to) {
		if strings.Contains(string(b), "secret") || !strings.Contains(string(b), "stays") {
			t.Errorf("%s holds %q", name, b)
		}
	}
}

func TestBackupNeedsADirectoryWithoutStore(t *testing.T) {
	_, l := verified(t)
	for _, name := range []string{lockName, maintName, snapshotName, logName(1), logName(7)} {
		to := vfs.NewMem(0)
		for _, file := range []string{name, "new-1-0123456789abcdef.tmp"} {
			if err := to.WriteFile(file, []byte("as it was")); err != nil {
				t.Fatal(err)
			}
		}
		before := snapshot(t, to)
		if err := backup(l, to); !errors.Is(err, ErrStoreExists) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, snapshot(t, to)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
	to := vfs.NewMem(0)
	for _, file := range []string{"README", "convmem-1.log", "new-1-0123456789abcdef.tmp"} {
		if err := to.WriteFile(file, []byte("as it was")); err != nil {
			t.Fatal(err)
		}
	}
	if err := backup(l, to); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"README", "convmem-0000000000000001.log", "convmem-1.log"}, to.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A damaged live record cannot be copied; one that is dead does not matter.
func TestBackupOfADamagedLog(t *testing.T) {
	disk, l := verified(t)
	at, _ := l.gen.table.get(id(7))
	flip(t, disk, l.gen.name, int(at.offset+frameHeaderSize)*8)
	flip(t, disk, l.gen.name, (headerSize+frameHeaderSize)*8) // record 1, as it was first
	to := vfs.NewMem(0)
	err := backup(l, to)
	var damage *CorruptError
	if !errors.As(err, &damage) || damage.ID != id(7) || len(to.Names()) > 0 {
		t.Errorf("%v, the directory holds %v", err, to.Names())
	}
	if !errors.Is(l.Stats().LastError, ErrCorrupt) {
		t.Errorf("health says %v", l.Stats().LastError)
	}
	mustUpdate(t, l, remove(7))
	if err := backup(l, to); err != nil {
		t.Fatal(err)
	}
	theCopy(t, to, l)
}

// After a failed sync the copy holds what was acknowledged and nothing else.
func TestBackupAfterAFailedSync(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	l := opened(t, fsys, testOptions())
	mustUpdate(t, l, put(1, "one"))
	fsys.Inject(faultfs.Fault{Kind: faultfs.Sync, Effect: faultfs.Lost})
	if err := update(l, put(2, "two")); !errors.Is(err, ErrPoisoned) {
		t.Fatal(err)
	}
	fsys.Clear()
	operations, to := len(fsys.Ops()), vfs.NewMem(0)
	if err := backup(l, to); err != nil {
		t.Fatal(err)
	}
	noWrites(t, fsys, operations)
	found, err := contentsOf(to)
	if err != nil || !equal(found, contents{id(1): "one"}) {
		t.Errorf("found %v, %v", found, err)
	}
}

// noneOrWhole checks what an interrupted Backup left: no store, so that one can
// be made, or all of it. It returns whether it is all of it.
func noneOrWhole(t *testing.T, to *vfs.Mem, want contents, when string) bool {
	t.Helper()
	_, whole := fileOfStore(to.Names())
	expected := contents{}
	if whole {
		expected = want
	}
	if err := survives(to, []contents{expected}); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if names := slices.DeleteFunc(to.Names(), func(name string) bool { return !strings.HasSuffix(name, tmpSuffix) }); len(names) > 0 {
		t.Fatalf("%s: Open left %v", when, names)
	}
	return whole
}

// A power cut at every operation of a Backup in the directory that it writes.
func TestBackupPowerCut(t *testing.T) {
	_, l := verified(t)
	mustUpdate(t, l, put(60, strings.Repeat("more than a block ", 100)))
	want, err := held(l)
	if err != nil {
		t.Fatal(err)
	}
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	r := rand.New(rand.NewPCG(11, 12))
	points, all, whole := 0, 0, 0
	look := func(op string) {
		points++
		all += images(disk, sample(64, 1024), r, func(image *vfs.Mem) {
			if noneOrWhole(t, image, want, op) {
				whole++
			}
		})
	}
	fsys.Before = func(op faultfs.Op) error {
		if changesDisk(op.Kind) {
			look(op.String())
		}
		return nil
	}
	if err := backup(l, fsys); err != nil {
		t.Fatal(err)
	}
	before := all - whole
	look("the end")
	if before == 0 || all-whole != before {
		t.Errorf("without a store: %d images until the end, %d then", before, all-whole-before)
	}
	t.Logf("%d crash points, %d images, %d of them with the whole store, the others with none", points, all, whole)
}

// Every operation of a Backup fails, on the side of the store and on the side of
// the copy, in every way. What is there is no store or the whole; when Backup
// said that it worked, it is the whole after a power cut too. The store goes on.
func TestBackupMeetsFailures(t *testing.T) {
	for name, effect := range effects {
		t.Run(name, func(t *testing.T) {
			points, worked := 0, 0
			for _, fails := range []string{"store", "copy"} {
				for _, always := range []bool{false, true} {
					for n := 0; ; n++ {
						fired, ok := backupFailsAt(t, fails, faultfs.Fault{N: n, Effect: effect, Always: always})
						if !fired {
							break
						}
						points++
						if ok {
							worked++
						}
					}
				}
			}
			t.Logf("%d fault points, %d of them harmless, no violation", points, worked)
		})
	}
}

func backupFailsAt(t *testing.T, fails string, fault faultfs.Fault) (fired, ok bool) {
	t.Helper()
	disk, l := verified(t)
	want, err := held(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	from, target := faultfs.New(disk), vfs.NewMem(0)
	l = opened(t, from, testOptions())
	to := faultfs.New(target)
	faulty := map[string]*faultfs.FS{"store": from, "copy": to}[fails]
	faulty.Inject(fault)
	err = backup(l, to)
	when := fmt.Sprintf("operation %d (%s) of the %s failed", fault.N, failed(faulty), fails)
	fired = faulty.Fired() > 0
	faulty.Clear()
	if !fired && err != nil || errors.Is(err, ErrCorrupt) {
		t.Fatalf("%s: %v", when, err)
	}
	// A file that was only read may fail to close, and a read that is done is
	// one that worked.
	if fired && err == nil && !strings.Contains(when, "close convmem-") && fault.Effect != faultfs.Done {
		t.Fatalf("%s, and nobody was told", when)
	}
	images(target, 16, rand.New(rand.NewPCG(13, uint64(fault.N))), func(image *vfs.Mem) {
		if whole := noneOrWhole(t, image, want, when); err == nil && !whole {
			t.Fatalf("%s: Backup worked, and after a power cut there is no store", when)
		}
	})
	if update(l, put(70, "the store goes on")) != nil {
		t.Fatalf("%s: the store does not go on", when)
	}
	return fired, err == nil
}
