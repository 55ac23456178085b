package convmem_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

// file is what must not change about a file.
type file struct {
	content  string
	modified time.Time
	mode     os.FileMode
}

// filesOf reads a directory.
func filesOf(t *testing.T, dir string) map[string]file {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]file{}
	for _, entry := range entries {
		info, err := entry.Info()
		content, readErr := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = file{string(content), info.ModTime(), info.Mode()}
	}
	return files
}

// onDisk makes a closed store of five messages in a directory: the third has
// been updated, the fourth deleted. It returns the live ones and the log's path.
func onDisk(t *testing.T) (dir, log string, live []convmem.Message) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "old")
	fsys, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, convmem.Options{FS: fsys})
	first := w.say("s", "first word", convmem.MetadataPatch{Tags: []string{"a", "b"}})
	second := w.say("s", "second word", convmem.MetadataPatch{})
	third := w.say("s", "third word", convmem.MetadataPatch{})
	fourth := w.say("s", "fourth word", convmem.MetadataPatch{})
	fifth := w.say("s", "fifth word", convmem.MetadataPatch{
		Relations: []convmem.Relation{{Type: convmem.RelationDependsOn, MessageID: second.ID}},
	})
	third = w.update(convmem.UpdateRequest{MessageID: third.ID, Content: new("third word, changed")}).Message
	w.remove(fourth.ID)
	w.ok("close", w.db.Close())
	name, _ := w.logFile()
	return dir, filepath.Join(dir, name), []convmem.Message{first, second, third, fifth}
}

// regions returns where the header and each frame of a log begin, and its end.
func regions(log []byte) []int {
	starts := []int{0}
	for at := 128; at < len(log); {
		starts = append(starts, at)
		at += (52 + int(binary.LittleEndian.Uint32(log[at:])) + 7) &^ 7
	}
	return append(starts, len(log))
}

