package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"example.com/convmem"
	"pgregory.net/rapid"
)

// RunRandom does the same random things to a store and to a [Model] and
// compares every answer: writes, updates, deletes, batches, payloads, pages of every view that are
// taken up again later, searches for marked words, rebuilds, restarts, a clock
// that steps back. A failure comes with the shortest sequence that package
// rapid finds; its -rapid.checks flag says how many sequences are tried.
func RunRandom(t *testing.T, f Factory) { runRandom(t, f) }

func runRandom(t testing.TB, f Factory) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, r, f)
		actions := w.actions()
		for range 5 {
			w.writeSomething(r)
		}
		r.Repeat(map[string]func(*rapid.T){
			"step": func(r *rapid.T) { choose(r, "action", actions...).do(r) },
			"":     w.compareHealth,
		})
	})
}

// action is one thing to do. Its name is what a failing sequence shows.
type action struct {
	name string
	do   func(*rapid.T)
}

func (a action) String() string { return a.name }

// actions lists what can happen, several times where it shall happen more often.
func (w *world) actions() []action {
	write, update, remove := action{"write", w.writeSomething}, action{"update", w.updateSomething}, action{"delete", w.deleteSomething}
	history, page := action{"history", w.beginHistory}, action{"page", w.nextPage}
	sessions, context, search := action{"sessions", w.beginSessions}, action{"context", w.readContext}, action{"search", w.searchSomething}
	all := []action{
		write, write, write, write, update, update, update, remove,
		history, page, page, page, sessions, context, context, search, search, search,
		{"rebuild", w.rebuildBoth}, {"reopen", w.reopenStore}, {"clock", w.moveClock},
	}
	if _, ok := w.subject.Store.(convmem.BatchWriter); ok {
		all = append(all, action{"write batch", w.writeSeveral}, action{"write batch", w.writeSeveral})
	}
	if _, ok := w.subject.Store.(convmem.SessionDeleter); ok {
		all = append(all, action{"delete session", w.deleteSomeSession})
	}
	return all
}

// choose draws one of the values, each as likely as the others: what package
// rapid draws by itself is mostly the first.
func choose[T any](r *rapid.T, label string, values ...T) T {
	return rapid.Custom(func(r *rapid.T) T {
		n := 0
		for range 12 {
			n <<= 1
			if rapid.Bool().Draw(r, "bit") {
				n++
			}
		}
		return values[n%len(values)]
	}).Draw(r, label)
}

// oneIn is true once in n times.
func oneIn(r *rapid.T, n int, label string) bool {
	return choose(r, label, distinct(n, func(i int) bool { return i == n-1 })...)
}

// scope is the testing.TB that a factory gets within one random sequence: it
// fails the sequence, and what it cleans up is cleaned up when that ends.
type scope struct {
	testing.TB
	r *rapid.T
}

func (s scope) Cleanup(f func())          { s.r.Cleanup(f) }
func (s scope) Context() context.Context  { return s.r.Context() }
func (s scope) Helper()                   { s.r.Helper() }
func (s scope) Fail()                     { s.r.Fail() }
func (s scope) FailNow()                  { s.r.FailNow() }
func (s scope) Failed() bool              { return s.r.Failed() }
func (s scope) Error(args ...any)         { s.r.Error(args...) }
func (s scope) Errorf(f string, a ...any) { s.r.Errorf(f, a...) }
func (s scope) Fatal(args ...any)         { s.r.Fatal(args...) }
func (s scope) Fatalf(f string, a ...any) { s.r.Fatalf(f, a...) }
func (s scope) Log(args ...any)           { s.r.Log(args...) }
func (s scope) Logf(f string, a ...any)   { s.r.Logf(f, a...) }

// world is a store and a Model that have been through the same.
type world struct {
	scope
	clock   *clock
	subject Subject
	model   *Model

	// created holds the ids of every message ever written, in order. The
	// two stores draw their ids at random, so requests are made with the
	// Model's ids and translated, and so are answers on the way back.
	created   []pair
	toSubject map[string]string
	toModel   map[string]string

	runs []run
	last int64 // the store's last sequence

	// foreign lists ids that somebody else's messages have, who uses the same
	// files.
	foreign []string
}

// pair is a message's two ids.
type pair struct{ subject, model string }

// run is a series of pages that is under way.
type run struct {
	request                convmem.ReadRequest // history or sessions, without cursor
	subjectNext, modelNext string
}

func newWorld(t testing.TB, r *rapid.T, f Factory) *world {
	w := &world{
		scope: scope{TB: t, r: r}, clock: &clock{now: time.UnixMilli(1_750_000_000_000)},
		toSubject: map[string]string{}, toModel: map[string]string{},
	}
	w.model = NewModel(Config{Now: w.clock.Now})
	w.subject = f(w.scope, Config{Now: w.clock.Now})
	return w
}

