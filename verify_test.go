package convmem_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lived fills a world with something of everything.
func lived(w *world) (ids []string) {
	for i := range 30 {
		patch := convmem.MetadataPatch{Tags: []string{"marked", fmt.Sprint("tag ", i%4)}, Kind: convmem.KindEpisode}
		if i > 3 {
			patch.Relations = []convmem.Relation{{Type: convmem.RelationDependsOn, MessageID: ids[i%3]}}
		}
		if i%5 == 0 {
			patch.Summary = new("in short")
		}
		ids = append(ids, w.say(fmt.Sprint("session ", i%4), fmt.Sprint("words of message ", i), patch).ID)
	}
	for i := 0; i < 30; i += 3 {
		w.tick()
		w.update(convmem.UpdateRequest{MessageID: ids[i], Content: new(fmt.Sprint("other words ", i))})
	}
	w.keyed("k")
	for i := 1; i < 30; i += 4 {
		w.remove(ids[i])
	}
	return ids
}

// keyed writes a message with an idempotency key.
func (w *world) keyed(key string) convmem.WriteResult {
	w.Helper()
	w.tick()
	r, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "keys", Role: convmem.RoleTool, Content: "once", IdempotencyKey: key})
	w.ok("write", err)
	return r
}

func (w *world) verify() convmem.VerifyResult {
	w.Helper()
	r, err := w.db.Verify(ctx, nil)
	w.ok("verify", err)
	return r
}

func TestVerify(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	lived(w)
	h := w.health()
	want := convmem.VerifyResult{Messages: h.ActiveMessages, Frames: h.LastSequence, Bytes: h.LogSize, Snapshot: convmem.SnapshotNone}
	if diff := cmp.Diff(want, w.verify()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.rebuild()
	w.say("s", "after the rebuild", convmem.MetadataPatch{})
	if r := w.verify(); r.Messages != h.ActiveMessages+1 || r.Snapshot != convmem.SnapshotGood {
		t.Errorf("after a rebuild: %+v", r)
	}
	w.reopen()
	var told [][2]int64
	_, err := w.db.Verify(ctx, &convmem.VerifyOptions{Progress: func(done, total int64) { told = append(told, [2]int64{done, total}) }})
	w.ok("verify", err)
	if size := w.health().LogSize; len(told) != 1 || told[0] != [2]int64{size, size} {
		t.Errorf("progress %v", told)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = w.db.Verify(cancelled, nil)
	w.fails("cancelled", err, convmem.CodeBusy, "verify")
	w.ok("close", w.db.Close())
	_, err = w.db.Verify(ctx, nil)
	w.fails("closed", err, convmem.CodeInternal, "closed")
}

func TestVerifyReportsDamage(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	ids := lived(w)
	whole := w.verify()
	w.damage("words of message 23")
	r, err := w.db.Verify(ctx, nil)
	e := w.fails("verify", err, convmem.CodeCorrupt, ids[23], ".log at offset")
	if r.DamageCount != 1 || len(r.Damage) != 1 || r.Damage[0].Code != convmem.CodeCorrupt || r.Frames != whole.Frames-1 || r.Bytes != whole.Bytes {
		t.Errorf("%+v", r)
	}
	if strings.Contains(e.Error(), "words") {
		t.Errorf("the error repeats content: %v", e)
	}
	if h := w.health(); h.Status != convmem.HealthDegraded || !strings.Contains(h.LastError, ids[23]) {
		t.Errorf("health %s: %q", h.Status, h.LastError)
	}
	w.remove(ids[23])
	w.rebuild()
	w.verify()
	w.reopen()
	if h := w.health(); h.Status != convmem.HealthOK {
		t.Errorf("after deletion, rebuild and restart: %q", h.LastError)
	}
}

// Whatever a store goes through, what it holds in memory agrees with its log.
func TestVerifyOfAnyLife(t *testing.T) {
	withoutRaceDetector(t)
	counts := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, convmem.Options{})
		defer w.db.Close()
		var ids []string
		some := func() string { return rapid.SampledFrom(ids).Draw(rt, "id") }
		for range rapid.IntRange(1, 25).Draw(rt, "operations") {
			op := rapid.SampledFrom([]string{"write", "write", "keyed", "update", "delete", "rebuild", "reopen"}).Draw(rt, "operation")
			switch {
			case op == "write" || len(ids) == 0:
				patch := convmem.MetadataPatch{Tags: rapid.SampledFrom([][]string{nil, {"a"}, {"two words", "b"}}).Draw(rt, "tags")}
				if len(ids) > 0 {
					patch.Relations = []convmem.Relation{{Type: convmem.RelationRelatedTo, MessageID: some()}}
				}
				session := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "session")
				ids = append(ids, w.say(session, rapid.SampledFrom([]string{"fox", "fox and dog", "日本語"}).Draw(rt, "content"), patch).ID)
			case op == "keyed":
				ids = append(ids, w.keyed(rapid.SampledFrom([]string{"k", "l"}).Draw(rt, "key")).Message.ID)
			case op == "update":
				content := rapid.SampledFrom([]string{"fox", "cat", ""}).Draw(rt, "content")
				r := convmem.UpdateRequest{MessageID: some(), Metadata: &convmem.MetadataPatch{Summary: &content}}
				if _, err := w.db.Update(ctx, r); convmem.CodeOf(err) != convmem.CodeNotFound {
					w.ok("update", err)
				}
			case op == "delete":
				_, err := w.db.Delete(ctx, convmem.DeleteRequest{MessageID: some()})
				w.ok("delete", err)
			case op == "rebuild":
				w.rebuild()
			case op == "reopen":
				w.reopen()
			}
			counts[op]++
			if r, err := w.db.Verify(ctx, nil); err != nil || r.Messages != w.health().ActiveMessages {
				rt.Fatalf("after %s: %+v, %v", op, r, err)
			}
		}
	})
	t.Logf("%v", counts)
}

