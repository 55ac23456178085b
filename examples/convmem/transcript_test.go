package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the command says to testdata/transcript.txt")

// TestTranscript runs every command, for people and with -json, over a store of
// fixed ids and times, and compares all that it says with testdata/transcript.txt.
func TestTranscript(t *testing.T) {
	dir, ids := sampleStore(t)
	t.Chdir(t.TempDir())
	answer, odd := ids["PostgreSQL."], ids[hostile]
	var transcript strings.Builder
	for _, arguments := range [][]string{
		{"stats"}, {"stats", "-namespace", "tenant"}, {"stats", "-json"},
		{"namespaces"}, {"namespaces", "-json"},
		{"sessions"}, {"sessions", "-namespace", "tenant", "-limit", "1"}, {"sessions", "-json"},
		{"history", "monday"}, {"history", "monday", "-newest", "-limit", "2"}, {"history", "-json", "odd"}, {"history", "odd"},
		{"show", answer}, {"show", odd}, {"show", "-json", answer}, {"show", "-namespace", "tenant", answer},
		{"search", "database"}, {"search", "-tag", "decision", "-kind", "semantic", "choice", "of", "database"}, {"search", "-json", "-session", "odd", "owned"},
		{"edit", "-dry-run", "-revision", "1", "-content", "SQLite.", answer},
		{"edit", "-revision", "1", "-content", "SQLite.", answer},
		{"edit", "-revision", "1", "-content", "MySQL.", answer},
		{"edit", "-json", "-revision", "1", "-content", "MySQL.", answer},
		{"edit", "-revision", "2", "-content", "SQLite.", answer},
		{"edit", "-json", "-revision", "2", "-content", "SQLite!", answer},
		{"delete", "-dry-run", odd}, {"delete", odd}, {"delete", odd}, {"delete", "-json", odd},
		{"rebuild", "-dry-run"}, {"rebuild", "-json", "-dry-run"}, {"rebuild"}, {"rebuild", "-json"},
		{"export", "-o", "all.jsonl"}, {"export", "-json", "-o", "all.jsonl"},
		{"export", "-namespace", "tenant"},
		{"backup", "copy"}, {"backup", "copy"}, {"backup", "-json", "copy2"},
		{"forget", "-dry-run", "monday"}, {"forget", "monday"}, {"forget", "-json", "monday"},
		{"forget", "-all", "-dry-run", "-namespace", "tenant"}, {"forget", "-json", "-all", "-namespace", "tenant"},
		{"import", "-dry-run", "all.jsonl"}, {"import", "all.jsonl"}, {"import", "-json", "all.jsonl"},
		{"verify"}, {"verify", "-json"},
		{"salvage", "copy", "saved"}, {"salvage", "-json", "copy", "saved2"},
		{"-h"}, {"edit", "-h"},
	} {
		o := convmemOn(t, dir, "", arguments...)
		fmt.Fprintf(&transcript, "$ convmem %s\n%s%s", quoted(arguments), o.out, o.log)
		if o.code != 0 {
			fmt.Fprintf(&transcript, "exit code %d\n", o.code)
		}
		transcript.WriteString("\n")
	}
	compare(t, "transcript.txt", normalised(transcript.String()))
}

func quoted(arguments []string) string {
	words := make([]string, len(arguments))
	for i, word := range arguments {
		if words[i] = word; word == "" || strings.ContainsAny(word, ` "'`) {
			words[i] = fmt.Sprintf("%q", word)
		}
	}
	return strings.Join(words, " ")
}

// normalised replaces what differs from run to run: the times of changes made by
// the command, and the sizes of what has a format of its own.
func normalised(text string) string {
	for _, r := range []struct{ pattern, by string }{
		{`"updated_at":17[6-9]\d+`, `"updated_at":TIME`},
		{`("(?:[a-z_]+_bytes|log_size|snapshot_size|bytes_before|bytes_after|bytes)"):[1-9]\d*`, `$1:N`},
		{`(snapshot|memory|log)( +(?:about )?)\d+ bytes`, `$1${2}N bytes`},
		{`\d+( bytes before)`, `N$1`}, {`\d+( after)`, `N$1`}, {`about \d+ of \d+ bytes`, `about N of N bytes`},
		{`removes about \d+`, `removes about N`}, {`(entries|messages), \d+ bytes`, `$1, N bytes`},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.by)
	}
	return text
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(packageDir, "testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", name, diff)
	}
}

// packageDir is the directory of the tests: some change theirs.
var packageDir = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}()
