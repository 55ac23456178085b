package storetest

import (
	"context"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// Open returns an empty store for a unit test. It is the real one, on files
// that live in memory and vanish with the test, which also closes it. Time is
// the real time; a test that needs another opens a store itself, with
// [vfs.NewMem] as its file system.
func Open(t testing.TB) *convmem.DB {
	t.Helper()
	db, err := convmem.Open(context.Background(), "", &convmem.Options{FS: vfs.NewMem(0)})
	if err != nil {
		t.Fatalf("open a store in memory: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return db
}
