package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

func mustOpen(t *testing.T, fsys vfs.FS) *Log {
	t.Helper()
	l, err := openTest(fsys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func lastID(t *testing.T, l *Log) (last ulid.ULID) {
	t.Helper()
	must(t, l.Update(context.Background(), func(tx *Tx) error {
		last = tx.LastID()
		return nil
	}))
	return last
}

func TestUpdateSeesItsStateAndNotItself(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(0))
	must(t, update(l, put(1, "one")))
	must(t, l.Update(context.Background(), func(tx *Tx) error {
		tx.Put(id(1), []byte("changed"))
		tx.Put(id(2), []byte("two"))
		got, err := tx.Get(id(1))
		if string(got) != "one" || err != nil {
			t.Errorf("inside the update: %q, %v", got, err)
		}
		if _, err := tx.Get(id(2)); !errors.Is(err, ErrNotFound) {
			t.Errorf("a record of this very update: %v", err)
		}
		return nil
	}))
	found, err := held(l)
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "changed", id(2): "two"}, found); diff != "" {
		t.Error(diff)
	}
}

func TestFailedUpdateWritesNothing(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(0))
	must(t, update(l, put(1, "one")))
	before := l.Stats().IO.WriteCalls
	want := errors.New("no")
	err := l.Update(context.Background(), func(tx *Tx) error {
		tx.Put(id(2), []byte("two"))
		return want
	})
	if err != want {
		t.Errorf("got %v, want the function's own error", err)
	}
	must(t, l.Update(context.Background(), func(*Tx) error { return nil }))
	if after := l.Stats().IO.WriteCalls; after != before {
		t.Errorf("updates without a change wrote %d times", after-before)
	}
}

