package convmem_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

// keptNamespaces are those of a store that is copied.
var keptNamespaces = []string{"", "tenant", "日本"}

// furnish fills namespaces with payloads, keys, updates and deletions.
func furnish(w *world) {
	for _, name := range keptNamespaces {
		n := w.db.Namespace(name)
		w.tick()
		written, err := n.WriteBatch(ctx, numberedBatch("s", 6))
		w.ok("write batch", err)
		_, err = n.Update(ctx, convmem.UpdateRequest{MessageID: written.Results[1].Message.ID, Payload: &convmem.Payload{Type: "of " + name, Data: []byte("\x00\xff" + name)}})
		w.ok("update", err)
		_, err = n.Update(ctx, convmem.UpdateRequest{MessageID: written.Results[2].Message.ID, Payload: &convmem.Payload{}})
		w.ok("update", err)
		_, err = n.WriteBatch(ctx, numberedBatch("gone", 3))
		w.ok("write batch", err)
		_, err = n.DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: "gone"})
		w.ok("delete session", err)
	}
}

// inventory is all that a store holds, by namespace.
func inventory(t *testing.T, db *convmem.DB) map[string][]convmem.Message {
	t.Helper()
	all := map[string][]convmem.Message{}
	names, err := db.Namespaces(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for _, session := range []string{"s", "gone"} {
			page, err := convmem.History(ctx, db.Namespace(name), convmem.HistoryRequest{SessionID: session})
			if err != nil {
				t.Fatal(err)
			}
			all[name] = append(all[name], page.Messages...)
		}
	}
	return all
}

// A backup and a salvaged store have every namespace, payload and key, and Verify
// finds nothing wrong with them.
func TestCopiesKeepNamespacesAndPayloads(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	fsys, err := vfs.OS(old)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, convmem.Options{FS: fsys})
	furnish(w)
	want := inventory(t, w.db)
	if len(want) != len(keptNamespaces) || len(want["tenant"]) != 6 || want["tenant"][1].Payload.Type != "of tenant" || want["tenant"][0].Payload.Data == nil {
		t.Fatalf("nothing to compare: %v", want)
	}
	if r := w.verify(); r.Messages != 18 {
		t.Errorf("verify: %+v", r)
	}
	w.ok("backup", w.db.Backup(ctx, filepath.Join(dir, "backup")))
	w.ok("close", w.db.Close())
	log, file := w.logFile()
	file.Close()
	damaged, err := os.OpenFile(filepath.Join(old, log), os.O_RDWR, 0)
	w.ok("open the log", err)
	_, err = damaged.WriteAt(make([]byte, 64), 0) // the header
	w.ok("damage", err)
	w.ok("close", damaged.Close())
	report, err := convmem.Salvage(ctx, old, filepath.Join(dir, "salvaged"), nil)
	w.ok("salvage", err)
	if report.Messages != 18 || len(report.Refused) != 0 {
		t.Errorf("salvage: %+v", report)
	}
	for _, name := range []string{"backup", "salvaged"} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // from the log, then from what Close left
				checkCopy(t, filepath.Join(dir, name), want)
			}
		})
	}
}

func checkCopy(t *testing.T, dir string, want map[string][]convmem.Message) {
	t.Helper()
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if diff := cmp.Diff(want, inventory(t, db)); diff != "" {
		t.Errorf("(-old +copy):\n%s", diff)
	}
	if r, err := db.Verify(ctx, nil); err != nil || r.Messages != 18 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	for name := range want {
		again, err := db.Namespace(name).WriteBatch(ctx, numberedBatch("s", 6))
		if err != nil {
			t.Fatal(err)
		}
		for i, one := range again.Results {
			if diff := cmp.Diff(convmem.WriteResult{Message: want[name][i], Replayed: true}, one); diff != "" {
				t.Errorf("key %d of %q (-want +got):\n%s", i, name, diff)
			}
		}
	}
	if _, err := db.Rebuild(ctx, convmem.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, inventory(t, db)); diff != "" {
		t.Errorf("after a rebuild (-old +copy):\n%s", diff)
	}
}

