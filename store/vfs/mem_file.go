package vfs

import (
	"errors"
	"io"
	"io/fs"
	"math"
)

// errTooLarge limits what one file of a Mem may cost in memory.
var errTooLarge = errors.New("file too large for a file system in memory")

// memFile is an open file of a Mem. A removed file lives on in it.
type memFile struct {
	mem    *Mem
	name   string // when opened, for errors
	node   *inode
	closed bool
}

// do runs body under the Mem's lock unless the handle is closed. An offset or
// size that no file can have is refused here.
func (f *memFile) do(op string, offset, length int64, body func() error) error {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if f.closed {
		return pathError(op, f.name, fs.ErrClosed)
	}
	if offset < 0 {
		return pathError(op, f.name, fs.ErrInvalid)
	}
	if offset > math.MaxInt64-length {
		return pathError(op, f.name, errTooLarge)
	}
	return body()
}

// grow is do for calls that may extend the file to offset+length.
func (f *memFile) grow(op string, offset, length int64, body func()) error {
	return f.do(op, offset, length, func() error {
		if blocks(offset+length, f.mem.blockSize) > maxBlocks {
			return pathError(op, f.name, errTooLarge)
		}
		body()
		return nil
	})
}

func (f *memFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do("read", off, 0, func() error {
		n = int(min(int64(len(p)), max(f.node.size-off, 0)))
		f.node.read(p[:n], off)
		if n < len(p) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

func (f *memFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.grow("write", off, int64(len(p)), func() {
		if n = len(p); n > 0 {
			f.node.write(p, off)
		}
	})
	return n, err
}

func (f *memFile) Truncate(size int64) error {
	return f.grow("truncate", size, 0, func() { f.node.truncate(size) })
}

func (f *memFile) Sync() error {
	return f.do("sync", 0, 0, func() error { f.node.sync(); return nil })
}

// SyncData is Sync: a Mem keeps no metadata besides the size.
func (f *memFile) SyncData() error { return f.Sync() }

func (f *memFile) Size() (size int64, err error) {
	err = f.do("stat", 0, 0, func() error { size = f.node.size; return nil })
	return size, err
}

func (f *memFile) Close() error {
	return f.do("close", 0, 0, func() error { f.closed = true; return nil })
}

// DropUnsynced implements [Dropper]; a closed handle works too.
func (f *memFile) DropUnsynced() {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	f.node.drop()
}