// TestVerifyBesideOthers: two processes write, one of them rebuilds, a third
// verifies.
func TestVerifyBesideOthers(t *testing.T) {
	fsys := vfs.NewMem(0)
	open := func() *convmem.DB {
		db, err := convmem.Open(ctx, "", &convmem.Options{FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	var group sync.WaitGroup
	for p := range 2 {
		db := open()
		group.Go(func() {
			for i := range 40 {
				r, err := db.Write(ctx, convmem.WriteRequest{SessionID: fmt.Sprint(p), Role: convmem.RoleUser, Content: fmt.Sprint("fox ", i)})
				if err == nil && i%3 == 0 {
					_, err = db.Delete(ctx, convmem.DeleteRequest{MessageID: r.Message.ID})
				}
				if err == nil && p == 0 && i%8 == 7 {
					_, err = db.Rebuild(ctx, convmem.RebuildRequest{})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	db, n := open(), 0
	for running := true; running; n++ {
		select {
		case <-done:
			running = false
		default:
		}
		if r, err := db.Verify(ctx, nil); err != nil || r.Snapshot == convmem.SnapshotBad {
			t.Errorf("a false alarm: %+v, %v", r, err)
			break
		}
	}
	<-done
	t.Logf("%d times", n)
}

// everything reads all messages of all sessions.
func (w *world) everything() (all []convmem.Message) {
	w.Helper()
	for _, session := range []string{"session 0", "session 1", "session 2", "session 3", "keys"} {
		all = append(all, w.history(convmem.HistoryRequest{SessionID: session, Limit: convmem.MaxReadLimit}).Messages...)
	}
	return all
}

func TestBackup(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	ids := lived(w)
	last := w.say("session 0", "the newest", convmem.MetadataPatch{})
	w.remove(last.ID)
	dir := filepath.Join(t.TempDir(), "made", "here")
	w.ok("backup", w.db.Backup(ctx, dir))
	w.fails("backup again", w.db.Backup(ctx, dir), convmem.CodeValidation, "dir", "holds a store")
	w.fails("backup to nowhere", w.db.Backup(ctx, ""), convmem.CodeValidation, "dir")

	back := &world{T: t, now: w.now.Add(-time.Second)} // the clock has stepped back
	fsys, err := vfs.OS(dir)
	w.ok("the copy's directory", err)
	back.fsys = fsys
	if names, err := fsys.List(); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
	back.open()
	t.Cleanup(func() { back.db.Close() })
	back.verify()
	if diff := cmp.Diff(w.everything(), back.everything()); diff != "" {
		t.Errorf("messages (-store +copy):\n%s", diff)
	}
	query := convmem.SearchRequest{Query: "other words"}
	if diff := cmp.Diff(w.search(query), back.search(query)); diff != "" {
		t.Errorf("search (-store +copy):\n%s", diff)
	}
	if h := back.health(); h.Status != convmem.HealthOK || h.RecoveredTail || h.DeadBytes != 0 || h.LastSequence != w.health().LastSequence {
		t.Errorf("health of the copy: %+v", h)
	}
	if r := back.keyed("k"); !r.Replayed {
		t.Errorf("the idempotency key is forgotten: %+v", r)
	}
	_, err = back.db.Update(ctx, convmem.UpdateRequest{MessageID: ids[0], Content: new("x"), ExpectedRevision: 1})
	if e := back.fails("update", err, convmem.CodeConflict); e.Revision != 2 {
		t.Errorf("revision %d", e.Revision)
	}
	if m := back.say("s", "next", convmem.MetadataPatch{}); m.ID <= last.ID {
		t.Errorf("the id %s comes after %s, which was deleted", m.ID, last.ID)
	}
}

// Text that was deleted is in no backup made later, and a damaged message is in
// none at all.
func TestBackupLeavesOutWhatIsGone(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	id := w.say("s", "secret words", convmem.MetadataPatch{Summary: new("secret too"), Tags: []string{"secret"}}).ID
	bad := w.say("s", "damaged words", convmem.MetadataPatch{}).ID
	w.update(convmem.UpdateRequest{MessageID: w.say("s", "secret draft", convmem.MetadataPatch{}).ID, Content: new("clean copy")})
	w.remove(id)
	w.damage("damaged words")
	dir := t.TempDir()
	w.fails("backup", w.db.Backup(ctx, dir), convmem.CodeCorrupt, "backup", bad)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	w.remove(bad)
	w.ok("backup", w.db.Backup(ctx, dir))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, entries[0].Name()))
	if err != nil || strings.Contains(string(b), "secret") || !strings.Contains(string(b), "clean copy") {
		t.Errorf("%v: the copy holds %q", err, b)
	}
}
