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
)

// partBytes is what fits in one part: 40 bytes of a payload are the part's header.
const partBytes = convmem.MaxPayloadBytes - 40

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
			messages := stored(t, one, "run")
			same(t, "parts", len(messages), parts)
			same(t, "content", messages[parts-1].Content, fmt.Sprintf("checkpoint part %d of %d", parts, parts))
		}
		must(t, checkPoints.Set(ctx, "run", nil))
		wantCheckPoint(t, other, "run", []byte{})
		must(t, checkPoints.Delete(ctx, "run"))
		wantCheckPoint(t, other, "run", nil)
		same(t, "messages", len(stored(t, other, "run")), 0)
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
	largest := make([]byte, eino.MaxCheckPointBytes+1)
	largest[len(largest)-2] = 7
	must(t, checkPoints.Set(ctx, "run", largest[:eino.MaxCheckPointBytes]))
	wantCheckPoint(t, db, "run", largest[:eino.MaxCheckPointBytes])
	refused(t, checkPoints.Set(ctx, "run", largest), convmem.CodeValidation, "checkpoint", "67104769", "67104768")
	wantCheckPoint(t, db, "run", largest[:eino.MaxCheckPointBytes])
}

func TestCheckPointsRefuse(t *testing.T) {
	checkPoints := eino.NewCheckPoints(storetest.Open(t))
	for name, id := range map[string]string{"empty": "", "long": strings.Repeat("x", 300), "not UTF-8": "a\xff"} {
		t.Run(name, func(t *testing.T) {
			refused(t, checkPoints.Set(ctx, id, []byte("x")), convmem.CodeValidation, "session_id")
			_, ok, err := checkPoints.Get(ctx, id)
			refused(t, err, convmem.CodeValidation, "session_id")
			same(t, "found", ok, false)
			refused(t, checkPoints.Delete(ctx, id), convmem.CodeValidation, "session_id")
		})
	}
}

func TestCheckPointsCancelled(t *testing.T) {
	db := storetest.Open(t)
	checkPoints := eino.NewCheckPoints(db)
	must(t, checkPoints.Set(ctx, "run", []byte("old")))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, _, getErr := checkPoints.Get(cancelled, "run")
	for _, err := range []error{checkPoints.Set(cancelled, "run", []byte("new")), checkPoints.Delete(cancelled, "run"), getErr} {
		refused(t, err, convmem.CodeBusy)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v hides why", err)
		}
	}
	wantCheckPoint(t, db, "run", []byte("old"))
}

