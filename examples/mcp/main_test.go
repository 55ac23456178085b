package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestParse(t *testing.T) {
	t.Setenv("HOME", "/home/somebody")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args string
		env  string
		want settings
		says string
	}{
		{"a flag", "-dir /a", "", settings{"/a", 65536}, ""},
		{"the environment", "", "/b", settings{"/b", 65536}, ""},
		{"both", "-dir /a", "/b", settings{"/a", 65536}, ""},
		{"an empty flag", "-dir=", "/b", settings{}, "no directory"},
		{"neither", "", "", settings{}, "give -dir DIR or set CONVMEM_DIR"},
		{"home", "-dir ~/memory", "", settings{"/home/somebody/memory", 65536}, ""},
		{"home in the environment", "", "~/memory", settings{"/home/somebody/memory", 65536}, ""},
		{"home itself", "-dir ~", "", settings{"/home/somebody", 65536}, ""},
		{"somebody else's home", "-dir ~root/x", "", settings{filepath.Join(here, "~root/x"), 65536}, ""},
		{"relative", "-dir x/../y", "", settings{filepath.Join(here, "y"), 65536}, ""},
		{"a size", "-dir /a -max-result-bytes 1000", "", settings{"/a", 1000}, ""},
		{"a size of nothing", "-dir /a -max-result-bytes 0", "", settings{}, "at least 1"},
		{"an unknown flag", "-directory /a", "", settings{}, "not defined"},
		{"an argument", "-dir /a /b", "", settings{}, "unexpected argument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			getenv := func(name string) string {
				if name != "CONVMEM_DIR" {
					t.Errorf("asks for %s", name)
				}
				return c.env
			}
			got, err := parse(strings.Fields(c.args), getenv, io.Discard)
			if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// program is the built command.
type program string

func build(t *testing.T) program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program(path)
}

// outcome is what one run left behind.
type outcome struct {
	replies map[string]string // texts of tool results, by id
	log     string
	code    int
}

// run gives the program lines and the end of its input.
func (p program) run(t *testing.T, args []string, lines ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), string(p), args...)
	cmd.Env = append(os.Environ(), "CONVMEM_DIR=")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o := outcome{replies: map[string]string{}, log: log.String(), code: cmd.ProcessState.ExitCode()}
	for line := range strings.Lines(out.String()) {
		id, text := decode(t, line)
		o.replies[id] = text
	}
	return o
}

// decode reads one line of output, which must be JSON-RPC.
func decode(t *testing.T, line string) (id, text string) {
	t.Helper()
	var r struct {
		JSONRPC string
		ID      any
		Result  struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.JSONRPC != "2.0" {
		t.Fatalf("no JSON-RPC on standard output: %q: %v", line, err)
	}
	for _, c := range r.Result.Content {
		text = c.Text
	}
	return fmt.Sprint(r.ID), text
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}`

func tool(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

const remember = `{"session_id":"s","role":"user","content":"we chose PostgreSQL"}`

func TestProgram(t *testing.T) {
	p := build(t)
	t.Run("no directory", func(t *testing.T) {
		o := p.run(t, nil, initialize)
		if o.code != 2 || len(o.replies) > 0 || !strings.Contains(o.log, "CONVMEM_DIR") {
			t.Errorf("exit code %d, %d replies: %s", o.code, len(o.replies), o.log)
		}
	})
	t.Run("a restart", p.restart)
	t.Run("small results", p.smallResults)
	t.Run("two at once", p.twoAtOnce)
	t.Run("a damaged store", p.damagedStore)
	t.Run("signals", p.signals)
	t.Run("a host that is gone", p.goneHost)
}

func (p program) restart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on demand")
	o := p.run(t, []string{"-dir", dir}, initialize, tool(1, "write_message", remember))
	if o.code != 0 || !strings.Contains(o.replies["1"], `"OK"`) {
		t.Fatalf("exit code %d, %v: %s", o.code, o.replies, o.log)
	}
	if strings.Count(o.log, "dir=") != 1 || !strings.Contains(o.log, dir) || strings.Contains(o.log, "PostgreSQL") {
		t.Errorf("the log: %s", o.log)
	}
	o = p.run(t, []string{"-dir", dir}, initialize, tool(1, "search_messages", `{"query":"postgresql"}`))
	if o.code != 0 || !strings.Contains(o.replies["1"], "we chose PostgreSQL") {
		t.Errorf("after a restart: exit code %d, %v: %s", o.code, o.replies, o.log)
	}
}

// smallResults asks for more than one result holds.
func (p program) smallResults(t *testing.T) {
	lines := []string{initialize}
	for i := range 4 {
		lines = append(lines, tool(i+1, "write_message", `{"session_id":"s","role":"user","content":"`+strings.Repeat("x", 20_000)+`"}`))
	}
	lines = append(lines, tool(5, "read_messages", `{"session_id":"s"}`))
	dir := t.TempDir()
	text := p.run(t, []string{"-dir", dir}, lines...).replies["5"]
	if len(text) > maxResultBytes || !strings.HasPrefix(text, `{"nextCursor":"`) {
		t.Errorf("a page of %d bytes: %.80s", len(text), text)
	}
	text = p.run(t, []string{"-dir", dir, "-max-result-bytes", "1000000"}, initialize, lines[5]).replies["5"]
	if len(text) < 80_000 || !strings.HasPrefix(text, `{"history":`) {
		t.Errorf("a page of %d bytes: %.80s", len(text), text)
	}
}

