package vfs_test

import (
	"testing"

	"pgregory.net/rapid"

	"example.com/convmem/store/vfs"
)

// lockModel says what handles on two names may do. A file is known by a number:
// the lock belongs to it and not to its name.
type lockModel struct {
	fsys    vfs.FS
	handles []*lockHandle
	files   map[string]int // what the names stand for now; 0 is no file
	made    int
	tally   *lockTally
}

type lockHandle struct {
	lock   vfs.Lock
	name   string
	shared bool
	held   int // the file, or 0
}

// lockTally counts answers of TryLock over all runs.
type lockTally struct{ exclusive, shared, busy, refused int }

var lockNames = []string{"L", "M"}

func newLockModel(t *rapid.T, fsys vfs.FS, tally *lockTally) *lockModel {
	m := &lockModel{fsys: fsys, files: map[string]int{}, tally: tally}
	for _, name := range lockNames {
		m.exists(name)
		for _, shared := range []bool{false, false, true, true, true} {
			open := fsys.SharedLock
			if !shared {
				open = fsys.Lock
			} else {
				m.createIfMissing(t, name)
			}
			lock, err := open(name)
			fatal(t, err)
			m.handles = append(m.handles, &lockHandle{lock: lock, name: name, shared: shared})
		}
	}
	return m
}

// exists makes a new file of the model when the name has none.
func (m *lockModel) exists(name string) {
	if m.files[name] == 0 {
		m.made++
		m.files[name] = m.made
	}
}

func (m *lockModel) createIfMissing(t *rapid.T, name string) {
	lock, err := m.fsys.Lock(name)
	fatal(t, err)
	fatal(t, lock.Close())
	m.exists(name)
}

// free reports whether the model lets h have the lock on file.
func (m *lockModel) free(h *lockHandle, file int) bool {
	for _, other := range m.handles {
		if other.held == file && !(other.shared && h.shared) {
			return false
		}
	}
	return true
}

func (m *lockModel) tryLock(t *rapid.T) {
	h := rapid.SampledFrom(m.handles).Draw(t, "handle")
	taken, err := h.lock.TryLock()
	missing := h.shared && m.files[h.name] == 0
	if h.held != 0 || missing {
		if taken || err == nil {
			t.Fatalf("TryLock of %+v: %v, %v, want an error", *h, taken, err)
		}
		m.tally.refused++
		return
	}
	fatal(t, err)
	m.exists(h.name) // an exclusive handle has made a missing file
	file := m.files[h.name]
	if want := m.free(h, file); taken != want {
		t.Fatalf("TryLock of %+v says %v, want %v", *h, taken, want)
	}
	if taken {
		h.held = file
	}
	m.tally.count(h, taken)
}

func (l *lockTally) count(h *lockHandle, taken bool) {
	switch {
	case !taken:
		l.busy++
	case h.shared:
		l.shared++
	default:
		l.exclusive++
	}
}

func (m *lockModel) unlock(t *rapid.T) {
	h := rapid.SampledFrom(m.handles).Draw(t, "handle")
	fatal(t, h.lock.Unlock())
	h.held = 0
}

// reopen closes a handle, which may hold the lock, and makes another.
func (m *lockModel) reopen(t *rapid.T) {
	h := rapid.SampledFrom(m.handles).Draw(t, "handle")
	fatal(t, h.lock.Close())
	h.held = 0
	m.createIfMissing(t, h.name)
	open := m.fsys.Lock
	if h.shared = rapid.Bool().Draw(t, "shared"); h.shared {
		open = m.fsys.SharedLock
	}
	lock, err := open(h.name)
	fatal(t, err)
	h.lock = lock
}

func (m *lockModel) remove(t *rapid.T) {
	name := rapid.SampledFrom(lockNames).Draw(t, "name")
	if m.files[name] == 0 {
		t.Skip("no file")
	}
	fatal(t, m.fsys.Remove(name))
	m.files[name] = 0
}

func (m *lockModel) rename(t *rapid.T) {
	from, to := lockNames[0], lockNames[1]
	if rapid.Bool().Draw(t, "back") {
		from, to = to, from
	}
	if m.files[from] == 0 {
		t.Skip("no file")
	}
	fatal(t, m.fsys.Rename(from, to))
	m.files[to], m.files[from] = m.files[from], 0
}

// Whatever happens to handles and names, each TryLock must answer as the model.
func TestLocksAgreeWithModel(t *testing.T) {
	skipWhereOpenFilesStay(t)
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			runs, tally := 0, &lockTally{}
			rapid.Check(t, func(rt *rapid.T) {
				m := newLockModel(rt, implementation.make(t), tally)
				rt.Repeat(map[string]func(*rapid.T){
					"try": m.tryLock, "try again": m.tryLock, "unlock": m.unlock,
					"reopen": m.reopen, "remove": m.remove, "rename": m.rename,
				})
				for _, h := range m.handles {
					fatal(rt, h.lock.Close())
				}
				runs++
			})
			if min(tally.exclusive, tally.shared, tally.busy, tally.refused) == 0 {
				t.Errorf("an answer never came: %+v", *tally)
			}
			t.Logf("%d runs agreed, answers %+v", runs, *tally)
		})
	}
}
