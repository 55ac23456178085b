package convmem_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// exampleStore opens a store in memory whose ids are the same every time.
func exampleStore() *convmem.DB {
	db, err := convmem.Open(context.Background(), "", &convmem.Options{
		FS:      vfs.NewMem(0),
		Now:     func() time.Time { return time.UnixMilli(1_750_000_000_000) },
		Entropy: strings.NewReader(strings.Repeat("0123456789", 100)),
	})
	if err != nil {
		panic(err)
	}
	return db
}

// An export is one line of JSON for each message.
func ExampleDB_Export() {
	ctx := context.Background()
	db := exampleStore()
	defer db.Close()
	for _, content := range []string{"We chose PostgreSQL.", "Because of <jsonb>."} {
		if _, err := db.Write(ctx, convmem.WriteRequest{SessionID: "monday", Role: convmem.RoleUser, Content: content}); err != nil {
			fmt.Println(err)
			return
		}
	}
	result, err := db.Export(ctx, os.Stdout, nil)
	fmt.Println(result.Messages, "messages", err)
	// Output:
	// {"format":"convmem-export","version":1}
	// {"message_id":"01JXT21Q006GTKCDSR74R32CHK","session_id":"monday","role":"user","content":"We chose PostgreSQL.","revision":1,"updated_at":1750000000000,"metadata":{"memory_tier":"short","memory_kind":"conversation","importance":50}}
	// {"message_id":"01JXT21Q006GTKCDSR74R32CHM","session_id":"monday","role":"user","content":"Because of <jsonb>.","revision":1,"updated_at":1750000000000,"metadata":{"memory_tier":"short","memory_kind":"conversation","importance":50}}
	// 2 messages <nil>
}

// An import says what it did with every line; repeating one does nothing.
func ExampleDB_Import() {
	ctx := context.Background()
	from, to := exampleStore(), exampleStore()
	defer from.Close()
	defer to.Close()
	_, err := from.Namespace("team").Write(ctx, convmem.WriteRequest{SessionID: "monday", Role: convmem.RoleUser, Content: "We chose PostgreSQL."})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if _, err := from.Export(ctx, &file, nil); err != nil {
		fmt.Println(err)
		return
	}
	file.WriteString(`{"message_id":"01JXT21Q00","session_id":"monday","role":"user","content":"x"}` + "\n")
	text := file.String()
	for range 2 {
		result, err := to.Import(ctx, strings.NewReader(text), nil)
		fmt.Printf("%d written, %d present, %d refused\n", result.Written, result.Present, result.Refused)
		fmt.Println(err)
	}
	page, err := convmem.History(ctx, to.Namespace("team"), convmem.HistoryRequest{SessionID: "monday"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Messages[0].ID, page.Messages[0].Content)
	// Output:
	// 1 written, 0 present, 1 refused
	// convmem: import: VALIDATION_ERROR: message_id: 1 of 3 lines were refused, line 3 first: 10 bytes that are no message id: want 26 upper-case characters of Crockford base 32, the first one 0 to 7
	// 0 written, 1 present, 1 refused
	// convmem: import: VALIDATION_ERROR: message_id: 1 of 3 lines were refused, line 3 first: 10 bytes that are no message id: want 26 upper-case characters of Crockford base 32, the first one 0 to 7
	// 01JXT21Q006GTKCDSR74R32CHK We chose PostgreSQL.
}