// One write and one sync of the log per commit, and one write of LOCK; the rest
// only looks whether another process was there, and applies what it wrote.
func TestCostOfACommit(t *testing.T) {
	log := logName(1)
	writes := []string{"write " + log, "syncdata " + log, "write LOCK"}
	look := []string{"read LOCK", "trylock LOCK", "read LOCK"}
	catchUp := []string{"read LOCK", "read " + log, "trylock LOCK", "read LOCK"}
	check := []string{"samefile " + log, "size " + log}
	for _, tt := range []struct {
		name      string
		exclusive bool
		disturbed bool
		want      []string
	}{
		{"alone", false, false, slices.Concat(look, check, writes, []string{"unlock LOCK"})},
		{"after another", false, true, slices.Concat(catchUp, check, writes, []string{"unlock LOCK"})},
		{"exclusive", true, false, writes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := vfs.NewMem(0)
			fsys := faultfs.New(m)
			o := testOptions()
			o.Exclusive = tt.exclusive
			l, err := Open(context.Background(), fsys, o)
			must(t, err)
			if tt.disturbed {
				must(t, update(mustOpen(t, m), put(9, "another's")))
			}
			before := len(fsys.Ops())
			must(t, update(l, put(1, "one"), put(2, "two")))
			var got []string
			for _, op := range fsys.Ops()[before:] {
				got = append(got, string(op.Kind)+" "+op.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCancelledContext(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(0))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	called := false
	_, rebuildErr := l.Rebuild(ctx)
	for name, err := range map[string]error{
		"update":  l.Update(ctx, func(*Tx) error { called = true; return nil }),
		"view":    l.View(ctx, func(*View) error { called = true; return nil }),
		"rebuild": rebuildErr,
	} {
		if !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
	if called {
		t.Error("a function was called although the context had ended")
	}
}

func mustOpenExclusive(t *testing.T, fsys vfs.FS) *Log {
	t.Helper()
	o := testOptions()
	o.Exclusive = true
	l, err := Open(context.Background(), fsys, o)
	must(t, err)
	return l
}

func TestBusyNamesTheHolder(t *testing.T) {
	fsys := vfs.NewMem(0)
	l := mustOpenExclusive(t, fsys)
	_, err := openTest(fsys)
	var busy *BusyError
	if !errors.As(err, &busy) || busy.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("a second open: %v", err)
	}
	must(t, l.Close())
	mustOpen(t, fsys)
}

func TestBusyWaitEndsWithTheHolder(t *testing.T) {
	fsys := vfs.NewMem(0)
	l := mustOpenExclusive(t, fsys)
	opened := make(chan error)
	go func() {
		o := testOptions()
		o.LockWait = time.Hour
		second, err := Open(context.Background(), fsys, o)
		if err == nil {
			err = second.Close()
		}
		opened <- err
	}()
	must(t, l.Close())
	must(t, <-opened)
}

func TestBusyWaitEndsWithTheContext(t *testing.T) {
	fsys := vfs.NewMem(0)
	mustOpenExclusive(t, fsys)
	ctx, cancel := context.WithCancel(context.Background())
	o := testOptions()
	o.LockWait = time.Hour
	opened := make(chan error)
	go func() {
		_, err := Open(ctx, fsys, o)
		opened <- err
	}()
	cancel()
	if err := <-opened; !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestClosed(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(0))
	must(t, l.Close())
	must(t, l.Close())
	_, rebuildErr := l.Rebuild(context.Background())
	for name, err := range map[string]error{
		"update": update(l, put(1, "one")), "rebuild": rebuildErr,
		"view": l.View(context.Background(), func(*View) error { return nil }),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

func TestCloseMarksTheLogOnce(t *testing.T) {
	fsys := vfs.NewMem(0)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one")))
	must(t, l.Close())
	size := func() int {
		b, err := fsys.ReadFile(logName(1))
		must(t, err)
		return len(b)
	}
	before := size()
	for range 3 {
		must(t, mustOpen(t, fsys).Close())
	}
	if after := size(); after != before {
		t.Errorf("opening and closing grew the log from %d to %d bytes", before, after)
	}
}

func TestStatsAddUp(t *testing.T) {
	fsys := vfs.NewMem(0)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one"), put(2, "two"), put(3, "three")))
	must(t, update(l, put(1, "one again")))
	must(t, update(l, put(1, "and again")))
	must(t, update(l, remove(2)))
	check := func(l *Log, live, deletes, updates int64) {
		t.Helper()
		s := l.Stats()
		if s.LiveRecords != live || s.DeleteRecords != deletes || s.UpdateRecords != updates {
			t.Errorf("live %d, deletes %d, updates %d; want %d, %d, %d",
				s.LiveRecords, s.DeleteRecords, s.UpdateRecords, live, deletes, updates)
		}
		var liveBytes int64
		for _, at := range l.gen.table.freeze().inLogOrder() {
			liveBytes += at.size
		}
		if want := s.LogSize - headerSize - liveBytes; s.DeadBytes != want {
			t.Errorf("dead bytes %d, want %d", s.DeadBytes, want)
		}
	}
	check(l, 2, 1, 2)
	must(t, l.Close())
	l = mustOpen(t, fsys)
	check(l, 2, 1, 2)
	seq, last, before := l.Stats().LastSeq, lastID(t, l), l.Stats().LogSize

	stats, err := l.Rebuild(context.Background())
	must(t, err)
	check(l, 2, 0, 0)
	if want := (RebuildStats{Records: 2, Removed: 4, BytesBefore: before, BytesAfter: l.Stats().LogSize}); stats != want {
		t.Errorf("rebuild: %+v, want %+v", stats, want)
	}
	if l.Stats().DeadBytes != 0 {
		t.Errorf("%d dead bytes after a rebuild", l.Stats().DeadBytes)
	}
	if got := l.Stats().LastSeq; got != seq {
		t.Errorf("last sequence %d after a rebuild, %d before", got, seq)
	}
	if got := lastID(t, l); got != last {
		t.Errorf("last id %v after a rebuild, %v before", got, last)
	}
}

// The greatest id stays known when its record is deleted and rebuilt away, or a
// clock that steps back would give it out again.
func TestLastIDOutlivesItsRecord(t *testing.T) {
	fsys := vfs.NewMem(0)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one"), put(7, "seven")))
	must(t, update(l, remove(7)))
	for range 2 {
		_, err := l.Rebuild(context.Background())
		must(t, err)
		must(t, l.Close())
		l = mustOpen(t, fsys)
		if got := lastID(t, l); got != id(7) {
			t.Fatalf("last id %v, want %v", got, id(7))
		}
	}
}

// No byte of what was deleted or replaced is in any file after a rebuild, nor
// after a power cut that follows, even where the old log could only be removed
// or only be emptied.
func TestRebuildLeavesNoByte(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails faultfs.Kind
		files []string
	}{
		{"all is well", "", []string{lockName, maintName, logName(2), snapshotName}},
		{"truncate fails", faultfs.Truncate, []string{lockName, maintName, logName(2), snapshotName}},
		{"remove fails", faultfs.Remove, []string{lockName, maintName, logName(1), logName(2), snapshotName}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			disk := vfs.NewMem(0)
			fsys := faultfs.New(disk)
			l := mustOpen(t, fsys)
			must(t, update(l, put(1, "kept"), put(2, "SECRET deleted"), put(3, "SECRET replaced")))
			must(t, update(l, put(3, "harmless"), remove(2)))
			if tt.fails != "" {
				fsys.FailNth(tt.fails, 0, faultfs.ErrInjected)
			}
			_, err := l.Rebuild(context.Background())
			must(t, err)
			if diff := cmp.Diff(tt.files, disk.Names()); diff != "" {
				t.Errorf("files %s", diff)
			}
			noByte(t, disk.Kill(), "SECRET")
			for image := range disk.CrashImages() {
				noByte(t, image, "SECRET")
			}
			must(t, l.Close())
			must(t, mustOpen(t, fsys).Close())
			if diff := cmp.Diff([]string{lockName, maintName, logName(2), snapshotName}, disk.Names()); diff != "" {
				t.Errorf("files after the next open %s", diff)
			}
		})
	}
}

// A rebuild that could do neither says so, and the next one that can makes up
// for it.
func TestRebuildDropsWhatEarlierOnesCouldNot(t *testing.T) {
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one"), put(2, "SECRET")))
	must(t, update(l, remove(2)))
	fsys.FailNth(faultfs.Remove, 0, faultfs.ErrInjected)
	fsys.FailNth(faultfs.Truncate, 0, faultfs.ErrInjected)
	if _, err := l.Rebuild(context.Background()); !errors.Is(err, faultfs.ErrInjected) {
		t.Fatalf("got %v", err)
	}
	must(t, update(l, put(3, "three")))
	_, err := l.Rebuild(context.Background())
	must(t, err)
	noByte(t, disk.Kill(), "SECRET")
	found, err := held(l)
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "one", id(3): "three"}, found); diff != "" {
		t.Error(diff)
	}
}

// An old log that cannot be opened can still be removed.
func TestRebuildRemovesWhatItCannotEmpty(t *testing.T) {
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "SECRET")))
	must(t, update(l, remove(1)))
	// The first one to open it is the copy.
	fsys.Inject(faultfs.Fault{Kind: faultfs.Open, N: 1, Match: func(o faultfs.Op) bool { return o.Name == logName(1) }})
	_, err := l.Rebuild(context.Background())
	must(t, err)
	noByte(t, disk.Kill(), "SECRET")
}

