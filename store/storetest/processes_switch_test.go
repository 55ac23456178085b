package storetest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// TestProcessesTakeTurns lets every kind of call be overtaken: before each of
// its file operations another process makes a whole call of its own. The call
// must be answered as if it had been made before the other one or after it, and
// then everybody must see the same, also when all are killed and the power
// fails.
func TestProcessesTakeTurns(t *testing.T) {
	turns := 0
	for _, call := range turnCalls() {
		for _, between := range turnChanges() {
			t.Run(call.name+" overtaken by "+between.name, func(t *testing.T) {
				for n, more := 0, true; more && !t.Failed(); n++ {
					turns++
					more = newTurn(t).run(call, between, n)
				}
			})
		}
	}
	t.Logf("%d turns", turns)
}

// TestProcessesTakeTurnsAfterADeath is the same for calls that find what a killed
// rebuild has left, at each of its operations, and must settle it.
func TestProcessesTakeTurnsAfterADeath(t *testing.T) {
	every := 13 // of the combinations, and then of the operations
	if *long {
		every = 1
	}
	turns, combination := 0, 0
	for death, more := 0, true; more && !t.Failed(); death++ {
		for _, call := range turnCalls() {
			for _, between := range turnChanges()[:4] {
				if combination++; combination%every != 0 {
					continue
				}
				for n, reached := death%every, true; reached && more && !t.Failed(); n += every {
					turns++
					s := newTurn(t)
					if more = s.killRebuild(death); more {
						reached = s.run(call, between, n)
					}
					if t.Failed() {
						t.Logf("%s overtaken by %s after a rebuild was killed before operation %d", call.name, between.name, death)
					}
				}
			}
		}
	}
	t.Logf("%d turns", turns)
}

// killRebuild lets one more process begin a rebuild and kills it before its n-th
// operation. It reports whether there is one.
func (s *turn) killRebuild(n int) bool {
	fsys := faultfs.New(s.disk)
	db := s.open(fsys, ordinary)
	first := len(fsys.Ops()) + n
	fsys.Before = func(op faultfs.Op) error {
		if op.Index == first {
			fsys.Kill()
		}
		return nil
	}
	_ = s.rebuild(db) // late kills leave it successful
	return len(fsys.Ops()) > first
}

// turn is a store in use by three processes: one that calls, one that overtakes
// it, and one that looks on at the end, having been idle. expected holds the
// contents by message id.
type turn struct {
	testing.TB
	disk     *vfs.Mem
	clock    *clock
	caller   *faultfs.FS
	first    *convmem.DB // by caller; nil once closed or not opened yet
	other    *convmem.DB
	idle     *convmem.DB
	ids      []string
	expected map[string]string
	call     turnCall // by first
}

func newTurn(t testing.TB) *turn {
	s := &turn{TB: t, disk: vfs.NewMem(0), clock: newClock(), expected: map[string]string{}}
	s.caller = faultfs.New(s.disk)
	s.other, s.idle = s.open(s.disk, ordinary), s.open(s.disk, ordinary)
	s.first = s.open(s.caller, ordinary)
	for i := range 4 {
		s.must(s.write(s.other, fmt.Sprint("old ", i)))
	}
	s.must(s.remove(s.other, 3))
	s.must(s.rebuild(s.other))
	s.must(s.remove(s.other, 2))
	return s
}

func (s *turn) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *turn) open(fsys vfs.FS, how mode) *convmem.DB {
	s.Helper()
	db, err := s.tryOpen(fsys, how)
	s.must(err)
	return db
}

func (s *turn) tryOpen(fsys vfs.FS, how mode) (*convmem.DB, error) {
	return convmem.Open(context.Background(), "", &convmem.Options{
		FS: fsys, Now: s.clock.Now, LockWait: time.Nanosecond,
		Exclusive: how == exclusive, ReadOnly: how == readOnly,
	})
}

func (s *turn) write(db *convmem.DB, content string) error {
	s.clock.step(time.Millisecond)
	result, err := db.Write(context.Background(), convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: content})
	if err == nil {
		s.ids = append(s.ids, result.Message.ID)
		s.expected[result.Message.ID] = content
	}
	return err
}

