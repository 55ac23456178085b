package store

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

// saved is a mirror that keeps all it holds in snapshots, or refuses what it
// finds there.
type saved struct {
	mirror
	restored int // sections taken over
	refuse   error
}

func (s *saved) Save() []Section {
	held := maps.Clone(s.held)
	return []Section{{Name: "mirror", Version: 7, Write: func(w io.Writer) error {
		return gob.NewEncoder(w).Encode(held)
	}}}
}

func (s *saved) Restore(find func(string) (SavedSection, bool)) (complete bool, err error) {
	section, ok := find("mirror")
	if !ok {
		return false, nil
	}
	if section.Version != 7 || s.refuse != nil {
		return false, s.refuse
	}
	var held map[ulid.ULID]string
	if err := gob.NewDecoder(section.Data).Decode(&held); err != nil {
		return false, err
	}
	s.held, s.restored = held, s.restored+1
	return true, nil
}

// openSaved opens a store whose sink is saved, and returns the sink of that
// moment.
func openSaved(t *testing.T, fsys vfs.FS, refuse error) (*Log, *saved) {
	t.Helper()
	o := testOptions()
	o.NewSink = func() Sink { return &saved{mirror: mirror{held: contents{}}, refuse: refuse} }
	l, err := Open(context.Background(), fsys, o)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l, l.gen.sink.(*saved)
}

// heldBySaved is held for such a store.
func heldBySaved(t *testing.T, l *Log) contents {
	t.Helper()
	all := contents{}
	must(t, l.View(context.Background(), func(v *View) error {
		for key, want := range v.Sink().(*saved).held {
			got, err := v.Get(key)
			if err != nil || string(got) != want {
				return fmt.Errorf("record %v: file and sink differ (%v)", key, err)
			}
			all[key] = want
		}
		return nil
	}))
	return all
}

// withSnapshot leaves a store with five messages behind a snapshot of fifteen.
func withSnapshot(t *testing.T) (d disk, want contents) {
	t.Helper()
	m := vfs.NewMem(0)
	l, _ := openSaved(t, m, nil)
	messages(t, l, 15)
	must(t, update(l, put(3, "changed"), remove(4)))
	saveNow(t, l)
	for i := 16; i <= 20; i++ {
		must(t, update(l, put(i, fmt.Sprint("behind the snapshot ", i))))
	}
	must(t, update(l, put(5, "changed behind the snapshot"), remove(6)))
	want = heldBySaved(t, l)
	must(t, l.Close())
	return snapshot(t, m), want
}

func saveNow(t *testing.T, l *Log) {
	t.Helper()
	must(t, snapshotting().do(&script{log: l}))
}

// An open store starts from the snapshot: of the part of the log that it covers
// only the header and the last frame are read.
func TestOpenStartsFromTheSnapshot(t *testing.T) {
	d, want := withSnapshot(t)
	fsys := faultfs.New(d.restore(t))
	l, sink := openSaved(t, fsys, nil)
	if diff := cmp.Diff(want, heldBySaved(t, l)); diff != "" {
		t.Error(diff)
	}
	covered, _, err := l.snapshotOnDisk()
	must(t, err)
	var read int64
	for _, op := range fsys.Ops() {
		if op.Kind == faultfs.Read && op.Name == logName(1) && op.Offset >= headerSize && op.Offset+op.Length <= covered.covered.offset {
			read += op.Length
		}
	}
	if gets := int64(len(want)) * 100; sink.restored != 1 || read == 0 || read > frameHeaderSize+gets {
		t.Errorf("%d sections restored, %d bytes of the covered log read", sink.restored, read)
	}
	if l.Stats().SnapshotSize != int64(len(d[snapshotName])) {
		t.Errorf("stats say %d bytes, the file has %d", l.Stats().SnapshotSize, len(d[snapshotName]))
	}
	if live, dead := l.gen.counts, l.gen.deadBytes(); live.deletes != 2 || live.updates != 2 || dead <= 0 {
		t.Errorf("counts %+v, dead bytes %d", live, dead)
	}
}

// A snapshot that is damaged in any bit, cut anywhere, of another log or gone
// changes no answer.
func TestSnapshotIsOnlyACache(t *testing.T) {
	sweep(t)
	d, want := withSnapshot(t)
	whole := d[snapshotName]
	used, tried := 0, 0
	try := func(what string, b []byte) {
		t.Helper()
		tried++
		m := d.with(snapshotName, b).restore(t)
		l, sink := openSaved(t, m, nil)
		if !maps.Equal(want, heldBySaved(t, l)) {
			t.Fatalf("%s: other contents", what)
		}
		if valid := l.Stats().SnapshotSize > 0; valid != (sink.restored == 1) && sink.restored == 1 {
			t.Fatalf("%s: restored, and the stats say it is not valid", what)
		}
		used += sink.restored
		must(t, l.Close())
	}
	for bit := range len(whole) * 8 {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		try(fmt.Sprint("bit ", bit), b)
	}
	for cut := range whole {
		try(fmt.Sprint("cut at ", cut), whole[:cut])
	}
	other, _ := withSnapshot(t)
	try("the snapshot of another log", other[snapshotName])
	if used != 0 {
		t.Errorf("%d damaged snapshots of %d were used", used, tried)
	}
	try("the whole one", whole)
	if used != 1 {
		t.Error("the whole one was not used")
	}
	t.Logf("%d damaged snapshots, no violation", tried-1)
}