func noByte(t *testing.T, m *vfs.Mem, secret string) {
	t.Helper()
	for name, b := range snapshot(t, m) {
		if bytes.Contains(b, []byte(secret)) {
			t.Fatalf("%s still holds a deleted text", name)
		}
	}
}

// Updates and views go on while a rebuild copies, and what they do is kept.
func TestRebuildWhileWriting(t *testing.T) {
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one"), put(2, "two"), put(3, "three")))
	meanwhile := false
	fsys.Before = func(op faultfs.Op) error {
		if op.Kind == faultfs.Sync && strings.HasPrefix(op.Name, rebuildPrefix) && !meanwhile {
			meanwhile = true
			must(t, update(l, put(2, "two, changed meanwhile"), put(4, "four, new")))
			must(t, update(l, remove(3)))
			if _, err := l.Rebuild(context.Background()); !errors.Is(err, ErrBusy) {
				t.Errorf("a second rebuild: %v", err)
			}
		}
		return nil
	}
	stats, err := l.Rebuild(context.Background())
	must(t, err)
	if !meanwhile || stats.Records != 3 {
		t.Errorf("meanwhile %v, %+v", meanwhile, stats)
	}
	want := contents{id(1): "one", id(2): "two, changed meanwhile", id(4): "four, new"}
	for _, reopened := range []bool{false, true} {
		if reopened {
			must(t, l.Close())
			l = mustOpen(t, fsys)
		}
		found, err := held(l)
		must(t, err)
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("reopened %v: %s", reopened, diff)
		}
	}
}

// remembering is a mirror that knows what was deleted, which no live record tells.
type remembering struct {
	mirror
	deleted string
}

func (r *remembering) Apply(record Record) error {
	if record.Deleted {
		r.deleted += fmt.Sprint(record.ID[15], ".")
	}
	return r.mirror.Apply(record)
}

func (r *remembering) Check(fresh Sink) error {
	if other := fresh.(*remembering); other.deleted != r.deleted {
		return fmt.Errorf("one knows of %q, the other of %q", r.deleted, other.deleted)
	}
	return nil
}

func (r *remembering) Carry() []byte { return []byte(r.deleted) }

func (r *remembering) Receive(b []byte) error {
	if len(r.held) > 0 {
		return errors.New("received after records")
	}
	r.deleted = string(b)
	return nil
}

