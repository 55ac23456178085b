package mcpserver

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"time"
)

const requestIDHeader = "X-Request-Id"

// A request id of the client is kept if it is plain and short.
var plainID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

type requestIDKey struct{}

// RequestID returns the id of the HTTP request that a context belongs to, such
// as that of [Options.OnCall] or [HTTPOptions.StoreFor], and "" elsewhere.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// identify gives every request an id and logs its outcome.
func identify(next http.Handler, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		id := r.Header.Get(requestIDHeader)
		if !plainID.MatchString(id) {
			id = rand.Text()
		}
		w.Header().Set(requestIDHeader, id)
		ctx := context.WithValue(r.Context(), requestIDKey{}, id)
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r.WithContext(ctx))
		logger.Log(ctx, levelOf(seen.status), "request", "method", r.Method, "status", seen.status, "duration", time.Since(started))
	})
}

// levelOf makes refused callers and failures stand out.
func levelOf(status int) slog.Level {
	switch {
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the writer.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
