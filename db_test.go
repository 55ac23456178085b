package convmem_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

// TestHealth compares the figures with what was done.
func TestHealth(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	first := w.say("s", "one", convmem.MetadataPatch{}).ID
	gone := w.say("s", "two", convmem.MetadataPatch{}).ID
	w.say("t", "three", convmem.MetadataPatch{Relations: []convmem.Relation{{Type: convmem.RelationDependsOn, MessageID: first}}})
	w.update(convmem.UpdateRequest{MessageID: first, Content: new("uno")})
	w.remove(gone)
	h := w.health()
	got := []int64{h.ActiveMessages, h.UpdateRecords, h.DeletedMessages, h.LastSequence}
	if diff := cmp.Diff([]int64{2, 1, 1, 5}, got); diff != "" {
		t.Errorf("active, updates, deleted, last sequence (-want +got):\n%s", diff)
	}
	_, file := w.logFile()
	defer file.Close()
	if size, err := file.Size(); err != nil || size != h.LogSize {
		t.Errorf("log size %d, the file has %d (%v)", h.LogSize, size, err)
	}
	m := h.Memory
	for part, bytes := range map[string]int64{
		"store entries": m.StoreEntries, "metadata": m.Metadata, "search index": m.SearchIndex,
		"history index": m.HistoryIndex, "relation index": m.RelationIndex,
	} {
		if bytes <= 0 {
			t.Errorf("%s take %d bytes", part, bytes)
		}
	}
	if m.Bodies != 0 || m.Total() != m.StoreEntries+m.Metadata+m.SearchIndex+m.HistoryIndex+m.RelationIndex {
		t.Errorf("bodies %d, total %d of %+v", m.Bodies, m.Total(), m)
	}
	if h.IO.WriteCalls == 0 || h.IO.WriteBytes < h.LogSize || h.IO.FlushCalls < 5 || h.IO.ReplaceCalls == 0 {
		t.Errorf("I/O %+v for a log of %d bytes", h.IO, h.LogSize)
	}
}

// TestFailedWrite goes on after a full disk, and says so until the next write
// that works.
func TestFailedWrite(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	w := newWorld(t, convmem.Options{FS: fsys})
	w.say("s", "before", convmem.MetadataPatch{})
	fsys.FailNth(faultfs.Write, 0, &os.PathError{Op: "write", Path: "/home/somebody/log", Err: syscall.ENOSPC})
	_, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "lost"})
	e := w.fails("write", err, convmem.CodeIO, "no space left on device")
	if strings.Contains(e.Error(), "somebody") || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the error names a path or hides its cause: %v", err)
	}
	h := w.health()
	if h.Status != convmem.HealthDegraded || !strings.HasPrefix(h.LastError, "IO_ERROR: ") || strings.Contains(h.LastError, "somebody") {
		t.Errorf("status %s, last error %q", h.Status, h.LastError)
	}
	w.say("s", "after", convmem.MetadataPatch{})
	if h := w.health(); h.Status != convmem.HealthOK || h.LastError != "" {
		t.Errorf("after a write that worked: status %s, last error %q", h.Status, h.LastError)
	}
	if diff := cmp.Diff([]string{"before", "after"}, contents(w.history(convmem.HistoryRequest{SessionID: "s"}).Messages)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// TestFailedSync ends writing until the store is opened again; reads go on.
func TestFailedSync(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	w := newWorld(t, convmem.Options{FS: fsys})
	kept := w.say("s", "before", convmem.MetadataPatch{})
	fsys.FailNth(faultfs.SyncData, 0, nil)
	write := func() error {
		_, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "unknown"})
		return err
	}
	w.fails("the write whose sync failed", write(), convmem.CodeIO)
	w.fails("the write after it", write(), convmem.CodeIO, "open the store again")
	_, err := w.db.Rebuild(ctx, convmem.RebuildRequest{})
	w.fails("rebuild", err, convmem.CodeIO, "open the store again")
	if h := w.health(); h.Status != convmem.HealthDegraded || !strings.HasPrefix(h.LastError, "IO_ERROR: ") {
		t.Errorf("status %s, last error %q", h.Status, h.LastError)
	}
	if diff := cmp.Diff([]convmem.Message{kept}, w.history(convmem.HistoryRequest{SessionID: "s"}).Messages); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	w.reopen()
	if h := w.health(); h.Status != convmem.HealthOK {
		t.Errorf("after a restart: status %s, last error %q", h.Status, h.LastError)
	}
}

