package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// meanwhile lets another process do something before the n-th operation of what do
// does with a log. It reports whether there was an n-th operation.
func meanwhile(t *testing.T, n int, other func(peer *Log) error, do func(l *Log) error) bool {
	t.Helper()
	disk, l := verified(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	fsys := faultfs.New(disk)
	l, peer := opened(t, fsys, testOptions()), opened(t, disk, testOptions())
	seen, when := 0, "none"
	fsys.Before = func(op faultfs.Op) error {
		if seen == n {
			when = op.String()
			if err := other(peer); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		seen++
		return nil
	}
	if err := do(l); err != nil {
		t.Errorf("operation %d (%s): %v", n, when, err)
	}
	fsys.Before = nil
	return seen > n
}

func rebuildNow(l *Log) error {
	_, err := l.Rebuild(context.Background())
	return err
}

// TestVerifyWhileTheLogGrows has a change made, and a snapshot that covers it,
// before every single operation of a Verify.
func TestVerifyWhileTheLogGrows(t *testing.T) {
	n := 0
	grow := func(peer *Log) error {
		return errors.Join(update(peer, put(50, "meanwhile")), snapshotting().do(&script{log: peer}))
	}
	for ; meanwhile(t, n, grow, func(l *Log) error {
		stats, err := verify(l)
		if err == nil && (stats.Records < 12 || stats.Snapshot != SnapshotGood || l.Stats().LastError != nil) {
			err = fmt.Errorf("%+v, health says %w", stats, l.Stats().LastError)
		}
		return err
	}); n++ {
	}
	t.Logf("%d operations", n)
}

// TestVerifyWhileTheLogIsReplaced has the log replaced, and its bytes taken away,
// before every single operation of a Verify.
func TestVerifyWhileTheLogIsReplaced(t *testing.T) {
	n := 0
	for ; meanwhile(t, n, rebuildNow, func(l *Log) error {
		stats, err := verify(l)
		if err == nil && (stats.Records != 12 || stats.Snapshot == SnapshotBad || l.Stats().LastError != nil) {
			err = fmt.Errorf("%+v, health says %w", stats, l.Stats().LastError)
		}
		return err
	}); n++ {
	}
	t.Logf("%d operations", n)
}

// TestBackupWhileTheLogIsReplaced is the same for a Backup.
func TestBackupWhileTheLogIsReplaced(t *testing.T) {
	n := 0
	for ; meanwhile(t, n, rebuildNow, func(l *Log) error {
		to := vfs.NewMem(0)
		if err := backup(l, to); err != nil {
			return err
		}
		theCopy(t, to, l)
		return nil
	}); n++ {
	}
	t.Logf("%d operations", n)
}

// The log of an exclusive process is replaced by nobody but itself, and LOCK is
// not asked.
func TestVerifyAndBackupBesideARebuildOfTheSameLog(t *testing.T) {
	o := testOptions()
	o.Exclusive = true
	l := opened(t, vfs.NewMem(0), o)
	for i := range 3 {
		mustUpdate(t, l, put(i+1, strings.Repeat("x", 1<<20)))
	}
	rebuild := func() {
		if _, err := l.Rebuild(context.Background()); err != nil {
			t.Error(err)
		}
	}
	told := 0
	stats, err := l.Verify(context.Background(), func(done, total int64) {
		if told++; told == 1 {
			rebuild()
		}
	})
	if err != nil || stats.Records != 3 || l.gen.header.generation != 2 || told < 4 {
		t.Errorf("%+v, %v, generation %d, %d calls of progress", stats, err, l.gen.header.generation, told)
	}
	to := vfs.NewMem(0)
	fsys := faultfs.New(to)
	writes := 0
	fsys.Before = func(op faultfs.Op) error {
		if op.Kind == faultfs.Write {
			if writes++; writes == 1 {
				rebuild()
			}
		}
		return nil
	}
	if err := backup(l, fsys); err != nil || l.gen.header.generation != 3 || writes < 5 {
		t.Fatalf("%v, generation %d, %d writes", err, l.gen.header.generation, writes)
	}
	theCopy(t, to, l)
}

// What another process does to the files after Close is no damage.
func TestVerifyIsClosedUnderway(t *testing.T) {
	disk := vfs.NewMem(0)
	l := opened(t, disk, testOptions())
	for i := range 3 {
		mustUpdate(t, l, put(i+1, strings.Repeat("x", 1<<20)))
	}
	_, err := l.Verify(context.Background(), func(int64, int64) {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := opened(t, disk, testOptions()).Rebuild(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, ErrClosed) || errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}
