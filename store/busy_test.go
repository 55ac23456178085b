package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.com/convmem/store/vfs"
)

// counted makes one change that nobody can tear apart: a message that carries
// the number of the change, and the number in the record 0. It returns the
// number.
func counted(l *Log, removes int) (number uint64, err error) {
	err = l.Update(context.Background(), func(tx *Tx) error {
		last, err := tx.Get(id(0))
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		number = 1
		if err == nil {
			number = binary.BigEndian.Uint64(last) + 1
		}
		tx.Put(id(0), binary.BigEndian.AppendUint64(nil, number))
		tx.Put(id(int(number)), binary.BigEndian.AppendUint64(nil, number))
		if old := int(number) - removes; old > 0 {
			tx.Delete(id(old))
		}
		return nil
	})
	return number, err
}

// prefix checks that what was found is the state after some number of counted
// changes, and returns the number.
func prefix(found contents, removes int) (number uint64, err error) {
	if len(found) == 0 {
		return 0, nil
	}
	number = binary.BigEndian.Uint64([]byte(found[id(0)]))
	want := contents{id(0): found[id(0)]}
	for n := max(1, int(number)-removes+1); n <= int(number); n++ {
		want[id(n)] = string(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	if !equal(want, found) {
		return 0, fmt.Errorf("%d records, and the last change was number %d: not a state that was", len(found), number)
	}
	return number, nil
}

const livingRecords = 40

// busyStore has two processes that write and one that rebuilds and saves
// snapshots, until the work of a fourth one is done.
func busyStore(t *testing.T, work func(l *Log, acknowledged func() uint64)) {
	t.Helper()
	disk := vfs.NewMem(0)
	done := make(chan struct{})
	var group sync.WaitGroup
	var mu sync.Mutex
	var last uint64
	patient := func() *Log {
		o := testOptions()
		o.LockWait = time.Minute
		return opened(t, disk, o)
	}
	worker := patient()
	repeat := func(l *Log, do func() error) {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := do(); err != nil {
					t.Errorf("beside it: %v", err)
					return
				}
			}
		})
	}
	for range 2 {
		l := patient()
		repeat(l, func() error {
			number, err := counted(l, livingRecords)
			mu.Lock()
			defer mu.Unlock()
			last = max(last, number)
			return err
		})
	}
	l := patient()
	repeat(l, func() error {
		if err := snapshotting().do(&script{log: l}); err != nil {
			return err
		}
		_, err := l.Rebuild(context.Background())
		return err
	})
	defer group.Wait()
	defer close(done)
	work(worker, func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return last
	})
}

// Verify gives no false alarm while others write, rebuild and save snapshots.
func TestVerifyInABusyStore(t *testing.T) {
	busyStore(t, func(l *Log, acknowledged func() uint64) {
		states := map[SnapshotState]int{}
		for n := 0; n < 60 || l.gen.header.generation < 6 || acknowledged() < 200; n++ {
			stats, err := verify(l)
			if err != nil || stats.Snapshot == SnapshotBad {
				t.Errorf("a false alarm: %+v, %v", stats, err)
				break
			}
			states[stats.Snapshot]++
		}
		t.Logf("%d changes, %d rebuilds, snapshots %v", acknowledged(), l.gen.header.generation, states)
	})
}

// A backup is the state after some change, at least as new as the last one that
// was acknowledged before.
func TestBackupInABusyStore(t *testing.T) {
	busyStore(t, func(l *Log, acknowledged func() uint64) {
		ahead := 0
		for n := 0; n < 40 || l.gen.header.generation < 4 || acknowledged() < 200; n++ {
			before, to := acknowledged(), vfs.NewMem(0)
			if err := backup(l, to); err != nil {
				t.Error(err)
				break
			}
			found, err := contentsOf(to)
			if err != nil {
				t.Error(err)
				break
			}
			number, err := prefix(found, livingRecords)
			if err != nil || number < before {
				t.Errorf("the copy has change %d, %d were acknowledged before: %v", number, before, err)
				break
			}
			if number > before {
				ahead++
			}
		}
		t.Logf("%d changes, %d rebuilds, %d backups newer than what was acknowledged", acknowledged(), l.gen.header.generation, ahead)
	})
}
