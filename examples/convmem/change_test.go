package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// document decodes the one JSON document of an output.
func document(t *testing.T, text string) map[string]any {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return d
}

// TestDryRun: -dry-run changes no byte, and says what the command then does.
func TestDryRun(t *testing.T) {
	dir, ids := sampleStore(t)
	all := filepath.Join(t.TempDir(), "all.jsonl")
	must(t, dir, "export", "-o", all)
	updatedAt := cmpopts.IgnoreMapEntries(func(key string, _ any) bool {
		return key == "status" || key == "updated_at" || key == "rebuild" || key == "proven" || key == "searched"
	})
	for _, arguments := range [][]string{
		{"edit", "-revision", "1", "-content", "new", ids["PostgreSQL."]},
		{"edit", "-revision", "2", "-content", "new", ids["PostgreSQL."]},
		{"delete", ids["PostgreSQL."]},
		{"forget", "monday"},
		{"forget", "-all", "-namespace", "tenant"},
		{"import", all},
		{"import", all},
	} {
		t.Run(strings.Join(arguments, " "), func(t *testing.T) {
			var planned map[string]any
			unchanged(t, dir, func() {
				planned = document(t, must(t, dir, append([]string{"-json", "-dry-run"}, arguments...)...))
			})
			did := document(t, must(t, dir, append([]string{"-json"}, arguments...)...))
			if planned["status"] != "DRY_RUN" || did["status"] != "OK" {
				t.Errorf("status %v, then %v", planned["status"], did["status"])
			}
			if diff := cmp.Diff(did, planned, updatedAt); diff != "" {
				t.Errorf("what was planned is not what was done (-did +planned):\n%s", diff)
			}
		})
	}
}

// TestDryRunOfRebuild: the bytes that a dry run announces are about those that go.
func TestDryRunOfRebuild(t *testing.T) {
	dir, ids := sampleStore(t)
	must(t, dir, "edit", "-revision", "1", "-content", strings.Repeat("x", 9000), ids["PostgreSQL."])
	must(t, dir, "delete", ids["PostgreSQL."])
	var planned map[string]any
	unchanged(t, dir, func() { planned = document(t, must(t, dir, "rebuild", "-json", "-dry-run")) })
	did := document(t, must(t, dir, "rebuild", "-json"))
	removed := did["bytes_before"].(float64) - did["bytes_after"].(float64)
	if dead := planned["dead_bytes"].(float64); dead < 9000 || removed < 9000 || dead < removed*0.9 || dead > removed*1.1 {
		t.Errorf("%v bytes announced, %v removed", dead, removed)
	}
	if planned["bytes_before"] != did["bytes_before"] || planned["update_records"] != 1.0 || planned["deleted_messages"] != 1.0 {
		t.Errorf("planned %v, did %v", planned, did)
	}
}

// TestDryRunsThatFail fail as the command would, and change nothing either.
func TestDryRunsThatFail(t *testing.T) {
	dir, ids := sampleStore(t)
	id := ids["PostgreSQL."]
	unchanged(t, dir, func() {
		for _, arguments := range [][]string{
			{"edit", "-revision", "7", "-content", "new", id},
			{"edit", "-revision", "1", "-content", "", id},
			{"edit", "-revision", "1", "-content", "new", "-namespace", "tenant", id},
			{"edit", "-revision", "1", "-content", "new", "no id"},
			{"delete", "-namespace", "tenant", id},
		} {
			planned := convmemOn(t, dir, "", append([]string{"-dry-run", "-json"}, arguments...)...)
			did := convmemOn(t, dir, "", append([]string{"-json"}, arguments...)...)
			same := document(t, planned.log)["error"].(map[string]any)["code"] == document(t, did.log)["error"].(map[string]any)["code"]
			if planned.code == 0 || planned.code != did.code || !same || planned.out != "" {
				t.Errorf("%q: exit code %d, %s then %d, %s", arguments, planned.code, planned.log, did.code, did.log)
			}
		}
	})
}

// TestReadingChangesNothing: commands that read change no file, and neither do
// those that change where there is no store.
func TestReadingChangesNothing(t *testing.T) {
	dir, ids := sampleStore(t)
	out := t.TempDir()
	unchanged(t, dir, func() {
		for _, arguments := range [][]string{
			{"stats"}, {"namespaces"}, {"sessions"}, {"history", "monday"}, {"show", ids["PostgreSQL."]}, {"search", "database"},
			{"export"}, {"backup", filepath.Join(out, "copy")}, {"verify"}, {"salvage", dir, filepath.Join(out, "saved")},
		} {
			must(t, dir, arguments...)
		}
	})
	missing := filepath.Join(out, "missing")
	for _, command := range []string{
		"rebuild", "stats", "forget x", "delete " + ids["PostgreSQL."], "edit -revision 1 -content x " + ids["PostgreSQL."],
	} {
		convmemOn(t, missing, "", strings.Fields(command)...)
		if _, err := os.Stat(missing); !os.IsNotExist(err) {
			t.Errorf("convmem %s made a store: %v", command, err)
		}
	}
}

// TestContentOfEdit: the content is taken byte for byte from wherever it is.
func TestContentOfEdit(t *testing.T) {
	const content = " two\r\nlines, ünï\x00 \n\n"
	file := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, ids := sampleStore(t)
	id := ids["PostgreSQL."]
	for i, test := range []struct {
		input     string
		arguments []string
	}{
		{content, nil}, {content, []string{"-file", "-"}}, {"not this", []string{"-file", file}},
	} {
		o := convmemOn(t, dir, test.input, append([]string{"edit", "-revision", fmt.Sprint(2*i + 1), id}, test.arguments...)...)
		if o.code != 0 {
			t.Fatalf("%q: %s", test.arguments, o.log)
		}
		if got := document(t, must(t, dir, "show", "-json", id))["content"]; got != content {
			t.Errorf("%q: %q", test.arguments, got)
		}
		must(t, dir, "edit", "-revision", fmt.Sprint(2*i+2), "-content", "something else", id)
	}
	// As long as may be, and one byte more.
	if o := convmemOn(t, dir, strings.Repeat("x", convmem.MaxContentBytes), "edit", "-revision", "7", id); o.code != 0 {
		t.Errorf("exit code %d: %s", o.code, o.log)
	}
	if o := convmemOn(t, dir, strings.Repeat("y", convmem.MaxContentBytes+1), "edit", "-revision", "8", id); o.code != 2 || !strings.Contains(o.log, "1048576") {
		t.Errorf("exit code %d: %.200s", o.code, o.log)
	}
}
