package faultfs_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

var errCustom = errors.New("custom")

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return value
	}
}

// script makes one call of every kind; it goes on after errors and returns the
// first one.
func script(fsys vfs.FS) error {
	var failed []error
	note := func(err error) {
		if err != nil && err != io.EOF {
			failed = append(failed, err)
		}
	}
	if file, err := fsys.Create("a"); err != nil {
		note(err)
	} else {
		note(useFile(fsys, file))
	}
	note(fsys.Rename("a", "b"))
	if file, err := fsys.Open("b"); err != nil {
		note(err)
	} else {
		note(file.Close())
	}
	if file, err := fsys.OpenRead("b"); err != nil {
		note(err)
	} else {
		note(file.Close())
	}
	_, err := fsys.List()
	note(err)
	note(fsys.SyncDir())
	for _, open := range []func(string) (vfs.Lock, error){fsys.Lock, fsys.SharedLock} {
		if lock, err := open("b"); err != nil {
			note(err)
		} else {
			note(useLock(lock))
		}
	}
	note(fsys.Remove("b"))
	return firstError(failed)
}

func firstError(failed []error) error {
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

func useLock(lock vfs.Lock) error {
	_, err := lock.TryLock()
	return firstError([]error{err, lock.Unlock(), lock.Close()})
}

func useFile(fsys vfs.FS, file vfs.File) error {
	var failed [8]error
	_, failed[0] = file.WriteAt([]byte("abcdef"), 2)
	if _, failed[1] = file.ReadAt(make([]byte, 10), 1); failed[1] == io.EOF {
		failed[1] = nil
	}
	failed[2] = file.Truncate(5)
	failed[3] = file.Sync()
	failed[4] = file.SyncData()
	_, failed[5] = file.Size()
	_, failed[6] = fsys.SameFile("a", file)
	failed[7] = file.Close()
	return firstError(failed[:])
}

func TestLog(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	check(t, script(fsys))
	want := []string{
		"#0 create a",
		"#1 write a [2,8)",
		"#2 read a [1,11): EOF",
		"#3 truncate a to 5",
		"#4 sync a",
		"#5 syncdata a",
		"#6 size a",
		"#7 samefile a",
		"#8 close a",
		"#9 rename a to b",
		"#10 open b",
		"#11 close b",
		"#12 open b",
		"#13 close b",
		"#14 list",
		"#15 syncdir",
		"#16 lock b",
		"#17 trylock b",
		"#18 unlock b",
		"#19 close b",
		"#20 lock b",
		"#21 trylock b",
		"#22 unlock b",
		"#23 close b",
		"#24 remove b",
	}
	var got []string
	for _, op := range fsys.Ops() {
		got = append(got, op.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if fsys.Fired() != 0 {
		t.Errorf("%d faults fired, none was asked for", fsys.Fired())
	}
}

// The loop of the package comment, with every effect: it must reach every call,
// and every fault must be heard of.
func TestSweepReachesEveryCall(t *testing.T) {
	effects := []faultfs.Effect{faultfs.NotDone, faultfs.Short, faultfs.Done, faultfs.Lost}
	for _, effect := range effects {
		kinds := map[faultfs.Kind]bool{}
		n := 0
		for ; ; n++ {
			fsys := faultfs.New(vfs.NewMem(0))
			fsys.Inject(faultfs.Fault{N: n, Err: errCustom, Effect: effect})
			err := script(fsys)
			if fsys.Fired() == 0 {
				check(t, err)
				break
			}
			wantError(t, fmt.Sprintf("effect %d, call %d", effect, n), err, errCustom)
			op := fsys.Ops()[n]
			wantError(t, "the log of "+op.String(), op.Err, errCustom)
			kinds[op.Kind] = true
			if fsys.Fired() != 1 {
				t.Errorf("%d faults fired, want 1", fsys.Fired())
			}
		}
		if n != 25 || len(kinds) != 17 {
			t.Errorf("effect %d reached %d calls of %d kinds, want 25 of 17", effect, n, len(kinds))
		}
	}
}

func TestWhichCallsFail(t *testing.T) {
	tests := []struct {
		name   string
		inject func(fsys *faultfs.FS)
		want   string // a letter per call of the run: ok or failed
	}{
		{"none", func(*faultfs.FS) {}, "......"},
		{"the second write", func(f *faultfs.FS) { f.FailNth(faultfs.Write, 1, nil) }, "..F..."},
		{"writes from the second", func(f *faultfs.FS) { f.FailFrom(faultfs.Write, 1, nil) }, "..F.F."},
		{"both kinds of sync", func(f *faultfs.FS) { f.FailFrom(faultfs.Sync, 0, nil) }, ".F.F.."},
		{"data syncs alone", func(f *faultfs.FS) { f.FailFrom(faultfs.SyncData, 0, nil) }, "...F.."},
		{"any call from the fifth", func(f *faultfs.FS) { f.FailFrom(faultfs.Any, 4, nil) }, "....FF"},
		{"a kind that never comes", func(f *faultfs.FS) { f.FailNth(faultfs.Rename, 0, nil) }, "......"},
		{"too late", func(f *faultfs.FS) { f.FailNth(faultfs.Any, 6, nil) }, "......"},
		{
			"a match", func(f *faultfs.FS) {
				f.Inject(faultfs.Fault{N: 1, Match: func(op faultfs.Op) bool { return op.Length == 3 }})
			}, "....F.",
		},
		{
			"two faults, each counts alone", func(f *faultfs.FS) {
				f.FailNth(faultfs.Write, 0, nil)
				f.FailNth(faultfs.Any, 2, nil)
			}, "F.F...",
		},
		{
			"cleared", func(f *faultfs.FS) {
				f.FailFrom(faultfs.Any, 0, nil)
				f.SetBudget(0)
				f.Clear()
			}, "......",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := faultfs.New(vfs.NewMem(0))
			file := must(fsys.Create("a"))(t)
			test.inject(fsys)
			_, err0 := file.WriteAt([]byte("abc"), 0)
			err1 := file.Sync()
			_, err2 := file.WriteAt([]byte("de"), 3)
			err3 := file.SyncData()
			_, err4 := file.WriteAt([]byte("fgh"), 5)
			_, err5 := file.Size()
			got := ""
			for _, err := range []error{err0, err1, err2, err3, err4, err5} {
				if err == nil {
					got += "."
				} else {
					wantError(t, "fault", err, faultfs.ErrInjected)
					got += "F"
				}
			}
			if got != test.want {
				t.Errorf("calls %s, want %s", got, test.want)
			}
			if want := strings.Count(test.want, "F"); fsys.Fired() != want {
				t.Errorf("Fired says %d, want %d", fsys.Fired(), want)
			}
		})
	}
}

func TestFirstOfTwoFaultsWins(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	fsys.FailNth(faultfs.List, 0, errCustom)
	fsys.FailNth(faultfs.Any, 0, nil)
	_, err := fsys.List()
	wantError(t, "List", err, errCustom)
	if fsys.Fired() != 1 {
		t.Errorf("Fired says %d, want 1", fsys.Fired())
	}
}

func TestBudget(t *testing.T) {
	for budget := range int64(10) {
		mem := vfs.NewMem(0)
		fsys := faultfs.New(mem)
		file := must(fsys.Create("a"))(t)
		fsys.SetBudget(budget)
		written := 0
		for _, part := range []string{"abc", "defg"} {
			n, err := file.WriteAt([]byte(part), int64(written))
			if written += n; n < len(part) {
				wantError(t, "short write", err, syscall.ENOSPC)
			} else {
				check(t, err)
			}
		}
		n, err := file.WriteAt([]byte("x"), 0) // overwriting is charged too
		if want := budget - 7; int64(n) != min(max(want, 0), 1) || (err == nil) != (want > 0) {
			t.Errorf("budget %d: overwriting: %d, %v", budget, n, err)
		}
		if _, err := file.WriteAt(nil, 0); err != nil {
			t.Errorf("budget %d: writing nothing: %v", budget, err)
		}
		check(t, file.Sync())
		want := "abcdefg"[:min(budget, 7)]
		if budget > 7 {
			want = "x" + want[1:]
		}
		if got := string(must(mem.ReadFile("a"))(t)); got != want {
			t.Errorf("budget %d: content %q, want %q", budget, got, want)
		}
		fsys.Clear()
		must(file.WriteAt([]byte("abcdefghijk"), 0))(t)
	}
}

func TestForeignFileIsRefused(t *testing.T) {
	mem := vfs.NewMem(0)
	one, two := faultfs.New(mem), faultfs.New(mem)
	file := must(one.Create("a"))(t)
	if same, err := two.SameFile("a", file); same || err == nil {
		t.Errorf("SameFile: %v, %v, want an error", same, err)
	}
}

func TestLostNeedsADropper(t *testing.T) {
	fsys := faultfs.New(must(vfs.OS(t.TempDir()))(t))
	defer func() {
		if recover() == nil {
			t.Error("Inject did not panic")
		}
	}()
	fsys.Inject(faultfs.Fault{Kind: faultfs.Sync, Effect: faultfs.Lost})
}
