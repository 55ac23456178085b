package store

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// sample chooses how much of something to look at.
func sample(short, whole int) int {
	if *long {
		return whole
	}
	return short
}

// A power cut, or a kill, at every operation of every call.
func TestPowerCutAtEveryOperation(t *testing.T) {
	sweep(t)
	operations, count := crashEverywhere(t, shortRun(), sample(128, 2048))
	t.Logf("%d crash points, %d images, no violation", operations, count)
}

// One block per frame makes every subset of an atomic group's frames an image.
func TestPowerCutInBatches(t *testing.T) {
	block := func(b byte) string {
		payload := make([]byte, 512-frameHeaderSize)
		payload[0] = b
		return string(payload)
	}
	steps := []step{
		opening(),
		updating("batch", put(1, block(1)), put(2, block(2)), put(3, block(3))),
		updating("batch over a batch", put(2, block(4)), remove(1), put(4, block(5)), put(5, block(6))),
		closing(),
	}
	operations, count := crashEverywhere(t, steps, sample(128, 2048))
	t.Logf("%d crash points, %d images, no violation", operations, count)
}

// Recovery crashes too: from images of a first crash or kill, every operation
// of the next Open is cut again.
func TestPowerCutDuringRecovery(t *testing.T) {
	sweep(t)
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	s := newScript(fsys, shortRun())
	r := rand.New(rand.NewPCG(3, 4))
	first, second := 0, 0
	fsys.Before = func(op faultfs.Op) error {
		if !changesDisk(op.Kind) {
			return nil
		}
		for range sample(2, 8) {
			first += 2
			second += crashDuringOpen(t, disk.CrashImage(r), s, r)
			second += crashDuringOpen(t, disk.Kill(), s, r)
		}
		return nil
	}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d first crashes, %d second crashes, no violation", first, second)
}

func crashDuringOpen(t *testing.T, disk *vfs.Mem, s *script, r *rand.Rand) (count int) {
	t.Helper()
	fsys := faultfs.New(disk)
	fsys.Before = func(op faultfs.Op) error {
		if changesDisk(op.Kind) {
			count += images(disk, sample(4, 16), r, func(image *vfs.Mem) {
				if err := survives(image, s.allowed); err != nil {
					t.Fatalf("%s, then during recovery (%s): %v", s.current, op, err)
				}
			})
		}
		return nil
	}
	l, err := openTest(fsys)
	if err != nil {
		t.Fatalf("recovery: %v", err)
	}
	fsys.Before = nil
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return count
}

// effects are the ways in which a call can fail.
var effects = map[string]faultfs.Effect{
	"not done": faultfs.NotDone, "short": faultfs.Short, "done": faultfs.Done, "lost": faultfs.Lost,
}

// The n-th operation fails, for every n and in every way. Nothing acknowledged
// is lost, nothing is written after a failed sync, and the store opens again.
func TestEveryOperationFails(t *testing.T) {
	sweep(t)
	for name, effect := range effects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := 0
			for n := 0; failAt(t, n, effect, false); n++ {
				points++
			}
			for n := 0; failAt(t, n, effect, true); n++ {
				points++
			}
			t.Logf("%d fault points, no violation", points)
		})
	}
}

// failAt runs the script with its n-th operation failing, and with it all later
// ones if always is set. It reports whether there was an n-th operation.
func failAt(t *testing.T, n int, effect faultfs.Effect, always bool) bool {
	t.Helper()
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	fsys.Inject(faultfs.Fault{N: n, Effect: effect, Always: always})
	s := newScript(fsys, shortRun())
	err := s.run()
	if fsys.Fired() == 0 {
		if err != nil {
			t.Fatalf("without a fault: %v", err)
		}
		return false
	}
	if err != nil && (errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound)) {
		t.Fatalf("operation %d (%s): a failed operation is reported as %v", n, failed(fsys), err)
	}
	if err != nil {
		s.afterFailure(t, n, disk, fsys, err)
	}
	fsys.Kill()
	r := rand.New(rand.NewPCG(5, uint64(n)))
	images(disk, sample(3, 16), r, func(image *vfs.Mem) {
		if err := survives(image, s.allowed); err != nil {
			t.Fatalf("operation %d (%s) failed during %s, then power cut: %v", n, failed(fsys), s.current, err)
		}
	})
	if effect == faultfs.Lost && !always {
		// What reads show may not be on the disk: recovery must not trust it.
		crashDuringOpen(t, disk.Kill(), s, r)
	}
	return true
}

// afterFailure checks what the process that saw the failure still does: views
// show what was acknowledged; a poisoned log writes nothing; any other goes on.
func (s *script) afterFailure(t *testing.T, n int, disk *vfs.Mem, fsys *faultfs.FS, failure error) {
	t.Helper()
	fsys.Clear()
	if s.log == nil || errors.Is(failure, ErrClosed) || s.current == "open" || s.current == "close" {
		return
	}
	found, err := held(s.log)
	if err != nil || !slices.ContainsFunc(s.allowedAfter(failure), func(c contents) bool { return equal(c, found) }) {
		t.Fatalf("operation %d (%s) failed during %s: views show %v (%v), allowed is %v",
			n, failed(fsys), s.current, found, err, s.allowedAfter(failure))
	}
	images(disk, sample(3, 16), rand.New(rand.NewPCG(9, uint64(n))), func(image *vfs.Mem) {
		if err := survives(image, s.allowedAfter(failure)); err != nil {
			t.Fatalf("operation %d (%s) failed during %s (%v), then power cut: %v",
				n, failed(fsys), s.current, failure, err)
		}
	})
	operations := len(fsys.Ops())
	extra := put(77, "after the failure")
	err = update(s.log, extra)
	if s.log.state.poisoned() != nil {
		if !errors.Is(err, ErrPoisoned) {
			t.Fatalf("operation %d (%s): an update of a poisoned log returned %v", n, failed(fsys), err)
		}
		noWrites(t, fsys, operations)
		return
	}
	if err != nil {
		t.Fatalf("operation %d (%s) failed during %s without poison, but the next update failed: %v",
			n, failed(fsys), s.current, err)
	}
	s.allowed = []contents{s.allowed[0].with(extra)}
}

// allowedAfter narrows what may be found after a failure: only one that ended
// writing leaves it open what happened.
func (s *script) allowedAfter(failure error) []contents {
	if errors.Is(failure, ErrPoisoned) {
		return s.allowed
	}
	return s.allowed[:1]
}

func noWrites(t *testing.T, fsys *faultfs.FS, since int) {
	t.Helper()
	for _, op := range fsys.Ops()[since:] {
		if changesDisk(op.Kind) && op.Kind != faultfs.Close || op.Kind == faultfs.TryLock {
			t.Fatalf("a poisoned log did %s", op)
		}
	}
}

func failed(fsys *faultfs.FS) string {
	for _, op := range fsys.Ops() {
		if errors.Is(op.Err, faultfs.ErrInjected) {
			return op.String()
		}
	}
	return "no operation"
}
