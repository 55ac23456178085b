package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
)

// TestSnapshotBitFlips turns every bit of a small snapshot over.
func TestSnapshotBitFlips(t *testing.T) {
	good := encoded(t, exampleHeader(), exampleSections()...)
	want, err := decoded(t, good)
	if err != nil {
		t.Fatal(err)
	}
	detected, harmless := 0, 0
	for bit := range len(good) * 8 {
		b := bytes.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		got, err := decoded(t, b)
		switch {
		case errors.Is(err, errBadSnapshot):
			detected++
		case err == nil && got.same(want):
			harmless++
		default:
			t.Fatalf("bit %d of byte %d: %v", bit%8, bit/8, err)
		}
	}
	t.Logf("%d bits of %d bytes: %d detected, %d without effect", len(good)*8, len(good), detected, harmless)
}

func TestSnapshotTruncations(t *testing.T) {
	good := encoded(t, exampleHeader(), exampleSections()...)
	for size := range good {
		if _, err := decoded(t, good[:size]); !errors.Is(err, errBadSnapshot) {
			t.Fatalf("cut off at %d of %d bytes: %v", size, len(good), err)
		}
	}
	for _, more := range []int{1, sectionEntrySize, 4096} {
		if _, err := decoded(t, append(bytes.Clone(good), make([]byte, more)...)); !errors.Is(err, errBadSnapshot) {
			t.Errorf("%d bytes more: %v", more, err)
		}
	}
	t.Logf("%d truncations", len(good))
}

// TestSnapshotOfAnotherLog moves a section, and a directory, from a snapshot of
// another log: right bytes and right places, wrong salt.
func TestSnapshotOfAnotherLog(t *testing.T) {
	other := exampleHeader()
	other.fileID[0] ^= 1
	ours := encoded(t, exampleHeader(), literal("a", 1, "content"))
	theirs := encoded(t, other, literal("a", 1, "content"))
	section := bytes.Clone(ours)
	copy(section[snapshotHeaderSize+len("content"):], theirs[snapshotHeaderSize+len("content"):])
	resealDirectory(section)
	for name, b := range map[string][]byte{
		"directory and sections": append(bytes.Clone(ours[:snapshotHeaderSize]), theirs[snapshotHeaderSize:]...),
		"section":                section,
	} {
		if _, err := decoded(t, b); !errors.Is(err, errBadSnapshot) {
			t.Errorf("%s of another log: %v", name, err)
		}
	}
}

// reseal makes all checksums right, as far as the places make sense.
func reseal(b []byte) {
	if len(b) < snapshotHeaderSize {
		return
	}
	h, d := snapshotHeaderFields(b)
	length := int64(d.sections) * sectionEntrySize
	if d.offset >= snapshotHeaderSize && d.offset <= int64(len(b)) && int64(len(b))-d.offset == length {
		at := int64(snapshotHeaderSize)
		for entry := b[d.offset:]; len(entry) > 0; entry = entry[sectionEntrySize:] {
			size := binary.LittleEndian.Uint64(entry[40:])
			if size > uint64(d.offset-at) {
				break
			}
			crc := crc32.Update(saltOf(h.fileID), castagnoli, b[at:at+int64(size)])
			binary.LittleEndian.PutUint32(entry[36:], crc)
			at += int64(size)
		}
		resealDirectory(b)
	}
	resealHeader(b)
}

func resealDirectory(b []byte) {
	h, d := snapshotHeaderFields(b)
	binary.LittleEndian.PutUint32(b[132:], crc32.Update(saltOf(h.fileID), castagnoli, b[d.offset:]))
	resealHeader(b)
}

func resealHeader(b []byte) {
	h, _ := snapshotHeaderFields(b)
	binary.LittleEndian.PutUint32(b[156:], crc32.Update(saltOf(h.fileID), castagnoli, b[:156]))
}

