package faultfs_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

func TestHooksSurroundEveryCall(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	var events []string
	fsys.Before = func(op faultfs.Op) error {
		events = append(events, fmt.Sprintf("before %d, in log %d", op.Index, len(fsys.Ops())))
		return nil
	}
	fsys.After = func(op faultfs.Op) {
		logged := fsys.Ops()[op.Index]
		if logged.String() != op.String() {
			t.Errorf("After gets %v, the log has %v", op, logged)
		}
		events = append(events, fmt.Sprintf("after %d", op.Index))
	}
	check(t, script(fsys))
	var want []string
	for i := range fsys.Ops() {
		want = append(want, fmt.Sprintf("before %d, in log %d", i, i+1), fmt.Sprintf("after %d", i))
	}
	if diff := cmp.Diff(want, events); diff != "" || len(events) != 50 {
		t.Errorf("%d events (-want +got):\n%s", len(events), diff)
	}
}

func TestBeforeRefuses(t *testing.T) {
	mem := vfs.NewMem(0)
	fsys := faultfs.New(mem)
	fsys.Before = func(op faultfs.Op) error {
		if op.Kind == faultfs.Create {
			return errCustom
		}
		return nil
	}
	_, err := fsys.Create("a")
	wantError(t, "Create", err, errCustom)
	if names := mem.Names(); len(names) != 0 || fsys.Fired() != 1 {
		t.Errorf("names %q, %d fired; want none, 1", names, fsys.Fired())
	}
}

// replace gives name new content so that a crash leaves the old or the new.
// The test leaves single steps out.
func replace(fsys vfs.FS, content string, skip faultfs.Kind) error {
	file, err := fsys.Create("tmp")
	if err != nil {
		return err
	}
	if _, err := file.WriteAt([]byte(content), 0); err != nil {
		return err
	}
	if skip != faultfs.Sync {
		if err := file.Sync(); err != nil {
			return err
		}
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := fsys.Rename("tmp", "f"); err != nil {
		return err
	}
	if skip == faultfs.SyncDir {
		return nil
	}
	return fsys.SyncDir()
}

// The harness has to see what it is for: with every step there is the old
// content or the new one in each image, and the new one at the end; without one
// of the syncs there is not.
func TestCrashAtEveryCall(t *testing.T) {
	tests := []struct {
		skip       faultfs.Kind
		torn, lost bool
	}{
		{skip: faultfs.Any},
		{skip: faultfs.Sync, torn: true, lost: true},
		{skip: faultfs.SyncDir, lost: true},
	}
	for _, test := range tests {
		mem := vfs.NewMem(4)
		check(t, mem.WriteFile("f", []byte("old")))
		fsys := faultfs.New(mem)
		images, torn := 0, false
		look := func() {
			for image := range mem.CrashImages() {
				content, err := image.ReadFile("f")
				images++
				torn = torn || err != nil || string(content) != "old" && string(content) != "new content"
			}
		}
		fsys.Before = func(faultfs.Op) error { look(); return nil }
		fsys.After = func(faultfs.Op) { look() }
		check(t, replace(fsys, "new content", test.skip))
		lost := false
		for image := range mem.CrashImages() {
			content := must(image.ReadFile("f"))(t)
			lost = lost || string(content) != "new content"
		}
		if torn != test.torn || lost != test.lost {
			t.Errorf("without %q: torn %v, lost %v; want %v, %v", test.skip, torn, lost, test.torn, test.lost)
		}
		t.Logf("without %q: %d images looked at", test.skip, images)
	}
}

func TestKill(t *testing.T) {
	mem := vfs.NewMem(0)
	fsys := faultfs.New(mem)
	file, lock := must(fsys.Create("a"))(t), must(fsys.Lock("L"))(t)
	other := must(mem.Lock("L"))(t)
	must(file.WriteAt([]byte("abc"), 0))(t)
	must(lock.TryLock())(t)
	fsys.Kill()
	wantFree(t, other)
	wantError(t, "script", script(fsys), faultfs.ErrKilled)
	_, err := file.WriteAt([]byte("x"), 0)
	wantError(t, "WriteAt", err, faultfs.ErrKilled)
	_, err = lock.TryLock()
	wantError(t, "TryLock", err, faultfs.ErrKilled)
	wantError(t, "Close", file.Close(), faultfs.ErrKilled)
	wantError(t, "Close of the lock", lock.Close(), faultfs.ErrKilled)
	if got := disk(mem); got != "L= a=abc" {
		t.Errorf("left behind: %q", got)
	}
	if fsys.Fired() != 0 {
		t.Errorf("%d faults fired; being killed is none", fsys.Fired())
	}
	fsys.Kill() // twice is no harm
}

func TestKillClosesWhatIsOpen(t *testing.T) {
	recorder := &recordingFS{FS: vfs.NewMem(0)}
	fsys := faultfs.New(recorder)
	must(fsys.Create("a"))(t)
	closed := must(fsys.Open("a"))(t)
	must(fsys.OpenRead("a"))(t)
	must(fsys.Lock("L"))(t)
	must(fsys.SharedLock("L"))(t)
	check(t, closed.Close())
	fsys.Kill()
	recorder.wantClosedOnce(t, 5)
}

// A process that is stopped at a call, and killed there, must not make it.
func TestKillWhileACallWaits(t *testing.T) {
	mem := vfs.NewMem(0)
	fsys := faultfs.New(mem)
	file := must(fsys.Create("a"))(t)
	reached, release := make(chan struct{}), make(chan struct{})
	fsys.Before = func(faultfs.Op) error {
		close(reached)
		<-release
		return nil
	}
	result := make(chan error)
	go func() {
		_, err := file.WriteAt([]byte("abc"), 0)
		result <- err
	}()
	<-reached
	fsys.Kill()
	close(release)
	wantError(t, "WriteAt", <-result, faultfs.ErrKilled)
	if got := disk(mem); got != "a=" {
		t.Errorf("left behind: %q", got)
	}
}

// Faults, budget, kill and the log from many goroutines, for the race detector;
// each call must be in the log once, under its own index.
func TestManyGoroutines(t *testing.T) {
	const goroutines, calls = 8, 200
	fsys := faultfs.New(must(vfs.OS(t.TempDir()))(t))
	file := must(fsys.Create("a"))(t)
	fsys.FailNth(faultfs.Write, 700, nil)
	var wait sync.WaitGroup
	for i := range goroutines {
		wait.Go(func() {
			lock, err := fsys.Lock("L")
			if err != nil {
				t.Error(err)
				return
			}
			for range calls {
				_, _ = file.WriteAt([]byte("x"), int64(i)) // one of all fails
				if _, err := lock.TryLock(); err != nil {
					t.Error(err)
				}
				if err := lock.Unlock(); err != nil {
					t.Error(err)
				}
			}
			_ = lock.Close()
		})
	}
	wait.Wait()
	fsys.Kill()
	ops := fsys.Ops()
	for i, op := range ops {
		if op.Index != i {
			t.Fatalf("operation %d has index %d", i, op.Index)
		}
	}
	if want := 1 + goroutines*(2+3*calls); len(ops) != want || fsys.Fired() != 1 {
		t.Errorf("%d calls, %d faults; want %d, 1", len(ops), fsys.Fired(), want)
	}
}
