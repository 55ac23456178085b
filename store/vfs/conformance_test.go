package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// implementations are all file systems of this module; each must keep the
// contract of vfs.FS, wrapped or not.
var implementations = []struct {
	name string
	make func(t *testing.T) vfs.FS
}{
	{"OS", openOS},
	{"Mem", func(*testing.T) vfs.FS { return vfs.NewMem(0) }},
	{"Mem of one-byte blocks", func(*testing.T) vfs.FS { return vfs.NewMem(1) }},
	{"Mem after a crash", func(t *testing.T) vfs.FS { return first(vfs.NewMem(7).CrashImages()) }},
	{"Count over OS", func(t *testing.T) vfs.FS { return vfs.Count(openOS(t)) }},
	{"faultfs over OS", func(t *testing.T) vfs.FS { return faultfs.New(openOS(t)) }},
	{"Count over faultfs over Mem", func(*testing.T) vfs.FS {
		return vfs.Count(faultfs.New(vfs.NewMem(3)))
	}},
}

func openOS(t *testing.T) vfs.FS {
	t.Helper()
	return must(vfs.OS(t.TempDir()))(t)
}

// must returns the value of a call that has to succeed.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// create makes a file with content and leaves it open for the test.
func create(t *testing.T, fsys vfs.FS, name, content string) vfs.File {
	t.Helper()
	file := must(fsys.Create(name))(t)
	t.Cleanup(func() { _ = file.Close() }) // many tests close it themselves
	if content != "" {
		writeAt(t, file, content, 0)
	}
	return file
}

func writeAt(t *testing.T, file vfs.File, content string, off int64) {
	t.Helper()
	if n := must(file.WriteAt([]byte(content), off))(t); n != len(content) {
		t.Fatalf("WriteAt wrote %d of %d bytes without an error", n, len(content))
	}
}

func wantContent(t *testing.T, file vfs.File, want string) {
	t.Helper()
	size := must(file.Size())(t)
	content := make([]byte, size)
	if n, err := file.ReadAt(content, 0); err != nil && err != io.EOF || int64(n) != size {
		t.Fatalf("ReadAt of %d bytes: %d, %v", size, n, err)
	}
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

func wantNames(t *testing.T, fsys vfs.FS, want ...string) {
	t.Helper()
	got := must(fsys.List())(t)
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, got...)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestConformance(t *testing.T) {
	rules := []struct {
		name string
		test func(t *testing.T, fsys vfs.FS)
	}{
		{"create refuses a taken name", testCreateTaken},
		{"open needs a file", testOpenMissing},
		{"reads end with EOF", testReadAt},
		{"writes extend with zeros", testWriteAt},
		{"truncate cuts and grows with zeros", testTruncate},
		{"bad offsets are refused", testOffsets},
		{"two handles see one file", testTwoHandles},
		{"rename replaces", testRename},
		{"removed files live on in handles", testRemove},
		{"list is sorted", testList},
		{"same file follows the name", testSameFile},
		{"files of other file systems are refused", testForeignFile},
		{"names are single elements", testNames},
		{"closed handles are refused", testClosed},
		{"a buffer is the caller's again", testBuffers},
		{"locks exclude handles", testLockExcludes},
		{"a held lock is not locked again", testLockAgain},
		{"close lets go of a lock and keeps the file", testLockClose},
		{"open for reading changes nothing", testOpenRead},
		{"closed handles for reading are refused", testOpenReadClosed},
		{"a reader sees a writer at once", testReaderSeesWriter},
		{"a rename over an open file keeps its bytes", testRenameOverOpen},
		{"a removed file can be cut under a reader", testRemovedAndCut},
		{"a shared lock needs a file", testSharedLockMissing},
		{"a shared lock makes no file again", testSharedLockRemoved},
		{"shared locks share", testSharedLockShares},
		{"a held shared lock is not locked again", testSharedLockAgain},
		{"close lets go of a shared lock", testSharedLockClose},
		{"a lock leaves the bytes of its file alone", testLockedBytes},
	}
	for _, implementation := range implementations {
		for _, rule := range rules {
			t.Run(implementation.name+"/"+rule.name, func(t *testing.T) {
				rule.test(t, implementation.make(t))
			})
		}
	}
}

func testCreateTaken(t *testing.T, fsys vfs.FS) {
	file := create(t, fsys, "a", "old")
	_, err := fsys.Create("a")
	wantError(t, "Create", err, fs.ErrExist)
	wantContent(t, file, "old")
	check(t, fsys.Remove("a"))
	wantContent(t, create(t, fsys, "a", ""), "")
}

func testOpenMissing(t *testing.T, fsys vfs.FS) {
	_, err := fsys.Open("a")
	wantError(t, "Open", err, fs.ErrNotExist)
	wantError(t, "Remove", fsys.Remove("a"), fs.ErrNotExist)
	wantError(t, "Rename", fsys.Rename("a", "b"), fs.ErrNotExist)
	wantNames(t, fsys)
}

func testReadAt(t *testing.T, fsys vfs.FS) {
	file := create(t, fsys, "a", "0123456789")
	tests := []struct {
		name   string
		off    int64
		length int
		want   string
		err    error
	}{
		{"start", 0, 4, "0123", nil},
		{"up to the end", 6, 4, "6789", nil},
		{"over the end", 8, 4, "89", io.EOF},
		{"at the end", 10, 4, "", io.EOF},
		{"far beyond the end", 1 << 40, 4, "", io.EOF},
		{"nothing", 3, 0, "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			buffer := []byte(strings.Repeat("?", test.length))
			n, err := file.ReadAt(buffer, test.off)
			if err != test.err || string(buffer[:n]) != test.want {
				t.Errorf("got %q, %v; want %q, %v", buffer[:n], err, test.want, test.err)
			}
		})
	}
}

