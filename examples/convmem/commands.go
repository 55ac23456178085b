package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"
)

// command is a subcommand.
type command struct {
	name      string
	arguments string // as the usage shows them
	least     int    // number of arguments
	most      int
	summary   string
	// shared names the flags of several commands that this one takes, beside
	// -json.
	shared string
	flags  func(*settings, *flag.FlagSet) // its own; nil for none
	run    func(context.Context, *call) error
}

const anyNumber = math.MaxInt

// Flags that commands share.
const (
	whole    = "dir wait"
	reading  = whole + " namespace"
	changing = reading + " dry-run"
)

// commands returns all subcommands in the order of the usage.
func commands() []command {
	return []command{
		{"stats", "", 0, 0, "sizes and counters of the store", reading, nil, stats},
		{"namespaces", "", 0, 0, "the namespaces that have messages", whole, nil, namespaces},
		{"sessions", "", 0, 0, "the sessions, newest activity first", reading, (*settings).limitFlag, sessions},
		{"history", "SESSION", 1, 1, "the messages of a session", reading, (*settings).historyFlags, history},
		{"show", "MESSAGE_ID", 1, 1, "one message, whole", reading, nil, show},
		{"search", "QUERY...", 1, anyNumber, "messages that match words, best first", reading, (*settings).searchFlags, search},
		{"edit", "MESSAGE_ID", 1, 1, "gives a message other content", changing, (*settings).editFlags, edit},
		{"delete", "MESSAGE_ID", 1, 1, "deletes a message", changing, nil, deleteMessage},
		{"forget", "[SESSION]", 0, 1, "deletes a session, removes its bytes, and proves it", changing, (*settings).forgetFlags, forget},
		{"rebuild", "", 0, 0, "removes the bytes of what was deleted or overwritten", whole + " dry-run", nil, rebuild},
		{"export", "", 0, 0, "all messages as JSON Lines", reading, (*settings).exportFlags, export},
		{"import", "FILE|-", 1, 1, "adds the messages of an export", whole + " dry-run", nil, importMessages},
		{"backup", "DIR", 1, 1, "a copy of the store in a new directory", whole, nil, backup},
		{"verify", "", 0, 0, "reads every byte and checks it", whole, nil, verify},
		{"salvage", "FROM TO", 2, 2, "copies what is intact of a damaged store to a new one", "", nil, salvage},
	}
}

// find returns the command of a name.
func find(name string) (command, error) {
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
	}
	return command{}, wrong("command", "there is no %q: convmem -h lists them", name)
}

// usage prints what there is, or the flags of one command.
func usage(w io.Writer, of command) {
	if of.name == "" {
		fmt.Fprintln(w, "usage: convmem [FLAG]... COMMAND [FLAG]... [ARGUMENT]...\n\ncommands:")
		for _, c := range commands() {
			fmt.Fprintf(w, "  %-18s %s\n", strings.TrimSpace(c.name+" "+c.arguments), c.summary)
		}
		fmt.Fprintln(w, "\nflags; convmem COMMAND -h shows those of a command:")
	} else {
		fmt.Fprintf(w, "usage: convmem %s [FLAG]... %s\n%s\n\n", of.name, of.arguments, of.summary)
	}
	flags := new(settings).flagSet(of)
	flags.SetOutput(w)
	flags.PrintDefaults()
}
