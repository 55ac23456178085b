package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// writeFile makes a file of what write writes, for its owner only. It appears, or
// takes the place of what was there, once it is whole and on stable storage; after
// an error nothing is left of it.
func writeFile(path string, write func(io.Writer) error) error {
	if err := checkTarget(path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return ioFailed("making the file", err)
	}
	defer os.Remove(f.Name()) // in vain once it has its name
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// checkTarget refuses to put a file in the place of a device or a directory.
func checkTarget(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return ioFailed("looking at the file", err)
	case !info.Mode().IsRegular():
		return wrong("-o", "it is there and no regular file: name another, or leave -o out and redirect")
	}
	return nil
}

// syncDirectory makes a new name durable, where directories can be synced.
func syncDirectory(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
