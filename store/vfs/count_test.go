package vfs_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

func TestCount(t *testing.T) {
	counter := vfs.Count(vfs.NewMem(0))
	file := create(t, counter, "a", "12345")
	writeAt(t, file, "67", 5)
	_, _ = file.ReadAt(make([]byte, 10), 4) // three bytes, then EOF
	check(t, file.Truncate(6))
	check(t, file.Sync())
	check(t, file.SyncData())
	check(t, counter.SyncDir())
	check(t, counter.Rename("a", "b"))
	again := must(counter.Open("b"))(t)
	must(again.ReadAt(make([]byte, 2), 0))(t)
	must(again.Size())(t)
	check(t, again.Close())
	reader := must(counter.OpenRead("b"))(t)
	must(reader.ReadAt(make([]byte, 4), 0))(t)
	wantRefusals(t, reader) // calls, but no bytes
	check(t, reader.Close())
	check(t, counter.Remove("b"))
	want := vfs.Totals{
		ReadCalls: 3, ReadBytes: 9, WriteCalls: 3, WriteBytes: 7,
		FlushCalls: 5, TruncateCalls: 2, ReplaceCalls: 1,
	}
	if diff := cmp.Diff(want, counter.Totals()); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

// A call counts although it fails; bytes count only when they were written.
func TestCountOfFailedCalls(t *testing.T) {
	faulty := faultfs.New(vfs.NewMem(0))
	counter := vfs.Count(faulty)
	file := create(t, counter, "a", "12345")
	faulty.Inject(faultfs.Fault{Kind: faultfs.Write, Effect: faultfs.Short, Keep: 2})
	if n, err := file.WriteAt([]byte("6789"), 5); n != 2 || err == nil {
		t.Fatalf("WriteAt: %d, %v", n, err)
	}
	faulty.FailFrom(faultfs.Any, 0, nil)
	failed := []error{
		file.Sync(), file.SyncData(), counter.SyncDir(), file.Truncate(0), counter.Rename("a", "b"),
	}
	_, err := file.ReadAt(make([]byte, 3), 0)
	for _, err := range append(failed, err) {
		if !errors.Is(err, faultfs.ErrInjected) {
			t.Errorf("error %v, want %v", err, faultfs.ErrInjected)
		}
	}
	want := vfs.Totals{
		ReadCalls: 1, WriteCalls: 2, WriteBytes: 7, FlushCalls: 3, TruncateCalls: 1, ReplaceCalls: 1,
	}
	if diff := cmp.Diff(want, counter.Totals()); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

func TestCountRefusesFilesOfAnotherCounter(t *testing.T) {
	mem := vfs.NewMem(0)
	file := create(t, vfs.Count(mem), "a", "")
	if same, err := vfs.Count(mem).SameFile("a", file); same || err == nil {
		t.Errorf("SameFile: %v, %v, want an error", same, err)
	}
}

func TestCountFromManyGoroutines(t *testing.T) {
	const goroutines, writes = 8, 500
	counter := vfs.Count(vfs.NewMem(0))
	file := create(t, counter, "a", "")
	var wait sync.WaitGroup
	for i := range goroutines {
		wait.Go(func() {
			for range writes {
				if _, err := file.WriteAt([]byte("abc"), int64(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	want := vfs.Totals{WriteCalls: goroutines * writes, WriteBytes: goroutines * writes * 3}
	if diff := cmp.Diff(want, counter.Totals()); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}