// What a sink carries survives rebuilds, restarts and backups, and reaches a
// process that never saw what it tells of.
func TestRebuildCarries(t *testing.T) {
	fsys, copied := vfs.NewMem(0), vfs.NewMem(0)
	o := testOptions()
	o.NewSink = func() Sink { return &remembering{mirror: mirror{held: contents{}}} }
	opened := func(fsys vfs.FS) *Log {
		l, err := Open(context.Background(), fsys, o)
		must(t, err)
		t.Cleanup(func() { l.Close() })
		return l
	}
	knows := func(who string, l *Log, want string) {
		t.Helper()
		must(t, l.View(context.Background(), func(v *View) error {
			sink := v.Sink().(*remembering)
			if sink.deleted != want || sink.held[id(1)] != "one" || sink.held[id(2)] != "" {
				t.Errorf("%s knows of %q and holds %v, want %q", who, sink.deleted, sink.held, want)
			}
			return nil
		}))
	}
	rebuild := func(l *Log) {
		t.Helper()
		_, err := l.Rebuild(context.Background())
		must(t, err)
		if s := l.Stats(); s.DeadBytes != 0 || s.DeleteRecords != 0 {
			t.Errorf("after a rebuild: %+v", s)
		}
	}
	l, idle := opened(fsys), opened(fsys)
	must(t, update(l, put(1, "one"), put(2, "two"), put(3, "three")))
	must(t, update(l, remove(2)))
	rebuild(l)
	knows("the process that rebuilt", l, "2.")
	knows("an idle one", idle, "2.")
	must(t, update(idle, remove(3)))
	rebuild(idle)
	rebuild(l)
	knows("the first after three rebuilds", l, "2.3.")
	knows("one that opens the store", opened(fsys), "2.3.")
	must(t, fsys.Remove(snapshotName))
	knows("one that finds no snapshot", opened(fsys), "2.3.")
	must(t, l.Backup(context.Background(), copied))
	knows("the copy", opened(copied), "2.3.")
	if _, err := l.Verify(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

// A sink that refuses a record makes the store corrupt, not half applied.
func TestSinkRefuses(t *testing.T) {
	fsys := vfs.NewMem(0)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one")))
	must(t, l.Close())
	o := testOptions()
	o.NewSink = func() Sink { return refusing{} }
	if _, err := Open(context.Background(), fsys, o); !errors.Is(err, ErrCorrupt) || !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
	mustOpen(t, fsys)
}

var errRefused = errors.New("refused")

type refusing struct{}

func (refusing) Apply(Record) error { return errRefused }

// A write that fails is undone; the error is gone from the stats with the next
// write that works.
func TestFullDisk(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one")))
	fsys.Inject(faultfs.Fault{Kind: faultfs.Write, Effect: faultfs.Short})
	if err := update(l, put(2, "two")); !errors.Is(err, faultfs.ErrInjected) {
		t.Fatalf("got %v", err)
	}
	if l.Stats().LastError == nil {
		t.Error("no last error after a failed write")
	}
	fsys.Clear()
	must(t, update(l, put(3, "three")))
	if err := l.Stats().LastError; err != nil {
		t.Errorf("last error after a write that worked: %v", err)
	}
	found, err := held(l)
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "one", id(3): "three"}, found); diff != "" {
		t.Error(diff)
	}
}

// After a failed sync the log is never written again, whatever is asked of it,
// though the sync that follows would succeed.
func TestPoison(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one")))
	fsys.Inject(faultfs.Fault{Kind: faultfs.Sync, Effect: faultfs.Lost})
	if err := update(l, put(2, "two")); !errors.Is(err, ErrPoisoned) || !errors.Is(err, faultfs.ErrInjected) {
		t.Fatalf("got %v", err)
	}
	since := len(fsys.Ops())
	if err := update(l, put(3, "three")); !errors.Is(err, ErrPoisoned) {
		t.Errorf("an update: %v", err)
	}
	if _, err := l.Rebuild(context.Background()); !errors.Is(err, ErrPoisoned) {
		t.Errorf("a rebuild: %v", err)
	}
	found, err := held(l)
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "one"}, found); diff != "" {
		t.Errorf("views: %s", diff)
	}
	if !errors.Is(l.Stats().LastError, ErrPoisoned) {
		t.Errorf("last error %v", l.Stats().LastError)
	}
	must(t, l.Close())
	noWrites(t, fsys, since)
}

// Run with -race: writers, views and rebuilds beside each other.
func TestConcurrentUse(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(0))
	const writers, each = 8, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				must(t, update(l, put(w*each+i+1, fmt.Sprint(w, i))))
			}
		})
	}
	for range 4 {
		wg.Go(func() {
			for range each {
				_, err := held(l)
				must(t, err)
				l.Stats()
			}
		})
	}
	wg.Go(func() {
		for range 8 {
			if _, err := l.Rebuild(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	found, err := held(l)
	must(t, err)
	if len(found) != writers*each {
		t.Errorf("%d records, want %d", len(found), writers*each)
	}
}
