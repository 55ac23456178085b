package adk_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/convmem"
	"example.com/convmem/examples/adk"
	"google.golang.org/adk/memory"
)

// A runner is given the service as MemoryService; its tools load_memory and
// preload_memory search it, and the application adds sessions to it.
func ExampleNewMemory() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := adk.NewMemory(db).AddSessionToMemory(ctx, talk("monday", "本番環境ではPostgreSQLを使っています。")); err != nil {
		log.Fatal(err)
	}
	db.Close()

	db, err = convmem.Open(ctx, dir, nil) // another day, another process
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	found, err := adk.NewMemory(db).SearchMemory(ctx, &memory.SearchRequest{AppName: "app", UserID: "alice", Query: "PostgreSQL"})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range found.Memories {
		fmt.Println(m.Author, m.Content.Parts[0].Text)
	}
	// Output: user 本番環境ではPostgreSQLを使っています。
}
