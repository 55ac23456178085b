// Package vfs is the file system that a store needs and nothing more: one flat
// directory of files that can be read, written, synced, renamed and locked.
//
// Three implementations share its contract. [OS] is the operating system.
// [Mem] keeps everything in memory and can produce every state in which a power
// cut could leave a disk; it is also the backend of unit tests. [Count] wraps
// either and counts calls. [ReadOnly] wraps either and lets nothing change, which
// [OSReadOnly] does for a directory that may only be read. Package faultfs wraps
// either and makes calls fail.
//
// # Durability
//
// A write is durable once Sync or SyncData of its file has returned nil. A name
// that was created, renamed or removed is durable once SyncDir has returned nil.
// Neither implies the other. After a Sync that failed the file's unsynced bytes
// may be on disk or not, whatever a later Sync says, while reads may go on
// showing them: callers must never retry a sync and trust the second answer.
package vfs

import "io"

// FS is one directory. Names are single path elements: no separators, no "..".
// Methods may be called from many goroutines at once.
//
// Errors satisfy errors.Is with [io/fs.ErrNotExist], [io/fs.ErrExist] and
// [io/fs.ErrPermission] where those are the cause.
type FS interface {
	// Create makes a new empty file for reading and writing, readable by its
	// owner only. It fails with fs.ErrExist when the name is taken.
	Create(name string) (File, error)

	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)

	// OpenRead opens an existing file for reading only; it needs no permission
	// to write. WriteAt, Truncate, Sync and SyncData of that file fail with
	// fs.ErrPermission and do nothing, even when it is closed.
	OpenRead(name string) (File, error)

	// Rename gives oldName's file the name newName in one step, replacing a
	// file of that name. Files that are open stay usable on systems that allow
	// it; a caller that must work everywhere closes them first.
	Rename(oldName, newName string) error

	// Remove removes a name. A file that is still open keeps its bytes until
	// its last handle is closed.
	Remove(name string) error

	// List returns the names of all files, sorted.
	List() ([]string, error)

	// SyncDir makes every creation, rename and removal so far durable.
	SyncDir() error

	// SameFile reports whether name is now the file that f has open. A name
	// that does not exist is not the same file and no error.
	SameFile(name string, f File) (bool, error)

	// Lock returns a handle on the lock that the file name stands for, making
	// the file when it does not exist. Nothing is locked yet. The handle takes
	// the lock exclusively: beside it there is no other holder of either mode.
	Lock(name string) (Lock, error)

	// SharedLock is Lock for a handle that takes the lock shared: any number
	// of shared holders at once, none beside an exclusive one. It needs no
	// permission to write and makes no file: like the TryLock of its handle it
	// fails with fs.ErrNotExist when there is none.
	SharedLock(name string) (Lock, error)
}

// File is an open file. Methods may be called from many goroutines at once.
type File interface {
	// ReadAt is io.ReaderAt: a short read has an error, io.EOF at the end.
	io.ReaderAt

	// WriteAt is io.WriterAt: a short write has an error. Writing beyond the
	// end extends the file, with zeros in between.
	io.WriterAt

	// Truncate sets the size; growing fills with zeros.
	Truncate(size int64) error

	// Sync makes the file's bytes and size durable.
	Sync() error

	// SyncData is Sync without the metadata that reading does not need, such
	// as times. The size counts as needed. Where the system has no such call
	// it is Sync.
	SyncData() error

	// Size returns the current size in bytes.
	Size() (int64, error)

	// Close releases the handle. It syncs nothing.
	Close() error
}

// Lock is a handle on one advisory lock, held over all processes by one exclusive
// handle or by any number of shared ones; the system drops it when the process
// ends, however it ends. Handles of one process exclude each other like those of
// several. The mode of a handle is fixed when it is made: no lock is ever upgraded.
// Nothing queues: shared holders that come and go can keep an exclusive handle out
// for good. A Lock is not for use by several goroutines at once, and one that is
// held is never locked again.
type Lock interface {
	// TryLock takes the lock in the mode of the handle, if its holders allow
	// it, and reports whether it did. It never waits.
	TryLock() (bool, error)

	// Unlock lets go of the lock. Without holding it, it does nothing.
	Unlock() error

	// Close lets go of the lock and releases the handle.
	Close() error
}
