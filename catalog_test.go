package convmem

import (
	"slices"
	"strings"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/store"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

// numbered makes the id number n of a test, each of another millisecond.
func numbered(n byte) ulid.ULID { return ulid.ULID{4: 1, 5: n} }

// put makes a log record of message n. Tests change the copy in r.
func put(sequence uint64, n byte, change func(r *record)) store.Record {
	r := WriteRequest{SessionID: "s", Role: RoleUser, Content: "content"}.draft("")
	r.id = numbered(n)
	r.message.UpdatedAt = fromUnixMilli(int64(r.id.Time()))
	if change != nil {
		change(&r)
	}
	return store.Record{ID: r.id, Seq: sequence, Payload: r.encode()}
}

func deletion(sequence uint64, n byte) store.Record {
	return store.Record{ID: numbered(n), Seq: sequence, Deleted: true}
}

func revision(n int64) func(*record) { return func(r *record) { r.message.Revision = n } }

func keyed(key string) func(*record) {
	return func(r *record) { r.key, r.fingerprint = key, strings.Repeat("f", fingerprintSize) }
}

func TestCatalogInvariants(t *testing.T) {
	in := func(namespace string) func(*record) { return func(r *record) { r.namespace = namespace } }
	for _, c := range []struct {
		name    string
		records []store.Record
		refusal string // of the last record, "" for none
	}{
		{"first revision", []store.Record{put(1, 1, nil)}, ""},
		{"first record of a rebuilt log", []store.Record{put(1, 1, revision(17)), put(2, 1, revision(18))}, ""},
		{"next revision", []store.Record{put(1, 1, nil), put(2, 1, revision(2)), put(3, 1, revision(3))}, ""},
		{"same revision", []store.Record{put(1, 1, nil), put(2, 1, nil)}, "revision 1 follows revision 1"},
		{"revision left out", []store.Record{put(1, 1, nil), put(2, 1, revision(3))}, "revision 3 follows revision 1"},
		{"revision back", []store.Record{put(1, 1, revision(5)), put(2, 1, revision(4))}, "revision 4 follows revision 5"},
		{"again after a deletion", []store.Record{put(1, 1, revision(5)), deletion(2, 1), put(3, 1, revision(9))}, ""},
		{"other session", []store.Record{put(1, 1, nil), put(2, 1, func(r *record) {
			r.message.Revision, r.message.SessionID = 2, "t"
		})}, "moved to another session"},
		{"other namespace", []store.Record{put(1, 1, nil), put(2, 1, func(r *record) {
			r.message.Revision, r.namespace = 2, "n"
		})}, "moved to another namespace"},
		{"back to the namespace without a name", []store.Record{put(1, 1, in("n")), put(2, 1, revision(2))}, "moved to another namespace"},
		{"same namespace", []store.Record{put(1, 1, in("n")), put(2, 1, func(r *record) {
			r.message.Revision, r.namespace = 2, "n"
		})}, ""},
		{"undecodable", []store.Record{{ID: numbered(1), Seq: 1, Payload: []byte("\x03\x01\x09")}}, "field 3: 9 names no value"},
		{"breaks a rule of messages", []store.Record{{ID: numbered(1), Seq: 1, Payload: []byte("\x02\x01s\x00\xff")}}, "content: not valid UTF-8"},
		{"deletion of nothing", []store.Record{deletion(1, 1)}, "does not exist"},
		{"deletion twice", []store.Record{put(1, 1, nil), deletion(2, 1), deletion(3, 1)}, "does not exist"},
		{"deletion in a namespace", []store.Record{put(1, 1, in("n")), deletion(2, 1)}, ""},
		{"deletion twice in a namespace", []store.Record{put(1, 1, in("n")), deletion(2, 1), deletion(3, 1)}, "does not exist"},
		{"key kept", []store.Record{put(1, 1, keyed("k")), put(2, 1, func(r *record) { keyed("k")(r); r.message.Revision = 2 })}, ""},
		{"key used twice", []store.Record{put(1, 1, keyed("k")), put(2, 2, keyed("k"))}, "same idempotency key"},
		{"key used again after a deletion", []store.Record{put(1, 1, keyed("k")), deletion(2, 1), put(3, 2, keyed("k"))}, ""},
		{"key used in another namespace", []store.Record{put(1, 1, keyed("k")), put(2, 2, func(r *record) { keyed("k")(r); r.namespace = "n" })}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			catalog := newCatalog(index.Standard())
			last := len(c.records) - 1
			for _, r := range c.records[:last] {
				if err := catalog.Apply(r); err != nil {
					t.Fatalf("record %d: %v", r.Seq, err)
				}
			}
			err := catalog.Apply(c.records[last])
			if c.refusal == "" && err != nil || c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)) {
				t.Errorf("the last record: %v, want %q", err, c.refusal)
			}
		})
	}
}

