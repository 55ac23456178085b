package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/convmem"
)

// TestExitCodes: every code, and an error that says what would be right and holds
// no content.
func TestExitCodes(t *testing.T) {
	dir, ids := sampleStore(t)
	id, other := ids["PostgreSQL."], "01JXT21SXRE9TDCW44SAQGW000"
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte("secret words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	conflicting := filepath.Join(t.TempDir(), "conflicting.jsonl")
	if err := os.WriteFile(conflicting, []byte(`{"message_id":"`+id+`","session_id":"monday","role":"user","content":"secret words"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, command string
		code          int
		says          string // text of the error
	}{
		{"nothing", "", 2, "convmem -h"},
		{"an unknown command", "remember", 2, "remember"},
		{"an unknown flag", "stats -loud", 2, "convmem stats -h"},
		{"an unknown flag before the command", "-loud stats", 2, "convmem -h"},
		{"a flag that means nothing", "-namespace x verify", 2, "-namespace: means nothing to verify"},
		{"a dry run of reading", "-dry-run stats", 2, "-dry-run: means nothing"},
		{"a directory for salvage", "-dir x salvage a b", 2, "-dir: means nothing"},
		{"too few arguments", "history", 2, "convmem history SESSION"},
		{"too many arguments", "show a b", 2, "convmem show MESSAGE_ID"},
		{"a negative limit", "sessions -limit -1", 2, "limit"},
		{"too great a limit", "search -limit 101 x", 2, "at most 100"},
		{"no id", "show monday", 2, "message_id"},
		{"an unknown kind", "search -kind thought x", 2, "kind"},
		{"no revision", "edit -content secret " + id, 2, "convmem show"},
		{"content twice", "edit -revision 1 -content secret -file x " + id, 2, "-content"},
		{"no content", "edit -revision 1 -content= " + id, 2, "content"},
		{"nothing to forget", "forget", 2, "-all"},
		{"all of no namespace", "forget -all", 2, "-namespace NAME"},
		{"all and one", "forget -all -namespace x monday", 2, "one of them"},
		{"a bad name", "history -namespace " + strings.Repeat("x", 257) + " monday", 2, "namespace"},
		{"a bad wait", "rebuild -wait soon", 2, "wait"},
		{"a line that is no message", "import " + bad, 2, "line 1"},
		{"a line that is no message, in a dry run", "import -dry-run " + bad, 2, "line 1"},
		{"salvage of nothing", "salvage " + t.TempDir() + " " + filepath.Join(t.TempDir(), "new"), 2, "from"},
		{"an unknown session", "history friday", 3, "convmem sessions"},
		{"an unknown message", "show " + other, 3, "message_id"},
		{"nothing to delete", "delete " + other, 3, "message_id"},
		{"no store", "-dir " + t.TempDir() + " stats", 3, "convmem import"},
		{"no directory", "-dir " + filepath.Join(t.TempDir(), "none") + " rebuild", 3, "convmem import"},
		{"another revision", "edit -revision 5 -content secret " + id, 4, "revision 1"},
		{"a line that contradicts", "import " + conflicting, 4, "line 1"},
		{"a missing file", "import " + bad + ".gone", 1, "opening"},
		{"no place for a file", "export -o " + bad + "/x", 1, "file"},
		{"a device", "export -o " + os.DevNull, 2, "no regular file"},
		{"help", "help", 0, ""},
		{"help of a command", "search -h", 0, ""},
		{"no hits", "search xylophone", 0, ""},
		{"no sessions", "sessions -namespace none", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, flags := range [][]string{nil, {"-json"}} {
				o := convmemOn(t, dir, "", append(flags, strings.Fields(test.command)...)...)
				if o.code != test.code || !strings.Contains(o.log, test.says) || strings.Contains(o.log, "secret") {
					t.Errorf("%q: exit code %d, want %d; the log lacks %q or says too much: %s", flags, o.code, test.code, test.says, o.log)
				}
				if test.code == 0 {
					continue
				}
				if flags != nil && document(t, o.log)["status"] != "ERROR" || strings.Count(o.log, "\n") != 1 {
					t.Errorf("no single error: %s", o.log)
				}
			}
		})
	}
}

// TestBusy: while another process has the store for itself, changes end with 5 and
// reads work.
func TestBusy(t *testing.T) {
	dir, ids := sampleStore(t)
	open(t, dir, &convmem.Options{Exclusive: true})
	o := convmemOn(t, dir, "", "delete", "-wait", "1ms", ids["PostgreSQL."])
	if o.code != 5 || !strings.Contains(o.log, "-wait") {
		t.Errorf("exit code %d: %s", o.code, o.log)
	}
	if out := must(t, dir, "delete", "-dry-run", ids["PostgreSQL."]); !strings.Contains(out, "would delete") {
		t.Error(out)
	}
	must(t, dir, "history", "monday")
}

// TestBesideAnother: another process that has the store open sees what the command
// does, and the command what that one did.
func TestBesideAnother(t *testing.T) {
	dir, ids := sampleStore(t)
	db := open(t, dir, nil)
	written, err := db.Write(t.Context(), convmem.WriteRequest{SessionID: "beside", Role: convmem.RoleUser, Content: "one"})
	if err != nil {
		t.Fatal(err)
	}
	must(t, dir, "edit", "-revision", "1", "-content", "two", written.Message.ID)
	must(t, dir, "delete", ids["PostgreSQL."])
	must(t, dir, "rebuild")
	found, err := convmem.Context(t.Context(), db, convmem.ContextRequest{MessageID: written.Message.ID})
	if err != nil || found.Message.Content != "two" || found.Message.Revision != 2 {
		t.Errorf("%+v, %v", found.Message, err)
	}
	if _, err := convmem.Context(t.Context(), db, convmem.ContextRequest{MessageID: ids["PostgreSQL."]}); convmem.CodeOf(err) != convmem.CodeNotFound {
		t.Errorf("a deleted message: %v", err)
	}
	if _, err := db.Write(t.Context(), convmem.WriteRequest{SessionID: "beside", Role: convmem.RoleUser, Content: "three"}); err != nil {
		t.Fatal(err)
	}
	if out := must(t, dir, "history", "beside"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "three") {
		t.Error(out)
	}
}
