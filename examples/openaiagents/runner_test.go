package openaiagents_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/openaiagents"
	"github.com/google/go-cmp/cmp"
	"github.com/nlpodyssey/openai-agents-go/agents"
	"github.com/nlpodyssey/openai-agents-go/agentstesting"
	"github.com/nlpodyssey/openai-agents-go/memory"
	"github.com/nlpodyssey/openai-agents-go/tracing"
)

// TestMain is also the main function of the workers of TestKilledWorkers. The
// framework logs an error for every run whose tracing is off.
func TestMain(m *testing.M) {
	tracing.SetLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if dir := os.Getenv(workerDir); dir != "" {
		work(dir, os.Args[len(os.Args)-1]) // this process is one that is killed
	}
	os.Exit(m.Run())
}

// script is a model that says what it is told to and keeps what it was given.
type script struct {
	*agentstesting.FakeModel
	agent *agents.Agent
}

func newScript() script {
	model := agentstesting.NewFakeModel(false, nil)
	agent := agents.New("clerk").WithModelInstance(model).WithTools(agentstesting.GetFunctionTool("lookup", "PostgreSQL 17"))
	return script{FakeModel: model, agent: agent}
}

// run gives the outputs to one run of the framework's own runner and returns the
// final one.
func (s script) run(ctx context.Context, session memory.Session, limit int, streamed bool, question string, outputs ...agents.TResponseOutputItem) (any, error) {
	for _, output := range outputs {
		s.SetNextOutput(agentstesting.FakeModelTurnOutput{Value: []agents.TResponseOutputItem{output}})
	}
	runner := agents.Runner{Config: agents.RunConfig{Session: session, LimitMemory: limit, TracingDisabled: true}}
	if !streamed {
		result, err := runner.Run(ctx, s.agent, question)
		if err != nil {
			return nil, err
		}
		return result.FinalOutput, nil
	}
	result, err := runner.RunStreamed(ctx, s.agent, question)
	if err != nil {
		return nil, err
	}
	if err := result.StreamEvents(func(agents.StreamEvent) error { return nil }); err != nil {
		return nil, err
	}
	return result.FinalOutput(), nil
}

// given is the JSON of what the model was given last.
func (s script) given() []string { return texts(s.LastTurnArgs.Input.(agents.InputItems)) }

// The framework's runner calls a tool, the process ends, and in the next one the
// model is given the whole of it before the next question.
func TestRunner(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed %v", streamed), func(t *testing.T) {
			dir := t.TempDir()
			db := open(t, dir)
			first := newScript()
			answer, err := first.run(t.Context(), openaiagents.NewSession(db, "s"), 0, streamed, "Which database?",
				agentstesting.GetFunctionToolCall("lookup", `{}`), agentstesting.GetTextMessage("PostgreSQL 17."))
			if err != nil || answer != "PostgreSQL 17." {
				t.Fatalf("%v, %v", answer, err)
			}
			kept := get(t, openaiagents.NewSession(db, "s"), 0)
			if len(kept) != 4 || !strings.Contains(kept[2], "PostgreSQL 17") {
				t.Fatalf("kept %q", kept)
			}
			db.Close()

			db = open(t, dir)
			session := openaiagents.NewSession(db, "s")
			second := newScript()
			if _, err := second.run(t.Context(), session, 0, streamed, "Why?", agentstesting.GetTextMessage("It was there.")); err != nil {
				t.Fatal(err)
			}
			given := second.given()
			if diff := cmp.Diff(kept, given[:min(4, len(given))]); diff != "" || len(given) != 5 {
				t.Errorf("%d items given (-want +got):\n%s", len(given), diff)
			}
			if got := get(t, session, 0); len(got) != 6 {
				t.Errorf("%d items kept: %q", len(got), got)
			}
			found, err := db.Search(t.Context(), convmem.SearchRequest{Query: "lookup"})
			if err != nil || len(found.Hits) != 1 || found.Hits[0].Role != convmem.RoleAssistant {
				t.Errorf("found %+v, %v", found, err)
			}
		})
	}
}

// With a limit that cuts between a call and its result the model is not given the
// result.
func TestRunnerWithLimit(t *testing.T) {
	session := openaiagents.NewSession(open(t, t.TempDir()), "s")
	s := newScript()
	if _, err := s.run(t.Context(), session, 2, false, "Which database?",
		agentstesting.GetFunctionToolCall("lookup", `{}`), agentstesting.GetTextMessage("PostgreSQL.")); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]int{1: 2, 2: 2, 3: 4} {
		before := get(t, session, 0)
		if _, err := s.run(t.Context(), session, limit, false, "Why?", agentstesting.GetTextMessage("So.")); err != nil {
			t.Fatal(err)
		}
		if given := s.given(); len(given) != want {
			t.Errorf("limit %d: given %q, want %d", limit, given, want)
		}
		// As it was, for the next limit.
		for len(get(t, session, 0)) > len(before) {
			pop(t, session)
		}
	}
}

// A store that fails makes the run fail, with an error that still has its code.
func TestRunnerOnBrokenStore(t *testing.T) {
	for _, call := range []string{"read", "write batch"} {
		t.Run(call, func(t *testing.T) {
			db := open(t, t.TempDir())
			broken := openaiagents.NewSession(&hooked{Store: db, before: fail(call)}, "s")
			_, err := newScript().run(t.Context(), broken, 0, false, "Which?", agentstesting.GetTextMessage("This."))
			failsWith(t, err, convmem.CodeIO)
			if !errors.Is(err, errKilled) {
				t.Error(err)
			}
			if got := get(t, openaiagents.NewSession(db, "s"), 0); got != nil {
				t.Errorf("kept %q", got)
			}
		})
	}
}
