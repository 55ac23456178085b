//go:build !windows

package vfs

import (
	"errors"
	"os"
)

// syncDir reports every failure. A file system that cannot sync a directory
// cannot keep the promise of SyncDir, and the caller has to know.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
