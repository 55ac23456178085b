package faultfs_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// disk writes all visible names and bytes on one line.
func disk(m *vfs.Mem) string {
	var parts []string
	for _, name := range m.Names() {
		content, err := m.ReadFile(name)
		if err != nil {
			return err.Error()
		}
		parts = append(parts, name+"="+string(content))
	}
	return strings.Join(parts, " ")
}

func crashes(m *vfs.Mem) []string {
	var all []string
	for image := range m.CrashImages() {
		all = append(all, disk(image))
	}
	slices.Sort(all)
	return all
}

// Each case starts from a durable file f=old, open, with one fault for the
// call. Blocks are larger than all files: bytes are old or new, not mixed.
func TestEffects(t *testing.T) {
	write := func(_ vfs.FS, f vfs.File) error { _, err := f.WriteAt([]byte("NEW"), 0); return err }
	writeAndSync := func(fsys vfs.FS, f vfs.File) error { return errors.Join(write(fsys, f), f.Sync()) }
	rename := func(fsys vfs.FS, _ vfs.File) error { return fsys.Rename("f", "g") }
	renameAndSync := func(fsys vfs.FS, f vfs.File) error {
		return errors.Join(rename(fsys, f), fsys.SyncDir())
	}
	tests := []struct {
		name    string
		fault   faultfs.Fault
		run     func(fsys vfs.FS, f vfs.File) error
		visible string
		crashes []string
	}{
		{
			"write not done", faultfs.Fault{Kind: faultfs.Write}, write,
			"f=old", []string{"f=old"},
		},
		{
			"half a write", faultfs.Fault{Kind: faultfs.Write, Effect: faultfs.Short}, write,
			"f=Nld", []string{"f=Nld", "f=old"},
		},
		{
			"two bytes of a write", faultfs.Fault{Kind: faultfs.Write, Effect: faultfs.Short, Keep: 2}, write,
			"f=NEd", []string{"f=NEd", "f=old"},
		},
		{
			"more bytes than there are", faultfs.Fault{Kind: faultfs.Write, Effect: faultfs.Short, Keep: 9}, write,
			"f=NEW", []string{"f=NEW", "f=old"},
		},
		{
			"write done", faultfs.Fault{Kind: faultfs.Write, Effect: faultfs.Done}, write,
			"f=NEW", []string{"f=NEW", "f=old"},
		},
		{
			"sync not done", faultfs.Fault{Kind: faultfs.Sync}, writeAndSync,
			"f=NEW", []string{"f=NEW", "f=old"},
		},
		{
			"sync done", faultfs.Fault{Kind: faultfs.Sync, Effect: faultfs.Done}, writeAndSync,
			"f=NEW", []string{"f=NEW"},
		},
		{
			"sync lost", faultfs.Fault{Kind: faultfs.Sync, Effect: faultfs.Lost}, writeAndSync,
			"f=NEW", []string{"f=old"},
		},
		{
			"rename not done", faultfs.Fault{Kind: faultfs.Rename}, rename,
			"f=old", []string{"f=old"},
		},
		{
			"rename done", faultfs.Fault{Kind: faultfs.Rename, Effect: faultfs.Done}, rename,
			"g=old", []string{"", "f=old", "f=old g=old", "g=old"},
		},
		{
			"directory sync not done", faultfs.Fault{Kind: faultfs.SyncDir}, renameAndSync,
			"g=old", []string{"", "f=old", "f=old g=old", "g=old"},
		},
		{
			"directory sync done", faultfs.Fault{Kind: faultfs.SyncDir, Effect: faultfs.Done}, renameAndSync,
			"g=old", []string{"g=old"},
		},
		{
			"directory sync lost", faultfs.Fault{Kind: faultfs.SyncDir, Effect: faultfs.Lost}, renameAndSync,
			"g=old", []string{"f=old"},
		},
		{
			"lost of another kind is not done", faultfs.Fault{Kind: faultfs.Rename, Effect: faultfs.Lost}, rename,
			"f=old", []string{"f=old"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mem := vfs.NewMem(0)
			check(t, mem.WriteFile("f", []byte("old")))
			fsys := faultfs.New(mem)
			fsys.Inject(test.fault)
			wantError(t, "run", test.run(fsys, must(fsys.Open("f"))(t)), faultfs.ErrInjected)
			if got := disk(mem); got != test.visible {
				t.Errorf("visible %q, want %q", got, test.visible)
			}
			if diff := cmp.Diff(test.crashes, crashes(mem)); diff != "" {
				t.Errorf("crash images (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShortWriteReportsItsLength(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	file := must(fsys.Create("a"))(t)
	fsys.Inject(faultfs.Fault{Kind: faultfs.Write, Effect: faultfs.Short})
	n, err := file.WriteAt([]byte("abcdefg"), 0)
	wantError(t, "WriteAt", err, faultfs.ErrInjected)
	if n != 3 {
		t.Errorf("WriteAt says %d bytes, want 3", n)
	}
}

// A failed call must leave no handle and no lock behind.
func TestFailedCallsHoldNothing(t *testing.T) {
	for _, effect := range []faultfs.Effect{faultfs.NotDone, faultfs.Done} {
		mem := vfs.NewMem(0)
		other := must(mem.Lock("L"))(t)
		fsys := faultfs.New(mem)
		lock := must(fsys.Lock("L"))(t)
		fsys.Inject(faultfs.Fault{Kind: faultfs.TryLock, Effect: effect})
		taken, err := lock.TryLock()
		if wantError(t, "TryLock", err, faultfs.ErrInjected); taken {
			t.Error("TryLock failed and says that it took the lock")
		}
		wantFree(t, other)

		if !must(lock.TryLock())(t) {
			t.Fatal("the lock is not free")
		}
		fsys.Inject(faultfs.Fault{Kind: faultfs.Close, Effect: effect})
		wantError(t, "Close", lock.Close(), faultfs.ErrInjected)
		wantFree(t, other)

		file := must(fsys.Create("a"))(t)
		fsys.Inject(faultfs.Fault{Kind: faultfs.Close, Effect: effect})
		wantError(t, "Close", file.Close(), faultfs.ErrInjected)
		_, err = file.Size()
		wantError(t, "Size", err, fs.ErrClosed)
	}
}

// What was opened although the call failed must be closed again.
func TestFailedOpensAreClosed(t *testing.T) {
	recorder := &recordingFS{FS: vfs.NewMem(0)}
	fsys := faultfs.New(recorder)
	for _, kind := range []faultfs.Kind{faultfs.Create, faultfs.Open, faultfs.Lock} {
		fsys.Inject(faultfs.Fault{Kind: kind, Effect: faultfs.Done, Always: true})
	}
	_, err := fsys.Create("a")
	wantError(t, "Create", err, faultfs.ErrInjected)
	_, err = fsys.Open("a")
	wantError(t, "Open", err, faultfs.ErrInjected)
	_, err = fsys.Lock("L")
	wantError(t, "Lock", err, faultfs.ErrInjected)
	_, err = fsys.OpenRead("a")
	wantError(t, "OpenRead", err, faultfs.ErrInjected)
	_, err = fsys.SharedLock("L")
	wantError(t, "SharedLock", err, faultfs.ErrInjected)
	recorder.wantClosedOnce(t, 5)
	fsys.Kill()
	recorder.wantClosedOnce(t, 5)
}

// An answer that comes with an error is none.
func TestFailedQuestionsHaveNoAnswer(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	file := must(fsys.Create("a"))(t)
	must(file.WriteAt([]byte("abc"), 0))(t)
	for _, kind := range []faultfs.Kind{faultfs.SameFile, faultfs.Size, faultfs.List} {
		fsys.Inject(faultfs.Fault{Kind: kind, Effect: faultfs.Done})
	}
	if same, err := fsys.SameFile("a", file); same || err == nil {
		t.Errorf("SameFile: %v, %v", same, err)
	}
	if size, err := file.Size(); size != 0 || err == nil {
		t.Errorf("Size: %d, %v", size, err)
	}
	if names, err := fsys.List(); names != nil || err == nil {
		t.Errorf("List: %q, %v", names, err)
	}
}

// recordingFS counts how often what it has given out was closed.
type recordingFS struct {
	vfs.FS
	closes []*int
}

type recordedFile struct {
	vfs.File
	closes *int
}

type recordedLock struct {
	vfs.Lock
	closes *int
}

func (f recordedFile) Close() error { *f.closes++; return f.File.Close() }
func (l recordedLock) Close() error { *l.closes++; return l.Lock.Close() }

func (r *recordingFS) counter() *int {
	r.closes = append(r.closes, new(int))
	return r.closes[len(r.closes)-1]
}

func (r *recordingFS) Create(name string) (vfs.File, error) {
	file, err := r.FS.Create(name)
	return recordedFile{file, r.counter()}, err
}

func (r *recordingFS) Open(name string) (vfs.File, error) {
	file, err := r.FS.Open(name)
	return recordedFile{file, r.counter()}, err
}

func (r *recordingFS) OpenRead(name string) (vfs.File, error) {
	file, err := r.FS.OpenRead(name)
	return recordedFile{file, r.counter()}, err
}

func (r *recordingFS) SharedLock(name string) (vfs.Lock, error) {
	lock, err := r.FS.SharedLock(name)
	return recordedLock{lock, r.counter()}, err
}

func (r *recordingFS) Lock(name string) (vfs.Lock, error) {
	lock, err := r.FS.Lock(name)
	return recordedLock{lock, r.counter()}, err
}

func (r *recordingFS) wantClosedOnce(t *testing.T, count int) {
	t.Helper()
	for i, closes := range r.closes {
		if *closes != 1 {
			t.Errorf("handle %d was closed %d times, want once", i, *closes)
		}
	}
	if len(r.closes) != count {
		t.Errorf("%d handles, want %d", len(r.closes), count)
	}
}

func wantFree(t *testing.T, lock vfs.Lock) {
	t.Helper()
	if !must(lock.TryLock())(t) {
		t.Error("the lock is still held")
	}
	check(t, lock.Unlock())
}

func TestFailedUnlockKeepsTheLock(t *testing.T) {
	mem := vfs.NewMem(0)
	fsys := faultfs.New(mem)
	lock, other := must(fsys.Lock("L"))(t), must(mem.Lock("L"))(t)
	must(lock.TryLock())(t)
	fsys.FailNth(faultfs.Unlock, 0, nil)
	wantError(t, "Unlock", lock.Unlock(), faultfs.ErrInjected)
	if must(other.TryLock())(t) {
		t.Error("the lock is free although Unlock failed")
	}
}
