package eino_test

import (
	"context"
	"errors"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// scripted is a model that calls the tool once and then repeats its result. It
// remembers nothing: a new process goes on where the old one stopped.
type scripted struct{}

func (scripted) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	last := input[len(input)-1]
	if last.Role == schema.Tool {
		return schema.AssistantMessage("Done: "+last.Content, nil), nil
	}
	return asks(call("call-1", "drop_table", `{"table":"orders"}`)), nil
}

func (s scripted) Stream(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	message, err := s.Generate(ctx, input, options...)
	return schema.StreamReaderFromArray([]*schema.Message{message}), err
}

// dropTable asks before it acts.
type dropTable struct{}

func (dropTable) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "drop_table", Desc: "drops a table"}, nil
}

func (dropTable) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	if resumed, _, answer := tool.GetResumeContext[string](ctx); resumed {
		return answer + " " + arguments, nil
	}
	return "", tool.Interrupt(ctx, "May I?")
}

// newRunner makes everything anew, as a process does that starts.
func newRunner(t *testing.T, store eino.Store) *adk.Runner {
	t.Helper()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "keeper", Description: "keeps tables", Instruction: "Be careful.", Model: scripted{},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{dropTable{}}}},
	})
	must(t, err)
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: eino.NewCheckPoints(store)})
}

// drain returns the messages of a run and the id of what interrupted it, if any.
func drain(t *testing.T, events *adk.AsyncIterator[*adk.AgentEvent]) (said []*schema.Message, interrupt string) {
	t.Helper()
	for {
		event, ok := events.Next()
		if !ok {
			return said, interrupt
		}
		must(t, event.Err)
		if event.Output != nil {
			message, err := event.Output.MessageOutput.GetMessage()
			must(t, err)
			said = append(said, message)
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			for _, c := range event.Action.Interrupted.InterruptContexts {
				if c.IsRootCause {
					interrupt = c.ID
				}
			}
		}
	}
}

// withoutExtra drops what the runner notes about a message for itself.
func withoutExtra(messages []*schema.Message) []*schema.Message {
	var bare []*schema.Message
	for _, message := range messages {
		m := *message
		m.Extra = nil
		bare = append(bare, &m)
	}
	return bare
}

// A run is interrupted, its process ends, and another process resumes it and answers.
func TestRunnerResumesAfterReopen(t *testing.T) {
	dir := t.TempDir()
	db, err := convmem.Open(ctx, dir, nil)
	must(t, err)
	question := schema.UserMessage("Drop the table of orders.")
	said, interrupt := drain(t, newRunner(t, db.Namespace("checkpoints")).Run(ctx, []*schema.Message{question}, adk.WithCheckPointID("run-1")))
	if interrupt == "" {
		t.Fatal("the run was not interrupted")
	}
	must(t, eino.NewMessages(db).Append(ctx, "monday", append([]*schema.Message{question}, said...)...))
	must(t, db.Close())

	db = open(t, dir)
	runner := newRunner(t, db.Namespace("checkpoints"))
	events, err := runner.ResumeWithParams(ctx, "run-1", &adk.ResumeParams{Targets: map[string]any{interrupt: "Yes, dropped"}})
	must(t, err)
	rest, interrupt := drain(t, events)
	same(t, "second interrupt", interrupt, "")
	messages := eino.NewMessages(db)
	must(t, messages.Append(ctx, "monday", rest...))
	latest, err := messages.Latest(ctx, "monday", eino.Window{MaxMessages: 10})
	must(t, err)
	same(t, "conversation", withoutExtra(latest), []*schema.Message{
		question,
		asks(call("call-1", "drop_table", `{"table":"orders"}`)),
		schema.ToolMessage(`Yes, dropped {"table":"orders"}`, "call-1", schema.WithToolName("drop_table")),
		schema.AssistantMessage(`Done: Yes, dropped {"table":"orders"}`, nil),
	})
	_, err = runner.Resume(ctx, "run-2")
	if err == nil || convmem.CodeOf(err) != convmem.CodeInternal {
		t.Errorf("resumed a run that never was: %v", err)
	}
}

// The runner passes the store's own error on.
func TestRunnerReportsTheStore(t *testing.T) {
	db := open(t, t.TempDir())
	store := &faulty{Store: db, failAt: 1, failFor: 99}
	_, err := newRunner(t, store).Resume(ctx, "run-1")
	injected(t, err)
	events := newRunner(t, store).Query(ctx, "Drop it.", adk.WithCheckPointID("run-1"))
	var failed error
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		failed = errors.Join(failed, event.Err)
	}
	injected(t, failed)
}

