package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
)

// What could be written but not read again is refused, and the log goes on.
func TestRefusedChanges(t *testing.T) {
	sweep(t)
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	must(t, update(l, put(1, "one")))
	for name, tt := range map[string]struct {
		changes []change
		want    error
	}{
		"delete of nothing":         {[]change{put(2, "two"), remove(7)}, ErrNotFound},
		"delete twice":              {[]change{remove(1), remove(1)}, ErrNotFound},
		"payload beyond MaxPayload": {[]change{{kind: kindPut, id: id(3), payload: make([]byte, MaxPayload+1)}}, ErrTooLarge},
		"delete of what it deletes": {[]change{put(4, "four"), remove(4), remove(4)}, ErrNotFound},
	} {
		if err := update(l, tt.changes...); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	must(t, update(l, put(5, "five"), remove(5)))
	must(t, update(l, change{kind: kindPut, id: id(6), payload: make([]byte, MaxPayload)}))
	must(t, l.Close())
	found, err := contentsOf(m)
	must(t, err)
	if len(found) != 2 || found[id(1)] != "one" || len(found[id(6)]) != MaxPayload {
		t.Errorf("found %d records", len(found))
	}
}

// A sink that panics leaves the file ahead of the memory; writing must end.
func TestSinkPanics(t *testing.T) {
	o := testOptions()
	o.NewSink = func() Sink { return panicking{} }
	l, err := Open(context.Background(), vfs.NewMem(0), o)
	must(t, err)
	func() {
		defer func() { _ = recover() }()
		_ = update(l, put(1, "one"))
		t.Error("the panic did not reach the caller")
	}()
	if err := update(l, put(2, "two")); !errors.Is(err, ErrPoisoned) {
		t.Errorf("the next update: %v", err)
	}
	must(t, l.Close())
}

type panicking struct{}

func (panicking) Apply(Record) error { panic("sink") }

// The old log goes only when all of the new one, its header too, reads back.
func TestRebuildReadsTheCopyBack(t *testing.T) {
	for _, offset := range []int64{20, headerSize + 60} {
		disk := vfs.NewMem(0)
		fsys := faultfs.New(disk)
		l := mustOpen(t, fsys)
		must(t, update(l, put(1, strings.Repeat("x", 100))))
		fsys.After = func(op faultfs.Op) {
			if op.Kind == faultfs.Write && strings.HasPrefix(op.Name, rebuildPrefix) &&
				op.Offset <= offset && offset < op.Offset+op.Length {
				file, err := disk.Open(op.Name)
				must(t, err)
				b := make([]byte, 1)
				_, err = file.ReadAt(b, offset)
				must(t, err)
				b[0] ^= 0xff // any other value: the bytes of the header are random
				_, err = file.WriteAt(b, offset)
				must(t, errors.Join(err, file.Close()))
			}
		}
		if _, err := l.Rebuild(context.Background()); !errors.Is(err, errCopy) || errors.Is(err, ErrCorrupt) {
			t.Errorf("offset %d: %v", offset, err)
		}
		fsys.After = nil
		must(t, l.Close())
		if found, err := contentsOf(disk); err != nil || len(found) != 1 {
			t.Errorf("offset %d: the store now holds %v, %v", offset, found, err)
		}
	}
}

// LOCK knows the log's file id, not only its number.
func TestLogOfAnotherStore(t *testing.T) {
	a, _, _ := written(t, closedCleanly)
	b, _, _ := written(t, closedCleanly)
	if found, err := contentsOf(a.with(logName(1), b[logName(1)]).restore(t)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("found %v, %v", found, err)
	}
}

// Closing seals everything when this process wrote, and writes nothing when it
// did not.
func TestCloseSealsWhatOthersWrote(t *testing.T) {
	d, _, ends := written(t, killed)
	m := d.restore(t)
	must(t, mustOpen(t, m).Close())
	if diff := cmp.Diff(d[logName(1)], snapshot(t, m)[logName(1)]); diff != "" {
		t.Errorf("a process that wrote nothing changed the log: %s", diff)
	}
	l := mustOpen(t, m)
	must(t, update(l, put(50, "written after the other was killed")))
	must(t, l.Close())
	d = snapshot(t, m)
	log := bytes.Clone(d[logName(1)])
	log[ends[19]+frameHeaderSize] ^= 1
	if found, err := contentsOf(d.with(logName(1), log).restore(t, lockName)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%d records, %v", len(found), err)
	}
}

// The header of a later frame is evidence even when its payload never arrived.
func TestTornFrameVouches(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	messages(t, l, 5)
	stale := snapshot(t, m)[lockName]
	must(t, update(l, put(6, "acknowledged"), put(7, "acknowledged too")))
	end := l.gen.end.offset
	batch, _, _ := l.gen.encode(nil, [][]change{{put(8, strings.Repeat("y", 900))}})
	log := append(snapshot(t, m)[logName(1)], batch[:512]...)
	log[end-10] ^= 1
	if found, err := contentsOf(disk{logName(1): log, lockName: stale}.restore(t)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%d of 7 acknowledged records, %v", len(found), err)
	}
}

// An intact frame of a kind from a later version is not cut off as unfinished.
func TestUnknownKind(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	messages(t, l, 5)
	batch, _, _ := l.gen.encode(nil, [][]change{{{kind: kindCarry + 1, id: id(9), payload: []byte("later")}}})
	d := disk{logName(1): append(snapshot(t, m)[logName(1)], batch...)}
	m = d.restore(t)
	if _, err := contentsOf(m); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	untouched(t, m, d)
}

func TestCountersAtTheirEnd(t *testing.T) {
	for name, change := range map[string]func(*header){
		"generation": func(h *header) { h.generation = math.MaxUint64 },
		"sequence":   func(h *header) { h.lastSeq = math.MaxUint64 },
	} {
		h := header{formatVersion: FormatVersion, minReader: minReaderVersion, generation: 1, sealedEnd: headerSize}
		change(&h)
		if _, err := contentsOf(disk{logName(h.generation): h.encode()}.restore(t)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A frame of one record that got written over another's is not copied as it.
func TestRebuildOverMisdirectedWrite(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	must(t, update(l, put(1, "aaa")))
	from, _ := l.gen.table.get(id(1))
	must(t, update(l, put(2, "bbb")))
	to, _ := l.gen.table.get(id(2))
	must(t, update(l, put(1, "ccc")))
	file, err := m.Open(logName(1))
	must(t, err)
	b := make([]byte, from.size)
	_, err = file.ReadAt(b, from.offset)
	must(t, err)
	_, err = file.WriteAt(b, to.offset)
	must(t, err)
	if _, err := l.Rebuild(context.Background()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func TestFailedCopyIsInTheStats(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one")))
	fsys.Inject(faultfs.Fault{Kind: faultfs.Write, Match: func(op faultfs.Op) bool { return strings.HasPrefix(op.Name, rebuildPrefix) }})
	if _, err := l.Rebuild(context.Background()); err == nil || l.Stats().LastError == nil {
		t.Errorf("rebuild %v, last error %v", err, l.Stats().LastError)
	}
	_, err := l.Rebuild(context.Background())
	must(t, err)
	if err := l.Stats().LastError; err != nil {
		t.Errorf("last error after a rebuild that worked: %v", err)
	}
}

// Files that are not the store's own are left alone, also those that links
// pretend are.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	fsys, err := vfs.OS(dir)
	must(t, err)
	must(t, mustOpen(t, fsys).Close())
	must(t, os.Symlink(victim, filepath.Join(dir, logName(0))))
	foreign := []string{"notes.txt", "new-draft.tmp", "rebuild-.tmp", "convmem-1.log"}
	for _, name := range foreign {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600))
	}
	l := mustOpen(t, fsys)
	_, err = l.Rebuild(context.Background())
	must(t, err)
	for _, name := range foreign {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("a file outside the store holds %q now (%v)", b, err)
	}
}

// io.ReaderAt may return io.EOF together with all bytes.
func TestReadsThatEndWithTheFile(t *testing.T) {
	l := mustOpen(t, eagerEOF{vfs.NewMem(0)})
	must(t, update(l, put(1, "one")))
	_, err := held(l)
	must(t, err)
	_, err = l.Rebuild(context.Background())
	must(t, err)
	_, err = held(l)
	must(t, err)
}

type eagerEOF struct{ vfs.FS }

func (e eagerEOF) Open(name string) (vfs.File, error) { return eager(e.FS.Open(name)) }

func (e eagerEOF) Create(name string) (vfs.File, error) { return eager(e.FS.Create(name)) }

func (e eagerEOF) OpenRead(name string) (vfs.File, error) { return eager(e.FS.OpenRead(name)) }

func (e eagerEOF) SameFile(name string, f vfs.File) (bool, error) {
	return e.FS.SameFile(name, f.(eagerFile).File)
}

func eager(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return eagerFile{f}, nil
}

type eagerFile struct{ vfs.File }

func (f eagerFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	size, sizeErr := f.Size()
	if err == nil && sizeErr == nil && offset+int64(n) == size {
		err = io.EOF
	}
	return n, err
}

// Somebody removes LOCK by hand. Who has the old one finds the log changed by
// those who have the new one, and leaves it alone until the store is opened again.
func TestLockIsReplacedWhileOpen(t *testing.T) {
	m := vfs.NewMem(0)
	old := mustOpen(t, m)
	must(t, update(old, put(1, "one")))
	must(t, m.Remove(lockName))
	other := mustOpen(t, m)
	must(t, update(other, put(2, "two")))
	if err := update(old, put(3, "three")); err == nil || !strings.Contains(err.Error(), lockName) {
		t.Errorf("an update under the old LOCK: %v", err)
	}
	must(t, update(other, put(4, "four")))
	must(t, old.Close())
	must(t, other.Close())
	found, err := contentsOf(m)
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "one", id(2): "two", id(4): "four"}, found); diff != "" {
		t.Error(diff)
	}
}

// A reader that found no LOCK shows what the log vouches for and what follows, says
// that this may not last, and follows the writers that come.
func TestReadOnlyWithoutLock(t *testing.T) {
	d, states, _ := written(t, killed)
	m := d.restore(t, lockName)
	o := testOptions()
	o.ReadOnly = true
	reader, err := Open(context.Background(), m, o)
	must(t, err)
	t.Cleanup(func() { reader.Close() })
	shows := func(want contents) {
		t.Helper()
		found, err := held(reader)
		must(t, err)
		if diff := cmp.Diff(want, found); diff != "" {
			t.Error(diff)
		}
	}
	shows(states[20])
	if err := reader.Stats().LastError; err == nil || !strings.Contains(err.Error(), "intact") {
		t.Errorf("a tail that nobody vouches for: %v", err)
	}
	if names := m.Names(); len(names) != 1 {
		t.Errorf("a reader made files: %v", names)
	}
	writer := mustOpen(t, m)
	extra := put(30, "written later")
	must(t, update(writer, extra))
	want := states[20].with(extra)
	shows(want)
	if err := reader.Stats().LastError; err != nil {
		t.Errorf("a writer has settled it: %v", err)
	}
	_, err = writer.Rebuild(context.Background())
	must(t, err)
	shows(want)
}

// An empty directory has nothing to read, and stays empty.
func TestReadOnlyWithoutAStore(t *testing.T) {
	m := vfs.NewMem(0)
	o := testOptions()
	o.ReadOnly = true
	if _, err := Open(context.Background(), m, o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if names := m.Names(); len(names) > 0 {
		t.Errorf("files were made: %v", names)
	}
}

// A frame of a later version is not cut off with what follows it: nothing of a
// store that is refused is changed.
func TestUnknownKindInATornTail(t *testing.T) {
	d, _, _ := written(t, killed)
	m := d.restore(t)
	l := mustOpen(t, m)
	at := l.gen.end
	tail, _ := appendFrame(nil, frame{kind: kindCarry + 1, seq: at.seq + 1, synced: at.offset, id: id(50)}, l.gen.salt, at)
	torn := d.with(logName(1), append(append(bytes.Clone(d[logName(1)]), tail...), "an unfinished frame"...))
	m = torn.restore(t)
	if _, err := contentsOf(m); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	untouched(t, m, torn)
}

func TestUnknownKindBelowTheDurableEnd(t *testing.T) {
	d, _, _ := written(t, killed)
	l := mustOpen(t, d.restore(t))
	at := l.gen.end
	tail, next := appendFrame(nil, frame{kind: kindCarry + 1, seq: at.seq + 1, synced: at.offset, id: id(50)}, l.gen.salt, at)
	tail, _ = appendFrame(tail, frame{kind: kindPut, seq: at.seq + 2, synced: next.offset, id: id(51)}, l.gen.salt, next)
	m := d.with(logName(1), append(bytes.Clone(d[logName(1)]), tail...)).restore(t, lockName)
	if found, err := contentsOf(m); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%d records, %v", len(found), err)
	}
}

// While a process waits for LOCK another one rebuilds and cannot remove the old
// log. The first must not go on in that one.
func TestReplacedLogThatIsStillThere(t *testing.T) {
	m := vfs.NewMem(0)
	fsA, fsB := faultfs.New(m), faultfs.New(m)
	a, b := mustOpen(t, fsA), mustOpen(t, fsB)
	must(t, update(a, put(1, "one")))
	_, err := held(b)
	must(t, err)
	fsB.Before = func(op faultfs.Op) error {
		if op.Kind != faultfs.TryLock || op.Name != lockName {
			return nil
		}
		fsB.Before = nil
		fsA.FailNth(faultfs.Truncate, 0, faultfs.ErrInjected)
		fsA.FailNth(faultfs.Remove, 0, faultfs.ErrInjected)
		if _, err := a.Rebuild(context.Background()); !errors.Is(err, faultfs.ErrInjected) {
			t.Errorf("rebuild: %v", err)
		}
		return nil
	}
	must(t, update(b, put(3, "three")))
	must(t, update(a, put(2, "two")))
	must(t, b.Close())
	must(t, a.Close())
	found, err := contentsOf(m)
	must(t, err)
	if diff := cmp.Diff(contents{id(1): "one", id(2): "two", id(3): "three"}, found); diff != "" {
		t.Error(diff)
	}
}

// A write that could not even begin is in the stats, until one works.
func TestFailureToEnterIsInTheStats(t *testing.T) {
	fsys := faultfs.New(vfs.NewMem(0))
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "one")))
	fsys.FailNth(faultfs.Size, 0, faultfs.ErrInjected)
	if err := update(l, put(2, "two")); !errors.Is(err, faultfs.ErrInjected) || !errors.Is(l.Stats().LastError, faultfs.ErrInjected) {
		t.Errorf("update %v, last error %v", err, l.Stats().LastError)
	}
	must(t, update(l, put(2, "two")))
	must(t, l.Stats().LastError)
}

