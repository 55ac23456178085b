package convmem_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

// busy is a Store whose Rebuild fails so many times, with pauses as they come.
type busy struct {
	convmem.Store
	code   convmem.Code
	times  int
	asked  []time.Duration // since the first call
	begun  time.Time
	search func(convmem.SearchRequest) // sees each search
	found  bool                        // every search finds something
}

func (b *busy) Rebuild(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
	if b.begun.IsZero() {
		b.begun = time.Now()
	}
	b.asked = append(b.asked, time.Since(b.begun))
	if len(b.asked) <= b.times {
		return convmem.RebuildResult{}, &convmem.Error{Op: "rebuild", Code: b.code}
	}
	return b.Store.Rebuild(ctx, r)
}

func (b *busy) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	if b.search != nil {
		b.search(r)
	}
	if b.found {
		return convmem.SearchResult{Hits: make([]convmem.Hit, 1)}, nil
	}
	return b.Store.Search(ctx, r)
}

// marked writes messages that hold the marks of erasure_test.go in every text.
func marked(w *world, session, key string, count int) {
	w.Helper()
	for i := range count {
		w.tick()
		_, err := w.db.Write(ctx, convmem.WriteRequest{
			SessionID: session, Role: convmem.RoleUser, Content: fmt.Sprint("QZCONTENT 秘密の合言葉 ", i), IdempotencyKey: fmt.Sprint(key, i),
			Metadata: convmem.MetadataPatch{ToolCallID: new("QZCALL"), Tags: []string{"QZTAG"}, Summary: new("QZSUMMARY")},
		})
		w.ok("write", err)
	}
}

// inFiles returns the marks that stand anywhere in the files of a store in memory.
func inFiles(t *testing.T, mem *vfs.Mem) []string {
	t.Helper()
	var found []string
	for _, mark := range marks {
		for _, name := range mem.Names() {
			b, err := mem.ReadFile(name)
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

// No file of the store holds a byte of a forgotten session, and others stay.
func TestForget(t *testing.T) {
	mem := vfs.NewMem(0)
	w := newWorld(t, convmem.Options{FS: mem})
	kept := w.say("kept", "tea", convmem.MetadataPatch{})
	marked(w, "QZSESSION", "QZKEY", 250)
	w.update(convmem.UpdateRequest{MessageID: w.history(convmem.HistoryRequest{SessionID: "QZSESSION"}).Messages[3].ID, Content: new("overwritten")})
	w.reopen()
	if found := inFiles(t, mem); len(found) != len(marks) {
		t.Fatalf("the scan finds only %v", found)
	}
	watch := &watched{Store: w.db}
	got, err := convmem.Forget(ctx, watch, convmem.ForgetRequest{SessionID: "QZSESSION"})
	w.ok("forget", err)
	rebuild := got.Rebuild
	got.Rebuild = convmem.RebuildResult{}
	if diff := cmp.Diff(convmem.ForgetResult{Sessions: 1, Deleted: 250, Rebuilt: true, Searched: 100, Proven: true}, got); diff != "" {
		t.Error(diff)
	}
	if rebuild.MessagesIndexed != 1 || rebuild.BytesAfter >= rebuild.BytesBefore {
		t.Errorf("%+v", rebuild)
	}
	if watch.reads != 1+3+1 || watch.deletes != 250 {
		t.Errorf("%d reads, %d deletes", watch.reads, watch.deletes)
	}
	if found := inFiles(t, mem); found != nil {
		t.Errorf("the files hold %v", found)
	}
	w.ok("close", w.db.Close())
	if found := inFiles(t, mem); found != nil {
		t.Errorf("after closing the files hold %v", found)
	}
	w.open()
	if diff := cmp.Diff([]convmem.Message{kept}, w.history(convmem.HistoryRequest{SessionID: "kept"}).Messages); diff != "" {
		t.Error(diff)
	}
}

func TestForgetAllSessions(t *testing.T) {
	mem := vfs.NewMem(0)
	w := newWorld(t, convmem.Options{FS: mem})
	for i := range 130 {
		marked(w, fmt.Sprint("QZSESSION", i), "QZKEY", 2)
	}
	got, err := convmem.Forget(ctx, w.db, convmem.ForgetRequest{AllSessions: true})
	w.ok("forget", err)
	if got.Sessions != 130 || got.Deleted != 260 || got.Searched != 100 || !got.Proven {
		t.Errorf("%+v", got)
	}
	if found := inFiles(t, mem); found != nil || w.health().ActiveMessages != 0 {
		t.Errorf("%d messages, the files hold %v", w.health().ActiveMessages, found)
	}
}

// What is gone already is proven gone.
func TestForgetAgain(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	w.say("s", "x", convmem.MetadataPatch{})
	for i, want := range []convmem.ForgetResult{
		{Sessions: 1, Deleted: 1, Rebuilt: true, Searched: 1, Proven: true}, {Sessions: 1, Rebuilt: true, Proven: true},
	} {
		got, err := convmem.Forget(ctx, w.db, convmem.ForgetRequest{SessionID: "s"})
		w.ok("forget", err)
		got.Rebuild = convmem.RebuildResult{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
}

func TestForgetErrors(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	w.say("s", "x", convmem.MetadataPatch{})
	for _, r := range []convmem.ForgetRequest{{}, {SessionID: strings.Repeat("s", 257)}, {SessionID: "s", AllSessions: true}} {
		got, err := convmem.Forget(ctx, w.db, r)
		if e := w.fails("forget", err, convmem.CodeValidation); e.Field != "session_id" || got != (convmem.ForgetResult{}) {
			t.Errorf("field %q, %+v", e.Field, got)
		}
	}
	if w.health().ActiveMessages != 1 {
		t.Error("a refused request deleted something")
	}
}

// The queries are texts of the removed messages, within the session.
func TestForgetSearches(t *testing.T) {
	s := storetest.NewModel(storetest.Config{})
	long := strings.Repeat("データ", 1000)
	for _, content := range []string{"tea", "!?", long} {
		if _, err := s.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: content}); err != nil {
			t.Fatal(err)
		}
	}
	var queries []string
	b := &busy{Store: s, search: func(r convmem.SearchRequest) {
		if r.SessionID != "s" {
			t.Errorf("searches %q", r.SessionID)
		}
		queries = append(queries, r.Query)
	}}
	if got, err := convmem.Forget(ctx, b, convmem.ForgetRequest{SessionID: "s"}); err != nil || got.Searched != 3 {
		t.Error(got, err)
	}
	if diff := cmp.Diff([]string{"tea", "!?", long[:4095]}, queries); diff != "" {
		t.Error(diff)
	}
}

// It waits for another rebuild and then makes its own, for as long as ctx allows.
func TestForgetWaitsForRebuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{Store: storetest.NewModel(storetest.Config{}), code: convmem.CodeBusy, times: 9}
		got, err := convmem.Forget(t.Context(), b, convmem.ForgetRequest{SessionID: "s"})
		if err != nil || !got.Proven {
			t.Error(got, err)
		}
		ms := time.Millisecond
		want := []time.Duration{0, 10 * ms, 30 * ms, 70 * ms, 150 * ms, 310 * ms, 630 * ms, 1270 * ms, 2270 * ms, 3270 * ms}
		if diff := cmp.Diff(want, b.asked); diff != "" {
			t.Error(diff)
		}
	})
}

func TestForgetWaitsNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewModel(storetest.Config{})
		sayNumbers(t, s, "s", 3)
		b := &busy{Store: s, code: convmem.CodeBusy, times: 1000}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		got, err := convmem.Forget(ctx, b, convmem.ForgetRequest{SessionID: "s"})
		if convmem.CodeOf(err) != convmem.CodeBusy || got != (convmem.ForgetResult{Sessions: 1, Deleted: 3}) {
			t.Errorf("%+v, %v", got, err)
		}
		if waited := time.Since(b.begun); waited != 100*time.Millisecond {
			t.Errorf("it waited %v", waited)
		}
	})
}

// Where something is in the way, nothing is called proven.
func TestForgetUnproven(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*busy, *watched) // b uses w, and w the model
		code   convmem.Code
		all    bool
		want   convmem.ForgetResult // without Rebuild
	}{
		{"the rebuild fails", func(b *busy, _ *watched) { b.code, b.times = convmem.CodeIO, 1 }, convmem.CodeIO, false, convmem.ForgetResult{Sessions: 1, Deleted: 3}},
		{"somebody writes", func(b *busy, w *watched) { writeAt(w, "s", 3) }, convmem.CodeBusy, false, convmem.ForgetResult{Sessions: 1, Deleted: 3, Rebuilt: true}},
		{"somebody writes another session", func(b *busy, w *watched) { writeAt(w, "t", 4) }, convmem.CodeBusy, true, convmem.ForgetResult{Sessions: 1, Deleted: 3, Rebuilt: true}},
		{"a search finds something", func(b *busy, _ *watched) { b.found = true }, convmem.CodeInternal, false, convmem.ForgetResult{Sessions: 1, Deleted: 3, Rebuilt: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &watched{Store: storetest.NewModel(storetest.Config{})}
			sayNumbers(t, w, "s", 3)
			b := &busy{Store: w}
			c.change(b, w)
			request := convmem.ForgetRequest{SessionID: "s"}
			if c.all {
				request = convmem.ForgetRequest{AllSessions: true}
			}
			got, err := convmem.Forget(ctx, b, request)
			got.Rebuild = convmem.RebuildResult{}
			if diff := cmp.Diff(c.want, got); diff != "" || convmem.CodeOf(err) != c.code {
				t.Errorf("%v, want %s; %s", err, c.code, diff)
			}
		})
	}
}

// writeAt writes a message right before a read.
func writeAt(w *watched, session string, read int) {
	w.beforeRead = func(number int) {
		if number == read {
			w.Store.Write(ctx, convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: "late"})
		}
	}
}

// A damaged message keeps the session from being forgotten until it is deleted by
// the id that the error names.
func TestForgetBesideDamage(t *testing.T) {
	mem := vfs.NewMem(0)
	w := newWorld(t, convmem.Options{FS: mem})
	var ids []string
	for _, content := range []string{"QZCONTENT", "DAMAGEHERE", "QZCONTENT", "QZCONTENT"} {
		ids = append(ids, w.say("QZSESSION", content, convmem.MetadataPatch{}).ID)
	}
	w.damage("DAMAGEHERE")
	watch := &busy{Store: w.db}
	got, err := convmem.Forget(ctx, watch, convmem.ForgetRequest{SessionID: "QZSESSION"})
	w.fails("forget", err, convmem.CodeCorrupt, ids[1])
	if got != (convmem.ForgetResult{Sessions: 1, Deleted: 3}) || len(watch.asked) != 0 {
		t.Errorf("%+v, %d rebuilds", got, len(watch.asked))
	}
	w.remove(ids[1])
	got, err = convmem.Forget(ctx, w.db, convmem.ForgetRequest{SessionID: "QZSESSION"})
	w.ok("forget again", err)
	if found := inFiles(t, mem); !got.Proven || found != nil {
		t.Errorf("%+v, the files hold %v", got, found)
	}
}
