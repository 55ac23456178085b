package faultfs_test

import (
	"io/fs"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// Two FS over one Mem are two processes over one directory.

func wantTryLock(t *testing.T, what string, lock vfs.Lock, want bool) {
	t.Helper()
	if got := must(lock.TryLock())(t); got != want {
		t.Errorf("%s: TryLock says %v, want %v", what, got, want)
	}
}

func TestProcessesExcludeEachOther(t *testing.T) {
	mem := vfs.NewMem(0)
	one, two := faultfs.New(mem), faultfs.New(mem)
	exclusive := must(one.Lock("L"))(t)
	other, shared := must(two.Lock("L"))(t), must(two.SharedLock("L"))(t)
	own := must(one.SharedLock("L"))(t)
	wantTryLock(t, "exclusive", exclusive, true)
	wantTryLock(t, "another process's exclusive", other, false)
	wantTryLock(t, "another process's shared", shared, false)
	wantTryLock(t, "the same process's shared", own, false)
	check(t, exclusive.Unlock())
	wantTryLock(t, "shared", shared, true)
	wantTryLock(t, "shared in both", own, true)
	wantTryLock(t, "exclusive beside both", exclusive, false)
	check(t, own.Unlock())
	wantTryLock(t, "exclusive beside another process's shared", exclusive, false)
	wantTryLock(t, "exclusive beside its own process's shared", other, false)
}

// Each kind of lock must be free for either kind after the holder was killed,
// and killing must take nothing from the other process.
func TestKillReleasesLocks(t *testing.T) {
	for _, sharedFirst := range []bool{false, true} {
		mem := vfs.NewMem(0)
		one, two := faultfs.New(mem), faultfs.New(mem)
		exclusive, shared := must(two.Lock("L"))(t), must(two.SharedLock("L"))(t)
		held := must(one.Lock("L"))(t)
		if sharedFirst {
			held = must(one.SharedLock("L"))(t)
		}
		wantTryLock(t, "the process that will be killed", held, true)
		wantTryLock(t, "exclusive before the kill", exclusive, false)
		wantTryLock(t, "shared before the kill", shared, sharedFirst)
		one.Kill()
		if sharedFirst {
			wantTryLock(t, "exclusive beside the shared one that lives", exclusive, false)
			check(t, shared.Unlock())
		}
		wantTryLock(t, "exclusive after the kill", exclusive, true)
		_, err := held.TryLock()
		wantError(t, "TryLock of the killed", err, faultfs.ErrKilled)
		_, err = one.SharedLock("L")
		wantError(t, "SharedLock of the killed", err, faultfs.ErrKilled)
		_, err = one.OpenRead("L")
		wantError(t, "OpenRead of the killed", err, faultfs.ErrKilled)
	}
}

// What one process does to files that another has open.
func TestProcessesSeeEachOther(t *testing.T) {
	mem := vfs.NewMem(0)
	writer, reader := faultfs.New(mem), faultfs.New(mem)
	log := must(writer.Create("log"))(t)
	seen := must(reader.OpenRead("log"))(t)
	must(log.WriteAt([]byte("abcdef"), 0))(t)
	wantBytes(t, "after a write", seen, "abcdef")
	next := must(writer.Create("tmp"))(t)
	must(next.WriteAt([]byte("new"), 0))(t)
	check(t, writer.Rename("tmp", "log"))
	if must(reader.SameFile("log", seen))(t) {
		t.Error("SameFile misses the rename of another process")
	}
	wantBytes(t, "after a rename over it", seen, "abcdef")
	check(t, log.Truncate(2))
	wantBytes(t, "after a truncation", seen, "ab")
	check(t, writer.Remove("log"))
	writer.Kill()
	wantBytes(t, "after the end of the writer", seen, "ab")
	_, err := reader.OpenRead("log")
	wantError(t, "OpenRead", err, fs.ErrNotExist)
	if got := disk(mem); got != "" {
		t.Errorf("left behind: %q", got)
	}
}

func wantBytes(t *testing.T, when string, file vfs.File, want string) {
	t.Helper()
	got := make([]byte, must(file.Size())(t))
	if n, err := file.ReadAt(got, 0); n != len(got) || string(got) != want {
		t.Errorf("%s: %q, %v; want %q", when, got[:n], err, want)
	}
}

// A failed TryLock must leave no shared lock behind either, and a failed Unlock
// or a Close that failed must do what it does to an exclusive one.
func TestFaultsOfSharedLocks(t *testing.T) {
	for _, effect := range []faultfs.Effect{faultfs.NotDone, faultfs.Short, faultfs.Done, faultfs.Lost} {
		mem := vfs.NewMem(0)
		exclusive := must(mem.Lock("L"))(t)
		fsys := faultfs.New(mem)
		shared := must(fsys.SharedLock("L"))(t)
		fsys.Inject(faultfs.Fault{Kind: faultfs.TryLock, Effect: effect})
		taken, err := shared.TryLock()
		if wantError(t, "TryLock", err, faultfs.ErrInjected); taken {
			t.Error("TryLock failed and says that it took the lock")
		}
		wantFree(t, exclusive)

		wantTryLock(t, "shared", shared, true)
		fsys.Inject(faultfs.Fault{Kind: faultfs.Unlock, Effect: effect})
		wantError(t, "Unlock", shared.Unlock(), faultfs.ErrInjected)
		if got := must(exclusive.TryLock())(t); got != (effect == faultfs.Done) {
			t.Errorf("effect %d: after the failed Unlock the lock is free: %v", effect, got)
		}
		check(t, exclusive.Unlock())
		check(t, shared.Unlock())

		wantTryLock(t, "shared again", shared, true)
		fsys.Inject(faultfs.Fault{Kind: faultfs.Close, Effect: effect})
		wantError(t, "Close", shared.Close(), faultfs.ErrInjected)
		wantFree(t, exclusive)
	}
}

// A handle for reading can lose nothing: its syncs would have written nothing.
func TestFaultsOfFilesForReading(t *testing.T) {
	for _, effect := range []faultfs.Effect{faultfs.NotDone, faultfs.Short, faultfs.Done, faultfs.Lost} {
		mem := vfs.NewMem(0)
		check(t, mem.WriteFile("f", []byte("old")))
		writer := must(mem.Open("f"))(t)
		must(writer.WriteAt([]byte("NEW"), 0))(t)
		fsys := faultfs.New(mem)
		reader := must(fsys.OpenRead("f"))(t)
		fsys.Inject(faultfs.Fault{Effect: effect, Always: true})
		n, err := reader.WriteAt([]byte("XYZ"), 0)
		if wantError(t, "WriteAt", err, faultfs.ErrInjected); n != 0 {
			t.Errorf("effect %d: WriteAt says %d bytes", effect, n)
		}
		wantError(t, "Sync", reader.Sync(), faultfs.ErrInjected)
		wantError(t, "SyncData", reader.SyncData(), faultfs.ErrInjected)
		wantError(t, "Truncate", reader.Truncate(0), faultfs.ErrInjected)
		if got := disk(mem); got != "f=NEW" || mem.CrashImageCount() != 2 {
			t.Errorf("effect %d: visible %q, %d images; want f=NEW, 2", effect, got, mem.CrashImageCount())
		}
		check(t, writer.Sync())
		if got := crashes(mem); len(got) != 1 || got[0] != "f=NEW" {
			t.Errorf("effect %d: after the writer's sync the images are %q", effect, got)
		}
	}
}
