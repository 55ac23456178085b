// Command mcp serves a convmem store to one MCP host over standard input and
// output.
//
//	mcp -dir DIR [-max-result-bytes N]
//
// The directory comes from -dir or else from the environment variable
// CONVMEM_DIR; a leading ~/ stands for the home directory, because hosts start
// servers without a shell. It is made if it does not exist. Any number of servers
// may share it: each finds at its next call what the others have stored.
//
// Standard output carries JSON-RPC and nothing else; the log goes to standard
// error. A store that cannot be opened does not keep the server from starting:
// every tool then answers with the reason.
//
// The exit code is 0 at the end of the input and after SIGINT or SIGTERM, 1
// when calls were left unanswered or the store could not be closed, and 2 when
// the command line is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"example.com/convmem"
	"example.com/convmem/mcpserver"
)

// maxResultBytes suits hosts that take about 25,000 tokens from one call.
const maxResultBytes = 64 << 10

// settings are what the command line and the environment decide.
type settings struct {
	dir            string // absolute
	maxResultBytes int
}

func main() {
	s, err := parse(os.Args[1:], os.Getenv, os.Stderr)
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

// parse reads the settings. Usage goes to out.
func parse(args []string, getenv func(string) string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("mcp", flag.ContinueOnError)
	flags.SetOutput(out)
	dir := flags.String("dir", getenv("CONVMEM_DIR"), "`directory` of the store; CONVMEM_DIR when not given")
	flags.IntVar(&s.maxResultBytes, "max-result-bytes", maxResultBytes, "`size` at which a result ends, on the wire")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	switch {
	case flags.NArg() > 0:
		return settings{}, fmt.Errorf("unexpected argument %q: the directory is given with -dir", flags.Arg(0))
	case s.maxResultBytes < 1:
		return settings{}, fmt.Errorf("-max-result-bytes is %d, at least 1", s.maxResultBytes)
	case *dir == "":
		return settings{}, errors.New("no directory: give -dir DIR or set CONVMEM_DIR")
	}
	var err error
	s.dir, err = absolute(*dir)
	return s, err
}

// absolute resolves a directory, with ~ or a leading ~/ as the home directory.
func absolute(dir string) (string, error) {
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("the home directory is not known: %w", err)
		}
		dir = filepath.Join(home, rest)
	}
	return filepath.Abs(dir)
}

// run serves until the input ends or a signal comes, and closes the store. A
// second signal ends the process at once.
func run(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	signal.Ignore(syscall.SIGPIPE) // a host that is gone is an error of writing, not a death
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	logger.Info("serving", "dir", s.dir)
	store := mcpserver.OpenLater(func(ctx context.Context) (convmem.Store, error) {
		db, err := convmem.Open(ctx, s.dir, &convmem.Options{Logger: logger, MaxResultBytes: s.maxResultBytes})
		if err != nil {
			logger.Error("the store is not open", "error", err)
			return nil, err
		}
		return db, nil
	})
	err := mcpserver.ServeStdio(ctx, store, &mcpserver.Options{Logger: logger, MaxResultBytes: s.maxResultBytes})
	return errors.Join(err, store.Close())
}
