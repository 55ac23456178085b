package vfs

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// errLockHeld is a mistake in the caller, see [Lock]. The flock package would
// answer that all is well, and the first of the two owners to unlock would take
// the lock from the other.
var errLockHeld = errors.New("this handle holds the lock already")

// Lock opens the file once itself, since flock makes it only when it locks.
func (o osFS) Lock(name string) (Lock, error) {
	if err := checkName("lock", name); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(o.path(name), lockFlags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	handle := flock.New(o.path(name), flock.SetFlag(lockFlags), flock.SetPermissions(0o600))
	return &osLock{name: name, handle: handle}, nil
}

// A lock file is opened for writing because some systems give an exclusive lock
// only then, and because flock's default cannot make the file on all of them.
const lockFlags = os.O_CREATE | os.O_RDWR

// osLock owns a flock handle of its own, hence an open file of its own while it
// is locked: that is what makes two handles of one process exclude each other.
type osLock struct {
	name   string
	handle *flock.Flock
	closed bool
}

func (l *osLock) TryLock() (bool, error) {
	if l.closed {
		return false, pathError("lock", l.name, fs.ErrClosed)
	}
	if l.handle.Locked() {
		return false, pathError("lock", l.name, errLockHeld)
	}
	return l.handle.TryLock()
}

func (l *osLock) Unlock() error { return l.handle.Unlock() }

// Close leaves the file where it is: removing it would let the next process
// lock a new file of the same name while a third still waits for the old one.
func (l *osLock) Close() error {
	l.closed = true
	return l.handle.Unlock()
}
