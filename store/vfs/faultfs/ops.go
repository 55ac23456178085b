package faultfs

import (
	"fmt"

	"example.com/convmem/store/vfs"
)

// Create implements [vfs.FS].
func (f *FS) Create(name string) (vfs.File, error) {
	return f.openFile(Op{Kind: Create, Name: name}, f.inner.Create)
}

// Open implements [vfs.FS].
func (f *FS) Open(name string) (vfs.File, error) {
	return f.openFile(Op{Kind: Open, Name: name}, f.inner.Open)
}

// OpenRead implements [vfs.FS]. It is an Op of the kind Open.
func (f *FS) OpenRead(name string) (vfs.File, error) {
	return f.openFile(Op{Kind: Open, Name: name}, f.inner.OpenRead)
}

func (f *FS) openFile(op Op, open func(string) (vfs.File, error)) (vfs.File, error) {
	var inner vfs.File
	err := f.do(call{op: op, whole: func() (err error) {
		if inner, err = open(op.Name); err == nil {
			f.keepOpen(inner)
		}
		return err
	}})
	if err == nil {
		return &file{fs: f, name: op.Name, inner: inner}, nil
	}
	if inner != nil {
		_ = f.release(inner) // the fault is the error to report
	}
	return nil, err
}

// Rename implements [vfs.FS].
func (f *FS) Rename(oldName, newName string) error {
	return f.do(call{
		op:    Op{Kind: Rename, Name: oldName, NewName: newName},
		whole: func() error { return f.inner.Rename(oldName, newName) },
	})
}

// Remove implements [vfs.FS].
func (f *FS) Remove(name string) error {
	return f.do(call{
		op:    Op{Kind: Remove, Name: name},
		whole: func() error { return f.inner.Remove(name) },
	})
}

// List implements [vfs.FS].
func (f *FS) List() (names []string, err error) {
	err = f.do(call{op: Op{Kind: List}, whole: func() (err error) {
		names, err = f.inner.List()
		return err
	}})
	if err != nil {
		return nil, err
	}
	return names, nil
}

// SyncDir implements [vfs.FS].
func (f *FS) SyncDir() error {
	return f.do(call{
		op:    Op{Kind: SyncDir},
		whole: f.inner.SyncDir,
		lose:  func() { f.inner.(vfs.Dropper).DropUnsynced() },
	})
}

// SameFile implements [vfs.FS]. The file must come from this FS.
func (f *FS) SameFile(name string, other vfs.File) (same bool, err error) {
	opened, ok := other.(*file)
	if !ok || opened.fs != f {
		return false, fmt.Errorf("faultfs: samefile %s: the file was opened by another file system", name)
	}
	err = f.do(call{op: Op{Kind: SameFile, Name: name}, whole: func() (err error) {
		same, err = f.inner.SameFile(name, opened.inner)
		return err
	}})
	return same && err == nil, err
}

// file is an open file of an FS.
type file struct {
	fs    *FS
	name  string
	inner vfs.File
}

func (f *file) op(kind Kind, offset, length int64) Op {
	return Op{Kind: kind, Name: f.name, Offset: offset, Length: length}
}

func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.fs.do(call{op: f.op(Read, off, int64(len(p))), whole: func() (err error) {
		n, err = f.inner.ReadAt(p, off)
		return err
	}})
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.fs.do(call{
		op: f.op(Write, off, int64(len(p))),
		whole: func() (err error) {
			n, err = f.inner.WriteAt(p, off)
			return err
		},
		// Should the inner write fail as well, n says how far it came.
		short: func(keep int) { n, _ = f.inner.WriteAt(p[:min(keep, len(p))], off) },
	})
	return n, err
}

func (f *file) Truncate(size int64) error {
	return f.fs.do(call{
		op:    f.op(Truncate, 0, size),
		whole: func() error { return f.inner.Truncate(size) },
	})
}

func (f *file) Sync() error {
	return f.fs.do(call{op: f.op(Sync, 0, 0), whole: f.inner.Sync, lose: f.lose})
}

func (f *file) SyncData() error {
	return f.fs.do(call{op: f.op(SyncData, 0, 0), whole: f.inner.SyncData, lose: f.lose})
}

// lose is called only when Inject has found the inner file system able to.
func (f *file) lose() { f.inner.(vfs.Dropper).DropUnsynced() }

func (f *file) Size() (size int64, err error) {
	err = f.fs.do(call{op: f.op(Size, 0, 0), whole: func() (err error) {
		size, err = f.inner.Size()
		return err
	}})
	if err != nil {
		return 0, err
	}
	return size, nil
}

func (f *file) Close() error {
	return f.fs.closing(f.op(Close, 0, 0), f.inner)
}

// closing closes the handle also when the call is made to fail.
func (f *FS) closing(op Op, handle closer) error {
	closed := false
	err := f.do(call{op: op, whole: func() error {
		closed = true
		return f.release(handle)
	}})
	if !closed {
		_ = f.release(handle) // the fault is the error to report
	}
	return err
}

// Lock implements [vfs.FS].
func (f *FS) Lock(name string) (vfs.Lock, error) {
	return f.openLock(name, f.inner.Lock)
}

// SharedLock implements [vfs.FS]. It is an Op of the kind Lock.
func (f *FS) SharedLock(name string) (vfs.Lock, error) {
	return f.openLock(name, f.inner.SharedLock)
}

func (f *FS) openLock(name string, open func(string) (vfs.Lock, error)) (vfs.Lock, error) {
	var inner vfs.Lock
	err := f.do(call{op: Op{Kind: Lock, Name: name}, whole: func() (err error) {
		if inner, err = open(name); err == nil {
			f.keepOpen(inner)
		}
		return err
	}})
	if err == nil {
		return &lock{fs: f, name: name, inner: inner}, nil
	}
	if inner != nil {
		_ = f.release(inner) // the fault is the error to report
	}
	return nil, err
}

// lock is a lock handle of an FS.
type lock struct {
	fs    *FS
	name  string
	inner vfs.Lock
}

func (l *lock) TryLock() (taken bool, err error) {
	err = l.fs.do(call{op: Op{Kind: TryLock, Name: l.name}, whole: func() (err error) {
		taken, err = l.inner.TryLock()
		return err
	}})
	if err != nil && taken {
		_ = l.inner.Unlock() // the fault is the error to report
	}
	return taken && err == nil, err
}

func (l *lock) Unlock() error {
	return l.fs.do(call{op: Op{Kind: Unlock, Name: l.name}, whole: l.inner.Unlock})
}

func (l *lock) Close() error {
	return l.fs.closing(Op{Kind: Close, Name: l.name}, l.inner)
}