// A graph of package compose goes on behind the node before which it stopped.
func TestGraphResumesAfterReopen(t *testing.T) {
	ran := 0
	newGraph := func(store eino.Store) compose.Runnable[string, string] {
		graph := compose.NewGraph[string, string]()
		must(t, graph.AddLambdaNode("first", compose.InvokableLambda(func(_ context.Context, in string) (string, error) {
			ran++
			return in + " first", nil
		})))
		must(t, graph.AddLambdaNode("second", compose.InvokableLambda(func(_ context.Context, in string) (string, error) {
			return in + " second", nil
		})))
		must(t, graph.AddEdge(compose.START, "first"))
		must(t, graph.AddEdge("first", "second"))
		must(t, graph.AddEdge("second", compose.END))
		runnable, err := graph.Compile(ctx, compose.WithCheckPointStore(eino.NewCheckPoints(store)), compose.WithInterruptBeforeNodes([]string{"second"}))
		must(t, err)
		return runnable
	}
	dir := t.TempDir()
	db, err := convmem.Open(ctx, dir, nil)
	must(t, err)
	_, err = newGraph(db).Invoke(ctx, "run", compose.WithCheckPointID("graph-1"))
	if _, ok := compose.ExtractInterruptInfo(err); !ok {
		t.Fatalf("not interrupted: %v", err)
	}
	must(t, db.Close())
	out, err := newGraph(open(t, dir)).Invoke(ctx, "ignored", compose.WithCheckPointID("graph-1"))
	must(t, err)
	same(t, "output", out, "run first second")
	same(t, "runs of the first node", ran, 1)
}

// turnLoop makes a loop of one agent with a checkpoint; ended is called when a turn is.
func turnLoop(store eino.Store, ended func(*adk.TurnLoop[string, *schema.Message])) *adk.TurnLoop[string, *schema.Message] {
	return adk.NewTurnLoop(adk.TurnLoopConfig[string, *schema.Message]{
		Store: eino.NewCheckPoints(store), CheckpointID: "loop",
		GenInput: func(_ context.Context, _ *adk.TurnLoop[string, *schema.Message], items []string) (*adk.GenInputResult[string, *schema.Message], error) {
			input := &adk.AgentInput{Messages: []*schema.Message{schema.UserMessage(items[0])}}
			return &adk.GenInputResult[string, *schema.Message]{Input: input, Consumed: items}, nil
		},
		PrepareAgent: func(ctx context.Context, _ *adk.TurnLoop[string, *schema.Message], _ []string) (adk.Agent, error) {
			return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "parrot", Description: "repeats", Model: parrot{}})
		},
		OnAgentEvents: func(_ context.Context, turn *adk.TurnContext[string, *schema.Message], events *adk.AsyncIterator[*adk.AgentEvent]) error {
			for event, ok := events.Next(); ok; event, ok = events.Next() {
				if event.Err != nil {
					return event.Err
				}
			}
			ended(turn.Loop)
			return nil
		},
	})
}

// parrot is a model that says what it was told.
type parrot struct{ scripted }

func (parrot) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage(input[len(input)-1].Content, nil), nil
}

// A loop that was stopped with work left is gone on with; when its context is cancelled
// it saves what is left, or deletes the checkpoint of work that is done: otherwise the
// next loop would do it again.
func TestTurnLoopEndsCancelled(t *testing.T) {
	type loop = adk.TurnLoop[string, *schema.Message]
	for name, test := range map[string]struct {
		beforeCancel func(*loop)
		left         []string
		reason       error
	}{
		"nothing left": {func(*loop) {}, nil, context.Canceled},
		"stopped":      {func(l *loop) { l.Push("later"); l.Stop() }, []string{"later"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := turnLoop(open(t, dir), func(*loop) { t.Error("a turn of a stopped loop") })
			first.Push("question")
			first.Stop()
			first.Run(ctx)
			must(t, first.Wait().CheckpointErr)

			store := open(t, dir)
			_, saved, err := eino.NewCheckPoints(store).Get(ctx, "loop")
			must(t, err)
			same(t, "saved", saved, true)
			cancelled, cancel := context.WithCancel(ctx)
			turns := 0
			second := turnLoop(store, func(l *loop) {
				turns++
				test.beforeCancel(l)
				cancel()
			})
			second.Run(cancelled)
			exit := second.Wait()
			must(t, exit.CheckpointErr)
			same(t, "turns, of work that was left", turns, 1)
			same(t, "left", exit.UnhandledItems, test.left)
			if !errors.Is(exit.ExitReason, test.reason) {
				t.Errorf("ended with %v, want %v", exit.ExitReason, test.reason)
			}
			_, saved, err = eino.NewCheckPoints(open(t, dir)).Get(ctx, "loop")
			must(t, err)
			same(t, "saved", saved, test.left != nil)
		})
	}
}
