//go:build unix

package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestSignalDuringCall ends a server while a call waits for another process,
// which holds the lock of the store.
func TestSignalDuringCall(t *testing.T) {
	t.Parallel()
	p := build(t)
	t.Run("one signal", func(t *testing.T) {
		t.Parallel()
		s, h, client := p.waiting(t)
		s.signal()
		s.await("msg=stopping")
		h.end(t, false)
		r := client.read()
		if _, text := decode(t, r.body); r.status != 200 || !strings.Contains(text, `"OK"`) {
			t.Errorf("the call is answered with %+v", r)
		}
		s.end(0)
	})
	t.Run("two signals", func(t *testing.T) {
		t.Parallel()
		s, h, client := p.waiting(t)
		s.signal()
		s.await("msg=stopping")
		s.signal()
		s.end(-1) // by the signal
		if status := s.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
			t.Errorf("ended with %v", status)
		}
		if _, err := client.in.ReadByte(); err == nil {
			t.Error("the call is answered")
		}
		h.end(t, false)
	})
}

// waiting returns a server, the holder that it waits for, and the client whose
// call waits.
func (p program) waiting(t *testing.T) (*web, *holder, *connection) {
	t.Helper()
	dir := t.TempDir()
	s := p.serve(t, dir, "")
	s.call("write_message", remember) // the store is open
	h := startHolder(t, "a commit has the lock", dir)
	client := dial(t, s.address)
	body := tool(1, "write_message", remember)
	client.write(headers("Expect: 100-continue", "Content-Length: "+strconv.Itoa(len(body))))
	if r := client.read(); r.status != 100 {
		t.Fatalf("%+v", r)
	}
	client.write(body)
	return s, h, client
}
