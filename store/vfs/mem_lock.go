package vfs

import (
	"errors"
	"io/fs"
)

// Lock implements [FS]. As on a POSIX system the lock belongs to the file, not
// to its name: who locks the name after somebody has removed the file, makes
// and locks another file.
func (m *Mem) Lock(name string) (Lock, error) {
	return m.newLock(&memLock{mem: m, name: name})
}

// SharedLock implements [FS]. The lock belongs to the file, see [Mem.Lock].
func (m *Mem) SharedLock(name string) (Lock, error) {
	return m.newLock(&memLock{mem: m, name: name, shared: true})
}

func (m *Mem) newLock(l *memLock) (Lock, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := l.file(); err != nil {
		return nil, err
	}
	return l, nil
}

type memLock struct {
	mem    *Mem
	name   string
	shared bool
	held   *inode
	closed bool
}

// file returns the file that the name stands for now; an exclusive handle makes
// one that is missing.
func (l *memLock) file() (*inode, error) {
	node, err := l.mem.lookup("lock", l.name)
	if errors.Is(err, fs.ErrNotExist) && !l.shared {
		return l.mem.create(l.name), nil
	}
	return node, err
}

func (l *memLock) TryLock() (bool, error) {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	if l.closed {
		return false, pathError("lock", l.name, fs.ErrClosed)
	}
	if l.held != nil {
		return false, pathError("lock", l.name, errLockHeld)
	}
	node, err := l.file()
	if err != nil || !node.admits(l) {
		return false, err
	}
	l.take(node)
	return true, nil
}

func (n *inode) admits(l *memLock) bool {
	return n.holder == nil && (l.shared || n.sharers == 0)
}

func (l *memLock) take(node *inode) {
	if l.held = node; l.shared {
		node.sharers++
	} else {
		node.holder = l
	}
}

func (l *memLock) Unlock() error {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	l.release()
	return nil
}

func (l *memLock) Close() error {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	l.release()
	l.closed = true
	return nil
}

func (l *memLock) release() {
	if l.held == nil {
		return
	}
	if l.shared {
		l.held.sharers--
	} else {
		l.held.holder = nil
	}
	l.held = nil
}
