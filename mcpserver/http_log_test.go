package mcpserver

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// TestLevels looks at what a server logs at each level: refused callers stand out,
// and what goes well says nothing.
func TestLevels(t *testing.T) {
	body, header := question(dialects[0])
	for _, c := range []struct {
		name   string
		origin string
		level  slog.Level
		status int
		want   string // "": no record
	}{
		{"answered", "", slog.LevelInfo, 200, ""},
		{"answered, debugging", "", slog.LevelDebug, 200, "level=DEBUG msg=request"},
		{"refused", "http://evil.example", slog.LevelInfo, 403, "level=WARN msg=request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log logBuffer
			o := &HTTPOptions{Options: Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: c.level}))}}
			if c.origin != "" {
				header = append(header, "Origin", c.origin)
			}
			r := newSite(t, Handler(newModel(), o)).post(body, header...)
			if got := log.String(); r.status != c.status || c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("status %d, the log: %s", r.status, got)
			}
		})
	}
}

// TestVerifierFails has verifiers that panic or say nothing. The caller is told
// nothing of it, and the log no token.
func TestVerifierFails(t *testing.T) {
	for name, verify := range map[string]auth.TokenVerifier{
		"panics":       func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) { panic(token) },
		"says nothing": func(context.Context, string, *http.Request) (*auth.TokenInfo, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			var log logBuffer
			o := &HTTPOptions{Options: Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Verifier: verify}
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			Handler(newModel(), o).ServeHTTP(w, r)
			if w.Code != http.StatusInternalServerError || !strings.Contains(log.String(), "verif") ||
				strings.Contains(log.String()+w.Body.String(), secret) {
				t.Errorf("status %d, %q, the log: %s", w.Code, w.Body, log.String())
			}
		})
	}
}
