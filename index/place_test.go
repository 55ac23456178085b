package index

import (
	"slices"
	"testing"

	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

const (
	maxNeighbours = 16
	maxSilence    = 30 * 60 * 1000
)

// Places are those that counting all messages of a session gives.
func TestPlacesMatchModel(t *testing.T) {
	near, far, silent := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ix, m := New(Standard()), newModel()
		n := rapid.SampledFrom([]int{5, 50, 400}).Draw(t, "messages")
		time := int64(0)
		gaps := rapid.SampledFrom([][]int64{{1000}, {0, 1000, maxSilence}, {1000, maxSilence, 60_000, 0, 0, maxSilence + 1}}).Draw(t, "gaps")
		one := rapid.SampledFrom([]int{1, 3, 20}).Draw(t, "one of")
		for i := range n {
			time += rapid.SampledFrom(gaps).Draw(t, "gap")
			d := Doc{ID: makeID(i+1, 0), Session: sessionNames[i%7%len(sessionNames)], Time: time}
			ix.Put(uint64(i), d)
			m.docs[d.ID] = d
		}
		for i := range n {
			if rapid.IntRange(0, 9).Draw(t, "delete") == 0 {
				ix.Delete(uint64(n+i), makeID(i+1, 0))
				delete(m.docs, makeID(i+1, 0))
			}
		}
		var asked []ulid.ULID
		for _, id := range m.ids("") {
			if rapid.IntRange(1, one).Draw(t, "ask") == 1 {
				asked = append(asked, id)
			}
		}
		slices.Reverse(asked)
		places := ix.Places(rowsOf(ix, asked), Reach{maxNeighbours, maxSilence})
		if len(places) != len(asked) {
			t.Fatalf("%d places for %d messages", len(places), len(asked))
		}
		for i, p := range places {
			if i == 0 || places[i-1].Session != p.Session {
				if p.Near {
					t.Fatal("the first of a session is near")
				}
				continue
			}
			from, to := asked[places[i-1].Of], asked[p.Of]
			history := m.ids(m.docs[to].Session)
			a, b := slices.Index(history, from), slices.Index(history, to)
			if p.Rank-places[i-1].Rank != b-a || p.Rank != b || b <= a {
				t.Fatalf("ranks %d and %d, want %d and %d", places[i-1].Rank, p.Rank, a, b)
			}
			quiet := false
			for j := a; j < b; j++ {
				quiet = quiet || m.docs[history[j+1]].Time-m.docs[history[j]].Time > maxSilence
			}
			if want := b-a <= maxNeighbours && !quiet; p.Near != want {
				t.Fatalf("near %v, %d places apart, silence %v", p.Near, b-a, quiet)
			}
			switch {
			case p.Near:
				near++
			case quiet:
				silent++
			default:
				far++
			}
		}
	})
	t.Logf("%d near, %d far, %d behind a silence", near, far, silent)
	if near == 0 || silent == 0 { // far is rare here; the long session has it
		t.Error("something never happened")
	}
}

func rowsOf(ix *Index, ids []ulid.ULID) (ordinals []uint32) {
	for _, id := range ids {
		ordinals = append(ordinals, ix.byID[id])
	}
	return ordinals
}

// Ranks count over all chunks of a long history.
func TestPlacesInALongSession(t *testing.T) {
	ix := New(Standard())
	const n = 5 * chunkSize
	for i := range n {
		ix.Put(uint64(i), Doc{ID: makeID(i+1, 0), Session: "s"})
	}
	ids := []ulid.ULID{makeID(n, 0), makeID(1, 0), makeID(n/2, 0)}
	for i, want := range []Place{{Of: 1}, {Of: 2, Rank: n/2 - 1}, {Of: 0, Rank: n - 1}} {
		if got := ix.Places(rowsOf(ix, ids), Reach{maxNeighbours, maxSilence})[i]; got.Of != want.Of || got.Rank != want.Rank || got.Near {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
