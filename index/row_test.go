package index

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What rows count is what looking at every page gives, and a copy of them tells for
// ever which were live when it was made.
func TestRowsMatchModel(t *testing.T) {
	type copied struct {
		rows rows
		live map[uint32]int
	}
	forgotten := 0
	rapid.Check(t, func(t *rapid.T) {
		r, live := rows{pageBytes: 400}, map[uint32]int{} // bytes of blocks, by ordinal
		var copies []copied
		for range rapid.IntRange(1, 150).Draw(t, "operations") {
			switch op := rapid.IntRange(0, 9).Draw(t, "operation"); {
			case op < 5:
				block := make([]byte, rapid.IntRange(0, 150).Draw(t, "block"))
				live[r.append(row{}, 0, block)] = len(block)
			case op < 9 && len(live) > 0:
				ordinal := rapid.SampledFrom(slices.Sorted(maps.Keys(live))).Draw(t, "kill")
				r.kill(ordinal)
				delete(live, ordinal)
			default:
				copies = append(copies, copied{r, maps.Clone(live)})
			}
			checkRows(t, &r, live)
		}
		for _, c := range copies {
			if got := slices.Collect(c.rows.wereLive); !slices.Equal(got, slices.Sorted(maps.Keys(c.live))) {
				t.Fatalf("a copy says that %v were live, want those of %v", got, c.live)
			}
		}
		if slices.Contains(r.full, nil) {
			forgotten++
		}
	})
	if forgotten == 0 {
		t.Error("no page was ever forgotten")
	}
}

func checkRows(t *rapid.T, r *rows, live map[uint32]int) {
	bytes, liveBytes, share := 0, 0, 0.5
	for p := range r.pages {
		dead := len(p.died) - countZeros(p.died)
		if bytes += p.size(); int(p.dead) != dead || p != &r.tail && dead == len(p.rows) {
			t.Fatalf("a page of %d rows counts %d dead of %d", len(p.rows), p.dead, dead)
		}
		if p != &r.tail {
			share = max(share, 1-float64(p.live)/float64(p.size()))
		}
	}
	for _, block := range live {
		liveBytes += rowBytes + block
	}
	if r.bytes != bytes || r.liveBytes != liveBytes || r.live != len(live) {
		t.Fatalf("%d bytes, %d of %d live rows; want %d, %d of %d", r.bytes, r.liveBytes, r.live, bytes, liveBytes, len(live))
	}
	if got := slices.Collect(r.all); !slices.Equal(got, slices.Sorted(maps.Keys(live))) {
		t.Fatalf("live rows %v, want those of %v", got, live)
	}
	p, _ := r.deadest()
	if (p != nil) != (share > 0.5) || p != nil && 1-float64(p.live)/float64(p.size()) != share {
		t.Fatalf("not the page that is dead most, %v of it", share)
	}
}

func countZeros(values []uint32) (n int) {
	for _, v := range values {
		if v == 0 {
			n++
		}
	}
	return n
}
