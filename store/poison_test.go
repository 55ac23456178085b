package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
)

func rebuild(l *Log) error {
	_, err := l.Rebuild(context.Background())
	return err
}

func updateTwo(l *Log) error { return update(l, put(2, "two")) }

// failing makes the operation number n of a kind on one file fail.
func failing(kind faultfs.Kind, file string, n int, effect faultfs.Effect) faultfs.Fault {
	return faultfs.Fault{Kind: kind, N: n, Effect: effect, Match: func(op faultfs.Op) bool { return op.Name == file }}
}

// After each of these failures nobody can say what the disk, or the next holder of
// LOCK, will find: writing must end, although the system goes on as if nothing
// had been.
func TestWhatEndsWriting(t *testing.T) {
	log, next := logName(1), logName(2)
	short := failing(faultfs.Write, log, 0, faultfs.Short)
	for _, tt := range []struct {
		name   string
		torn   bool // another process was killed in the middle of a write
		do     func(*Log) error
		faults []faultfs.Fault
	}{
		{"sync of a commit", false, updateTwo, []faultfs.Fault{failing(faultfs.Sync, log, 0, faultfs.Lost)}},
		{"write of LOCK after a commit", false, updateTwo, []faultfs.Fault{failing(faultfs.Write, lockName, 0, faultfs.NotDone)}},
		{"mark before a write is taken back", false, updateTwo, []faultfs.Fault{short, failing(faultfs.Write, lockName, 0, faultfs.NotDone)}},
		{"cut of a write that is taken back", false, updateTwo, []faultfs.Fault{short, failing(faultfs.Truncate, log, 0, faultfs.NotDone)}},
		{"sync of a write that is taken back", false, updateTwo, []faultfs.Fault{short, failing(faultfs.Sync, log, 0, faultfs.Lost)}},
		{"LOCK after a write is taken back", false, updateTwo, []faultfs.Fault{short, failing(faultfs.Write, lockName, 1, faultfs.NotDone)}},
		{"cut of a repair", true, updateTwo, []faultfs.Fault{failing(faultfs.Truncate, log, 0, faultfs.NotDone)}},
		{"sync of a repair", true, updateTwo, []faultfs.Fault{failing(faultfs.Sync, log, 0, faultfs.Lost)}},
		{"LOCK after a repair", true, updateTwo, []faultfs.Fault{failing(faultfs.Write, lockName, 1, faultfs.NotDone)}},
		{"rename of a rebuild that happened", false, rebuild, []faultfs.Fault{{Kind: faultfs.Rename, Effect: faultfs.Done}}},
		{"sync of the directory of a rebuild", false, rebuild, []faultfs.Fault{{Kind: faultfs.SyncDir, Effect: faultfs.Lost}}},
		{"opening a rebuilt log", false, rebuild, []faultfs.Fault{failing(faultfs.Open, next, 0, faultfs.NotDone)}},
		{"LOCK after a rebuild", false, rebuild, []faultfs.Fault{failing(faultfs.Write, lockName, 1, faultfs.NotDone)}},
		{"sync of the directory after a removal", false, rebuild, []faultfs.Fault{{Kind: faultfs.SyncDir, N: 1, Effect: faultfs.Lost}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			disk := vfs.NewMem(0)
			fsys := faultfs.New(disk)
			l := mustOpen(t, fsys)
			must(t, update(l, put(1, "one")))
			if tt.torn {
				appendTo(t, disk, log, make([]byte, 40))
			}
			for _, fault := range tt.faults {
				fsys.Inject(fault)
			}
			if err := tt.do(l); !errors.Is(err, ErrPoisoned) || fsys.Fired() != len(tt.faults) {
				t.Fatalf("got %v, %d faults fired", err, fsys.Fired())
			}
			since := len(fsys.Ops())
			if err := update(l, put(3, "three")); !errors.Is(err, ErrPoisoned) {
				t.Errorf("the next update: %v", err)
			}
			must(t, l.Close())
			noWrites(t, fsys, since)
			allowed := []contents{{id(1): "one"}, {id(1): "one", id(2): "two"}}
			images(disk, 64, rand.New(rand.NewPCG(1, 1)), func(image *vfs.Mem) { must(t, survives(image, allowed)) })
		})
	}
}

