package vfs_test

import (
	"fmt"
	"testing"

	"example.com/convmem/store/vfs"
)

// What a process pays to look whether others have changed anything. No call
// syncs, so the disk does not matter.
func BenchmarkOS(b *testing.B) {
	fsys, err := vfs.OS(b.TempDir())
	benchCheck(b, err)
	var file vfs.File
	for i := range 4 {
		file, err = fsys.Create(fmt.Sprintf("file-%d", i))
		benchCheck(b, err)
		defer file.Close()
	}
	_, err = file.WriteAt(make([]byte, 256), 0)
	benchCheck(b, err)
	exclusive, err := fsys.Lock("file-0")
	benchCheck(b, err)
	shared, err := fsys.SharedLock("file-0")
	benchCheck(b, err)
	slots := make([]byte, 128)
	calls := []struct {
		name string
		call func() error
	}{
		{"TryLock and Unlock", func() error { return lockOnce(exclusive) }},
		{"TryLock and Unlock, shared", func() error { return lockOnce(shared) }},
		{"ReadAt of 128 bytes", func() error { _, err := file.ReadAt(slots, 64); return err }},
		{"Size", func() error { _, err := file.Size(); return err }},
		{"List of 4 files", func() error { _, err := fsys.List(); return err }},
		{"SameFile", func() error { _, err := fsys.SameFile("file-3", file); return err }},
	}
	for _, test := range calls {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchCheck(b, test.call())
			}
		})
	}
}

func benchCheck(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func lockOnce(lock vfs.Lock) error {
	if taken, err := lock.TryLock(); err != nil || !taken {
		return fmt.Errorf("taken %v, error %w", taken, err)
	}
	return lock.Unlock()
}
