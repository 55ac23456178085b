package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// run is a client that pages through the sessions as they were at a moment.
type run struct {
	horizon ulid.ULID
	seq     uint64
	order   []string // as it was at the moment
	ended   map[string]bool
	at      ranked // the last pair seen
	seen    []string
}

// logged is a record of the log that an index is filled from.
type logged struct {
	seq     uint64
	doc     Doc
	deleted bool
}

// pagingWorld is an index under change and the clients that page through it.
type pagingWorld struct {
	ix       *Index
	m        *model
	log      []logged
	seq      uint64 // of the last record
	lastPut  map[ulid.ULID]uint64
	greatest int // time of the newest id ever made
	runs     []*run
	// Runs from before the last compaction end with a restart, which forgets
	// the deletions that the log no longer tells.
	compacted uint64
}

// Whatever happens between two pages (writes, imports of old messages, updates,
// deletions, rebuilds, restarts), a client sees the sessions of the moment in
// their order then, each once, less those that ended.
func TestSessionsUnderChange(t *testing.T) {
	pages, moved, restarted := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := &pagingWorld{ix: New(Standard()), m: newModel(), lastPut: map[ulid.ULID]uint64{}}
		t.Repeat(map[string]func(*rapid.T){
			"write":   w.write,
			"import":  w.importOld,
			"update":  w.update,
			"delete":  w.delete,
			"rebuild": w.rebuild,
			"begin":   w.begin,
			"restart": func(t *rapid.T) {
				w.restart()
				restarted += len(w.runs)
			},
			"page": func(t *rapid.T) {
				if r := w.draw(t); r != nil {
					pages++
					w.page(t, r)
				}
			},
		})
		for _, r := range w.runs {
			if !slices.Equal(r.order, rankSessions(w.m.sessionsOf())) {
				moved++
			}
			for w.page(t, r) {
			}
		}
	})
	t.Logf("%d pages, %d runs over an order that changed, %d over a restart", pages, moved, restarted)
	if pages == 0 || moved == 0 || restarted == 0 {
		t.Error("nothing was paged through")
	}
}

func (w *pagingWorld) put(id ulid.ULID, session string, imported bool) {
	w.seq++
	d := Doc{ID: id, Session: session, Content: "x", Imported: imported}
	w.ix.Put(w.seq, d)
	w.log = append(w.log, logged{seq: w.seq, doc: d})
	w.m.docs[id] = d
	w.lastPut[id] = w.seq
}

func (w *pagingWorld) session(t *rapid.T) string {
	return rapid.SampledFrom(sessionNames).Draw(t, "session")
}

func (w *pagingWorld) write(t *rapid.T) {
	w.greatest += rapid.IntRange(0, 1).Draw(t, "ms later")
	w.put(makeID(w.greatest, int(w.seq)+1), w.session(t), false)
}

func (w *pagingWorld) importOld(t *rapid.T) {
	if w.greatest > 0 {
		ms := rapid.IntRange(0, w.greatest-1).Draw(t, "ms")
		w.put(makeID(ms, int(w.seq)+1), w.session(t), true)
	}
}

func (w *pagingWorld) drawLive(t *rapid.T) (ulid.ULID, bool) {
	ids := w.m.ids("")
	if len(ids) == 0 {
		return ulid.ULID{}, false
	}
	return rapid.SampledFrom(ids).Draw(t, "id"), true
}

func (w *pagingWorld) update(t *rapid.T) {
	if id, ok := w.drawLive(t); ok {
		w.put(id, w.m.docs[id].Session, w.m.docs[id].Imported)
	}
}

func (w *pagingWorld) delete(t *rapid.T) {
	id, ok := w.drawLive(t)
	if !ok {
		return
	}
	session := w.m.docs[id].Session
	w.seq++
	w.ix.Delete(w.seq, id)
	w.log = append(w.log, logged{seq: w.seq, doc: Doc{ID: id}, deleted: true})
	delete(w.m.docs, id)
	if len(w.m.ids(session)) == 0 {
		for _, r := range w.runs {
			r.ended[session] = true
		}
	}
}

