package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/output.txt anew")

const golden = "testdata/output.txt"

func TestOutput(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, ""); err != nil {
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
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The README shows what this program prints.
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), out.String()) {
		t.Error("README.md does not show this table")
	}
}

// A second run in the same directory adds nothing and answers the same.
func TestTheSameDirectoryTwice(t *testing.T) {
	dir := t.TempDir()
	var first, second bytes.Buffer
	if err := run(t.Context(), &first, dir); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), &second, dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.String(), second.String()); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}
