package eino_test

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/convmem/examples/eino"
)

// Goroutines of two processes set, get and delete one checkpoint. A Get never sees
// a mixture, and in the end the checkpoint of one of them is there whole.
func TestCheckPointsConcurrently(t *testing.T) {
	dir := t.TempDir()
	stores := []eino.Store{open(t, dir), open(t, dir)}
	const writers, rounds = 4, 6
	whole := func(seed byte) []byte { return data(seed, int(seed)*partBytes/2) }
	isWhole := func(checkPoint []byte) bool {
		return len(checkPoint) > 0 && bytes.Equal(checkPoint, whole(checkPoint[0]))
	}
	var group, readers sync.WaitGroup
	var done atomic.Bool
	var seen, absent atomic.Int64
	must(t, eino.NewCheckPoints(stores[0]).Set(ctx, "run", whole(1)))
	for writer := range writers {
		checkPoints := eino.NewCheckPoints(stores[writer%2])
		group.Go(func() {
			for round := range rounds {
				if err := checkPoints.Set(ctx, "run", whole(byte(writer+1))); err != nil {
					t.Error(err)
				}
				if writer == 0 && round%3 == 0 {
					if err := checkPoints.Delete(ctx, "run"); err != nil {
						t.Error(err)
					}
				}
			}
		})
		readers.Go(func() {
			for !done.Load() {
				got, ok, err := checkPoints.Get(ctx, "run")
				switch {
				case err != nil || ok && !isWhole(got):
					t.Errorf("a mixture of %d bytes, error %v", len(got), err)
				case ok:
					seen.Add(1)
				default:
					absent.Add(1)
				}
			}
		})
	}
	group.Wait()
	done.Store(true)
	readers.Wait()
	t.Logf("%d sets; of %d gets %d found one", writers*rounds, seen.Load()+absent.Load(), seen.Load())
	for i, store := range stores {
		must(t, eino.NewCheckPoints(store).Set(ctx, "run", whole(byte(i+1))))
		for _, other := range stores {
			wantCheckPoint(t, other, "run", whole(byte(i+1)))
			same(t, "messages", len(stored(t, other, sessionOf("run"))), 1)
		}
	}
}

// Two processes set at the same moment, many times: one wins whole each time.
func TestTwoSetsAtOnce(t *testing.T) {
	dir := t.TempDir()
	stores := []eino.Store{open(t, dir), open(t, dir)}
	wins := map[byte]int{}
	for range 15 {
		var group sync.WaitGroup
		for i, store := range stores {
			group.Go(func() {
				if err := eino.NewCheckPoints(store).Set(ctx, "run", data(byte(i), partBytes+1)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		got, ok, err := eino.NewCheckPoints(stores[0]).Get(ctx, "run")
		must(t, err)
		if !ok || !bytes.Equal(got, data(got[0], partBytes+1)) {
			t.Fatalf("found %t, %d bytes", ok, len(got))
		}
		same(t, "messages", len(stored(t, stores[1], sessionOf("run"))), 2)
		wins[got[0]]++
	}
	t.Logf("wins of each process: %v", wins)
}
