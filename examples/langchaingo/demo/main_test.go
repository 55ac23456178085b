package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/output.txt anew")

// The output is the same in a directory that is kept and in one that is removed, and
// the first is there afterwards.
func TestRun(t *testing.T) {
	const golden = "testdata/output.txt"
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // Windows
	kept := t.TempDir()
	for _, dir := range []string{kept, ""} {
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
			t.Errorf("output (-want +got):\n%s", diff)
		}
	}
	if files, err := os.ReadDir(kept); err != nil || len(files) == 0 {
		t.Errorf("nothing was kept: %v", err)
	}
	if files, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(files) != 0 {
		t.Errorf("%d files were left behind: %v", len(files), err)
	}
}
