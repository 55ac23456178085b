// Demo asks two memories of ADK the same questions: the one in memory that ADK
// brings, and convmem, before and after the program that was told has ended.
//
//	go run ./demo
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"example.com/convmem"
	"example.com/convmem/examples/adk"
	"google.golang.org/adk/memory"
)

func main() {
	dir := flag.String("dir", "", "keep the store in this directory (default: one that is removed)")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *dir); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, dir string) error {
	if dir == "" {
		temporary, err := os.MkdirTemp("", "convmem-adk-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	}
	inMemory := memory.InMemoryService()
	told, err := tell(ctx, inMemory, dir)
	if err != nil {
		return err
	}
	// What follows knows nothing but the directory.
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return compare(ctx, w, inMemory, told, adk.NewMemory(db))
}

// tell adds the planning session to both memories, asks convmem every question
// and ends it.
func tell(ctx context.Context, inMemory memory.Service, dir string) (answers, error) {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	durable := adk.NewMemory(db)
	for _, service := range []memory.Service{inMemory, durable} {
		if err := service.AddSessionToMemory(ctx, planning()); err != nil {
			return nil, err
		}
	}
	return ask(ctx, durable)
}

func compare(ctx context.Context, w io.Writer, inMemory memory.Service, told answers, durable memory.Service) error {
	volatile, err := ask(ctx, inMemory)
	if err != nil {
		return err
	}
	lasting, err := ask(ctx, durable)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "| query | ADK in memory | convmem | after a restart |")
	fmt.Fprintln(w, "|---|---|---|---|")
	for _, q := range questions {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", q.query, volatile[q], told[q], lasting[q])
	}
	return nil
}