// TestClockStepsBack writes, restarts and updates under a clock that does what
// it likes.
func TestClockStepsBack(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	start := w.now
	var last string
	for _, step := range []time.Duration{0, 0, time.Second, -time.Hour, -time.Hour, 0, 24 * time.Hour, -48 * time.Hour} {
		w.now = w.now.Add(step)
		result, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "c"})
		w.ok("write", err)
		m := result.Message
		if m.ID <= last {
			t.Errorf("%s after %s", m.ID, last)
		}
		if own := ulid.MustParseStrict(m.ID).Timestamp(); !m.Timestamp.Equal(own) || !m.UpdatedAt.Equal(own) || m.Timestamp.Before(start) {
			t.Errorf("%s: timestamp %v, updated at %v, the id is of %v", m.ID, m.Timestamp, m.UpdatedAt, own)
		}
		last = m.ID
		w.reopen()
		if step < 0 {
			w.rebuild()
		}
	}
	before := w.context(convmem.ContextRequest{MessageID: last}).Message
	updated := w.update(convmem.UpdateRequest{MessageID: last, Content: new("d")}).Message
	if !updated.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("updated at %v while the clock said %v, before at %v", updated.UpdatedAt, w.now, before.UpdatedAt)
	}
	w.now = before.UpdatedAt.Add(time.Minute + time.Microsecond)
	if updated = w.update(convmem.UpdateRequest{MessageID: last, Content: new("e")}).Message; !updated.UpdatedAt.Equal(before.UpdatedAt.Add(time.Minute)) {
		t.Errorf("updated at %v while the clock said %v", updated.UpdatedAt, w.now)
	}
}

// TestDeletedIDsAreNotUsedAgain: the greatest id is remembered beyond its
// message, a rebuild and a restart.
func TestDeletedIDsAreNotUsedAgain(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	gone := w.say("s", "gone", convmem.MetadataPatch{}).ID
	w.remove(gone)
	w.rebuild()
	w.reopen()
	w.now = w.now.Add(-time.Hour)
	if id := w.say("s", "new", convmem.MetadataPatch{}).ID; id <= gone {
		t.Errorf("%s was allotted after %s", id, gone)
	}
}

// TestEntropyIsUsed: ids take their random part from the source of chance, and a
// source that fails is an error that stores nothing.
func TestEntropyIsUsed(t *testing.T) {
	source := &sequence{}
	w := newWorld(t, convmem.Options{Entropy: source})
	var want []byte
	for i := range 10 {
		want = append(want, source.next+byte(i)+1)
	}
	id := ulid.MustParseStrict(w.say("s", "c", convmem.MetadataPatch{}).ID)
	if got := id.Entropy(); !cmp.Equal(want, got) {
		t.Errorf("the random part is %v, want %v", got, want)
	}
	source.failed = true
	w.tick()
	_, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "c"})
	w.fails("write without entropy", err, convmem.CodeInternal, "message id")
	if n := len(w.history(convmem.HistoryRequest{SessionID: "s"}).Messages); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// sequence reads as 1, 2, 3 and so on.
type sequence struct {
	next   byte
	failed bool
}

func (s *sequence) Read(p []byte) (int, error) {
	if s.failed {
		return 0, errors.New("no entropy left")
	}
	for i := range p {
		s.next++
		p[i] = s.next
	}
	return len(p), nil
}

// TestIdempotencyKeys replays a write in every later life of its message.
func TestIdempotencyKeys(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	r := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "first", IdempotencyKey: "k"}
	first, err := w.db.Write(ctx, r)
	w.ok("write", err)
	replay := func(when string, want convmem.Message) {
		t.Helper()
		sequence := w.health().LastSequence
		got, err := w.db.Write(ctx, r)
		w.ok(when, err)
		if diff := cmp.Diff(convmem.WriteResult{Message: want, Replayed: true}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		if now := w.health().LastSequence; now != sequence {
			t.Errorf("%s: a record was written", when)
		}
	}
	replay("at once", first.Message)
	updated := w.update(convmem.UpdateRequest{MessageID: first.Message.ID, Content: new("second")}).Message
	replay("after an update", updated)
	w.reopen()
	replay("after a restart", updated)
	w.rebuild()
	replay("after a rebuild", updated)
	w.reopen()
	replay("after both", updated)
	other := r
	other.Content = "second"
	_, err = w.db.Write(ctx, other)
	w.fails("the same key, what the message says now", err, convmem.CodeConflict, "idempotency_key", first.Message.ID)
	other = r
	other.SessionID = "t"
	elsewhere, err := w.db.Write(ctx, other)
	w.ok("the same key in another session", err)
	if elsewhere.Replayed {
		t.Error("the key of one session counts in another")
	}
	w.remove(first.Message.ID)
	again, err := w.db.Write(ctx, r)
	w.ok("write after the message is deleted", err)
	if again.Replayed || again.Message.ID == first.Message.ID {
		t.Errorf("a deleted message was replayed: %+v", again)
	}
}

