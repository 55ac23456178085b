package vfs

// syncDir does nothing. Windows has no call that flushes one directory: a
// handle on a directory cannot be opened for writing the way FlushFileBuffers
// asks for. NTFS and ReFS log changes of names themselves, in order, so a power
// cut may undo the newest ones but not mix old and new.
func syncDir(string) error { return nil }
