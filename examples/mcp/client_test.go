package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// errEnded is the error of a call that the server did not live to answer.
// Whether the call did anything is unknown.
var errEnded = errors.New("the server ended before it answered")

// server is a program that runs, as its host sees it. Its calls are made one
// after another.
type server struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	log   *bytes.Buffer // standard error, whole once the server was waited for
	calls int
}

// launch starts the program on a directory. The context ends it.
func (p program) launch(ctx context.Context, dir string, args ...string) (*server, error) {
	cmd := exec.CommandContext(ctx, string(p), append(args, "-dir", dir)...)
	cmd.Env = environment()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, in: in, out: bufio.NewReader(out), log: &bytes.Buffer{}}
	cmd.Stderr = s.log
	return s, cmd.Start()
}

// environment is that of the tests without what would change the program. The
// race detector, where there is one, is told not to wait at the end.
func environment() []string {
	return append(os.Environ(), "CONVMEM_DIR=", "CONVMEM_TOKEN=", "GORACE=atexit_sleep_ms=0")
}

// greet shakes hands, as a host does before it calls a tool.
func (s *server) greet() error {
	_, err := s.exchange(initialize)
	return err
}

// exchange sends a line and returns the text of the result that comes back.
func (s *server) exchange(line string) (string, error) {
	if err := s.send(line); err != nil {
		return "", err
	}
	return s.receive()
}

func (s *server) send(line string) error {
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	return nil
}

func (s *server) receive() (string, error) {
	line, err := s.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%w: %w", errEnded, err)
	}
	_, text, err := decodeLine(line)
	return text, err
}

// stored is a message as a host gets it.
type stored struct {
	ID       string `json:"message_id"`
	Content  string
	Revision int64
}

// answer is what a tool returned. Each tool fills in some of its fields.
type answer struct {
	Status         string
	Replayed       bool
	Changed        bool
	Message        stored
	History        []stored
	Results        []stored
	NextCursor     string
	ActiveMessages int    `json:"active_messages"`
	LastError      string `json:"last_error"`
	Error          struct {
		Code, Message   string
		CurrentRevision int64 `json:"current_revision"`
	}
}

func (m stored) String() string {
	return fmt.Sprintf("%s, revision %d, %.30q", m.ID, m.Revision, m.Content)
}

func (a answer) String() string {
	return fmt.Sprintf("status %q, message {%v}, history %v, results %v, error %+v", a.Status, a.Message, a.History, a.Results, a.Error)
}

// arguments are those of one call.
type arguments map[string]any

// call runs a tool. The error is never one that the tool answered.
func (s *server) call(name string, args arguments) (answer, error) {
	if err := s.sendCall(name, args); err != nil {
		return answer{}, err
	}
	return s.receiveAnswer()
}

func (s *server) sendCall(name string, args arguments) error {
	encoded, err := json.Marshal(args)
	if err != nil {
		return err
	}
	s.calls++
	return s.send(tool(s.calls, name, string(encoded)))
}

func (s *server) receiveAnswer() (answer, error) {
	text, err := s.receive()
	if err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return answer{}, fmt.Errorf("a result that is no JSON: %q: %w", text, err)
	}
	return a, nil
}

// must is a call that has to be answered with something else than an error.
func (s *server) must(t *testing.T, name string, args arguments) answer {
	t.Helper()
	a, err := s.call(name, args)
	if err != nil || a.Error.Code != "" {
		t.Fatalf("%s: %+v, %v", name, a.Error, err)
	}
	return a
}

// write stores a message in a session that the tests share.
func (s *server) write(t *testing.T, content string) stored {
	t.Helper()
	return s.must(t, "write_message", newMessage(content)).Message
}

const sharedSession = "shared"

func newMessage(content string) arguments {
	return arguments{"session_id": sharedSession, "role": "user", "content": content}
}

// history reads all of a session.
func (s *server) history(t *testing.T, session string) []stored {
	t.Helper()
	var all []stored
	for cursor, more := "", true; more; more = cursor != "" {
		page := s.must(t, "read_messages", arguments{"session_id": session, "cursor": cursor, "limit": 1000})
		all = append(all, page.History...)
		cursor = page.NextCursor
	}
	return all
}

// contents is history without all but the texts.
func (s *server) contents(t *testing.T) []string {
	t.Helper()
	return texts(s.history(t, sharedSession))
}

// search returns the texts that a query finds, best first.
func (s *server) search(t *testing.T, query string) []string {
	t.Helper()
	return texts(s.must(t, "search_messages", arguments{"query": query}).Results)
}

func texts(messages []stored) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = m.Content
	}
	return all
}

// close ends the input, as a host does, and the server must end well.
func (s *server) close(t *testing.T) {
	t.Helper()
	s.in.Close()
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v; its log:\n%s", err, s.log)
	}
}

// decodeLine reads one line of output, which must be JSON-RPC.
func decodeLine(line string) (id, text string, err error) {
	var r struct {
		JSONRPC string
		ID      any
		Result  struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return "", "", fmt.Errorf("no JSON on standard output: %q: %w", line, err)
	}
	if r.JSONRPC != "2.0" {
		return "", "", fmt.Errorf("no JSON-RPC on standard output: %q", line)
	}
	for _, c := range r.Result.Content {
		text = c.Text
	}
	return fmt.Sprint(r.ID), text, nil
}
