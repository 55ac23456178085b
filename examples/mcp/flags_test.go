package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// toolNames are those in a response to listTools, which has them in order.
func toolNames(t *testing.T, line string) []string {
	t.Helper()
	var response struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(line), &response); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	var names []string
	for _, tool := range response.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// TestReadOnly: three tools, over both transports, and no file changes, neither
// in what it says nor in when it was written.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	p, dir := build(t), t.TempDir()
	killed := p.start(t, dir) // leaves something that whoever opens the store for writing tidies up
	killed.ask(tool(1, "write_message", remember))
	killProcess(killed.cmd.Process.Pid)
	_ = killed.cmd.Wait() // it was killed
	before := state(t, dir)
	want := []string{"get_system_health", "read_messages", "search_messages"}

	o := p.run(t, []string{"-dir", dir, "-read-only"}, initialize, listTools,
		tool(2, "write_message", remember), tool(3, "search_messages", `{"query":"postgresql"}`))
	if diff := cmp.Diff(want, toolNames(t, find(t, o.lines, `"id":1,`))); diff != "" {
		t.Errorf("over stdio (-want +got):\n%s", diff)
	}
	if line := find(t, o.lines, `"id":2,`); !strings.Contains(line, "unknown tool") {
		t.Errorf("a write: %s", line)
	}
	if !strings.Contains(o.replies["3"], "we chose PostgreSQL") || o.code != 0 {
		t.Errorf("a search: %s, exit code %d", o.replies["3"], o.code)
	}

	s := p.serve(t, dir, "", "-read-only")
	if diff := cmp.Diff(want, toolNames(t, s.send(http.MethodPost, "/mcp", listTools).body)); diff != "" {
		t.Errorf("over HTTP (-want +got):\n%s", diff)
	}
	if r := s.send(http.MethodPost, "/mcp", tool(1, "rebuild_index", `{}`)); !strings.Contains(r.body, "unknown tool") {
		t.Errorf("a rebuild: %+v", r)
	}
	if text := s.call("read_messages", `{"session_id":"s"}`); !strings.Contains(text, "we chose PostgreSQL") {
		t.Errorf("a history: %s", text)
	}
	if r := s.send(http.MethodGet, "/healthz", ""); r.status != 200 {
		t.Errorf("healthz: %+v", r)
	}
	s.stop()
	if diff := cmp.Diff(before, state(t, dir)); diff != "" {
		t.Errorf("the directory has changed (-before +after):\n%s", diff)
	}
}

// state is all of a directory: names, contents, times and modes.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := contents(t, dir)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			all[path] += fmt.Sprint(info.ModTime(), info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// find returns the one line that holds a text.
func find(t *testing.T, lines []string, text string) string {
	t.Helper()
	found := ""
	for _, line := range lines {
		if strings.Contains(line, text) {
			if found != "" {
				t.Fatalf("%q stands in two lines", text)
			}
			found = line
		}
	}
	return found
}

// TestReadOnlyWithoutStore: nothing is made, and what somebody else makes later
// is found.
func TestReadOnlyWithoutStore(t *testing.T) {
	t.Parallel()
	p, dir := build(t), filepath.Join(t.TempDir(), "not", "yet")
	reader := p.start(t, dir, "-read-only")
	for range 2 {
		if a, err := reader.call("read_messages", arguments{"view": "sessions"}); err != nil || a.Error.Code != "IO_ERROR" {
			t.Errorf("without a directory: %v, %v", a, err)
		}
	}
	if _, err := os.Stat(filepath.Dir(dir)); !os.IsNotExist(err) {
		t.Errorf("the directory: %v", err)
	}
	p.run(t, []string{"-dir", dir}, initialize, tool(1, "write_message", remember))
	if found := reader.search(t, "postgresql"); len(found) != 1 {
		t.Errorf("found %q", found)
	}
	reader.close(t)
}

func TestTools(t *testing.T) {
	t.Parallel()
	p, dir := build(t), t.TempDir()
	o := p.run(t, []string{"-dir", dir, "-tools", "search_messages,write_message"}, initialize, listTools)
	if diff := cmp.Diff([]string{"search_messages", "write_message"}, toolNames(t, find(t, o.lines, `"id":1,`))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	o = p.run(t, []string{"-dir", dir, "-tools", "search"}, initialize)
	if o.code != 2 || len(o.lines) > 0 || !strings.Contains(o.log, `"search": want some of write_message,update_message,read_messages,search_messages,delete_message,rebuild_index,get_system_health`) {
		t.Errorf("exit code %d: %s", o.code, o.log)
	}
}

// TestLogLevel: debug tells of each call and nothing of what was in it; warn
// tells nothing when all is well.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	p, dir := build(t), t.TempDir()
	calls := []string{initialize, tool(1, "write_message", remember), tool(2, "search_messages", `{"query":"postgresql"}`),
		tool(3, "update_message", `{"message_id":"PostgreSQL","content":"PostgreSQL"}`), `{"PostgreSQL":1}`, `PostgreSQL`}
	o := p.run(t, []string{"-dir", dir, "-log-level", "debug"}, calls...)
	if strings.Contains(strings.ToLower(o.log), "postgresql") {
		t.Errorf("the log tells too much:\n%s", o.log)
	}
	for _, record := range []string{`msg="tool call" tool=write_message code=""`, `msg="tool call" tool=search_messages code=""`, `msg="tool call" tool=update_message code=VALIDATION_ERROR`} {
		if strings.Count(o.log, record) != 1 {
			t.Errorf("%s is not there once:\n%s", record, o.log)
		}
	}
	if o = p.run(t, []string{"-dir", dir, "-log-level", "warn"}, calls[:4]...); o.log != "" {
		t.Errorf("at warn the log says:\n%s", o.log)
	}
	s := p.serve(t, dir, secretToken, "-log-level", "debug")
	s.call("write_message", remember, "Authorization: Bearer "+secretToken)
	s.send(http.MethodPost, "/mcp", "PostgreSQL", "Authorization: Bearer "+secretToken)
	s.send(http.MethodPost, "/mcp", tool(1, "write_message", remember), "Authorization: Bearer not"+secretToken, "X-Request-Id: PostgreSQL and more")
	if log := s.stop(); strings.Count(log, `msg="tool call" tool=write_message`) != 1 { // stop looks at the rest
		t.Errorf("the log:\n%s", log)
	}
}
