package vfs_test

import (
	"errors"
	"io/fs"
	"testing"

	"example.com/convmem/store/vfs"
)

// newMem returns a Mem with blocks of four bytes and a durable file f.
func newMem(t *testing.T, content string) (*vfs.Mem, vfs.File) {
	t.Helper()
	m := vfs.NewMem(4)
	check(t, m.WriteFile("f", []byte(content)))
	return m, must(m.Open("f"))(t)
}

// The sets in this test were worked out by hand. Blocks have four bytes; a dot
// is a zero byte.
func TestCrashImagesOfOneFile(t *testing.T) {
	tests := []struct {
		name    string
		durable string
		run     func(t *testing.T, f vfs.File)
		want    []string
	}{
		{"nothing pending", "abcdef", func(*testing.T, vfs.File) {}, []string{"f=abcdef"}},
		{
			"overwrite in one block", "abcd",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "X", 1) },
			[]string{"f=abcd", "f=aXcd"},
		},
		{
			"every version of a block, no mixture of two", "aaaa",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "b", 0); writeAt(t, f, "c", 1) },
			[]string{"f=aaaa", "f=baaa", "f=bcaa"},
		},
		{
			"a write over two blocks is torn between them", "aaaabbbb",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "XY", 3) },
			[]string{"f=aaaabbbb", "f=aaaXbbbb", "f=aaaaYbbb", "f=aaaXYbbb"},
		},
		{
			"two appends: blocks and sizes vary alone", "",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "AAAA", 0); writeAt(t, f, "BB", 4) },
			[]string{"f=", "f=....", "f=AAAA", "f=......", "f=AAAA..", "f=....BB", "f=AAAABB"},
		},
		{
			"append within a block", "ab",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "c", 2) },
			[]string{"f=ab", "f=ab.", "f=abc"},
		},
		{
			"truncate, then write", "aaaabbbb",
			func(t *testing.T, f vfs.File) { check(t, f.Truncate(2)); writeAt(t, f, "cc", 2) },
			[]string{
				"f=aaaabbbb", "f=aa..bbbb", "f=aaccbbbb", "f=aaaa....", "f=aa......", "f=aacc....",
				"f=aa", "f=aaaa", "f=aa..", "f=aacc",
			},
		},
		{
			"grow by truncate", "ab",
			func(t *testing.T, f vfs.File) { check(t, f.Truncate(6)) },
			[]string{"f=ab", "f=ab...."},
		},
		{
			"write beyond the end", "a",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "Z", 9) },
			[]string{"f=a", "f=a.........", "f=a........Z"},
		},
		{
			"equal versions are one", "aaaa",
			func(t *testing.T, f vfs.File) {
				writeAt(t, f, "b", 0)
				writeAt(t, f, "a", 0)
				writeAt(t, f, "b", 0)
			},
			[]string{"f=aaaa", "f=baaa"},
		},
		{
			"versions that a smaller size makes equal are one", "a",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "\x00\x00d", 1); check(t, f.Truncate(2)) },
			[]string{"f=a", "f=a.", "f=a...", "f=a..d"},
		},
		{
			"writing what is there is no change", "aaaa",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "aa", 1) },
			[]string{"f=aaaa"},
		},
		{
			"a sync ends it", "aaaa",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "bbbbbb", 0); check(t, f.Sync()) },
			[]string{"f=bbbbbb"},
		},
		{
			"a data sync covers the size", "aaaa",
			func(t *testing.T, f vfs.File) { check(t, f.Truncate(1)); check(t, f.SyncData()) },
			[]string{"f=a"},
		},
		{
			"only what came after the sync is pending", "aaaa",
			func(t *testing.T, f vfs.File) {
				writeAt(t, f, "bbbb", 0)
				check(t, f.Sync())
				writeAt(t, f, "c", 5)
			},
			[]string{"f=bbbb", "f=bbbb..", "f=bbbb.c"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, f := newMem(t, test.durable)
			test.run(t, f)
			wantDisks(t, m, test.want...)
		})
	}
}

