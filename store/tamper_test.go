package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
)

// What is done to the files of a store behind its back, by hand, by a copying
// tool or by a disk, while a process has it open and while none has.

func overwriteFile(t *testing.T, m *vfs.Mem, name string, offset int64, b []byte) {
	t.Helper()
	file, err := m.Open(name)
	must(t, err)
	_, err = file.WriteAt(b, offset)
	must(t, errors.Join(err, file.Close()))
}

// whileOpen does something to the files of a store that holds one record and is
// open, and returns the error of the next update.
func whileOpen(t *testing.T, do func(*vfs.Mem)) error {
	t.Helper()
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	must(t, update(l, put(1, "one")))
	do(m)
	return updateTwo(l)
}

// A write into a file that lost its name would be answered and then be gone. The
// name is compared when another process has held LOCK, here one whose write failed:
// the log reads as before.
func TestLogIsReplacedWhileOpen(t *testing.T) {
	err := whileOpen(t, func(m *vfs.Mem) {
		b, err := m.ReadFile(logName(1))
		must(t, err)
		must(t, m.WriteFile("copy", b))
		must(t, m.Rename("copy", logName(1)))
		fsys := faultfs.New(m)
		other := mustOpen(t, fsys)
		fsys.Inject(failing(faultfs.Write, logName(1), 0, faultfs.Short))
		if err := updateTwo(other); !errors.Is(err, faultfs.ErrInjected) {
			t.Errorf("the other process: %v", err)
		}
	})
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// No new store is made in the place of one that somebody still has open.
func TestLogIsRemovedWhileOpen(t *testing.T) {
	err := whileOpen(t, func(m *vfs.Mem) {
		must(t, m.Remove(logName(1)))
		overwriteFile(t, m, lockName, 0, make([]byte, lockFileSize))
	})
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// What was cut off is not filled up with zeros.
func TestLogIsCutOffWhileOpen(t *testing.T) {
	err := whileOpen(t, func(m *vfs.Mem) {
		file, err := m.Open(logName(1))
		must(t, err)
		size, err := file.Size()
		must(t, err)
		must(t, errors.Join(file.Truncate(size-frameAlign), file.Close()))
	})
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func TestLockOfAnotherStoreWhileOpen(t *testing.T) {
	other := vfs.NewMem(0)
	must(t, mustOpen(t, other).Close())
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	must(t, update(l, put(1, "one")))
	overwriteFile(t, m, lockName, 0, snapshot(t, other)[lockName])
	if found, err := held(l); !errors.Is(err, ErrCorrupt) {
		t.Errorf("found %v, %v", found, err)
	}
}

// A store is not made anew because its log is gone, not even an empty one.
func TestLogOfANewStoreIsLost(t *testing.T) {
	m := vfs.NewMem(0)
	must(t, mustOpen(t, m).Close())
	if _, err := contentsOf(snapshot(t, m).restore(t, logName(1))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func TestSnapshotWithoutALog(t *testing.T) {
	d, _, _ := written(t, rebuilt)
	if d[snapshotName] == nil {
		t.Fatal("there is no snapshot")
	}
	if _, err := contentsOf(d.restore(t, logName(2), lockName)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// All that a rebuild wrote was durable before the log got its name: its header
// says so, even where no frame and no LOCK does.
func TestSealedLogIsCutOff(t *testing.T) {
	d, _, _ := written(t, rebuilt)
	log := d[logName(2)]
	last := frameSize(len("message number 20"))
	m := d.with(logName(2), log[:int64(len(log))-last]).restore(t, lockName, snapshotName)
	if found, err := contentsOf(m); !errors.Is(err, ErrCorrupt) {
		t.Errorf("found %d of 20 records, %v", len(found), err)
	}
}

// LOCK is never synced: after a power cut it may speak of the log before, here
// one of the same length.
func TestLockOfTheLogBefore(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	must(t, update(l, put(1, "one"), put(2, "two")))
	before := snapshot(t, m)
	must(t, rebuild(l))
	d := snapshot(t, m).with(lockName, before[lockName])
	if len(d[logName(2)]) != len(before[logName(1)]) {
		t.Fatal("the logs differ in length")
	}
	for _, readOnly := range []bool{true, false} {
		o := testOptions()
		o.ReadOnly = readOnly
		l, err := Open(context.Background(), d.restore(t), o)
		must(t, err)
		found, err := held(l)
		must(t, err)
		if diff := cmp.Diff(contents{id(1): "one", id(2): "two"}, found); diff != "" {
			t.Errorf("read-only %t: %s", readOnly, diff)
		}
		must(t, l.Close())
	}
}

// twoTails writes three records and returns the frame of a fourth that fits into
// the place of the last one, with all that it has to agree with, and that place.
func twoTails(t *testing.T, l *Log) (other []byte, end int64) {
	t.Helper()
	must(t, update(l, put(1, "one"), put(2, "two")))
	other, _, _ = l.gen.encode(nil, [][]change{{put(4, "other")}})
	end = l.gen.end.offset
	must(t, update(l, put(3, "three")))
	if size := l.gen.end.offset - end; size != int64(len(other)) {
		t.Fatalf("%d bytes in the place of %d", len(other), size)
	}
	return other, end
}

// LOCK knows the checksum of the last frame, and with it the whole log: another
// past of the same length, from a backup or a second writer, is noticed.
func TestAnotherTail(t *testing.T) {
	m := vfs.NewMem(0)
	reader := mustOpen(t, m)
	other, end := twoTails(t, mustOpen(t, m))
	overwriteFile(t, m, logName(1), end, other)
	d := snapshot(t, m)
	if found, err := held(reader); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a view: %v, %v", found, err)
	}
	for name, d := range map[string]disk{
		"an open":              d,
		"an open that repairs": d.with(logName(1), append(bytes.Clone(d[logName(1)]), make([]byte, 40)...)),
	} {
		if found, err := contentsOf(d.restore(t)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// The same for a record that only reads otherwise: all frames check and follow one
// another, and the table is as it was.
func TestVerifyOfAnotherTail(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	other, _, _ := l.gen.encode(nil, [][]change{{put(1, "other")}})
	end := l.gen.end.offset
	must(t, update(l, put(1, "taken")))
	if _, err := l.Verify(context.Background(), nil); err != nil {
		t.Error(err)
	}
	overwriteFile(t, m, logName(1), end, other)
	if _, err := l.Verify(context.Background(), nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// A log that was copied into the place of another is not durable because the
// LOCK of the other calls itself clean.
func TestRestoredLogIsMadeDurable(t *testing.T) {
	old, _, _ := written(t, closedCleanly)
	backup, states, _ := written(t, rebuilt)
	m := old.restore(t, logName(1))
	file, err := m.Create(logName(2))
	must(t, err)
	_, err = file.WriteAt(backup[logName(2)], 0)
	must(t, errors.Join(err, file.Close()))
	found, err := held(mustOpen(t, m))
	if err != nil || !equal(found, states[20]) {
		t.Fatalf("%d records, %v", len(found), err)
	}
	must(t, shownIsDurable(m, found))
}

// A process that has the log before open finds out what is wrong with the new
// one.
func TestNewLogEndsEarly(t *testing.T) {
	m := vfs.NewMem(0)
	reader := mustOpen(t, m)
	l := mustOpen(t, m)
	messages(t, l, 3)
	must(t, rebuild(l))
	must(t, m.Remove(snapshotName))
	overwriteFile(t, m, logName(2), l.gen.end.offset-frameAlign, []byte{0xff})
	if found, err := held(reader); !errors.Is(err, ErrCorrupt) {
		t.Errorf("found %d of 3 records, %v", len(found), err)
	}
}

// A process that dies while it writes a slot takes only that one along: what the
// other one says was acknowledged, and others must see it.
func TestTornSlot(t *testing.T) {
	m := vfs.NewMem(0)
	reader := mustOpen(t, m)
	fsys := faultfs.New(m)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "acknowledged")))
	fsys.Inject(failing(faultfs.Write, lockName, 0, faultfs.Short))
	if err := updateTwo(l); !errors.Is(err, ErrPoisoned) {
		t.Fatalf("got %v", err)
	}
	found, err := held(reader)
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "acknowledged"}, found); diff != "" {
		t.Error(diff)
	}
}

// Frames with right checksums that no writer would have put there.
func TestFramesThatContradictEachOther(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	states, _ := messages(t, l, 3)
	log, end := snapshot(t, m)[logName(1)], l.gen.end
	for name, tt := range map[string]struct {
		frame   frame
		corrupt bool // what is intact is not cut off
	}{
		"a sequence number again":      {frame{kind: kindPut, seq: end.seq, synced: end.offset, id: id(9)}, false},
		"it vouches for what follows":  {frame{kind: kindPut, seq: end.seq + 1, synced: end.offset + frameAlign, id: id(9)}, false},
		"it deletes what is not there": {frame{kind: kindDelete, seq: end.seq + 1, synced: end.offset, id: id(9)}, true},
	} {
		b, _ := appendFrame(nil, tt.frame, l.gen.salt, end)
		found, err := contentsOf(disk{logName(1): append(bytes.Clone(log), b...)}.restore(t))
		if errors.Is(err, ErrCorrupt) != tt.corrupt || !tt.corrupt && !equal(found, states[3]) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// No length that a header claims makes a reader allocate more than MaxPayload.
func TestPayloadThatNobodyCanHold(t *testing.T) {
	for length, want := range map[uint32]bool{MaxPayload: true, MaxPayload + 1: false} {
		h, _ := appendFrame(nil, frame{kind: kindPut}, 7, position{})
		binary.LittleEndian.PutUint32(h, length)
		binary.LittleEndian.PutUint32(h[4:], headerCRC(h, 7))
		if _, ok := checkFrameHeader(h, 7); ok != want {
			t.Errorf("%d bytes: %t", length, ok)
		}
	}
}

func TestLastIDIsTheGreatest(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(0))
	must(t, update(l, put(5, "five")))
	must(t, update(l, put(3, "three")))
	if got := lastID(t, l); got != id(5) {
		t.Errorf("the last id is %v", got)
	}
}

// The header remembers the greatest id by itself: no snapshot is needed for it.
func TestLastIDIsInTheHeader(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	must(t, update(l, put(1, "one"), put(7, "seven")))
	must(t, errors.Join(update(l, remove(7)), rebuild(l)))
	if got := lastID(t, mustOpen(t, snapshot(t, m).restore(t, snapshotName))); got != id(7) {
		t.Errorf("the last id is %v", got)
	}
}

// A log that was copied to the name of another generation is not that one.
func TestHeaderOfAnotherName(t *testing.T) {
	h := header{formatVersion: FormatVersion, minReader: minReaderVersion, generation: 1, sealedEnd: headerSize}
	if _, err := decodeHeader(logName(1), h.encode()); err != nil {
		t.Error(err)
	}
	if _, err := decodeHeader(logName(2), h.encode()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("under another name: %v", err)
	}
}

// Only frames of this very log are evidence. One that a record brings along, made
// by somebody who knows everything but the salt, stands where it would prove that
// the torn frame around it was acknowledged.
func TestForgedEvidence(t *testing.T) {
	for _, knowsSalt := range []bool{false, true} {
		m := vfs.NewMem(0)
		l := mustOpen(t, m)
		states, _ := messages(t, l, 2)
		end := l.gen.end
		var salt uint32
		if knowsSalt {
			salt = l.gen.salt
		}
		forged, _ := appendFrame(nil, frame{kind: kindPut, seq: 9, synced: end.offset + frameAlign, id: id(9)}, salt, end)
		payload := append(make([]byte, frameAlign-frameHeaderSize%frameAlign), forged...)
		must(t, update(l, change{kind: kindPut, id: id(3), payload: payload}))
		log := snapshot(t, m)[logName(1)]
		log[end.offset] ^= 1 // the frame around it is torn
		found, err := contentsOf(disk{logName(1): log}.restore(t))
		if errors.Is(err, ErrCorrupt) != knowsSalt || !knowsSalt && !equal(found, states[2]) {
			t.Errorf("knows the salt %t: found %v, %v", knowsSalt, found, err)
		}
	}
}

// A rebuild may take one frame of a group and leave the others out: what it takes
// stands alone then.
func TestRebuildEndsGroups(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	must(t, update(l, put(1, "one"), put(2, "two")))
	must(t, errors.Join(update(l, remove(2)), rebuild(l)))
	found, err := contentsOf(snapshot(t, m).restore(t, snapshotName))
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "one"}, found); diff != "" {
		t.Error(diff)
	}
}

// The process that holds LOCK for life says so in its slot, whoever wrote there
// last.
func TestBusyNamesAnExclusiveHolder(t *testing.T) {
	m := vfs.NewMem(0)
	must(t, mustOpen(t, m).Close())
	for _, at := range []int64{slotA, slotB} {
		if s, ok := decodeSlot(snapshot(t, m)[lockName][at:]); ok {
			s.pid = os.Getpid() + 1
			overwriteFile(t, m, lockName, at, s.encode())
		}
	}
	l := mustOpenExclusive(t, m)
	defer l.Close()
	var busy *BusyError
	if _, err := openTest(m); !errors.As(err, &busy) || busy.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
}