// A replaced log that could be neither emptied nor removed goes with the next
// commit that can.
func TestReplacedLogIsRemovedLater(t *testing.T) {
	m := vfs.NewMem(0)
	fsys := faultfs.New(m)
	l := mustOpen(t, fsys)
	must(t, update(l, put(1, "SECRET")))
	must(t, update(l, remove(1)))
	fsys.FailNth(faultfs.Truncate, 0, faultfs.ErrInjected)
	fsys.FailNth(faultfs.Remove, 0, faultfs.ErrInjected)
	if _, err := l.Rebuild(context.Background()); !errors.Is(err, faultfs.ErrInjected) {
		t.Fatalf("rebuild: %v", err)
	}
	must(t, update(l, put(2, "two")))
	noByte(t, m.Kill(), "SECRET")
}

// torn is a file system on which another process writes both slots of LOCK while
// the first is being read: the reader gets an old one, and half of a new one.
type torn struct {
	vfs.FS
	meanwhile func()
}

func (f *torn) Open(name string) (vfs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || name != lockName {
		return file, err
	}
	return tornFile{file, f}, nil
}

type tornFile struct {
	vfs.File
	fs *torn
}

func (f tornFile) ReadAt(b []byte, at int64) (int, error) {
	meanwhile := f.fs.meanwhile
	if meanwhile == nil {
		return f.File.ReadAt(b, at)
	}
	f.fs.meanwhile = nil
	if n, err := f.File.ReadAt(b[:slotSize], at); err != nil {
		return n, err
	}
	meanwhile()
	n, err := f.File.ReadAt(b[slotSize:], at+slotSize)
	return slotSize + n, err
}

func (f *torn) SameFile(name string, file vfs.File) (bool, error) {
	if own, ok := file.(tornFile); ok {
		file = own.File
	}
	return f.FS.SameFile(name, file)
}

func TestSlotsAreReadWhileTheyAreWritten(t *testing.T) {
	m := vfs.NewMem(0)
	writer := mustOpen(t, m)
	must(t, update(writer, put(1, "one")))
	if writer.lock.current.counter%2 == 0 {
		must(t, update(writer, put(9, "nine"))) // the newest slot is to be B
	}
	fsys := &torn{FS: m}
	reader := mustOpen(t, fsys)
	must(t, update(writer, put(2, "acknowledged")))
	file, err := m.Open(lockName)
	must(t, err)
	whole := make([]byte, slotSize)
	fsys.meanwhile = func() {
		must(t, update(writer, put(3, "three")))
		_, err := file.ReadAt(whole, slotB)
		must(t, err)
		_, err = file.WriteAt([]byte("half of a slot"), slotB)
		must(t, err)
	}
	must(t, reader.View(context.Background(), func(v *View) error {
		_, err := v.Get(id(2))
		return err
	}))
}
