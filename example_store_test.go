package convmem_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// steady makes ids and times the same in every run. A program needs none of it:
// convmem.Open(ctx, "directory", nil).
func steady() *convmem.DB {
	db, err := convmem.Open(context.Background(), "", &convmem.Options{
		FS:      vfs.NewMem(0),
		Now:     func() time.Time { return time.UnixMilli(1_750_000_000_000) },
		Entropy: zeros{},
	})
	if err != nil {
		log.Fatal(err)
	}
	return db
}

// zeros is a Reader without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

var _ io.Reader = zeros{}

// say writes a message and returns it.
func say(s convmem.Store, session, content string) convmem.Message {
	result, err := s.Write(context.Background(), convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: content})
	if err != nil {
		log.Fatal(err)
	}
	return result.Message
}

// A message is on stable storage when Write returns, and found by any of its words.
func ExampleDB_Search() {
	ctx := context.Background()
	db := steady()
	defer db.Close()
	say(db, "monday", "We chose PostgreSQL for billing.")
	say(db, "tuesday", "データベースはPostgreSQLに決めました。")
	say(db, "tuesday", "Lunch is at noon.")
	for _, query := range []string{"which database for billing", "データベース"} {
		found, err := db.Search(ctx, convmem.SearchRequest{Query: query, Limit: 1})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(found.Hits[0].SessionID, found.Hits[0].Content)
	}
	// Output:
	// monday We chose PostgreSQL for billing.
	// tuesday データベースはPostgreSQLに決めました。
}

// ExpectedRevision keeps one change from overwriting another that was made meanwhile.
func ExampleDB_Update() {
	ctx := context.Background()
	db := steady()
	defer db.Close()
	m := say(db, "monday", "The release is on Thursday.")
	change := func(content string, seen int64) {
		result, err := db.Update(ctx, convmem.UpdateRequest{MessageID: m.ID, Content: &content, ExpectedRevision: seen})
		fmt.Printf("revision %d, code %q\n", result.Message.Revision, convmem.CodeOf(err))
	}
	change("The release is on Friday.", m.Revision)
	change("The release is on Monday.", m.Revision)
	// Output:
	// revision 2, code ""
	// revision 0, code "CONFLICT"
}

// A write that is repeated with its key happened once.
func ExampleDB_Write_idempotencyKey() {
	ctx := context.Background()
	db := steady()
	defer db.Close()
	request := convmem.WriteRequest{
		SessionID: "monday", Role: convmem.RoleTool, Content: "4 degrees, rain", IdempotencyKey: "event-17",
	}
	for range 2 {
		result, err := db.Write(ctx, request)
		fmt.Println(result.Message.ID, result.Replayed, err)
	}
	// Output:
	// 01JXT21Q000000000000000000 false <nil>
	// 01JXT21Q000000000000000000 true <nil>
}

// A batch is all or nothing.
func ExampleDB_WriteBatch() {
	ctx := context.Background()
	db := steady()
	defer db.Close()
	turn := []convmem.WriteRequest{
		{SessionID: "monday", Role: convmem.RoleUser, Content: "How is the weather?"},
		{SessionID: "monday", Role: convmem.RoleAssistant, Content: ""},
	}
	_, err := db.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: turn})
	fmt.Println(err)
	turn[1].Content = "Wet."
	result, err := db.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: turn})
	fmt.Println(len(result.Results), err)
	// Output:
	// convmem: write batch: VALIDATION_ERROR: messages[1].content: 0 bytes, at least 1
	// 2 <nil>
}

// A namespace is a store of its own: an id of another one does not exist in it.
func ExampleDB_Namespace() {
	ctx := context.Background()
	db := steady()
	defer db.Close()
	ann, bob := db.Namespace("ann"), db.Namespace("bob")
	secret := say(ann, "notes", "The code is 1234.")

	found, err := bob.Search(ctx, convmem.SearchRequest{Query: "code"})
	fmt.Println(len(found.Hits), err)
	_, err = convmem.Context(ctx, bob, convmem.ContextRequest{MessageID: secret.ID})
	fmt.Println(convmem.CodeOf(err))
	names, err := db.Namespaces(ctx)
	fmt.Println(strings.Join(names, ", "), err)
	// Output:
	// 0 <nil>
	// NOT_FOUND
	// ann <nil>
}

// What came before and after a message, and what it relates to.
func ExampleContext() {
	ctx := context.Background()
	db := steady()
	defer db.Close()
	old := say(db, "monday", "The release is on Thursday.")
	say(db, "monday", "Is that certain?")
	result, err := db.Write(ctx, convmem.WriteRequest{
		SessionID: "monday", Role: convmem.RoleAssistant, Content: "It moved to Friday.",
		Metadata: convmem.MetadataPatch{Relations: []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: old.ID}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	around, err := convmem.Context(ctx, db, convmem.ContextRequest{MessageID: result.Message.ID})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("before:", around.Before[0].Content)
	for _, related := range around.Relations {
		fmt.Println(related.Type+":", related.Message.Content)
	}
	// Output:
	// before: Is that certain?
	// supersedes: The release is on Thursday.
}
