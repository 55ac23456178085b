package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the demo prints to testdata/output.txt")

func TestOutput(t *testing.T) {
	var output bytes.Buffer
	if err := run(t.Context(), &output, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "output.txt")
	if *update {
		if err := os.WriteFile(golden, output.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), output.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// Without a directory of the caller nothing stays behind.
func TestTemporaryDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // Windows
	if err := runIn(t.Context(), &bytes.Buffer{}, ""); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 0 {
		t.Errorf("%d files left, %v", len(left), err)
	}
}