func (s *turn) update(db *convmem.DB, i int, content string) error {
	_, err := db.Update(context.Background(), convmem.UpdateRequest{MessageID: s.ids[i], Content: &content})
	if err == nil {
		s.expected[s.ids[i]] = content
	}
	return err
}

func (s *turn) remove(db *convmem.DB, i int) error {
	_, err := db.Delete(context.Background(), convmem.DeleteRequest{MessageID: s.ids[i]})
	if err == nil {
		delete(s.expected, s.ids[i])
	}
	return err
}

func (s *turn) rebuild(db *convmem.DB) error {
	_, err := db.Rebuild(context.Background(), convmem.RebuildRequest{})
	return err
}

// sees returns what a process sees, as fmt prints it: maps come sorted. The id of
// a message whose write was not answered is "unknown".
func (s *turn) sees(db *convmem.DB) (string, error) {
	history, err := convmem.History(context.Background(), db, convmem.HistoryRequest{SessionID: "s"})
	found := map[string]string{}
	for _, m := range history.Messages {
		id := m.ID
		if !slices.Contains(s.ids, id) {
			id = "unknown"
		}
		found[id] = m.Content
	}
	return fmt.Sprint(found), err
}

// turnCall is a call by one of the processes.
type turnCall struct {
	name string
	do   func(*turn) error
	// effect makes of what was expected before what there is when the call was
	// made and nobody answered; nil when that is the same.
	effect func(*turn)
}

func turnCalls() []turnCall {
	openAs := func(how mode) func(*turn) error {
		return func(s *turn) error {
			db, err := s.tryOpen(s.caller, how)
			if err != nil {
				return err
			}
			defer db.Close()
			return s.looks(db)
		}
	}
	return []turnCall{
		{"history", func(s *turn) error { return s.looks(s.first) }, nil},
		{
			"write", func(s *turn) error { return s.write(s.first, "first") },
			func(s *turn) { s.expected["unknown"] = "first" },
		},
		{
			"update", func(s *turn) error { return s.update(s.first, 0, "first") },
			func(s *turn) { s.expected[s.ids[0]] = "first" },
		},
		{
			"delete", func(s *turn) error { return s.remove(s.first, 1) },
			func(s *turn) { delete(s.expected, s.ids[1]) },
		},
		{"rebuild", func(s *turn) error { return s.rebuild(s.first) }, nil},
		{"close", func(s *turn) error { return s.first.Close() }, nil},
		{"open", openAs(ordinary), nil},
		{"open exclusively", openAs(exclusive), nil},
		{"open to read", openAs(readOnly), nil},
		{"write and rebuild exclusively", (*turn).writeExclusively, func(s *turn) {
			if !slices.Contains(slices.Collect(maps.Values(s.expected)), "first") {
				s.expected["unknown"] = "first"
			}
		}},
	}
}

func (s *turn) writeExclusively() error {
	db, err := s.tryOpen(s.caller, exclusive)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := s.write(db, "first"); err != nil {
		return err
	}
	return s.rebuild(db)
}

// looks fails when a process does not see all that was answered before the call;
// what was answered meanwhile it may see.
func (s *turn) looks(db *convmem.DB) error {
	before := fmt.Sprint(s.expected)
	seen, err := s.sees(db)
	if after := fmt.Sprint(s.expected); err == nil && seen != before && seen != after {
		s.Errorf("it sees %s, want %s or %s", seen, before, after)
	}
	return err
}

func turnChanges() []turnCall {
	return []turnCall{
		{name: "a write", do: func(s *turn) error { return s.write(s.other, "other") }},
		{name: "an update", do: func(s *turn) error { return s.update(s.other, 0, "other") }},
		{name: "a delete", do: func(s *turn) error { return s.remove(s.other, 1) }},
		{name: "a rebuild", do: func(s *turn) error { return s.rebuild(s.other) }},
		{name: "two rebuilds and a write", do: (*turn).rebuildTwice},
		{name: "a restart", do: (*turn).restart},
		{name: "a reader", do: (*turn).readBeside},
		{name: "its death", do: func(s *turn) error { s.caller.Kill(); return nil }},
	}
}

