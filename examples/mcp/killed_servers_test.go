package main

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
)

// TestKilledServersLoseNothing kills one server after another with signal 9
// while four work on one directory, and starts it again. What was acknowledged,
// to whomever, is there; what was not answered is there once or not at all; and
// repeating it with its key makes it once.
func TestKilledServersLoseNothing(t *testing.T) {
	const servers, seed = 4, 1
	kills := 20
	if *long {
		kills = 300
	}
	p, dir := build(t), t.TempDir()
	first := p.start(t, dir)
	l := newLedger(t, first.server, 3, 16)
	first.close(t)

	workers := make([]*worker, servers)
	for i := range workers {
		workers[i] = newWorker(t.Context(), p, dir, l, i, true)
	}
	var over atomic.Bool
	go func() {
		defer over.Store(true)
		killOneAfterAnother(t, workers, rand.New(rand.NewPCG(seed, servers)), kills)
	}()
	inParallel(t, workers, func(w *worker) error {
		if err := w.start(); err != nil {
			return err
		}
		for n := 0; !over.Load(); n++ {
			if err := w.round(n); err != nil {
				return err
			}
			if n%20 == 10 && w.number%2 == 0 {
				if err := w.rebuild(); err != nil {
					return err
				}
			}
		}
		// The last kill may have come after the last call.
		_, _, err := w.call("get_system_health", arguments{})
		return err
	})
	checkAll(t, p, dir, l, workers)
	if l.tally["kills"] != kills || l.tally["interrupted writes"]+l.tally["interrupted updates"] == 0 || l.tally["acknowledged writes"] < kills {
		t.Errorf("the work was not done: %v", l.tally)
	}
}

// killOneAfterAnother kills a server every 20 to 300 ms, and sometimes, a moment
// later, the one that was started in its place.
func killOneAfterAnother(t *testing.T, workers []*worker, r *rand.Rand, kills int) {
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(r.Int64N(int64(most-least)))
	}
	for done := 0; done < kills && t.Context().Err() == nil && !t.Failed(); {
		time.Sleep(between(20*time.Millisecond, 300*time.Millisecond))
		w := workers[r.IntN(len(workers))]
		for again := true; again && done < kills; again = r.IntN(3) == 0 {
			if w.kill() {
				done++
				w.ledger.count("kills")
			}
			time.Sleep(between(0, 10*time.Millisecond))
		}
	}
}