// rebuild fills a fresh index from live records, in the order of their ids or
// of their last change, and lets it inherit before or after that.
func (w *pagingWorld) rebuild(t *rapid.T) {
	ids := w.m.ids("")
	if rapid.Bool().Draw(t, "by record") {
		slices.SortFunc(ids, func(a, b ulid.ULID) int { return int(w.lastPut[a]) - int(w.lastPut[b]) })
	}
	w.log, w.compacted = nil, w.seq
	for _, id := range ids {
		w.log = append(w.log, logged{seq: w.lastPut[id], doc: w.m.docs[id]})
	}
	fresh := New(Standard())
	before := rapid.Bool().Draw(t, "inherit first")
	if before {
		inherit(fresh, w.ix)
	}
	w.replay(fresh)
	if !before {
		inherit(fresh, w.ix)
	}
	w.ix = fresh
}

func (w *pagingWorld) replay(ix *Index) {
	for _, r := range w.log {
		if r.deleted {
			ix.Delete(r.seq, r.doc.ID)
		} else {
			ix.Put(r.seq, r.doc)
		}
	}
}

// restart fills a fresh index from the log alone.
func (w *pagingWorld) restart() {
	w.runs = slices.DeleteFunc(w.runs, func(r *run) bool { return r.seq < w.compacted })
	w.ix = New(Standard())
	w.replay(w.ix)
}

func (w *pagingWorld) begin(t *rapid.T) {
	w.runs = append(w.runs, &run{
		horizon: w.ix.LastID(), seq: w.seq,
		order: rankSessions(w.m.sessionsOf()), ended: map[string]bool{},
	})
}

func (w *pagingWorld) draw(t *rapid.T) *run {
	if len(w.runs) == 0 {
		return nil
	}
	return rapid.SampledFrom(w.runs).Draw(t, "run")
}

// page reads a few sessions and says whether there were any.
func (w *pagingWorld) page(t *rapid.T, r *run) bool {
	size := rapid.IntRange(1, 3).Draw(t, "size")
	var want, got []string
	for _, name := range r.order {
		if len(want) < size && !r.ended[name] && !slices.Contains(r.seen, name) && w.behind(r, name) {
			want = append(want, name)
		}
	}
	for name, activity := range w.ix.Sessions(r.horizon, r.seq, r.at.activity, r.at.name) {
		got = append(got, name)
		r.at = ranked{name, activity}
		if len(got) == size {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("page after %v of %v: %s", r.seen, r.order, diff)
	}
	r.seen = append(r.seen, got...)
	return len(got) > 0
}

// behind says whether a session comes after all that were seen.
func (w *pagingWorld) behind(r *run, name string) bool {
	at := slices.Index(r.order, name)
	for _, seen := range r.seen {
		if slices.Index(r.order, seen) > at {
			return false
		}
	}
	return true
}

func TestSessionsOrder(t *testing.T) {
	ix := New(Standard())
	for i, d := range []struct {
		session string
		ms      int
	}{{"b", 5}, {"a", 5}, {"old", 1}, {"new", 9}, {"old", 3}} {
		ix.Put(uint64(i+1), Doc{ID: makeID(d.ms, i+1), Session: d.session, Imported: d.ms < 5})
	}
	tests := []struct {
		name    string
		horizon ulid.ULID
		seq     uint64
		after   ranked
		want    string
	}{
		{"all", ix.LastID(), 5, ranked{}, "[new@9 a@5 b@5 old@3]"},
		{"after one of a millisecond", ix.LastID(), 5, ranked{"a", 5}, "[b@5 old@3]"},
		{"after a name that is gone", ix.LastID(), 5, ranked{"aa", 5}, "[b@5 old@3]"},
		{"before the import of a newer message", ix.LastID(), 4, ranked{}, "[new@9 a@5 b@5 old@1]"},
		{"before the newest session", makeID(5, 2), 3, ranked{}, "[a@5 b@5 old@1]"},
		{"a horizon below what was live", makeID(4, 0), 5, ranked{}, "[old@3]"},
		{"nothing yet", ulid.ULID{}, 0, ranked{}, "[]"},
		{"at the end", ix.LastID(), 5, ranked{"old", 3}, "[]"},
		{"a time no id has", ix.LastID(), 5, ranked{"x", 1 << 60}, "[new@9 a@5 b@5 old@3]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := []string{}
			for name, activity := range ix.Sessions(test.horizon, test.seq, test.after.activity, test.after.name) {
				got = append(got, fmt.Sprintf("%s@%d", name, activity))
			}
			if fmt.Sprint(got) != test.want {
				t.Errorf("got %v, want %s", got, test.want)
			}
		})
	}
}

