// Command convmem looks into a convmem store and looks after it.
//
//	convmem [FLAG]... COMMAND [FLAG]... [ARGUMENT]...
//
// Flags may stand before the command, behind it and between arguments; -- ends
// them, for a query or an id that begins with a dash. There are no prompts: a
// command that destroys something says what it did, and with -dry-run what it
// would do.
//
// # Commands that read
//
// They open the store without changing a file of it, and work beside other
// processes that use it.
//
//	stats              sizes and counters of the store
//	namespaces         the namespaces that have messages
//	sessions           the sessions, newest activity first
//	history SESSION    the messages of a session
//	show MESSAGE_ID    one message, whole
//	search QUERY...    messages that match words, best first
//	export             all messages as JSON Lines
//	backup DIR         a copy of the store in a new directory
//	verify             reads every byte and checks it
//
// history -newest begins with the newest message. history, sessions and search
// take -limit N: 0 means all, but for search 20. search takes -session SESSION,
// and -kind, -tier, -role and -tag, each of which may be repeated: kinds, tiers
// and roles are alternatives, of tags a message must have all.
//
// export writes to standard output, unless that is a terminal, or with -o FILE to
// a file, which appears, or takes the place of what was there, once it is whole
// and on stable storage; where FILE is a link, in the place of the link. A process
// that is killed leaves a file .FILE.*.tmp beside it. export covers all namespaces, or with -namespace one.
//
// # Commands that change
//
// All but import want a store that is there: a wrong -dir makes none. To be sure
// of that they open the store twice.
//
//	edit MESSAGE_ID    gives a message other content
//	delete MESSAGE_ID  deletes a message
//	forget [SESSION]   deletes a session, removes its bytes, and proves it
//	rebuild            removes the bytes of what was deleted or overwritten
//	import FILE|-      adds the messages of an export
//	salvage FROM TO    copies what is intact of a damaged store to a new one
//
// edit needs -revision N, the revision that was seen, which show prints: if the
// message is at another one by now, nothing is changed and the error names it. The
// content is that of -content TEXT, of -file FILE, or of standard input, byte for
// byte.
//
// What delete removes leaves the disk with the next rebuild. forget rebuilds by
// itself, and deletes all sessions of a namespace with -all and -namespace NAME,
// which may be "". For a session that does not exist it rebuilds and proves too,
// so that it can be repeated after a failure.
//
// import puts messages into the namespaces that they came from, passes over those
// that are there already, and makes the store if there is none. Repeating one that
// was interrupted does no harm.
//
// salvage reads FROM, which no process should be using, and reports what is lost.
// It takes no -dir.
//
// # Flags of several commands
//
//	-dir DIR           directory of the store; without it CONVMEM_DIR. ~/ is the
//	                   home directory
//	-namespace NAME    namespace; without it the one named ""
//	-json              machine-readable output
//	-dry-run           of edit, delete, forget, rebuild and import: change nothing
//	                   and say what would be done
//	-wait DURATION     how long to wait for another process, as in 30s; 5s without
//
// import -dry-run is exact because it imports into a copy of the store, which it
// makes in the directory for temporary files and removes. The others read what
// they would change.
//
// # Output
//
// Text for people has times in RFC 3339, UTC. In lists, white space in content is
// one space, and content beyond 80 characters is cut on a grapheme boundary and
// ends in …; show has it whole. Characters that could drive a terminal, and those
// that turn the direction of text, are written as in \u001b, wherever the output
// goes.
//
// With -json there is one JSON document, or for namespaces, sessions, history and
// search one a line, with whole content. Names are those of the MCP tools, and
// times are Unix milliseconds. A document that says what was done has a status: OK,
// DRY_RUN, INCOMPLETE (forget, import) or DAMAGED (verify). Errors are documents
// too, on standard error:
//
//	{"status":"ERROR","error":{"code":"NOT_FOUND","message":"...","field":"message_id"}}
//
// So are errors of the command line behind -json. Content is never in an error.
//
// export, import and verify show their progress on standard error if that is a
// terminal, but not with -json.
//
// # Exit codes
//
//	0  done
//	1  failed: reading or writing, or interrupted by a signal
//	2  wrong input: the command line, an argument, a line of an import
//	3  no such message, session or store
//	4  conflict: another revision is current, or an import contradicts the store
//	5  busy: another process was in the way for longer than -wait; try again
//	6  damage was found; other messages of the list are there. salvage ends with 0
//	   when it made a new store, however much is lost
package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() {
	os.Exit(run(os.Args[1:], surroundings{
		getenv: os.Getenv,
		in:     os.Stdin,
		out:    os.Stdout, outIsTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		log: os.Stderr, logIsTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}))
}

// surroundings are what a run has beside its arguments.
type surroundings struct {
	getenv        func(string) string
	in            io.Reader
	out, log      io.Writer
	outIsTerminal bool
	logIsTerminal bool
}

// run runs a command line and returns the exit code.
func run(arguments []string, around surroundings) int {
	s, err := parse(arguments, around.getenv)
	if errors.Is(err, errHelp) {
		usage(around.out, s.command)
		return 0
	}
	if err != nil {
		report(around.log, err, s.json)
		return exitCode(err)
	}
	ctx := untilSignal()
	err = s.run(ctx, around)
	if err == nil {
		return 0
	}
	report(around.log, err, s.json)
	if ctx.Err() != nil {
		return exitFailed // not busy: whoever sent the signal wants no second try
	}
	return exitCode(err)
}

// run runs the command. What it printed before a failure is printed.
func (s settings) run(ctx context.Context, around surroundings) error {
	c := &call{settings: s, around: around, out: bufio.NewWriter(around.out)}
	err := s.command.run(ctx, c)
	if flushed := c.out.Flush(); err == nil && flushed != nil {
		return ioFailed("writing the result", flushed)
	}
	return err
}

// untilSignal returns a context that the first signal ends. By then the second
// one ends the process at once.
func untilSignal() context.Context {
	caught, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, end := context.WithCancel(context.Background())
	context.AfterFunc(caught, func() {
		restore()
		end()
	})
	return ctx
}
