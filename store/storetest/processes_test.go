package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"pgregory.net/rapid"
)

// TestProcessesRandom does to several processes over one disk what [RunRandom]
// does to one store: each call goes to a process drawn at random, and whoever is
// asked must answer as the Model does. In between, processes sleep through
// changes, end, are killed and come back, the snapshot gets lost, and the power
// fails.
func TestProcessesRandom(t *testing.T) {
	done := map[string]int{}
	defer func() { t.Logf("actions: %v", done) }()
	rapid.Check(t, func(r *rapid.T) {
		var m *machine
		w := newWorld(t, r, func(t testing.TB, c Config) Subject {
			m = newMachine(t.(scope), c.Now)
			return Subject{Store: m, Reopen: m.reopen}
		})
		r.Cleanup(m.checkReaders)
		actions := append(w.actions(), m.disruptions(w)...)
		for range 5 {
			w.writeSomething(r)
		}
		r.Repeat(map[string]func(*rapid.T){
			"step": func(r *rapid.T) {
				next := choose(r, "action", actions...)
				next.do(r)
				done[next.name]++
			},
			"": w.compareHealth,
		})
	})
}

// mode is how a process has opened the store.
type mode string

const (
	ordinary  mode = "ordinary"
	exclusive mode = "exclusive"
	readOnly  mode = "read-only"
)

// process is one DB with a file system of its own, so that it can be killed.
type process struct {
	name   string
	mode   mode
	fsys   *faultfs.FS
	db     *convmem.DB
	asleep bool // gets no calls for now
	// unsettled: it was opened for reading before anybody repaired what a power
	// cut left. It then may say that its last bytes are not known to be durable.
	unsettled bool
}

// machine is a computer on which one to three processes have one directory
// open. As a Store it hands each call to one of them.
type machine struct {
	scope
	now     func() time.Time
	disk    *vfs.Mem
	running []*process
	started int  // processes so far
	settled bool // somebody has opened the store for writing since power came on
}

var (
	_ convmem.Store          = (*machine)(nil)
	_ convmem.BatchWriter    = (*machine)(nil)
	_ convmem.SessionDeleter = (*machine)(nil)
)

func newMachine(s scope, now func() time.Time) *machine {
	m := &machine{scope: s, now: now, disk: vfs.NewMem(choose(s.r, "block size", 0, 64))}
	m.start(ordinary)
	m.start(choose(s.r, "mode", ordinary, exclusive, readOnly))
	return m
}

// maxProcesses is how many processes run at once.
const maxProcesses = 3

// start adds a process. Beside an exclusive one nobody else can open the store
// for writing.
func (m *machine) start(how mode) {
	m.started++
	p := &process{
		name: fmt.Sprintf("process %d (%s)", m.started, how), mode: how,
		fsys: faultfs.New(m.disk), unsettled: how == readOnly && !m.settled,
	}
	var err error
	p.db, err = convmem.Open(context.Background(), "", &convmem.Options{
		FS: p.fsys, Now: m.now, LockWait: time.Nanosecond,
		Exclusive: how == exclusive, ReadOnly: how == readOnly,
	})
	if how != readOnly && m.exclusive() != nil {
		if convmem.CodeOf(err) != convmem.CodeBusy {
			m.Fatalf("%s opens the store beside %s: got error %v, want %s", p.name, m.exclusive().name, err, convmem.CodeBusy)
		}
		return
	}
	if err != nil {
		m.Fatalf("open by %s: %v", p.name, err)
	}
	m.settled = m.settled || how != readOnly
	m.running = append(m.running, p)
}

// exclusive returns the process that keeps others from changing the store.
func (m *machine) exclusive() *process {
	return m.find(func(p *process) bool { return p.mode == exclusive })
}

func (m *machine) find(suits func(*process) bool) *process {
	if i := slices.IndexFunc(m.running, suits); i >= 0 {
		return m.running[i]
	}
	return nil
}

// ensureWriter keeps one process awake that may change the store.
func (m *machine) ensureWriter() {
	writer := m.exclusive()
	if writer == nil {
		writer = m.find(func(p *process) bool { return p.mode != readOnly && !p.asleep })
	}
	if writer == nil {
		writer = m.find(func(p *process) bool { return p.mode != readOnly })
	}
	if writer == nil {
		m.start(ordinary)
		return
	}
	writer.asleep = false
}

