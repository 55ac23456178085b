package eino_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"example.com/convmem/store/storetest"
	"github.com/cloudwego/eino/schema"
)

// partBytes is what fits in one part: 40 bytes of a payload are the part's header.
const partBytes = convmem.MaxPayloadBytes - 40

// sessionOf is where a checkpoint is stored.
func sessionOf(id string) string { return "eino.checkpoint/" + id }

// data is a checkpoint that differs from every other of another seed or size.
func data(seed byte, size int) []byte {
	checkPoint := make([]byte, size)
	for i := range checkPoint {
		checkPoint[i] = seed + byte(i%251)
	}
	return checkPoint
}

// wantCheckPoint checks what Get returns; nil stands for nothing.
func wantCheckPoint(t *testing.T, s eino.Store, id string, want []byte) {
	t.Helper()
	got, ok, err := eino.NewCheckPoints(s).Get(ctx, id)
	must(t, err)
	if ok != (want != nil) || !bytes.Equal(got, want) || ok && got == nil {
		t.Errorf("got %d bytes, %t, want %d bytes, %t", len(got), ok, len(want), want != nil)
	}
}

func TestCheckPointsRoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, one, other eino.Store) {
		checkPoints := eino.NewCheckPoints(one)
		wantCheckPoint(t, one, "run", nil)
		must(t, checkPoints.Delete(ctx, "run"))
		for i, size := range []int{0, 1, partBytes - 1, partBytes, partBytes + 1, 3 * partBytes, 9*partBytes + 7, 5, 0} {
			want := data(byte(i), size)
			must(t, checkPoints.Set(ctx, "run", want))
			wantCheckPoint(t, one, "run", want)
			wantCheckPoint(t, other, "run", want)
			wantCheckPoint(t, one, "another", nil)
			parts := max(1, (size+partBytes-1)/partBytes)
			messages := stored(t, one, sessionOf("run"))
			same(t, "parts", len(messages), parts)
			same(t, "content", messages[parts-1].Content, fmt.Sprintf("checkpoint part %d of %d", parts, parts))
		}
		must(t, checkPoints.Set(ctx, "run", nil))
		wantCheckPoint(t, other, "run", []byte{})
		must(t, checkPoints.Delete(ctx, "run"))
		wantCheckPoint(t, other, "run", nil)
		same(t, "messages", len(stored(t, other, sessionOf("run"))), 0)
	})
}

func TestCheckPointsAfterReopen(t *testing.T) {
	dir := t.TempDir()
	want := data(3, 2*partBytes+1)
	db, err := convmem.Open(ctx, dir, nil)
	must(t, err)
	must(t, eino.NewCheckPoints(db).Set(ctx, "run", data(1, 9)))
	must(t, eino.NewCheckPoints(db).Set(ctx, "run", want))
	must(t, db.Close())
	db = open(t, dir)
	wantCheckPoint(t, db, "run", want)
	_, err = db.Rebuild(ctx, convmem.RebuildRequest{})
	must(t, err)
	wantCheckPoint(t, db, "run", want)
}

// The caller may change what it gave and what it got.
func TestCheckPointsAreCopies(t *testing.T) {
	checkPoints := eino.NewCheckPoints(storetest.Open(t))
	given := data(1, 100)
	must(t, checkPoints.Set(ctx, "run", given))
	given[0]++
	got, _, err := checkPoints.Get(ctx, "run")
	must(t, err)
	got[1]++
	again, _, err := checkPoints.Get(ctx, "run")
	must(t, err)
	same(t, "checkpoint", again, data(1, 100))
}

func TestLargestCheckPoint(t *testing.T) {
	db := storetest.Open(t)
	checkPoints := eino.NewCheckPoints(db)
	longest := strings.Repeat("é", 120)
	largest := make([]byte, eino.MaxCheckPointBytes+1)
	largest[len(largest)-2] = 7
	must(t, checkPoints.Set(ctx, longest, largest[:eino.MaxCheckPointBytes]))
	wantCheckPoint(t, db, longest, largest[:eino.MaxCheckPointBytes])
	refused(t, checkPoints.Set(ctx, longest, largest), convmem.CodeValidation, "checkPoint: 67104769 bytes, at most 67104768")
	wantCheckPoint(t, db, longest, largest[:eino.MaxCheckPointBytes])
}

