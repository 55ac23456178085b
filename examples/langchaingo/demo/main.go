// Demo has a conversation in two lives of a program, with a scripted model, trims
// the history in a third and finds what was said. It needs no network and no key.
//
//	go run ./demo [-dir directory]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"example.com/convmem"
	"example.com/convmem/examples/langchaingo"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/fake"
	"github.com/tmc/langchaingo/memory"
)

func main() {
	dir := flag.String("dir", "", "keep the store in this directory; the default is a temporary one that is removed")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *dir); err != nil {
		log.Fatal(err)
	}
}

// run shows everything in a directory, or in a temporary one for "".
func run(ctx context.Context, w io.Writer, dir string) error {
	if dir == "" {
		temporary, err := os.MkdirTemp("", "convmem-langchaingo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	}
	model := fake.NewFakeLLM([]string{"PostgreSQL, for billing.", "Billing needs transactions.", "Every night at two."})
	for _, life := range []func(context.Context, io.Writer, *convmem.DB, llms.Model) error{begin, goOn, trim} {
		if err := live(ctx, w, dir, model, life); err != nil {
			return err
		}
	}
	return nil
}

// live is one life of the program: it opens the store and closes it.
func live(
	ctx context.Context, w io.Writer, dir string, model llms.Model, life func(context.Context, io.Writer, *convmem.DB, llms.Model) error,
) error {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return life(ctx, w, db, model)
}

const session = "ticket-17"

// begin asks the first question.
func begin(ctx context.Context, w io.Writer, db *convmem.DB, model llms.Model) error {
	fmt.Fprintln(w, "first life")
	h := langchaingo.NewHistory(db, session)
	return ask(ctx, w, model, memory.NewConversationBuffer(memory.WithChatHistory(h)), "Which database did we choose?")
}

// goOn asks two more, in what is another process to the store, and adds what a tool said.
func goOn(ctx context.Context, w io.Writer, db *convmem.DB, model llms.Model) error {
	fmt.Fprintln(w, "second life")
	h := langchaingo.NewHistory(db, session)
	buffer := memory.NewConversationBuffer(memory.WithChatHistory(h))
	for _, question := range []string{"Why?", "When is the backup?"} {
		if err := ask(ctx, w, model, buffer, question); err != nil {
			return err
		}
	}
	call := llms.ToolCall{ID: "call-1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "backup_state", Arguments: "{}"}}
	for _, m := range []llms.ChatMessage{
		llms.AIChatMessage{ToolCalls: []llms.ToolCall{call}},
		llms.ToolChatMessage{ID: "call-1", Content: "The last backup took nine minutes."},
	} {
		if err := h.AddMessage(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// ask runs the framework's own chain.
func ask(ctx context.Context, w io.Writer, model llms.Model, buffer *memory.ConversationBuffer, question string) error {
	answer, err := chains.Run(ctx, chains.NewConversation(model, buffer), question)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  %s %s\n", question, answer)
	return nil
}

// trim leaves the newest four messages, shows them and searches them.
func trim(ctx context.Context, w io.Writer, db *convmem.DB, _ llms.Model) error {
	h := langchaingo.NewHistory(db, session)
	messages, err := h.Messages(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "third life: %d messages, of which the newest four stay\n", len(messages))
	if err := h.SetMessages(ctx, messages[len(messages)-4:]); err != nil {
		return err
	}
	if messages, err = h.Messages(ctx); err != nil {
		return err
	}
	for _, m := range messages {
		fmt.Fprintf(w, "  %T %q\n", m, m.GetContent())
	}
	found, err := db.Search(ctx, convmem.SearchRequest{Query: "how long does a backup take", SessionID: session, Limit: 1})
	for _, hit := range found.Hits {
		fmt.Fprintf(w, "found: %s\n", hit.Content)
	}
	return err
}