// A damaged section costs the replay of the live records, and no more.
func TestSinkThatCannotBeRestored(t *testing.T) {
	d, want := withSnapshot(t)
	damaged := bytes.Clone(d[snapshotName])
	at := bytes.Index(damaged, []byte("message number"))
	damaged[at] ^= 1
	for name, tt := range map[string]struct {
		snapshot []byte
		refuse   error
	}{
		"section damaged":         {damaged, nil},
		"content refused by sink": {d[snapshotName], errors.New("no")},
	} {
		t.Run(name, func(t *testing.T) {
			l, sink := openSaved(t, d.with(snapshotName, tt.snapshot).restore(t), tt.refuse)
			if diff := cmp.Diff(want, heldBySaved(t, l)); diff != "" || sink.restored != 0 {
				t.Errorf("restored %d: %s", sink.restored, diff)
			}
			must(t, update(l, put(7, "and on")))
		})
	}
}

// What a snapshot covers was durable: a log that ends before it, or is gone, has
// lost it.
func TestSnapshotKnowsWhatWasDurable(t *testing.T) {
	d, _ := withSnapshot(t)
	log := d[logName(1)]
	m := d.restore(t)
	l, _ := openSaved(t, m, nil)
	h, _, err := l.snapshotOnDisk()
	must(t, err)
	must(t, l.Close())
	for cut := int64(headerSize); cut < h.covered.offset; cut += 8 {
		short := d.with(logName(1), log[:cut])
		m := short.restore(t, lockName)
		if _, err := contentsOf(m); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("the log cut at %d of %d covered bytes: %v", cut, h.covered.offset, err)
		}
		untouched(t, m, short.without(lockName))
	}
	torn := bytes.Clone(log[:h.covered.offset])
	torn[h.lastFrame+frameHeaderSize] ^= 1 // nothing behind it vouches for it
	if _, err := contentsOf(d.with(logName(1), torn).restore(t, lockName)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the last covered frame damaged: %v", err)
	}
	if _, err := contentsOf(d.restore(t, lockName, logName(1))); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), snapshotName) {
		t.Errorf("no log beside a snapshot: %v", err)
	}
}

func (d disk) without(name string) disk {
	d = maps.Clone(d)
	delete(d, name)
	return d
}

// A snapshot is written in the background when the log has grown, by a writer
// that does not wait for it, and at Close.
func TestSnapshotsAreWrittenWhenDue(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	big := strings.Repeat("x", 4<<20)
	for i := range 5 {
		if got := l.Stats().SnapshotSize; i < 4 && got != 0 {
			t.Errorf("a snapshot of %d bytes after %d MiB", got, i*4)
		}
		must(t, update(l, put(i+1, big)))
	}
	l.rebuilding <- struct{}{} // waits for the snapshot
	release(l.rebuilding)
	h, size, err := l.snapshotOnDisk()
	must(t, err)
	if size == 0 || h.covered.offset < snapshotGrowth {
		t.Errorf("a snapshot of %d bytes covers %d", size, h.covered.offset)
	}
	must(t, update(l, put(9, big)))
	must(t, l.Close())
	l = mustOpen(t, m)
	if h, _, err = l.snapshotOnDisk(); err != nil || h.covered != l.gen.end {
		t.Errorf("at Close the snapshot covers %d of %d bytes (%v)", h.covered.offset, l.gen.end.offset, err)
	}
	must(t, update(l, put(10, "little")))
	must(t, l.Close())
	if again, _, err := mustOpen(t, m).snapshotOnDisk(); err != nil || again.covered != h.covered {
		t.Errorf("a snapshot was written for little (%v)", err)
	}
}

// A process that did not see another one's snapshot leaves it alone.
func TestSnapshotOfAnotherProcessIsEnough(t *testing.T) {
	m := vfs.NewMem(0)
	a, b := mustOpen(t, m), mustOpen(t, m)
	must(t, update(a, put(1, strings.Repeat("x", 2<<20))))
	saveNow(t, a)
	before, err := m.ReadFile(snapshotName)
	must(t, err)
	must(t, update(b, put(2, "little")))
	must(t, b.Close())
	after, err := m.ReadFile(snapshotName)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the snapshot was written again")
	}
}
