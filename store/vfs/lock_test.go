package vfs_test

import (
	"bufio"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
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

// Shared holders and exclusive ones must never be inside together. Who is kept
// out has its turns when the others have had theirs.
func TestSharedLockUnderContention(t *testing.T) {
	const rounds = 200
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			fsys := implementation.make(t)
			var contest contest
			var wait sync.WaitGroup
			for i := range 8 {
				exclusive := i < 2
				lock := newLock(t, fsys, "L")
				if !exclusive {
					lock = newSharedLock(t, fsys, "L")
				}
				wait.Go(func() {
					for done := 0; done < rounds; {
						taken, err := contest.enter(lock, exclusive)
						if err != nil {
							t.Error(err)
							return
						}
						if taken {
							done++
						}
					}
				})
			}
			wait.Wait()
			if n := contest.broken.Load(); n != 0 {
				t.Errorf("%d times somebody was beside an exclusive holder", n)
			}
			t.Logf("%d times shared holders were together", contest.together.Load())
		})
	}
}

// contest counts who is inside: shared holders as 1, exclusive ones as much more.
type contest struct {
	inside, together, broken atomic.Int64
}

const exclusiveWeight = 1000

func (c *contest) enter(lock vfs.Lock, exclusive bool) (taken bool, err error) {
	taken, err = lock.TryLock()
	if err != nil || !taken {
		runtime.Gosched()
		return false, err
	}
	weight := int64(1)
	if exclusive {
		weight = exclusiveWeight
	}
	switch inside := c.inside.Add(weight); {
	case inside > exclusiveWeight:
		c.broken.Add(1)
	case inside > 1 && inside < exclusiveWeight:
		c.together.Add(1)
	}
	runtime.Gosched() // lets the others try meanwhile
	c.inside.Add(-weight)
	return true, lock.Unlock()
}

// lockDirVariable makes the test binary a process that holds the lock, shared
// when lockSharedVariable is set too.
const (
	lockDirVariable    = "VFS_TEST_LOCK_DIR"
	lockSharedVariable = "VFS_TEST_LOCK_SHARED"
)

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
		open := fsys.Lock
		if os.Getenv(lockSharedVariable) != "" {
			open = fsys.SharedLock
		}
		if lock, err := open("L"); err == nil {
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
	fsys := must(vfs.OS(dir))(t)
	lock, shared := newLock(t, fsys, "L"), newSharedLock(t, fsys, "L")
	kill := startHolder(t, lockDirVariable+"="+dir)
	wantTryLock(t, "exclusive while the child lives", lock, false)
	wantTryLock(t, "shared while the child lives", shared, false)
	kill()
	wantTryLock(t, "after the child was killed", lock, true)
}

func TestSharedLockOfKilledProcessIsFree(t *testing.T) {
	dir := t.TempDir()
	fsys := must(vfs.OS(dir))(t)
	lock, shared := newLock(t, fsys, "L"), newSharedLock(t, fsys, "L")
	kill := startHolder(t, lockDirVariable+"="+dir, lockSharedVariable+"=1")
	wantTryLock(t, "exclusive while the child lives", lock, false)
	wantTryLock(t, "shared while the child lives", shared, true)
	kill()
	wantTryLock(t, "exclusive, the child killed, beside a shared one", lock, false)
	check(t, shared.Unlock())
	wantTryLock(t, "exclusive after both", lock, true)
}

// startHolder returns once the child holds the lock.
func startHolder(t *testing.T, environment ...string) (kill func()) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), environment...)
	input, output := must(child.StdinPipe())(t), must(child.StdoutPipe())(t)
	t.Cleanup(func() { _ = input.Close() }) // Wait has closed it in a good run
	check(t, child.Start())
	answer, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || answer != "locked\n" {
		t.Errorf("child says %q, %v", answer, err)
	}
	return func() {
		t.Helper()
		check(t, child.Process.Kill())
		_ = child.Wait() // it says that the child was killed
	}
}
