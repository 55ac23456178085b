package convmem_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"example.com/convmem"
)

// marks are planted in every text that a message can hold.
var marks = []string{"QZCONTENT", "QZTAG", "QZSUMMARY", "QZKEY", "QZCALL", "QZSESSION", "秘密の合言葉"}

// scan returns the marks that stand anywhere in the files of dir.
func scan(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, mark := range marks {
			// Words are indexed in lower case.
			if bytes.Contains(bytes.ToUpper(b), []byte(mark)) {
				found[mark] = true
			}
		}
	}
	return found
}

// After a rebuild no file holds a byte of what was deleted or overwritten before.
func TestErasure(t *testing.T) {
	dir := t.TempDir()
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	planted := convmem.MetadataPatch{
		ToolCallID: new("QZCALL"), Tags: []string{"QZTAG"}, Summary: new("QZSUMMARY 秘密の合言葉"),
	}
	write := func(session, key string) string {
		r, err := db.Write(ctx, convmem.WriteRequest{
			SessionID: session, Role: convmem.RoleUser, Content: "QZCONTENT 秘密の合言葉", Metadata: planted, IdempotencyKey: key,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Message.ID
	}
	deleted, overwritten := write("QZSESSION", "QZKEY"), write("kept", "")
	if found := scan(t, dir); len(found) != len(marks) {
		t.Fatalf("the scan finds only %v", found)
	}
	_, err = db.Update(ctx, convmem.UpdateRequest{
		MessageID: overwritten, Content: new("harmless"),
		Metadata: &convmem.MetadataPatch{ToolCallID: new(""), Tags: []string{}, Summary: new("")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := db.Delete(ctx, convmem.DeleteRequest{MessageID: deleted}); err != nil || !r.Deleted {
		t.Fatal(r, err)
	}
	if _, err := db.Rebuild(ctx, convmem.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	if found := scan(t, dir); len(found) > 0 {
		t.Errorf("after the rebuild the files hold %v", found)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found := scan(t, dir); len(found) > 0 {
		t.Errorf("after closing the files hold %v", found)
	}
}

// A session that was followed by another process while it lost its messages is
// gone from all files too: nobody brings its name back.
func TestErasureBesideAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	open := func() *world {
		db, err := convmem.Open(ctx, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return &world{T: t, db: db}
	}
	a, b := open(), open()
	a.say("other", "stays", convmem.MetadataPatch{})
	first := a.say("QZSESSION", "x", convmem.MetadataPatch{})
	second := a.say("QZSESSION", "y", convmem.MetadataPatch{})
	a.remove(first.ID)
	b.health() // follows, and knows of the deletion
	a.remove(second.ID)
	for i, w := range []*world{a, b, a, open(), b} {
		w.rebuild()
		if found := scan(t, dir); len(found) > 0 {
			t.Errorf("after rebuild %d the files hold %v", i, found)
		}
	}
}
