package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// commandVariable makes the test binary be the command.
const commandVariable = "CONVMEM_TEST_BE_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// outcome is what a process left behind.
type outcome struct {
	out, log string
	code     int
}

// process makes a process of the command.
func process(ctx context.Context, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], arguments...)
	// The race detector would hold up the end of each process for a second.
	cmd.Env = append(environment(), commandVariable+"=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}

func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CONVMEM_") })
}

// convmemOn runs the command on a store, with something on its standard input.
func convmemOn(t *testing.T, dir, input string, arguments ...string) outcome {
	t.Helper()
	cmd := process(t.Context(), arguments...)
	cmd.Env = append(cmd.Env, "CONVMEM_DIR="+dir)
	cmd.Stdin = strings.NewReader(input)
	return finish(t, cmd)
}

func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{out.String(), log.String(), cmd.ProcessState.ExitCode()}
}

// must runs the command, which must end with 0 and a silent log.
func must(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	o := convmemOn(t, dir, "", arguments...)
	if o.code != 0 || o.log != "" {
		t.Fatalf("convmem %q: exit code %d: %s", arguments, o.code, o.log)
	}
	return o.out
}

// hostile is content that drives a terminal and turns text round.
const hostile = "hostile \x1b]0;owned\a \u009b2J \u202eback\u202c \x7f\n\tend"

// sampleStore makes a store whose ids and times are always the same, and returns
// the ids by content.
func sampleStore(t *testing.T) (dir string, ids map[string]string) {
	t.Helper()
	dir, ids = filepath.Join(t.TempDir(), "store"), map[string]string{}
	db := open(t, dir, &convmem.Options{Now: sampleClock(), Entropy: rand.NewChaCha8([32]byte{1})})
	write := func(s convmem.Store, r convmem.WriteRequest) string {
		result, err := s.Write(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		ids[r.Content] = result.Message.ID
		return result.Message.ID
	}
	first := write(db, convmem.WriteRequest{SessionID: "monday", Role: convmem.RoleUser, Content: "Which database shall we use?"})
	write(db, convmem.WriteRequest{
		SessionID: "monday", Role: convmem.RoleAssistant, Content: "PostgreSQL.",
		Metadata: convmem.MetadataPatch{
			Kind: convmem.KindSemantic, Tier: convmem.TierLong, Tags: []string{"database", "decision"}, Importance: new(80),
			Summary: new("the choice of a database"), ToolCallID: new("call-1"),
			Relations:        []convmem.Relation{{Type: convmem.RelationDerivedFrom, MessageID: first}},
			SourceMessageIDs: []string{first}, OccurredAt: time.UnixMilli(1_700_000_000_000),
		},
		Payload: convmem.Payload{Type: "application/octet-stream", Data: []byte{0, 1, 2}},
	})
	write(db, convmem.WriteRequest{SessionID: "monday", Role: convmem.RoleUser, Content: strings.Repeat("長い話 ", 40)})
	write(db, convmem.WriteRequest{SessionID: "odd", Role: convmem.RoleTool, Content: hostile})
	write(db.Namespace("tenant"), convmem.WriteRequest{SessionID: "monday", Role: convmem.RoleUser, Content: "A database of tenants."})
	write(db.Namespace("tenant"), convmem.WriteRequest{SessionID: "tuesday", Role: convmem.RoleUser, Content: "Nothing else."})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, ids
}

// sampleClock goes on by a second at each look.
func sampleClock() func() time.Time {
	now := time.UnixMilli(1_750_000_000_000)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func open(t *testing.T, dir string, o *convmem.Options) *convmem.DB {
	t.Helper()
	db, err := convmem.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// contents reads every file under dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// unchanged runs something that must not change a byte in dir, nor add a file.
func unchanged(t *testing.T, dir string, run func()) {
	t.Helper()
	before := contents(t, dir)
	run()
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("the store was changed (-before +after):\n%s", diff)
	}
}

// logFile returns the path of a store's log.
func logFile(t *testing.T, dir string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "convmem-*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("log files: %v, %v", logs, err)
	}
	return logs[0]
}

// spoil flips a bit of what find finds in the log.
func spoil(t *testing.T, dir string, find func(log []byte) int) {
	t.Helper()
	path := logFile(t, dir)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := find(data)
	if at < 0 {
		t.Fatal("not in the log")
	}
	data[at] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func text(s string) func(log []byte) int {
	return func(log []byte) int { return bytes.Index(log, []byte(s)) }
}
