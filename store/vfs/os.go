package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// OS returns the directory dir of the operating system's file system.
//
// A directory that does not exist is made, readable by its owner only, with all
// parents it needs; each directory that received a new entry is synced, so a
// power cut after OS has returned cannot take the whole directory away. The
// permissions of a directory that exists are left alone. A relative dir is
// resolved now: a later change of the working directory changes nothing.
//
// Files are readable and writable by their owner only. The file system must be
// local: on network mounts locks may be private to the machine or be lost.
func OS(dir string) (FS, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("vfs: resolve directory: %w", err)
	}
	if err := makeDir(path, syncDir); err != nil {
		return nil, fmt.Errorf("vfs: make directory: %w", err)
	}
	return osFS{dir: path}, nil
}

// makeDir makes path and the parents it lacks. A parent is synced whenever the
// entry was missing a moment ago, also when another process made it first: that
// process may not have synced it yet.
func makeDir(path string, sync func(dir string) error) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return pathError("mkdir", path, errors.New("exists and is not a directory"))
	}
	if err == nil {
		return syncIfEmpty(path, sync)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if err := makeDir(parent, sync); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return sync(parent)
}

// syncIfEmpty syncs the parent of a directory that exists and is empty: a
// process that was killed in makeDir leaves one whose entry is not durable. Who
// may not read a directory or its parent has not made it that way.
func syncIfEmpty(path string, sync func(dir string) error) error {
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) == 0 {
		err = sync(filepath.Dir(path))
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

type osFS struct{ dir string }

func (o osFS) path(name string) string { return filepath.Join(o.dir, name) }

func (o osFS) Create(name string) (File, error) {
	return o.open("create", name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

func (o osFS) Open(name string) (File, error) {
	return o.open("open", name, os.O_RDWR)
}

// OpenRead asks for no more than a directory would give too, so that has to be
// refused: Open gets the refusal from the system.
func (o osFS) OpenRead(name string) (File, error) {
	file, err := o.open("open", name, os.O_RDONLY)
	if err == nil {
		err = refuseDir(file.(osFile).File)
	}
	return readOnly(name, file, err)
}

// refuseDir closes what it refuses.
func refuseDir(file *os.File) error {
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = pathError("open", file.Name(), errIsDirectory)
	}
	if err != nil {
		_ = file.Close() // it was only read, and never
	}
	return err
}

var errIsDirectory = errors.New("is a directory")

func (o osFS) open(op, name string, flag int) (File, error) {
	if err := checkName(op, name); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(o.path(name), flag, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{file}, nil
}

func (o osFS) Rename(oldName, newName string) error {
	if err := errors.Join(checkName("rename", oldName), checkName("rename", newName)); err != nil {
		return err
	}
	return os.Rename(o.path(oldName), o.path(newName))
}

func (o osFS) Remove(name string) error {
	if err := checkName("remove", name); err != nil {
		return err
	}
	return os.Remove(o.path(name))
}

func (o osFS) List() ([]string, error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

func (o osFS) SyncDir() error { return syncDir(o.dir) }

func (o osFS) SameFile(name string, f File) (bool, error) {
	if err := checkName("stat", name); err != nil {
		return false, err
	}
	file, ok := unwrap(f).(osFile)
	if !ok {
		return false, pathError("stat", name, errForeignFile)
	}
	open, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(o.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, named), err
}

// errForeignFile is a mistake in the caller: files do not travel between file
// systems, and "no" would hide it.
var errForeignFile = errors.New("the file was opened by another file system")

type osFile struct{ *os.File }

func (f osFile) SyncData() error { return syncData(f.File) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