func (s *turn) rebuildTwice() error {
	for _, db := range []*convmem.DB{s.other, s.idle} {
		if err := s.rebuild(db); err != nil {
			return err
		}
	}
	return s.write(s.other, "other")
}

func (s *turn) restart() error {
	if err := s.other.Close(); err != nil {
		return err
	}
	db, err := s.tryOpen(s.disk, ordinary)
	if err != nil {
		// The caller may hold the lock of writers.
		s.other = s.open(s.disk, readOnly)
		return err
	}
	s.other = db
	return s.write(s.other, "other")
}

// readBeside opens the store for reading in the middle of the call, of which it
// may see all or nothing.
func (s *turn) readBeside() error {
	db, err := s.tryOpen(s.disk, readOnly)
	if err != nil {
		return err
	}
	defer db.Close()
	seen, err := s.sees(db)
	if err == nil && !slices.Contains(s.outcomes(), seen) {
		s.Errorf("a reader sees %s, want one of %v", seen, s.outcomes())
	}
	return err
}

// outcomes lists what there may be while the call is not answered.
func (s *turn) outcomes() []string {
	all := []string{fmt.Sprint(s.expected)}
	if s.call.effect != nil {
		kept := maps.Clone(s.expected)
		s.call.effect(s)
		all = append(all, fmt.Sprint(s.expected))
		s.expected = kept
	}
	return all
}

// run makes a call and lets it be overtaken before its n-th operation. It
// reports whether there is one.
func (s *turn) run(call, between turnCall, n int) (reached bool) {
	at := len(s.caller.Ops()) + n
	var where faultfs.Op
	busy := false
	s.call = call
	s.caller.Before = func(op faultfs.Op) error {
		if op.Index != at {
			return nil
		}
		reached, where = true, op
		err := between.do(s)
		busy = convmem.CodeOf(err) == convmem.CodeBusy
		if err != nil && !busy {
			s.Errorf("before %v: %v", op, err)
		}
		return nil
	}
	err := call.do(s)
	s.caller.Before = nil
	killed := between.name == "its death"
	if err != nil && !s.allowed(call, between, err) {
		s.Errorf("overtaken before %v (busy: %v): %v", where, busy, err)
	}
	if !s.Failed() {
		s.agree(where, killed && err != nil)
	}
	return reached
}

// allowed says which errors a call may have: losing a race, or having been
// killed.
func (s *turn) allowed(call, between turnCall, err error) bool {
	switch convmem.CodeOf(err) {
	case convmem.CodeBusy, convmem.CodeIO:
		return between.name == "its death"
	case convmem.CodeNotFound:
		return call.name == "update" && between.name == "a delete"
	}
	return false
}

// agree compares what everybody sees, now and after a power cut. unknown says
// that the call was not answered.
func (s *turn) agree(where faultfs.Op, unknown bool) {
	wanted := s.outcomes()[:1]
	if unknown {
		wanted = s.outcomes()
	}
	image := s.disk.CrashImage(rand.New(rand.NewPCG(1, uint64(where.Index))))
	after, err := s.sees(s.open(image, ordinary))
	s.must(err)
	if !slices.Contains(wanted, after) {
		s.Errorf("overtaken before %v: after a power cut there is %s, want one of %v", where, after, wanted)
	}
	s.must(s.write(s.idle, "last"))
	wanted = s.outcomes()[:len(wanted)]
	first, err := s.sees(s.idle)
	s.must(err)
	if !slices.Contains(wanted, first) {
		s.Errorf("overtaken before %v: the idle one sees %s, want one of %v", where, first, wanted)
	}
	for name, db := range map[string]*convmem.DB{
		"the one who overtook": s.other, "a new one": s.open(s.disk, ordinary), "a reader": s.open(s.disk, readOnly),
	} {
		if got, err := s.sees(db); got != first {
			s.Errorf("overtaken before %v: %s sees %s, the idle one %s (%v)", where, name, got, first, err)
		}
	}
}
