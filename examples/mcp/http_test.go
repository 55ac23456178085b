package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// TestHTTP writes over HTTP, ends the program and reads what is there with
// another.
func TestHTTP(t *testing.T) {
	t.Parallel()
	p, dir := build(t), filepath.Join(t.TempDir(), "made", "on demand")
	s := p.serve(t, dir, "")
	if text := s.call("write_message", remember); !strings.Contains(text, `"OK"`) {
		t.Fatal(text)
	}
	if log := s.stop(); strings.Count(log, "msg=stopping") != 1 || strings.Count(log, "dir=") != 1 {
		t.Errorf("the log: %s", log)
	}
	s = p.serve(t, dir, "")
	defer s.stop()
	if text := s.call("search_messages", `{"query":"postgresql"}`); !strings.Contains(text, "we chose PostgreSQL") {
		t.Error(text)
	}
	if text := s.call("get_system_health", `{}`); !strings.Contains(text, `"active_messages":1,`) || !strings.Contains(text, `"recovered_tail":false`) {
		t.Error(text)
	}
}

// TestHTTPRefusals sends one server what it must refuse, and what it must not.
func TestHTTPRefusals(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("# a second one\nfrom-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := build(t).serve(t, t.TempDir(), secretToken, "-token-file", file, "-trusted-origin", "https://app.example")
	const bearer = "Authorization: Bearer "
	call := tool(1, "get_system_health", `{}`)
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		header                   string // that the response must have
	}{
		{"the token of the environment", "POST", "/mcp", call, []string{bearer + secretToken}, 200, "X-Request-Id"},
		{"a token of the file", "POST", "/mcp", call, []string{bearer + "from-the-file"}, 200, "X-Request-Id"},
		{"no token", "POST", "/mcp", call, nil, 401, "WWW-Authenticate"},
		{"a wrong token", "POST", "/mcp", call, []string{bearer + "guess"}, 401, "WWW-Authenticate"},
		{"a comment for a token", "POST", "/mcp", call, []string{bearer + "#"}, 401, "WWW-Authenticate"},
		{"another scheme", "POST", "/mcp", call, []string{"Authorization: Basic " + secretToken}, 401, "WWW-Authenticate"},
		{"a foreign origin", "POST", "/mcp", call, []string{bearer + secretToken, "Origin: https://evil.example"}, 403, ""},
		{"a trusted origin", "POST", "/mcp", call, []string{bearer + secretToken, "Origin: https://app.example"}, 200, "Access-Control-Allow-Origin"},
		{"a foreign host", "POST", "/mcp", call, []string{bearer + secretToken, "Host: evil.example"}, 403, ""},
		{"a longest body", "POST", "/mcp", padded(call, 8<<20), []string{bearer + secretToken}, 200, ""},
		{"a body that is too long", "POST", "/mcp", padded(call, 8<<20+1), []string{bearer + secretToken}, 413, ""},
		{"headers that are too long", "POST", "/mcp", call, []string{bearer + strings.Repeat("x", 64<<10)}, 431, ""},
		{"no JSON", "POST", "/mcp", "{", []string{bearer + secretToken}, 400, ""},
		{"no POST", "GET", "/mcp", "", []string{bearer + secretToken}, 405, "Allow"},
		{"another path", "POST", "/", call, []string{bearer + secretToken}, 404, ""},
		{"health", "GET", "/healthz", "", nil, 200, "Cache-Control"},
		{"health without a body", "HEAD", "/healthz", "", nil, 200, "Cache-Control"},
		{"health with POST", "POST", "/healthz", "", nil, 405, "Allow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.send(c.method, c.path, c.body, c.headers...)
			if r.status != c.status || c.header != "" && r.header.Get(c.header) == "" {
				t.Errorf("status %d, headers %v: %.200s", r.status, r.header, r.body)
			}
			if c.method == http.MethodPost && c.status == http.StatusOK && !strings.Contains(r.body, `"isError":true`) != strings.Contains(r.body, `active_messages`) {
				t.Errorf("the answer: %.300s", r.body)
			}
		})
	}
	if log := s.stop(); strings.Contains(log, "from-the-file") {
		t.Errorf("the log has a token:\n%s", log)
	}
}

// padded is a text with spaces behind it, so long in all.
func padded(text string, size int) string { return text + strings.Repeat(" ", size-len(text)) }

