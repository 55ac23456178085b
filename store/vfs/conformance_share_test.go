package vfs_test

import (
	"io"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/convmem/store/vfs"
)

// openRead opens name for reading only and closes it after the test.
func openRead(t *testing.T, fsys vfs.FS, name string) vfs.File {
	t.Helper()
	file := must(fsys.OpenRead(name))(t)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func wantSame(t *testing.T, fsys vfs.FS, name string, file vfs.File, want bool) {
	t.Helper()
	if got := must(fsys.SameFile(name, file))(t); got != want {
		t.Errorf("SameFile(%s): %v, want %v", name, got, want)
	}
}

func testOpenRead(t *testing.T, fsys vfs.FS) {
	_, err := fsys.OpenRead("a")
	wantError(t, "OpenRead", err, fs.ErrNotExist)
	wantNames(t, fsys)
	writer := create(t, fsys, "a", "abc")
	other := create(t, fsys, "b", "abc")
	reader := openRead(t, fsys, "a")
	wantContent(t, reader, "abc")
	wantRefusals(t, reader)
	wantContent(t, writer, "abc")
	wantSame(t, fsys, "a", reader, true)
	wantSame(t, fsys, "b", reader, false)
	wantSame(t, fsys, "b", other, true)
}

// wantRefusals makes every call that a file opened for reading refuses.
func wantRefusals(t *testing.T, reader vfs.File) {
	t.Helper()
	n, err := reader.WriteAt([]byte("XYZ!"), 0)
	wantError(t, "WriteAt", err, fs.ErrPermission)
	if n != 0 {
		t.Errorf("WriteAt says %d bytes", n)
	}
	wantError(t, "Truncate", reader.Truncate(1), fs.ErrPermission)
	wantError(t, "Sync", reader.Sync(), fs.ErrPermission)
	wantError(t, "SyncData", reader.SyncData(), fs.ErrPermission)
}

func testOpenReadClosed(t *testing.T, fsys vfs.FS) {
	create(t, fsys, "a", "abc")
	reader := openRead(t, fsys, "a")
	check(t, reader.Close())
	_, err := reader.ReadAt(make([]byte, 1), 0)
	wantError(t, "ReadAt", err, fs.ErrClosed)
	_, err = reader.Size()
	wantError(t, "Size", err, fs.ErrClosed)
	_, err = fsys.SameFile("a", reader)
	wantError(t, "SameFile", err, fs.ErrClosed)
	wantError(t, "Close", reader.Close(), fs.ErrClosed)
	wantRefusals(t, reader)
}

// A reader follows a writer: every change is there with the next call.
func testReaderSeesWriter(t *testing.T, fsys vfs.FS) {
	writer := create(t, fsys, "a", "abc")
	reader := openRead(t, fsys, "a")
	writeAt(t, writer, "defg", 3)
	wantContent(t, reader, "abcdefg")
	writeAt(t, writer, "X", 1)
	wantContent(t, reader, "aXcdefg")
	check(t, writer.Truncate(2))
	wantContent(t, reader, "aX")
	if n, err := reader.ReadAt(make([]byte, 1), 2); n != 0 || err != io.EOF {
		t.Errorf("ReadAt of what was cut: %d, %v, want EOF", n, err)
	}
	check(t, writer.Truncate(4))
	wantContent(t, reader, "aX\x00\x00")
	check(t, writer.Close())
	wantContent(t, reader, "aX\x00\x00")
}

// What a rebuild does under the handles of others.
func testRenameOverOpen(t *testing.T, fsys vfs.FS) {
	skipWhereOpenFilesStay(t)
	old := create(t, fsys, "log", "old")
	reader := openRead(t, fsys, "log")
	replacement := create(t, fsys, "tmp", "new one")
	check(t, fsys.Rename("tmp", "log"))
	wantNames(t, fsys, "log")
	wantSame(t, fsys, "log", old, false)
	wantSame(t, fsys, "log", reader, false)
	wantSame(t, fsys, "log", replacement, true)
	wantSame(t, fsys, "log", openRead(t, fsys, "log"), true)
	wantContent(t, openRead(t, fsys, "log"), "new one")
	writeAt(t, old, "er", 3)
	wantContent(t, reader, "older")
	check(t, old.Truncate(0))
	wantContent(t, reader, "")
	wantContent(t, replacement, "new one")
}

func testRemovedAndCut(t *testing.T, fsys vfs.FS) {
	skipWhereOpenFilesStay(t)
	writer := create(t, fsys, "a", "abc")
	reader := openRead(t, fsys, "a")
	check(t, fsys.Remove("a"))
	wantSame(t, fsys, "a", reader, false)
	wantContent(t, reader, "abc")
	again := create(t, fsys, "a", "another")
	wantSame(t, fsys, "a", reader, false)
	wantSame(t, fsys, "a", again, true)
	wantContent(t, reader, "abc")
	check(t, writer.Truncate(0))
	wantContent(t, reader, "")
	writeAt(t, writer, "de", 0)
	check(t, writer.Sync())
	wantContent(t, reader, "de")
	wantContent(t, again, "another")
}

func newSharedLock(t *testing.T, fsys vfs.FS, name string) vfs.Lock {
	t.Helper()
	lock := must(fsys.SharedLock(name))(t)
	t.Cleanup(func() { _ = lock.Close() })
	return lock
}

func testSharedLockMissing(t *testing.T, fsys vfs.FS) {
	_, err := fsys.SharedLock("L")
	wantError(t, "SharedLock", err, fs.ErrNotExist)
	wantNames(t, fsys)
	check(t, create(t, fsys, "L", "content").Close())
	lock := newSharedLock(t, fsys, "L")
	wantTryLock(t, "file that exists", lock, true)
	check(t, lock.Unlock())
	wantContent(t, openRead(t, fsys, "L"), "content")
}

func testSharedLockRemoved(t *testing.T, fsys vfs.FS) {
	check(t, create(t, fsys, "L", "").Close())
	lock := newSharedLock(t, fsys, "L")
	check(t, fsys.Remove("L"))
	taken, err := lock.TryLock()
	if wantError(t, "TryLock", err, fs.ErrNotExist); taken {
		t.Error("TryLock failed and says that it took the lock")
	}
	wantNames(t, fsys)
	check(t, create(t, fsys, "L", "").Close())
	wantTryLock(t, "the file is back", lock, true)
}

func testSharedLockShares(t *testing.T, fsys vfs.FS) {
	exclusive := newLock(t, fsys, "L")
	one, two := newSharedLock(t, fsys, "L"), newSharedLock(t, fsys, "L")
	wantTryLock(t, "first shared", one, true)
	wantTryLock(t, "second shared", two, true)
	wantTryLock(t, "exclusive beside two", exclusive, false)
	check(t, one.Unlock())
	wantTryLock(t, "exclusive beside one", exclusive, false)
	check(t, one.Unlock())
	wantTryLock(t, "after an unlock too many", exclusive, false)
	check(t, two.Unlock())
	wantTryLock(t, "exclusive beside none", exclusive, true)
	wantTryLock(t, "shared beside exclusive", one, false)
	wantTryLock(t, "second exclusive", newLock(t, fsys, "L"), false)
	check(t, exclusive.Unlock())
	wantTryLock(t, "shared after exclusive", one, true)
}

func testSharedLockAgain(t *testing.T, fsys vfs.FS) {
	exclusive, shared := newLock(t, fsys, "L"), newSharedLock(t, fsys, "L")
	wantTryLock(t, "shared", shared, true)
	if taken, err := shared.TryLock(); taken || err == nil {
		t.Errorf("TryLock while held: %v, %v, want an error", taken, err)
	}
	check(t, shared.Unlock())
	wantTryLock(t, "exclusive, after one unlock", exclusive, true)
}

func testSharedLockClose(t *testing.T, fsys vfs.FS) {
	exclusive, shared := newLock(t, fsys, "L"), newSharedLock(t, fsys, "L")
	wantTryLock(t, "shared", shared, true)
	check(t, shared.Close())
	_, err := shared.TryLock()
	wantError(t, "TryLock after Close", err, fs.ErrClosed)
	wantTryLock(t, "exclusive", exclusive, true)
	check(t, shared.Close())
	wantTryLock(t, "shared after a close too many", newSharedLock(t, fsys, "L"), false)
	wantNames(t, fsys, "L")
}

// A lock changes no byte of its file, and other bytes than the first can be
// read and written by others meanwhile, on Windows too.
func testLockedBytes(t *testing.T, fsys vfs.FS) {
	file := create(t, fsys, "L", "0123456789")
	exclusive, shared := newLock(t, fsys, "L"), newSharedLock(t, fsys, "L")
	for _, lock := range []vfs.Lock{exclusive, shared} {
		wantTryLock(t, "lock", lock, true)
		writeAt(t, file, "AB", 4)
		got := make([]byte, 5)
		must(openRead(t, fsys, "L").ReadAt(got, 3))(t)
		if diff := cmp.Diff("3AB67", string(got)); diff != "" {
			t.Errorf("bytes (-want +got):\n%s", diff)
		}
		check(t, lock.Unlock())
	}
	wantContent(t, file, "0123AB6789")
}
