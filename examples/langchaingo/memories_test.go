package langchaingo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/convmem/examples/langchaingo"
	"example.com/convmem/store/storetest"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/fake"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/schema"
)

// scripted is a model that notes its prompts.
type scripted struct {
	*fake.LLM
	prompts []string
}

func (s *scripted) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	for _, m := range messages {
		for _, part := range m.Parts {
			s.prompts = append(s.prompts, fmt.Sprint(part))
		}
	}
	return s.LLM.GenerateContent(ctx, messages, options...)
}

// The framework's own chain goes on with a conversation that another process began:
// the model sees it in its prompt.
func TestConversationOverAReopen(t *testing.T) {
	dir := t.TempDir()
	model := &scripted{LLM: fake.NewFakeLLM([]string{"PostgreSQL.", "For billing."})}
	for _, question := range []string{"Which database?", "What for?"} {
		db := open(t, dir)
		h := langchaingo.NewHistory(db, "s")
		chain := chains.NewConversation(model, memory.NewConversationBuffer(memory.WithChatHistory(h)))
		_, err := chains.Run(ctx, chain, question)
		ok(t, "run", err)
		ok(t, "close", db.Close())
	}
	same(t, "messages", messages(t, langchaingo.NewHistory(open(t, dir), "s")), []llms.ChatMessage{
		llms.HumanChatMessage{Content: "Which database?"}, llms.AIChatMessage{Content: "PostgreSQL."},
		llms.HumanChatMessage{Content: "What for?"}, llms.AIChatMessage{Content: "For billing."},
	})
	if want := "Human: Which database?\nAI: PostgreSQL.\nHuman: What for?"; !strings.Contains(model.prompts[1], want) {
		t.Errorf("the second prompt lacks %q:\n%s", want, model.prompts[1])
	}
}

// The trimming memories end, and leave what they leave of the framework's own list in
// memory, turn by turn, at a cost that does not grow with the conversation.
func TestTrimmingMemories(t *testing.T) {
	const turns = 60
	for name, c := range map[string]struct {
		memory func(h schema.ChatMessageHistory) schema.Memory
		least  int64 // changes: additions and what each trim costs
		most   int64
	}{
		"token buffer": {func(h schema.ChatMessageHistory) schema.Memory {
			return memory.NewConversationTokenBuffer(fake.NewFakeLLM(nil), 60, memory.WithChatHistory(h))
		}, 2*turns + 1, 4 * turns},
		"window buffer": {func(h schema.ChatMessageHistory) schema.Memory {
			return memory.NewConversationWindowBuffer(3, memory.WithChatHistory(h))
		}, 2*turns + 3*(turns-3), 2*turns + 3*(turns-3)},
	} {
		t.Run(name, func(t *testing.T) {
			counted := &calls{Store: storetest.Open(t)}
			h := langchaingo.NewHistory(counted, "s")
			ours, theirs := c.memory(h), c.memory(memory.NewChatMessageHistory())
			for i := range turns {
				in := map[string]any{"input": fmt.Sprintf("question number %d", i)}
				out := map[string]any{"output": strings.Repeat("answer ", 1+i%7)}
				ok(t, "save", ours.SaveContext(ctx, in, out))
				ok(t, "save in memory", theirs.SaveContext(ctx, in, out))
				got, err := ours.LoadMemoryVariables(ctx, nil)
				ok(t, "load", err)
				want, err := theirs.LoadMemoryVariables(ctx, nil)
				ok(t, "load from memory", err)
				same(t, fmt.Sprintf("turn %d", i), got, want)
			}
			if n := counted.changes(); n < c.least || n > c.most {
				t.Errorf("%d changes, want %d to %d", n, c.least, c.most)
			}
			same(t, "stored", len(raw(t, counted.Store, "s")), len(messages(t, h)))
			t.Logf("%d turns: %d writes, %d updates, %d deletes, %d reads, %d messages left", turns, counted.writes.Load(),
				counted.updates.Load(), counted.deletes.Load(), counted.reads.Load(), len(messages(t, h)))
		})
	}
}

// A token limit that one message passes empties the history and ends; so does a long
// history that is cut to a few messages, with one Delete for each.
func TestTokenBufferEnds(t *testing.T) {
	for _, length := range []int{0, 50, 200} {
		counted := &calls{Store: storetest.Open(t)}
		h := langchaingo.NewHistory(counted, "s")
		if length > 0 {
			ok(t, "set", h.SetMessages(ctx, humans(strings.Repeat("word ", length))))
		}
		before := counted.changes()
		buffer := memory.NewConversationTokenBuffer(fake.NewFakeLLM(nil), 1, memory.WithChatHistory(h))
		ok(t, "save", buffer.SaveContext(ctx, map[string]any{"in": "a long question"}, map[string]any{"out": "a long answer"}))
		same(t, "messages", messages(t, h), []llms.ChatMessage{})
		// Two additions, a Delete for each message but the last, and a DeleteSession.
		same(t, "changes", counted.changes()-before, int64(2+length+1+1))
		same(t, "updates and batches", counted.updates.Load()+max(counted.batches.Load()-1, 0), int64(0))
	}
}
