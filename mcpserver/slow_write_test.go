package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// change is a tool call that changes a store, and the store before it.
type change struct {
	name, tool string
	args       func(target string) string // target is the id of the message that is there before
	confirmed  string                     // stands in the answer of a call that has done its work
}

// longText takes several blocks of a disk, so that a part of it can be written.
var longText = strings.Repeat("slow words ", 200) + "the end"

var changes = []change{
	{"write", "write_message", func(string) string {
		return raw(given{
			"session_id": "s", "role": "assistant", "content": longText, "idempotency_key": "key",
			"metadata_json": raw(given{"tags": []string{"a", "b"}, "summary": "short", "importance": 70}),
		})
	}, `"status":"OK","message"`},
	{"update", "update_message", func(target string) string {
		return raw(given{"message_id": target, "content": longText, "metadata_json": raw(given{"tags": []string{"c"}})})
	}, `"status":"OK","changed":true`},
	{"delete", "delete_message", func(target string) string {
		return raw(given{"message_id": target, "session_id": "s"})
	}, `{"status":"OK"}`},
}

// slowDisk is a file system on which one operation, counted from begin, waits
// until it is let go.
type slowDisk struct {
	*faultfs.FS
	disk    *vfs.Mem
	count   atomic.Int64 // operations since begin
	waits   atomic.Int64 // number of the operation that waits; negative: none
	reached chan struct{}
	letGo   chan struct{}
}

func newSlowDisk() *slowDisk {
	disk := vfs.NewMem(0)
	d := &slowDisk{FS: faultfs.New(disk), disk: disk, reached: make(chan struct{}), letGo: make(chan struct{})}
	d.waits.Store(-1)
	d.Before = func(faultfs.Op) error {
		if d.count.Add(1)-1 == d.waits.Load() {
			close(d.reached)
			<-d.letGo
		}
		return nil
	}
	return d
}

// begin counts from zero and makes operation n wait.
func (d *slowDisk) begin(n int64) {
	d.waits.Store(-1)
	d.count.Store(0)
	d.waits.Store(n)
}

