// Quickstart writes a short conversation in two languages, opens the store again
// as a new process would, and finds what was said.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"example.com/convmem"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer) error {
	dir, err := os.MkdirTemp("", "convmem-quickstart-")
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "the store is in", dir)
	ctx := context.Background()
	if err := firstSteps(ctx, w, dir); err != nil {
		return err
	}
	if err := remember(ctx, w, dir); err != nil {
		return err
	}
	return recall(ctx, w, dir)
}

// firstSteps is the quickstart of the README: open, write, search. A message is
// on stable storage when Write returns.
func firstSteps(ctx context.Context, w io.Writer, dir string) error {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()

	_, err = db.Write(ctx, convmem.WriteRequest{
		SessionID: "billing", Role: convmem.RoleUser, Content: "Which database shall we use for the billing service?",
	})
	if err != nil {
		return err
	}
	found, err := db.Search(ctx, convmem.SearchRequest{Query: "database for billing"})
	for _, hit := range found.Hits {
		fmt.Fprintf(w, "%.2f  %s\n", hit.Score, hit.Content)
	}
	return err
}

// remember goes on with the conversation in two languages.
func remember(ctx context.Context, w io.Writer, dir string) error {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()

	var last string
	for _, r := range []convmem.WriteRequest{
		{Role: convmem.RoleAssistant, Content: "PostgreSQL: billing needs transactions, and the team knows it."},
		{Role: convmem.RoleUser, Content: "承知しました。データベースは毎晩バックアップしてください。"},
		{Role: convmem.RoleAssistant, Content: "毎晩二時にバックアップを取り、三十日間保存します。"},
	} {
		r.SessionID = "billing"
		result, err := db.Write(ctx, r)
		if err != nil {
			return err
		}
		last = result.Message.ID
		fmt.Fprintln(w, "wrote", last)
	}

	// A conclusion drawn from a message points back at it.
	_, err = db.Write(ctx, convmem.WriteRequest{
		SessionID: "decisions", Role: convmem.RoleAssistant, Content: "Backups of the billing database run every night at two.",
		Metadata: convmem.MetadataPatch{
			Kind: convmem.KindSemantic, Tier: convmem.TierLong, Tags: []string{"backup"},
			Relations: []convmem.Relation{{Type: convmem.RelationDerivedFrom, MessageID: last}},
		},
	})
	return err
}

// recall opens the store again and reads it in three ways.
func recall(ctx context.Context, w io.Writer, dir string) error {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()

	for _, query := range []string{"why postgresql?", "バックアップ"} {
		found, err := db.Search(ctx, convmem.SearchRequest{Query: query, Limit: 2})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\nsearch %q\n", query)
		for _, hit := range found.Hits {
			fmt.Fprintf(w, "  %.2f  %s\n", hit.Score, hit.Content)
		}
	}

	history, err := convmem.History(ctx, db, convmem.HistoryRequest{SessionID: "billing"})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "\nhistory of billing")
	for _, m := range history.Messages {
		fmt.Fprintf(w, "  %-9s  %s\n", m.Role, m.Content)
	}

	last := history.Messages[len(history.Messages)-1]
	around, err := convmem.Context(ctx, db, convmem.ContextRequest{MessageID: last.ID})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "\ncontext of the last message")
	for _, m := range around.Before {
		fmt.Fprintln(w, "  before it:", m.Content)
	}
	for _, r := range around.Relations {
		if r.Message != nil { // nil when that message was deleted
			fmt.Fprintf(w, "  %s, %s: %s\n", r.Type, r.Direction, r.Message.Content)
		}
	}
	return nil
}
