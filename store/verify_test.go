package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

// Check implements [Checker].
func (m *mirror) Check(fresh Sink) error {
	if !equal(m.held, fresh.(*mirror).held) {
		return fmt.Errorf("%d records, %d in a fresh one", len(m.held), len(fresh.(*mirror).held))
	}
	return nil
}

func verify(l *Log) (VerifyStats, error) { return l.Verify(context.Background(), nil) }

// verified is a small store that has been through everything, open, with a
// snapshot that does not cover the end.
func verified(t *testing.T) (*vfs.Mem, *Log) {
	t.Helper()
	disk := vfs.NewMem(0)
	l := opened(t, disk, testOptions())
	for i := range 12 {
		mustUpdate(t, l, put(i+1, fmt.Sprintf("message number %d", i+1)))
	}
	mustUpdate(t, l, put(3, "changed"), remove(4), put(20, strings.Repeat("long ", 40)))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = opened(t, disk, testOptions())
	saveNow(t, l)
	mustUpdate(t, l, put(21, "behind the snapshot"), remove(5), put(1, "one, changed"))
	return disk, l
}

func opened(t *testing.T, fsys vfs.FS, o Options) *Log {
	t.Helper()
	l, err := Open(context.Background(), fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func mustUpdate(t *testing.T, l *Log, changes ...change) {
	t.Helper()
	if err := update(l, changes...); err != nil {
		t.Fatal(err)
	}
}

// flip turns one bit of a file over.
func flip(t *testing.T, disk *vfs.Mem, name string, bit int) {
	t.Helper()
	b, err := disk.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := disk.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt([]byte{b[bit/8] ^ 1<<(bit%8)}, int64(bit/8))
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyOfAGoodStore(t *testing.T) {
	disk, l := verified(t)
	before := snapshot(t, disk)
	writes := l.Stats().IO.WriteCalls
	var told [][2]int64
	stats, err := l.Verify(context.Background(), func(done, total int64) { told = append(told, [2]int64{done, total}) })
	if err != nil {
		t.Fatal(err)
	}
	size := l.Stats().LogSize
	want := VerifyStats{Frames: 19, Records: 12, Bytes: size, Snapshot: SnapshotGood}
	if diff := cmp.Diff(want, stats); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][2]int64{{size, size}}, told); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	untouched(t, disk, before)
	if n := l.Stats().IO.WriteCalls - writes; n != 0 {
		t.Errorf("%d writes", n)
	}
}

// Snapshots whose checksums are right, and which are wrong all the same.
func TestVerifyComparesTheSnapshot(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*snapshotHeader, *table)
		want   SnapshotState
	}{
		"as it was":           {func(*snapshotHeader, *table) {}, SnapshotGood},
		"chain":               {func(h *snapshotHeader, _ *table) { h.covered.chain++ }, SnapshotBad},
		"seq":                 {func(h *snapshotHeader, _ *table) { h.covered.seq++ }, SnapshotBad},
		"kind of last frame":  {func(h *snapshotHeader, _ *table) { h.lastKind++ }, SnapshotBad},
		"last id":             {func(h *snapshotHeader, _ *table) { h.lastID[3]++ }, SnapshotBad},
		"counts":              {func(h *snapshotHeader, _ *table) { h.counts.updates++ }, SnapshotBad},
		"between two frames":  {func(h *snapshotHeader, _ *table) { h.covered.offset += 8 }, SnapshotBad},
		"another file id":     {func(h *snapshotHeader, _ *table) { h.fileID[0]++ }, SnapshotForeign},
		"another generation":  {func(h *snapshotHeader, _ *table) { h.generation++ }, SnapshotForeign},
		"a record elsewhere":  {func(_ *snapshotHeader, t *table) { swapRecords(t, id(2), id(3)) }, SnapshotBad},
		"another record":      {func(_ *snapshotHeader, t *table) { at, _ := t.remove(id(2)); t.put(id(50), at) }, SnapshotBad},
		"a record is missing": {func(h *snapshotHeader, t *table) { at, _ := t.remove(id(2)); h.counts.liveBytes -= at.size }, SnapshotBad},
	} {
		t.Run(name, func(t *testing.T) {
			disk, l := verified(t)
			file, err := disk.Open(snapshotName)
			if err != nil {
				t.Fatal(err)
			}
			s, err := readSnapshot(file)
			if err != nil {
				t.Fatal(err)
			}
			records, err := s.table()
			if err != nil {
				t.Fatal(err)
			}
			tt.change(&s.header, records)
			if err := file.Truncate(0); err != nil {
				t.Fatal(err)
			}
			if _, err := writeSnapshot(file, s.header, []Section{records.freeze().section()}); err != nil {
				t.Fatal(err)
			}
			if stats, err := verify(l); err != nil || stats.Snapshot != tt.want {
				t.Errorf("%q (%v), want %q, %v", stats.Snapshot, stats.SnapshotError, tt.want, err)
			}
		})
	}
}

