package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"pgregory.net/rapid"
)

// estate is a store that two processes have open, and its tenants.
type estate struct {
	testing.TB
	clock   *clock
	disk    *vfs.Mem
	dbs     []*convmem.DB
	tenants []*tenant
}

// tenant is a namespace and a Model that have been through the same.
type tenant struct {
	*world
	name string
}

// TestNamespacesNeverLeak does to three namespaces of one store what [RunRandom]
// does to a store: each must answer as a Model of its own does. The tenants use
// the same session names and keys, and try ids and cursors of each other.
func TestNamespacesNeverLeak(t *testing.T) {
	done := map[string]int{}
	defer func() { t.Logf("actions: %v", done) }()
	rapid.Check(t, func(r *rapid.T) {
		e := newEstate(t, r)
		var owner *tenant
		r.Repeat(map[string]func(*rapid.T){
			"step": func(r *rapid.T) {
				owner = choose(r, "tenant", e.tenants...)
				e.enter(r, owner)
				next := choose(r, "action", e.actions(owner)...)
				next.do(r)
				done[next.name]++
			},
			"": e.compare,
		})
	})
}

func (t *tenant) String() string { return "namespace " + t.name }

func newEstate(t testing.TB, r *rapid.T) *estate {
	e := &estate{TB: scope{TB: t, r: r}, clock: &clock{now: time.UnixMilli(1_750_000_000_000)}, disk: vfs.NewMem(0)}
	for i := range 2 {
		e.dbs = append(e.dbs, nil)
		e.open(i)
	}
	r.Cleanup(func() {
		for _, db := range e.dbs {
			if err := db.Close(); err != nil {
				e.Errorf("close: %v", err)
			}
		}
	})
	for _, name := range []string{"", "a", "session 1"} {
		w := newWorld(t, r, func(testing.TB, Config) Subject { return Subject{Store: e.dbs[0].Namespace(name)} })
		w.clock = e.clock
		w.model = NewModel(Config{Now: e.clock.Now})
		e.tenants = append(e.tenants, &tenant{world: w, name: name})
		for range 3 {
			w.writeSomething(r)
		}
	}
	return e
}

func (e *estate) open(i int) {
	db, err := convmem.Open(context.Background(), "", &convmem.Options{FS: e.disk, Now: e.clock.Now})
	if err != nil {
		e.Fatalf("open: %v", err)
	}
	e.dbs[i] = db
}

// enter hands a tenant its view in one of the processes, and what it may know of
// the others.
func (e *estate) enter(r *rapid.T, t *tenant) {
	t.subject.Store = choose(r, "process", e.dbs...).Namespace(t.name)
	t.foreign = nil
	for _, other := range e.tenants {
		for _, created := range other.created {
			if other != t {
				t.foreign = append(t.foreign, created.subject)
			}
		}
	}
}

// actions are those of a tenant, with those that concern all of them instead of
// its own.
func (e *estate) actions(t *tenant) []action {
	all := slices.DeleteFunc(t.actions(), func(a action) bool { return slices.Contains([]string{"rebuild", "reopen", "clock"}, a.name) })
	cursor := action{"foreign cursor", func(r *rapid.T) { e.tryCursor(r, t) }}
	return append(all,
		action{"rebuild", func(r *rapid.T) { e.rebuild(r, t) }}, action{"reopen", e.reopen}, cursor, cursor,
		action{"clock", e.moveClock}, action{"lose snapshot", func(*rapid.T) { _ = e.disk.Remove("convmem.snap") }}, // there may be none
	)
}

// moveClock never moves it back: ids, and so times, would then go on from the last
// one of all namespaces, of which a Model knows only its own.
func (e *estate) moveClock(r *rapid.T) {
	e.clock.step(time.Duration(choose(r, "ms", 1, 1, 2, 10, 1000)) * time.Millisecond)
}

// rebuild through one tenant rebuilds for all.
func (e *estate) rebuild(r *rapid.T, t *tenant) {
	got, err := t.subject.Store.Rebuild(t.ctx(), convmem.RebuildRequest{})
	if err != nil {
		r.Fatalf("rebuild: %v", err)
	}
	for _, one := range e.tenants {
		want, err := one.model.Rebuild(t.ctx(), convmem.RebuildRequest{})
		if err != nil {
			r.Fatalf("the model fails: %v", err)
		}
		if one == t {
			compare(r, "messages indexed", got.MessagesIndexed, want.MessagesIndexed)
		}
	}
}

// reopen ends one process and starts another in its place.
func (e *estate) reopen(r *rapid.T) {
	i := choose(r, "process", 0, 1)
	if err := e.dbs[i].Close(); err != nil {
		r.Fatalf("close: %v", err)
	}
	e.open(i)
}

// tryCursor goes on with a run of another tenant.
func (e *estate) tryCursor(r *rapid.T, t *tenant) {
	other := choose(r, "other", e.tenants...)
	if other == t || len(other.runs) == 0 {
		r.Skip("nobody else has a run under way")
	}
	at := choose(r, "run", distinct(len(other.runs), func(i int) int { return i })...)
	_, err := t.subject.Store.Read(t.ctx(), withCursor(other.runs[at].request, other.runs[at].subjectNext))
	if convmem.CodeOf(err) != convmem.CodeValidation {
		r.Fatalf("%v takes a cursor of %v: error %v", t, other, err)
	}
}

// compare runs after every step: every tenant counts its own messages, and all
// processes list the tenants that have some.
func (e *estate) compare(r *rapid.T) {
	var names []string
	var deleted, updates int64
	for _, t := range e.tenants {
		want, err := t.model.Health(t.ctx(), convmem.HealthRequest{})
		if err != nil {
			r.Fatalf("the model fails: %v", err)
		}
		deleted, updates = deleted+want.DeletedMessages, updates+want.UpdateRecords
		if want.ActiveMessages > 0 {
			names = append(names, t.name)
		}
		for _, db := range e.dbs {
			got, err := db.Namespace(t.name).Health(t.ctx(), convmem.HealthRequest{})
			if err != nil || got.ActiveMessages != want.ActiveMessages {
				r.Fatalf("%v has %d messages, the model %d: %v", t, got.ActiveMessages, want.ActiveMessages, err)
			}
		}
	}
	for _, db := range e.dbs {
		got, err := db.Namespaces(context.Background())
		if err != nil {
			r.Fatalf("namespaces: %v", err)
		}
		compare(r, "namespaces", got, names)
		h, err := db.Health(context.Background(), convmem.HealthRequest{})
		if err != nil || h.Status != convmem.HealthOK {
			r.Fatalf("health: %s, %v", h.LastError, err)
		}
		compare(r, "deleted messages and update records of all", []int64{h.DeletedMessages, h.UpdateRecords}, []int64{deleted, updates})
	}
}