// An update, a rebuild and a restart between two pages move nothing: that a
// message existed follows from its id, not from its only record.
func TestSessionsAfterRebuildAndRestart(t *testing.T) {
	before := New(Standard())
	before.Put(1, Doc{ID: makeID(1, 1), Session: "a"})
	before.Put(2, Doc{ID: makeID(2, 1), Session: "b"})
	horizon, moment := before.LastID(), uint64(2)
	after := New(Standard())
	after.Put(2, Doc{ID: makeID(2, 1), Session: "b"})
	after.Put(9, Doc{ID: makeID(1, 1), Session: "a", Summary: "updated"})
	var got []string
	for name := range after.Sessions(horizon, moment, 0, "") {
		got = append(got, name)
	}
	if diff := cmp.Diff([]string{"b", "a"}, got); diff != "" {
		t.Error(diff)
	}
}

// After a rebuild a session stands where it stood for a client that began
// before its newest message was deleted, and where it stands now for others.
func TestRestorePast(t *testing.T) {
	old := New(Standard())
	old.Put(1, Doc{ID: makeID(1, 1), Session: "a"})
	old.Put(2, Doc{ID: makeID(2, 1), Session: "b"})
	old.Put(3, Doc{ID: makeID(3, 1), Session: "a"})
	old.Delete(4, makeID(3, 1))
	fill := func(ix *Index) {
		ix.Put(1, Doc{ID: makeID(1, 1), Session: "a"})
		ix.Put(2, Doc{ID: makeID(2, 1), Session: "b"})
	}
	forgetful := *old
	forgetful.past.older, forgetful.past.recent = old.past.recent, graves{}
	tests := []struct {
		name    string
		prepare func(*Index)
	}{
		{"into a filled index", func(ix *Index) { fill(ix); inherit(ix, old) }},
		{"into an empty index", func(ix *Index) { inherit(ix, old); fill(ix) }},
		{"twice", func(ix *Index) { fill(ix); inherit(ix, old); inherit(ix, old) }},
		{"over two rebuilds", func(ix *Index) {
			between := New(Standard())
			fill(between)
			inherit(between, old)
			fill(ix)
			inherit(ix, between)
		}},
		{"deletions of long ago", func(ix *Index) { fill(ix); inherit(ix, &forgetful) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := New(Standard())
			test.prepare(ix)
			for seq, want := range map[uint64][]string{3: {"a", "b"}, 4: {"b", "a"}} {
				var got []string
				for name := range ix.Sessions(makeID(3, 1), seq, 0, "") {
					got = append(got, name)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("at record %d: %s", seq, diff)
				}
			}
		})
	}
}

// Old deletions are forgotten, recent ones are not.
func TestDeletionsAreBounded(t *testing.T) {
	withoutRaceDetector(t)
	ix := New(Standard())
	ix.Put(1, Doc{ID: makeID(1, 0), Session: "s"})
	seq := uint64(1)
	for i := range 2*rememberedDeletions + 100 {
		seq += 2
		id := makeID(i+2, 0)
		ix.Put(seq-1, Doc{ID: id, Session: "s"})
		ix.Delete(seq, id)
	}
	kept := 0
	for _, g := range []graves{ix.past.recent, ix.past.older} {
		if list := g["s"]; list != nil {
			kept += list.length
		}
	}
	if kept < rememberedDeletions || kept > 2*rememberedDeletions {
		t.Errorf("%d deletions kept", kept)
	}
	// The moment before the first of the deletions that must be known.
	moment := seq - 2*(rememberedDeletions-1) - 1
	for _, activity := range ix.Sessions(makeID(1<<40, 0), moment, 0, "") {
		if activity == 1 {
			t.Error("a recent deletion is forgotten")
		}
	}
}

// inherit makes ix go on from old, as after a rebuild.
func inherit(ix, old *Index) {
	if err := ix.RestorePast(old.AppendPast(nil)); err != nil {
		panic(err)
	}
}
