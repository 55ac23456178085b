package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what run prints to testdata/output.txt")

// The second run in one directory prints the same: the first one left nothing behind
// that changes it.
func TestRun(t *testing.T) {
	golden := filepath.Join("testdata", "output.txt")
	dir := t.TempDir()
	for range 2 {
		var out bytes.Buffer
		if err := run(context.Background(), &out, dir); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("run (-want +got):\n%s", diff)
		}
	}
}

// Without -dir nothing is left.
func TestRunInRemovesItsDirectory(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary) // Windows
	if err := runIn(""); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, error %v", left, err)
	}
	kept := filepath.Join(temporary, "kept")
	if err := runIn(kept); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(kept); err != nil || len(files) == 0 {
		t.Errorf("files %v, error %v", files, err)
	}
}
