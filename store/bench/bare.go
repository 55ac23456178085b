package main

import (
	"errors"
	"sync"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// bareFile is the yardstick: a file that payloads are appended to, each with one
// write and one sync of its data. It finds nothing again.
type bareFile struct {
	mu   sync.Mutex
	file vfs.File
	end  int64
}

func openBare(dir string, _ int) (engine, error) {
	fsys, err := vfs.OS(dir)
	if err != nil {
		return nil, err
	}
	file, err := fsys.Create("bare")
	if err != nil {
		return nil, err
	}
	return &bareFile{file: file}, nil
}

func (f *bareFile) put(records ...record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		if _, err := f.file.WriteAt(r.payload, f.end); err != nil {
			return err
		}
		f.end += int64(len(r.payload))
	}
	return f.file.SyncData()
}

func (f *bareFile) get(ulid.ULID) ([]byte, error) { return nil, errors.ErrUnsupported }
func (f *bareFile) all(func(record) error) error  { return errors.ErrUnsupported }
func (f *bareFile) settle() error                 { return errors.ErrUnsupported }
func (f *bareFile) close() error                  { return f.file.Close() }
