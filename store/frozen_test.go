package store

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

var updateFrozen = flag.Bool("update", false, "write the frozen stores of the present format anew")

// frozen are stores as this format leaves them, by what happened to them. They
// stay in testdata for ever: every later version must read them.
var frozen = map[string]func(t *testing.T, m *vfs.Mem){
	"closed": func(t *testing.T, m *vfs.Mem) {
		l := mustOpen(t, m)
		must(t, update(l, put(1, "one"), put(2, "two"), put(3, "")))
		must(t, update(l, put(1, "one, changed"), remove(2)))
		must(t, l.Close())
	},
	"killed": func(t *testing.T, m *vfs.Mem) {
		l := mustOpen(t, m)
		must(t, update(l, put(1, "one"), put(2, "two")))
		must(t, update(l, put(3, "three")))
	},
	"torn": func(t *testing.T, m *vfs.Mem) {
		l := mustOpen(t, m)
		must(t, update(l, put(1, "one")))
		batch, _, _ := l.gen.encode(nil, [][]change{{put(2, "never acknowledged")}})
		_, err := l.gen.file.WriteAt(batch[:len(batch)-8], l.gen.end.offset)
		must(t, err)
	},
	"dirty": func(t *testing.T, m *vfs.Mem) {
		l := mustOpen(t, m)
		must(t, update(l, put(1, "one")))
		must(t, l.enter(context.Background(), l.deadline()))
		must(t, l.lock.markDirty())
	},
	"rebuilt": func(t *testing.T, m *vfs.Mem) {
		l := mustOpen(t, m)
		must(t, update(l, put(1, "one"), put(2, "two"), put(7, "seven")))
		must(t, update(l, remove(7), put(2, "two, changed")))
		_, err := l.Rebuild(context.Background())
		must(t, err)
		must(t, l.Close())
	},
	"snapshot": func(t *testing.T, m *vfs.Mem) {
		l := mustOpen(t, m)
		must(t, update(l, put(1, "one"), put(2, "two")))
		must(t, update(l, remove(1)))
		saveNow(t, l)
		must(t, update(l, put(3, "three")))
		must(t, l.Close())
	},
}

func frozenDir(name string) string {
	return filepath.Join("testdata", fmt.Sprintf("format%d", FormatVersion), name)
}

// Stores that this format has left are read, whole, and can be written on.
func TestFrozenStores(t *testing.T) {
	for name, write := range frozen {
		if *updateFrozen {
			m := vfs.NewMem(0)
			write(t, m)
			freezeStore(t, frozenDir(name), snapshot(t, m.Kill()))
		}
	}
	dirs, err := filepath.Glob(filepath.Join("testdata", "format*", "*"))
	must(t, err)
	if len(dirs) < len(frozen) {
		t.Fatalf("%d frozen stores, want at least %d", len(dirs), len(frozen))
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) { checkFrozen(t, dir) })
	}
}

func checkFrozen(t *testing.T, dir string) {
	m := thaw(t, dir).restore(t)
	l := mustOpen(t, m)
	found, err := held(l)
	must(t, err)
	want, err := os.ReadFile(filepath.Join(dir, "contents.golden"))
	must(t, err)
	if diff := cmp.Diff(string(want), listing(found)); diff != "" {
		t.Error(diff)
	}
	extra := put(99, "written by a later version")
	must(t, errors.Join(update(l, extra), l.Close()))
	again, err := contentsOf(m)
	must(t, err)
	if diff := cmp.Diff(listing(found.with(extra)), listing(again)); diff != "" {
		t.Error(diff)
	}
}

// listing is contents as text, one record a line.
func listing(c contents) string {
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(c), ulid.ULID.Compare) {
		fmt.Fprintf(&b, "%s %q\n", key, c[key])
	}
	return b.String()
}

func thaw(t *testing.T, dir string) disk {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	d := disk{}
	for _, entry := range entries {
		if entry.Name() == "contents.golden" {
			continue
		}
		d[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name()))
		must(t, err)
	}
	return d
}

// freezeStore writes the files and what they hold. It is for the author of a
// format, before the format is published.
func freezeStore(t *testing.T, dir string, d disk) {
	t.Helper()
	must(t, os.RemoveAll(dir))
	must(t, os.MkdirAll(dir, 0o755))
	for name, b := range d {
		must(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	found, err := contentsOf(d.restore(t))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "contents.golden"), []byte(listing(found)), 0o644))
}
