package store

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// The tests of many processes over one directory run in this process: each has
// its own faultfs over one shared Mem, so it has its own files and locks and can
// be killed. A call runs on a goroutine of its own and stops before chosen
// operations on the file system until the test lets it go on; exactly one
// goroutine runs at a time, so a schedule is the same in every run.

// failer is the part of testing.TB that a world needs.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is one directory and the processes that share it.
type world struct {
	t         failer
	disk      *vfs.Mem
	oracle    *oracle
	processes []*process
	schedule  []string // what happened so far, for messages
	random    *rand.Rand
	// erased says that a rebuild was answered after secret had been deleted.
	erased bool
	// lastSeq is the greatest sequence number that a view has shown.
	lastSeq uint64
	// evictions counts how often the page cache was thrown away.
	evictions int
}

// secret is the text that no file may hold after an answered rebuild.
const secret = "the secret that was deleted"

func newWorld(t failer) *world { return worldOver(t, vfs.NewMem(0), contents{}) }

func worldOver(t failer, disk *vfs.Mem, held contents) *world {
	return &world{t: t, disk: disk, oracle: newOracle(held), random: rand.New(rand.NewPCG(11, 12))}
}

// inBubble runs a test with a clock that stands still while anything runs: the
// waits of a process for another cost nothing.
func inBubble(t *testing.T, test func(*testing.T)) { t.Helper(); synctest.Test(t, test) }

// inWorld is inBubble with a fresh world that is cleaned up.
func inWorld(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		test(t, w)
	})
}

func (w *world) note(format string, args ...any) {
	w.schedule = append(w.schedule, fmt.Sprintf(format, args...))
}

// fail ends the test with the schedule and the operations of all processes.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, format, args...)
	b.WriteString("\nschedule:")
	for _, line := range w.schedule {
		b.WriteString("\n  " + line)
	}
	for _, p := range w.processes {
		fmt.Fprintf(&b, "\noperations of %s:", p.name)
		for _, op := range p.fs.Ops()[p.shown:] {
			b.WriteString("\n  " + op.String())
		}
	}
	fmt.Fprintf(&b, "\ndirectory: %q", w.disk.Names())
	w.t.Fatalf("%s", b.String())
}

// evict throws the page cache away: what a failed sync has lost is gone for
// reads too, and a file may become shorter while somebody reads it.
func (w *world) evict() {
	w.note("page cache evicted")
	w.evictions++
	w.disk.Evict()
}

// end kills what still lives, so that no goroutine is left behind.
func (w *world) end() {
	for _, p := range w.processes {
		if !p.dead {
			p.abandon()
		}
	}
}

// live returns the processes that have a log open and no call under way.
func (w *world) live() (idle []*process) {
	for _, p := range w.processes {
		if p.log != nil && !p.dead && p.current == nil {
			idle = append(idle, p)
		}
	}
	return idle
}

// forgetOperations leaves what has been done until now out of messages.
func (w *world) forgetOperations() {
	for _, p := range w.processes {
		p.shown = len(p.fs.Ops())
	}
}

// process is one of those that share the directory.
type process struct {
	world *world
	name  string
	fs    *faultfs.FS
	log   *Log // nil until opened and when closed
	// options are those that it opens the store with.
	options func() Options

	stop    stop
	stopped chan faultfs.Op
	resumed chan struct{}
	ended   chan error

	current *operation // of the call under way, or nil
	call    call
	// evictions of the world when the call began.
	evictions int
	at        faultfs.Op // where it stopped
	found     contents   // by the last view
	err       error      // of the last call
	shown     int        // operations before it are left out of messages

	dead, poisoned bool
	// extra counts the additions, so that each has its own text.
	extra int
}

func (w *world) process(name string) *process { return w.processOn(name, w.disk) }

// processOn is process for one that sees the directory through fsys.
func (w *world) processOn(name string, fsys vfs.FS) *process {
	p := &process{
		world: w, name: name, fs: faultfs.New(fsys), options: testOptions,
		stopped: make(chan faultfs.Op), resumed: make(chan struct{}), ended: make(chan error),
	}
	p.fs.Before = func(op faultfs.Op) error {
		if p.stop(op) {
			p.stopped <- op
			<-p.resumed
		}
		return nil
	}
	p.stop = never
	w.processes = append(w.processes, p)
	return p
}

// opened returns a process that has the store open.
func (w *world) opened(name string) *process {
	w.t.Helper()
	p := w.process(name)
	p.must(openingCall())
	return p
}

// stop chooses the operation before which a call stops.
type stop func(faultfs.Op) bool

func never(faultfs.Op) bool { return false }

// before stops before the operation number n, counted from 0 and from now on.
func before(n int) stop {
	return func(faultfs.Op) bool { n--; return n == -1 }
}

// on stops before the next operation of a kind on a file whose name starts with
// prefix.
func on(kind faultfs.Kind, prefix string) stop {
	return func(op faultfs.Op) bool { return matches(op, kind, prefix) }
}

