package main

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var long = flag.Bool("long", false, "more writes and more kills of the servers that share a directory")

// TestEightServersShareOneDirectory gives eight servers work at the same time:
// messages of their own, updates and deletes that only one of them can win, and
// rebuilds in between. Nothing is lost, done twice or seen late.
func TestEightServersShareOneDirectory(t *testing.T) {
	const servers = 8
	writes := 40
	if *long {
		writes = 200
	}
	p, dir := build(t), t.TempDir()
	first := p.start(t, dir)
	l := newLedger(t, first.server, 3, writes/5)
	first.close(t)

	workers := make([]*worker, servers)
	for i := range workers {
		workers[i] = newWorker(t.Context(), p, dir, l, i, false)
	}
	inParallel(t, workers, func(w *worker) error {
		if err := w.start(); err != nil {
			return err
		}
		for n := range writes {
			if w.number%4 == 0 && n == writes*(w.number+4)/16 {
				if err := w.rebuild(); err != nil {
					return err
				}
			}
			if err := w.round(n); err != nil {
				return err
			}
		}
		return nil
	})
	checkAll(t, p, dir, l, workers)
	if l.tally["acknowledged writes"] != servers*writes || l.tally["rebuilds"] == 0 || l.tally["winners"] == 0 || l.tally["losers"] == 0 {
		t.Errorf("the work was not done: %v", l.tally)
	}
}