// TestUpdateThatChangesNothing writes nothing, whatever it takes to say so.
func TestUpdateThatChangesNothing(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	target := w.say("s", "target", convmem.MetadataPatch{}).ID
	relations := []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: target}}
	m := w.say("s", "c", convmem.MetadataPatch{Tags: []string{"a", "b"}, Relations: relations, OccurredAt: w.now})
	before := w.health()
	w.now = w.now.Add(time.Hour)
	for name, r := range map[string]convmem.UpdateRequest{
		"same content":     {Content: new("c")},
		"empty patch":      {Metadata: &convmem.MetadataPatch{}},
		"the default said": {Metadata: &convmem.MetadataPatch{Importance: new(50), Kind: convmem.KindConversation, Summary: new("")}},
		"the same lists":   {Metadata: &convmem.MetadataPatch{Tags: []string{"a", "b", "a"}, Relations: relations, SourceMessageIDs: []string{}}},
		"the same time":    {Metadata: &convmem.MetadataPatch{OccurredAt: m.Metadata.OccurredAt.Add(time.Microsecond)}},
	} {
		r.MessageID, r.ExpectedRevision = m.ID, 1
		if diff := cmp.Diff(convmem.UpdateResult{Message: m}, w.update(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(before, w.health()); diff != "" {
		t.Errorf("health (-before +after):\n%s", diff)
	}
}

// TestRelationToItself guesses the id that comes next.
func TestRelationToItself(t *testing.T) {
	w := newWorld(t, convmem.Options{Entropy: &sequence{}})
	next := ulid.MustParseStrict(w.say("s", "c", convmem.MetadataPatch{}).ID)
	next[15]++ // the clock stands still
	r := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "c"}
	r.Metadata.Relations = []convmem.Relation{{Type: convmem.RelationRelatedTo, MessageID: next.String()}}
	_, err := w.db.Write(ctx, r)
	w.fails("write", err, convmem.CodeValidation, "relations[0].message_id", "the message itself")
	if n := len(w.history(convmem.HistoryRequest{SessionID: "s"}).Messages); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// TestNothingIsShared changes what went in and what came out.
func TestNothingIsShared(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	target := w.say("s", "target", convmem.MetadataPatch{}).ID
	patch := convmem.MetadataPatch{
		Tags: []string{"tag"}, SourceMessageIDs: []string{target},
		Relations: []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: target}},
	}
	m := w.say("s", "c", patch)
	patch.Tags[0], patch.SourceMessageIDs[0], patch.Relations[0].MessageID = "x", "x", "x"
	m.Metadata.Tags[0], m.Metadata.SourceMessageIDs[0], m.Metadata.Relations[0].MessageID = "y", "y", "y"
	read := w.context(convmem.ContextRequest{MessageID: m.ID}).Message
	read.Metadata.Tags[0] = "z"
	got := w.context(convmem.ContextRequest{MessageID: m.ID}).Message.Metadata
	want := convmem.Metadata{
		Tags: []string{"tag"}, SourceMessageIDs: []string{target}, Tier: convmem.TierShort, Kind: convmem.KindConversation, Importance: 50,
		Relations: []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: target}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

// silent is a Store that answers without the view that was asked for.
type silent struct{ convmem.Store }

func (silent) Read(context.Context, convmem.ReadRequest) (convmem.ReadResult, error) {
	return convmem.ReadResult{}, nil
}

func TestHelpersOverABrokenStore(t *testing.T) {
	_, history := convmem.History(ctx, silent{}, convmem.HistoryRequest{})
	_, around := convmem.Context(ctx, silent{}, convmem.ContextRequest{})
	_, sessions := convmem.Sessions(ctx, silent{}, convmem.SessionsRequest{})
	for i, err := range []error{history, around, sessions} {
		if convmem.CodeOf(err) != convmem.CodeInternal {
			t.Errorf("view %d: an answer without it is %v", i, err)
		}
	}
}
