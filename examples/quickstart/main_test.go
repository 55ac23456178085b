package main

import (
	"os"
	"strings"
	"testing"
)

// TestRun looks for each thing that the example promises to show.
func TestRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // Windows
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	heading, rest, _ := strings.Cut(out.String(), "\n")
	dir := strings.TrimPrefix(heading, "the store is in ")
	if files, err := os.ReadDir(dir); err != nil || len(files) == 0 {
		t.Errorf("%q names no directory with files: %v", heading, err)
	}
	if n := strings.Count(rest, "wrote 01"); n != 3 {
		t.Errorf("%d messages written", n)
	}
	if !strings.Contains(rest, "  Which database shall we use for the billing service?\n") {
		t.Error("the first search found nothing")
	}
	for heading, line := range map[string]string{
		`search "why postgresql?"`:    "PostgreSQL: billing needs transactions, and the team knows it.",
		`search "バックアップ"`:             "毎晩二時にバックアップを取り、三十日間保存します。",
		"history of billing":          "user       承知しました。データベースは毎晩バックアップしてください。",
		"context of the last message": "derived_from, incoming: Backups of the billing database run every night at two.",
	} {
		_, section, ok := strings.Cut(rest, "\n"+heading+"\n")
		section, _, _ = strings.Cut(section, "\n\n")
		if !ok || !strings.Contains(section, line) {
			t.Errorf("%s: lacks %q in\n%s", heading, line, section)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
