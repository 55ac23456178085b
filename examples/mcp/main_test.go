package main

import (
	"bytes"
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

// outcome is what one run left behind.
type outcome struct {
	lines   []string          // of standard output
	replies map[string]string // texts of tool results, by id
	log     string
	code    int
}

// run gives the program lines and the end of its input.
func (p program) run(t *testing.T, args []string, lines ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), string(p), args...)
	cmd.Env = environment()
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
		o.lines, o.replies[id] = append(o.lines, line), text
	}
	return o
}

// decode is decodeLine for the goroutine of a test.
func decode(t *testing.T, line string) (id, text string) {
	t.Helper()
	id, text, err := decodeLine(line)
	if err != nil {
		t.Fatal(err)
	}
	return id, text
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

// process is a server that a test alone talks to.
type process struct {
	t *testing.T
	*server
}

func (p program) start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	s, err := p.launch(t.Context(), dir, args...)
	if err == nil {
		err = s.greet()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &process{t, s}
}

// ask sends a call and returns the text of its result.
func (r *process) ask(call string) string {
	r.t.Helper()
	text, err := r.exchange(call)
	if err != nil {
		r.t.Fatal(err)
	}
	return text
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

// spoil damages the header of the log in a directory.
func spoil(t *testing.T, dir string) {
	t.Helper()
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
}

// damagedStore spoils the first bytes of the log. The server starts, every tool
// says why it cannot work, and no file changes.
func (p program) damagedStore(t *testing.T) {
	dir := t.TempDir()
	p.run(t, []string{"-dir", dir}, initialize, tool(1, "write_message", remember))
	spoil(t, dir)
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
