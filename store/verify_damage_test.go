package store

import (
	"errors"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

// TestVerifyFindsEveryBitFlip turns over every bit of the log of an open store.
// The header apart, exactly one frame is reported, with its record if it is the
// live state of one, and all others are read.
func TestVerifyFindsEveryBitFlip(t *testing.T) {
	sweep(t)
	disk, l := verified(t)
	good, err := verify(l)
	if err != nil {
		t.Fatal(err)
	}
	name, size := l.gen.name, int(l.gen.end.offset)
	var inHeader, withID, withoutID int
	for bit := range size * 8 {
		flip(t, disk, name, bit)
		stats, err := verify(l)
		if !errors.Is(err, ErrCorrupt) || stats.DamageCount != 1 || len(stats.Damaged) != 1 {
			t.Fatalf("bit %d of byte %d: %d damaged, %v", bit%8, bit/8, stats.DamageCount, err)
		}
		var damage *CorruptError
		errors.As(stats.Damaged[0], &damage)
		switch id, live := l.recordAt(int64(bit / 8)); {
		case bit/8 < headerSize:
			inHeader++
			if stats.Frames != good.Frames {
				t.Fatalf("bit %d of byte %d: %d frames", bit%8, bit/8, stats.Frames)
			}
		case stats.Frames != good.Frames-1 || damage.Offset > int64(bit/8):
			t.Fatalf("bit %d of byte %d: %d frames, %v", bit%8, bit/8, stats.Frames, damage)
		case live && damage.ID != id:
			t.Fatalf("bit %d of byte %d: record %v is damaged, reported is %v", bit%8, bit/8, id, damage.ID)
		case damage.ID.IsZero():
			withoutID++
		default:
			withID++
		}
		if stats.Bytes != good.Bytes {
			t.Fatalf("bit %d of byte %d: %d bytes of %d were read", bit%8, bit/8, stats.Bytes, good.Bytes)
		}
		flip(t, disk, name, bit)
	}
	if _, err := verify(l); err != nil {
		t.Errorf("after all bits are right again: %v", err)
	}
	if !errors.Is(l.Stats().LastError, ErrCorrupt) {
		t.Errorf("health says %v", l.Stats().LastError)
	}
	t.Logf("%d bits of %d bytes: %d in the header, %d reported with their record, %d without", size*8, size, inHeader, withID, withoutID)
}

// recordAt returns the live record whose frame holds the byte at offset.
func (l *Log) recordAt(offset int64) (id ulid.ULID, ok bool) {
	_, live, _ := l.freeze()
	for id, at := range live.inLogOrder() {
		if at.offset <= offset && offset < at.offset+at.size {
			return id, true
		}
	}
	return id, false
}

// A damaged snapshot is reported as such and nothing else.
func TestVerifyFindsEveryBitFlipInTheSnapshot(t *testing.T) {
	disk, l := verified(t)
	b, err := disk.ReadFile(snapshotName)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(b) * 8 {
		flip(t, disk, snapshotName, bit)
		stats, err := verify(l)
		if err != nil || stats.Snapshot != SnapshotBad || !errors.Is(stats.SnapshotError, errBadSnapshot) {
			t.Fatalf("bit %d of byte %d: %q, %v, %v", bit%8, bit/8, stats.Snapshot, stats.SnapshotError, err)
		}
		if l.Stats().SnapshotSize != 0 {
			t.Fatalf("bit %d of byte %d: Stats show the snapshot as usable", bit%8, bit/8)
		}
		l.state.noteSnapshot(nil)
		flip(t, disk, snapshotName, bit)
	}
	if stats, err := verify(l); err != nil || stats.Snapshot != SnapshotGood || stats.SnapshotError != nil {
		t.Errorf("after all bits are right again: %+v, %v", stats, err)
	}
	t.Logf("%d bits of %d bytes", len(b)*8, len(b))
}

// Damage of all kinds, beyond single bits.
func TestVerifyOfADamagedLog(t *testing.T) {
	for name, tt := range map[string]struct {
		damage  func(t *testing.T, disk *vfs.Mem, l *Log)
		records []int // reported with their ids
		count   int64
		reason  string
	}{
		"two payloads": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			for _, n := range []int{2, 20} {
				at, _ := l.gen.table.get(id(n))
				flip(t, disk, l.gen.name, int(at.offset+frameHeaderSize)*8)
			}
		}, []int{2, 20}, 2, "payload"},
		"a hole over three frames": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			from, _ := l.gen.table.get(id(6))
			to, _ := l.gen.table.get(id(8))
			overwrite(t, disk, l.gen.name, from.offset+8, make([]byte, to.offset+to.size-from.offset-16))
		}, []int{6, 7, 8}, 3, "header"},
		"a hole over dead frames": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			overwrite(t, disk, l.gen.name, headerSize, make([]byte, 16))
		}, nil, 1, "no intact frame"},
		"cut off": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			at, _ := l.gen.table.get(id(20))
			truncate(t, disk, l.gen.name, at.offset+4)
		}, []int{20, 21, 1}, 3, "header"},
		"all gone": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			truncate(t, disk, l.gen.name, 0)
		}, []int{2, 6, 7, 8, 9, 10, 11, 12, 3, 20, 21, 1}, 13, "cut off"},
		"a frame twice": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			log, _ := disk.ReadFile(l.gen.name)
			six, _ := l.gen.table.get(id(6))
			seven, _ := l.gen.table.get(id(7))
			overwrite(t, disk, l.gen.name, seven.offset, log[six.offset:six.offset+six.size])
		}, nil, 2, "does not follow"},
		"another log in its place": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			log, _ := disk.ReadFile(l.gen.name)
			if err := errors.Join(disk.Remove(l.gen.name), disk.WriteFile(l.gen.name, other(log))); err != nil {
				t.Fatal(err)
			}
		}, nil, 2, "not that of the log that was opened"},
		"a copy in its place": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			log, _ := disk.ReadFile(l.gen.name)
			if err := errors.Join(disk.Remove(l.gen.name), disk.WriteFile(l.gen.name, log)); err != nil {
				t.Fatal(err)
			}
		}, nil, 1, "leads to another file"},
		"a group that goes on at the end": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			g := l.gen
			f, err := readFrameAt(g.file, g.salt, g.last.offset, g.end.offset-g.last.offset)
			if err != nil {
				t.Fatal(err)
			}
			f.more = true
			b, end := appendFrame(nil, f, g.salt, position{offset: g.last.offset, chain: f.chain})
			overwrite(t, disk, g.name, g.last.offset, b)
			g.end = end
		}, nil, 1, "group is cut off"},
		"no log": {func(t *testing.T, disk *vfs.Mem, l *Log) {
			if err := disk.Remove(l.gen.name); err != nil {
				t.Fatal(err)
			}
		}, nil, 0, "not in the directory"},
	} {
		t.Run(name, func(t *testing.T) {
			disk, l := verified(t)
			tt.damage(t, disk, l)
			stats, err := verify(l)
			if !errors.Is(err, ErrCorrupt) || stats.DamageCount != tt.count || int64(len(stats.Damaged)) != tt.count {
				t.Fatalf("%d damaged: %v, %v", stats.DamageCount, stats.Damaged, err)
			}
			if !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("the error does not say %q: %v", tt.reason, err)
			}
			var want, got []ulid.ULID
			for _, n := range tt.records {
				want = append(want, id(n))
			}
			for _, err := range stats.Damaged {
				var damage *CorruptError
				if errors.As(err, &damage) && !damage.ID.IsZero() {
					got = append(got, damage.ID)
				}
			}
			if name == "a frame twice" {
				got = nil // both frames are live, neither is in its place
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if !errors.Is(l.Stats().LastError, ErrCorrupt) {
				t.Errorf("health says %v", l.Stats().LastError)
			}
		})
	}
}

