package convmem_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
)

// numberedBatch makes a batch of one session.
func numberedBatch(session string, n int) (r convmem.WriteBatchRequest) {
	for i := range n {
		r.Messages = append(r.Messages, convmem.WriteRequest{
			SessionID: session, Role: convmem.RoleUser, Content: fmt.Sprint("message ", i), IdempotencyKey: fmt.Sprint("key ", i),
			Payload: convmem.Payload{Type: "number", Data: []byte{byte(i)}},
		})
	}
	return r
}

func (w *world) batch(r convmem.WriteBatchRequest) []convmem.Message {
	w.Helper()
	w.tick()
	result, err := w.db.WriteBatch(ctx, r)
	w.ok("write batch", err)
	var all []convmem.Message
	for _, one := range result.Results {
		all = append(all, one.Message)
	}
	return all
}

func (w *world) removeSession(session string) int {
	w.Helper()
	result, err := w.db.DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: session})
	w.ok("delete session", err)
	return result.Deleted
}

// whole reads a session to its end.
func (w *world) whole(session string) (all []convmem.Message) {
	w.Helper()
	r := convmem.HistoryRequest{SessionID: session, Limit: convmem.MaxReadLimit}
	for {
		page := w.history(r)
		all = append(all, page.Messages...)
		if r.Cursor = page.NextCursor; r.Cursor == "" {
			return all
		}
	}
}

// A batch of any size, and the deletion of a session of any size, costs the disk as
// many calls as a single message, one sync, and has a number in the log for each
// message.
func TestOneSync(t *testing.T) {
	counter := vfs.Count(vfs.NewMem(0))
	w := newWorld(t, convmem.Options{FS: counter})
	w.say("other", "first", convmem.MetadataPatch{}) // makes what every log has
	first := counter.Totals()
	w.say("other", "second", convmem.MetadataPatch{})
	single := counter.Totals().WriteCalls - first.WriteCalls
	once := func(what string, changes int64, do func()) {
		t.Helper()
		before, sequence := counter.Totals(), w.health().LastSequence
		do()
		after := counter.Totals()
		got := []int64{after.WriteCalls - before.WriteCalls, after.FlushCalls - before.FlushCalls, w.health().LastSequence - sequence}
		want := []int64{single, 1, changes}
		if changes == 0 {
			want = []int64{0, 0, 0}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: writes, syncs, changes (-want +got):\n%s", what, diff)
		}
	}
	for _, n := range []int{1, 2, convmem.MaxBatchMessages} {
		once(fmt.Sprintf("a batch of %d", n), int64(n), func() { w.batch(numberedBatch(fmt.Sprint("session ", n), n)) })
		once("the same again", 0, func() { w.batch(numberedBatch(fmt.Sprint("session ", n), n)) })
	}
	more := numberedBatch("session 1000", convmem.MaxBatchMessages)
	for i := range more.Messages {
		more.Messages[i].IdempotencyKey = ""
	}
	once("another 1000", 1000, func() { w.batch(more) })
	large := numberedBatch("large", 12) // more than several writes at once would share
	for i := range large.Messages {
		large.Messages[i].Payload.Data = make([]byte, convmem.MaxPayloadBytes)
	}
	once("a large batch", 12, func() { w.batch(large) })
	once("a deletion", 2000, func() {
		if n := w.removeSession("session 1000"); n != 2000 {
			t.Errorf("%d messages deleted", n)
		}
	})
	once("a deletion of nothing", 0, func() { w.removeSession("session 1000") })
	w.reopen()
	if h := w.health(); h.ActiveMessages != 2+1+2+12 || h.DeletedMessages != 2000 {
		t.Errorf("%d active messages, %d deleted", h.ActiveMessages, h.DeletedMessages)
	}
}

// states are the contents of sessions a and b that a crash may leave.
type states [][2]int

// look opens what is left and compares it with the states.
func (want states) look(left *vfs.Mem) error {
	db, err := convmem.Open(ctx, "", &convmem.Options{FS: left})
	if err != nil {
		return err
	}
	defer db.Close()
	var got [2]int
	for i, session := range []string{"a", "b"} {
		page, err := convmem.History(ctx, db.Namespace("n"), convmem.HistoryRequest{SessionID: session})
		if err != nil {
			return err
		}
		got[i] = len(page.Messages)
		for j, m := range page.Messages {
			if m.Content != fmt.Sprint("message ", j) || m.Payload.Type != "number" || len(m.Payload.Data) != 1 || m.Payload.Data[0] != byte(j) {
				return fmt.Errorf("message %d of session %s is %+v", j, session, m)
			}
		}
	}
	if !slices.Contains(want, got) {
		return fmt.Errorf("found %v messages, want one of %v", got, want)
	}
	if _, err := db.Verify(ctx, nil); err != nil {
		return err
	}
	// The keys are as whole as the messages: repeating the batch completes it.
	again, err := db.Namespace("n").WriteBatch(ctx, numberedBatch("a", got[0]+1))
	if err != nil {
		return err
	}
	for i, one := range again.Results {
		if one.Replayed != (i < got[0]) {
			return fmt.Errorf("message %d of %d: replayed %v", i, got[0], one.Replayed)
		}
	}
	return nil
}

