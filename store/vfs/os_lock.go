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

// A lock file is opened for writing because some systems give an exclusive lock
// only then, and because flock's default cannot make the file on all of them.
const lockFlags = os.O_CREATE | os.O_RDWR

// Lock opens the file once itself, since flock makes it only when it locks.
func (o osFS) Lock(name string) (Lock, error) {
	l, err := o.newLock(name, lockFlags)
	if err != nil {
		return nil, err
	}
	l.take = l.handle.TryLock
	return l, nil
}

// SharedLock opens for reading alone. That is enough for a shared lock on every
// system, and flock's default would make the file.
func (o osFS) SharedLock(name string) (Lock, error) {
	l, err := o.newLock(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	l.take = l.handle.TryRLock
	return l, nil
}

func (o osFS) newLock(name string, flag int) (*osLock, error) {
	file, err := o.open("lock", name, flag)
	if err != nil {
		return nil, err
	}
	if err := refuseDir(file.(osFile).File); err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	handle := flock.New(o.path(name), flock.SetFlag(flag), flock.SetPermissions(0o600))
	return &osLock{name: name, handle: handle}, nil
}

// osLock owns a flock handle of its own, hence an open file of its own while it
// is locked: that is what makes two handles of one process exclude each other.
type osLock struct {
	name   string
	handle *flock.Flock
	take   func() (bool, error) // the handle's TryLock or TryRLock, never both
	closed bool
}

func (l *osLock) TryLock() (bool, error) {
	if l.closed {
		return false, pathError("lock", l.name, fs.ErrClosed)
	}
	if l.handle.Locked() || l.handle.RLocked() {
		return false, pathError("lock", l.name, errLockHeld)
	}
	return l.take()
}

func (l *osLock) Unlock() error { return l.handle.Unlock() }

// Close leaves the file where it is: removing it would let the next process
// lock a new file of the same name while a third still waits for the old one.
func (l *osLock) Close() error {
	l.closed = true
	return l.handle.Unlock()
}