// pick draws one of the processes that suit.
func (m *machine) pick(label string, suits func(*process) bool) *process {
	var names []string
	for _, p := range m.running {
		if suits(p) {
			names = append(names, p.name)
		}
	}
	name := choose(m.r, label, names...)
	return m.find(func(p *process) bool { return p.name == name })
}

func awake(p *process) bool { return !p.asleep }

// mayChange says who succeeds in changing the store.
func (m *machine) mayChange(p *process) bool {
	return awake(p) && (p.mode == exclusive || p.mode == ordinary && m.exclusive() == nil)
}

// change gives a changing call to any process. One that may not make it must say
// so, unless the call is wrong in itself, and then another one gets it.
func change[R any](m *machine, do func(*convmem.DB) (R, error)) (R, error) {
	p := m.pick("process", awake)
	result, err := do(p.db)
	if m.mayChange(p) || convmem.CodeOf(err) == convmem.CodeValidation {
		return result, err
	}
	refused := convmem.CodeOf(err) == convmem.CodeBusy
	if p.mode == readOnly {
		refused = convmem.CodeOf(err) == convmem.CodeIO && errors.Is(err, convmem.ErrReadOnly)
	}
	if !refused {
		m.Fatalf("a change by %s: error %v", p.name, err)
	}
	return do(m.pick("process instead", m.mayChange).db)
}

// Write implements [convmem.Store].
func (m *machine) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	return change(m, func(db *convmem.DB) (convmem.WriteResult, error) { return db.Write(ctx, r) })
}

// WriteBatch implements [convmem.BatchWriter].
func (m *machine) WriteBatch(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
	return change(m, func(db *convmem.DB) (convmem.WriteBatchResult, error) { return db.WriteBatch(ctx, r) })
}

// DeleteSession implements [convmem.SessionDeleter].
func (m *machine) DeleteSession(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
	return change(m, func(db *convmem.DB) (convmem.DeleteSessionResult, error) { return db.DeleteSession(ctx, r) })
}

// Update implements [convmem.Store].
func (m *machine) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	return change(m, func(db *convmem.DB) (convmem.UpdateResult, error) { return db.Update(ctx, r) })
}

// Delete implements [convmem.Store].
func (m *machine) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return change(m, func(db *convmem.DB) (convmem.DeleteResult, error) { return db.Delete(ctx, r) })
}

// Rebuild implements [convmem.Store].
func (m *machine) Rebuild(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
	return change(m, func(db *convmem.DB) (convmem.RebuildResult, error) { return db.Rebuild(ctx, r) })
}

// Read implements [convmem.Store].
func (m *machine) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return m.pick("process", awake).db.Read(ctx, r)
}

// Search implements [convmem.Store].
func (m *machine) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	return m.pick("process", awake).db.Search(ctx, r)
}

// Health implements [convmem.Store].
func (m *machine) Health(ctx context.Context, r convmem.HealthRequest) (convmem.HealthResult, error) {
	p := m.pick("process", awake)
	h, err := p.db.Health(ctx, r)
	if p.unsettled && h.Status == convmem.HealthDegraded {
		h.Status = convmem.HealthOK
	}
	return h, err
}

// disruptions lists what happens to processes beside calls.
func (m *machine) disruptions(w *world) []action {
	agree := action{"agree", m.compareProcesses}
	sleep, wake := action{"sleep", m.sleep}, action{"wake", m.wake}
	start, kill := action{"start", m.startAnother}, action{"kill", m.kill}
	return []action{
		agree, agree, sleep, sleep, wake, start, start, kill, kill,
		{"power cut", m.cutPower},
		{"lose snapshot", func(*rapid.T) { m.loseSnapshot() }},
	}
}

// reopen ends a process in good order and starts one in its place.
func (m *machine) reopen() convmem.Store {
	p := m.pick("process to end", func(*process) bool { return true })
	if err := p.db.Close(); err != nil {
		m.Errorf("close of %s: %v", p.name, err)
	}
	m.remove(p)
	m.start(choose(m.r, "mode", ordinary, ordinary, exclusive, readOnly))
	m.ensureWriter()
	return m
}

