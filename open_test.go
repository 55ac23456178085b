package convmem_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

func TestOpenArguments(t *testing.T) {
	for _, c := range []struct {
		name    string
		dir     string
		options *convmem.Options
		field   string
	}{
		{"no directory", "", nil, "dir"},
		{"no directory in the options either", "", &convmem.Options{}, "dir"},
		{"negative wait", "", &convmem.Options{FS: vfs.NewMem(0), LockWait: -1}, "LockWait"},
		{"negative size", "", &convmem.Options{FS: vfs.NewMem(0), MaxResultBytes: -1}, "MaxResultBytes"},
	} {
		db, err := convmem.Open(ctx, c.dir, c.options)
		var e *convmem.Error
		if db != nil || !errors.As(err, &e) || e.Code != convmem.CodeValidation || e.Field != c.field || e.Op != "open" {
			t.Errorf("%s: %v, want a validation error for %s", c.name, err, c.field)
		}
	}
}

func TestOpenOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, db: db}
	kept := w.say("s", "on disk", convmem.MetadataPatch{})
	w.ok("close", db.Close())
	if db, err = convmem.Open(ctx, dir, &convmem.Options{Exclusive: true}); err != nil {
		t.Fatal(err)
	}
	_, err = convmem.Open(ctx, dir, &convmem.Options{LockWait: time.Millisecond})
	w.fails("a second open", err, convmem.CodeBusy, fmt.Sprint(os.Getpid()))
	if strings.Contains(err.Error(), dir) {
		t.Errorf("the error names a path: %v", err)
	}
	w.ok("close", db.Close())
	if w.db, err = convmem.Open(ctx, dir, nil); err != nil {
		t.Fatal(err)
	}
	defer w.db.Close()
	if diff := cmp.Diff([]convmem.Message{kept}, w.history(convmem.HistoryRequest{SessionID: "s"}).Messages); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

func TestOpenWithoutPermission(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := convmem.Open(ctx, filepath.Join(file, "store"), nil)
	if convmem.CodeOf(err) != convmem.CodeIO || strings.Contains(err.Error(), file) {
		t.Errorf("a file in the place of the directory: %v", err)
	}
}

// calls runs every method once.
func calls(ctx context.Context, s convmem.Store, id string) map[string]error {
	_, write := s.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "c"})
	_, update := s.Update(ctx, convmem.UpdateRequest{MessageID: id, Content: new("d")})
	_, history := convmem.History(ctx, s, convmem.HistoryRequest{SessionID: "s"})
	_, around := convmem.Context(ctx, s, convmem.ContextRequest{MessageID: id})
	_, sessions := convmem.Sessions(ctx, s, convmem.SessionsRequest{})
	_, search := s.Search(ctx, convmem.SearchRequest{Query: "c"})
	_, remove := s.Delete(ctx, convmem.DeleteRequest{MessageID: id})
	_, rebuild := s.Rebuild(ctx, convmem.RebuildRequest{})
	_, health := s.Health(ctx, convmem.HealthRequest{})
	return map[string]error{
		"write": write, "update": update, "read": history, "read context": around, "read sessions": sessions,
		"search": search, "delete": remove, "rebuild": rebuild, "health": health,
	}
}

