package store

import (
	"fmt"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// recorder is a failer that ends what it runs, and not the test.
type recorder struct{ message string }

type violation struct{}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.message = fmt.Sprintf(format, args...)
	panic(violation{})
}

// violationOf runs body and returns what it failed with, or "".
func violationOf(body func(failer)) (message string) {
	r := &recorder{}
	defer func() {
		message = r.message
		if thrown := recover(); thrown != nil {
			if _, ok := thrown.(violation); !ok {
				panic(thrown)
			}
		}
	}()
	body(r)
	return ""
}

// The harness must notice what it is for. The file system of one process tells
// lies that no store can survive.
func TestHarnessNoticesLies(t *testing.T) {
	for name, tt := range map[string]struct {
		lie     dishonestFS
		noticed bool
	}{
		"no lie":                        {dishonestFS{}, false},
		"a lock that does not lock":     {dishonestFS{lock: true}, true},
		"a sync that does not sync":     {dishonestFS{sync: true}, true},
		"a write that forgets its tail": {dishonestFS{write: true}, true},
	} {
		var message string
		inBubble(t, func(*testing.T) {
			message = violationOf(func(f failer) { underLies(f, tt.lie) })
		})
		if (message != "") != tt.noticed {
			t.Errorf("%s: noticed %q", name, message)
		}
	}
}

// underLies is a schedule in which b sees the directory through a liar.
func underLies(f failer, liar dishonestFS) {
	w := newWorld(f)
	defer w.end()
	base(w.opened("z"))
	a := w.opened("a")
	liar.FS = w.disk
	b := w.processOn("b", liar)
	b.must(openingCall())
	a.startTo(checkedCall(1, "one", "a"), on(faultfs.Write, logPrefix))
	b.do(checkedCall(1, "one", "b"))
	a.finish()
	b.do(addCall("b"))
	w.powerCut(64)
	w.close()
}

// dishonestFS claims to have done what it has not.
type dishonestFS struct {
	vfs.FS
	lock, sync, write bool
}

func (l dishonestFS) Create(name string) (vfs.File, error) { return l.file(l.FS.Create(name)) }

func (l dishonestFS) Open(name string) (vfs.File, error) { return l.file(l.FS.Open(name)) }

func (l dishonestFS) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return dishonestFile{File: f, fs: l}, nil
}

func (l dishonestFS) SameFile(name string, f vfs.File) (bool, error) {
	return l.FS.SameFile(name, f.(dishonestFile).File)
}

func (l dishonestFS) Lock(name string) (vfs.Lock, error) {
	inner, err := l.FS.Lock(name)
	return dishonestLock{Lock: inner, lies: l.lock}, err
}

type dishonestFile struct {
	vfs.File
	fs dishonestFS
}

func (f dishonestFile) SyncData() error {
	if f.fs.sync {
		return nil
	}
	return f.File.SyncData()
}

func (f dishonestFile) WriteAt(p []byte, off int64) (int, error) {
	if f.fs.write && len(p) != slotSize && len(p) > 8 {
		_, err := f.File.WriteAt(p[:len(p)-8], off)
		return len(p), err
	}
	return f.File.WriteAt(p, off)
}

type dishonestLock struct {
	vfs.Lock
	lies bool
}

func (l dishonestLock) TryLock() (bool, error) {
	taken, err := l.Lock.TryLock()
	return taken || l.lies, err
}
