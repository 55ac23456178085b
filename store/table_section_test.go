package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

func savedTable(t testing.TB, f *frozenTable) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.section().Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTableSectionRoundTrip(t *testing.T) {
	runs, records := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		table, end := newTable(), int64(headerSize)
		gaps := rapid.SampledFrom([]int64{0, 1, 1 << 20, 1 << 39}).Draw(rt, "largest gap")
		for n := range rapid.IntRange(0, 300).Draw(rt, "records") {
			at := location{
				offset: end + frameAlign*rapid.Int64Range(0, gaps).Draw(rt, "gap"),
				size:   frameSize(rapid.IntRange(0, MaxPayload).Draw(rt, "payload")),
			}
			// Ids in an order of their own: a table is not filled in log order.
			table.put(numbered(uint64(n*7919%1009)), at)
			end = at.offset + at.size
		}
		want := collect(table.freeze())
		got, err := readTable(bytes.NewReader(savedTable(t, table.freeze())))
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, collect(got.freeze()), comparePlaced); diff != "" {
			rt.Fatal(diff)
		}
		for _, p := range want {
			if at, ok := got.get(p.ID); !ok || at != p.At {
				rt.Fatalf("get after reading: %v, %v, want %v", at, ok, p.At)
			}
		}
		runs, records = runs+1, records+len(want)
	})
	t.Logf("%d tables with %d records", runs, records)
}

func TestTableSectionIsSmall(t *testing.T) {
	const records = 100_000
	b := savedTable(t, filled(records).freeze())
	t.Logf("%.2f bytes a record", float64(len(b))/records)
	if len(b) > 20*records {
		t.Errorf("%d bytes for %d records", len(b), records)
	}
}

func TestTableSectionsThatAreRefused(t *testing.T) {
	record := func(gap, size uint64, id ulid.ULID) []byte {
		b := binary.AppendUvarint(nil, gap)
		return append(binary.AppendUvarint(b, size), id[:]...)
	}
	join := func(count uint64, records ...[]byte) []byte {
		return append(binary.AppendUvarint(nil, count), bytes.Join(records, nil)...)
	}
	least, most := uint64(frameSize(0)/frameAlign), uint64(frameSize(MaxPayload)/frameAlign)
	ordinary := record(0, least, id(1))
	for name, test := range map[string]struct {
		section []byte
		fine    bool
	}{
		"empty table":          {join(0), true},
		"ordinary":             {join(2, ordinary, record(3, most, id(2))), true},
		"empty section":        {nil, false},
		"no size":              {join(1, record(0, 0, id(1))), false},
		"size of no frame":     {join(1, record(0, least-1, id(1))), false},
		"size too large":       {join(1, record(0, most+1, id(1))), false},
		"size that wraps":      {join(1, record(0, 1<<61+least, id(1))), false},
		"gap too large":        {join(1, record(uint64(maxOffset/frameAlign), least, id(1))), false},
		"gap that wraps":       {join(2, record(5, least, id(1)), record(math.MaxUint64, least, id(2))), false},
		"gap that wraps in 61": {join(2, record(5, least, id(1)), record(1<<61-1, least, id(2))), false},
		"number without end":   {join(1, bytes.Repeat([]byte{0xff}, 40)), false},
		"count without end":    {bytes.Repeat([]byte{0xff}, 40), false},
		"same record twice":    {join(2, ordinary, ordinary), false},
		"same id twice":        {join(2, ordinary, record(9, most, id(1))), false},
		"one record less":      {join(2, ordinary), false},
		"half a record":        {join(1, ordinary[:len(ordinary)-1]), false},
		"no id":                {join(1, ordinary[:2]), false},
		"one byte more":        {append(join(1, ordinary), 0), false},
		"one record more":      {join(1, ordinary, record(0, least, id(2))), false},
		"a huge count":         {join(math.MaxUint64, ordinary), false},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := readTable(bytes.NewReader(test.section))
			if test.fine != (err == nil) || !test.fine && !errors.Is(err, errBadSnapshot) {
				t.Errorf("readTable returned %v, %v", table, err)
			}
		})
	}
}

func TestReadTableReturnsReadErrors(t *testing.T) {
	failed := errors.New("the device failed")
	good := savedTable(t, filled(20).freeze())
	for size := range len(good) + 1 {
		r := io.MultiReader(bytes.NewReader(good[:size]), iotest.ErrReader(failed))
		if _, err := readTable(r); !errors.Is(err, failed) || errors.Is(err, errBadSnapshot) {
			t.Fatalf("read failed after %d of %d bytes: %v", size, len(good), err)
		}
		if _, err := readTable(iotest.OneByteReader(bytes.NewReader(good[:size]))); (err == nil) != (size == len(good)) {
			t.Fatalf("byte by byte, %d of %d: %v", size, len(good), err)
		}
	}
	t.Logf("%d places", len(good)+1)
}

func TestSaveTableReturnsWriteErrors(t *testing.T) {
	frozen := filled(3).freeze()
	for writes := range 4 {
		w := &failingWriter{left: writes}
		if err := frozen.section().Write(w); !errors.Is(err, errFile) {
			t.Errorf("write %d failed: %v", writes, err)
		}
	}
}

type failingWriter struct{ left int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errFile
	}
	return len(b), nil
}

// TestSnapshotTableMustAgreeWithItsHeader: the section is intact, and of another
// moment than the header.
func TestSnapshotTableMustAgreeWithItsHeader(t *testing.T) {
	beyond, more := filledSix(), filledSix()
	beyond.remove(numbered(0))
	beyond.put(numbered(0), nth(10))
	more.put(numbered(9), nth(0))
	version := filledSix().freeze().section()
	version.Version++
	for name, test := range map[string]struct {
		section Section
		fine    bool
	}{
		"agrees":                    {filledSix().freeze().section(), true},
		"record behind the end":     {beyond.freeze().section(), false},
		"more than the live bytes":  {more.freeze().section(), false},
		"another encoding":          {version, false},
		"content of something else": {literal(recordsSection, recordsSectionVersion, "text"), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, f := freshFile(t)
			if _, err := writeSnapshot(f, exampleHeader(), []Section{test.section}); err != nil {
				t.Fatal(err)
			}
			s, err := readSnapshot(f)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.table()
			if test.fine != (err == nil) || !test.fine && !errors.Is(err, errBadSnapshot) {
				t.Fatalf("table returned %v", err)
			}
			if test.fine {
				if diff := cmp.Diff(collect(filledSix().freeze()), collect(got.freeze()), comparePlaced); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
