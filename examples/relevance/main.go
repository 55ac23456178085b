// Relevance measures search on a set of messages and questions: how often the
// messages that answer a question are among the first hits.
//
//	go run ./examples/relevance -set FILE [-json] [-engine convmem|bm25]
//
// # The set
//
// FILE holds JSON Lines in UTF-8. Each line is an object with one key; the first
// line is the set, messages stand in the order in which they are to be written,
// and blank lines are skipped.
//
//	{"set": {"name": "support"}}
//	{"message": {"id": "m1", "store": "ann", "session": "monday", "role": "user", "time": 1700000000000, "content": "Error 61."}}
//	{"query": {"id": "q1", "store": "ann", "text": "which error?", "relevant": ["m1"], "group": "lookup", "exclude": []}}
//
// A store is a memory of its own: a query searches the messages of its store, in
// all sessions, and no others. The time is in Unix milliseconds. The relevant
// messages are those that answer the query, at least one; those in exclude, at most
// 80, are dropped from the ranking before anything is counted.
//
// These may be left out: store, then ""; session, then "none"; group, then "all";
// exclude; the id of a query. Keys inside the three objects that are not named
// here are ignored. Everything else that is not as described ends the program with
// the number of the line: another key in place of the three, a role that convmem
// does not have, content or a query that is empty, content over 1 MiB, an id that
// stands twice in its store, a relevant message that is not in the store. A query
// over 4,096 bytes is cut there, before a character that does not fit, for both
// engines, and a note on standard error says so.
//
// # The figures
//
// All are means over queries.
//
//   - recall@k: the share of the relevant messages that are among the first k.
//   - MRR: 1 / rank of the first relevant message, 0 where it is not among the
//     first 100, which is as far as a ranking goes.
//   - nDCG@10, binary: the sum of 1 / log2(rank+1) over the relevant messages
//     among the first 10, relative to the most that it could be.
//   - session any@5: 1 when a relevant message's session is among the first five
//     distinct sessions of the ranking, else 0. Only queries of stores with two
//     sessions or more count; where there are none, the figure is null, "-" in
//     the table.
//   - queries per second, one after the other, each for 100 hits with their
//     content, in memory. Writing the messages is not in it.
//
// There is one row for each group and one over all groups but "adversarial", a
// name for questions that have no good answer. Where every query is of that group,
// this row has 0 queries and zeros.
//
// With -json, standard output has exactly one object and nothing else. A group has
// the keys from queries to qps:
//
//	{"set","engine","queries","recall":{"1","5","10","20"},"mrr","ndcg10",
//	 "session_any5","qps","groups":{name:{...}}}
//
// # The engines
//
// convmem is a fresh store in memory for each store of the set, with its defaults.
// bm25 is the baseline to compare with: see the type okapi.
//
// The exit code is 0 when the set was measured, 1 when it could not be, and 2 when
// the command line is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, out, notes io.Writer) int {
	s, err := parse(args, notes)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(notes, "relevance:", err)
		return 2
	}
	if err := measureFile(ctx, s, out, notes); err != nil {
		fmt.Fprintln(notes, "relevance:", err)
		return 1
	}
	return 0
}

// settings are what the command line decides.
type settings struct {
	file   string
	json   bool
	engine string
	open   opener // of the engine
}

// parse reads the settings. Usage goes to out.
func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("relevance", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&s.file, "set", "", "`file` of messages and queries, as JSON Lines")
	flags.BoolVar(&s.json, "json", false, "print one JSON object instead of a table")
	flags.StringVar(&s.engine, "engine", "convmem", "convmem or bm25")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	s.open = engineNamed(s.engine)
	switch {
	case flags.NArg() > 0:
		return settings{}, fmt.Errorf("unexpected argument %q: the file is given with -set", flags.Arg(0))
	case s.file == "":
		return settings{}, errors.New("no set: give -set FILE")
	case s.open == nil:
		return settings{}, fmt.Errorf("-engine is %q, want convmem or bm25", s.engine)
	}
	return s, nil
}

// measureFile does what the settings ask for.
func measureFile(ctx context.Context, s settings, out, notes io.Writer) error {
	file, err := os.Open(s.file)
	if err != nil {
		return err
	}
	defer file.Close()
	given, err := readSet(file)
	if err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	for _, note := range given.notes {
		fmt.Fprintf(notes, "relevance: %s: %s\n", s.file, note)
	}
	r, err := measure(ctx, given, s.open)
	if err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	r.Engine = s.engine
	if s.json {
		return r.writeJSON(out)
	}
	return r.writeTable(out)
}
