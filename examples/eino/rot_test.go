package eino_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"github.com/cloudwego/eino/schema"
)

// rot flips a bit of the text where it stands in the log.
func rot(t *testing.T, dir, text string) {
	t.Helper()
	flipped := 0
	must(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if at := bytes.Index(content, []byte(text)); at >= 0 {
			flipped++
			content[at] ^= 1
			err = os.WriteFile(path, content, 0o600)
		}
		return err
	}))
	same(t, "files with the text", flipped, 1)
}

// rotten checks for the error of a damaged message.
func rotten(t *testing.T, err error, says ...string) {
	t.Helper()
	refused(t, err, convmem.CodeCorrupt, says...)
	var damage *convmem.Error
	if errors.As(err, &damage); damage == nil || damage.NextCursor == "" {
		t.Errorf("%v is not about a damaged message", err)
	}
}

// A checkpoint that rots on the disk is reported and not returned. Set replaces it and
// deletes all it can: what is left does not grow. Delete deletes the rest.
func TestRottenCheckPoint(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	checkPoints := eino.NewCheckPoints(db)
	old := append(data(1, 2*partBytes), "the third part"...)
	copy(old[partBytes+100:], "the second part")
	must(t, checkPoints.Set(ctx, "run", old))
	rot(t, dir, "the second part")
	rot(t, dir, "the third part")
	_, ok, err := checkPoints.Get(ctx, "run")
	rotten(t, err)
	same(t, "found", ok, false)
	for i := range 3 {
		want := data(byte(2+i), partBytes+1)
		rotten(t, checkPoints.Set(ctx, "run", want), "the checkpoint is set")
		wantCheckPoint(t, db, "run", want)
		left, damaged := 0, 0
		for _, err := range convmem.AllMessages(ctx, db, convmem.HistoryRequest{SessionID: sessionOf("run")}) {
			if left++; err != nil {
				damaged++
			}
		}
		same(t, "messages, damaged ones", []int{left, damaged}, []int{4, 2})
	}
	// A store that fails behind the damage changes nothing of the first error.
	failing := &faulty{Store: db, failAt: 5, failFor: 1} // write, two damaged, a part, its delete
	rotten(t, eino.NewCheckPoints(failing).Set(ctx, "run", []byte("next")), "the checkpoint is set")
	must(t, checkPoints.Delete(ctx, "run"))
	wantCheckPoint(t, db, "run", nil)
	must(t, checkPoints.Set(ctx, "run", []byte("next")))
	_, err = db.Rebuild(ctx, convmem.RebuildRequest{})
	must(t, err)
	wantCheckPoint(t, open(t, dir), "run", []byte("next"))
}

// What needs a rotten message reports it, what does not goes on, and Clear removes it.
func TestRottenMessage(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	messages := eino.NewMessages(db)
	must(t, messages.Append(ctx, "s", asks(call("c", "f", "")), schema.UserMessage(strings.Repeat("rots ", 9)), hello))
	rot(t, dir, "rots rots")
	_, err := messages.All(ctx, "s")
	rotten(t, err)
	_, err = messages.Latest(ctx, "s", eino.Window{MaxMessages: 2})
	rotten(t, err)
	rotten(t, messages.Append(ctx, "s", answers("c")))
	must(t, messages.Append(ctx, "s", hello))
	must(t, messages.Clear(ctx, "s"))
	must(t, messages.Append(ctx, "s", hello))
	wantAll(t, db, "s", []*schema.Message{hello})
}
