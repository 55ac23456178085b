package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/convmem/store/vfs"
)

// sound is a store before damage is done to it, and what its log holds.
type sound struct {
	disk   disk
	name   string
	log    []byte
	header header
	frames []located
}

// soundStore makes a store with every kind of frame: updates, deletions and an
// atomic group.
func soundStore(t testing.TB, cleanly bool) sound {
	t.Helper()
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, changes := range [][]change{
		{put(1, "one")}, {put(2, "the second")}, {put(3, "three")}, {put(1, "one, changed")},
		{put(4, "four"), put(5, "number five"), remove(2)},
		{remove(3)}, {put(6, "")}, {put(4, "four, changed")},
	} {
		if err := update(l, changes...); err != nil {
			t.Fatal(err)
		}
	}
	if cleanly {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return soundOf(t, m, logName(1))
}

// soundOf reads the log with the ordinary scanner.
func soundOf(t testing.TB, m *vfs.Mem, name string) sound {
	t.Helper()
	s := sound{disk: filesOf(t, m), name: name}
	s.log = s.disk[name]
	var err error
	if s.header, err = decodeHeader(name, s.log[:headerSize]); err != nil {
		t.Fatal(err)
	}
	file, err := m.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	scan := newScanner(file, s.header.salt(), s.header.start(), int64(len(s.log)))
	for scan.at.offset < scan.end {
		f, err := scan.next()
		if err != nil {
			t.Fatal(err)
		}
		f.payload = bytes.Clone(f.payload)
		s.frames = append(s.frames, f)
	}
	return s
}

func filesOf(t testing.TB, m *vfs.Mem) disk {
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

func (d disk) mem(t testing.TB) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(0)
	for name, b := range d {
		if err := m.WriteFile(name, b); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// intact returns the frames whose bytes are as they were, and what they say
// together.
func (s sound) intact(damaged []byte) (frames []located, left contents) {
	left = contents{}
	for _, f := range s.frames {
		end := f.offset + f.size
		if end > int64(len(damaged)) || !bytes.Equal(damaged[f.offset:end], s.log[f.offset:end]) {
			continue
		}
		frames = append(frames, f)
		switch f.kind {
		case kindPut:
			left[f.id] = string(f.payload)
		case kindDelete:
			delete(left, f.id)
		}
	}
	return frames, left
}

// salvage salvages d and returns what the new store holds, which is read twice:
// after a write to it and a restart it must be the same.
func salvage(t testing.TB, d disk) (contents, SalvageReport, error) {
	t.Helper()
	from, to := d.mem(t), vfs.NewMem(0)
	report, err := Salvage(context.Background(), from, to, testOptions())
	if !maps.EqualFunc(d, filesOf(t, from), bytes.Equal) {
		t.Fatal("the damaged store was changed")
	}
	if err != nil {
		if names := to.Names(); len(generations(names)) > 0 || slices.ContainsFunc(names, temporaryName.MatchString) {
			t.Fatalf("after %v: %v", err, names)
		}
		return nil, report, err
	}
	l, err := openTest(to)
	if err != nil {
		t.Fatalf("the new store does not open: %v", err)
	}
	found, err := held(l)
	extra := put(4000, "written to the new store")
	if err := errors.Join(err, update(l, extra), l.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := contentsOf(to)
	if err != nil || !equal(again, found.with(extra)) {
		t.Fatalf("found %v, and after a write and a restart %v (%v)", found, again, err)
	}
	return found, report, nil
}

// check salvages the store with its log damaged and compares everything with
// what must come of it. locked says that LOCK is there.
func (s sound) check(t *testing.T, damaged []byte, locked bool) {
	t.Helper()
	d := s.disk.with(s.name, damaged)
	if !locked {
		delete(d, lockName)
	}
	frames, want := s.intact(damaged)
	found, report, err := salvage(t, d)
	if empty := bytes.Equal(damaged, s.log[:headerSize]) && !locked; len(frames) == 0 && !empty {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("nothing is left: %v, %v", found, err)
		}
		return
	}
	if err != nil || !equal(found, want) {
		t.Fatalf("found %v (%v), want %v", found, err, want)
	}
	if report.File != s.name || report.Frames != int64(len(frames)) || report.Records != int64(len(want)) || len(report.Refused) > 0 {
		t.Fatalf("%d frames and %d records are left, the report is %+v", len(frames), len(want), report)
	}
	s.checkGaps(t, damaged, frames, report, locked)
}

// checkGaps: every damaged byte is in a gap, no byte of an intact frame is.
func (s sound) checkGaps(t *testing.T, damaged []byte, intact []located, r SalvageReport, locked bool) {
	t.Helper()
	size := int64(len(damaged))
	covered := make([]bool, max(len(s.log), len(damaged)))
	skipped := int64(0)
	for i, g := range r.Gaps {
		if g.File != s.name || g.Reason == "" || i > 0 && g.Offset < r.Gaps[i-1].Offset {
			t.Fatalf("gaps %+v", r.Gaps)
		}
		for at := g.Offset; at < g.Offset+g.Length; at++ {
			covered[at] = true
			if at < size {
				skipped++
			}
		}
	}
	for at := range s.log {
		lost := at >= len(damaged) && locked || at < len(damaged) && damaged[at] != s.log[at]
		if lost && !covered[at] {
			t.Fatalf("byte %d is lost and in no gap: %+v", at, r.Gaps)
		}
	}
	known := int64(0)
	for _, f := range intact {
		known += f.size
		if slices.Contains(covered[f.offset:f.offset+f.size], true) {
			t.Fatalf("the frame at %d is intact and in a gap: %+v", f.offset, r.Gaps)
		}
	}
	if !covered[0] {
		known += headerSize
	}
	if skipped != r.SkippedBytes || skipped+known != size {
		t.Fatalf("of %d bytes %d are known, %d in gaps, %d reported as skipped", size, known, skipped, r.SkippedBytes)
	}
}

// salvageCases are the ways in which the store was left.
func salvageCases(t *testing.T, run func(t *testing.T, s sound, locked bool)) {
	for _, cleanly := range []bool{true, false} {
		for _, locked := range []bool{true, false} {
			t.Run(fmt.Sprintf("closed %v, lock %v", cleanly, locked), func(t *testing.T) {
				run(t, soundStore(t, cleanly), locked)
			})
		}
	}
}

func TestSalvageSound(t *testing.T) {
	salvageCases(t, func(t *testing.T, s sound, locked bool) { s.check(t, s.log, locked) })
}

func TestSalvageEveryBitFlip(t *testing.T) {
	sweep(t)
	salvageCases(t, func(t *testing.T, s sound, locked bool) {
		if closed := s.frames[len(s.frames)-1].kind == kindClean; closed != locked && !*long {
			t.Skip("with -long")
		}
		for bit := range len(s.log) * 8 {
			damaged := bytes.Clone(s.log)
			damaged[bit/8] ^= 1 << (bit % 8)
			s.check(t, damaged, locked)
		}
		t.Logf("%d bits of %d frames", len(s.log)*8, len(s.frames))
	})
}

func TestSalvageTwoBitFlips(t *testing.T) {
	sweep(t)
	salvageCases(t, func(t *testing.T, s sound, locked bool) {
		r := rand.New(rand.NewPCG(3, 4))
		for range 3000 {
			damaged := bytes.Clone(s.log)
			for range 2 {
				damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
			}
			s.check(t, damaged, locked)
		}
	})
}

func TestSalvageEveryTruncation(t *testing.T) {
	sweep(t)
	salvageCases(t, func(t *testing.T, s sound, locked bool) {
		for size := range len(s.log) {
			s.check(t, s.log[:size], locked)
		}
		t.Logf("%d truncations", len(s.log))
	})
}

// TestSalvageEveryZeroedWindow zeroes 64 bytes anywhere, also with the header
// gone: with LOCK gone as well, only the frames tell the salt.
func TestSalvageEveryZeroedWindow(t *testing.T) {
	sweep(t)
	for _, lostHeader := range []bool{false, true} {
		t.Run(fmt.Sprintf("header lost %v", lostHeader), func(t *testing.T) {
			salvageCases(t, func(t *testing.T, s sound, locked bool) {
				for at := range len(s.log) {
					damaged := bytes.Clone(s.log)
					if lostHeader {
						clear(damaged[:headerSize])
					}
					clear(damaged[at:min(at+64, len(damaged))])
					s.check(t, damaged, locked)
				}
				t.Logf("%d windows", len(s.log))
			})
		})
	}
}

// TestSalvageOneFrame destroys everything but one frame and, at most, LOCK.
func TestSalvageOneFrame(t *testing.T) {
	salvageCases(t, func(t *testing.T, s sound, locked bool) {
		for _, kept := range s.frames {
			damaged := make([]byte, len(s.log))
			copy(damaged[kept.offset:], s.log[kept.offset:kept.offset+kept.size])
			s.check(t, damaged, locked)
		}
	})
}

// TestSalvageDamagedLock flips every bit of LOCK while the header is lost.
func TestSalvageDamagedLock(t *testing.T) {
	sweep(t)
	s := soundStore(t, true)
	damaged := bytes.Clone(s.log)
	clear(damaged[:headerSize+8])
	lock := s.disk[lockName]
	_, want := s.intact(damaged)
	for bit := range len(lock) * 8 {
		flipped := bytes.Clone(lock)
		flipped[bit/8] ^= 1 << (bit % 8)
		found, _, err := salvage(t, s.disk.with(s.name, damaged).with(lockName, flipped))
		if err != nil || !equal(found, want) {
			t.Fatalf("bit %d: found %v (%v), want %v", bit, found, err, want)
		}
	}
	t.Logf("%d bits", len(lock)*8)
}

// FuzzSalvage damages a log as the input says. Whatever comes out opens, and
// holds nothing that was never written.
func FuzzSalvage(f *testing.F) {
	s := soundStore(f, true)
	var payloads []string
	for _, frame := range s.frames {
		payloads = append(payloads, string(frame.payload))
	}
	f.Add(true, []byte{})
	f.Add(false, []byte{0, 0, 0, 255, 2, 1, 0, 16})
	f.Add(false, []byte{3, 0, 16, 9, 4, 0, 30, 60, 1, 0, 200, 8})
	f.Fuzz(func(t *testing.T, locked bool, mutations []byte) {
		d := s.disk.with(s.name, mutate(s.log, mutations))
		if !locked {
			delete(d, lockName)
		}
		found, report, err := salvage(t, d)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		for key, payload := range found {
			if !slices.Contains(payloads, payload) {
				t.Fatalf("record %v holds %q, which was never written; %+v", key, payload, report)
			}
		}
	})
}

// mutate reads mutations of four bytes: what, where (two bytes), how much.
func mutate(log, mutations []byte) []byte {
	log = bytes.Clone(log)
	for ; len(mutations) >= 4 && len(log) > 0; mutations = mutations[4:] {
		at := (int(mutations[1])<<8 | int(mutations[2])) % len(log)
		amount := min(int(mutations[3]), len(log)-at)
		part := bytes.Clone(log[at : at+amount])
		switch mutations[0] % 6 {
		case 0:
			log[at] ^= mutations[3]
		case 1:
			clear(log[at : at+amount])
		case 2:
			log = log[:at]
		case 3: // cut out, as a lost block
			log = slices.Delete(log, at, at+amount)
		case 4: // written twice
			log = slices.Insert(log, at, part...)
		case 5: // written at the end
			log = append(log, part...)
		}
	}
	return log
}

// TestSeedOf: the seed that is worked out is the one that was used.
func TestSeedOf(t *testing.T) {
	var byTop [256]byte
	for i, entry := range castagnoli {
		byTop[entry>>24] = byte(i)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		seed, data := r.Uint32(), make([]byte, r.IntN(60))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if got := seedOf(crc32.Update(seed, castagnoli, data), data, &byTop); got != seed {
			t.Fatalf("seed %x of %x: got %x", seed, data, got)
		}
	}
}
