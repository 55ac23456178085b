package vfs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// wantReadOnly makes every call that would change something, and then every one
// that works. The directory holds the files a and b with the content "abc".
func wantReadOnly(t *testing.T, fsys vfs.FS) {
	t.Helper()
	for _, name := range []string{"a", "new", "", "../a"} {
		_, err := fsys.Create(name)
		wantError(t, "Create "+name, err, fs.ErrPermission)
		_, err = fsys.Open(name)
		wantError(t, "Open "+name, err, fs.ErrPermission)
		_, err = fsys.Lock(name)
		wantError(t, "Lock "+name, err, fs.ErrPermission)
		wantError(t, "Remove "+name, fsys.Remove(name), fs.ErrPermission)
		wantError(t, "Rename "+name, fsys.Rename(name, "b"), fs.ErrPermission)
	}
	wantError(t, "SyncDir", fsys.SyncDir(), fs.ErrPermission)
	wantNames(t, fsys, "a", "b")
	reader := openRead(t, fsys, "a")
	wantContent(t, reader, "abc")
	wantRefusals(t, reader)
	wantSame(t, fsys, "a", reader, true)
	wantSame(t, fsys, "b", reader, false)
	wantTryLock(t, "shared", newSharedLock(t, fsys, "a"), true)
	wantTryLock(t, "second shared", newSharedLock(t, fsys, "a"), true)
	_, err := fsys.OpenRead("new")
	wantError(t, "OpenRead", err, fs.ErrNotExist)
	_, err = fsys.SharedLock("new")
	wantError(t, "SharedLock", err, fs.ErrNotExist)
	wantNames(t, fsys, "a", "b")
}

func TestReadOnly(t *testing.T) {
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			inner := implementation.make(t)
			file := create(t, inner, "a", "abc")
			create(t, inner, "b", "abc")
			fsys := vfs.ReadOnly(inner)
			wantReadOnly(t, fsys)
			wantSame(t, fsys, "a", file, true)
			wantTryLock(t, "exclusive beside shared", newLock(t, inner, "a"), false)
			wantContent(t, file, "abc")
		})
	}
}

// Not one call that could change something may be passed on.
func TestReadOnlyPassesNoChangeOn(t *testing.T) {
	mem := vfs.NewMem(0)
	check(t, mem.WriteFile("a", []byte("abc")))
	check(t, mem.WriteFile("b", []byte("abc")))
	faulty := faultfs.New(mem)
	wantReadOnly(t, vfs.ReadOnly(faulty))
	allowed := map[faultfs.Kind]bool{
		faultfs.Open: true, faultfs.List: true, faultfs.SameFile: true, faultfs.Read: true,
		faultfs.Size: true, faultfs.Lock: true, faultfs.TryLock: true,
	}
	if len(faulty.Ops()) < len(allowed) {
		t.Errorf("%d calls were passed on, want at least %d", len(faulty.Ops()), len(allowed))
	}
	refusals := map[faultfs.Kind]int{}
	for _, op := range faulty.Ops() {
		if allowed[op.Kind] {
			continue
		}
		refusals[op.Kind]++ // the file itself refuses these, below faultfs
		wantError(t, op.String(), op.Err, fs.ErrPermission)
	}
	want := map[faultfs.Kind]int{
		faultfs.Write: 1, faultfs.Truncate: 1, faultfs.Sync: 1, faultfs.SyncData: 1,
	}
	if diff := cmp.Diff(want, refusals); diff != "" {
		t.Errorf("other calls (-want +got):\n%s", diff)
	}
	wantDisks(t, mem, "a=abc b=abc")
}

// fillDir returns a directory with the files a and b.
func fillDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte("abc"), 0o600))
	}
	return dir
}

// Times of change show what a listing does not.
func TestOSReadOnlyTouchesNothing(t *testing.T) {
	dir := fillDir(t)
	stat := func() (all []string) {
		for _, name := range []string{".", "a", "b"} {
			info := must(os.Stat(filepath.Join(dir, name)))(t)
			all = append(all, info.Mode().String()+" "+info.ModTime().String())
		}
		return all
	}
	before := stat()
	wantReadOnly(t, must(vfs.OSReadOnly(dir))(t))
	if diff := cmp.Diff(before, stat()); diff != "" {
		t.Errorf("modes and times (-before +after):\n%s", diff)
	}
}

func TestOSReadOnlyWithoutPermissionToWrite(t *testing.T) {
	dir := fillDir(t)
	for _, name := range []string{"a", "b"} {
		check(t, os.Chmod(filepath.Join(dir, name), 0o400))
	}
	check(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // or it could not be removed
	wantReadOnly(t, must(vfs.OSReadOnly(dir))(t))
}

// Permissions do not bind a superuser, but on most systems nobody may open a
// program that is running for writing.
func TestOSReadsWhatNobodyMayWrite(t *testing.T) {
	program := must(os.Executable())(t)
	fsys, name := must(vfs.OSReadOnly(filepath.Dir(program)))(t), filepath.Base(program)
	if file, err := os.OpenFile(program, os.O_RDWR, 0); err == nil {
		_ = file.Close() // nothing was written
		t.Skip("this system lets a running program be opened for writing")
	}
	must(openRead(t, fsys, name).ReadAt(make([]byte, 128), 0))(t)
	wantTryLock(t, "shared", newSharedLock(t, fsys, name), true)
}

func TestOSReadOnlyNeedsADirectory(t *testing.T) {
	parent := fillDir(t)
	for _, path := range []string{"missing", "missing/deeper"} {
		_, err := vfs.OSReadOnly(filepath.Join(parent, path))
		wantError(t, "OSReadOnly "+path, err, fs.ErrNotExist)
	}
	for _, path := range []string{"a", "a/deeper"} {
		if _, err := vfs.OSReadOnly(filepath.Join(parent, path)); err == nil {
			t.Errorf("OSReadOnly(%s) gave no error", path)
		}
	}
	wantNames(t, must(vfs.OSReadOnly(parent))(t), "a", "b")
}

func TestOSReadOnlyResolvesTheDirectoryAtOnce(t *testing.T) {
	t.Chdir(fillDir(t))
	fsys := must(vfs.OSReadOnly("."))(t)
	t.Chdir(t.TempDir())
	wantNames(t, fsys, "a", "b")
}

// The system itself lets a directory be opened for reading.
func TestOSRefusesToReadADirectory(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	fsys := must(vfs.OSReadOnly(dir))(t)
	if _, err := fsys.OpenRead("sub"); err == nil {
		t.Error("OpenRead gave no error")
	}
	if _, err := fsys.SharedLock("sub"); err == nil {
		t.Error("SharedLock gave no error")
	}
}