// inParallel runs a function for each worker and waits for all of them. It ends
// the test when one fails.
func inParallel(t *testing.T, workers []*worker, run func(*worker) error) {
	t.Helper()
	var group sync.WaitGroup
	for _, w := range workers {
		group.Go(func() {
			if err := run(w); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// checkAll: every server shows the same, and so does a new one, and it is what
// the ledger says. Then all end, and so does the test.
func checkAll(t *testing.T, p program, dir string, l *ledger, workers []*worker) {
	t.Helper()
	fresh := p.start(t, dir)
	shared, contended := fresh.history(t, sharedSession), fresh.history(t, contendedSession)
	l.check(t, shared, contended)
	l.report(t)
	all := []*server{fresh.server}
	for _, w := range workers {
		all = append(all, w.server)
	}
	for i, s := range all {
		if diff := cmp.Diff(shared, s.history(t, sharedSession)) + cmp.Diff(contended, s.history(t, contendedSession)); diff != "" {
			t.Errorf("server %d shows something else than a new one (-new +server):\n%s", i-1, diff)
		}
		checkSearch(t, s, l, shared)
		health := s.must(t, "get_system_health", arguments{})
		if health.Status != "OK" || health.LastError != "" || health.ActiveMessages != len(shared)+len(contended) {
			t.Errorf("health of server %d: %v, %q, %d messages; stored are %d and %d",
				i-1, health, health.LastError, health.ActiveMessages, len(shared), len(contended))
		}
	}
	for _, s := range all {
		s.close(t)
	}
	checkFiles(t, dir)
}

// checkSearch looks for some of the messages, those deleted too.
func checkSearch(t *testing.T, s *server, l *ledger, shared []stored) {
	t.Helper()
	live := texts(shared)
	for i, content := range slices.Sorted(maps.Keys(l.written)) {
		if i%(len(l.written)/8) != 0 {
			continue
		}
		found := s.search(t, content)
		if want := slices.Contains(live, content); want != slices.Contains(found, content) || want && found[0] != content {
			t.Errorf("stored %t: %.40q; a search for it finds %.40q", want, content, found)
		}
	}
}

// checkFiles: what is left when nobody has a store open. The first rebuild makes
// MAINT.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	names := slices.Sorted(maps.Keys(contents(t, dir)))
	want := regexp.MustCompile(`^LOCK( MAINT)? convmem-[0-9a-f]{16}\.log( convmem\.snap)?$`)
	if !want.MatchString(strings.Join(names, " ")) {
		t.Errorf("the directory holds %q", names)
	}
}

// TestMessageOfOneServerIsFoundByAnother changes the store through one server
// and looks at it through another, which has the old state in memory: its next
// call shows the new one.
func TestMessageOfOneServerIsFoundByAnother(t *testing.T) {
	t.Parallel()
	p, dir := build(t), t.TempDir()
	a, b := p.start(t, dir).server, p.start(t, dir).server
	heron, kingfisher, plover := "a heron stands in the reed", "a kingfisher dives", "the plover keeps running"
	// Both look, in both ways, after every change.
	look := func(after string, want ...string) {
		t.Helper()
		for name, s := range map[string]*server{"a": a, "b": b} {
			if diff := cmp.Diff(want, s.contents(t), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("after %s %s reads (-want +got):\n%s", after, name, diff)
			}
			for _, content := range []string{heron, kingfisher, plover} {
				if diff := cmp.Diff(slices.DeleteFunc(slices.Clone(want), func(s string) bool { return s != content }), s.search(t, strings.Fields(content)[1]), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("after %s %s finds for %q (-want +got):\n%s", after, name, content, diff)
				}
			}
		}
	}
	look("starting")
	m := a.write(t, heron)
	look("a write of a", heron)
	b.write(t, plover)
	look("a write of b", heron, plover)
	a.must(t, "update_message", arguments{"message_id": m.ID, "content": kingfisher, "expected_revision": 1})
	look("an update of a", kingfisher, plover)
	b.must(t, "update_message", arguments{"message_id": m.ID, "content": heron, "expected_revision": 2})
	look("an update of b", heron, plover)
	a.must(t, "rebuild_index", arguments{})
	look("a rebuild of a", heron, plover)
	a.must(t, "delete_message", arguments{"message_id": m.ID})
	look("a deletion of a", plover)
	if again := b.must(t, "delete_message", arguments{"message_id": m.ID}); again.Status != "NOT_FOUND" {
		t.Errorf("b deletes what a has deleted: %v", again)
	}
	b.must(t, "rebuild_index", arguments{})
	look("a rebuild of b", plover)
	a.write(t, kingfisher)
	b.write(t, heron)
	look("writes of both", plover, kingfisher, heron)
	checkPassedOn(t, a, b)
	a.close(t)
	b.close(t)
	checkFiles(t, dir)
}

// checkPassedOn: what one server hands out is good for the other.
func checkPassedOn(t *testing.T, a, b *server) {
	t.Helper()
	args := newMessage("written once")
	args["idempotency_key"] = "k"
	first, again := a.must(t, "write_message", args), b.must(t, "write_message", args)
	if first.Replayed || !again.Replayed || first.Message != again.Message {
		t.Errorf("one key with two servers: %v, then %v", first, again)
	}
	page := arguments{"session_id": sharedSession, "limit": 1}
	one := a.must(t, "read_messages", page)
	page["cursor"] = one.NextCursor
	two := b.must(t, "read_messages", page)
	if diff := cmp.Diff(a.contents(t)[:2], append(texts(one.History), texts(two.History)...)); diff != "" {
		t.Errorf("two pages from two servers (-want +got):\n%s", diff)
	}
}

// TestFiveServersStartAtOnce starts servers together where there is no store
// yet. They make one, and all of them work on it.
func TestFiveServersStartAtOnce(t *testing.T) {
	t.Parallel()
	p := build(t)
	for round := range 10 {
		dir := filepath.Join(t.TempDir(), "made", "on demand")
		workers, want := make([]*worker, 5), []string{}
		for i := range workers {
			workers[i] = &worker{number: i, ctx: t.Context(), program: p, dir: dir}
			want = append(want, fmt.Sprint("first words of server ", i))
		}
		inParallel(t, workers, func(w *worker) error {
			if err := w.start(); err != nil {
				return err
			}
			a, err := w.server.call("write_message", newMessage(want[w.number]))
			if err == nil && a.Status != "OK" {
				err = fmt.Errorf("server %d: %v", w.number, a)
			}
			return err
		})
		for _, w := range workers {
			got := w.server.contents(t)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("round %d, server %d shows (-want +got):\n%s", round, w.number, diff)
			}
		}
		for _, w := range workers {
			w.server.close(t)
		}
		checkFiles(t, dir)
	}
}
