package eino_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"github.com/cloudwego/eino/schema"
)

// A conversation and a checkpoint outlive the process that wrote them.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "convmem-eino-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	question := schema.UserMessage("How warm is it in Oslo and Bergen?")
	weather := func(id, city string) schema.ToolCall {
		return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: "weather", Arguments: city}}
	}
	asked := schema.AssistantMessage("", []schema.ToolCall{weather("1", "Oslo"), weather("2", "Bergen")})
	oslo, bergen := schema.ToolMessage("4 degrees", "1"), schema.ToolMessage("7 degrees", "2")
	if err := eino.NewMessages(db).Append(ctx, "monday", question, asked, oslo, bergen); err != nil {
		log.Fatal(err)
	}
	if err := eino.NewCheckPoints(db.Namespace("checkpoints")).Set(ctx, "run-1", []byte("where it stopped")); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}

	db, err = convmem.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	messages := eino.NewMessages(db)
	for _, most := range []int{4, 3} {
		latest, err := messages.Latest(ctx, "monday", eino.Window{MaxMessages: most})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("the latest, at most", most)
		for _, message := range latest {
			fmt.Printf("  %s, %d calls: %q\n", message.Role, len(message.ToolCalls), message.Content)
		}
	}
	found, err := messages.Search(ctx, "weather in Oslo", "", 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("found:", found.Hits[0].Message.Role, "in", found.Hits[0].SessionID)
	checkPoint, ok, err := eino.NewCheckPoints(db.Namespace("checkpoints")).Get(ctx, "run-1")
	fmt.Printf("checkpoint: %s, %t, %v\n", checkPoint, ok, err)
	// Output:
	// the latest, at most 4
	//   user, 0 calls: "How warm is it in Oslo and Bergen?"
	//   assistant, 2 calls: ""
	//   tool, 0 calls: "4 degrees"
	//   tool, 0 calls: "7 degrees"
	// the latest, at most 3
	//   assistant, 2 calls: ""
	//   tool, 0 calls: "4 degrees"
	//   tool, 0 calls: "7 degrees"
	// found: assistant in monday
	// checkpoint: where it stopped, true, <nil>
}
