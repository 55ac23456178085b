package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// saving is a mirror that puts all payloads into snapshots.
type saving struct{ mirror }

func (s *saving) Save() []Section {
	text := s.held.whole()
	return []Section{{Name: "payloads", Version: 1, Write: func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}}}
}

func (s *saving) Restore(func(string) (SavedSection, bool)) (bool, error) { return false, nil }

func (c contents) whole() string {
	var b strings.Builder
	for key, payload := range c {
		fmt.Fprintf(&b, "%v %s\n", key, payload)
	}
	return b.String()
}

func savingOptions() Options {
	o := testOptions()
	o.NewSink = func() Sink { return &saving{mirror{held: contents{}}} }
	return o
}

// large makes a snapshot due at Close.
func large() call { return updateCall("large", put(7, strings.Repeat("x", closeGrowth))) }

func largeWorld(t failer) *world { return worldOver(t, vfs.NewMem(1<<16), contents{}) }

func (w *world) openedSaving(name string) *process {
	w.t.Helper()
	p := w.process(name)
	p.options = savingOptions
	p.must(openingCall())
	return p
}

// savingView is viewCall for a process with saving sinks.
func savingView() call {
	c := viewCall()
	c.run = func(p *process) error {
		return p.log.View(context.Background(), func(v *View) error {
			p.found = contents{} // it may be run again
			for key := range v.Sink().(*saving).held {
				payload, err := v.Get(key)
				if err != nil {
					return err
				}
				p.found[key] = string(payload)
			}
			return nil
		})
	}
	return c
}

// Refutes: "a snapshot is put in place by whoever has made it". One that was made
// before a deletion and a rebuild would bring the deleted text back to disk.
func TestSnapshotOfAnOldLogIsNotPutInPlace(t *testing.T) {
	for _, at := range []stop{
		on(faultfs.TryLock, maintName), on(faultfs.Create, snapshotPrefix),
		on(faultfs.Sync, snapshotPrefix), on(faultfs.Rename, snapshotPrefix),
	} {
		inBubble(t, func(t *testing.T) {
			w := largeWorld(t)
			defer w.end()
			a, b := w.openedSaving("a"), w.openedSaving("b")
			b.must(updateCall("text", put(1, "one"), put(2, secret)))
			b.must(large())
			a.must(savingView())
			a.startTo(closingCall(), at)
			b.must(updateCall("delete", remove(2)))
			if err := b.do(rebuildCall()); errors.Is(err, ErrBusy) {
				a.finish()
				b.must(rebuildCall())
			} else {
				a.finish()
			}
			w.checkErased(w.disk)
			b.must(savingView())
			w.powerCut(8)
		})
	}
}

// Refutes: "syncs of the directory are harmless at any time". A snapshot is
// written without LOCK; if its sync of the directory fails, the system takes the
// directory for clean, also what a repair has just made dirty in order to sync
// it: the repair's own sync then does nothing, and what it builds on is gone at
// the next power cut.
func TestFailedDirectorySyncOfASnapshotBesideARepair(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := largeWorld(t)
		defer w.end()
		z := w.opened("z")
		z.must(large())
		a, b := w.opened("a"), w.opened("b")
		z.startTo(rebuildCall(), on(faultfs.SyncDir, ""))
		z.kill()
		a.fs.Inject(faultfs.Fault{Kind: faultfs.SyncDir, Effect: faultfs.Lost})
		inPlace := a.start(closingCall(), on(faultfs.SyncDir, ""))
		b.startTo(addCall("b"), on(faultfs.SyncDir, ""))
		if inPlace {
			a.finish()
		}
		for more := true; more; more = b.goOn(func(op faultfs.Op) bool { return changesDisk(op.Kind) }) {
			w.powerCut(2)
		}
		w.powerCut(8)
		w.opened("c")
		w.close()
	})
}