// Sections that only the sink knows are checked too.
func TestVerifyChecksEverySection(t *testing.T) {
	disk, l := verified(t)
	edit(t, disk, snapshotName, func(f vfs.File) error {
		s, err := readSnapshot(f)
		if err != nil {
			return err
		}
		records, err := s.table()
		if err != nil {
			return err
		}
		_, err = writeSnapshot(f, s.header, []Section{literal("a", 1, "content"), records.freeze().section()})
		return err
	})
	if stats, err := verify(l); err != nil || stats.Snapshot != SnapshotGood {
		t.Fatalf("%+v, %v", stats, err)
	}
	flip(t, disk, snapshotName, snapshotHeaderSize*8)
	if stats, err := verify(l); err != nil || stats.Snapshot != SnapshotBad {
		t.Errorf("%+v, %v", stats, err)
	}
}

func swapRecords(t *table, a, b ulid.ULID) {
	first, _ := t.get(a)
	second, _ := t.put(b, first)
	t.put(a, second)
}

func TestVerifyWithoutSnapshot(t *testing.T) {
	disk, l := verified(t)
	if err := disk.WriteFile(snapshotName, nil); err != nil {
		t.Fatal(err)
	}
	if stats, err := verify(l); err != nil || stats.Snapshot != SnapshotNone {
		t.Errorf("an empty file: %q, %v", stats.Snapshot, err)
	}
	if err := disk.Remove(snapshotName); err != nil {
		t.Fatal(err)
	}
	if stats, err := verify(l); err != nil || stats.Snapshot != SnapshotNone {
		t.Errorf("no file: %q, %v", stats.Snapshot, err)
	}
}

// TestVerifyComparesMemory changes what is in memory, while the disk is right.
func TestVerifyComparesMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*generation)
		reason string
	}{
		"a record elsewhere":    {func(g *generation) { swapRecords(g.table, id(2), id(3)) }, "record table"},
		"a record missing":      {func(g *generation) { g.table.remove(id(2)) }, "record table"},
		"a record too many":     {func(g *generation) { g.table.put(id(50), location{headerSize, 64}) }, "record table"},
		"counts":                {func(g *generation) { g.counts.deletes++ }, "counters"},
		"last id":               {func(g *generation) { g.lastID[2]++ }, "counters"},
		"sequence number":       {func(g *generation) { g.end.seq++ }, "made durable"},
		"the sink lost one":     {func(g *generation) { delete(g.sink.(*mirror).held, id(2)) }, "derived"},
		"the sink knows better": {func(g *generation) { g.sink.(*mirror).held[id(2)] = "better" }, "derived"},
	} {
		t.Run(name, func(t *testing.T) {
			_, l := verified(t)
			tt.change(l.gen)
			stats, err := verify(l)
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), tt.reason) || stats.DamageCount == 0 {
				t.Errorf("%d damaged: %v, want %q", stats.DamageCount, err, tt.reason)
			}
		})
	}
}