// other returns the log with another time of creation: a header of its own.
func other(log []byte) []byte {
	h, err := decodeHeader(logName(1), log[:headerSize])
	if err != nil {
		panic(err)
	}
	h.created++
	return append(h.encode(), log[headerSize:]...)
}

func overwrite(t *testing.T, disk *vfs.Mem, name string, at int64, b []byte) {
	t.Helper()
	edit(t, disk, name, func(f vfs.File) error { _, err := f.WriteAt(b, at); return err })
}

func truncate(t *testing.T, disk *vfs.Mem, name string, size int64) {
	t.Helper()
	edit(t, disk, name, func(f vfs.File) error { return f.Truncate(size) })
}

func edit(t *testing.T, disk *vfs.Mem, name string, change func(vfs.File) error) {
	t.Helper()
	file, err := disk.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(change(file), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// More damage than is listed is counted.
func TestVerifyListsNoMoreThanItSays(t *testing.T) {
	disk := vfs.NewMem(0)
	l := opened(t, disk, testOptions())
	var many []change
	for i := range 150 {
		many = append(many, put(i+1, "text"))
	}
	mustUpdate(t, l, many...)
	for i := range 150 {
		at, _ := l.gen.table.get(id(i + 1))
		bit := int(at.offset+frameHeaderSize) * 8
		if i%2 == 0 {
			bit = int(at.offset) * 8 // 75 gaps and 75 payloads
		}
		flip(t, disk, l.gen.name, bit)
	}
	stats, err := verify(l)
	if !errors.Is(err, ErrCorrupt) || stats.DamageCount != 150 || len(stats.Damaged) != maxDamaged || stats.Frames != 0 {
		t.Errorf("%d damaged, %d listed, %d frames, %v", stats.DamageCount, len(stats.Damaged), stats.Frames, err)
	}
}