// Whichever call of the store fails, the old or the new checkpoint is there whole, the
// error says which, and the next Set cleans up.
func TestSetFails(t *testing.T) {
	before, after := data(1, 2*partBytes+1), data(2, partBytes+1)
	failures, kept := 0, 0
	for n := int64(1); ; n++ {
		db := storetest.Open(t)
		must(t, eino.NewCheckPoints(db).Set(ctx, "run", before))
		store := &faulty{Store: db, failAt: n, failFor: 1}
		err := eino.NewCheckPoints(store).Set(ctx, "run", after)
		if err == nil {
			same(t, "messages", len(stored(t, db, "run")), 2)
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
		same(t, "messages", len(stored(t, db, "run")), 1)
	}
	t.Logf("%d calls failed, the new checkpoint held after %d of them", failures, kept)
	same(t, "failures", []int{failures, kept}, []int{5, 4})
}

// A Delete that ends half way never lets an older checkpoint come back: not even where
// one was left by a Set that could not clean up.
func TestDeleteFails(t *testing.T) {
	older, newer := data(1, partBytes+1), data(2, 2*partBytes+1)
	outcomes := map[bool]int{}
	for n := int64(1); ; n++ {
		db := storetest.Open(t)
		must(t, eino.NewCheckPoints(db).Set(ctx, "run", older))
		injected(t, eino.NewCheckPoints(&faulty{Store: db, failAt: 2, failFor: 1}).Set(ctx, "run", newer))
		same(t, "messages", len(stored(t, db, "run")), 5)
		store := &faulty{Store: db, failAt: n, failFor: 1}
		err := eino.NewCheckPoints(store).Delete(ctx, "run")
		got, ok, getErr := eino.NewCheckPoints(db).Get(ctx, "run")
		must(t, getErr)
		if ok && !bytes.Equal(got, newer) {
			t.Errorf("call %d: a checkpoint of %d bytes came back", n, len(got))
		}
		if err == nil {
			same(t, "found", ok, false)
			break
		}
		injected(t, err)
		outcomes[ok]++
		must(t, eino.NewCheckPoints(store).Delete(ctx, "run"))
		same(t, "messages", len(stored(t, db, "run")), 0)
	}
	same(t, "outcomes", outcomes, map[bool]int{true: 4, false: 2})
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

// A process that dies while it deletes leaves the end of a checkpoint, which is none.
func TestHalfDeletedIsGone(t *testing.T) {
	db := storetest.Open(t)
	must(t, eino.NewCheckPoints(db).Set(ctx, "run", data(1, 2*partBytes+1)))
	injected(t, eino.NewCheckPoints(&faulty{Store: db, failAt: 3, failFor: 99}).Delete(ctx, "run"))
	same(t, "messages", len(stored(t, db, "run")), 2)
	wantCheckPoint(t, db, "run", nil)
	must(t, eino.NewCheckPoints(db).Set(ctx, "run", []byte("next")))
	wantCheckPoint(t, db, "run", []byte("next"))
	same(t, "messages", len(stored(t, db, "run")), 1)
}

// Messages of others in the session of a checkpoint survive it, wherever they stand.
func TestCheckPointsLeaveOthersAlone(t *testing.T) {
	db := storetest.Open(t)
	checkPoints := eino.NewCheckPoints(db)
	conversation := convmem.WriteRequest{SessionID: "run", Role: convmem.RoleUser, Content: "Which part?"}
	for i := range 20 {
		say(t, db, conversation)
		must(t, checkPoints.Set(ctx, "run", data(byte(i), partBytes+i)))
		say(t, db, conversation)
		wantCheckPoint(t, db, "run", data(byte(i), partBytes+i))
	}
	messages := eino.NewMessages(db)
	all, err := messages.All(ctx, "run")
	must(t, err)
	same(t, "messages beside a checkpoint", len(all), 40)
	latest, err := messages.Latest(ctx, "run", eino.Window{MaxMessages: 10})
	must(t, err)
	same(t, "the latest beside a checkpoint", len(latest), 10)
	found, err := messages.Search(ctx, "part", "", 100)
	must(t, err)
	same(t, "found beside a checkpoint", len(found.Hits), 40)
	must(t, checkPoints.Delete(ctx, "run"))
	same(t, "messages after Delete", len(stored(t, db, "run")), 40)
	wantCheckPoint(t, db, "run", nil)
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
			part := stored(t, db, "run")[0]
			payload := convmem.Payload{Type: part.Payload.Type, Data: change(part.Payload.Data)}
			_, err := db.Update(ctx, convmem.UpdateRequest{MessageID: part.ID, Payload: &payload})
			must(t, err)
			_, ok, err := eino.NewCheckPoints(db).Get(ctx, "run")
			refused(t, err, convmem.CodeCorrupt, part.ID)
			same(t, "found", ok, false)
		})
	}
}

// Where something else deleted a part, what is left is not filled up with a part of
// another checkpoint, nor is an older checkpoint taken for the newest.
func TestPartsAreNotMixed(t *testing.T) {
	db := storetest.Open(t)
	must(t, eino.NewCheckPoints(db).Set(ctx, "run", data(1, 10)))
	injected(t, eino.NewCheckPoints(&faulty{Store: db, failAt: 2, failFor: 1}).Set(ctx, "run", data(2, partBytes+1)))
	parts := stored(t, db, "run")
	same(t, "messages", len(parts), 3)
	_, err := db.Delete(ctx, convmem.DeleteRequest{MessageID: parts[1].ID})
	must(t, err)
	wantCheckPoint(t, db, "run", nil)
}
