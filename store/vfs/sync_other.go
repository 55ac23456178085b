//go:build !linux

package vfs

import "os"

// syncData is a full sync. On macOS that is F_FULLFSYNC, which also empties the
// drive's own cache; on Windows it is FlushFileBuffers.
func syncData(file *os.File) error { return file.Sync() }
