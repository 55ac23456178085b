package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, environment string
		line              []string
		dir, namespace    string
		json              bool
		arguments         []string
	}{
		{name: "flags before", line: []string{"-dir", "/a", "-json", "-namespace", "n", "search", "q"}, dir: "/a", namespace: "n", json: true, arguments: []string{"q"}},
		{name: "flags behind", line: []string{"search", "q", "-json", "r", "-dir=/a", "-namespace=n"}, dir: "/a", namespace: "n", json: true, arguments: []string{"q", "r"}},
		{name: "the later one counts", line: []string{"-dir", "/a", "search", "-dir", "/b", "q"}, dir: "/b", arguments: []string{"q"}},
		{name: "the end of flags", line: []string{"-dir", "/a", "search", "-json", "--", "-q", "-json"}, dir: "/a", json: true, arguments: []string{"-q", "-json"}},
		{name: "the environment", environment: "/e", line: []string{"search", "q"}, dir: "/e", arguments: []string{"q"}},
		{name: "a flag before the environment", environment: "/e", line: []string{"-dir", "/a", "search", "q"}, dir: "/a", arguments: []string{"q"}},
		{name: "the home directory", environment: "~/x", line: []string{"search", "q"}, dir: filepath.Join(home, "x"), arguments: []string{"q"}},
		{name: "a relative directory", line: []string{"search", "q", "-dir", "x~"}, dir: filepath.Join(here, "x~"), arguments: []string{"q"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := parse(test.line, func(string) string { return test.environment })
			if err != nil {
				t.Fatal(err)
			}
			namespace := ""
			if s.namespace != nil {
				namespace = *s.namespace
			}
			if s.dir != test.dir || namespace != test.namespace || s.json != test.json {
				t.Errorf("dir %q, namespace %q, json %t", s.dir, namespace, s.json)
			}
			if diff := cmp.Diff(test.arguments, s.arguments); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := parse([]string{"stats"}, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "CONVMEM_DIR") {
		t.Errorf("without a directory: %v", err)
	}
	if _, err := parse([]string{"stats", "-h"}, func(string) string { return "" }); !errors.Is(err, errHelp) {
		t.Errorf("help: %v", err)
	}
}

// TestManual: the package comment has every command and every flag.
func TestManual(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	manual, _, _ := strings.Cut(string(source), "\npackage main")
	flags := 0
	for _, c := range commands() {
		if entry := "//\t" + strings.TrimSpace(c.name+" "+c.arguments) + "  "; !strings.Contains(manual, entry) || !strings.Contains(manual, "  "+c.summary+"\n") {
			t.Errorf("the manual lacks %q and %q", entry, c.summary)
		}
		new(settings).flagSet(c).VisitAll(func(f *flag.Flag) {
			flags++
			if !strings.Contains(manual, "-"+f.Name) {
				t.Errorf("the manual lacks -%s of %s", f.Name, c.name)
			}
		})
	}
	if len(commands()) != 15 || flags < 50 {
		t.Errorf("%d commands, %d flags", len(commands()), flags)
	}
}
