package store

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/oklog/ulid/v2"
)

// long makes the sweeps look at more images; CI sets it.
var long = flag.Bool("long", false, "explore more crash images and fault points")

// sweep is for tests that go through thousands of damaged or interrupted files, or
// megabytes, in one goroutine each. The race detector can find nothing in them and
// makes them ten times slower.
func sweep(t *testing.T) {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("one goroutine; run it without the race detector")
	}
	t.Parallel()
}

// contents is what a log holds: payloads by id.
type contents map[ulid.ULID]string

func (c contents) with(changes ...change) contents {
	next := maps.Clone(c)
	for _, change := range changes {
		if change.kind == kindDelete {
			delete(next, change.id)
		} else {
			next[change.id] = string(change.payload)
		}
	}
	return next
}

// mirror is a Sink that keeps the payloads, to be compared with what the log
// reads from disk.
type mirror struct {
	held    contents
	lastSeq uint64
}

func newMirror() Sink { return &mirror{held: contents{}} }

func (m *mirror) Apply(r Record) error {
	if r.Seq <= m.lastSeq {
		return fmt.Errorf("sequence number %d after %d", r.Seq, m.lastSeq)
	}
	m.lastSeq = r.Seq
	if r.Deleted {
		delete(m.held, r.ID)
	} else {
		m.held[r.ID] = string(r.Payload)
	}
	return nil
}

// id makes readable ids that grow with n.
func id(n int) (u ulid.ULID) {
	u[5], u[15] = 1, byte(n)
	u[14] = byte(n >> 8)
	return u
}

func put(n int, payload string) change {
	return change{kind: kindPut, id: id(n), payload: []byte(payload)}
}

func remove(n int) change { return change{kind: kindDelete, id: id(n)} }

var opens atomic.Uint64

// testOptions are those of a store that is alone: nobody to wait for. Every
// open has its own random numbers, the same in every run.
func testOptions() Options {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], opens.Add(1))
	return Options{
		NewSink:  newMirror,
		LockWait: time.Nanosecond,
		Now:      func() time.Time { return time.UnixMilli(1_700_000_000_000) },
		Rand:     rand.NewChaCha8(seed),
	}
}

func openTest(fsys vfs.FS) (*Log, error) { return Open(context.Background(), fsys, testOptions()) }

func update(l *Log, changes ...change) error {
	return l.Update(context.Background(), func(tx *Tx) error {
		for _, c := range changes {
			if c.kind == kindDelete {
				tx.Delete(c.id)
			} else {
				tx.Put(c.id, slices.Clone(c.payload))
			}
		}
		return nil
	})
}

// held reads everything from disk and checks that the sink agrees.
func held(l *Log) (contents, error) {
	var all contents
	err := l.View(context.Background(), func(v *View) error {
		all = contents{} // the function may run again
		mirrored := v.Sink().(*mirror).held
		for key, want := range mirrored {
			got, err := v.Get(key)
			if err != nil {
				return err
			}
			if string(got) != want {
				return fmt.Errorf("record %v: file and sink differ", key)
			}
			all[key] = want
		}
		if v.gen.table.len() != len(mirrored) {
			return fmt.Errorf("%d records in the table, %d in the sink", v.gen.table.len(), len(mirrored))
		}
		return nil
	})
	return all, err
}

// step is one operation of a script. What it changes is known beforehand.
type step struct {
	name    string
	changes []change
	do      func(*script) error
}

// script is a run of steps over one file system, with an oracle.
type script struct {
	fs    vfs.FS
	log   *Log
	steps []step
	// allowed are the contents that may be found on disk at this moment: what
	// was acknowledged, with or without what is under way or unknown.
	allowed []contents
	current string
}

func newScript(fsys vfs.FS, steps []step) *script {
	return &script{fs: fsys, steps: steps, allowed: []contents{{}}}
}

func updating(name string, changes ...change) step {
	return step{name: name, changes: changes, do: func(s *script) error { return update(s.log, changes...) }}
}

func opening() step {
	return step{name: "open", do: func(s *script) (err error) {
		s.log, err = openTest(s.fs)
		return err
	}}
}

func closing() step {
	return step{name: "close", do: func(s *script) error { return s.log.Close() }}
}

func rebuilding() step {
	return step{name: "rebuild", do: func(s *script) error {
		_, err := s.log.Rebuild(context.Background())
		return err
	}}
}

func snapshotting() step {
	return step{name: "snapshot", do: func(s *script) error {
		s.log.rebuilding <- struct{}{}
		defer release(s.log.rebuilding)
		return s.log.saveIfGrown(func(int64) int64 { return 0 })
	}}
}

