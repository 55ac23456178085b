//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a terminal of the kernel: what is written to one end is read from
// the other.
func terminal(t *testing.T) (screen, device *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("there are no terminals here:", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	device, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { screen.Close() })
	return screen, device
}

// onTerminal runs the command with a terminal as its standard error, and as its
// standard output where both is true.
func onTerminal(t *testing.T, dir string, both bool, arguments ...string) (out, seen string, code int) {
	t.Helper()
	screen, device := terminal(t)
	if dir != "" {
		arguments = append([]string{"-dir", dir}, arguments...)
	}
	cmd := process(t.Context(), arguments...)
	var plain strings.Builder
	cmd.Stdout, cmd.Stderr = &plain, device
	if both {
		cmd.Stdout = device
	}
	err := cmd.Start()
	device.Close()
	if err != nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(screen) // ends with an error when the last writer closes
	cmd.Wait()                    // the code says more
	return plain.String(), string(data), cmd.ProcessState.ExitCode()
}

// TestProgress: progress is on standard error, if that is a terminal and nobody
// asked for JSON, and does not get into what standard output has.
func TestProgress(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	writeMany(t, open(t, dir, nil), 2500, strings.Repeat("many words ", 60)) // of more than a MiB
	file := filepath.Join(t.TempDir(), "all.jsonl")
	all := must(t, dir, "export")
	must(t, dir, "export", "-o", file)
	const fresh = "a directory that does not exist"
	watch := func(arguments ...string) (out, seen string, code int) {
		arguments = slices.Clone(arguments)
		if i := slices.Index(arguments, fresh); i >= 0 {
			arguments[i] = filepath.Join(t.TempDir(), "new")
		}
		if slices.Contains(arguments, "salvage") {
			return onTerminal(t, "", false, arguments...)
		}
		return onTerminal(t, dir, false, arguments...)
	}
	for _, test := range []struct {
		what      string
		arguments []string
		out       string
	}{
		{"exporting", []string{"export"}, all},
		{"exporting", []string{"export", "-o", file}, ""},
		{"importing", []string{"import", file}, ""},
		{"verifying", []string{"verify"}, ""},
		{"copying", []string{"backup", fresh}, ""},
		{"copying", []string{"import", "-dry-run", file}, ""},
		{"saving", []string{"salvage", dir, fresh}, ""},
		{"rebuilding", []string{"rebuild"}, ""},
		{"forgetting", []string{"forget", "nobody"}, ""},
	} {
		out, seen, code := watch(test.arguments...)
		if code != 0 || !strings.Contains(seen, test.what) || !strings.HasSuffix(seen, " \r") || strings.Contains(out, test.what) {
			t.Errorf("%q: exit code %d, seen %q, out %.100q", test.arguments, code, seen, out)
		}
		if test.out != "" && out != test.out {
			t.Errorf("%q: %.100q", test.arguments, out)
		}
		if _, seen, code := watch(append([]string{"-json"}, test.arguments...)...); code != 0 || seen != "" {
			t.Errorf("%q with -json: exit code %d, seen %q", test.arguments, code, seen)
		}
	}
}

// TestExportToTerminal: raw content does not get to a terminal.
func TestExportToTerminal(t *testing.T) {
	dir, _ := sampleStore(t)
	_, seen, code := onTerminal(t, dir, true, "export")
	if code != 2 || !strings.Contains(seen, "-o FILE") || strings.Contains(seen, "database") {
		t.Errorf("exit code %d, seen %q", code, seen)
	}
}