func testWriteAt(t *testing.T, fsys vfs.FS) {
	file := create(t, fsys, "a", "0123456789")
	writeAt(t, file, "ABC", 2)
	wantContent(t, file, "01ABC56789")
	writeAt(t, file, "XY", 9)
	wantContent(t, file, "01ABC5678XY")
	writeAt(t, file, "Z", 14)
	wantContent(t, file, "01ABC5678XY\x00\x00\x00Z")
	writeAt(t, file, "\x00\x00", 0)
	wantContent(t, file, "\x00\x00ABC5678XY\x00\x00\x00Z")
	writeAt(t, file, "", 100)
	wantContent(t, file, "\x00\x00ABC5678XY\x00\x00\x00Z")
}

func testTruncate(t *testing.T, fsys vfs.FS) {
	file := create(t, fsys, "a", strings.Repeat("x", 20))
	check(t, file.Truncate(5))
	wantContent(t, file, "xxxxx")
	check(t, file.Truncate(9))
	wantContent(t, file, "xxxxx\x00\x00\x00\x00")
	writeAt(t, file, "y", 11)
	wantContent(t, file, "xxxxx\x00\x00\x00\x00\x00\x00y")
	check(t, file.Truncate(0))
	wantContent(t, file, "")
	check(t, file.Sync())
	check(t, file.SyncData())
	wantContent(t, file, "")
}

func testOffsets(t *testing.T, fsys vfs.FS) {
	file := create(t, fsys, "a", "abc")
	calls := []struct {
		name string
		call func() error
	}{
		{"read", func() error { _, err := file.ReadAt(make([]byte, 1), -1); return err }},
		{"write", func() error { _, err := file.WriteAt([]byte("x"), -1); return err }},
		{"write beyond the largest offset", func() error {
			_, err := file.WriteAt([]byte("xy"), math.MaxInt64-1)
			return err
		}},
		{"truncate", func() error { return file.Truncate(-1) }},
		{"truncate to the largest size", func() error { return file.Truncate(math.MaxInt64) }},
	}
	for _, test := range calls {
		if err := test.call(); err == nil || err == io.EOF {
			t.Errorf("%s: error %v, want a refusal", test.name, err)
		}
	}
	wantContent(t, file, "abc")
}

func testTwoHandles(t *testing.T, fsys vfs.FS) {
	one := create(t, fsys, "a", "abc")
	two := must(fsys.Open("a"))(t)
	writeAt(t, two, "XYZ!", 0)
	wantContent(t, one, "XYZ!")
	check(t, one.Truncate(1))
	wantContent(t, two, "X")
	check(t, two.Close())
	wantContent(t, one, "X")
}

func testRename(t *testing.T, fsys vfs.FS) {
	check(t, create(t, fsys, "a", "new").Close())
	check(t, create(t, fsys, "b", "old").Close())
	check(t, fsys.Rename("a", "b"))
	wantNames(t, fsys, "b")
	check(t, fsys.Rename("b", "b"))
	check(t, fsys.Rename("b", "c"))
	check(t, fsys.SyncDir())
	wantNames(t, fsys, "c")
	file := must(fsys.Open("c"))(t)
	wantContent(t, file, "new")
	check(t, file.Close())
}

