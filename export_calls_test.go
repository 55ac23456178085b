package convmem_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// exportedContents is what an export says, without its header.
func exportedContents(t fataler, text string) []string {
	t.Helper()
	rest, ok := strings.CutPrefix(text, exportHead)
	if !ok || text[len(text)-1] != '\n' {
		t.Fatalf("an export of %d bytes does not begin with the header or ends within a line", len(text))
	}
	var all []string
	for line := range strings.Lines(rest) {
		all = append(all, parseLine(line).Content)
	}
	return all
}

// With a fixed clock and fixed ids a line is these very bytes.
func TestExportedLine(t *testing.T) {
	c := newCarrier(t, 1)
	c.take(`{"message_id":"01JXS5GRG0000000000000000A","session_id":"s","role":"user","content":"<&>\u2028 \u0000 é"}`)
	const id = "01JXS5GRG0000000000000000A"
	_, err := c.db.Update(ctx, convmem.UpdateRequest{MessageID: id, Metadata: &convmem.MetadataPatch{
		Importance: new(0), Relations: []convmem.Relation{{Type: "supersedes", MessageID: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}},
	}, Payload: &convmem.Payload{Data: []byte("\x00\xff")}})
	c.ok("update", err)
	want := exportHead + `{"message_id":"01JXS5GRG0000000000000000A","session_id":"s","role":"user","content":"<&>\u2028 \u0000 é",` +
		`"revision":2,"updated_at":1750000000000,"metadata":{"memory_tier":"short","memory_kind":"conversation","importance":0,` +
		`"relations":[{"type":"supersedes","message_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}]},"payload":{"type":"","data":"AP8="}}` + "\n"
	equalText(t, "one line", want, c.export(nil))
}

