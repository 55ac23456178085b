package vfs_test

import (
	"bufio"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/convmem/store/vfs"
)

func newLock(t *testing.T, fsys vfs.FS, name string) vfs.Lock {
	t.Helper()
	lock := must(fsys.Lock(name))(t)
	t.Cleanup(func() { _ = lock.Close() })
	return lock
}

func wantTryLock(t *testing.T, what string, lock vfs.Lock, want bool) {
	t.Helper()
	if got := must(lock.TryLock())(t); got != want {
		t.Errorf("%s: TryLock says %v, want %v", what, got, want)
	}
}

func testLockExcludes(t *testing.T, fsys vfs.FS) {
	one, two, other := newLock(t, fsys, "L"), newLock(t, fsys, "L"), newLock(t, fsys, "M")
	wantNames(t, fsys, "L", "M")
	wantTryLock(t, "first handle", one, true)
	wantTryLock(t, "second handle", two, false)
	wantTryLock(t, "other name", other, true)
	check(t, two.Unlock())
	wantTryLock(t, "after the loser's unlock", two, false)
	check(t, one.Unlock())
	wantTryLock(t, "after unlock", two, true)
	wantTryLock(t, "the first again", one, false)
}

func testLockAgain(t *testing.T, fsys vfs.FS) {
	one, two := newLock(t, fsys, "L"), newLock(t, fsys, "L")
	wantTryLock(t, "first handle", one, true)
	if taken, err := one.TryLock(); taken || err == nil {
		t.Errorf("TryLock while held: %v, %v, want an error", taken, err)
	}
	wantTryLock(t, "second handle after the refusal", two, false)
	check(t, one.Unlock())
	check(t, one.Unlock())
	wantTryLock(t, "second handle after unlock", two, true)
	check(t, one.Unlock())
	wantTryLock(t, "first handle after an unlock too many", one, false)
}

func testLockClose(t *testing.T, fsys vfs.FS) {
	one, two := newLock(t, fsys, "L"), newLock(t, fsys, "L")
	wantTryLock(t, "first handle", one, true)
	check(t, one.Close())
	wantNames(t, fsys, "L")
	_, err := one.TryLock()
	wantError(t, "TryLock after Close", err, fs.ErrClosed)
	wantTryLock(t, "second handle", two, true)
	check(t, one.Close())
	wantTryLock(t, "third handle", newLock(t, fsys, "L"), false)
}

// The lock must hold between goroutines that have a handle each, however they
// are scheduled.
func TestLockUnderContention(t *testing.T) {
	const goroutines, rounds = 8, 200
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			fsys := implementation.make(t)
			var inside atomic.Int32
			var wait sync.WaitGroup
			for range goroutines {
				lock := newLock(t, fsys, "L")
				wait.Go(func() {
					for done := 0; done < rounds; {
						taken, err := lock.TryLock()
						if err != nil {
							t.Error(err)
							return
						}
						if !taken {
							continue
						}
						if n := inside.Add(1); n != 1 {
							t.Errorf("%d holders at once", n)
						}
						inside.Add(-1)
						done++
						if err := lock.Unlock(); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wait.Wait()
		})
	}
}

// lockDirVariable makes the test binary a process that holds the lock.
const lockDirVariable = "VFS_TEST_LOCK_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(lockDirVariable); dir != "" {
		holdLock(dir)
	}
	os.Exit(m.Run())
}

// holdLock reports on standard output and then waits to be killed.
func holdLock(dir string) {
	answer := "failed\n"
	if fsys, err := vfs.OS(dir); err == nil {
		if lock, err := fsys.Lock("L"); err == nil {
			if taken, err := lock.TryLock(); err == nil && taken {
				answer = "locked\n"
			}
		}
	}
	_, _ = os.Stdout.WriteString(answer)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

func TestLockOfKilledProcessIsFree(t *testing.T) {
	dir := t.TempDir()
	lock := newLock(t, must(vfs.OS(dir))(t), "L")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), lockDirVariable+"="+dir)
	input, output := must(child.StdinPipe())(t), must(child.StdoutPipe())(t)
	defer input.Close()
	check(t, child.Start())
	answer, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || answer != "locked\n" {
		t.Errorf("child says %q, %v", answer, err)
	}
	wantTryLock(t, "while the child lives", lock, false)
	check(t, child.Process.Kill())
	_ = child.Wait() // it says that the child was killed
	wantTryLock(t, "after the child was killed", lock, true)
}
