package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/convmem"
)

// settings are what the command line and the environment decide.
type settings struct {
	command   command
	arguments []string

	// Of several commands.
	dir       string
	namespace *string // nil when not given
	json      bool
	dryRun    bool
	wait      time.Duration

	// Of single commands.
	limit    uint
	newest   bool
	session  string
	filters  convmem.Filters
	revision int64
	content  *string // nil when not given
	file     string
	all      bool
	output   string
}

// errHelp is returned for -h.
var errHelp = flag.ErrHelp

// parse reads the settings. They are of use beside an error too, as far as they
// were read.
func parse(arguments []string, getenv func(string) string) (settings, error) {
	s := settings{dir: getenv("CONVMEM_DIR")}
	leading := s.flagSet(command{})
	if err := parseFlags(leading, arguments); err != nil {
		return s, err
	}
	if leading.NArg() == 0 {
		return s, wrong("command", "none given: convmem -h lists them")
	}
	if leading.Arg(0) == "help" {
		return s, errHelp
	}
	var err error
	if s.command, err = find(leading.Arg(0)); err != nil {
		return s, err
	}
	flags := s.flagSet(s.command)
	if err := onlyKnown(leading, flags); err != nil {
		return s, err
	}
	if s.arguments, err = interleaved(flags, leading.Args()[1:]); err != nil {
		return s, err
	}
	err = s.check(flags)
	return s, err
}

// flagSet makes the flags of a command, or for the zero command those that are
// shared. What the settings hold already is kept.
func (s *settings) flagSet(of command) *flag.FlagSet {
	flags := flag.NewFlagSet(of.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are reported by the caller
	shared := of.shared
	if of.name == "" {
		shared = changing
	}
	flags.BoolVar(&s.json, "json", s.json, "machine-readable output")
	for name := range strings.FieldsSeq(shared) {
		s.define(flags, name)
	}
	if of.flags != nil {
		of.flags(s, flags)
	}
	return flags
}

// define makes a flag of several commands.
func (s *settings) define(flags *flag.FlagSet, name string) {
	switch name {
	case "dir":
		flags.StringVar(&s.dir, name, s.dir, "`directory` of the store; CONVMEM_DIR when not given")
	case "namespace":
		flags.Func(name, "`name` of a namespace; \"\" when not given", func(value string) error {
			s.namespace = &value
			return nil
		})
	case "dry-run":
		flags.BoolVar(&s.dryRun, name, s.dryRun, "change nothing and say what would be done")
	case "wait":
		flags.DurationVar(&s.wait, name, s.wait, "how long to wait for another process; 5s when not given")
	}
}

func (s *settings) limitFlag(flags *flag.FlagSet) {
	flags.UintVar(&s.limit, "limit", 0, "greatest `number` of results; 0 means all, for search 20")
}

func (s *settings) historyFlags(flags *flag.FlagSet) {
	s.limitFlag(flags)
	flags.BoolVar(&s.newest, "newest", false, "begin with the newest message")
}

func (s *settings) searchFlags(flags *flag.FlagSet) {
	s.limitFlag(flags)
	flags.StringVar(&s.session, "session", "", "search only this `session`")
	flags.Func("kind", "only this `kind`; may be repeated", appendTo(&s.filters.Kinds))
	flags.Func("tier", "only this `tier`; may be repeated", appendTo(&s.filters.Tiers))
	flags.Func("role", "only this `role`; may be repeated", appendTo(&s.filters.Roles))
	flags.Func("tag", "only with this `tag`; may be repeated for more", appendTo(&s.filters.Tags))
}

func (s *settings) editFlags(flags *flag.FlagSet) {
	flags.Int64Var(&s.revision, "revision", 0, "the `revision` that was seen; must be given")
	flags.Func("content", "the new content, as `text`", func(value string) error {
		s.content = &value
		return nil
	})
	flags.StringVar(&s.file, "file", "", "`file` with the new content; standard input when neither is given")
}

func (s *settings) forgetFlags(flags *flag.FlagSet) {
	flags.BoolVar(&s.all, "all", false, "forget all sessions of the namespace, which must be given")
}

func (s *settings) exportFlags(flags *flag.FlagSet) {
	flags.StringVar(&s.output, "o", "", "`file` to write; standard output when not given")
}

func appendTo[T ~string](list *[]T) func(string) error {
	return func(value string) error {
		*list = append(*list, T(value))
		return nil
	}
}

func parseFlags(flags *flag.FlagSet, arguments []string) error {
	err := flags.Parse(arguments)
	if err == nil || errors.Is(err, errHelp) {
		return err
	}
	return wrong("", "%v: convmem %s shows the flags", err, strings.TrimSpace(flags.Name()+" -h"))
}

// onlyKnown refuses flags before the command that would do nothing.
func onlyKnown(leading, flags *flag.FlagSet) (err error) {
	leading.Visit(func(given *flag.Flag) {
		if flags.Lookup(given.Name) == nil {
			err = wrong("-"+given.Name, "means nothing to %s: leave it out", flags.Name())
		}
	})
	return err
}

// interleaved parses flags that stand before, between and behind arguments, and
// returns the arguments. Everything behind -- is one.
func interleaved(flags *flag.FlagSet, all []string) (arguments []string, err error) {
	for {
		if err := parseFlags(flags, all); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if read := len(all) - len(rest); read > 0 && all[read-1] == "--" {
			return append(arguments, rest...), nil
		}
		if len(rest) == 0 {
			return arguments, nil
		}
		arguments, all = append(arguments, rest[0]), rest[1:]
	}
}

// check checks what no single flag says, and resolves the directory.
func (s *settings) check(flags *flag.FlagSet) (err error) {
	if n := len(s.arguments); n < s.command.least || n > s.command.most {
		return wrong("", "%d arguments, want: convmem %s", n, strings.TrimSpace(s.command.name+" "+s.command.arguments))
	}
	if flags.Lookup("dir") == nil {
		return nil
	}
	if s.dir == "" {
		return wrong("-dir", "no directory: give -dir DIR or set CONVMEM_DIR")
	}
	s.dir, err = absolute(s.dir)
	return err
}

// absolute resolves a directory, with ~ or a leading ~/ as the home directory:
// CONVMEM_DIR may have been set without a shell.
func absolute(dir string) (string, error) {
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", ioFailed("finding the home directory", err)
		}
		dir = filepath.Join(home, rest)
	}
	resolved, err := filepath.Abs(dir)
	if err != nil {
		return "", ioFailed("finding the directory", err)
	}
	return resolved, nil
}