func appendTo(t *testing.T, m *vfs.Mem, name string, b []byte) {
	t.Helper()
	file, err := m.Open(name)
	must(t, err)
	size, err := file.Size()
	must(t, err)
	_, err = file.WriteAt(b, size)
	must(t, errors.Join(err, file.Close()))
}

// What failed and was taken back costs the next commit nothing: LOCK calls the
// log clean again, and nobody repairs what is in order.
func TestWriteTakenBackLeavesNoTrace(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(*Log) error
		fault faultfs.Fault
	}{
		{"a short write", updateTwo, failing(faultfs.Write, logName(1), 0, faultfs.Short)},
		{"a rename that did not happen", rebuild, faultfs.Fault{Kind: faultfs.Rename}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := faultfs.New(vfs.NewMem(0))
			l := mustOpen(t, fsys)
			usual := kindsOf(fsys, func() { must(t, update(l, put(1, "one"))) })
			fsys.Inject(tt.fault)
			if err := tt.do(l); !errors.Is(err, faultfs.ErrInjected) || errors.Is(err, ErrPoisoned) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(usual, kindsOf(fsys, func() { must(t, update(l, put(1, "one"))) })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// kindsOf returns what do does with the file system.
func kindsOf(fsys *faultfs.FS, do func()) (kinds []faultfs.Kind) {
	before := len(fsys.Ops())
	do()
	for _, op := range fsys.Ops()[before:] {
		kinds = append(kinds, op.Kind)
	}
	return kinds
}

// The sink is asked after the sync: when it refuses then, file and memory have
// parted.
func TestSinkRefusesACommit(t *testing.T) {
	o := testOptions()
	o.NewSink = func() Sink { return &choosy{} }
	l, err := Open(context.Background(), vfs.NewMem(0), o)
	must(t, err)
	defer l.Close()
	must(t, update(l, put(1, "one")))
	if err := updateTwo(l); !errors.Is(err, ErrPoisoned) || !errors.Is(err, errRefused) {
		t.Errorf("an update that the sink refuses: %v", err)
	}
	if err := update(l, put(3, "three")); !errors.Is(err, ErrPoisoned) {
		t.Errorf("the next update: %v", err)
	}
}

// choosy refuses the record 2.
type choosy struct{}

func (*choosy) Apply(r Record) error {
	if r.ID == id(2) {
		return errRefused
	}
	return nil
}

// A snapshot of a poisoned process could hold what the disk lacks.
func TestPoisonedProcessSavesNothing(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one")))
	fsys.Inject(failing(faultfs.Sync, logName(1), 0, faultfs.Lost))
	if err := updateTwo(l); !errors.Is(err, ErrPoisoned) {
		t.Fatalf("got %v", err)
	}
	since := len(fsys.Ops())
	if err := save(l); !errors.Is(err, ErrPoisoned) {
		t.Errorf("a snapshot: %v", err)
	}
	noWrites(t, fsys, since)
}

// save writes a snapshot of now.
func save(l *Log) error {
	l.rebuilding <- struct{}{}
	defer release(l.rebuilding)
	return l.saveSnapshot()
}

// A view that finds LOCK ahead of what it has takes the missing frames over: it
// must not be able to while this very process is about to apply them.
func TestNobodyFindsLockAhead(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	l := mustOpen(t, fsys)
	looked := 0
	fsys.After = func(op faultfs.Op) {
		if op.Kind != faultfs.Write || op.Name != lockName {
			return
		}
		looked++
		if !l.following.TryLock() {
			return
		}
		defer l.following.Unlock()
		if s, _, _, err := l.lock.peek(); err != nil || l.gen.isBehind(s) {
			t.Errorf("LOCK says %+v, applied is up to %d (%v)", s, l.gen.end.offset, err)
		}
	}
	must(t, update(l, put(1, "one")))
	must(t, rebuild(l))
	fsys.After = nil
	if looked < 3 {
		t.Errorf("LOCK was written %d times", looked)
	}
}
