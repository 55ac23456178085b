package convmem_test

import (
	"context"
	"fmt"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// Short notes are kept for two days here, all others for good.
func ExampleRetain() {
	ctx := context.Background()
	db, err := diary(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	rules := convmem.RetainRequest{
		Now:    time.Date(2026, 5, 5, 9, 0, 0, 0, time.UTC),
		MaxAge: map[convmem.MemoryTier]time.Duration{convmem.TierShort: 48 * time.Hour},
		DryRun: true,
	}
	would, err := convmem.Retain(ctx, db, rules)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("would delete:", len(would.Deleted))
	rules.DryRun = false
	if _, err := convmem.Retain(ctx, db, rules); err != nil {
		fmt.Println(err)
		return
	}
	for message, err := range convmem.AllMessages(ctx, db, convmem.HistoryRequest{SessionID: "garden"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(message.Content)
	}
	// Output:
	// would delete: 1
	// Sowed the beans.
}

func ExampleForget() {
	ctx := context.Background()
	db, err := diary(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	// Another rebuild may be running: wait a minute at most.
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	done, err := convmem.Forget(ctx, db, convmem.ForgetRequest{SessionID: "kitchen"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("deleted:", done.Deleted, "searched:", done.Searched, "proven:", done.Proven)
	// Output:
	// deleted: 2 searched: 2 proven: true
}

// Notes are kept in a store of their own, so that no search of the first changes.
func ExampleFeedback() {
	ctx := context.Background()
	db, err := diary(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	notes, err := convmem.Open(ctx, "", &convmem.Options{FS: vfs.NewMem(0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer notes.Close()
	found, err := db.Search(ctx, convmem.SearchRequest{Query: "kettle"})
	if err != nil || len(found.Hits) == 0 {
		fmt.Println(err)
		return
	}
	noted := found.Hits[0].ID
	if _, err := convmem.Feedback(ctx, db, notes, convmem.FeedbackRequest{MessageID: noted, Note: "It was mended."}); err != nil {
		fmt.Println(err)
		return
	}
	for note, err := range convmem.AllMessages(ctx, notes, convmem.HistoryRequest{SessionID: convmem.FeedbackSession(noted)}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(note.Role, note.Content)
	}
	// Output:
	// user It was mended.
}
