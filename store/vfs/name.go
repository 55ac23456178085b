package vfs

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// checkName refuses everything that is not one portable path element. The rule
// is the same for every implementation, so that a name that works in a test in
// memory works on disk too: no separator of any system, no colon (a drive or a
// stream on Windows), no NUL, and none of the names a system keeps for itself.
func checkName(op, name string) error {
	if name == "" || name == "." || strings.ContainsAny(name, "/\\:\x00") || !filepath.IsLocal(name) {
		return pathError(op, name, fs.ErrInvalid)
	}
	return nil
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}