func TestSalvage(t *testing.T) {
	tests := []struct {
		name   string
		region int // which one loses its bytes: 0 is the header, then come the frames
		lost   string
		extra  string // what is back because an update or deletion is lost
	}{
		{name: "header", region: 0},
		{name: "first frame", region: 1, lost: "first word"},
		{name: "middle frame", region: 2, lost: "second word"},
		{name: "update", region: 6, lost: "third word, changed", extra: "third word"},
		{name: "deletion", region: 7, extra: "fourth word"},
		{name: "last frame", region: 8},
	}
	for _, tt := range tests {
		for _, lock := range []bool{true, false} {
			for _, whole := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, LOCK %v, all of it %v", tt.name, lock, whole), func(t *testing.T) {
					dir, path, live := onDisk(t)
					log, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					starts := regions(log)
					if len(starts) != 10 {
						t.Fatalf("the log has %d regions", len(starts)-1)
					}
					from, to := starts[tt.region], starts[tt.region+1]
					if whole {
						clear(log[from:to])
					} else {
						log[(from+to)/2] ^= 4
					}
					err = os.WriteFile(path, log, 0o600)
					if !lock {
						err = errors.Join(err, os.Remove(filepath.Join(dir, "LOCK")))
					}
					if err != nil {
						t.Fatal(err)
					}
					var want []string
					for _, m := range live {
						want = append(want, m.Content)
					}
					want = slices.DeleteFunc(want, func(c string) bool { return c == tt.lost })
					if tt.extra != "" {
						want = append(want, tt.extra)
					}
					report := salvaged(t, dir, live, want)
					gap := convmem.SalvageGap{File: filepath.Base(path), Offset: int64(from), Length: int64(to - from)}
					if len(report.Gaps) != 1 || report.Gaps[0].Reason == "" {
						t.Fatalf("gaps %+v", report.Gaps)
					}
					report.Gaps[0].Reason = ""
					wantReport := convmem.SalvageReport{
						File: gap.File, Frames: 8, Messages: int64(len(want)), SkippedBytes: gap.Length,
						Gaps: []convmem.SalvageGap{gap},
					}
					if tt.region > 0 {
						wantReport.Frames = 7
					}
					if diff := cmp.Diff(wantReport, report); diff != "" {
						t.Errorf("report (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// salvaged salvages dir and compares the history of the new store with the
// contents in want and the messages in live.
func salvaged(t *testing.T, dir string, live []convmem.Message, want []string) convmem.SalvageReport {
	t.Helper()
	before := filesOf(t, dir)
	to := filepath.Join(t.TempDir(), "made", "new")
	report, err := convmem.Salvage(ctx, dir, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, filesOf(t, dir), cmp.AllowUnexported(file{})); diff != "" {
		t.Fatalf("the old directory was changed:\n%s", diff)
	}
	db, err := convmem.Open(ctx, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, db: db}
	defer w.db.Close()
	messages := w.history(convmem.HistoryRequest{SessionID: "s"}).Messages
	got := contents(messages)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("contents (-want +got):\n%s", diff)
	}
	for _, m := range messages {
		i := slices.IndexFunc(live, func(l convmem.Message) bool { return l.ID == m.ID && l.Content == m.Content })
		if i >= 0 {
			if diff := cmp.Diff(live[i], m); diff != "" {
				t.Errorf("a message differs (-want +got):\n%s", diff)
			}
		}
	}
	if hits := w.search(convmem.SearchRequest{Query: "word"}).Hits; len(hits) != len(want) {
		t.Errorf("a search finds %d of %d messages", len(hits), len(want))
	}
	written := w.say("s", "written to the new store", convmem.MetadataPatch{})
	for _, m := range messages {
		if written.ID <= m.ID {
			t.Errorf("the new id %s does not follow %s", written.ID, m.ID)
		}
	}
	return report
}

// TestSalvageRefusesAKeyUsedTwice loses the deletion that made a key free.
func TestSalvageRefusesAKeyUsedTwice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "old")
	fsys, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, convmem.Options{FS: fsys})
	write := func(content string) string {
		w.tick()
		r, err := w.db.Write(ctx, convmem.WriteRequest{
			SessionID: "s", Role: convmem.RoleUser, Content: content, IdempotencyKey: "key",
		})
		w.ok("write", err)
		return r.Message.ID
	}
	first := write("the first secret")
	w.remove(first)
	write("the second secret")
	w.ok("close", w.db.Close())
	name, _ := w.logFile()
	path := filepath.Join(dir, name)
	log, err := os.ReadFile(path)
	w.ok("read", err)
	starts := regions(log)
	log[starts[2]] ^= 1 // the deletion
	w.ok("damage", os.WriteFile(path, log, 0o600))

	var logged bytes.Buffer
	to := filepath.Join(t.TempDir(), "new")
	report, err := convmem.Salvage(ctx, dir, to, &convmem.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	w.ok("salvage", err)
	want := []convmem.RefusedMessage{{ID: first, Offset: int64(starts[1]), Reason: "two messages of a session have the same idempotency key"}}
	if diff := cmp.Diff(want, report.Refused); diff != "" || report.Messages != 1 {
		t.Errorf("%d messages; refused (-want +got):\n%s", report.Messages, diff)
	}
	if text := logged.String(); !strings.Contains(text, "refused=1") || strings.Contains(text, "secret") {
		t.Errorf("logged %q", text)
	}
	w.db, err = convmem.Open(ctx, to, nil)
	w.ok("open the new store", err)
	if got := contents(w.history(convmem.HistoryRequest{SessionID: "s"}).Messages); len(got) != 1 || got[0] != "the second secret" {
		t.Errorf("the new store holds %q", got)
	}
}

func TestSalvageArguments(t *testing.T) {
	dir, path, _ := onDisk(t)
	empty, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	unusable := t.TempDir()
	if err := os.WriteFile(filepath.Join(unusable, filepath.Base(path)), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	before := filesOf(t, dir)
	for _, c := range []struct {
		name     string
		ctx      context.Context
		from, to string
		options  *convmem.Options
		code     convmem.Code
		field    string
	}{
		{"no from", ctx, "", empty, nil, convmem.CodeValidation, "from"},
		{"no to", ctx, dir, "", nil, convmem.CodeValidation, "to"},
		{"file system", ctx, dir, empty, &convmem.Options{FS: vfs.NewMem(0)}, convmem.CodeValidation, "FS"},
		{"from does not exist", ctx, missing, empty, nil, convmem.CodeValidation, "from"},
		{"from is a file", ctx, path, empty, nil, convmem.CodeValidation, "from"},
		{"from holds no store", ctx, empty, filepath.Join(empty, "new"), nil, convmem.CodeValidation, "from"},
		{"to holds a store", ctx, dir, dir, nil, convmem.CodeValidation, "to"},
		{"to is a file", ctx, dir, path, nil, convmem.CodeIO, ""},
		{"nothing is intact", ctx, unusable, t.TempDir(), nil, convmem.CodeCorrupt, ""},
		{"cancelled", cancelled, dir, t.TempDir(), nil, convmem.CodeBusy, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := convmem.Salvage(c.ctx, c.from, c.to, c.options)
			var e *convmem.Error
			if !errors.As(err, &e) || e.Code != c.code || e.Field != c.field || e.Op != "salvage" {
				t.Fatalf("got %v, want code %s for %q", err, c.code, c.field)
			}
			if strings.Contains(err.Error(), string(filepath.Separator)) {
				t.Errorf("the error names a path: %v", err)
			}
		})
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the missing directory was made: %v", err)
	}
	if diff := cmp.Diff(before, filesOf(t, dir), cmp.AllowUnexported(file{})); diff != "" {
		t.Errorf("a refused salvage changed the store:\n%s", diff)
	}
}
