package convmem_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// world is a store in memory with a clock that moves only when told to, and
// short forms of its methods that end the test when a call fails.
type world struct {
	*testing.T
	db   *convmem.DB
	fsys vfs.FS
	now  time.Time
	// options are those of the next Open; FS and Now are set by open.
	options convmem.Options
}

var ctx = context.Background()

func newWorld(t *testing.T, options convmem.Options) *world {
	t.Helper()
	w := &world{T: t, fsys: options.FS, now: time.UnixMilli(1_750_000_000_000), options: options}
	if w.fsys == nil {
		w.fsys = vfs.NewMem(0)
	}
	w.open()
	t.Cleanup(func() { w.db.Close() })
	return w
}

func (w *world) open() {
	w.Helper()
	w.options.FS = w.fsys
	w.options.Now = func() time.Time { return w.now }
	db, err := convmem.Open(ctx, "", &w.options)
	w.ok("open", err)
	w.db = db
}

func (w *world) reopen() {
	w.Helper()
	w.ok("close", w.db.Close())
	w.open()
}

func (w *world) ok(what string, err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

// fails fails unless err has the code and its text every part.
func (w *world) fails(what string, err error, code convmem.Code, parts ...string) *convmem.Error {
	w.Helper()
	var e *convmem.Error
	if !errors.As(err, &e) || e.Code != code {
		w.Fatalf("%s: got %v, want code %s", what, err, code)
	}
	for _, part := range parts {
		if !strings.Contains(e.Error(), part) {
			w.Errorf("%s: the error does not say %q: %v", what, part, e)
		}
	}
	return e
}

func (w *world) tick() { w.now = w.now.Add(time.Millisecond) }

// say writes a message one millisecond after the one before.
func (w *world) say(session, content string, patch convmem.MetadataPatch) convmem.Message {
	w.Helper()
	w.tick()
	result, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: content, Metadata: patch})
	w.ok("write", err)
	return result.Message
}

func (w *world) update(r convmem.UpdateRequest) convmem.UpdateResult {
	w.Helper()
	result, err := w.db.Update(ctx, r)
	w.ok("update", err)
	return result
}

func (w *world) remove(id string) {
	w.Helper()
	result, err := w.db.Delete(ctx, convmem.DeleteRequest{MessageID: id})
	w.ok("delete", err)
	if !result.Deleted {
		w.Fatalf("delete: %s was not there", id)
	}
}

func (w *world) history(r convmem.HistoryRequest) convmem.HistoryResult {
	w.Helper()
	result, err := convmem.History(ctx, w.db, r)
	w.ok("history", err)
	return result
}

func (w *world) context(r convmem.ContextRequest) convmem.ContextResult {
	w.Helper()
	result, err := convmem.Context(ctx, w.db, r)
	w.ok("context", err)
	return result
}

func (w *world) search(r convmem.SearchRequest) convmem.SearchResult {
	w.Helper()
	result, err := w.db.Search(ctx, r)
	w.ok("search", err)
	return result
}

func (w *world) health() convmem.HealthResult {
	w.Helper()
	result, err := w.db.Health(ctx, convmem.HealthRequest{})
	w.ok("health", err)
	return result
}

func (w *world) rebuild() {
	w.Helper()
	_, err := w.db.Rebuild(ctx, convmem.RebuildRequest{})
	w.ok("rebuild", err)
}

// logFile opens the live log.
func (w *world) logFile() (name string, file vfs.File) {
	w.Helper()
	names, err := w.fsys.List()
	w.ok("list", err)
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			file, err := w.fsys.Open(name)
			w.ok("open the log", err)
			return name, file
		}
	}
	w.Fatal("no log")
	return "", nil
}

// damage flips a bit of the one place where the log holds the marker.
func (w *world) damage(marker string) {
	w.Helper()
	_, file := w.logFile()
	defer file.Close()
	size, err := file.Size()
	w.ok("size", err)
	all := make([]byte, size)
	if _, err := file.ReadAt(all, 0); err != nil && !errors.Is(err, io.EOF) {
		w.Fatal(err)
	}
	at := bytes.Index(all, []byte(marker))
	if at < 0 || bytes.Count(all, []byte(marker)) != 1 {
		w.Fatalf("the log does not hold %q exactly once", marker)
	}
	_, err = file.WriteAt([]byte{all[at] ^ 1}, int64(at))
	w.ok("damage", err)
}

func contents(messages []convmem.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Content)
	}
	return all
}
