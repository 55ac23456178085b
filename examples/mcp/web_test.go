package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// secretToken must never be in a log, and neither must what remember stores.
const secretToken = "open-sesame-4711"

// web is a program that serves HTTP, as a client sees it.
type web struct {
	t       *testing.T
	cmd     *exec.Cmd
	log     *bufio.Reader
	logged  strings.Builder // what was read of the log
	address string
	client  *http.Client
}

var addressInLog = regexp.MustCompile(`msg=listening addr=(\S+)`)

// serve starts the program on any free port. The token is for CONVMEM_TOKEN.
func (p program) serve(t *testing.T, dir, token string, args ...string) *web {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), string(p), append([]string{"-dir", dir, "-http", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(environment(), "CONVMEM_TOKEN="+token)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &web{t: t, cmd: cmd, log: bufio.NewReader(log), client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(s.client.CloseIdleConnections)
	s.address = addressInLog.FindStringSubmatch(s.await("msg=listening"))[1]
	return s
}

// await reads the log to the line that holds a text.
func (s *web) await(text string) string {
	s.t.Helper()
	for {
		line, err := s.log.ReadString('\n')
		s.logged.WriteString(line)
		if strings.Contains(line, text) {
			return line
		}
		if err != nil {
			s.t.Fatalf("the log ends with %v before %q:\n%s", err, text, &s.logged)
		}
	}
}

// signal is SIGTERM.
func (s *web) signal() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the program, which must end with the exit code, and returns its
// whole log.
func (s *web) end(code int) string {
	s.t.Helper()
	rest, err := io.ReadAll(s.log)
	if err != nil {
		s.t.Error(err)
	}
	s.logged.Write(rest)
	_ = s.cmd.Wait() // the exit code says the same
	log := s.logged.String()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d; its log:\n%s", got, code, log)
	}
	if strings.Contains(log, secretToken) || strings.Contains(log, "PostgreSQL") {
		s.t.Errorf("the log tells too much:\n%s", log)
	}
	return log
}

// stop ends the program in good order.
func (s *web) stop() string {
	s.t.Helper()
	s.signal()
	return s.end(0)
}

// reply is a response that was read.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes a request. Headers are "Name: value" and replace those of a client
// that does everything right.
func (s *web) send(method, path, body string, headers ...string) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, header := range append([]string{"Content-Type: application/json", "Accept: application/json, text/event-stream"}, headers...) {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	r.Host = r.Header.Get("Host") // "" is the address
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return readReply(s.t, response)
}

func readReply(t *testing.T, response *http.Response) reply {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(body)}
}

// call runs a tool and returns the text of its result.
func (s *web) call(name, args string, headers ...string) string {
	s.t.Helper()
	r := s.send(http.MethodPost, "/mcp", tool(1, name, args), headers...)
	if r.status != http.StatusOK {
		s.t.Fatalf("%s: status %d, %s", name, r.status, r.body)
	}
	_, text := decode(s.t, r.body)
	return text
}

// connection is a client that writes its requests by hand.
type connection struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, address string) *connection {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &connection{t, conn, bufio.NewReader(conn)}
}

func (c *connection) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// read waits for a response, of which 100 Continue is one.
func (c *connection) read() reply {
	c.t.Helper()
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return readReply(c.t, response)
}