func TestCheckPointsRefuse(t *testing.T) {
	checkPoints := eino.NewCheckPoints(storetest.Open(t))
	for name, test := range map[string]struct{ id, says string }{
		"empty":     {"", "checkPointID: 0 bytes, want 1 to 240"},
		"long":      {strings.Repeat("x", 241), "checkPointID: 241 bytes, want 1 to 240"},
		"not UTF-8": {"a\xff", "session_id"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, checkPoints.Set(ctx, test.id, []byte("x")), convmem.CodeValidation, test.says)
			_, ok, err := checkPoints.Get(ctx, test.id)
			refused(t, err, convmem.CodeValidation, test.says)
			same(t, "found", ok, false)
			refused(t, checkPoints.Delete(ctx, test.id), convmem.CodeValidation, test.says)
		})
	}
}

// A run that was cancelled is saved and deleted with the context that is cancelled.
func TestCheckPointsCancelled(t *testing.T) {
	db := storetest.Open(t)
	checkPoints := eino.NewCheckPoints(db)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	must(t, checkPoints.Set(cancelled, "run", []byte("old")))
	must(t, checkPoints.Set(cancelled, "run", []byte("new")))
	same(t, "messages", len(stored(t, db, sessionOf("run"))), 1)
	_, _, err := checkPoints.Get(cancelled, "run")
	refused(t, err, convmem.CodeBusy)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v hides why", err)
	}
	wantCheckPoint(t, db, "run", []byte("new"))
	must(t, checkPoints.Delete(cancelled, "run"))
	wantCheckPoint(t, db, "run", nil)
}

// Whichever call of the store fails, the old or the new checkpoint is there whole, the
// error says which, and the next Set cleans up. Beside the write there is a Read and a
// Delete for each of three parts, and the Read that finds no more.
func TestSetFails(t *testing.T) {
	before, after := data(1, 2*partBytes+1), data(2, partBytes+1)
	failures, kept := 0, 0
	for n := int64(1); ; n++ {
		db := storetest.Open(t)
		must(t, eino.NewCheckPoints(db).Set(ctx, "run", before))
		store := &faulty{Store: db, failAt: n, failFor: 1}
		err := eino.NewCheckPoints(store).Set(ctx, "run", after)
		if err == nil {
			same(t, "messages", len(stored(t, db, sessionOf("run"))), 2)
			break
		}
		failures++
		injected(t, err)
		want := before
		if strings.Contains(err.Error(), "the checkpoint is set") {
			want = after
			kept++
		}
		wantCheckPoint(t, db, "run", want)
		must(t, eino.NewCheckPoints(store).Set(ctx, "run", []byte("next")))
		wantCheckPoint(t, db, "run", []byte("next"))
		same(t, "messages", len(stored(t, db, sessionOf("run"))), 1)
	}
	t.Logf("%d calls failed, the new checkpoint held after %d of them", failures, kept)
	same(t, "failures", []int{failures, kept}, []int{8, 7})
}

// A Delete is one call: all is there or all is gone, also what a Set left behind.
func TestDeleteFails(t *testing.T) {
	older, newer := data(1, partBytes+1), data(2, 2*partBytes+1)
	db := storetest.Open(t)
	must(t, eino.NewCheckPoints(db).Set(ctx, "run", older))
	injected(t, eino.NewCheckPoints(&faulty{Store: db, failAt: 2, failFor: 1}).Set(ctx, "run", newer))
	store := &faulty{Store: db, failAt: 1, failFor: 1}
	injected(t, eino.NewCheckPoints(store).Delete(ctx, "run"))
	same(t, "messages", len(stored(t, db, sessionOf("run"))), 5)
	wantCheckPoint(t, db, "run", newer)
	must(t, eino.NewCheckPoints(store).Delete(ctx, "run"))
	same(t, "calls", store.calls.Load(), 2)
	same(t, "messages", len(stored(t, db, sessionOf("run"))), 0)
	wantCheckPoint(t, db, "run", nil)
}

func TestGetFails(t *testing.T) {
	db := storetest.Open(t)
	must(t, eino.NewCheckPoints(db).Set(ctx, "run", data(1, 9*partBytes)))
	for n := range int64(2) {
		got, ok, err := eino.NewCheckPoints(&faulty{Store: db, failAt: n + 1, failFor: 1}).Get(ctx, "run")
		injected(t, err)
		same(t, "result", []any{got, ok}, []any{[]byte(nil), false})
	}
}

