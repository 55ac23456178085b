package convmem

import (
	"strings"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/store"
	"github.com/oklog/ulid/v2"
)

func checkedCatalog(t *testing.T) *catalog {
	t.Helper()
	c := newCatalog(index.Standard())
	in := func(namespace string, change func(*record)) func(*record) {
		return func(r *record) { r.namespace = namespace; change(r) }
	}
	apply(t, c,
		put(1, 1, keyed("secret one")), put(2, 2, keyed("secret two")), put(3, 3, nil), put(4, 4, in("n", keyed("secret three"))),
		put(5, 3, revision(2)), put(6, 5, in("n", revision(7))), put(7, 6, nil), deletion(8, 6), put(9, 7, in("gone", revision(1))))
	return c
}

// TestCatalogCheck breaks one thing that answers depend on after the other.
func TestCatalogCheck(t *testing.T) {
	key := func(key string) sessionKey { return sessionKey{"s", key} }
	for name, breakIt := range map[string]func(*catalog){
		"a message missing":            func(c *catalog) { c.spaces["n"].index.Delete(9, numbered(4)) },
		"a namespace missing":          func(c *catalog) { delete(c.spaces, "n") },
		"a namespace too many":         func(c *catalog) { c.spaces["m"] = c.spaces["n"] },
		"revision":                     func(c *catalog) { c.spaces[""].revisions[numbered(3)]++ },
		"revision missing":             func(c *catalog) { delete(c.spaces[""].revisions, numbered(3)) },
		"revision of another message":  func(c *catalog) { s := c.spaces[""]; delete(s.revisions, numbered(3)); s.revisions[numbered(1)] = 2 },
		"a key missing":                func(c *catalog) { delete(c.spaces[""].keys, numbered(1)) },
		"a key of another message":     func(c *catalog) { c.spaces[""].byKey[key("secret one")] = numbered(2) },
		"a key too many":               func(c *catalog) { c.spaces[""].byKey[key("secret")] = numbered(3) },
		"a key to nowhere":             func(c *catalog) { delete(c.spaces[""].byKey, key("secret one")) },
		"a message of no namespace":    func(c *catalog) { delete(c.elsewhere, numbered(4)) },
		"a message of another one":     func(c *catalog) { c.elsewhere[numbered(4)] = c.spaces["gone"] },
		"a message in a namespace":     func(c *catalog) { c.elsewhere[numbered(1)] = c.spaces["n"] },
		"a message in place of others": func(c *catalog) { delete(c.elsewhere, numbered(4)); c.elsewhere[numbered(1)] = c.spaces["n"] },
	} {
		t.Run(name, func(t *testing.T) {
			good, bad := checkedCatalog(t), checkedCatalog(t)
			if err := good.Check(bad); err != nil {
				t.Fatalf("before: %v", err)
			}
			breakIt(bad)
			for _, err := range []error{bad.Check(good), good.Check(bad)} {
				if err == nil {
					t.Fatal("no difference found")
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("the error repeats a key: %v", err)
				}
			}
		})
	}
}

// A catalog that was filled from a compacted log equals one that lived through
// everything.
func TestCatalogCheckAfterCompaction(t *testing.T) {
	lived, compacted := checkedCatalog(t), newCatalog(index.Standard())
	apply(t, lived, deletion(10, 7)) // "gone" is an empty namespace now
	apply(t, compacted, put(1, 1, keyed("secret one")), put(2, 2, keyed("secret two")), put(5, 3, revision(2)))
	for n, change := range map[byte]func(*record){4: keyed("secret three"), 5: revision(7)} {
		apply(t, compacted, put(uint64(n)+10, n, func(r *record) { r.namespace = "n"; change(r) }))
	}
	var sink store.Checker = lived
	if err := sink.Check(compacted); err != nil {
		t.Error(err)
	}
	if err := compacted.Receive(lived.past()); err != nil {
		t.Fatal(err)
	}
	if err := compacted.Check(lived); err != nil {
		t.Error(err)
	}
	if lived.home(numbered(7)) != nil || lived.home(ulid.ULID{}) != nil {
		t.Error("a message is live that is not")
	}
}
