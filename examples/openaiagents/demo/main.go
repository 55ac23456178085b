// Demo lets an agent with a scripted model talk in two lives of the program: the
// second one opens the store again and the model is given what was said in the
// first. It needs neither a network nor a key.
//
//	go run ./demo
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"

	"example.com/convmem"
	"example.com/convmem/examples/openaiagents"
	"github.com/nlpodyssey/openai-agents-go/agents"
	"github.com/nlpodyssey/openai-agents-go/agentstesting"
	"github.com/nlpodyssey/openai-agents-go/tracing"
)

func main() {
	dir := flag.String("dir", "", "keep the store in this directory (default: a temporary one)")
	flag.Parse()
	// The framework logs an error for every run whose tracing is off.
	tracing.SetLogger(slog.New(slog.DiscardHandler))
	if err := runIn(context.Background(), os.Stdout, *dir); err != nil {
		log.Fatal(err)
	}
}

// runIn removes the directory again if it had to make one.
func runIn(ctx context.Context, w io.Writer, dir string) error {
	if dir == "" {
		temporary, err := os.MkdirTemp("", "convmem-openaiagents-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	}
	return run(ctx, w, dir)
}

func run(ctx context.Context, w io.Writer, dir string) error {
	lives := []struct {
		title string
		turns []turn
	}{
		{"first life", []turn{{"We chose PostgreSQL for billing.", "Noted: PostgreSQL."}}},
		{"second life", []turn{{"What did we choose?", "PostgreSQL, for billing."}, {"No, forget it.", "Forgotten."}}},
	}
	for _, life := range lives {
		fmt.Fprintf(w, "-- %s\n", life.title)
		if err := live(ctx, w, dir, life.turns); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "-- third life")
	return takeBack(ctx, w, dir)
}

type turn struct{ question, answer string }

// live opens the store, lets the agent answer, and closes the store.
func live(ctx context.Context, w io.Writer, dir string, turns []turn) error {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()

	model := agentstesting.NewFakeModel(false, nil)
	agent := agents.New("assistant").WithModelInstance(model)
	runner := agents.Runner{Config: agents.RunConfig{
		Session: openaiagents.NewSession(db, "billing"), TracingDisabled: true,
	}}
	for _, turn := range turns {
		model.SetNextOutput(agentstesting.FakeModelTurnOutput{
			Value: []agents.TResponseOutputItem{agentstesting.GetTextMessage(turn.answer)},
		})
		result, err := runner.Run(ctx, agent, turn.question)
		if err != nil {
			return err
		}
		input, ok := model.LastTurnArgs.Input.(agents.InputItems)
		if !ok {
			return fmt.Errorf("the model was given %T", model.LastTurnArgs.Input)
		}
		fmt.Fprintf(w, "user: %s\nassistant: %v (the model was given %d items)\n", turn.question, result.FinalOutput, len(input))
	}
	return nil
}

// takeBack pops the last turn and searches what is left.
func takeBack(ctx context.Context, w io.Writer, dir string) error {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()

	session := openaiagents.NewSession(db, "billing")
	for range 2 {
		if _, err := session.PopItem(ctx); err != nil {
			return err
		}
	}
	items, err := session.GetItems(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "the last turn is taken back: %d items are left\n", len(items))
	found, err := db.Search(ctx, convmem.SearchRequest{Query: "postgresql noted"})
	if err != nil {
		return err
	}
	if len(found.Hits) > 0 {
		fmt.Fprintf(w, "found: %s: %s\n", found.Hits[0].Role, found.Hits[0].Content)
	}
	return nil
}