// batchLife is a batch, a deletion of a session and a batch over two sessions, with
// what may be found before and after each.
func batchLife(db func() *convmem.Namespace) []struct {
	want states
	do   func() error
} {
	both := numberedBatch("a", 4)
	both.Messages = append(both.Messages, numberedBatch("b", 3).Messages...)
	batch := func(r convmem.WriteBatchRequest) func() error {
		return func() error { _, err := db().WriteBatch(ctx, r); return err }
	}
	remove := func(session string) func() error {
		return func() error {
			_, err := db().DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: session})
			return err
		}
	}
	return []struct {
		want states
		do   func() error
	}{
		{states{{0, 0}, {5, 0}}, batch(numberedBatch("a", 5))},
		{states{{5, 0}, {0, 0}}, remove("a")},
		{states{{0, 0}, {4, 3}}, batch(both)},
		{states{{4, 3}, {4, 0}}, remove("b")},
	}
}

// The power is cut before and after every file operation of batches and deletions
// of sessions: whatever is left on the disk shows all of a change or nothing of it.
func TestPowerCutsInBatches(t *testing.T) {
	points, images := 0, 0
	for _, blockSize := range []int{64, 0} {
		disk := vfs.NewMem(blockSize)
		fsys := faultfs.New(disk)
		db, err := convmem.Open(ctx, "", &convmem.Options{FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var want states
		r := rand.New(rand.NewPCG(1, 2))
		look := func() {
			points++
			left := []*vfs.Mem{disk.Kill()}
			if n := disk.CrashImageCount(); n <= 64 {
				for image := range disk.CrashImages() {
					left = append(left, image)
				}
			} else {
				for range 40 {
					left = append(left, disk.CrashImage(r))
				}
			}
			for _, m := range left {
				images++
				if err := want.look(m); err != nil {
					t.Fatalf("point %d: %v", points, err)
				}
			}
		}
		for _, change := range batchLife(func() *convmem.Namespace { return db.Namespace("n") }) {
			want = change.want
			fsys.Before = func(op faultfs.Op) error {
				if op.Kind != faultfs.Read {
					look()
				}
				return nil
			}
			if err := change.do(); err != nil {
				t.Fatal(err)
			}
			fsys.Before = nil
			want = change.want[1:] // it was answered
			look()
		}
	}
	t.Logf("%d points, %d images", points, images)
}

// Every file operation of a batch or of a deletion of a session fails in every way.
func TestFailuresInBatches(t *testing.T) {
	for name, effect := range map[string]faultfs.Effect{
		"not done": faultfs.NotDone, "short": faultfs.Short, "done": faultfs.Done, "lost": faultfs.Lost,
	} {
		t.Run(name, func(t *testing.T) {
			fired := 0
			for step := range 4 {
				for n, more := 0, true; more; n++ {
					more = failInBatch(t, effect, step, n)
					fired++
				}
			}
			t.Logf("%d runs", fired)
		})
	}
}

// failInBatch lets operation n of one change fail, and reports whether there was
// one.
func failInBatch(t *testing.T, effect faultfs.Effect, step, n int) bool {
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	db, err := convmem.Open(ctx, "", &convmem.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	changes := batchLife(func() *convmem.Namespace { return db.Namespace("n") })
	for _, change := range changes[:step] {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
	}
	fsys.Inject(faultfs.Fault{N: n, Effect: effect, Err: syscall.EIO})
	err = changes[step].do()
	want := changes[step].want
	switch {
	case err == nil:
		want = want[1:]
	case convmem.CodeOf(err) != convmem.CodeIO || !errors.Is(err, syscall.EIO):
		t.Fatalf("change %d, operation %d: %v", step, n, err)
	}
	fired := fsys.Fired() > 0
	fsys.Kill()
	for _, left := range []*vfs.Mem{disk.Kill(), disk.CrashImage(rand.New(rand.NewPCG(1, uint64(n))))} {
		if err := want.look(left); err != nil {
			t.Fatalf("change %d, operation %d: %v", step, n, err)
		}
	}
	return fired
}

// A failed batch leaves the store as it was, also for this process, and the same
// batch works afterwards.
func TestFailedBatch(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	w := newWorld(t, convmem.Options{FS: fsys})
	kept := w.say("s", "kept", convmem.MetadataPatch{})
	fsys.FailNth(faultfs.Write, 0, syscall.ENOSPC)
	_, err := w.db.WriteBatch(ctx, numberedBatch("s", 5))
	w.fails("write batch", err, convmem.CodeIO, "write batch", "no space left")
	fsys.FailNth(faultfs.Write, 0, syscall.ENOSPC)
	_, err = w.db.DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: "s"})
	w.fails("delete session", err, convmem.CodeIO, "delete session", "no space left")
	if diff := cmp.Diff([]convmem.Message{kept}, w.whole("s")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	written := w.batch(numberedBatch("s", 5))
	if diff := cmp.Diff(append([]convmem.Message{kept}, written...), w.whole("s")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if n := w.removeSession("s"); n != 6 {
		t.Errorf("%d messages deleted", n)
	}
}