// TestExposedAddress: the program ends before it has done anything.
func TestExposedAddress(t *testing.T) {
	t.Parallel()
	p := build(t)
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		dir := filepath.Join(t.TempDir(), "none")
		o := p.run(t, []string{"-dir", dir, "-http", address})
		if o.code != 2 || !strings.Contains(o.log, "set CONVMEM_TOKEN, give -token-file FILE") || strings.Contains(o.log, "listening") {
			t.Errorf("%s: exit code %d: %s", address, o.code, o.log)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the directory: %v", address, err)
		}
	}
}

// TestAddressInUse: another program has the port.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	p := build(t)
	s := p.serve(t, t.TempDir(), "")
	defer s.stop()
	if o := p.run(t, []string{"-dir", t.TempDir(), "-http", s.address}); o.code != 1 || !strings.Contains(o.log, s.address) {
		t.Errorf("exit code %d: %s", o.code, o.log)
	}
}

func TestHealthzOfProgram(t *testing.T) {
	t.Parallel()
	p, dir := build(t), t.TempDir()
	s := p.serve(t, dir, secretToken)
	r := s.send(http.MethodGet, "/healthz", "")
	if r.status != 200 || r.body != "{\"status\":\"OK\"}\n" || r.header.Get("Content-Type") != "application/json" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a good store: %+v", r)
	}
	s.stop()
	spoil(t, dir)
	before := contents(t, dir)
	s = p.serve(t, dir, secretToken)
	r = s.send(http.MethodGet, "/healthz", "")
	if r.status != 503 || r.body != "{\"status\":\"UNAVAILABLE\"}\n" || r.header.Get("Content-Type") != "application/json" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a damaged store: %+v", r)
	}
	if text := s.call("get_system_health", `{}`, "Authorization: Bearer "+secretToken); !strings.Contains(text, "CORRUPT_STORE") {
		t.Errorf("a tool: %s", text)
	}
	s.stop()
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("files have changed (-before +after):\n%s", diff)
	}
}

// sick is a Store with a health of its own.
type sick struct {
	convmem.Store
	health func(context.Context) (convmem.HealthResult, error)
}

func (s sick) Health(ctx context.Context, _ convmem.HealthRequest) (convmem.HealthResult, error) {
	return s.health(ctx)
}

func TestHealthz(t *testing.T) {
	t.Parallel()
	over := t.Context()
	for _, c := range []struct {
		name   string
		health func(context.Context) (convmem.HealthResult, error)
		status int
		body   string
	}{
		{"good", func(context.Context) (convmem.HealthResult, error) {
			return convmem.HealthResult{Status: convmem.HealthOK, LastError: "not for strangers"}, nil
		}, 200, `{"status":"OK"}`},
		{"degraded", func(context.Context) (convmem.HealthResult, error) {
			return convmem.HealthResult{Status: convmem.HealthDegraded, LastError: "not for strangers"}, nil
		}, 200, `{"status":"DEGRADED"}`},
		{"failing", func(context.Context) (convmem.HealthResult, error) {
			return convmem.HealthResult{}, convmem.ErrCorrupt
		}, 503, `{"status":"UNAVAILABLE"}`},
		{"waiting", func(ctx context.Context) (convmem.HealthResult, error) {
			<-ctx.Done()
			return convmem.HealthResult{}, ctx.Err()
		}, 503, `{"status":"UNAVAILABLE"}`},
		{"hanging", func(context.Context) (convmem.HealthResult, error) {
			<-over.Done()
			return convmem.HealthResult{Status: convmem.HealthOK}, nil
		}, 503, `{"status":"UNAVAILABLE"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			patience := time.Hour
			if c.name == "waiting" || c.name == "hanging" {
				patience = time.Millisecond
			}
			h := healthz(sick{health: c.health}, patience)
			for range 2 { // the second time behind one that hangs
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
				if w.Code != c.status || w.Body.String() != c.body+"\n" || w.Header().Get("Cache-Control") != "no-store" {
					t.Errorf("status %d, %v: %q", w.Code, w.Header(), w.Body)
				}
			}
		})
	}
}

// TestHealthzAsksOnce: however many ask, the store is asked by one at a time.
func TestHealthzAsksOnce(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	h := healthz(sick{health: func(context.Context) (convmem.HealthResult, error) {
		asked <- struct{}{}
		<-answer
		return convmem.HealthResult{Status: convmem.HealthOK}, nil
	}}, 20*time.Millisecond)
	for range 10 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("status %d", w.Code)
		}
	}
	if len(asked) != 1 {
		t.Errorf("the store was asked %d times", len(asked))
	}
	close(answer)
}
