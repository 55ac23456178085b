package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"example.com/convmem"
	"example.com/convmem/mcpserver"
)

const (
	// readHeaderTimeout: headers are small and sent at once, so whoever takes
	// longer only keeps a connection from others.
	readHeaderTimeout = 10 * time.Second
	// readTimeout lets 8 MiB, the longest body, through a link of 1 Mbit/s.
	readTimeout = 90 * time.Second
	// writeTimeout counts from the end of the headers to the end of the answer,
	// so it holds the call itself: a rebuild of a large store takes minutes.
	writeTimeout = 10 * time.Minute
	// idleTimeout is longer than the pauses of a host at work, and shorter than
	// the hours for which one is left open.
	idleTimeout = 2 * time.Minute
	// maxHeaderBytes is far above a token and what proxies add; the default of
	// net/http would let strangers fill a MiB a connection.
	maxHeaderBytes = 32 << 10
	// healthPatience is less than those who ask wait as a rule.
	healthPatience = 2 * time.Second
)

// serveHTTP serves until ctx ends or the listener fails.
func serveHTTP(ctx context.Context, s settings, logger *slog.Logger) error {
	listener, err := net.ListenTCP("tcp", s.address)
	if err != nil {
		return err
	}
	logger.Info("listening", "addr", listener.Addr().String())
	store := openStore(s, logger)
	return serveUntil(ctx, listener, routes(store, s, logger), store, standardPatience(), logger)
}

func routes(store convmem.Store, s settings, logger *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcpserver.Handler(store, &mcpserver.HTTPOptions{
		Options: s.options(logger), Tokens: users(s.tokens), TrustedOrigins: s.origins,
	}))
	mux.Handle("GET /healthz", healthz(store, healthPatience))
	return mux
}

// users makes all tokens stand for the same user, who has no name. It is nil
// without tokens, which asks for none.
func users(tokens []string) map[string]string {
	if len(tokens) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, token := range tokens {
		all[token] = ""
	}
	return all
}

// healthz says in two words how the store is, to whoever asks. The time limit
// holds also when the store does not heed the context, and only one request
// asks the store at a time, so strangers cannot pile up work on a slow disk.
func healthz(store convmem.Store, patience time.Duration) http.Handler {
	const unavailable = `{"status":"UNAVAILABLE"}` + "\n"
	asking := make(chan struct{}, 1)
	ask := func(w http.ResponseWriter, r *http.Request) {
		status, err := health(r.Context(), store, asking)
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, unavailable)
			return
		}
		fmt.Fprintf(w, "{\"status\":%q}\n", status)
	}
	limited := http.TimeoutHandler(http.HandlerFunc(ask), patience, unavailable)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		limited.ServeHTTP(w, r)
	})
}

func health(ctx context.Context, store convmem.Store, asking chan struct{}) (convmem.HealthStatus, error) {
	select {
	case asking <- struct{}{}:
		defer func() { <-asking }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	result, err := store.Health(ctx, convmem.HealthRequest{})
	return result.Status, err
}

// serveUntil serves until ctx ends or the listener fails, and closes the store. It
// returns nil when ctx has ended and every call was answered.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler, store io.Closer, p patience, logger *slog.Logger) error {
	a := newArrivals()
	server := &http.Server{
		Handler: a.watch(handler), ConnState: a.note, ConnContext: a.remember,
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return errors.Join(err, store.Close())
	case <-ctx.Done():
	}
	return p.stop(server, a, store)
}
