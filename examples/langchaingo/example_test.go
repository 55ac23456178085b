package langchaingo_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/convmem"
	"example.com/convmem/examples/langchaingo"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms/fake"
	"github.com/tmc/langchaingo/memory"
)

// A conversation that goes on in the next process: the model is scripted here.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "history-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	model := fake.NewFakeLLM([]string{"PostgreSQL, for billing.", "Because billing needs transactions."})
	for _, question := range []string{"Which database did we choose?", "Why?"} {
		db, err := convmem.Open(ctx, dir, nil)
		if err != nil {
			log.Fatal(err)
		}
		history := langchaingo.NewHistory(db, "ticket-17")
		chain := chains.NewConversation(model, memory.NewConversationBuffer(memory.WithChatHistory(history)))
		if _, err := chains.Run(ctx, chain, question); err != nil {
			log.Fatal(err)
		}
		messages, err := history.Messages(ctx)
		fmt.Println(len(messages), "messages", err)
		if err := db.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 2 messages <nil>
	// 4 messages <nil>
}

// A prompt that is trimmed when it is read leaves the history whole.
func ExampleFromMessage() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "history-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	history := langchaingo.NewHistory(db, "ticket-17")
	for _, text := range []string{"one", "two", "three"} {
		if err := history.AddUserMessage(ctx, text); err != nil {
			log.Fatal(err)
		}
	}
	window, err := convmem.Window(ctx, db, convmem.WindowRequest{SessionID: "ticket-17", MaxMessages: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range window.Messages {
		message, err := langchaingo.FromMessage(m)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(message.GetType(), message.GetContent())
	}
	// Output:
	// human two
	// human three
}
