package convmem

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/store"
	gocmp "github.com/google/go-cmp/cmp"
)

// sectionsOf writes the sections of a snapshot.
func sectionsOf(t *testing.T, sections []store.Section) map[string][]byte {
	t.Helper()
	contents := map[string][]byte{}
	for _, s := range sections {
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			t.Fatal(err)
		}
		contents[s.Name] = b.Bytes()
	}
	return contents
}

// restored is a new catalog that was given sections of the present versions.
func restored(a index.Analyzer, sections map[string][]byte) (*catalog, bool, error) {
	c := newCatalog(a)
	complete, err := c.Restore(func(name string) (store.SavedSection, bool) {
		b, ok := sections[name]
		return store.SavedSection{Version: 1, Size: int64(len(b)), Data: bytes.NewReader(b)}, ok
	})
	return c, complete, err
}

// savedCatalog has messages with revisions and keys in two namespaces, and a past.
func savedCatalog(t *testing.T) *catalog {
	c := newCatalog(index.Standard())
	in := func(namespace, key string, revision int64) func(*record) {
		return func(r *record) { keyed(key)(r); r.namespace, r.message.Revision = namespace, revision }
	}
	apply(t, c,
		put(1, 1, in("", "k", 1)), put(2, 2, in("", "l", 7)), put(3, 3, nil), put(4, 4, in("n", "k", 1)),
		put(5, 5, in("n", "m", 3)), put(6, 6, nil), deletion(7, 6), put(8, 7, in("n", "o", 2)), deletion(9, 7))
	return c
}

// A catalog comes back with all that it knows, as it was when it was saved, though
// it changed before that was written.
func TestCatalogComesBack(t *testing.T) {
	c, want := savedCatalog(t), savedCatalog(t)
	sections := c.Save()
	apply(t, c, deletion(10, 2), deletion(11, 5), put(12, 1, func(r *record) { keyed("k")(r); r.message.Revision = 2 }),
		put(13, 8, keyed("p")))
	got, complete, err := restored(index.Standard(), sectionsOf(t, sections))
	if err != nil || !complete {
		t.Fatal(complete, err)
	}
	sameCatalogs(t, want, got)
	// It goes on as the other one would.
	more := []store.Record{put(10, 4, func(r *record) { keyed("k")(r); r.namespace, r.message.Revision = "n", 2 }), deletion(11, 5), deletion(12, 1)}
	apply(t, got, more...)
	apply(t, want, more...)
	sameCatalogs(t, want, got)
}

func sameCatalogs(t *testing.T, want, got *catalog) {
	t.Helper()
	if got.sequence != want.sequence || len(got.spaces) != len(want.spaces) {
		t.Errorf("sequence %d, %d namespaces; want %d, %d", got.sequence, len(got.spaces), want.sequence, len(want.spaces))
	}
	names := func(c *catalog) map[string]string {
		names := map[string]string{}
		for id, s := range c.elsewhere {
			names[id.String()] = s.name
		}
		return names
	}
	if diff := gocmp.Diff(names(want), names(got)); diff != "" {
		t.Errorf("messages outside the namespace without a name (-want +got):\n%s", diff)
	}
	for name, w := range want.spaces {
		g := got.space(name)
		if err := g.index.Compare(w.index); err != nil {
			t.Errorf("namespace %q: %v", name, err)
		}
		for _, diff := range []string{
			gocmp.Diff(w.revisions, g.revisions), gocmp.Diff(w.keys, g.keys, gocmp.AllowUnexported(sessionKey{})),
			gocmp.Diff(w.byKey, g.byKey, gocmp.AllowUnexported(sessionKey{})),
			gocmp.Diff(w.index.AppendPast(nil), g.index.AppendPast(nil)),
		} {
			if diff != "" {
				t.Errorf("namespace %q (-want +got):\n%s", name, diff)
			}
		}
	}
}

