package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"example.com/convmem"
)

// childVariable makes the test binary a server. Its value says what becomes of
// a write when a signal has come.
const childVariable = "CONVMEM_TEST_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childVariable); mode != "" {
		os.Exit(child(mode))
	}
	os.Exit(m.Run())
}

func child(mode string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var store convmem.Store = newModel()
	if mode != "plain" {
		store = &interrupted{store, ctx, mode}
	}
	if err := ServeStdio(ctx, store, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// interrupted is a Store whose writes last until a signal comes, or longer.
type interrupted struct {
	convmem.Store
	signal context.Context
	mode   string
}

func (s *interrupted) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	fmt.Fprintln(os.Stderr, "writing")
	<-s.signal.Done()
	if s.mode == "hang" {
		select {}
	}
	return s.Store.Write(ctx, r)
}

func childCommand(t *testing.T, mode string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childVariable+"="+mode)
	return cmd
}

// TestOneShot pipes a script into a server, as a shell does.
func TestOneShot(t *testing.T) {
	lines := []string{initialize, initialized}
	for i := range 20 {
		lines = append(lines, writeCall(i, "s", fmt.Sprint("content ", i)))
	}
	cmd := childCommand(t, "plain")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%v, on standard error: %s", err, &complaints)
	}
	h := &host{TB: t, out: bufio.NewReader(bytes.NewReader(out))}
	for id, r := range h.collect(21) {
		if id != "init" && !strings.Contains(r.text(), `"OK"`) {
			t.Errorf("call %v: %+v", id, r)
		}
	}
	if r, err := h.read(); err != io.EOF {
		t.Errorf("after the answers: %+v, %v", r, err)
	}
}

// TestSignal ends a server in the middle of a write.
func TestSignal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     string
		exitCode int
		says     string
	}{{"finish", 0, ""}, {"hang", 1, "1 calls unanswered"}} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			cmd := childCommand(t, c.mode)
			h, complaints := startProcess(t, cmd)
			h.send(writeCall(1, "s", "content"))
			if line, err := complaints.ReadString('\n'); line != "writing\n" {
				t.Fatalf("on standard error: %q, %v", line, err)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if c.exitCode == 0 {
				if r := h.next(); !strings.Contains(r.text(), `"OK"`) {
					t.Errorf("the write: %+v", r)
				}
			}
			if r, err := h.read(); err != io.EOF {
				t.Errorf("after the answers: %+v, %v", r, err)
			}
			rest, _ := io.ReadAll(complaints)
			var exit *exec.ExitError
			if err := cmd.Wait(); (err == nil) != (c.exitCode == 0) || errors.As(err, &exit) && exit.ExitCode() != c.exitCode {
				t.Errorf("ended with %v", err)
			}
			if !strings.Contains(string(rest), c.says) {
				t.Errorf("on standard error: %s", rest)
			}
		})
	}
}

// startProcess starts a server and shakes hands.
func startProcess(t *testing.T, cmd *exec.Cmd) (*host, *bufio.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	complaints, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &host{TB: t, in: in, out: bufio.NewReader(out)}
	h.handshake()
	return h, bufio.NewReader(complaints)
}
