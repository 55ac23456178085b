package store

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// savedContent is all that a snapshot holds.
type savedContent struct {
	Header   snapshotHeader
	Sections map[string]savedBytes
}

type savedBytes struct {
	Version uint32
	Bytes   string
}

var compareContent = cmp.AllowUnexported(snapshotHeader{}, position{}, counts{})

func (c savedContent) same(other savedContent) bool { return cmp.Equal(c, other, compareContent) }

func exampleHeader() snapshotHeader {
	return snapshotHeader{
		fileID:     [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		generation: 7,
		covered:    position{offset: headerSize + 10*frameSize(100), chain: 0xcafe, seq: 99},
		lastFrame:  headerSize + 9*frameSize(100),
		lastKind:   kindDelete,
		lastID:     id(12),
		counts:     counts{records: 10, deletes: 1, updates: 2, liveBytes: 6 * frameSize(100)},
	}
}

func emptyLogHeader() snapshotHeader {
	return snapshotHeader{fileID: [16]byte{9}, generation: 1, covered: position{offset: headerSize, chain: 5}}
}

// literal is a section that writes content in pieces.
func literal(name string, version uint32, content string) Section {
	return Section{Name: name, Version: version, Write: func(w io.Writer) error {
		for piece := range strings.SplitAfterSeq(content, "|") {
			if _, err := io.WriteString(w, piece); err != nil {
				return err
			}
		}
		return nil
	}}
}

func exampleSections() []Section {
	return []Section{
		filledSix().freeze().section(),
		literal("empty", 0, ""),
		literal(strings.Repeat("n", maxSectionName), 1<<31, "some |content"),
	}
}

// filledSix is a table that agrees with exampleHeader.
func filledSix() *table {
	t := newTable()
	for i := range 6 {
		t.put(numbered(uint64(i)), nth(9-i))
	}
	return t
}

func freshFile(t testing.TB) (*vfs.Mem, vfs.File) {
	t.Helper()
	disk := vfs.NewMem(4096)
	f, err := disk.Create("f")
	if err != nil {
		t.Fatal(err)
	}
	return disk, f
}

// encoded returns the bytes of a snapshot.
func encoded(t testing.TB, h snapshotHeader, sections ...Section) []byte {
	t.Helper()
	disk, f := freshFile(t)
	size, err := writeSnapshot(f, h, sections)
	if err != nil {
		t.Fatal(err)
	}
	b, err := disk.ReadFile("f")
	if err != nil || int64(len(b)) != size {
		t.Fatalf("%d bytes in the file (%v), writeSnapshot says %d", len(b), err, size)
	}
	return b
}

// decoded reads all that a snapshot of these bytes holds.
func decoded(t testing.TB, b []byte) (savedContent, error) {
	t.Helper()
	return readAll(fileOf(t, b))
}

func fileOf(t testing.TB, b []byte) vfs.File {
	t.Helper()
	disk := vfs.NewMem(4096)
	if err := disk.WriteFile("f", b); err != nil {
		t.Fatal(err)
	}
	f, err := disk.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func readAll(f vfs.File) (savedContent, error) {
	s, err := readSnapshot(f)
	if err != nil {
		return savedContent{}, err
	}
	content := savedContent{Header: s.header, Sections: map[string]savedBytes{}}
	for name := range s.sections {
		saved, ok, err := s.section(name)
		if err != nil {
			return savedContent{}, err
		}
		if !ok {
			return savedContent{}, fmt.Errorf("section %q is listed and not there", name)
		}
		b, err := io.ReadAll(saved.Data)
		if err != nil || int64(len(b)) != saved.Size {
			return savedContent{}, fmt.Errorf("section %q: %d bytes of %d, %w", name, len(b), saved.Size, err)
		}
		content.Sections[name] = savedBytes{saved.Version, string(b)}
	}
	return content, nil
}

func TestSnapshotRoundTrip(t *testing.T) {
	long := strings.Repeat("many words ", 400_000)
	for name, test := range map[string]struct {
		header   snapshotHeader
		sections map[string]savedBytes
	}{
		"no section":       {exampleHeader(), map[string]savedBytes{}},
		"empty log":        {emptyLogHeader(), map[string]savedBytes{"a": {1, "b"}}},
		"empty section":    {exampleHeader(), map[string]savedBytes{"empty": {3, ""}}},
		"empty among more": {exampleHeader(), map[string]savedBytes{"a": {1, "x"}, "b": {2, ""}, "c": {3, "z"}}},
		"megabytes":        {exampleHeader(), map[string]savedBytes{"long": {1, long}, "longer": {1, long + "end"}}},
		"like a header":    {exampleHeader(), map[string]savedBytes{"s": {1, string(exampleHeader().encode(directoryPlace{}))}}},
	} {
		t.Run(name, func(t *testing.T) {
			var sections []Section
			for name, s := range test.sections {
				sections = append(sections, literal(name, s.Version, s.Bytes))
			}
			b := encoded(t, test.header, sections...)
			got, err := decoded(t, b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(savedContent{test.header, test.sections}, got, compareContent); diff != "" {
				t.Error(diff)
			}
			t.Logf("%d bytes", len(b))
		})
	}
}

func TestSnapshotRoundTripProperty(t *testing.T) {
	runs, sections := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[!-~]{1,32}`), 0, 6, rapid.ID).Draw(rt, "names")
		want := savedContent{exampleHeader(), map[string]savedBytes{}}
		var written []Section
		for _, name := range names {
			s := savedBytes{rapid.Uint32().Draw(rt, "version"), string(rapid.SliceOf(rapid.Byte()).Draw(rt, "content"))}
			want.Sections[name] = s
			written = append(written, Section{Name: name, Version: s.Version, Write: func(w io.Writer) error {
				_, err := io.WriteString(w, s.Bytes)
				return err
			}})
		}
		got, err := decoded(t, encoded(t, want.Header, written...))
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got, compareContent); diff != "" {
			rt.Fatal(diff)
		}
		runs, sections = runs+1, sections+len(names)
	})
	t.Logf("%d snapshots with %d sections", runs, sections)
}

func TestAbsentSection(t *testing.T) {
	disk, f := freshFile(t)
	if _, err := writeSnapshot(f, exampleHeader(), []Section{literal("a", 1, "x")}); err != nil {
		t.Fatal(err)
	}
	f, err := disk.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	s, err := readSnapshot(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.section("b"); ok || err != nil {
		t.Errorf("a section that nobody wrote: %v, %v", ok, err)
	}
	if _, err := s.table(); !errors.Is(err, errBadSnapshot) {
		t.Errorf("a table that nobody wrote: %v", err)
	}
}

func TestWriteSnapshotRefuses(t *testing.T) {
	failed := errors.New("the sink failed")
	for name, test := range map[string]struct {
		header   snapshotHeader
		sections []Section
		want     error
	}{
		"nameless":       {exampleHeader(), []Section{literal("", 1, "x")}, nil},
		"long name":      {exampleHeader(), []Section{literal(strings.Repeat("n", maxSectionName+1), 1, "x")}, nil},
		"NUL":            {exampleHeader(), []Section{literal("a\x00", 1, "x")}, nil},
		"same name":      {exampleHeader(), []Section{literal("a", 1, "x"), literal("a", 2, "y")}, nil},
		"no header":      {snapshotHeader{}, nil, nil},
		"section failed": {exampleHeader(), []Section{{Name: "a", Write: func(io.Writer) error { return failed }}}, failed},
	} {
		t.Run(name, func(t *testing.T) {
			disk, f := freshFile(t)
			_, err := writeSnapshot(f, test.header, test.sections)
			if err == nil || errors.Is(err, errBadSnapshot) || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v", err)
			}
			b, err := disk.ReadFile("f")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decoded(t, b); !errors.Is(err, errBadSnapshot) {
				t.Errorf("what it left passes for a snapshot: %v", err)
			}
		})
	}
}

// failingFile fails every call after the first few.
type failingFile struct {
	vfs.File
	left int
}

var errFile = errors.New("the device failed")

func (f *failingFile) call() error {
	if f.left--; f.left < 0 {
		return errFile
	}
	return nil
}

func (f *failingFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.call(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}

func (f *failingFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.call(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

func (f *failingFile) Size() (int64, error) {
	if err := f.call(); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// largeSections need several reads and writes each.
func largeSections() []Section {
	noise := make([]byte, readAhead+readAhead/2)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	return append(exampleSections(), literal("noise", 1, string(noise)))
}

func TestSnapshotCallsThatFail(t *testing.T) {
	run := func(kind string, act func(f *failingFile) error) {
		for calls := 0; ; calls++ {
			_, f := freshFile(t)
			err := act(&failingFile{File: f, left: calls})
			if err == nil {
				t.Logf("%s: %d calls failed, one after the other", kind, calls)
				return
			}
			if !errors.Is(err, errFile) || errors.Is(err, errBadSnapshot) {
				t.Fatalf("%s, call %d failed: %v", kind, calls, err)
			}
		}
	}
	run("write", func(f *failingFile) error {
		_, err := writeSnapshot(f, exampleHeader(), largeSections())
		return err
	})
	run("read", func(f *failingFile) error {
		if _, err := writeSnapshot(f.File, exampleHeader(), largeSections()); err != nil {
			t.Fatal(err)
		}
		content, err := readAll(f)
		if err == nil && len(content.Sections) != len(largeSections()) {
			t.Fatal("a section is missing")
		}
		return err
	})
	run("read table", func(f *failingFile) error {
		if _, err := writeSnapshot(f.File, exampleHeader(), largeSections()); err != nil {
			t.Fatal(err)
		}
		s, err := readSnapshot(f)
		if err != nil {
			return err
		}
		_, err = s.table()
		return err
	})
}
