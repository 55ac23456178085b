package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"testing"

	"example.com/convmem/store/vfs"
)

// messages writes n records, one commit each, and returns what the log held
// after each of them: states[i] ends at ends[i].
func messages(t *testing.T, l *Log, n int) (states []contents, ends []int64) {
	t.Helper()
	states, ends = []contents{{}}, []int64{l.gen.end.offset}
	for i := 1; i <= n; i++ {
		c := put(i, fmt.Sprintf("message number %d", i))
		if err := update(l, c); err != nil {
			t.Fatal(err)
		}
		states = append(states, states[i-1].with(c))
		ends = append(ends, l.gen.end.offset)
	}
	return states, ends
}

// disk is the state of a directory as bytes.
type disk map[string][]byte

func snapshot(t *testing.T, m *vfs.Mem) disk {
	t.Helper()
	d := disk{}
	for _, name := range m.Names() {
		b, err := m.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d[name] = b
	}
	return d
}

// restore makes a disk with these files, leaving out the named ones.
func (d disk) restore(t *testing.T, without ...string) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(0)
	files := maps.Clone(d)
	for _, name := range without {
		delete(files, name)
	}
	for name, b := range files {
		if err := m.WriteFile(name, b); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (d disk) with(name string, b []byte) disk {
	d = maps.Clone(d)
	d[name] = b
	return d
}

// How a store of 20 messages was left.
const (
	killed        = "killed"
	closedCleanly = "closed cleanly"
	rebuilt       = "rebuilt, killed"
)

func written(t *testing.T, how string) (d disk, states []contents, ends []int64) {
	t.Helper()
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	states, ends = messages(t, l, 20)
	switch how {
	case closedCleanly:
		err = l.Close()
	case rebuilt:
		_, err = l.Rebuild(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return snapshot(t, m), states, ends
}

// untouched checks that a refused store is as it was.
func untouched(t *testing.T, m *vfs.Mem, before disk) {
	t.Helper()
	for name, want := range before {
		if got, err := m.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("a refused store was changed: %s", name)
		}
	}
}

// contentsOf opens the disk, reads everything and closes it again.
func contentsOf(m *vfs.Mem) (contents, error) {
	l, err := openTest(m)
	if err != nil {
		return nil, err
	}
	found, err := held(l)
	return found, errors.Join(err, l.Close())
}

func TestEveryBitFlip(t *testing.T) {
	sweep(t)
	for _, tt := range []struct {
		how  string
		lock bool // LOCK is still there
		// whole is how many messages are before the last batch: what comes
		// after them may pass for an unfinished write.
		whole int
	}{
		{closedCleanly, true, 21},
		{closedCleanly, false, 20},
		{killed, true, 21},
		{killed, false, 19},
		{rebuilt, true, 21},
		{rebuilt, false, 21},
	} {
		t.Run(fmt.Sprintf("%s, lock %v", tt.how, tt.lock), func(t *testing.T) {
			d, states, ends := written(t, tt.how)
			if !tt.lock {
				delete(d, lockName)
			}
			name := logName(1)
			if tt.how == rebuilt {
				name = logName(2)
			}
			corrupt, recovered := 0, 0
			for bit := range len(d[name]) * 8 {
				flipped := bytes.Clone(d[name])
				flipped[bit/8] ^= 1 << (bit % 8)
				damaged := d.with(name, flipped)
				m := damaged.restore(t)
				found, err := contentsOf(m)
				switch {
				case errors.Is(err, ErrCorrupt):
					corrupt++
					untouched(t, m, damaged)
				case err != nil:
					t.Fatalf("bit %d: %v", bit, err)
				case tt.whole > 20 || int64(bit/8) < ends[tt.whole]:
					t.Fatalf("bit %d of byte %d is damaged, and nobody noticed", bit%8, bit/8)
				case !equal(found, states[tt.whole]):
					t.Fatalf("bit %d: found %v", bit, found)
				default:
					recovered++
				}
			}
			t.Logf("%d bits: %d reported as corrupt, %d in the last batch cut off", len(d[name])*8, corrupt, recovered)
		})
	}
}

func TestEveryTruncation(t *testing.T) {
	for _, lock := range []bool{true, false} {
		t.Run(fmt.Sprintf("lock %v", lock), func(t *testing.T) {
			d, states, ends := written(t, killed)
			log := d[logName(1)]
			for size := range len(log) {
				cut := d.with(logName(1), log[:size])
				if !lock {
					delete(cut, lockName)
				}
				m := cut.restore(t)
				found, err := contentsOf(m)
				if lock || size < headerSize {
					if !errors.Is(err, ErrCorrupt) {
						t.Fatalf("cut to %d bytes: %v, %v", size, found, err)
					}
					untouched(t, m, cut)
					continue
				}
				want := 0
				for want < 20 && ends[want+1] <= int64(size) {
					want++
				}
				if err != nil || !equal(found, states[want]) {
					t.Fatalf("cut to %d bytes: found %v (%v), want the first %d messages", size, found, err, want)
				}
			}
			t.Logf("%d truncations", len(log))
		})
	}
}

// LOCK is a hint: whatever happens to it, the answers are the same.
func TestEveryBitFlipInLock(t *testing.T) {
	d, states, _ := written(t, closedCleanly)
	for bit := range len(d[lockName]) * 8 {
		flipped := bytes.Clone(d[lockName])
		flipped[bit/8] ^= 1 << (bit % 8)
		found, err := contentsOf(d.with(lockName, flipped).restore(t))
		if err != nil || !equal(found, states[20]) {
			t.Fatalf("bit %d of LOCK: found %v, %v", bit, found, err)
		}
	}
}

func TestLostFiles(t *testing.T) {
	d, states, _ := written(t, closedCleanly)
	if found, err := contentsOf(d.restore(t, lockName)); err != nil || !equal(found, states[20]) {
		t.Errorf("without LOCK: found %v, %v", found, err)
	}
	m := d.restore(t, logName(1))
	if _, err := contentsOf(m); !errors.Is(err, ErrCorrupt) {
		t.Errorf("without the log: %v, want ErrCorrupt and not an empty store", err)
	}
	after, _, _ := written(t, rebuilt)
	m = after.with(logName(1), d[logName(1)]).restore(t, logName(2))
	if _, err := contentsOf(m); !errors.Is(err, ErrCorrupt) {
		t.Errorf("with the log of an older generation than LOCK names: %v", err)
	}
	m = d.with(logName(2), d[logName(1)]).restore(t)
	if _, err := contentsOf(m); !errors.Is(err, ErrCorrupt) {
		t.Errorf("with a log under another's name: %v", err)
	}
}

// An older copy of the log beside the LOCK of now has lost acknowledged records.
func TestRestoredOlderLog(t *testing.T) {
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	messages(t, l, 3)
	older := snapshot(t, m)
	messages(t, l, 5)
	now := snapshot(t, m)
	if _, err := contentsOf(now.with(logName(1), older[logName(1)]).restore(t)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an older log beside a newer LOCK: %v", err)
	}
}

func TestNewerFormat(t *testing.T) {
	d, _, _ := written(t, closedCleanly)
	for _, tt := range []struct {
		name              string
		version, required uint32
		ok                bool
	}{
		{"newer, still readable", FormatVersion + 1, FormatVersion, true},
		{"newer", FormatVersion + 1, FormatVersion + 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := bytes.Clone(d[logName(1)])
			binary.LittleEndian.PutUint32(log[8:], tt.version)
			binary.LittleEndian.PutUint32(log[12:], tt.required)
			binary.LittleEndian.PutUint32(log[124:], crc32.Checksum(log[:124], castagnoli))
			newer := d.with(logName(1), log)
			m := newer.restore(t)
			_, err := contentsOf(m)
			if tt.ok {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var version *VersionError
			if !errors.As(err, &version) || !errors.Is(err, ErrCorrupt) || version.Found != tt.version {
				t.Fatalf("got %v, want a VersionError", err)
			}
			untouched(t, m, newer)
		})
	}
}

// A record whose content is a frame of another store, or of this one with
// another salt, must not pass for evidence after a torn write.
func TestForgedFrameInContent(t *testing.T) {
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	states, _ := messages(t, l, 2)
	end := l.gen.end
	forged := frame{kind: kindPut, seq: 9, synced: end.offset + 512, id: id(9), payload: []byte("forged")}
	unsalted, _ := appendFrame(nil, forged, 0, end)
	// The frame must stand at a multiple of frameAlign in the file.
	payload := append(make([]byte, frameAlign-frameHeaderSize%frameAlign), unsalted...)
	if err := update(l, change{kind: kindPut, id: id(3), payload: payload}); err != nil {
		t.Fatal(err)
	}
	d := snapshot(t, m)
	log := bytes.Clone(d[logName(1)])
	if at := bytes.Index(log, unsalted); at < 0 || at%frameAlign != 0 {
		t.Fatalf("the forged frame stands at %d", at)
	}
	log[end.offset] ^= 1 // the frame around it is torn
	found, err := contentsOf(d.with(logName(1), log).restore(t, lockName))
	if err != nil || !equal(found, states[2]) {
		t.Fatalf("found %v, %v: content passed for a frame", found, err)
	}
}

// A frame that is intact but was built to follow another one is left over from
// a write that was taken back. It is not the next frame, and not evidence.
func TestLeftOverFrame(t *testing.T) {
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	states, _ := messages(t, l, 2)
	taken := put(3, "acknowledged")
	undone, _, _ := l.gen.encode(nil, [][]change{{put(3, "not written!"), put(4, "left over")}})
	batch, _, _ := l.gen.encode(nil, [][]change{{taken}})
	if frameSize(len(taken.payload)) != frameSize(len("not written!")) {
		t.Fatal("the left-over frame does not stand right behind the other")
	}
	log := snapshot(t, m)[logName(1)]
	log = append(append(log, batch...), undone[len(batch):]...)
	found, err := contentsOf(disk{logName(1): log}.restore(t))
	if want := states[2].with(taken); err != nil || !equal(found, want) {
		t.Fatalf("found %v (%v), want %v", found, err, want)
	}
}

// Damage after Open is found when the record is read, and only there.
func TestDamageWhileOpen(t *testing.T) {
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	_, ends := messages(t, l, 3)
	file, err := m.Open(logName(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte{0xff}, ends[1]+frameHeaderSize); err != nil {
		t.Fatal(err)
	}
	err = l.View(context.Background(), func(v *View) error {
		_, err := v.Get(id(2))
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || corrupt.ID != id(2) || corrupt.Offset != ends[1] {
			t.Errorf("a damaged record: %v", err)
		}
		_, err = v.Get(id(3))
		return err
	})
	if err != nil {
		t.Errorf("an intact record beside a damaged one: %v", err)
	}
	if !errors.Is(l.Stats().LastError, ErrCorrupt) {
		t.Errorf("the last error is %v", l.Stats().LastError)
	}
	before := snapshot(t, m)
	if _, err := l.Rebuild(context.Background()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a rebuild over a damaged record: %v", err)
	}
	delete(before, lockName)
	untouched(t, m, before)
	if err := update(l, put(9, "still writing")); err != nil {
		t.Errorf("an update beside a damaged record: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(update(l, put(1, "one"), put(2, "two")), update(l, remove(1)), l.Close()); err != nil {
		f.Fatal(err)
	}
	log, err := m.ReadFile(logName(1))
	if err != nil {
		f.Fatal(err)
	}
	lock, err := m.ReadFile(lockName)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(log, lock)
	f.Add(log[:200], lock)
	f.Add(log[:len(log)-1], []byte{})
	f.Fuzz(func(t *testing.T, log, lock []byte) {
		m := vfs.NewMem(0)
		if err := errors.Join(m.WriteFile(logName(1), log), m.WriteFile(lockName, lock)); err != nil {
			t.Fatal(err)
		}
		l, err := openTest(m)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("opening arbitrary bytes: %v", err)
			}
			return
		}
		before, err := held(l)
		if err != nil {
			t.Fatal(err)
		}
		c := put(500, "written to what was found")
		if err := errors.Join(update(l, c), l.Close()); err != nil {
			t.Fatal(err)
		}
		if after, err := contentsOf(m); err != nil || !equal(after, before.with(c)) {
			t.Fatalf("found %v (%v), want %v", after, err, before.with(c))
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("payload"), uint32(1), uint64(7), byte(1), true)
	f.Fuzz(func(t *testing.T, payload []byte, salt uint32, seq uint64, k byte, more bool) {
		want := frame{kind: kind(k), more: more, seq: seq, synced: 128, id: id(int(k)), chain: 5, payload: payload}
		at := position{offset: 128, chain: 5}
		b, end := appendFrame(nil, want, salt, at)
		length, ok := checkFrameHeader(b, salt)
		if !ok || length != len(payload) || frameSize(length) != int64(len(b)) || end.offset != 128+int64(len(b)) {
			t.Fatalf("the header of an encoded frame does not check")
		}
		got, ok := decodeFrame(b, salt)
		if !ok || got.kind != want.kind || got.more != more || got.seq != seq || got.synced != 128 ||
			got.id != want.id || got.chain != 5 || !bytes.Equal(got.payload, payload) {
			t.Fatalf("decoded %+v, want %+v", got, want)
		}
		if got.after(b, at) != end {
			t.Fatalf("the position behind the frame differs")
		}
		if _, ok := checkFrameHeader(b, salt+1); ok {
			t.Fatalf("another salt accepts the header")
		}
	})
}
