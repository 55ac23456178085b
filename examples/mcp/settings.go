package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/convmem/mcpserver"
)

// maxResultBytes suits hosts that take about 25,000 tokens from one call.
const maxResultBytes = 64 << 10

// settings are what the command line and the environment decide.
type settings struct {
	dir            string // absolute
	maxResultBytes int
	readOnly       bool
	logLevel       slog.Level
	tools          []string // nil for all

	address *net.TCPAddr // nil for stdio
	tokens  []string     // none: callers need no token
	origins []string
}

// surroundings are what settings are read from beside the arguments.
type surroundings struct {
	getenv  func(string) string
	resolve func(network, address string) (*net.TCPAddr, error)
	out     io.Writer // for the usage
}

// parse reads the settings.
func parse(args []string, from surroundings) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("mcp", flag.ContinueOnError)
	flags.SetOutput(from.out)
	flags.StringVar(&s.dir, "dir", from.getenv("CONVMEM_DIR"), "`directory` of the store; CONVMEM_DIR when not given")
	flags.IntVar(&s.maxResultBytes, "max-result-bytes", maxResultBytes, "`size` at which a result ends, on the wire")
	flags.BoolVar(&s.readOnly, "read-only", false, "offer only tools that change nothing, and change no file")
	flags.Func("log-level", "least `level` that is logged: debug, info (default), warn or error", s.setLogLevel)
	flags.Func("tools", "offer only the tools of these `names`, separated by commas", s.setTools)
	flags.Func("http", "serve http://`address`/mcp and /healthz in place of stdio", func(address string) error {
		return s.setAddress(address, from.resolve)
	})
	flags.Func("trusted-origin", "`origin` of web pages that may call over HTTP; may be repeated", s.addOrigin)
	tokenFile := flags.String("token-file", "", "`file` with a bearer token a line, for HTTP; CONVMEM_TOKEN has one more")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q: the directory is given with -dir", flags.Arg(0))
	}
	if err := errors.Join(s.checkStore(), s.checkHTTP(*tokenFile, from.getenv("CONVMEM_TOKEN"))); err != nil {
		return settings{}, err
	}
	return s, nil
}

func (s *settings) setLogLevel(name string) error {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, known := levels[name]
	if !known {
		return errors.New("want debug, info, warn or error")
	}
	s.logLevel = level
	return nil
}

// setTools refuses names that no tool has: a misspelt list must not pass for a
// shorter one.
func (s *settings) setTools(list string) error {
	s.tools = nil
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(mcpserver.ToolNames(), name) {
			return fmt.Errorf("there is no tool %q: want some of %s", name, strings.Join(mcpserver.ToolNames(), ","))
		}
		s.tools = append(s.tools, name)
	}
	return nil
}

// setAddress resolves an address here, so that what is checked is what is
// listened on.
func (s *settings) setAddress(address string, resolve func(network, address string) (*net.TCPAddr, error)) (err error) {
	if address == "" {
		return errors.New("empty, want HOST:PORT as in 127.0.0.1:8080")
	}
	s.address, err = resolve("tcp", address)
	return err
}

func (s *settings) addOrigin(origin string) error {
	s.origins = append(s.origins, origin)
	return http.NewCrossOriginProtection().AddTrustedOrigin(origin)
}

func (s *settings) checkStore() (err error) {
	switch {
	case s.maxResultBytes < 1:
		return fmt.Errorf("-max-result-bytes is %d, at least 1", s.maxResultBytes)
	case s.dir == "":
		return errors.New("no directory: give -dir DIR or set CONVMEM_DIR")
	case s.readOnly && !s.offersReading():
		return errors.New("-tools names only tools that change the store, and -read-only offers none of them: leave out one of the flags")
	}
	s.dir, err = absolute(s.dir)
	return err
}

// offersReading reports whether a tool is offered that changes nothing.
func (s *settings) offersReading() bool {
	for _, tool := range mcpserver.Tools() {
		if tool.Annotations.ReadOnlyHint && (s.tools == nil || slices.Contains(s.tools, tool.Name)) {
			return true
		}
	}
	return false
}

// checkHTTP reads the tokens and refuses what would let anybody in. Flags that
// would do nothing are refused too; the environment may be meant for others.
func (s *settings) checkHTTP(tokenFile, token string) (err error) {
	switch {
	case s.address != nil:
		if s.tokens, err = readTokens(tokenFile, token); err != nil {
			return err
		}
		if len(s.tokens) == 0 && !s.address.IP.IsLoopback() {
			return fmt.Errorf("-http is %v, which other machines may reach, and there is no token: set CONVMEM_TOKEN, give -token-file FILE, or listen on 127.0.0.1:%d", s.address, s.address.Port)
		}
	case tokenFile != "":
		return errors.New("-token-file is only for HTTP: give -http ADDR too")
	case s.origins != nil:
		return errors.New("-trusted-origin is only for HTTP: give -http ADDR too")
	}
	return nil
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