func TestCrashImagesOfNames(t *testing.T) {
	tests := []struct {
		name string
		run  func(t *testing.T, m *vfs.Mem)
		want []string
	}{
		{
			"a new file is there or not",
			func(t *testing.T, m *vfs.Mem) {
				file := create(t, m, "g", "G")
				check(t, file.Sync())
			},
			[]string{"f=F", "f=F g=G"},
		},
		{
			"name and content are durable apart",
			func(t *testing.T, m *vfs.Mem) { create(t, m, "g", "G"); check(t, m.SyncDir()) },
			[]string{"f=F g=", "f=F g=.", "f=F g=G"},
		},
		{
			"a rename leaves the old name, the new one, both or none",
			func(t *testing.T, m *vfs.Mem) { check(t, m.Rename("f", "g")) },
			[]string{"f=F", "g=F", "f=F g=F", ""},
		},
		{
			"a rename over a file never loses the name",
			func(t *testing.T, m *vfs.Mem) {
				check(t, m.WriteFile("tmp", []byte("T")))
				check(t, m.Rename("tmp", "f"))
			},
			[]string{"f=F tmp=T", "f=T tmp=T", "f=F", "f=T"},
		},
		{
			"a removed file may come back",
			func(t *testing.T, m *vfs.Mem) { check(t, m.Remove("f")) },
			[]string{"f=F", ""},
		},
		{
			"a file that came and went",
			func(t *testing.T, m *vfs.Mem) { create(t, m, "g", ""); check(t, m.Remove("g")) },
			[]string{"f=F", "f=F g="},
		},
		{
			"removed and made again: two files and none",
			func(t *testing.T, m *vfs.Mem) {
				check(t, m.Remove("f"))
				check(t, create(t, m, "f", "N").Sync())
			},
			[]string{"f=F", "", "f=N"},
		},
		{
			"a directory sync ends it",
			func(t *testing.T, m *vfs.Mem) { check(t, m.Rename("f", "g")); check(t, m.SyncDir()) },
			[]string{"g=F"},
		},
		{
			"a lock makes its file",
			func(t *testing.T, m *vfs.Mem) { newLock(t, m, "L") },
			[]string{"f=F", "L= f=F"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _ := newMem(t, "F")
			test.run(t, m)
			wantDisks(t, m, test.want...)
		})
	}
}

// Both names of a half-done rename are one file, as on a disk.
// Images share bytes in memory; a change of one must not show in another.
func TestMemRefusesHugeFiles(t *testing.T) {
	m, f := newMem(t, "a")
	if err := f.Truncate(1 << 40); err == nil {
		t.Error("Truncate to a terabyte gave no error")
	}
	if n, err := f.WriteAt([]byte("x"), 1<<40); n != 0 || err == nil {
		t.Errorf("WriteAt at a terabyte: %d, %v", n, err)
	}
	wantDisks(t, m, "f=a")
}

func TestMemHelpers(t *testing.T) {
	m, f := newMem(t, "old content")
	_, err := m.ReadFile("missing")
	wantError(t, "ReadFile", err, fs.ErrNotExist)
	wantError(t, "WriteFile", m.WriteFile("a/b", nil), fs.ErrInvalid)
	writeAt(t, f, "pending", 0)
	check(t, m.WriteFile("f", []byte("new")))
	wantContent(t, f, "new")
	create(t, m, "g", "pending")
	check(t, m.Remove("g"))
	check(t, m.WriteFile("g", []byte("\x00")))
	wantDisks(t, m, "f=new g=.")
	content := must(m.ReadFile("f"))(t)
	content[0] = '?'
	wantContent(t, f, "new")
}

func TestNewMemRefusesANegativeBlockSize(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	vfs.NewMem(-1)
}

func TestDroppedHandleOfRemovedFile(t *testing.T) {
	m, f := newMem(t, "aaaa")
	writeAt(t, f, "b", 0)
	check(t, m.Remove("f"))
	check(t, f.Close())
	f.(vfs.Dropper).DropUnsynced()
	wantDisks(t, m, "f=aaaa", "")
	if _, err := m.Open("f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
}

// The count must be exact while it fits, and the largest int from there on.
