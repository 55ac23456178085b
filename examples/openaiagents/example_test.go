package openaiagents_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/convmem"
	"example.com/convmem/examples/openaiagents"
	"github.com/nlpodyssey/openai-agents-go/memory"
	"github.com/openai/openai-go/v2/responses"
)

// A session goes on where it ended, in another process too. With a runner it is the
// Session of the agents.RunConfig.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "convmem-openaiagents-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	add := func(text string) {
		db, err := convmem.Open(ctx, dir, nil)
		if err != nil {
			log.Fatal(err)
		}
		defer db.Close()
		session := openaiagents.NewSession(db, "monday")
		item := responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
		if err := session.AddItems(ctx, []memory.TResponseInputItem{item}); err != nil {
			log.Fatal(err)
		}
		items, err := session.GetItems(ctx, 0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(items), "items, the last one:", items[len(items)-1].OfMessage.Content.OfString.Value)
	}
	add("We chose PostgreSQL.")
	add("Billing moves on Friday.")
	// Output:
	// 1 items, the last one: We chose PostgreSQL.
	// 2 items, the last one: Billing moves on Friday.
}