// What is carried over rebuilds names no namespace that has nothing to remember.
func TestPastNamesFewNamespaces(t *testing.T) {
	c := newCatalog(index.Standard())
	in := func(namespace string) func(*record) { return func(r *record) { r.namespace = namespace } }
	apply(t, c, put(1, 1, in("quiet")), put(2, 2, nil))
	if c.Carry() != nil {
		t.Error("there is nothing to carry over")
	}
	apply(t, c, put(3, 3, in("changed")), put(4, 4, in("changed")), deletion(5, 4))
	if past := c.Carry(); !bytes.Contains(past, []byte("changed")) || bytes.Contains(past, []byte("quiet")) {
		t.Errorf("carried over: %q", past)
	}
}

// An older past that is received takes no record back.
func TestReceiveKeepsTheSequence(t *testing.T) {
	old := savedCatalog(t)
	c := newCatalog(index.Standard())
	apply(t, c, put(20, 1, nil))
	if err := c.Receive(old.past()); err != nil || c.sequence != 20 {
		t.Errorf("sequence %d, %v", c.sequence, err)
	}
}

// What was saved by another version or with another analyzer, or is not there, is
// left alone: the log is read then.
func TestCatalogIsNotRestored(t *testing.T) {
	saved := sectionsOf(t, savedCatalog(t).Save())
	for _, test := range []struct {
		name     string
		versions map[string]uint32
		missing  string
		past     bool // what is known of the past comes back nevertheless
	}{
		{"no history", nil, historySection, false},
		{"no messages", nil, messagesSection, true},
		{"another history", map[string]uint32{historySection: 2, messagesSection: 1}, "", false},
		{"other messages", map[string]uint32{historySection: 1, messagesSection: 2}, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCatalog(index.Standard())
			complete, err := c.Restore(func(name string) (store.SavedSection, bool) {
				version := uint32(1)
				if test.versions != nil {
					version = test.versions[name]
				}
				b := saved[name]
				return store.SavedSection{Version: version, Size: int64(len(b)), Data: bytes.NewReader(b)}, name != test.missing
			})
			if complete || err != nil {
				t.Fatalf("complete %v, %v", complete, err)
			}
			if (c.sequence == 9) != test.past || c.space("").index.HasPast() != test.past {
				t.Errorf("sequence %d, past %v", c.sequence, c.space("").index.HasPast())
			}
		})
	}
	if _, complete, err := restored(foreign{index.Standard()}, saved); complete || err != nil {
		t.Errorf("another analyzer: complete %v, %v", complete, err)
	}
}

// foreign is an analyzer of another name.
type foreign struct{ index.Analyzer }

func (foreign) Name() string { return "foreign" }

// Less or more than what was saved, or something else, is refused.
func TestCatalogOfOtherBytes(t *testing.T) {
	saved := sectionsOf(t, savedCatalog(t).Save())
	other := func(section string, b []byte) map[string][]byte {
		sections := map[string][]byte{historySection: saved[historySection], messagesSection: saved[messagesSection]}
		sections[section] = b
		return sections
	}
	refused := func(name string, sections map[string][]byte) {
		t.Helper()
		if _, complete, err := restored(index.Standard(), sections); complete || err == nil {
			t.Errorf("%s: complete %v, %v", name, complete, err)
		}
	}
	messages := saved[messagesSection]
	for n := range messages {
		refused(fmt.Sprint(n, " bytes of messages"), other(messagesSection, messages[:n]))
	}
	refused("more than messages", other(messagesSection, append(slices.Clone(messages), 0)))
	key := binary.AppendUvarint(nil, 1) // one namespace: its index has no rows
	key = appendBytes(key, []byte("n"))
	key = appendBytes(key, []byte(index.Standard().Name()))
	key = append(key, 0, 0, 0, 0, 0, 0)
	refused("a key of no message", other(messagesSection, append(append(append(key, 1), make([]byte, 16)...), 1, 'k')))
	refused("an endless name", other(messagesSection, append(binary.AppendUvarint([]byte{1}, 1<<62), "n"...)))
	history := saved[historySection]
	short := 0 // that are accepted: whole namespaces are left out
	for n := range history {
		if _, complete, err := restored(index.Standard(), other(historySection, history[:n])); complete == (err != nil) {
			t.Errorf("%d bytes of history: complete %v, %v", n, complete, err)
		} else if complete {
			short++
		}
	}
	if short > 2 {
		t.Errorf("%d of %d beginnings of a history are accepted", short, len(history))
	}
}