// sessionMarks are planted in everything that a session of a namespace holds.
var sessionMarks = append([]string{"QZPAYLOADTYPE", "QZPAYLOADDATA", "QZNAMESPACE"}, marks...)

// scanFor returns the marks that stand anywhere in the files of dir.
func scanFor(t *testing.T, dir string, marks []string) (found []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, mark := range marks {
		for _, file := range files {
			b, err := os.ReadFile(filepath.Join(dir, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(bytes.ToUpper(b), []byte(mark)) {
				found = append(found, mark)
				break
			}
		}
	}
	return found
}

// After a session is deleted and the store rebuilt, no file holds a byte of it, not
// even the name of the namespace that held nothing else; cleared and replaced
// payloads are gone too.
func TestErasureOfASession(t *testing.T) {
	dir := t.TempDir()
	dbs := handles(t, dir, 2)
	message := convmem.WriteRequest{
		SessionID: "QZSESSION", Role: convmem.RoleUser, Content: "QZCONTENT 秘密の合言葉", IdempotencyKey: "QZKEY",
		Metadata: convmem.MetadataPatch{ToolCallID: new("QZCALL"), Tags: []string{"QZTAG"}, Summary: new("QZSUMMARY")},
		Payload:  convmem.Payload{Type: "QZPAYLOADTYPE", Data: []byte("\x00QZPAYLOADDATA\xff")},
	}
	var batch convmem.WriteBatchRequest
	for i := range 5 {
		one := message
		one.IdempotencyKey += fmt.Sprint(i)
		batch.Messages = append(batch.Messages, one)
	}
	n := dbs[0].Namespace("QZNAMESPACE")
	written, err := n.WriteBatch(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for range 3 {
		r, err := dbs[0].Write(ctx, convmem.WriteRequest{SessionID: "kept", Role: convmem.RoleUser, Content: "kept", Payload: message.Payload})
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, r.Message.ID)
	}
	if _, err := dbs[1].Rebuild(ctx, convmem.RebuildRequest{}); err != nil { // the snapshot knows of it too
		t.Fatal(err)
	}
	if found := scanFor(t, dir, sessionMarks); len(found) != len(sessionMarks) {
		t.Fatalf("the scan finds only %v", found)
	}
	// One message goes before the others: cursors have to know of that for as long
	// as its session lives.
	if r, err := n.Delete(ctx, convmem.DeleteRequest{MessageID: written.Results[1].Message.ID}); err != nil || !r.Deleted {
		t.Fatal(r, err)
	}
	if _, err := dbs[0].Rebuild(ctx, convmem.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := dbs[1].Health(ctx, convmem.HealthRequest{}); err != nil { // follows
		t.Fatal(err)
	}
	if r, err := dbs[1].Namespace("QZNAMESPACE").DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: "QZSESSION"}); err != nil || r.Deleted != 4 {
		t.Fatal(r, err)
	}
	// A session that lives on has something to remember, and only that one.
	if r, err := dbs[0].Delete(ctx, convmem.DeleteRequest{MessageID: kept[2]}); err != nil || !r.Deleted {
		t.Fatal(r, err)
	}
	for i, p := range []convmem.Payload{{}, {Type: "other", Data: []byte("other")}} {
		if _, err := dbs[0].Update(ctx, convmem.UpdateRequest{MessageID: kept[i], Payload: &p}); err != nil {
			t.Fatal(err)
		}
	}
	for i, db := range []*convmem.DB{dbs[0], dbs[1], dbs[0]} {
		if _, err := db.Rebuild(ctx, convmem.RebuildRequest{}); err != nil {
			t.Fatal(err)
		}
		if found := scanFor(t, dir, sessionMarks); len(found) > 0 {
			t.Errorf("after rebuild %d the files hold %v", i, found)
		}
	}
	for _, db := range dbs {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if found := scanFor(t, dir, sessionMarks); len(found) > 0 {
		t.Errorf("after closing the files hold %v", found)
	}
}