// twoAtOnce starts a second server on a directory: each sees what the other wrote.
func (p program) twoAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := p.start(t, dir), p.start(t, dir)
	for i, server := range []*process{first, second} {
		if text := server.ask(tool(1, "write_message", remember)); !strings.Contains(text, `"OK"`) {
			t.Fatalf("server %d: %s", i, text)
		}
	}
	for i, server := range []*process{first, second} {
		if text := server.ask(tool(2, "get_system_health", `{}`)); !strings.Contains(text, `"active_messages":2,`) {
			t.Errorf("server %d: %s", i, text)
		}
	}
	first.end(t)
	second.end(t)
}

// process is a program that runs.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (p program) start(t *testing.T, dir string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), string(p), "-dir", dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &process{t, cmd, in, bufio.NewReader(out)}
	r.ask(initialize)
	return r
}

// ask sends a call and returns the text of its result.
func (r *process) ask(call string) string {
	r.t.Helper()
	if _, err := io.WriteString(r.in, call+"\n"); err != nil {
		r.t.Fatal(err)
	}
	line, err := r.out.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	_, text := decode(r.t, line)
	return text
}

func (r *process) end(t *testing.T) {
	t.Helper()
	r.in.Close()
	if err := r.cmd.Wait(); err != nil {
		t.Error(err)
	}
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

// damagedStore spoils the first bytes of the log. The server starts, every tool
// says why it cannot work, and no file changes.
func (p program) damagedStore(t *testing.T) {
	dir := t.TempDir()
	p.run(t, []string{"-dir", dir}, initialize, tool(1, "write_message", remember))
	logs, err := filepath.Glob(filepath.Join(dir, "convmem-*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("log files: %v, %v", logs, err)
	}
	data, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	data[20] ^= 1
	if err := os.WriteFile(logs[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	o := p.run(t, []string{"-dir", dir}, initialize,
		tool(1, "write_message", remember), tool(2, "read_messages", `{"view":"sessions"}`), tool(3, "search_messages", `{"query":"q"}`),
		tool(4, "get_system_health", `{}`), tool(5, "rebuild_index", `{}`))
	for id := 1; id <= 5; id++ {
		if text := o.replies[fmt.Sprint(id)]; !strings.Contains(text, `"CORRUPT_STORE"`) || strings.Contains(text, dir) {
			t.Errorf("call %d: %s", id, text)
		}
	}
	if o.code != 0 || !maps.Equal(before, contents(t, dir)) {
		t.Errorf("exit code %d, files unchanged: %t", o.code, maps.Equal(before, contents(t, dir)))
	}
}

func (p program) signals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		dir := t.TempDir()
		r := p.start(t, dir)
		r.ask(tool(1, "write_message", remember))
		if err := r.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(r.out); len(rest) > 0 || err != nil {
			t.Errorf("%v: %q, %v", signal, rest, err)
		}
		if err := r.cmd.Wait(); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
		o := p.run(t, []string{"-dir", dir}, initialize, tool(1, "get_system_health", `{}`))
		if text := o.replies["1"]; !strings.Contains(text, `"active_messages":1,`) || !strings.Contains(text, `"recovered_tail":false`) {
			t.Errorf("%v: the store afterwards: %s", signal, text)
		}
	}
}

// goneHost closes the output before the first answer. The server ends in good
// order and says that nobody listened.
func (p program) goneHost(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), string(p), "-dir", dir)
	cmd.Stdin = strings.NewReader(initialize + "\n" + tool(1, "write_message", remember) + "\n")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(log.String(), "write answers") {
		t.Errorf("ended with %v: %s", err, &log)
	}
}
