package vfs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"example.com/convmem/store/vfs"
)

// skipWhereOpenFilesStay skips a test of what Windows does not allow: removing
// or renaming a file that is open.
func skipWhereOpenFilesStay(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not remove or rename open files")
	}
}

func TestOSIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	parent := t.TempDir()
	fsys := must(vfs.OS(filepath.Join(parent, "a", "b")))(t)
	create(t, fsys, "file", "")
	newLock(t, fsys, "lock")
	wait := newLock(t, fsys, "taken")
	wantTryLock(t, "lock", wait, true)
	want := map[string]fs.FileMode{
		"a": 0o700, "a/b": 0o700, "a/b/file": 0o600, "a/b/lock": 0o600, "a/b/taken": 0o600,
	}
	for name, mode := range want {
		info := must(os.Stat(filepath.Join(parent, name)))(t)
		if got := info.Mode().Perm(); got != mode {
			t.Errorf("%s has mode %o, want %o", name, got, mode)
		}
	}
}

func TestOSKeepsAnExistingDirectory(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o750))
	before := must(os.Stat(dir))(t).Mode()
	check(t, os.WriteFile(filepath.Join(dir, "a"), []byte("abc"), 0o600))
	fsys := must(vfs.OS(dir))(t)
	if after := must(os.Stat(dir))(t).Mode(); after != before {
		t.Errorf("mode %v became %v", before, after)
	}
	file := must(fsys.Open("a"))(t)
	wantContent(t, file, "abc")
	check(t, file.Close())
}

func TestOSRefusesAFileAsDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	check(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "b")} {
		if _, err := vfs.OS(dir); err == nil {
			t.Errorf("OS(%s) gave no error", dir)
		}
	}
}

func TestOSResolvesTheDirectoryAtOnce(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	t.Chdir(one)
	fsys := must(vfs.OS("store"))(t)
	t.Chdir(two)
	check(t, create(t, fsys, "a", "").Close())
	must(os.Stat(filepath.Join(one, "store", "a")))(t)
}

func TestOSListSkipsDirectories(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	fsys := must(vfs.OS(dir))(t)
	create(t, fsys, "a", "")
	wantNames(t, fsys, "a")
}