func TestClosed(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	id := w.say("s", "content", convmem.MetadataPatch{}).ID
	w.ok("close", w.db.Close())
	w.ok("close again", w.db.Close())
	for name, err := range calls(ctx, w.db, id) {
		op, _, _ := strings.Cut(name, " ")
		if e := w.fails(name, err, convmem.CodeInternal, "closed"); e.Op != op || !errors.Is(err, convmem.ErrClosed) {
			t.Errorf("%s: op %q, %v", name, e.Op, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	id := w.say("s", "content", convmem.MetadataPatch{}).ID
	before := w.health()
	done, cancel := context.WithCancel(ctx)
	cancel()
	for name, err := range calls(done, w.db, id) {
		w.fails(name, err, convmem.CodeBusy, "cancelled before anything was stored")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v hides the context's error", name, err)
		}
	}
	if diff := cmp.Diff(before, w.health()); diff != "" {
		t.Errorf("health after cancelled calls (-before +after):\n%s", diff)
	}
}

// countdown is a context that is cancelled when it has been asked often enough.
type countdown struct {
	context.Context
	left *int
}

func (c countdown) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelledHalfway: a long read looks at its context between messages.
func TestCancelledHalfway(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	for range 20 {
		w.say("s", "content", convmem.MetadataPatch{})
	}
	for name, read := range map[string]func(context.Context) error{
		"history": func(ctx context.Context) error {
			_, err := convmem.History(ctx, w.db, convmem.HistoryRequest{SessionID: "s"})
			return err
		},
		"search": func(ctx context.Context) error {
			_, err := w.db.Search(ctx, convmem.SearchRequest{Query: "content"})
			return err
		},
	} {
		asked := 1000
		w.ok(name, read(countdown{ctx, &asked}))
		if asked = 1000 - asked; asked < 20 {
			t.Errorf("%s: 20 messages asked the context %d times", name, asked)
		}
		for left := range asked {
			w.fails(name, read(countdown{ctx, &left}), convmem.CodeBusy, "cancelled")
		}
	}
}

// TestNewerStore opens a log whose header a newer version wrote.
func TestNewerStore(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	w.ok("close", w.db.Close())
	name, file := w.logFile()
	header := make([]byte, 128)
	_, err := file.ReadAt(header, 0)
	w.ok("read", err)
	binary.LittleEndian.PutUint32(header[8:], 4711)
	binary.LittleEndian.PutUint32(header[12:], 4710)
	binary.LittleEndian.PutUint32(header[124:], crc32.Checksum(header[:124], crc32.MakeTable(crc32.Castagnoli)))
	_, err = file.WriteAt(header, 0)
	w.ok("write", err)
	_, err = convmem.Open(ctx, "", &w.options)
	w.fails("open", err, convmem.CodeCorrupt, name, "version 4711", "version 2")
}

func TestDamagedStore(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	w.say("s", "marker", convmem.MetadataPatch{})
	w.say("s", "later", convmem.MetadataPatch{})
	w.ok("close", w.db.Close())
	w.damage("marker")
	name, _ := w.logFile()
	_, err := convmem.Open(ctx, "", &w.options)
	e := w.fails("open", err, convmem.CodeCorrupt, name, "offset 128")
	if e.Op != "open" || strings.Contains(e.Error(), "marker") {
		t.Errorf("op %q: %v", e.Op, e)
	}
}

// A store is read in a directory that cannot be written, changes nothing there,
// and sees what others write.
func TestOpenReadOnly(t *testing.T) {
	dir := t.TempDir()
	writer, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, db: writer, now: time.Now()}
	kept := w.say("s", "kept", convmem.MetadataPatch{})
	reader, err := convmem.Open(ctx, dir, &convmem.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	r := &world{T: t, db: reader}
	again := w.say("s", "written later", convmem.MetadataPatch{})
	want := []string{kept.Content, again.Content}
	if diff := cmp.Diff(want, contents(r.history(convmem.HistoryRequest{SessionID: "s"}).Messages)); diff != "" {
		t.Error(diff)
	}
	for name, err := range calls(ctx, reader, kept.ID) {
		changes := name == "write" || name == "update" || name == "delete" || name == "rebuild"
		if changes && (!errors.Is(err, convmem.ErrReadOnly) || convmem.CodeOf(err) != convmem.CodeIO) || !changes && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.ok("close", writer.Close())
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	last, err := convmem.Open(ctx, dir, &convmem.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	if status := (&world{T: t, db: last}).health().Status; status != convmem.HealthOK {
		t.Errorf("health of a closed store: %s", status)
	}
	_, err = convmem.Open(ctx, filepath.Join(dir, "none"), &convmem.Options{ReadOnly: true})
	if convmem.CodeOf(err) != convmem.CodeIO {
		t.Errorf("no directory: %v", err)
	}
}