// openDB opens the store on a file system, with a clock that stands.
func openDB(t testing.TB, fsys vfs.FS) *convmem.DB {
	t.Helper()
	now := func() time.Time { return time.UnixMilli(1_750_000_000_000) }
	db, err := convmem.Open(context.Background(), "", &convmem.Options{FS: fsys, Now: now, LockWait: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// seen is what a client can find out about a store, but for ids: the history,
// what search finds, and the list of sessions.
type seen struct {
	History  []convmem.Message
	Found    int // messages that hold the words of longText
	Sessions []convmem.SessionInfo
	Health   convmem.HealthStatus
}

var apartFromIDs = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(convmem.Message{}, "ID")}

func look(t testing.TB, store convmem.Store) seen {
	t.Helper()
	ctx := context.Background()
	history, err := convmem.History(ctx, store, convmem.HistoryRequest{SessionID: "s"})
	found, searchErr := store.Search(ctx, convmem.SearchRequest{Query: "slow words"})
	sessions, sessionsErr := convmem.Sessions(ctx, store, convmem.SessionsRequest{})
	health, healthErr := store.Health(ctx, convmem.HealthRequest{})
	if err := errors.Join(err, searchErr, sessionsErr, healthErr); err != nil {
		t.Fatal(err)
	}
	return seen{history.Messages, len(found.Hits), sessions.Sessions, health.Status}
}

// prepared returns a store that holds one message, and the id of that.
func prepared(t testing.TB, d *slowDisk) (db *convmem.DB, target string) {
	t.Helper()
	db = openDB(t, d)
	r, err := db.Write(context.Background(), convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "there before"})
	if err != nil {
		t.Fatal(err)
	}
	return db, r.Message.ID
}

// rehearsal is what a change does when nothing stands in its way.
type rehearsal struct {
	operations    int64 // of the file system
	before, after seen
}

func rehearse(t *testing.T, c change) (r rehearsal) {
	t.Helper()
	d := newSlowDisk()
	db, target := prepared(t, d)
	defer db.Close()
	r.before = look(t, db)
	h := start(t, db, nil)
	d.begin(-1)
	h.send(toolCall(1, c.tool, c.args(target)))
	if answer := h.next(); !strings.Contains(answer.text(), c.confirmed) {
		t.Fatalf("%s: %+v", c.name, answer)
	}
	r.operations = d.count.Load()
	r.after = look(t, db)
	if cmp.Equal(r.before, r.after, apartFromIDs) || r.operations < 3 {
		t.Fatalf("the change changes nothing, in %d operations", r.operations)
	}
	return r
}

// remains opens what a disk holds and compares it with the two states in which
// it may be. It says whether the change is there.
func (r rehearsal) remains(t testing.TB, left *vfs.Mem) (there bool) {
	t.Helper()
	db := openDB(t, left)
	defer db.Close()
	now := look(t, db)
	if cmp.Equal(r.before, now, apartFromIDs) {
		return false
	}
	if diff := cmp.Diff(r.after, now, apartFromIDs); diff != "" {
		t.Errorf("neither as before nor as after it (-after +now):\n%s", diff)
	}
	return true
}

// powerCuts are some of the states in which a power cut leaves a disk.
func (d *slowDisk) powerCuts(seed uint64) (images []*vfs.Mem) {
	r := rand.New(rand.NewPCG(1, seed))
	for range 4 {
		images = append(images, d.disk.CrashImage(r))
	}
	return images
}

// ending is how a session ends in the middle of a change, and what becomes of
// the file operation that waits.
type ending struct {
	name     string
	end      func(*host)
	patience patience
	fate     fate
}

type fate string

const (
	goesOn     fate = "goes on"          // soon after the end
	goesOnLate fate = "goes on too late" // when serve has returned
	neverMoves fate = "never goes on"    // the process is killed
)

func endings() (all []ending) {
	long, short := patience{afterInput: time.Hour, afterStop: time.Hour}, patience{afterInput: time.Millisecond, afterStop: time.Millisecond}
	for name, end := range map[string]func(*host){"the input ends": (*host).endInput, "the context ends": func(h *host) { h.stop() }} {
		for _, f := range []fate{goesOn, goesOnLate, neverMoves} {
			p := short
			if f == goesOn {
				p = long
			}
			all = append(all, ending{name, end, p, f})
		}
	}
	return all
}

// rest reads replies until the output ends.
func (h *host) rest() (replies []reply) {
	h.Helper()
	for {
		r, err := h.read()
		if err == io.EOF {
			return replies
		}
		if err != nil {
			h.Fatal(err)
		}
		replies = append(replies, r)
	}
}

// TestSlowChanges ends a session while a change waits for the disk, at each of
// its file operations. What is found afterwards, after the end of the process
// and after a power cut too, is the whole change or none of it, and the whole of
// it when it was confirmed.
func TestSlowChanges(t *testing.T) {
	for _, c := range changes {
		r := rehearse(t, c)
		for _, e := range endings() {
			t.Run(fmt.Sprintf("%s/%s/%s", c.name, e.name, e.fate), func(t *testing.T) {
				t.Parallel()
				there := 0
				for n := range r.operations {
					if endInTheMiddle(t, c, r, e, n) {
						there++
					}
				}
				t.Logf("%d operations, after %d of them the change is there", r.operations, there)
			})
		}
	}
}

func endInTheMiddle(t *testing.T, c change, r rehearsal, e ending, n int64) (there bool) {
	t.Helper()
	d := newSlowDisk()
	db, target := prepared(t, d)
	h := startPatient(t, db, nil, e.patience)
	h.handshake()
	d.begin(n)
	h.send(toolCall(1, c.tool, c.args(target)))
	<-d.reached
	e.end(h)
	if e.fate == goesOn {
		close(d.letGo)
	}
	replies := h.rest()
	err := <-h.ended
	confirmed := len(replies) == 1 && strings.Contains(replies[0].text(), c.confirmed)
	switch {
	case e.fate == goesOn && (!confirmed || err != nil):
		t.Errorf("operation %d: the answers are %+v, the server ended with %v", n, replies, err)
	case e.fate != goesOn && (len(replies) > 0 || err == nil):
		t.Errorf("operation %d: a call that never ended has answers %+v, the server ended with %v", n, replies, err)
	}
	switch e.fate {
	case goesOnLate:
		close(d.letGo)
		fallthrough
	case goesOn:
		if err := db.Close(); err != nil {
			t.Errorf("operation %d: close: %v", n, err)
		}
	}
	images := append(d.powerCuts(uint64(n)), d.disk.Kill())
	d.Kill()
	if e.fate == neverMoves {
		close(d.letGo)
		_ = db.Close() // waits for the call, whose file system is gone
	}
	for _, left := range images {
		if there = r.remains(t, left); confirmed && !there {
			t.Errorf("operation %d: the call was confirmed, and the change is not there", n)
		}
	}
	return there
}

// TestSlowKey repeats a write whose session ended in the middle, with its key:
// there is one message afterwards, whatever had become of the first.
func TestSlowKey(t *testing.T) {
	c := changes[0]
	r := rehearse(t, c)
	replayed := 0
	for n := range r.operations {
		d := newSlowDisk()
		db, target := prepared(t, d)
		h := startPatient(t, db, nil, patience{})
		h.handshake()
		d.begin(n)
		h.send(toolCall(1, c.tool, c.args(target)))
		<-d.reached
		h.stop()
		<-h.ended
		left := d.disk.Kill()
		d.Kill()
		close(d.letGo)
		_ = db.Close()
		there := r.remains(t, left.Kill())
		again := openDB(t, left)
		text := call(t, again, nil, c.tool, c.args(target))
		if strings.Contains(text, `"replayed":true`) != there || !strings.Contains(text, `"status":"OK"`) {
			t.Errorf("operation %d: the message is there: %t, the repetition says %.60s", n, there, text)
		}
		if there {
			replayed++
		}
		if diff := cmp.Diff(r.after, look(t, again), apartFromIDs); diff != "" {
			t.Errorf("operation %d: after the repetition (-want +got):\n%s", n, diff)
		}
		again.Close()
	}
	if replayed == 0 || int64(replayed) == r.operations {
		t.Errorf("the message was there in %d of %d cases, want some and not all", replayed, r.operations)
	}
}
