// Command mcp serves a convmem store to MCP hosts: to one over standard input and
// output, or to any number over HTTP.
//
//	mcp -dir DIR [-read-only] [-tools a,b,c] [-max-result-bytes N] [-log-level LEVEL]
//	    [-http ADDR [-token-file FILE] [-trusted-origin ORIGIN]...]
//
// # The store
//
// -dir DIR, or else the environment variable CONVMEM_DIR, is the directory of the
// store. A leading ~/ stands for the home directory, because hosts start servers
// without a shell. It is made if it does not exist. Any number of servers may
// share it: each finds at its next call what the others have stored. A store that
// cannot be opened does not keep the server from starting: every tool then answers
// with the reason.
//
// -read-only offers only the tools that change nothing, and opens the store
// without changing a file or a directory. Where there is no store yet, none is
// made: calls answer IO_ERROR, and each looks again.
//
// -tools a,b,c offers only the tools of these names; with -read-only only those
// of them that change nothing.
//
// -max-result-bytes N ends a result at that size on the wire; the default, 65536,
// suits hosts that take about 25,000 tokens from one call.
//
// # The log
//
// The log goes to standard error, one record a line, and never holds the content
// of a message or a token. -log-level LEVEL is the least that is logged: debug,
// which has a record for every call, info, warn or error. Over stdio, standard
// output carries JSON-RPC and nothing else.
//
// # HTTP
//
// -http ADDR serves http://ADDR/mcp, the Streamable HTTP transport without
// sessions, in place of stdio. The record msg=listening says in addr what ADDR
// has become, so that port 0, which is any free one, is of use.
//
// Callers need a bearer token if there is one: the value of the environment
// variable CONVMEM_TOKEN, or a line of the file that -token-file FILE names, where
// blank lines and lines that begin with # do not count. With both, all of them are
// accepted. There is no flag for a token, because others could read it in the list
// of processes. An ADDR that other machines can reach is refused without a token;
// one without a host, such as :8080, is every address of the machine. Nothing is
// encrypted: between machines a proxy with TLS belongs in front.
//
// Web pages of other origins are refused, but for those that -trusted-origin
// ORIGIN names, as in https://app.example; the flag may be repeated. So are
// requests that arrive on a loopback address under a foreign name.
//
// http://ADDR/healthz answers GET and HEAD without a token: {"status":"OK"} or
// {"status":"DEGRADED"} with status 200, or {"status":"UNAVAILABLE"} with 503 when
// the store does not answer within two seconds, be it damaged, locked or still
// being opened.
//
// # The end
//
// The server ends with the input, or after SIGINT or SIGTERM. Calls that run then
// are still answered: over stdio for 30 seconds after the input and 1.5 seconds
// after a signal, over HTTP for 8 seconds. A second signal ends it at once.
//
// The exit code is 0 when every call was answered, 1 when calls were left
// unanswered, the store could not be closed or the address not be listened on, and
// 2 when the command line is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"example.com/convmem"
	"example.com/convmem/mcpserver"
)

func main() {
	s, err := parse(os.Args[1:], surroundings{os.Getenv, net.ResolveTCPAddr, os.Stderr})
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(2)
	}
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

// run serves until the input ends or a signal comes, and closes the store.
func run(s settings) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: s.logLevel}))
	ctx := untilSignal(logger)
	signal.Ignore(syscall.SIGPIPE) // a host that is gone is an error of writing, not a death
	logger.Info("serving", "dir", s.dir)
	if s.address != nil {
		return serveHTTP(ctx, s, logger)
	}
	store := openStore(s, logger)
	o := s.options(logger)
	return errors.Join(mcpserver.ServeStdio(ctx, store, &o), store.Close())
}

// untilSignal returns a context that the first signal ends. By then the second
// one ends the process at once.
func untilSignal(logger *slog.Logger) context.Context {
	caught, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, end := context.WithCancel(context.Background())
	context.AfterFunc(caught, func() {
		restore()
		logger.Info("stopping")
		end()
	})
	return ctx
}

func openStore(s settings, logger *slog.Logger) *mcpserver.LaterStore {
	o := convmem.Options{Logger: logger, MaxResultBytes: s.maxResultBytes, ReadOnly: s.readOnly}
	return mcpserver.OpenLater(func(ctx context.Context) (convmem.Store, error) {
		db, err := convmem.Open(ctx, s.dir, &o)
		if err != nil {
			logger.Error("the store is not open", "error", err)
			return nil, err
		}
		return db, nil
	})
}

// options are those that both transports share.
func (s settings) options(logger *slog.Logger) mcpserver.Options {
	return mcpserver.Options{Logger: logger, MaxResultBytes: s.maxResultBytes, ReadOnly: s.readOnly, Tools: s.tools}
}
