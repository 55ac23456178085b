package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// hostVariable makes the test binary a host that starts the program, which
// programVariable names, over stdio, gets into the state that the value names, and
// stays there until it is killed.
const (
	hostVariable    = "CONVMEM_TEST_HOST"
	programVariable = "CONVMEM_TEST_PROGRAM"
)

// longReads is how many answers of maxResultBytes are more than pipes hold.
const longReads = 40

var hostStates = []struct {
	name string
	get  func(in io.Writer, out *bufio.Reader) error
}{
	{"it waits for its user", func(io.Writer, *bufio.Reader) error { return nil }},
	{"it has written half a line", func(in io.Writer, _ *bufio.Reader) error {
		_, err := io.WriteString(in, tool(2, "write_message", remember)[:60])
		return err
	}},
	{"it does not read", func(in io.Writer, out *bufio.Reader) error {
		for i := range longReads {
			if _, err := io.WriteString(in, tool(10+i, "read_messages", `{"session_id":"s"}`)+"\n"); err != nil {
				return err
			}
		}
		_, err := out.ReadByte() // the server writes
		return err
	}},
}

// beHost is the life of a host. It says the process id of its server.
func beHost(state, dir string) error {
	cmd := exec.Command(os.Getenv(programVariable), "-dir", dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Println(cmd.Process.Pid)
	long := strings.Repeat("x", maxResultBytes-1000)
	lines := []string{initialize, tool(1, "write_message", `{"session_id":"s","role":"user","content":"`+long+`"}`)}
	if _, err := io.WriteString(in, strings.Join(lines, "\n")+"\n"); err != nil {
		return err
	}
	out := bufio.NewReader(output)
	for range lines {
		if _, err := out.ReadString('\n'); err != nil {
			return err
		}
	}
	for _, s := range hostStates {
		if s.name == state {
			if err := s.get(in, out); err != nil {
				return err
			}
		}
	}
	fmt.Println("killable")
	_, err = os.Stdin.Read(make([]byte, 1)) // which never comes
	return err
}

// TestKilledHost kills hosts with signal 9. Their servers end by themselves, and
// what they acknowledged is there.
func TestKilledHost(t *testing.T) {
	t.Parallel()
	p := build(t)
	for _, state := range hostStates {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			p.killHost(t, state.name)
		})
	}
}

func (p program) killHost(t *testing.T, state string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	host := exec.CommandContext(t.Context(), self)
	host.Env = append(environment(), hostVariable+"="+state, directoryVariable+"="+dir, programVariable+"="+string(p))
	log := shareLog(t, host)
	if _, err := host.StdinPipe(); err != nil { // stays open
		t.Fatal(err)
	}
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	host.Stderr.(*os.File).Close() // now only the host and its server can write the log
	var pid int
	var word string
	if _, err := fmt.Fscan(out, &pid, &word); err != nil || word != "killable" {
		t.Fatalf("the host says %d %q, %v", pid, word, err)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(log)
	if err != nil {
		killProcess(pid)
		t.Errorf("the server lives on: %v", err)
	}
	_ = host.Wait() // it was killed
	o := p.run(t, []string{"-dir", dir}, initialize, tool(1, "get_system_health", `{}`))
	if health := o.replies["1"]; !strings.Contains(health, `"active_messages":1,`) || !strings.Contains(health, `"recovered_tail":false`) {
		t.Errorf("the store afterwards: %s; the log of the server:\n%s", health, text)
	}
}

// shareLog gives a command a standard error that its children inherit. It ends
// for the reader when all of them have ended.
func shareLog(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	if err := read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = write
	return read
}

// killProcess ends what a failed test leaves behind.
func killProcess(pid int) {
	if process, err := os.FindProcess(pid); err == nil {
		_ = process.Kill() // or it has ended meanwhile
	}
}
