package vfs

import "sync/atomic"

// Totals are sums since the Counter was made. Calls count when they are issued,
// whether they succeed or not; bytes count when they were really read or
// written, also by a call that then failed.
type Totals struct {
	ReadCalls     int64 // ReadAt
	ReadBytes     int64
	WriteCalls    int64 // WriteAt
	WriteBytes    int64
	FlushCalls    int64 // Sync, SyncData and SyncDir
	TruncateCalls int64 // Truncate
	ReplaceCalls  int64 // Rename
}

// Counter is a file system that counts what it passes on to another one. It
// adds a few nanoseconds to a call and allocates only when a file is opened.
type Counter struct {
	inner FS

	readCalls, readBytes      atomic.Int64
	writeCalls, writeBytes    atomic.Int64
	flushes, truncates, moves atomic.Int64
}

var _ FS = (*Counter)(nil)

// Count returns a Counter over inner, all totals zero. Calls that reach inner
// by another way are not seen.
func Count(inner FS) *Counter { return &Counter{inner: inner} }

// Totals returns the sums so far. Each is exact; while calls are running, two of
// them may be from slightly different moments.
func (c *Counter) Totals() Totals {
	return Totals{
		ReadCalls:     c.readCalls.Load(),
		ReadBytes:     c.readBytes.Load(),
		WriteCalls:    c.writeCalls.Load(),
		WriteBytes:    c.writeBytes.Load(),
		FlushCalls:    c.flushes.Load(),
		TruncateCalls: c.truncates.Load(),
		ReplaceCalls:  c.moves.Load(),
	}
}

// Create implements [FS].
func (c *Counter) Create(name string) (File, error) { return c.wrap(c.inner.Create(name)) }

// Open implements [FS].
func (c *Counter) Open(name string) (File, error) { return c.wrap(c.inner.Open(name)) }

// OpenRead implements [FS].
func (c *Counter) OpenRead(name string) (File, error) { return c.wrap(c.inner.OpenRead(name)) }

func (c *Counter) wrap(file File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return &countedFile{File: file, counter: c}, nil
}

// Rename implements [FS].
func (c *Counter) Rename(oldName, newName string) error {
	c.moves.Add(1)
	return c.inner.Rename(oldName, newName)
}

// Remove implements [FS].
func (c *Counter) Remove(name string) error { return c.inner.Remove(name) }

// List implements [FS].
func (c *Counter) List() ([]string, error) { return c.inner.List() }

// SyncDir implements [FS].
func (c *Counter) SyncDir() error {
	c.flushes.Add(1)
	return c.inner.SyncDir()
}

// SameFile implements [FS]. The file must come from this Counter.
func (c *Counter) SameFile(name string, f File) (bool, error) {
	file, ok := f.(*countedFile)
	if !ok || file.counter != c {
		return false, pathError("stat", name, errForeignFile)
	}
	return c.inner.SameFile(name, file.File)
}

// Lock implements [FS].
func (c *Counter) Lock(name string) (Lock, error) { return c.inner.Lock(name) }

// SharedLock implements [FS].
func (c *Counter) SharedLock(name string) (Lock, error) { return c.inner.SharedLock(name) }

type countedFile struct {
	File
	counter *Counter
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	f.counter.readCalls.Add(1)
	n, err := f.File.ReadAt(p, off)
	f.counter.readBytes.Add(int64(n))
	return n, err
}

func (f *countedFile) WriteAt(p []byte, off int64) (int, error) {
	f.counter.writeCalls.Add(1)
	n, err := f.File.WriteAt(p, off)
	f.counter.writeBytes.Add(int64(n))
	return n, err
}

func (f *countedFile) Truncate(size int64) error {
	f.counter.truncates.Add(1)
	return f.File.Truncate(size)
}

func (f *countedFile) Sync() error {
	f.counter.flushes.Add(1)
	return f.File.Sync()
}

func (f *countedFile) SyncData() error {
	f.counter.flushes.Add(1)
	return f.File.SyncData()
}