// Another process replaces or deletes the checkpoint between two pages of a Get.
func TestGetBesideAChange(t *testing.T) {
	replacement := data(9, 10)
	for name, test := range map[string]struct {
		change func(*eino.CheckPoints) error
		want   []byte
	}{
		"set":    {func(c *eino.CheckPoints) error { return c.Set(ctx, "run", replacement) }, replacement},
		"delete": {func(c *eino.CheckPoints) error { return c.Delete(ctx, "run") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			one, other := open(t, dir), open(t, dir)
			must(t, eino.NewCheckPoints(one).Set(ctx, "run", data(1, 9*partBytes)))
			changes := 0
			store := &faulty{Store: one, onRead: func(call int64) {
				if call == 2 {
					changes++
					must(t, test.change(eino.NewCheckPoints(other)))
				}
			}}
			wantCheckPoint(t, store, "run", test.want)
			same(t, "changes", changes, 1)
		})
	}
}

// Where a part is missing, as in what Export took beside a Set, the rest is an error: not
// filled up from another checkpoint, and no reason to return an older one, or none.
func TestNotWhole(t *testing.T) {
	for missing := range 3 {
		db := storetest.Open(t)
		checkPoints := eino.NewCheckPoints(db)
		must(t, checkPoints.Set(ctx, "run", data(1, 3*partBytes)))
		injected(t, eino.NewCheckPoints(&faulty{Store: db, failAt: 2, failFor: 1}).Set(ctx, "run", data(2, 3*partBytes)))
		parts := stored(t, db, sessionOf("run"))
		same(t, "messages", len(parts), 6)
		_, err := db.Delete(ctx, convmem.DeleteRequest{MessageID: parts[3+missing].ID})
		must(t, err)
		store := &faulty{Store: db}
		got, ok, err := eino.NewCheckPoints(store).Get(ctx, "run")
		refused(t, err, convmem.CodeCorrupt, "not whole")
		same(t, "result", []any{got, ok, store.calls.Load()}, []any{[]byte(nil), false, int64(2)})
		must(t, checkPoints.Set(ctx, "run", []byte("next")))
		wantCheckPoint(t, db, "run", []byte("next"))
		same(t, "messages", len(stored(t, db, sessionOf("run"))), 1)
	}
}

// A conversation and a checkpoint may have one name.
func TestConversationOfTheSameName(t *testing.T) {
	db := storetest.Open(t)
	checkPoints, messages := eino.NewCheckPoints(db), eino.NewMessages(db)
	must(t, checkPoints.Set(ctx, "run", data(1, partBytes+1)))
	conversation := []*schema.Message{schema.SystemMessage("Be part of it."), schema.UserMessage("one"), schema.UserMessage("two")}
	must(t, messages.Append(ctx, "run", conversation...))
	wantAll(t, db, "run", conversation)
	latest, err := messages.Latest(ctx, "run", eino.Window{MaxMessages: 2, KeepSystem: true})
	must(t, err)
	same(t, "latest", latest, []*schema.Message{conversation[0], conversation[2]})
	found, err := messages.Search(ctx, "part", "", 100)
	must(t, err)
	same(t, "found", len(found.Hits), 1)
	must(t, messages.Clear(ctx, "run"))
	wantCheckPoint(t, db, "run", data(1, partBytes+1))
	must(t, messages.Append(ctx, "run", conversation...))
	must(t, checkPoints.Delete(ctx, "run"))
	wantCheckPoint(t, db, "run", nil)
	wantAll(t, db, "run", conversation)
}

// Parts that something else changed are an error that names the message.
func TestTamperedCheckPoint(t *testing.T) {
	flipped := func(p []byte) []byte { p[len(p)-1]++; return p }
	for name, change := range map[string]func([]byte) []byte{
		"data":         flipped,
		"short header": func(p []byte) []byte { return p[:39] },
		"no part 0":    func(p []byte) []byte { p[35] = 0; return p },
		"beyond count": func(p []byte) []byte { p[35] = 9; return p },
	} {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t)
			must(t, eino.NewCheckPoints(db).Set(ctx, "run", data(1, 100)))
			part := stored(t, db, sessionOf("run"))[0]
			payload := convmem.Payload{Type: part.Payload.Type, Data: change(part.Payload.Data)}
			_, err := db.Update(ctx, convmem.UpdateRequest{MessageID: part.ID, Payload: &payload})
			must(t, err)
			_, ok, err := eino.NewCheckPoints(db).Get(ctx, "run")
			refused(t, err, convmem.CodeCorrupt, part.ID)
			same(t, "found", ok, false)
		})
	}
	db := storetest.Open(t)
	foreign := say(t, db, convmem.WriteRequest{SessionID: sessionOf("run"), Role: convmem.RoleUser, Content: "x", Payload: convmem.Payload{Data: make([]byte, 40)}})
	_, _, err := eino.NewCheckPoints(db).Get(ctx, "run")
	refused(t, err, convmem.CodeCorrupt, foreign.ID)
}
