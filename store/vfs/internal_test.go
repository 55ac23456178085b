package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every directory that got a new entry must be synced, the outermost first, and
// none that did not.
func TestMakeDirSyncsParents(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"old", "old/inner", "empty"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, path string
		want       []string
	}{
		{"existing", "old", nil},
		{"existing but empty, perhaps never synced", "empty", []string{"."}},
		{"in an empty one", "empty/new", []string{".", "empty"}},
		{"one level", "old/new", []string{"old"}},
		{"three levels", "a/b/c", []string{".", "a", "a/b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var synced []string
			err := makeDir(filepath.Join(root, test.path), func(dir string) error {
				name, err := filepath.Rel(root, dir)
				synced = append(synced, filepath.ToSlash(name))
				return err
			})
			if diff := cmp.Diff(test.want, synced); err != nil || diff != "" {
				t.Errorf("error %v, synced (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestMakeDirReportsAFailedSync(t *testing.T) {
	broken := errors.New("broken")
	err := makeDir(filepath.Join(t.TempDir(), "a"), func(string) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestSyncDirReportsAMissingDirectory(t *testing.T) {
	err := syncDir(filepath.Join(t.TempDir(), "missing"))
	if (err == nil) != (os.PathSeparator == '\\') {
		t.Errorf("error %v", err)
	}
}

// A directory that others own need not be readable, and neither its parent.
func TestMakeDirForgivesWhatMayNotBeRead(t *testing.T) {
	forbidden := func(string) error { return fs.ErrPermission }
	if err := makeDir(t.TempDir(), forbidden); err != nil {
		t.Errorf("existing directory: %v", err)
	}
	if err := makeDir(filepath.Join(t.TempDir(), "a"), forbidden); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("new directory: error %v, want %v", err, fs.ErrPermission)
	}
}
