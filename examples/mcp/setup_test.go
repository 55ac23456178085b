package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(directoryVariable)
	for variable, live := range map[string]func(name, dir string) error{holderVariable: hold, hostVariable: beHost} {
		if name := os.Getenv(variable); name != "" {
			if err := live(name, dir); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "convmem-mcp-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	command = sync.OnceValues(func() (program, error) { return compile(filepath.Join(dir, "mcp")) })
	return m.Run()
}

// command builds the command when it is first called.
var command func() (program, error)

// program is the path of the built command.
type program string

// compile builds the command as the tests are built: with the race detector or
// without.
func compile(path string) (program, error) {
	args := []string{"build", "-o", path, "."}
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = slices.Insert(args, 1, "-race")
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program(path), nil
}

func build(t *testing.T) program {
	t.Helper()
	p, err := command()
	if err != nil {
		t.Fatal(err)
	}
	return p
}