// shortRun uses every operation once or twice, with payloads around the size of
// a disk block.
func shortRun() []step {
	return []step{
		opening(),
		updating("write", put(1, "one")),
		updating("long write", put(2, string(make([]byte, 700)))),
		snapshotting(),
		updating("update", put(1, "one, changed")),
		updating("batch", put(3, "three"), put(4, "four"), remove(2)),
		closing(),
		opening(),
		updating("delete", remove(3)),
		rebuilding(),
		updating("write after rebuild", put(5, "five")),
		snapshotting(),
		closing(),
		opening(),
		updating("write behind a snapshot", put(6, "six")),
		rebuilding(),
		closing(),
	}
}

// run executes the steps until one fails and returns its error. After an error
// what the step wanted may or may not have happened.
func (s *script) run() error {
	for _, step := range s.steps {
		before := s.allowed[0]
		after := before.with(step.changes...)
		s.current, s.allowed = step.name, []contents{before, after}
		if err := step.do(s); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		s.allowed = []contents{after}
	}
	return nil
}

// images calls check for every crash image of disk, or for a sample when there
// are more than limit, and for what is left when only the process dies. It
// returns how many it made.
func images(disk *vfs.Mem, limit int, r *rand.Rand, check func(*vfs.Mem)) int {
	check(disk.Kill())
	count := disk.CrashImageCount()
	if count <= limit {
		for image := range disk.CrashImages() {
			check(image)
		}
		return count + 1
	}
	for range limit {
		check(disk.CrashImage(r))
	}
	return limit + 1
}

// survives opens the image and compares what it holds with what is allowed.
// What was shown must then be durable, and it must be possible to go on writing,
// to close and to open again, since a recovery may look right and still leave a
// log that the next one cannot read.
func survives(image *vfs.Mem, allowed []contents) error {
	l, err := openTest(image)
	if err != nil {
		return fmt.Errorf("open after the crash: %w", err)
	}
	found, err := held(l)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(allowed, func(c contents) bool { return equal(c, found) }) {
		return fmt.Errorf("found %v, allowed %v", found, allowed)
	}
	if size, err := l.gen.file.Size(); err != nil || size != l.gen.end.offset {
		return fmt.Errorf("the log has %d bytes (%v), its frames end at %d", size, err, l.gen.end.offset)
	}
	if err := shownIsDurable(image, found); err != nil {
		return err
	}
	extra := put(99, "written after the crash")
	if err := errors.Join(update(l, extra), l.Close()); err != nil {
		return err
	}
	again, err := contentsOf(image)
	if err != nil {
		return fmt.Errorf("second open: %w", err)
	}
	if want := found.with(extra); !equal(again, want) {
		return fmt.Errorf("found %v after writing on, want %v", again, want)
	}
	return nil
}

// shownIsDurable cuts the power while found is being shown.
func shownIsDurable(image *vfs.Mem, found contents) (err error) {
	r := rand.New(rand.NewPCG(7, 8))
	images(image, 4, r, func(second *vfs.Mem) {
		again, openErr := contentsOf(second)
		if err == nil && (openErr != nil || !equal(again, found)) {
			err = fmt.Errorf("showed %v, and after a power cut %v (%w)", found, again, openErr)
		}
	})
	return err
}

// crashEverywhere runs the steps and takes crash images before every operation
// on the file system and at the end.
func crashEverywhere(t *testing.T, steps []step, limit int) (operations, imageCount int) {
	t.Helper()
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	s := newScript(fsys, steps)
	r := rand.New(rand.NewPCG(1, 2))
	look := func(op string) {
		operations++
		imageCount += images(disk, limit, r, func(image *vfs.Mem) {
			if err := survives(image, s.allowed); err != nil {
				t.Fatalf("during %s, at operation %d (%s): %v", s.current, operations, op, err)
			}
		})
	}
	fsys.Before = func(op faultfs.Op) error {
		if changesDisk(op.Kind) {
			look(op.String())
		}
		return nil
	}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	look("the end")
	return operations, imageCount
}

// changesDisk leaves out the calls before which the disk is as it was before
// the call before them.
func changesDisk(k faultfs.Kind) bool {
	return !slices.Contains([]faultfs.Kind{faultfs.Read, faultfs.Size, faultfs.List, faultfs.Open, faultfs.SameFile,
		faultfs.TryLock, faultfs.Unlock}, k)
}

func equal(a, b contents) bool { return maps.Equal(a, b) }
