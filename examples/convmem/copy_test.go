package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/convmem"
)

// names lists a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return strings.Join(all, " ")
}

// TestExportAgain: what was exported makes the same export, in whatever way it
// went in and out.
func TestExportAgain(t *testing.T) {
	dir, _ := sampleStore(t)
	here := t.TempDir()
	file := filepath.Join(here, "all.jsonl")
	must(t, dir, "export", "-o", file)
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out := must(t, dir, "export"); out != string(first) || names(t, here) != "all.jsonl" {
		t.Errorf("standard output gives something else, or files were left: %s", names(t, here))
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	again := filepath.Join(here, "again")
	if o := convmemOn(t, again, string(first), "import", "-"); o.code != 0 {
		t.Fatal(o.log)
	}
	if out := must(t, again, "export"); out != string(first) {
		t.Errorf("the second export:\n%s", out)
	}
	backup := filepath.Join(here, "backup")
	must(t, dir, "backup", backup)
	if out := must(t, backup, "export"); out != string(first) {
		t.Errorf("the export of a backup:\n%s", out)
	}
}

// TestFailedExport: an export that meets damage leaves no file, nor half of one in
// the place of an older one.
func TestFailedExport(t *testing.T) {
	dir, _ := sampleStore(t)
	must(t, dir, "rebuild")
	spoil(t, dir, text("Nothing else.")) // the last message
	here := t.TempDir()
	file := filepath.Join(here, "all.jsonl")
	if o := convmemOn(t, dir, "", "export", "-o", file); o.code != 6 || o.out != "" || names(t, here) != "" {
		t.Errorf("exit code %d, files: %s", o.code, names(t, here))
	}
	if o := convmemOn(t, dir, "", "export"); o.code != 6 || strings.Count(o.out, "\n") < 5 {
		t.Errorf("the damage is met too early to prove anything: %s", o.out)
	}
	if err := os.WriteFile(file, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	convmemOn(t, dir, "", "export", "-o", file)
	if older, err := os.ReadFile(file); err != nil || string(older) != "older" || names(t, here) != "all.jsonl" {
		t.Errorf("%q, %v, files: %s", older, err, names(t, here))
	}
}

// TestWriteFile: the file appears at the end, and a failure leaves nothing.
func TestWriteFile(t *testing.T) {
	here := t.TempDir()
	file := filepath.Join(here, "f")
	failure := errors.New("no")
	err := writeFile(file, func(w io.Writer) error {
		fmt.Fprint(w, "half")
		if got := names(t, here); !strings.HasPrefix(got, ".f.") {
			t.Errorf("meanwhile: %s", got)
		}
		return failure
	})
	if !errors.Is(err, failure) || names(t, here) != "" {
		t.Errorf("%v, files: %s", err, names(t, here))
	}
}

// TestKilledExport kills an export while it writes.
func TestKilledExport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "large")
	db := open(t, dir, nil)
	writeMany(t, db, 8, strings.Repeat("\x01", 1<<20)) // each of 6 MiB on its line
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		interrupted := false
		for try := 0; try < 10 && !interrupted; try++ {
			interrupted = killedExport(t, dir, signal)
		}
		if !interrupted {
			t.Errorf("no export was still writing when %v came", signal)
		}
	}
}

// writeMany writes messages of a session s.
func writeMany(t *testing.T, db *convmem.DB, n int, content string) {
	t.Helper()
	messages := slices.Repeat([]convmem.WriteRequest{{SessionID: "s", Role: convmem.RoleUser, Content: content}}, n)
	for batch := range slices.Chunk(messages, convmem.MaxBatchMessages) {
		if _, err := db.WriteBatch(t.Context(), convmem.WriteBatchRequest{Messages: batch}); err != nil {
			t.Fatal(err)
		}
	}
}

// killedExport reports whether the export had not ended before the signal.
func killedExport(t *testing.T, dir string, signal syscall.Signal) bool {
	here := t.TempDir()
	cmd := process(t.Context(), "-dir", dir, "export", "-o", filepath.Join(here, "f"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for names(t, here) == "" {
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Log(err)
	}
	if cmd.Wait() == nil {
		return false
	}
	left := names(t, here)
	if strings.HasPrefix(left, "f") || strings.HasSuffix(left, " f") || signal == syscall.SIGTERM && (left != "" || cmd.ProcessState.ExitCode() != 1) {
		t.Errorf("after %v: %v, files: %s", signal, cmd.ProcessState, left)
	}
	return true
}

// TestResumedImport: an import ends in the middle of its input, by a signal or by
// death. Repeating it writes what was missing.
func TestResumedImport(t *testing.T) {
	const messages = 2500 // more than two changes
	from := filepath.Join(t.TempDir(), "from")
	db := open(t, from, nil)
	writeMany(t, db, messages, "words")
	all := must(t, from, "export")
	lines := strings.SplitAfter(all, "\n")
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "to")
			interruptImport(t, dir, strings.Join(lines[:2002], ""), signal)
			before := document(t, must(t, dir, "stats", "-json"))["active_messages"].(float64)
			o := convmemOn(t, dir, all, "import", "-json", "-")
			d := document(t, o.out)
			if o.code != 0 || before == 0 || before == messages || d["present"] != before || d["written"] != messages-before {
				t.Errorf("%v were there; exit code %d: %s%s", before, o.code, o.out, o.log)
			}
			if out := must(t, dir, "export"); out != all {
				t.Error("the export is another one")
			}
		})
	}
}

// interruptImport gives an import a part of its input, and then a signal.
func interruptImport(t *testing.T, dir, part string, signal syscall.Signal) {
	cmd := process(t.Context(), "-dir", dir, "import", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, part); err != nil {
		t.Fatal(err)
	}
	for convmemOn(t, dir, "", "history", "s", "-limit", "1").out == "" {
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || signal == syscall.SIGTERM && cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v: %s", err, &log)
	}
}

// TestInterruptedInput: the end of a context ends a read that waits, and what was
// read before is there.
func TestInterruptedInput(t *testing.T) {
	from, to := io.Pipe()
	ctx, end := context.WithCancel(t.Context())
	in := &interruptible{ctx: ctx, from: from}
	go fmt.Fprint(to, "some")
	buffer := make([]byte, 3)
	for _, want := range []string{"som", "e"} {
		if n, err := in.Read(buffer); err != nil || string(buffer[:n]) != want {
			t.Fatalf("%q, %v", buffer[:n], err)
		}
	}
	end()
	if n, err := in.Read(buffer); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
}
