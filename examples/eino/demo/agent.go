package main

import (
	"context"
	"fmt"
	"io"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// newRunner makes the agent. It has no state but what is in the store.
func newRunner(ctx context.Context, db *convmem.DB) (*adk.Runner, error) {
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "keeper", Description: "looks after the database", Model: script{},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{dropTable{}}}},
	})
	if err != nil {
		return nil, err
	}
	checkPoints := eino.NewCheckPoints(db.Namespace(spaceFor))
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: checkPoints}), nil
}

// follow keeps and shows what a run says. It returns the id of the question that
// interrupted it, or "".
func follow(ctx context.Context, w io.Writer, messages *eino.Messages, events *adk.AsyncIterator[*adk.AgentEvent]) (string, error) {
	question := ""
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return "", event.Err
		}
		if event.Output != nil {
			message, err := event.Output.MessageOutput.GetMessage()
			if err != nil {
				return "", err
			}
			if err := say(ctx, w, messages, message); err != nil {
				return "", err
			}
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			for _, c := range event.Action.Interrupted.InterruptContexts {
				if c.IsRootCause {
					question = c.ID
					fmt.Fprintf(w, "interrupted: %v\n", c.Info)
				}
			}
		}
	}
	return question, nil
}

// script is a model that calls the tool, and says what came of it.
type script struct{}

// Generate implements model.BaseChatModel.
func (script) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	last := input[len(input)-1]
	if last.Role == schema.Tool {
		return schema.AssistantMessage("Done: "+last.Content, nil), nil
	}
	call := schema.FunctionCall{Name: "drop_table", Arguments: `{"table":"old_orders"}`}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "call-1", Type: "function", Function: call}}), nil
}

// Stream implements model.BaseChatModel.
func (s script) Stream(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	message, err := s.Generate(ctx, input, options...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{message}), nil
}

// dropTable asks for an approval before it acts.
type dropTable struct{}

// Info implements tool.BaseTool.
func (dropTable) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "drop_table", Desc: "drops a table for good"}, nil
}

// InvokableRun implements tool.InvokableTool.
func (dropTable) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	answered, _, approval := tool.GetResumeContext[string](ctx)
	switch {
	case !answered:
		return "", tool.Interrupt(ctx, "May I drop the table old_orders?")
	case approval == "yes":
		return "the table old_orders was dropped", nil
	}
	return "not approved, the table old_orders is still there", nil
}