func (w *world) ctx() context.Context { return context.Background() }

// outcome is what is compared of an error. Not the field: a random request may
// be wrong in several, and nothing says which is looked at first.
type outcome struct {
	Code     convmem.Code
	Revision int64
}

// compareErrors ends the sequence unless both calls failed alike, and reports
// whether they succeeded.
func compareErrors(r *rapid.T, what string, got, want error) bool {
	if outcomeOf(got) != outcomeOf(want) {
		r.Fatalf("%s: got error %v, the model says %v", what, got, want)
	}
	return want == nil
}

// outcomeOf picks what is compared of an error.
func outcomeOf(err error) outcome {
	var coded *convmem.Error
	if !errors.As(err, &coded) {
		return outcome{Code: convmem.CodeOf(err)}
	}
	return outcome{Code: coded.Code, Revision: coded.Revision}
}

// compare ends the sequence unless the store's answer is the Model's.
func compare[T any](r *rapid.T, what string, got, want T) {
	if diff := difference(got, want); diff != "" {
		r.Fatalf("%s (-model +store):\n%s", what, diff)
	}
}

// translated is id in the other store's terms; what neither knows stays.
func translated(id string, table map[string]string) string {
	if other, ok := table[id]; ok {
		return other
	}
	return id
}

// translateIDs returns a copy of a list with the ids translated.
func translateIDs(list []string, table map[string]string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = translated(list[i], table)
	}
	return list
}

func translateRelations(list []convmem.Relation, table map[string]string) []convmem.Relation {
	list = slices.Clone(list)
	for i := range list {
		list[i].MessageID = translated(list[i].MessageID, table)
	}
	return list
}

// patchFor translates a patch for the store.
func (w *world) patchFor(p convmem.MetadataPatch) convmem.MetadataPatch {
	p.Relations = translateRelations(p.Relations, w.toSubject)
	p.SourceMessageIDs = translateIDs(p.SourceMessageIDs, w.toSubject)
	return p
}

// seen translates a message from the store.
func (w *world) seen(m convmem.Message) convmem.Message {
	m.ID = translated(m.ID, w.toModel)
	m.Metadata.Relations = translateRelations(m.Metadata.Relations, w.toModel)
	m.Metadata.SourceMessageIDs = translateIDs(m.Metadata.SourceMessageIDs, w.toModel)
	return m
}

func (w *world) seenAll(list []convmem.Message) []convmem.Message {
	var all []convmem.Message
	for _, m := range list {
		all = append(all, w.seen(m))
	}
	return all
}

// moveClock lets time pass, stand still or go back.
func (w *world) moveClock(r *rapid.T) {
	ms := choose(r, "ms", 1, 1, 2, 10, 1000, 3_600_000, -1, -5000)
	w.clock.step(time.Duration(ms) * time.Millisecond)
}

func (w *world) rebuildBoth(r *rapid.T) {
	got, err := w.subject.Store.Rebuild(w.ctx(), convmem.RebuildRequest{})
	want, modelErr := w.model.Rebuild(w.ctx(), convmem.RebuildRequest{})
	if compareErrors(r, "rebuild", err, modelErr) {
		compare(r, "messages indexed", got.MessagesIndexed, want.MessagesIndexed)
	}
}

// reopenStore begins the store's next life. The Model has only one.
func (w *world) reopenStore(r *rapid.T) {
	if w.subject.Reopen == nil {
		r.Skip("the store cannot be reopened")
	}
	w.subject.Store = w.subject.Reopen()
}

// compareHealth runs after every step.
func (w *world) compareHealth(r *rapid.T) {
	got, err := w.subject.Store.Health(w.ctx(), convmem.HealthRequest{})
	want, modelErr := w.model.Health(w.ctx(), convmem.HealthRequest{})
	if !compareErrors(r, "health", err, modelErr) {
		return
	}
	compare(r, "active, deleted, update records", counts(got), counts(want))
	if got.LastSequence < w.last || got.Status != convmem.HealthOK {
		r.Fatalf("health: last sequence %d after %d, status %s: %s", got.LastSequence, w.last, got.Status, got.LastError)
	}
	w.last = got.LastSequence
}

// someID draws the id of a message that lives or is deleted, and sometimes one
// that never was.
func (w *world) someID(r *rapid.T) string {
	strangers := []pair{{model: extremeIDs()[0]}, {model: extremeIDs()[1]}}
	if len(w.foreign) > 0 && oneIn(r, 4, "foreign") {
		return choose(r, "foreign", w.foreign...)
	}
	if len(w.created) == 0 || oneIn(r, 12, "stranger") {
		return choose(r, "stranger", strangers...).model
	}
	return choose(r, "message", w.created...).model
}

func someSession(r *rapid.T) string {
	return choose(r, "session", "session 1", "session 2", "session 3")
}
