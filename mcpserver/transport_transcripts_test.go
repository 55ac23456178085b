package mcpserver

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
)

// A transcript is a file in testdata/wire, one line a step:
//
//	# text   what the transcript is about: these lines come first
//	> text   sent, in the notation of transport_notation_test.go
//	< text   received; lines that follow each other may come in any order and
//	         are written sorted
//	= text   an event
//
// Events over stdio are the handshake of the protocol 2025-06-18, whose long
// answer is in a transcript of its own; writes wait, a write waits, writes go
// on: the store lets writes wait, one has reached it, it goes on; the input ends.
//
// At the end the input ends, and nothing else may have been received. A file
// whose name begins with http is about HTTP: each line that is sent is the body
// of a POST, each that is received a status and a body.
//
// With -update the lines that are received are written anew, as many as there
// were: a new transcript begins with lines of "<" alone.
type transcript struct {
	about []string
	steps []step
}

type step struct {
	kind byte // one of > < =
	text string
}

func readTranscript(t *testing.T, path string) transcript {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var script transcript
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		kind, text, _ := strings.Cut(line, " ")
		switch {
		case kind == "#" && len(script.steps) == 0:
			script.about = append(script.about, text)
		case kind == ">", kind == "<", kind == "=":
			script.steps = append(script.steps, step{kind[0], text})
		default:
			t.Fatalf("%s: no step: %q", path, line)
		}
	}
	if len(script.about) == 0 || len(script.steps) == 0 {
		t.Fatalf("%s does not say what it is about, or nothing happens in it", path)
	}
	return script
}

func (s transcript) String() string {
	var out strings.Builder
	for _, line := range s.about {
		out.WriteString("# " + line + "\n")
	}
	for _, step := range s.steps {
		out.WriteString(strings.TrimRight(string(step.kind)+" "+step.text, " ") + "\n")
	}
	return out.String()
}

// TestTranscripts plays every transcript to a server and compares what it
// answers, byte for byte.
func TestTranscripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/wire/*.txt")
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d transcripts: %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			want := readTranscript(t, path)
			got := transcript{about: want.about}
			// The first id after the beginning of time is 1, the next 2.
			model := storetest.NewModel(storetest.Config{Now: func() time.Time { return time.UnixMilli(0) }})
			if strings.HasPrefix(name, "http") {
				got.steps = playHTTP(t, model, want.steps)
			} else {
				got.steps = playStdio(t, model, want.steps)
			}
			golden(t, filepath.Join("wire", name+".txt"), got.String())
		})
	}
}

// player is a connection that transcripts are played to.
type player struct {
	send    func(text string)
	receive func() (text string, more bool)
	event   func(name string) (known bool)
}

// play does the steps and returns them with what was really received.
func (p player) play(t *testing.T, steps []step) (played []step) {
	t.Helper()
	for i := 0; i < len(steps); i++ {
		switch steps[i].kind {
		case '>':
			text, err := expand(steps[i].text)
			if err != nil {
				t.Fatal(err)
			}
			p.send(text)
		case '=':
			if !p.event(steps[i].text) {
				t.Fatalf("no event: %q", steps[i].text)
			}
		case '<':
			block := p.block(t, steps[i:])
			played = append(played, block...)
			i += len(block) - 1
			continue
		}
		played = append(played, steps[i])
	}
	if text, more := p.receive(); more {
		t.Errorf("received beyond the end: %.500s", notate(text))
	}
	return played
}

// block receives as many lines as the steps begin with.
func (p player) block(t *testing.T, steps []step) (received []step) {
	t.Helper()
	for _, s := range steps {
		if s.kind != '<' {
			break
		}
		text, more := p.receive()
		if !more {
			t.Fatalf("the connection ended before %.200s", s.text)
		}
		received = append(received, step{'<', notate(text)})
	}
	slices.SortFunc(received, func(a, b step) int { return strings.Compare(a.text, b.text) })
	return received
}

// playStdio plays steps to serve.
func playStdio(t *testing.T, model *storetest.Model, steps []step) []step {
	t.Helper()
	inRead, in := io.Pipe()
	out, outWrite := io.Pipe()
	lines := make(chan string, 1000) // so that a server never waits for a reader
	ended := make(chan error, 1)
	store := &holding{Store: model, waits: make(chan struct{}, 100)}
	go func() {
		ended <- serve(context.Background(), store, nil, inRead, outWrite, patience{afterInput: time.Hour, afterStop: time.Hour})
		outWrite.Close()
	}()
	go func() {
		defer close(lines)
		for scan := bufio.NewReader(out); ; {
			line, err := scan.ReadString('\n')
			if err != nil {
				return
			}
			lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	p := player{
		send: func(text string) { io.WriteString(in, text+"\n") },
		receive: func() (string, bool) {
			line, more := <-lines
			return line, more
		},
	}
	p.event = func(name string) (known bool) {
		switch name {
		case "the handshake":
			p.send(initialize)
			_, more := p.receive()
			p.send(initialized)
			return more
		case "the input ends":
			return in.Close() == nil
		}
		return store.event(name)
	}
	played := p.play(t, append(slices.Clone(steps), step{'=', "the input ends"}))
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	return played[:len(steps)]
}

// holding is a Store whose writes wait while they are told to.
type holding struct {
	convmem.Store
	waits chan struct{} // gets a value when a write begins to wait
	mu    sync.Mutex
	held  chan struct{} // closed when writes go on; nil when they do not wait
}

func (h *holding) event(name string) (known bool) {
	switch name {
	case "writes wait":
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held = make(chan struct{})
	case "a write waits":
		<-h.waits
	case "writes go on":
		h.mu.Lock()
		defer h.mu.Unlock()
		close(h.held)
		h.held = nil
	default:
		return false
	}
	return true
}

func (h *holding) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	h.mu.Lock()
	held := h.held
	h.mu.Unlock()
	if held != nil {
		h.waits <- struct{}{}
		select {
		case <-held:
		case <-ctx.Done():
			return convmem.WriteResult{}, ctx.Err()
		}
	}
	return h.Store.Write(ctx, r)
}

// playHTTP plays steps to a Handler. An event that is a header holds from then
// on; "GET" is a request with that method.
func playHTTP(t *testing.T, model *storetest.Model, steps []step) []step {
	t.Helper()
	server := httptest.NewServer(Handler(model, nil))
	defer server.Close()
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	var answers []string
	request := func(method, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header.Clone()
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, strings.TrimSuffix(strconv.Itoa(response.StatusCode)+" "+string(text), " "))
	}
	return player{
		send: func(text string) { request(http.MethodPost, text) },
		event: func(name string) bool {
			key, value, isHeader := strings.Cut(name, ": ")
			if isHeader {
				header.Set(key, value)
			} else if name == http.MethodGet {
				request(name, "")
			}
			return isHeader || name == http.MethodGet
		},
		receive: func() (text string, more bool) {
			if len(answers) == 0 {
				return "", false
			}
			text, answers = answers[0], answers[1:]
			return text, true
		},
	}.play(t, steps)
}

// TestTranscriptForm writes what it has read as it was.
func TestTranscriptForm(t *testing.T) {
	const text = "# about\n# it\n> sent\n<\n< received\n= event\n"
	path := filepath.Join(t.TempDir(), "t.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, readTranscript(t, path).String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
