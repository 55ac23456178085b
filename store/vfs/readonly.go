package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// OSReadOnly is [ReadOnly] over the directory dir of the operating system's file
// system. It makes neither dir nor anything in it, so unlike [OS] it works on a
// directory that may only be read, on a read-only mount too. It fails with
// fs.ErrNotExist when there is no dir. A relative dir is resolved now.
func OSReadOnly(dir string) (FS, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("vfs: resolve directory: %w", err)
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = pathError("open", path, errors.New("is not a directory"))
	}
	if err != nil {
		return nil, fmt.Errorf("vfs: open directory: %w", err)
	}
	return ReadOnly(osFS{dir: path}), nil
}

// ReadOnly returns inner without what could change it: Create, Open, Rename,
// Remove, SyncDir and Lock fail with fs.ErrPermission, whatever the name, and
// never reach inner. List, SameFile, OpenRead and SharedLock are those of inner,
// and its files are accepted by SameFile.
func ReadOnly(inner FS) FS { return readOnlyFS{inner} }

type readOnlyFS struct{ FS }

func (readOnlyFS) Create(name string) (File, error) { return nil, refused("create", name) }

func (readOnlyFS) Open(name string) (File, error) { return nil, refused("open", name) }

func (readOnlyFS) Rename(oldName, _ string) error { return refused("rename", oldName) }

func (readOnlyFS) Remove(name string) error { return refused("remove", name) }

func (readOnlyFS) SyncDir() error { return refused("sync", ".") }

func (readOnlyFS) Lock(name string) (Lock, error) { return nil, refused("lock", name) }

// refused is what callers get instead of the system's own answers, which differ:
// a write to a file opened for reading is EBADF here and a denial there, and a
// sync of one even succeeds on some.
func refused(op, name string) error { return pathError(op, name, fs.ErrPermission) }

// readOnlyFile is a file from OpenRead.
type readOnlyFile struct {
	File
	name string // when opened, for errors
}

// readOnly wraps what an open has returned.
func readOnly(name string, file File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return readOnlyFile{File: file, name: name}, nil
}

// unwrap returns the file that a SameFile has to look at.
func unwrap(file File) File {
	if wrapped, ok := file.(readOnlyFile); ok {
		return wrapped.File
	}
	return file
}

func (f readOnlyFile) WriteAt([]byte, int64) (int, error) { return 0, refused("write", f.name) }

func (f readOnlyFile) Truncate(int64) error { return refused("truncate", f.name) }

func (f readOnlyFile) Sync() error { return refused("sync", f.name) }

func (f readOnlyFile) SyncData() error { return refused("sync", f.name) }

// DropUnsynced implements [Dropper]: a sync through this handle writes nothing,
// so none that fails loses anything.
func (f readOnlyFile) DropUnsynced() {}
