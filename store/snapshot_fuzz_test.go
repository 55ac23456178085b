package store

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"testing"

	"example.com/convmem/store/vfs"
)

// allocated returns the bytes that act allocates.
func allocated(act func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	act()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// FuzzSnapshot reads arbitrary bytes, with their checksums made right on
// demand: no panic, memory in proportion to the bytes, and what is read comes
// back the same when it is written again.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(nil), false)
	f.Add(encoded(f, emptyLogHeader(), newTable().freeze().section()), true)
	f.Add(encoded(f, exampleHeader(), exampleSections()...), false)
	f.Add(encoded(f, exampleHeader(), filled(300).freeze().section()), true)
	huge := encoded(f, exampleHeader(), literal(recordsSection, recordsSectionVersion, string(binary.AppendUvarint(nil, 1<<60))))
	f.Add(huge, true)
	many := encoded(f, exampleHeader())
	binary.LittleEndian.PutUint32(many[128:], math.MaxUint32)
	f.Add(many, true)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			reseal(b)
		}
		disk := vfs.NewMem(4096)
		if err := disk.WriteFile("f", b); err != nil {
			t.Fatal(err)
		}
		file, err := disk.Open("f")
		if err != nil {
			t.Fatal(err)
		}
		var s *snapshotReader
		spent := allocated(func() {
			if s, err = readSnapshot(file); err == nil {
				_, err = s.table()
			}
		})
		if limit := uint64(64<<10 + 32*len(b)); spent > limit {
			t.Errorf("%d bytes allocated for a file of %d, more than %d", spent, len(b), limit)
		}
		if err != nil && !errors.Is(err, errBadSnapshot) {
			t.Errorf("a fault of another kind: %v", err)
		}
		content, err := readAll(file)
		if err != nil {
			return
		}
		var sections []Section
		for name, saved := range content.Sections {
			sections = append(sections, Section{Name: name, Version: saved.Version, Write: func(w io.Writer) error {
				_, err := io.WriteString(w, saved.Bytes)
				return err
			}})
		}
		again, err := decoded(t, encoded(t, content.Header, sections...))
		if err != nil || !again.same(content) {
			t.Errorf("written again it reads as something else: %v", err)
		}
	})
}
