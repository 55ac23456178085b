package store

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
)

// A snapshot is a cache. These tests are about the moments at which believing it
// would be wrong, and those at which it knows better than the log.

// A snapshot that covers what the log does not have is not used.
func TestSnapshotOfAnotherTail(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	other, end := twoTails(t, l)
	must(t, save(l))
	overwriteFile(t, m, logName(1), end, other)
	found, err := contentsOf(snapshot(t, m).restore(t, lockName))
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "one", id(2): "two", id(4): "other"}, found); diff != "" {
		t.Error(diff)
	}
}

// A rebuild that is killed early leaves a snapshot of the log before, which may
// cover more bytes than the new log has.
func TestSnapshotOfTheLogBefore(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	messages(t, l, 10)
	must(t, save(l))
	before := snapshot(t, m)[snapshotName]
	for n := range 9 {
		must(t, update(l, remove(n+1)))
	}
	must(t, rebuild(l))
	for _, without := range []string{"", lockName} {
		found, err := contentsOf(snapshot(t, m).with(snapshotName, before).restore(t, without))
		must(t, err)
		if diff := cmp.Diff(contents{id(10): "message number 10"}, found); diff != "" {
			t.Error(diff)
		}
	}
}

// What a snapshot covers was durable, even when the rest of it cannot be used:
// damage there is no unfinished write.
func TestBadSnapshotStillVouches(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	_, ends := messages(t, l, 5)
	must(t, save(l))
	d := snapshot(t, m)
	d[logName(1)][ends[4]+frameHeaderSize] ^= 1
	d[snapshotName][snapshotHeaderSize] ^= 1
	if found, err := contentsOf(d.restore(t, lockName)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("found %d of 5 records, %v", len(found), err)
	}
}

// A sink that keeps nothing in snapshots gets the live records, as they are now.
func TestSnapshotFillsTheSink(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	must(t, update(l, put(1, "one"), put(2, "two"), put(3, "three")))
	must(t, update(l, put(1, "one, changed"), remove(2)))
	must(t, save(l))
	l = mustOpen(t, m)
	if l.Stats().SnapshotSize == 0 {
		t.Fatal("the snapshot is not used")
	}
	found, err := held(l)
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "one, changed", id(3): "three"}, found); diff != "" {
		t.Error(diff)
	}
}

// A power cut leaves a whole snapshot, the one before or none: never a name for
// what did not reach the disk.
func TestSnapshotIsWholeOrNotThere(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	messages(t, l, 3)
	whole := 0
	check := func(image *vfs.Mem) {
		if slices.Contains(image.Names(), snapshotName) {
			file, err := image.Open(snapshotName)
			must(t, err)
			s, err := readSnapshot(file)
			must(t, err)
			_, err = s.table()
			must(t, errors.Join(err, file.Close()))
			whole++
		}
	}
	must(t, save(l))
	images(m, 512, rand.New(rand.NewPCG(1, 2)), check)
	messages(t, l, 3)
	must(t, save(l))
	images(m, 512, rand.New(rand.NewPCG(3, 4)), check)
	if whole == 0 {
		t.Error("no image has a snapshot")
	}
	t.Logf("%d whole snapshots", whole)
}

// partial fills itself from its section and then finds that it cannot go on.
type partial struct{ saving }

func (p *partial) Restore(func(string) (SavedSection, bool)) (bool, error) {
	p.held[id(99)] = "from the section"
	return false, errRefused
}

func TestHalfRestoredSinkIsThrownAway(t *testing.T) {
	m := vfs.NewMem(0)
	o := testOptions()
	made := 0
	o.NewSink = func() Sink { made++; return &partial{saving{mirror{held: contents{}}}} }
	l, err := Open(context.Background(), m, o)
	must(t, err)
	must(t, errors.Join(update(l, put(1, "one")), save(l), l.Close()))
	made = 0
	l, err = Open(context.Background(), m, o)
	must(t, err)
	defer l.Close()
	if made != 2 {
		t.Errorf("%d sinks were made: the snapshot was not tried, or its sink was kept", made)
	}
	if diff := cmp.Diff(contents{id(1): "one"}, l.gen.sink.(*partial).held); diff != "" {
		t.Error(diff)
	}
}

// The snapshot of before tells of what was deleted. It goes even when the new one
// cannot be written.
func TestRebuildRemovesTheSnapshot(t *testing.T) {
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	l, err := Open(context.Background(), fsys, savingOptions())
	must(t, err)
	defer l.Close()
	must(t, update(l, put(1, "one"), put(2, "SECRET")))
	must(t, save(l))
	if !bytes.Contains(snapshot(t, disk)[snapshotName], []byte("SECRET")) {
		t.Fatal("the snapshot does not tell of it")
	}
	must(t, update(l, remove(2)))
	fsys.Inject(faultfs.Fault{Kind: faultfs.Create, Match: func(op faultfs.Op) bool { return strings.HasPrefix(op.Name, snapshotPrefix) }})
	must(t, rebuild(l))
	if fsys.Fired() == 0 {
		t.Error("the new snapshot was not tried")
	}
	noByte(t, disk.Kill(), "SECRET")
}

// What could only be removed is gone for good when the rebuild is answered, also
// when it could write no snapshot.
func TestRebuildSyncsTheRemoval(t *testing.T) {
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one"), put(2, "SECRET")))
	must(t, update(l, remove(2)))
	fsys.Inject(faultfs.Fault{Kind: faultfs.Truncate})
	fsys.Inject(faultfs.Fault{Kind: faultfs.Create, Match: func(op faultfs.Op) bool { return strings.HasPrefix(op.Name, snapshotPrefix) }})
	must(t, rebuild(l))
	if fsys.Fired() != 2 {
		t.Errorf("%d faults fired", fsys.Fired())
	}
	for image := range disk.CrashImages() {
		noByte(t, image, "SECRET")
	}
}
