package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
)

// rebuiltStore is a store of generation 2. Its log of generation 1 is kept as
// well: it still has record 3, which was deleted, and lacks record 7.
func rebuiltStore(t *testing.T) (now, before sound) {
	t.Helper()
	m := soundStore(t, true).disk.mem(t)
	before = soundOf(t, m, logName(1))
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Rebuild(context.Background())
	if err := errors.Join(err, update(l, put(7, "seven")), l.Close()); err != nil {
		t.Fatal(err)
	}
	now = soundOf(t, m, logName(2))
	now.disk = now.disk.with(before.name, before.log)
	return now, before
}

// gapsOf drops what the cases do not compare.
func gapsOf(r SalvageReport) (gaps []Gap) {
	for _, g := range r.Gaps {
		g.Reason = ""
		gaps = append(gaps, g)
	}
	return gaps
}

func TestSalvageGenerations(t *testing.T) {
	now, before := rebuiltStore(t)
	_, after := now.intact(now.log)
	_, earlier := before.intact(before.log)
	size := int64(len(now.log))
	lost := Gap{File: now.name, Length: size}
	damagedOld := bytes.Clone(before.log)
	deletion := before.frames[7]
	if deletion.kind != kindDelete {
		t.Fatal("the script has changed")
	}
	damagedOld[deletion.offset]++
	_, firstThree := now.intact(now.log[:now.frames[3].offset])
	foreign := soundStore(t, true).disk[lockName]
	otherHeader := bytes.Clone(now.log)
	copy(otherHeader, before.log[:headerSize])
	tests := []struct {
		name string
		disk disk
		file string
		want contents
		gaps []Gap
	}{
		{"both sound", now.disk, now.name, after, nil},
		{"newest all zero", now.disk.with(now.name, make([]byte, size)), before.name, earlier, []Gap{lost}},
		{"newest empty", now.disk.with(now.name, nil), before.name, earlier, []Gap{{File: now.name}}},
		{"newest is only a header", now.disk.with(now.name, now.log[:headerSize]), before.name, earlier, []Gap{{File: now.name, Length: headerSize}}},
		{"newest is missing", disk{lockName: now.disk[lockName], before.name: before.log}, before.name, earlier, []Gap{lost}},
		{"newest damaged, the older has what was deleted", now.disk.with(now.name, now.log[:size-1]).with(before.name, damagedOld),
			now.name, after, []Gap{{File: now.name, Offset: now.frames[len(now.frames)-1].offset, Length: now.frames[len(now.frames)-1].size - 1}, {File: now.name, Offset: size - 1, Length: 1}}},
		{"cut below the sealed end, without LOCK", disk{now.name: now.log[:now.frames[3].offset]}, now.name, firstThree,
			[]Gap{{File: now.name, Offset: now.frames[3].offset, Length: now.header.sealedEnd - now.frames[3].offset}}},
		{"older is empty", now.disk.with(before.name, nil), now.name, after, nil},
		{"header of the older log", disk{now.name: otherHeader}, now.name, after, []Gap{{File: now.name, Length: headerSize}}},
		{"renamed", disk{logName(77): now.log}, logName(77), after, []Gap{{File: logName(77)}}},
		{"LOCK of another store", before.disk.with(lockName, foreign), before.name, earlier, []Gap{{File: before.name, Length: int64(len(before.log))}}},
		{"LOCK of an older generation", now.disk.with(lockName, foreign), now.name, after, nil},
		{"LOCK short", now.disk.with(lockName, now.disk[lockName][:100]), now.name, after, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, report, err := salvage(t, tt.disk)
			if err != nil || !equal(found, tt.want) || report.File != tt.file {
				t.Fatalf("found %v (%v), want %v; %+v", found, err, tt.want, report)
			}
			if diff := cmp.Diff(tt.gaps, gapsOf(report)); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSalvageRefuses(t *testing.T) {
	s := soundStore(t, true)
	newer := bytes.Clone(s.log)
	binary.LittleEndian.PutUint32(newer[8:], 9)
	binary.LittleEndian.PutUint32(newer[12:], 8)
	binary.LittleEndian.PutUint32(newer[124:], crc32.Checksum(newer[:124], castagnoli))
	lock := disk{lockName: s.disk[lockName]}
	tests := []struct {
		name     string
		from, to disk
		want     error
	}{
		{"no store", disk{"notes.txt": []byte("text")}, disk{}, ErrNoStore},
		{"the log is missing", lock, disk{}, ErrCorrupt},
		{"nothing is intact", disk{s.name: make([]byte, 5000)}, disk{}, ErrCorrupt},
		{"newer version", s.disk.with(s.name, newer), disk{}, &VersionError{File: s.name, Found: 9, Needed: 8, Supported: FormatVersion}},
		{"an older log of a newer version", s.disk.with(logName(0), newer), disk{}, &VersionError{File: logName(0), Found: 9, Needed: 8, Supported: FormatVersion}},
		{"the new directory holds a store", s.disk, s.disk, ErrStoreExists},
		{"the new directory holds a damaged log", s.disk, disk{logName(3): {}}, ErrStoreExists},
		{"the new directory holds the LOCK of a store", s.disk, lock, ErrStoreExists},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			from, to := tt.from.mem(t), tt.to.mem(t)
			report, err := Salvage(context.Background(), from, to, testOptions())
			var newer *VersionError
			if errors.As(tt.want, &newer) {
				var got *VersionError
				if !errors.As(err, &got) || *got != *newer {
					t.Errorf("got %v, want %v", err, newer)
				}
			} else if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if diff := cmp.Diff(SalvageReport{}, report); diff != "" {
				t.Errorf("a report beside an error:\n%s", diff)
			}
			if diff := cmp.Diff(tt.to, filesOf(t, to)); diff != "" {
				t.Errorf("the new directory was changed:\n%s", diff)
			}
		})
	}
}

// An empty LOCK and foreign files are no store.
func TestSalvageIntoADirectoryInUse(t *testing.T) {
	s := soundStore(t, true)
	to := disk{lockName: make([]byte, lockFileSize), maintName: nil, "notes.txt": []byte("text")}.mem(t)
	other, err := to.Lock(lockName)
	if err != nil {
		t.Fatal(err)
	}
	if taken, err := other.TryLock(); !taken || err != nil {
		t.Fatal(taken, err)
	}
	if _, err := Salvage(context.Background(), s.disk.mem(t), to, testOptions()); !errors.Is(err, ErrBusy) {
		t.Fatalf("another process holds LOCK: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Salvage(context.Background(), s.disk.mem(t), to, testOptions()); err != nil {
		t.Fatal(err)
	}
	_, want := s.intact(s.log)
	if found, err := contentsOf(to); err != nil || !equal(found, want) {
		t.Errorf("found %v (%v), want %v", found, err, want)
	}
}

// handmade is a log of these frames, in this order, whatever they say.
func handmade(frames ...frame) (disk, []located) {
	h := header{formatVersion: FormatVersion, minReader: minReaderVersion, fileID: [16]byte{7}, generation: 1, sealedEnd: headerSize}
	b, at := h.encode(), h.start()
	var all []located
	for _, f := range frames {
		var here located
		f.synced = headerSize
		b, here, at = appendLocated(b, f, h.salt(), at)
		all = append(all, here)
	}
	return disk{logName(1): b}, all
}

func frameOf(c change, seq uint64) frame {
	return frame{kind: c.kind, seq: seq, id: c.id, payload: c.payload}
}

// TestSalvageOddFrames: intact frames that contradict each other, as lost writes
// and later versions leave them. The greatest sequence number decides.
func TestSalvageOddFrames(t *testing.T) {
	more := frameOf(put(3, "three"), 3)
	more.more = true
	later := frameOf(put(2, "two"), 2)
	later.kind = 9
	tests := []struct {
		name   string
		frames []frame
		want   contents
		gaps   []int // of which frames, counting from 0
		length int   // number of frames that the gap takes
	}{
		{"the newer state stands first", []frame{frameOf(put(1, "new"), 5), frameOf(put(1, "old"), 4)}, contents{id(1): "new"}, []int{1}, 0},
		{"the deletion stands first", []frame{frameOf(remove(1), 5), frameOf(put(1, "old"), 4)}, contents{}, []int{1}, 0},
		{"one number twice", []frame{frameOf(put(1, "one"), 4), frameOf(put(2, "two"), 4), frameOf(put(3, "three"), 5)},
			contents{id(1): "one", id(2): "two", id(3): "three"}, []int{1}, 0},
		{"one number and record twice", []frame{frameOf(put(1, "one"), 4), frameOf(put(1, "other"), 4)}, contents{id(1): "one"}, []int{1}, 0},
		{"a deletion of nothing", []frame{frameOf(remove(1), 1), frameOf(put(2, "two"), 2)}, contents{id(2): "two"}, nil, 0},
		{"a kind of a later version", []frame{frameOf(put(1, "one"), 1), later, frameOf(put(3, "three"), 3)}, contents{id(1): "one", id(3): "three"}, []int{1}, 1},
		{"a number that no store reaches", []frame{frameOf(put(1, "one"), 1), frameOf(put(2, "two"), maxCounter+1)}, contents{id(1): "one"}, []int{1}, 1},
		{"the greatest number", []frame{frameOf(put(1, "one"), 1), frameOf(put(2, "two"), maxCounter)}, contents{id(1): "one", id(2): "two"}, nil, 0},
		{"a group is cut off", []frame{frameOf(put(1, "one"), 1), more}, contents{id(1): "one", id(3): "three"}, []int{2}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, frames := handmade(tt.frames...)
			found, report, err := salvage(t, d)
			if err != nil || !equal(found, tt.want) {
				t.Fatalf("found %v (%v), want %v", found, err, tt.want)
			}
			var want []Gap
			for _, i := range tt.gaps {
				g := Gap{File: logName(1), Offset: int64(len(d[logName(1)]))}
				if i < len(frames) {
					g.Offset, g.Length = frames[i].offset, int64(tt.length)*frames[i].size
				}
				want = append(want, g)
			}
			if diff := cmp.Diff(want, gapsOf(report)); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSalvagedLog: the new log has its records in the order of their numbers,
// which they keep, and vouches for itself: a cut is noticed without LOCK.
func TestSalvagedLog(t *testing.T) {
	d, _ := handmade(frameOf(put(1, "one"), 50), frameOf(put(2, "two"), 40), frameOf(put(3, "three"), 60))
	to := vfs.NewMem(0)
	if _, err := Salvage(context.Background(), d.mem(t), to, testOptions()); err != nil {
		t.Fatal(err)
	}
	s := soundOf(t, to, logName(1))
	var got []string
	for _, f := range s.frames {
		got = append(got, fmt.Sprintf("%d %s", f.seq, f.payload))
	}
	if diff := cmp.Diff([]string{"40 two", "50 one", "60 three"}, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if _, err := contentsOf(disk{s.name: s.log[:s.frames[2].offset]}.mem(t)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the last frame is cut off: %v", err)
	}
}

// TestSalvageCutOut takes whole frames out of the middle: what follows stands at
// other places than before, and only the chain shows that something is missing.
func TestSalvageCutOut(t *testing.T) {
	s := soundStore(t, true)
	first, last := s.frames[2], s.frames[6]
	cut := append(bytes.Clone(s.log[:first.offset]), s.log[last.offset:]...)
	found, report, err := salvage(t, disk{s.name: cut})
	want := contents{id(1): "one", id(4): "four, changed", id(6): ""}
	if err != nil || !equal(found, want) {
		t.Fatalf("found %v (%v), want %v", found, err, want)
	}
	if diff := cmp.Diff([]Gap{{File: s.name, Offset: first.offset}}, gapsOf(report)); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// TestSalvageLargePayloads: frames longer than what is read at a time, and
// damage longer than that.
func TestSalvageLargePayloads(t *testing.T) {
	sweep(t)
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range []int{3 * readAhead, 10, readAhead - 100, 7, 5 * readAhead, readAhead + 1, 0} {
		if err := update(l, put(i+1, strings.Repeat(fmt.Sprint(i), size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := soundOf(t, m, logName(1))
	for i, f := range s.frames {
		damaged := bytes.Clone(s.log)
		damaged[f.offset+f.size-1]++
		s.check(t, damaged, i%2 == 0)
		clear(damaged[f.offset : f.offset+f.size])
		s.check(t, damaged, i%2 == 0)
	}
}

// forgedStore holds content that looks like frames of another salt.
func forgedStore(t *testing.T) sound {
	t.Helper()
	forged, _ := handmade(frameOf(put(50, "forged"), 50), frameOf(put(51, "forged too"), 51))
	// 4 zeros bring the content's frames to a multiple of 8.
	content := "0000" + string(forged[logName(1)][headerSize:])
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 3; i++ {
		if err := update(l, put(i, content)); err != nil {
			t.Fatal(err)
		}
	}
	return soundOf(t, m, logName(1))
}

// TestSalvageForgedFrames: such content is never taken for frames.
func TestSalvageForgedFrames(t *testing.T) {
	s := forgedStore(t)
	for _, lost := range [][]int{{}, {0}, {0, 1}, {1, 2}} {
		for _, whole := range []bool{false, true} { // lose the whole frame, or its first byte
			damaged := bytes.Clone(s.log)
			clear(damaged[:headerSize])
			for _, i := range lost {
				at := s.frames[i].offset
				damaged[at]++
				if whole {
					clear(damaged[at : at+s.frames[i].size])
				}
			}
			_, want := s.intact(damaged)
			found, _, err := salvage(t, disk{s.name: damaged})
			if err != nil || !equal(found, want) {
				t.Errorf("lost %v, whole %v: found %v (%v), want %v", lost, whole, found, err, want)
			}
		}
	}
}

// TestSalvageSaltIsNamed: where frames of two salts are left, what names the salt
// decides, and without it neither is believed.
func TestSalvageSaltIsNamed(t *testing.T) {
	s := forgedStore(t)
	damaged := bytes.Clone(s.log)
	damaged[30]++                    // the file id
	damaged[s.frames[0].offset]++    // the first frame's length: its content is looked into
	damaged[s.frames[0].offset+12]++ // and its chain
	_, want := s.intact(damaged)
	withChain, withID := bytes.Clone(damaged), bytes.Clone(damaged)
	withChain[s.frames[0].offset+12]--
	withID[30]--
	withID[90]++ // the header stays damaged
	for _, tt := range []struct {
		name  string
		disk  disk
		named bool
	}{
		{"by nothing", disk{s.name: damaged}, false},
		{"by LOCK", s.disk.with(s.name, damaged), true},
		{"by the first frame", disk{s.name: withChain}, true},
		{"by the damaged header", disk{s.name: withID}, true},
		{"by the LOCK of another store", soundStore(t, true).disk.with(s.name, damaged), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, _, err := salvage(t, tt.disk)
			if !tt.named && !errors.Is(err, ErrCorrupt) {
				t.Errorf("found %v (%v)", found, err)
			}
			if tt.named && (err != nil || !equal(found, want)) {
				t.Errorf("found %v (%v), want %v", found, err, want)
			}
		})
	}
}

// TestSalvageOnlyReads: nothing but reading is done to the damaged store.
func TestSalvageOnlyReads(t *testing.T) {
	now, _ := rebuiltStore(t)
	damaged := bytes.Clone(now.log)
	clear(damaged[:headerSize+200])
	for _, log := range [][]byte{damaged, nil} {
		from := faultfs.New(now.disk.with(now.name, log).mem(t))
		if _, err := Salvage(context.Background(), from, vfs.NewMem(0), testOptions()); err != nil {
			t.Fatal(err)
		}
		opened, closed := 0, 0
		for _, op := range from.Ops() {
			switch {
			case op.Kind == faultfs.Close:
				closed++
			case strings.HasPrefix(string(op.Kind), string(faultfs.Open)):
				opened++
			case op.Kind != faultfs.List && op.Kind != faultfs.Read && op.Kind != faultfs.Size:
				t.Errorf("%v", op)
			}
		}
		if opened != closed || opened == 0 {
			t.Errorf("%d files opened, %d closed", opened, closed)
		}
	}
}
