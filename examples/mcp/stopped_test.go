//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// TestStoppedHolder stops a process in the middle of a change and looks at what
// that does to others: they read and search as before, their writes are BUSY
// and do nothing, and all is well again when the process goes on or is killed.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	p := build(t)
	for _, s := range stops {
		for _, killed := range []bool{false, true} {
			fate := map[bool]string{false: " and goes on", true: " and is killed"}[killed]
			t.Run(s.name+fate, func(t *testing.T) {
				t.Parallel() // one of them waits as long as a server does
				p.stopped(t, s, killed)
			})
		}
	}
}

func (p program) stopped(t *testing.T, s stop, killed bool) {
	dir := t.TempDir()
	server := p.start(t, dir).server
	server.write(t, "a heron stands in the reed")
	gone := server.write(t, "a message that nobody needs")
	server.must(t, "delete_message", arguments{"message_id": gone.ID})
	impatient := openImpatient(t, dir)
	h := startHolder(t, s.name, dir)

	want := []string{"a heron stands in the reed", firstMessage}
	if s.shown {
		want = append(want, heldMessage)
	}
	checkReads(t, "while it is stopped", server, impatient, want)
	h.checkOpen(t, s, dir)
	want = append(want, h.checkWrites(t, s, impatient)...)
	if s.name == "a commit has written" && killed {
		if a, err := server.call("write_message", newMessage("too busy")); err != nil || !h.isNamed(a.Error.Code, a.Error.Message) {
			t.Errorf("a write of a server: %v, %v", a, err)
		}
	}
	checkReads(t, "after BUSY", server, impatient, want)

	// This one waits, or comes at once, and is done when the lock is free.
	if err := server.sendCall("write_message", newMessage("a server could wait")); err != nil {
		t.Fatal(err)
	}
	h.end(t, killed)
	if a, err := server.receiveAnswer(); err != nil || a.Status != "OK" {
		t.Fatalf("a write that waited: %v, %v", a, err)
	}
	if !s.rebuild && !s.shown && (s.kept || !killed) {
		want = append(want, heldMessage)
	}
	want = append(want, "a server could wait")
	checkReads(t, "at the end", server, impatient, want)
	if _, err := impatient.Write(t.Context(), message("all is well")); err != nil {
		t.Errorf("a write at the end: %v", err)
	}
	server.must(t, "rebuild_index", arguments{})
	checkReads(t, "after a rebuild", server, impatient, append(want, "all is well"))
	server.close(t)
	if err := impatient.Close(); err != nil {
		t.Error(err)
	}
	checkFiles(t, dir)
}

// openImpatient opens a directory in this process, with a short wait for the
// lock. It stands for servers, whose wait of five seconds is long for a test.
func openImpatient(t *testing.T, dir string) *convmem.DB {
	t.Helper()
	db, err := convmem.Open(t.Context(), dir, impatientOptions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // where the test ended early
	return db
}

var impatientOptions = &convmem.Options{LockWait: 20 * time.Millisecond}

// checkReads reads and searches in both processes.
func checkReads(t *testing.T, when string, s *server, db *convmem.DB, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, s.contents(t)); diff != "" {
		t.Errorf("%s a server reads (-want +got):\n%s", when, diff)
	}
	found := s.search(t, "curlew")
	if slices.Contains(want, heldMessage) != slices.Contains(found, heldMessage) {
		t.Errorf("%s a server finds %q", when, found)
	}
	page, err := convmem.History(t.Context(), db, convmem.HistoryRequest{SessionID: sharedSession})
	var got []string
	for _, m := range page.Messages {
		got = append(got, m.Content)
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s this process reads %v (-want +got):\n%s", when, err, diff)
	}
}

// holder is a process of the test binary that is stopped.
type holder struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	log *bytes.Buffer
}

// startHolder returns when the holder is stopped.
func startHolder(t *testing.T, name, dir string) *holder {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{cmd: exec.CommandContext(t.Context(), self), log: &bytes.Buffer{}}
	h.cmd.Env = append(environment(), holderVariable+"="+name, directoryVariable+"="+dir)
	h.cmd.Stderr = h.log
	h.in, err = h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != atTheStop+"\n" {
		_ = h.cmd.Wait() // for its log
		t.Fatalf("the holder says %q, %v\n%s", line, err, h.log)
	}
	h.stop(t)
	return h
}

// stop stops the whole process and returns when the system says that it stands.
func (h *holder) stop(t *testing.T) {
	t.Helper()
	pid := h.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
	}
	if err != nil || !status.Stopped() {
		t.Fatalf("the holder does not stand: status %#x, %v", status, err)
	}
}

// checkOpen opens the store once more while the holder is stopped. That needs
// the lock, and must leave alone what a rebuild has written so far.
func (h *holder) checkOpen(t *testing.T, s stop, dir string) {
	t.Helper()
	db, err := convmem.Open(t.Context(), dir, impatientOptions)
	switch {
	case err == nil:
		err = db.Close()
		if err != nil || !s.free {
			t.Errorf("the store is opened and closed: %v", err)
		}
	case s.free || !h.isNamed(string(convmem.CodeOf(err)), err.Error()):
		t.Errorf("opening: %v", err)
	}
}

// checkWrites has another process write and rebuild while the holder is stopped,
// and returns what is stored by that.
func (h *holder) checkWrites(t *testing.T, s stop, db *convmem.DB) []string {
	t.Helper()
	ctx := context.Background()
	if _, err := db.Rebuild(ctx, convmem.RebuildRequest{}); convmem.CodeOf(err) != convmem.CodeBusy {
		t.Errorf("a rebuild: %v", err)
	}
	const content = "not while it is stopped"
	_, err := db.Write(ctx, message(content))
	if s.free && err == nil {
		return []string{content}
	}
	if s.free || !h.isNamed(string(convmem.CodeOf(err)), fmt.Sprint(err)) {
		t.Errorf("a write: %v", err)
	}
	return nil
}

// isNamed reports whether an error is BUSY and says who is in the way.
func (h *holder) isNamed(code, message string) bool {
	return code == string(convmem.CodeBusy) && strings.Contains(message, fmt.Sprintf("process %d", h.cmd.Process.Pid))
}

// end lets the holder go on until it is done, or kills it.
func (h *holder) end(t *testing.T, killed bool) {
	t.Helper()
	if killed {
		if err := h.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = h.cmd.Wait() // it says that the holder was killed
		return
	}
	if err := h.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.in.Close()
	if err := h.cmd.Wait(); err != nil {
		t.Errorf("the holder: %v\n%s", err, h.log)
	}
}