func matches(op faultfs.Op, kind faultfs.Kind, prefix string) bool {
	if kind == faultfs.Sync && op.Kind == faultfs.SyncData {
		kind = faultfs.SyncData
	}
	return op.Kind == kind && strings.HasPrefix(op.Name, prefix)
}

// start runs the call up to a stop, or to its end, and reports whether it
// stopped.
func (p *process) start(c call, at stop) bool {
	p.world.t.Helper()
	if p.current != nil || p.dead {
		p.world.fail("the test starts a call in %s, which is dead or has one under way", p.name)
	}
	p.call, p.stop, p.evictions = c, at, p.world.evictions
	p.current = p.world.oracle.begin(c)
	go func() { p.ended <- c.run(p) }()
	return p.wait()
}

// goOn lets a stopped call run up to the next stop or to its end.
func (p *process) goOn(at stop) bool {
	p.world.t.Helper()
	if p.current == nil {
		p.world.fail("the test goes on with a call of %s that has ended", p.name)
	}
	p.stop = at
	p.resumed <- struct{}{}
	return p.wait()
}

// finish lets a stopped call run to its end and returns its error.
func (p *process) finish() error {
	p.world.t.Helper()
	p.goOn(never)
	return p.err
}

// do runs a whole call and returns its error.
func (p *process) do(c call) error {
	p.world.t.Helper()
	p.start(c, never)
	return p.err
}

// must is do for a call that has to succeed.
func (p *process) must(c call) {
	p.world.t.Helper()
	if err := p.do(c); err != nil {
		p.world.fail("%s: %s: %v", p.name, c.name, err)
	}
}

// startTo is start for a call that has to reach the stop.
func (p *process) startTo(c call, at stop) {
	p.world.t.Helper()
	if !p.start(c, at) {
		p.world.fail("%s: %s ended (%v) before the operation at which it should stop", p.name, c.name, p.err)
	}
}

// goOnTo is goOn for a call that has to reach the stop.
func (p *process) goOnTo(at stop) {
	p.world.t.Helper()
	if !p.goOn(at) {
		p.world.fail("%s: %s ended (%v) before the operation at which it should stop", p.name, p.call.name, p.err)
	}
}

func (p *process) wait() bool {
	p.world.t.Helper()
	select {
	case p.at = <-p.stopped:
		p.world.note("%s: %s stops before %s", p.name, p.call.name, p.at)
		return true
	case p.err = <-p.ended:
		p.world.note("%s: %s ends: %v", p.name, p.call.name, p.err)
		p.settle()
		return false
	}
}

// kill ends the process as kill -9 does, in the middle of a call or not.
func (p *process) kill() {
	p.world.t.Helper()
	p.world.note("%s is killed", p.name)
	p.dead = true
	p.fs.Kill()
	if p.current != nil {
		p.stop = never
		p.resumed <- struct{}{}
		p.wait()
	}
}

// abandon kills without looking at the outcome.
func (p *process) abandon() {
	p.dead = true
	p.fs.Kill()
	if p.current != nil {
		p.stop = never
		p.resumed <- struct{}{}
		<-p.ended
	}
}

// settle tells the oracle how the call ended. An error that no call may return
// under its circumstances ends the test.
func (p *process) settle() {
	p.world.t.Helper()
	op, o, err := p.current, p.world.oracle, p.err
	p.current = nil
	if answer, answered := p.answer(err); answered {
		if !o.answered(op, answer) {
			p.world.fail("%s: %s answered %q, which no order of the calls explains; before it the store could hold %s",
				p.name, op.name, answer, o)
		}
		p.succeeded(err)
		return
	}
	switch {
	case p.dead:
		o.lost(op)
	case errors.Is(err, ErrCorrupt):
		p.world.fail("%s: %s: %v", p.name, op.name, err)
	case errors.Is(err, ErrPoisoned) && !p.poisoned:
		p.poisoned = true
		o.lost(op)
	case errors.Is(err, ErrPoisoned), errors.Is(err, faultfs.ErrInjected), errors.Is(err, ErrBusy) && !p.call.reads,
		errors.Is(err, io.EOF) && p.evictions < p.world.evictions:
		if !o.refused(op) {
			p.world.fail("%s: %s failed with %v, but has been seen to take effect", p.name, op.name, err)
		}
	default:
		p.world.fail("%s: %s: %v", p.name, op.name, err)
	}
}

// answer is what the oracle compares: how a call ended that did its work.
func (p *process) answer(err error) (string, bool) {
	switch {
	case err == nil && p.call.reads:
		return p.found.String(), true
	case err == nil:
		return "", true
	case errors.Is(err, errConflict):
		return "conflict", true
	case errors.Is(err, ErrNotFound):
		return "not found", true
	}
	return "", false
}

func (p *process) succeeded(err error) {
	if err == nil && p.call.erases {
		p.world.erased = true
	}
}