// TestSnapshotsThatContradictThemselves have right checksums all the same.
func TestSnapshotsThatContradictThemselves(t *testing.T) {
	const a = snapshotHeaderSize + 12 // where the directory stands
	good := encoded(t, exampleHeader(), literal("a", 1, "content"), literal("b", 1, "other"))
	u32, u64 := binary.LittleEndian.PutUint32, binary.LittleEndian.PutUint64
	for name, change := range map[string]func(b []byte){
		"another magic":              func(b []byte) { b[0]++ },
		"newer min reader":           func(b []byte) { u32(b[12:], snapshotVersion+1) },
		"generation":                 func(b []byte) { u64(b[32:], maxCounter+1) },
		"negative covered offset":    func(b []byte) { u64(b[40:], 1<<63) },
		"covered offset too large":   func(b []byte) { u64(b[40:], uint64(maxOffset)+8) },
		"crooked covered offset":     func(b []byte) { u64(b[40:], headerSize+4) },
		"covered offset in header":   func(b []byte) { u64(b[40:], headerSize-8) },
		"covered seq":                func(b []byte) { u64(b[48:], maxCounter+1) },
		"no last kind":               func(b []byte) { b[60] = 0 },
		"no last frame":              func(b []byte) { u64(b[64:], 0) },
		"last frame at the end":      func(b []byte) { copy(b[64:72], b[40:48]) },
		"last frame behind the end":  func(b []byte) { u64(b[64:], 1<<40) },
		"negative last frame":        func(b []byte) { u64(b[64:], 1<<63) },
		"negative records":           func(b []byte) { u64(b[88:], 1<<63) },
		"negative deletes":           func(b []byte) { u64(b[96:], 1<<63) },
		"negative updates":           func(b []byte) { u64(b[104:], 1<<63) },
		"negative live bytes":        func(b []byte) { u64(b[112:], 1<<63) },
		"more live bytes than bytes": func(b []byte) { u64(b[112:], 1<<40) },
		"directory in the header":    func(b []byte) { u64(b[120:], snapshotHeaderSize-1) },
		"directory behind the end":   func(b []byte) { u64(b[120:], 1<<40) },
		"negative directory":         func(b []byte) { u64(b[120:], 1<<63) },
		"four billion sections":      func(b []byte) { u32(b[128:], 1<<32-1) },
		"fewer sections":             func(b []byte) { u32(b[128:], 1) },
		"nameless section":           func(b []byte) { b[a] = 0 },
		"NUL inside a name":          func(b []byte) { b[a+2] = 'x' },
		"two sections of a name":     func(b []byte) { b[a+sectionEntrySize] = 'a' },
		"huge section":               func(b []byte) { u64(b[a+40:], 1<<63+3) },
		"longer section":             func(b []byte) { u64(b[a+40:], 8) },
		"shorter section":            func(b []byte) { u64(b[a+40:], 6) },
		"sizes that wrap":            func(b []byte) { u64(b[a+40:], 1<<64-5); u64(b[a+sectionEntrySize+40:], 17) },
		"longer last section":        func(b []byte) { u64(b[a+sectionEntrySize+40:], 6) },
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(good)
			change(b)
			reseal(b)
			if _, err := readSnapshot(fileOf(t, b)); !errors.Is(err, errBadSnapshot) {
				t.Errorf("it was read: %v", err)
			}
		})
	}
	b := bytes.Clone(good)
	reseal(b)
	if !bytes.Equal(b, good) {
		t.Error("reseal changes a good snapshot, so this test proves nothing")
	}
}

func TestNewerSnapshotForThisReader(t *testing.T) {
	b := encoded(t, exampleHeader(), exampleSections()...)
	binary.LittleEndian.PutUint32(b[8:], snapshotVersion+5)
	resealHeader(b)
	if _, err := decoded(t, b); err != nil {
		t.Errorf("its min reader version allows this reader: %v", err)
	}
}
