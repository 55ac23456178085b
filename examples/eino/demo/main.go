// Demo shows an agent that is interrupted for an approval, and another process that
// resumes it: the checkpoint and the conversation come from a convmem store. Its model
// is a script, so it needs neither network nor key.
//
//	go run ./demo
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

func main() {
	dir := flag.String("dir", "", "directory of the store; a temporary one, removed at the end, when empty")
	flag.Parse()
	if err := runIn(*dir); err != nil {
		log.Fatal(err)
	}
}

// runIn makes the directory where none is given.
func runIn(dir string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "convmem-eino-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	return run(context.Background(), os.Stdout, dir)
}

// The names under which both processes find everything.
const (
	session  = "monday"
	runID    = "run-1"
	spaceFor = "checkpoints"
)

// run is two processes one after the other: nothing but the directory and the id of
// the question goes from the first to the second.
func run(ctx context.Context, w io.Writer, dir string) error {
	question, err := ask(ctx, w, dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "\n-- the process ends, another one opens the store --")
	return answer(ctx, w, dir, question)
}

// ask is the process that stops at the question. It returns the id of the question.
func ask(ctx context.Context, w io.Writer, dir string) (string, error) {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return "", err
	}
	defer db.Close()
	messages := eino.NewMessages(db)
	if err := messages.Clear(ctx, session); err != nil { // of an earlier run with -dir
		return "", err
	}
	request := schema.UserMessage("Please drop the table of old orders.")
	if err := say(ctx, w, messages, request); err != nil {
		return "", err
	}
	runner, err := newRunner(ctx, db)
	if err != nil {
		return "", err
	}
	events := runner.Run(ctx, []*schema.Message{request}, adk.WithCheckPointID(runID))
	question, err := follow(ctx, w, messages, events)
	if err == nil && question == "" {
		err = errors.New("the agent did not ask for an approval")
	}
	return question, err
}

// answer is the process that resumes the run with the answer.
func answer(ctx context.Context, w io.Writer, dir, question string) error {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	messages := eino.NewMessages(db)
	runner, err := newRunner(ctx, db)
	if err != nil {
		return err
	}
	events, err := runner.ResumeWithParams(ctx, runID, &adk.ResumeParams{Targets: map[string]any{question: "yes"}})
	if err != nil {
		return err
	}
	if _, err := follow(ctx, w, messages, events); err != nil {
		return err
	}
	if err := eino.NewCheckPoints(db.Namespace(spaceFor)).Delete(ctx, runID); err != nil {
		return err
	}
	return recall(ctx, w, messages)
}

// recall reads the conversation in two ways.
func recall(ctx context.Context, w io.Writer, messages *eino.Messages) error {
	for _, most := range []int{4, 2} {
		latest, err := messages.Latest(ctx, session, eino.Window{MaxMessages: most})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\nthe latest messages, at most %d\n", most)
		for _, message := range latest {
			fmt.Fprintln(w, describe(message))
		}
	}
	found, err := messages.Search(ctx, "was the table dropped?", "", 2)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "\nfound")
	for _, hit := range found.Hits {
		fmt.Fprintln(w, describe(hit.Message))
	}
	return nil
}

// say keeps messages and shows them.
func say(ctx context.Context, w io.Writer, messages *eino.Messages, said ...*schema.Message) error {
	if err := messages.Append(ctx, session, said...); err != nil {
		return err
	}
	for _, message := range said {
		fmt.Fprintln(w, describe(message))
	}
	return nil
}

func describe(message *schema.Message) string {
	line := fmt.Sprintf("  %-9s  %s", message.Role, message.Content)
	for _, call := range message.ToolCalls {
		line += fmt.Sprintf("%s(%s)", call.Function.Name, call.Function.Arguments)
	}
	return line
}