// remove takes a process that has ended off the list.
func (m *machine) remove(p *process) {
	m.checkReader(p)
	m.running = slices.DeleteFunc(m.running, func(q *process) bool { return q == p })
}

func (m *machine) startAnother(r *rapid.T) {
	if len(m.running) == maxProcesses {
		r.Skip("enough processes")
	}
	m.start(choose(r, "mode", ordinary, ordinary, exclusive, readOnly))
}

// kill ends a process between two calls without a word.
func (m *machine) kill(*rapid.T) {
	p := m.pick("process to kill", func(*process) bool { return true })
	p.fsys.Kill()
	m.remove(p)
	m.ensureWriter()
}

// sleep keeps calls from a process, until it is many generations behind.
func (m *machine) sleep(*rapid.T) {
	m.pick("process to sleep", awake).asleep = true
	m.ensureWriter()
}

func (m *machine) wake(*rapid.T) {
	for _, p := range m.running {
		p.asleep = false
	}
}

// cutPower ends all processes and leaves the disk in any state that it may be
// in. Everything that was answered must be there, so the Model stays as it is.
func (m *machine) cutPower(r *rapid.T) {
	for _, p := range m.running {
		p.fsys.Kill()
		m.checkReader(p)
	}
	m.running, m.settled = nil, false
	m.disk = m.disk.CrashImage(rand.New(rand.NewPCG(1, uint64(choose(r, "image", distinct(1<<12, func(i int) int { return i })...)))))
	m.start(choose(r, "mode", ordinary, exclusive, readOnly))
	m.ensureWriter()
}

// loseSnapshot removes the snapshot while processes run.
func (m *machine) loseSnapshot() {
	_ = m.disk.Remove("convmem.snap") // there may be none
}

// compareProcesses asks everybody who is awake the same, also what the Model
// cannot answer: scores must be equal to the last bit.
func (m *machine) compareProcesses(r *rapid.T) {
	request := someFilters(r)
	m.everybody("search", func(db *convmem.DB) (any, error) { return db.Search(r.Context(), request) })
	history := convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: someSession(r), Limit: 2}}
	m.everybody("history", func(db *convmem.DB) (any, error) { return db.Read(r.Context(), history) })
	m.everybody("sessions", func(db *convmem.DB) (any, error) {
		result, err := db.Read(r.Context(), convmem.ReadRequest{Sessions: &convmem.SessionsRequest{}})
		return result.Sessions, err
	})
	m.everybody("health", func(db *convmem.DB) (any, error) {
		h, err := db.Health(r.Context(), convmem.HealthRequest{})
		return [...]any{counts(h), h.LastSequence, h.LogSize, h.SnapshotSize, h.SnapshotValid, h.DeadBytes, h.FormatVersion}, err
	})
}

// everybody compares the answers of all who are awake.
func (m *machine) everybody(what string, ask func(*convmem.DB) (any, error)) {
	var first *process
	var want any
	for _, p := range m.running {
		if p.asleep {
			continue
		}
		got, err := ask(p.db)
		if err != nil {
			m.Fatalf("%s by %s: %v", what, p.name, err)
		}
		if first == nil {
			first, want = p, got
			continue
		}
		if diff := difference(got, want); diff != "" {
			m.Fatalf("%s (-%s +%s):\n%s", what, first.name, p.name, diff)
		}
	}
}

// checkReader fails if a process that only reads has changed anything.
func (m *machine) checkReader(p *process) {
	if p.mode != readOnly {
		return
	}
	for _, op := range p.fsys.Ops() {
		switch op.Kind {
		case faultfs.Create, faultfs.Rename, faultfs.Remove, faultfs.SyncDir,
			faultfs.Write, faultfs.Truncate, faultfs.Sync, faultfs.SyncData:
			m.Errorf("%s: %v", p.name, op)
		}
	}
}

func (m *machine) checkReaders() {
	for _, p := range m.running {
		m.checkReader(p)
	}
}
