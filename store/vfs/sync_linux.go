package vfs

import (
	"io/fs"
	"os"
	"syscall"
)

// syncData repeats an interrupted call. That is no retry of a failed sync: the
// kernel reports EINTR before it has reported, and so forgotten, a write error.
func syncData(file *os.File) error {
	failed := error(syscall.EINTR)
	conn, err := file.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) {
			for failed == syscall.EINTR {
				failed = syscall.Fdatasync(int(fd))
			}
		})
	}
	if err != nil {
		failed = fs.ErrClosed // the one reason for not getting at the descriptor
	}
	if failed != nil {
		return pathError("fdatasync", file.Name(), failed)
	}
	return nil
}