func TestExportNamespaces(t *testing.T) {
	c := newCarrier(t, 1)
	for _, namespace := range []string{"b", "", "a", "gone", "Z"} {
		c.write(namespace, convmem.WriteRequest{SessionID: "s", Role: "user", Content: "in " + namespace})
	}
	result, err := c.db.Namespace("gone").DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: "s"})
	if err != nil || result.Deleted != 1 {
		t.Fatal(result, err)
	}
	for _, test := range []struct {
		name   string
		choice []string
		want   []string
	}{
		{"all, ascending", nil, []string{"in ", "in Z", "in a", "in b"}},
		{"none", []string{}, nil},
		{"in another order and twice", []string{"b", "Z", "b"}, []string{"in Z", "in b"}},
		{"that of the DB", []string{""}, []string{"in "}},
		{"unknown and without messages", []string{"nobody", "a", "gone"}, []string{"in a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := c.export(&convmem.ExportOptions{Namespaces: test.choice})
			if diff := cmp.Diff(test.want, exportedContents(t, text), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, name := range []string{"\xff", strings.Repeat("n", convmem.MaxNamespaceBytes+1)} {
		var out bytes.Buffer
		_, err := c.db.Export(ctx, &out, &convmem.ExportOptions{Namespaces: []string{"a", name}})
		if convmem.CodeOf(err) != convmem.CodeValidation || out.Len() > 0 {
			t.Errorf("a namespace that cannot be: %v and %d bytes", err, out.Len())
		}
	}
}

func TestExportOfNothing(t *testing.T) {
	c := newCarrier(t, 1)
	equalText(t, "empty store", exportHead, c.export(nil))
	if diff := cmp.Diff(convmem.ImportResult{Lines: 1, Bytes: int64(len(exportHead))}, c.take(exportHead)); diff != "" {
		t.Error(diff)
	}
}

// A store that is opened for reading exports, and does not import, not even what
// it has.
func TestExportReadOnly(t *testing.T) {
	c := newCarrier(t, 1)
	c.say("s", "one")
	want := c.export(nil)
	c.ok("close", c.db.Close())
	var err error
	c.db, err = convmem.Open(ctx, "", &convmem.Options{FS: c.fsys, ReadOnly: true})
	c.ok("open", err)
	equalText(t, "read only", want, c.export(nil))
	_, err = c.db.Import(ctx, strings.NewReader(want), nil)
	if convmem.CodeOf(err) != convmem.CodeIO || !errors.Is(err, convmem.ErrReadOnly) {
		t.Errorf("import: %v", err)
	}
	c.ok("close", c.db.Close())
	if _, err := c.db.Export(ctx, io.Discard, nil); !errors.Is(err, convmem.ErrClosed) {
		t.Errorf("export of a closed store: %v", err)
	}
	if _, err := c.db.Import(ctx, strings.NewReader(want), nil); !errors.Is(err, convmem.ErrClosed) {
		t.Errorf("import into a closed store: %v", err)
	}
}

func TestExportProgress(t *testing.T) {
	c := newCarrier(t, 1)
	c.fill(2500)
	var calls []string
	c.export(&convmem.ExportOptions{Progress: func(done, total int64) { calls = append(calls, fmt.Sprintf("%d of %d", done, total)) }})
	if diff := cmp.Diff([]string{"1000 of 2500", "2000 of 2500", "2500 of 2500"}, calls); diff != "" {
		t.Error(diff)
	}
}

// fill writes count small messages, 900 with one sync.
func (c *carrier) fill(count int) {
	c.Helper()
	var all []convmem.WriteRequest
	for i := range count {
		all = append(all, convmem.WriteRequest{SessionID: fmt.Sprint("fill ", i%7), Role: "user", Content: fmt.Sprint("message ", i)})
	}
	c.now = c.now.Add(time.Millisecond)
	for chunk := range slices.Chunk(all, 900) {
		_, err := c.db.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: chunk})
		c.ok("write batch", err)
	}
}

// writer calls a function before every write.
type writer struct {
	bytes.Buffer
	before func() error
}

func (w *writer) Write(p []byte) (int, error) {
	if err := w.before(); err != nil {
		return 0, err
	}
	return w.Buffer.Write(p)
}

// large writes messages of which a few fill every buffer on the way.
func (c *carrier) large(count int) (ids []string) {
	for i := range count {
		c.now = c.now.Add(time.Millisecond)
		r := convmem.WriteRequest{SessionID: "s", Role: "user", Content: fmt.Sprint("large ", i), Payload: convmem.Payload{Data: make([]byte, 8000)}}
		ids = append(ids, c.write("", r).Message.ID)
	}
	return ids
}

// The reader of an export may change the store: it sees what there was at the
// beginning, without what is deleted before its turn.
func TestExportBesideChanges(t *testing.T) {
	c := newCarrier(t, 1)
	ids := c.large(150)
	changed := false
	w := &writer{before: func() error {
		if changed {
			return nil
		}
		changed = true
		c.say("s", "later")
		c.write("new", convmem.WriteRequest{SessionID: "s", Role: "user", Content: "later elsewhere"})
		_, err := c.db.Delete(ctx, convmem.DeleteRequest{MessageID: ids[148]})
		c.ok("delete", err)
		_, err = c.db.Update(ctx, convmem.UpdateRequest{MessageID: ids[149], Content: new("changed")})
		c.ok("update", err)
		c.rebuild()
		return nil
	}}
	result, err := c.db.Export(ctx, w, nil)
	c.ok("export", err)
	got := exportedContents(t, w.String())
	if len(got) != 149 || got[147] != "large 147" || got[148] != "changed" || result.Messages != 149 {
		t.Errorf("%d messages, %+v, the last two are %q", len(got), result, got[max(0, len(got)-2):])
	}
	newCarrier(t, 2).take(w.String())
}

// Whatever ends an export, the writer has whole lines, as many as the result
// says, and they can be imported.
func TestExportThatFails(t *testing.T) {
	cause := errors.New("no room")
	for _, test := range []struct {
		name string
		code convmem.Code
		run  func(c *carrier, w *writer, ids []string) (convmem.ExportResult, error)
		// least is how many messages come before the failure for certain.
		least int
		text  string
	}{
		{"cancelled before", convmem.CodeBusy, func(c *carrier, w *writer, _ []string) (convmem.ExportResult, error) {
			cancelled, cancel := context.WithCancel(ctx)
			cancel()
			return c.db.Export(cancelled, w, nil)
		}, 0, ""},
		{"cancelled meanwhile", convmem.CodeBusy, func(c *carrier, w *writer, _ []string) (convmem.ExportResult, error) {
			cancelled, cancel := context.WithCancel(ctx)
			w.before = func() error { cancel(); return nil }
			return c.db.Export(cancelled, w, nil)
		}, 1, ""},
		{"a damaged message", convmem.CodeCorrupt, func(c *carrier, w *writer, ids []string) (convmem.ExportResult, error) {
			(&world{T: t, fsys: c.fsys}).damage("large 149")
			return c.db.Export(ctx, w, nil)
		}, 149, "message "},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCarrier(t, 1)
			ids := c.large(150)
			w := &writer{before: func() error { return nil }}
			result, err := test.run(c, w, ids)
			if convmem.CodeOf(err) != test.code || !strings.Contains(fmt.Sprint(err), test.text) {
				t.Fatalf("%v", err)
			}
			lines := max(0, int64(bytes.Count(w.Bytes(), []byte("\n")))-1)
			if result.Messages != lines || result.Bytes != int64(w.Len()) || int(lines) < test.least || lines == 150 {
				t.Errorf("%d lines in %d bytes, the result is %+v", lines, w.Len(), result)
			}
			if got := newCarrier(t, 2).take(w.String()); got.Written != lines {
				t.Errorf("imported %+v", got)
			}
		})
	}
	t.Run("a writer that fails", func(t *testing.T) {
		c := newCarrier(t, 1)
		c.large(30)
		writes := 0
		w := &writer{before: func() error {
			if writes++; writes == 3 {
				return cause
			}
			return nil
		}}
		result, err := c.db.Export(ctx, w, nil)
		if convmem.CodeOf(err) != convmem.CodeIO || !errors.Is(err, cause) || writes != 3 {
			t.Errorf("%v after %d writes", err, writes)
		}
		if result.Bytes != int64(w.Len()) {
			t.Errorf("%d bytes written, the result is %+v", w.Len(), result)
		}
	})
}