func apply(t *testing.T, c *catalog, records ...store.Record) {
	t.Helper()
	for _, r := range records {
		if err := c.Apply(r); err != nil {
			t.Fatalf("record %d: %v", r.Seq, err)
		}
	}
}

// TestNamespacesAreApart puts the same session into two namespaces.
func TestNamespacesAreApart(t *testing.T) {
	c := newCatalog(index.Standard())
	tenant := func(r *record) { r.namespace = "tenant" }
	apply(t, c, put(1, 1, nil), put(2, 2, tenant), put(3, 3, tenant), put(4, 4, nil), deletion(5, 3))
	for namespace, want := range map[string][]ulid.ULID{
		"": {numbered(1), numbered(4)}, "tenant": {numbered(2)}, "nobody": nil,
	} {
		got := slices.Collect(c.space(namespace).index.History("s", ulid.ULID{}, false))
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("namespace %q (-want +got):\n%s", namespace, diff)
		}
	}
	if n := len(c.spaces); n != 2 {
		t.Errorf("reading has made %d namespaces", n)
	}
}

// TestCatalogForgetsTheDeleted looks for anything that a deletion leaves behind.
func TestCatalogForgetsTheDeleted(t *testing.T) {
	c := newCatalog(index.Standard())
	everything := func(r *record) { keyed("k")(r); r.message.Revision, r.namespace = 7, "n" }
	apply(t, c, put(1, 1, everything), deletion(2, 1))
	s := c.space("n")
	if n := len(c.elsewhere) + len(s.revisions) + len(s.keys) + len(s.byKey) + s.index.Len(); n != 0 || s.memory() != 0 {
		t.Errorf("%d entries and %d bytes are left of a deleted message", n, s.memory())
	}
}

// TestCatalogAfterARebuild pages through sessions across a rebuild that removed
// the trace of a deletion.
func TestCatalogAfterARebuild(t *testing.T) {
	session := func(name string) func(*record) { return func(r *record) { r.message.SessionID = name } }
	old := newCatalog(index.Standard())
	apply(t, old, put(1, 1, session("a")), put(2, 2, session("b")), put(3, 3, session("a")))
	horizon, sequence := old.space("").index.LastID(), old.sequence
	apply(t, old, deletion(4, 3))

	rebuilt := newCatalog(index.Standard())
	apply(t, rebuilt, put(1, 1, session("a")), put(2, 2, session("b")))
	if err := rebuilt.Receive(old.past()); err != nil {
		t.Fatal(err)
	}
	if rebuilt.sequence != old.sequence {
		t.Errorf("sequence %d after %d", rebuilt.sequence, old.sequence)
	}
	names := func(c *catalog) (names []string) {
		for name := range c.space("").index.Sessions(horizon, sequence, 0, "") {
			names = append(names, name)
		}
		return names
	}
	want := []string{"a", "b"} // a was the last to be written to, then
	if diff := gocmp.Diff([][]string{want, want}, [][]string{names(old), names(rebuilt)}); diff != "" {
		t.Errorf("sessions as of the first page, before and after the rebuild (-want +got):\n%s", diff)
	}
}