// Whatever way the log is open, it can be verified, until it is closed.
func TestVerifyInEveryMode(t *testing.T) {
	disk, l := verified(t)
	if _, err := l.Rebuild(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustUpdate(t, l, put(30, "after the rebuild"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"default":   func(*Options) {},
		"exclusive": func(o *Options) { o.Exclusive = true },
		"read only": func(o *Options) { o.ReadOnly = true },
	} {
		o := testOptions()
		change(&o)
		l, err := Open(context.Background(), disk, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if stats, err := verify(l); err != nil || stats.Records != 13 || stats.Snapshot != SnapshotGood {
			t.Errorf("%s: %+v, %v", name, stats, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := verify(l); !errors.Is(err, ErrClosed) {
			t.Errorf("%s, closed: %v", name, err)
		}
	}
}

// A failed sync ends writing, and says nothing against what was durable before.
func TestVerifyAfterAFailedSync(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	l := opened(t, fsys, testOptions())
	mustUpdate(t, l, put(1, "one"))
	fsys.Inject(faultfs.Fault{Kind: faultfs.Sync, Effect: faultfs.Lost})
	if err := update(l, put(2, "two")); !errors.Is(err, ErrPoisoned) {
		t.Fatal(err)
	}
	if stats, err := verify(l); err != nil || stats.Records != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	if !errors.Is(l.Stats().LastError, ErrPoisoned) {
		t.Errorf("health says %v", l.Stats().LastError)
	}
}

// TestVerifyMeetsFailures makes every operation of a Verify fail: no failed
// operation passes for damage, and only one of the snapshot goes unmentioned by
// the error.
func TestVerifyMeetsFailures(t *testing.T) {
	disk, l := verified(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		fsys := faultfs.New(disk)
		l, err := openTest(fsys)
		if err != nil {
			t.Fatal(err)
		}
		fsys.FailNth(faultfs.Any, n, faultfs.ErrInjected)
		stats, err := verify(l)
		fired := fsys.Fired() > 0
		op := failed(fsys)
		fsys.Clear()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		switch {
		case !fired && err == nil:
			t.Logf("%d operations", n)
			return
		case errors.Is(err, ErrCorrupt), err == nil && stats.Snapshot != SnapshotBad && !harmless(op):
			t.Errorf("operation %d (%s): %+v, %v", n, op, stats, err)
		}
	}
}

// harmless: closing a file that was read, and a last look at the snapshot.
func harmless(op string) bool {
	return slices.ContainsFunc([]string{"close", "size convmem.snap"}, func(s string) bool { return strings.Contains(op, s) })
}

// The end of the context ends a Verify, and what it found until then is told.
func TestVerifyIsCancelled(t *testing.T) {
	disk := vfs.NewMem(0)
	l := opened(t, disk, testOptions())
	for i := range 3 {
		mustUpdate(t, l, put(i+1, strings.Repeat("x", 1<<20)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var told [][2]int64
	stats, err := l.Verify(ctx, func(done, total int64) {
		told = append(told, [2]int64{done, total})
		cancel()
	})
	if !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) || stats.Frames != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	size := l.Stats().LogSize
	if len(told) != 1 || told[0][1] != size {
		t.Errorf("progress %v", told)
	}
	told = nil
	if _, err := l.Verify(context.Background(), func(done, total int64) { told = append(told, [2]int64{done, total}) }); err != nil {
		t.Fatal(err)
	}
	if len(told) != 3 || !slices.IsSortedFunc(told, func(a, b [2]int64) int { return int(a[0] - b[0]) }) || told[2] != [2]int64{size, size} {
		t.Errorf("progress %v of %d bytes", told, size)
	}
	flip(t, disk, l.gen.name, (headerSize+frameHeaderSize)*8)
	ctx, cancel = context.WithCancel(context.Background())
	if _, err := l.Verify(ctx, func(int64, int64) { cancel() }); !errors.Is(err, ErrCorrupt) || !errors.Is(err, ErrBusy) {
		t.Errorf("cancelled after damage: %v", err)
	}
}