func testRemove(t *testing.T, fsys vfs.FS) {
	skipWhereOpenFilesStay(t)
	file := create(t, fsys, "a", "abc")
	check(t, fsys.Remove("a"))
	check(t, fsys.SyncDir())
	wantNames(t, fsys)
	writeAt(t, file, "d", 3)
	check(t, file.Sync())
	wantContent(t, file, "abcd")
}

func testList(t *testing.T, fsys vfs.FS) {
	wantNames(t, fsys)
	for _, name := range []string{"b", "a-2", "a", "C", "a-10"} {
		create(t, fsys, name, "")
	}
	wantNames(t, fsys, "C", "a", "a-10", "a-2", "b")
}

func testSameFile(t *testing.T, fsys vfs.FS) {
	skipWhereOpenFilesStay(t)
	file := create(t, fsys, "a", "abc")
	other := create(t, fsys, "b", "abc")
	same := func(name string, file vfs.File, want bool) {
		t.Helper()
		wantSame(t, fsys, name, file, want)
	}
	same("a", file, true)
	same("a", other, false)
	same("missing", file, false)
	check(t, fsys.Rename("a", "c"))
	same("a", file, false)
	same("c", file, true)
	check(t, fsys.Rename("b", "c"))
	same("c", file, false)
	same("c", other, true)
	check(t, fsys.Remove("c"))
	create(t, fsys, "c", "abc")
	same("c", other, false)
}

func testForeignFile(t *testing.T, fsys vfs.FS) {
	create(t, fsys, "a", "")
	mem := vfs.NewMem(0)
	foreign, foreignReader := create(t, mem, "a", ""), must(mem.OpenRead("a"))(t)
	for _, file := range []vfs.File{foreign, foreignReader} {
		if same, err := fsys.SameFile("a", file); same || err == nil {
			t.Errorf("SameFile: %v, %v, want an error", same, err)
		}
	}
}

func testNames(t *testing.T, fsys vfs.FS) {
	file := create(t, fsys, "fine", "abc")
	bad := []string{"", ".", "..", "a/b", "/a", "a/", `a\b`, "../a", "c:a", "a\x00b"}
	for _, name := range bad {
		_, err := fsys.Create(name)
		wantError(t, "Create "+name, err, fs.ErrInvalid)
		_, err = fsys.Open(name)
		wantError(t, "Open "+name, err, fs.ErrInvalid)
		_, err = fsys.Lock(name)
		wantError(t, "Lock "+name, err, fs.ErrInvalid)
		_, err = fsys.OpenRead(name)
		wantError(t, "OpenRead "+name, err, fs.ErrInvalid)
		_, err = fsys.SharedLock(name)
		wantError(t, "SharedLock "+name, err, fs.ErrInvalid)
		_, err = fsys.SameFile(name, file)
		wantError(t, "SameFile "+name, err, fs.ErrInvalid)
		wantError(t, "Remove "+name, fsys.Remove(name), fs.ErrInvalid)
		wantError(t, "Rename from "+name, fsys.Rename(name, "a"), fs.ErrInvalid)
		wantError(t, "Rename to "+name, fsys.Rename("fine", name), fs.ErrInvalid)
	}
	wantNames(t, fsys, "fine")
}

func testClosed(t *testing.T, fsys vfs.FS) {
	file := create(t, fsys, "a", "abc")
	check(t, file.Close())
	_, err := file.ReadAt(make([]byte, 1), 0)
	wantError(t, "ReadAt", err, fs.ErrClosed)
	_, err = file.WriteAt([]byte("x"), 0)
	wantError(t, "WriteAt", err, fs.ErrClosed)
	_, err = file.Size()
	wantError(t, "Size", err, fs.ErrClosed)
	_, err = fsys.SameFile("a", file)
	wantError(t, "SameFile", err, fs.ErrClosed)
	wantError(t, "Truncate", file.Truncate(0), fs.ErrClosed)
	wantError(t, "Sync", file.Sync(), fs.ErrClosed)
	wantError(t, "SyncData", file.SyncData(), fs.ErrClosed)
	wantError(t, "Close", file.Close(), fs.ErrClosed)
	again := must(fsys.Open("a"))(t)
	wantContent(t, again, "abc")
	check(t, again.Close())
}

func testBuffers(t *testing.T, fsys vfs.FS) {
	file := create(t, fsys, "a", "")
	buffer := []byte("abcdefghijkl")
	must(file.WriteAt(buffer, 0))(t)
	copy(buffer, "????????????")
	wantContent(t, file, "abcdefghijkl")
	must(file.ReadAt(buffer, 0))(t)
	copy(buffer, "????????????")
	wantContent(t, file, "abcdefghijkl")
}
