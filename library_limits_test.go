package convmem_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

// A session of results without calls does not fill the memory.
func TestWindowBoundsWhatWaits(t *testing.T) {
	withoutRaceDetector(t)
	w := newWorld(t, convmem.Options{})
	big := strings.Repeat("x", 1<<20)
	for i := range 100 {
		w.tick()
		_, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleTool, Content: big, Metadata: convmem.MetadataPatch{ToolCallID: new(fmt.Sprint(i))}})
		w.ok("write", err)
	}
	read := 0
	_, err := convmem.Window(ctx, w.db, convmem.WindowRequest{SessionID: "s", MaxMessages: 2, CountTokens: func(convmem.Message) int { read++; return 1 }})
	w.ok("window", err)
	if read > 65 {
		t.Errorf("%d results of 1 MiB held for a window of 2 messages", read)
	}
}

// Who keeps a content keeps no payload along with it.
func TestContentDoesNotHoldThePayload(t *testing.T) {
	withoutRaceDetector(t)
	w := newWorld(t, convmem.Options{})
	for range 50 {
		w.tick()
		_, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "short", Payload: convmem.Payload{Data: make([]byte, 1<<20)}})
		w.ok("write", err)
	}
	before := int64(liveHeap())
	var kept []string
	for m, err := range convmem.AllMessages(ctx, w.db, convmem.HistoryRequest{SessionID: "s"}) {
		w.ok("read", err)
		kept = append(kept, m.Content)
	}
	if grown := int64(liveHeap()) - before; grown > 4<<20 {
		t.Errorf("%d contents of 5 bytes hold %d MiB", len(kept), grown>>20)
	}
	runtime.KeepAlive(kept)
}

// peeking is a namespace that looks up when it is rebuilt.
type peeking struct {
	*convmem.Namespace
	held func()
}

func (p peeking) Rebuild(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
	p.held()
	return p.Namespace.Rebuild(ctx, r)
}

// Forget holds short queries while it rebuilds, not whole messages.
func TestForgetHoldsQueriesOnly(t *testing.T) {
	withoutRaceDetector(t)
	w := newWorld(t, convmem.Options{})
	for i := range 50 {
		w.say("s", fmt.Sprint(i, strings.Repeat(" x", 1<<19-10)), convmem.MetadataPatch{})
	}
	before := int64(liveHeap())
	var held int64
	_, err := convmem.Forget(ctx, peeking{w.db.Namespace(""), func() { held = int64(liveHeap()) - before }}, convmem.ForgetRequest{SessionID: "s"})
	w.ok("forget", err)
	if held > 10<<20 {
		t.Errorf("%d MiB held while rebuilding", held>>20)
	}
}

// A batch is bounded in bytes too.
func TestBatchBytes(t *testing.T) {
	withoutRaceDetector(t)
	w := newWorld(t, convmem.Options{})
	var b convmem.WriteBatchRequest
	for range 65 {
		b.Messages = append(b.Messages, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: strings.Repeat("x", 1<<20)})
	}
	_, err := w.db.WriteBatch(ctx, b)
	w.fails("batch", err, convmem.CodeValidation, "messages")
}

// A line without end ends with the context.
func TestImportEndlessLine(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	c, cancel := context.WithCancel(ctx)
	reads := 0
	_, err := w.db.Import(c, readerFunc(func(p []byte) (int, error) {
		if reads++; reads == 5 {
			cancel()
		}
		if reads == 1000 {
			return 0, errors.New("enough")
		}
		for i := range p {
			p[i] = 'x'
		}
		return len(p), nil
	}), nil)
	w.fails("import", err, convmem.CodeBusy)
	if reads > 10 {
		t.Errorf("%d reads", reads)
	}
}

// What Write returns is what a read returns.
func TestWrittenIsRead(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	res, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "x", Payload: convmem.Payload{Type: "t", Data: []byte{}}})
	w.ok("write", err)
	if d := cmp.Diff(res.Message, w.history(convmem.HistoryRequest{SessionID: "s"}).Messages[0]); d != "" {
		t.Error(d)
	}
}

// A namespace whose messages are gone is gone.
func TestEmptiedNamespacesCostNothing(t *testing.T) {
	withoutRaceDetector(t)
	w := newWorld(t, convmem.Options{FS: vfs.NewMem(0)})
	const n = 2000
	ids := make([]string, n)
	for i := range n {
		r, err := w.db.Namespace(fmt.Sprint("t", i)).Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "x"})
		w.ok("write", err)
		ids[i] = r.Message.ID
	}
	full := int64(liveHeap())
	for i, id := range ids {
		_, err := w.db.Namespace(fmt.Sprint("t", i)).Delete(ctx, convmem.DeleteRequest{MessageID: id})
		w.ok("delete", err)
	}
	if freed := full - int64(liveHeap()); freed < n*1500 {
		t.Errorf("emptying %d namespaces freed %d bytes each", n, freed/n)
	}
	runtime.KeepAlive(w.db)
}

// Nobody learns from a rebuild how much others have.
func TestRebuildCountsItsOwn(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	w.say("s", "one", convmem.MetadataPatch{})
	for range 5 {
		w.tick()
		_, err := w.db.Namespace("a").Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "x"})
		w.ok("write", err)
	}
	a, err := w.db.Rebuild(ctx, convmem.RebuildRequest{})
	w.ok("rebuild", err)
	if a.MessagesIndexed != 1 {
		t.Errorf("%d messages indexed, the DB sees 1", a.MessagesIndexed)
	}
}

// Counts beyond all bounds do not wrap around.
func TestWindowTokensDoNotWrap(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	w.say("s", "one", convmem.MetadataPatch{})
	w.say("s", "two", convmem.MetadataPatch{})
	res, err := convmem.Window(ctx, w.db, convmem.WindowRequest{SessionID: "s", MaxMessages: 10, CountTokens: func(convmem.Message) int { return math.MaxInt }})
	if err != nil || res.Tokens < 0 {
		t.Error(res.Tokens, err)
	}
}

// An error names no message of another namespace, but its owner learns it.
func TestNamespaceErrorsNameNoForeignID(t *testing.T) {
	w := newWorld(t, convmem.Options{FS: vfs.NewMem(0)})
	a, b := w.db.Namespace("a"), w.db.Namespace("b")
	w.tick()
	_, err := a.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "whole"})
	w.ok("write", err)
	w.tick()
	foreign, err := b.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "DAMAGEDTEXT"})
	w.ok("write", err)
	w.damage("DAMAGEDTEXT")
	_, err = a.Rebuild(ctx, convmem.RebuildRequest{})
	w.fails("rebuild", err, convmem.CodeCorrupt)
	health, herr := a.Health(ctx, convmem.HealthRequest{})
	w.ok("health", herr)
	for _, text := range []string{err.Error(), health.LastError} {
		if strings.Contains(text, foreign.Message.ID) {
			t.Errorf("namespace a is told of a message of b: %s", text)
		}
	}
	_, err = b.Rebuild(ctx, convmem.RebuildRequest{})
	w.fails("rebuild", err, convmem.CodeCorrupt, foreign.Message.ID)
}
