package store

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// A process that holds LOCK for life keeps others from writing, not from reading
// what it writes, and when it is killed anywhere they go on.
func TestBesideAnExclusiveProcess(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		schedules, cuts := 0, 0
		chosen := thinned(sample(5, 1))
		for _, s := range settings {
			for _, r := range roles {
				for k := 0; ; k++ {
					if r.open && s.name != settings[0].name {
						break // it is the opening that meets what others have left
					}
					n, stopped := besideExclusive(t, s, r, k, chosen())
					if !stopped {
						break
					}
					schedules++
					cuts += n
				}
			}
		}
		t.Logf("%d schedules, %d crash images, no violation", schedules, cuts)
	})
}

func besideExclusive(t *testing.T, s setting, r role, k int, cut bool) (cuts int, stopped bool) {
	t.Helper()
	w, e, b, watcher := stage(t, s, roles[0], roles[1])
	defer w.end()
	e.options = func() Options { o := testOptions(); o.Exclusive = true; return o }
	if r.open {
		e.must(openingCall())
	}
	if !e.start(r.call(1), before(k)) {
		return 0, false
	}
	b.do(addCall("b"))
	watcher.must(viewCall())
	w.agree()
	if cut {
		cuts = w.powerCut(4)
	}
	if k%2 == 0 {
		e.finish()
		if err := b.do(addCall("b again")); e.log != nil && !errors.Is(err, ErrBusy) {
			w.fail("beside an exclusive process: %v", err)
		}
		w.agree()
	}
	e.kill()
	w.agree()
	w.goOnWriting()
	if cut {
		cuts += w.powerCut(4)
	}
	return cuts, true
}

// A process that opened the store for reading only changes nothing, can always
// read, and sees all that was acknowledged. What it shows beyond that, of a
// writer that has died, need not last, so the oracle does not hold it to it.
func TestReadOnlyProcess(t *testing.T) {
	eachRole(t, func(t *testing.T, a role) {
		schedules := 0
		chosen := thinned(sample(13, 1))
		for _, s := range settings {
			for k := range length(t, s, a, roles[1]) {
				for way := range 6 {
					if chosen() {
						besideReader(t, s, a, k, readerWay{early: way%2 > 0, evict: way/2 > 0, reads: way/2 > 1})
						schedules++
					}
				}
			}
		}
		t.Logf("%d schedules, no violation", schedules)
	})
}

// readerWay says whether the reader opens the store before the first call, and
// whether the page cache is thrown away under it, which it may notice at once.
type readerWay struct{ early, evict, reads bool }

func besideReader(t *testing.T, s setting, a role, k int, way readerWay) {
	t.Helper()
	w, pa, pb, _ := stage(t, s, a, roles[1])
	defer w.end()
	w.note("reader: %+v", way)
	reader := w.process("reader")
	reader.options = func() Options { o := testOptions(); o.ReadOnly = true; return o }
	if way.early {
		reader.reads()
	}
	pa.startTo(a.call(1), before(k))
	reader.reads()
	if way.evict {
		w.evict()
	}
	if way.reads {
		reader.reads()
	}
	pa.finish()
	reader.reads()
	pb.must(addCall("b"))
	reader.reads()
	pb.must(rebuildCall())
	reader.reads()
	reader.writesNothing(-1)
	if err := update(reader.log, put(1, "no")); !errors.Is(err, ErrReadOnly) {
		w.fail("an update of a read-only log: %v", err)
	}
	if _, err := reader.log.Rebuild(context.Background()); !errors.Is(err, ErrReadOnly) {
		w.fail("a rebuild of a read-only log: %v", err)
	}
}

// reads opens the store if it is not open and checks what it shows, without
// telling the oracle.
func (p *process) reads() {
	w := p.world
	w.t.Helper()
	if p.log == nil {
		l, err := Open(context.Background(), p.fs, p.options())
		if err != nil {
			w.fail("%s cannot open: %v", p.name, err)
		}
		p.log = l
	}
	found, err := held(p.log)
	w.note("%s shows %v, %v", p.name, found, err)
	if err != nil {
		w.fail("%s cannot read: %v", p.name, err)
	}
	if allowed := w.oracle.allowed(); !slices.ContainsFunc(allowed, func(c contents) bool { return equal(c, found) }) {
		w.fail("%s shows %v, the store can hold %s", p.name, found, w.oracle)
	}
}
