package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// mutant is this package with one protection taken away. Some test has to notice
// that, or the protection is not tested, or not needed.
type mutant struct {
	name string
	file string
	old  string // stands exactly once in file, within functions
	new  string
	// tests are the names of those that notice, with | between them.
	tests string
}

// The list follows the code: a mutant that does not apply any more is an error,
// not a mutant less.
func TestMutantsApply(t *testing.T) {
	mutants := allMutants()
	w := newWorkshop(t)
	declared := w.tests()
	seen := map[string]bool{}
	for i, m := range mutants {
		if seen[m.name] {
			t.Errorf("%s: two mutants have this name", m.name)
		}
		seen[m.name] = true
		if err := w.apply(i+1, m); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		for name := range strings.SplitSeq(m.tests, "|") {
			if !declared[name] {
				t.Errorf("%s: there is no test %s", m.name, name)
			}
		}
	}
	t.Logf("%d mutants", len(mutants))
}

// Every mutant compiles and fails one of its tests, which pass without it.
func TestMutantsAreKilled(t *testing.T) {
	if !*long {
		t.Skip("runs some tests for every mutant; run it with -long")
	}
	mutants := allMutants()
	binary := compileAll(t, mutants)
	if !t.Run("none", func(t *testing.T) { passWithout(t, binary, mutants) }) {
		return
	}
	killers := make([]string, len(mutants))
	t.Run("each", func(t *testing.T) {
		// More at a time would only wait for one another, and time out.
		free := make(chan struct{}, 2)
		for i, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				free <- struct{}{}
				defer func() { <-free }()
				killers[i] = killer(t, binary, i+1, m)
			})
		}
	})
	t.Log(killedTable(mutants, killers))
}

func killedTable(mutants []mutant, killers []string) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	killed := 0
	for i, m := range mutants {
		if killers[i] != "" {
			killed++
			fmt.Fprintf(table, "%s\t%s\t%s\n", m.file, m.name, killers[i])
		}
	}
	_ = table.Flush() // into memory
	return fmt.Sprintf("%d of %d mutants killed\n%s", killed, len(mutants), b.String())
}

// compileAll builds the tests of this package with all mutants in it, of which
// none is active until it is chosen. The go command is that of the toolchain that
// runs this test, which stands first in PATH.
func compileAll(t *testing.T, mutants []mutant) (binary string) {
	t.Helper()
	w := newWorkshop(t)
	for i, m := range mutants {
		if err := w.apply(i+1, m); err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
	}
	binary = filepath.Join(t.TempDir(), "mutants")
	command := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay="+w.overlay(t.TempDir()), "-o", binary, ".")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("a mutant does not compile: %v\n%s", err, output)
	}
	return binary
}

func passWithout(t *testing.T, binary string, mutants []mutant) {
	var names []string
	for _, m := range mutants {
		names = append(names, strings.Split(m.tests, "|")...)
	}
	slices.Sort(names)
	start := time.Now()
	if output, err := runTests(binary, 0, strings.Join(slices.Compact(names), "|")); err != nil {
		t.Fatalf("without a mutant: %v\n%s", err, output)
	}
	t.Logf("the tests of all mutants take %v", time.Since(start).Round(time.Millisecond))
}

// killer returns the name of the test that failed.
func killer(t *testing.T, binary string, number int, m mutant) string {
	t.Helper()
	output, err := runTests(binary, number, m.tests)
	var failed *exec.ExitError
	found := failure.Find(output)
	switch {
	case err == nil:
		t.Errorf("%s passed: the mutant lives\n%s", m.tests, output)
	case !errors.As(err, &failed) || found == nil:
		t.Errorf("%v, but no test has failed\n%s", err, output)
	case bytes.Contains(output, []byte("panic: test timed out")):
		t.Errorf("%s did not end: a test has to say what is wrong\n%s", m.tests, output)
	default:
		return strings.TrimPrefix(string(found), "--- FAIL: ")
	}
	return ""
}

// failure finds the test that failed, or what ended all of them.
var failure = regexp.MustCompile(`(?m)^(--- FAIL: \S+|panic: .*|fatal error: .*)`)

// runTests runs the named tests, up to the first that fails, with one mutant or
// with none. They take seconds; a mutant that goes round in circles must not do so
// for long, as it may fill the memory with what it notes.
func runTests(binary string, number int, names string) ([]byte, error) {
	command := exec.Command(binary, "-test.run=^("+names+")$", "-test.failfast", "-test.timeout=1m")
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", chosenMutant, number))
	return command.CombinedOutput()
}