// A damaged message can be had back from an export that was made before.
func TestDamagedMessageComesBack(t *testing.T) {
	c := newCarrier(t, 1)
	c.say("s", "before")
	id := c.say("s", "once whole")
	c.say("s", "after")
	whole := c.export(nil)
	(&world{T: t, fsys: c.fsys}).damage("once whole")
	_, err := c.db.Delete(ctx, convmem.DeleteRequest{MessageID: id})
	c.ok("delete", err)
	if result := c.take(whole); result.Written != 1 || result.Present != 2 {
		t.Errorf("%+v", result)
	}
	equalText(t, "repaired", whole, c.export(nil))
}

// Exports, imports and everything else at once: every export is right for itself.
func TestExportConcurrently(t *testing.T) {
	c := newCarrier(t, 1)
	ids := c.large(120)
	others := newCarrier(t, 2)
	others.now = others.now.Add(-time.Hour)
	others.fill(300)
	text := others.export(nil)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range 3 {
				var out bytes.Buffer
				if _, err := c.db.Export(ctx, &out, nil); err != nil {
					t.Errorf("export: %v", err)
				}
				seen := exportedContents(errorer{t}, out.String())
				if n := len(seen); n < 60 || len(slices.Compact(slices.Sorted(slices.Values(seen)))) != n {
					t.Errorf("%d messages", n)
				}
			}
		})
		group.Go(func() {
			if result, err := c.db.Import(ctx, strings.NewReader(text), nil); err != nil || result.Written+result.Present != 300 {
				t.Errorf("import: %+v, %v", result, err)
			}
		})
	}
	group.Go(func() {
		for i, id := range ids[:60] {
			_, err := c.db.Delete(ctx, convmem.DeleteRequest{MessageID: id})
			_, err2 := c.db.Update(ctx, convmem.UpdateRequest{MessageID: ids[60+i], Content: new(fmt.Sprint("changed ", i))})
			if err != nil || err2 != nil {
				t.Errorf("%v, %v", err, err2)
			}
		}
	})
	group.Go(func() {
		if _, err := c.db.Rebuild(ctx, convmem.RebuildRequest{}); err != nil {
			t.Errorf("rebuild: %v", err)
		}
	})
	group.Wait()
	if got := len(exportedContents(t, c.export(nil))); got != 360 {
		t.Errorf("%d messages in the end, want 360", got)
	}
}

// errorer reports what would end a test of another goroutine.
type errorer struct{ *testing.T }

func (e errorer) Fatalf(format string, args ...any) { e.Errorf(format, args...); runtime.Goexit() }

// An export holds a few long messages at a time, whatever the store holds.
func TestExportMemory(t *testing.T) {
	withoutRaceDetector(t)
	c := newCarrier(t, 1)
	db, err := convmem.Open(ctx, t.TempDir(), &convmem.Options{Now: func() time.Time { return c.now }})
	c.ok("open", err)
	defer db.Close()
	c.db = db
	payload := convmem.Payload{Data: make([]byte, convmem.MaxPayloadBytes)}
	for range 24 {
		c.write("", convmem.WriteRequest{SessionID: "s", Role: "user", Content: "x", Payload: payload})
	}
	before := liveHeap()
	most := uint64(0)
	out := &counter{step: 16 << 20, each: func() { most = max(most, liveHeap()) }}
	_, err = c.db.Export(ctx, out, nil)
	c.ok("export", err)
	grown := (int64(most) - int64(before)) >> 20
	t.Logf("24 messages of 1 MiB: the heap grew by %d MiB", grown)
	if out.bytes < 32<<20 || grown > 16 {
		t.Errorf("%d bytes exported, the heap grew by %d MiB", out.bytes, grown)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// counter counts and calls a function at every step.
type counter struct {
	bytes, step int64
	each        func()
}

func (c *counter) Write(p []byte) (int, error) {
	if c.bytes/c.step != (c.bytes+int64(len(p)))/c.step {
		c.each()
	}
	c.bytes += int64(len(p))
	return len(p), nil
}
