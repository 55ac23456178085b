package index

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type posting struct {
	ordinal uint32
	counts  Counts
}

// drawList makes a list with gaps and counts of every size.
func drawList(t *rapid.T) (l list, want []posting) {
	ordinal := uint32(0)
	for i := range rapid.IntRange(0, 3*blockPostings).Draw(t, "postings") {
		gap := rapid.SampledFrom([]uint32{1, 1, 2, 63, 64, 5000, 1 << 20}).Draw(t, "gap")
		if i == 0 {
			gap--
		}
		ordinal += gap
		c := plain
		if rapid.IntRange(0, 4).Draw(t, "plain") == 0 {
			for f := range c {
				c[f] = rapid.SampledFrom([]uint32{0, 1, 2, 127, 128, 254, 255, 256, 1 << 20}).Draw(t, "count")
			}
		}
		l.add(ordinal, c, Counts{9, 300, 3})
		want = append(want, posting{ordinal, c})
	}
	return l, want
}

// A cursor finds what was added, whatever steps and seeks lead there, and its
// bounds hold.
func TestCursorMatchesSlice(t *testing.T) {
	seeks := 0
	rapid.Check(t, func(t *rapid.T) {
		l, want := drawList(t)
		c := l.cursor()
		at := -1 // of the present posting
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "next") {
				at = min(at+1, len(want))
				if c.Next() != (at < len(want)) {
					t.Fatalf("Next at %d of %d", at, len(want))
				}
			} else {
				var to uint32
				if at >= 0 && at < len(want) {
					to = want[at].ordinal
				}
				to += rapid.SampledFrom([]uint32{0, 1, 100, 1 << 15, 1 << 22, 1 << 27}).Draw(t, "distance")
				if at < len(want) {
					at = max(at, 0)
					at += slices.IndexFunc(append(slices.Clone(want[at:]), posting{ordinal: math.MaxUint32}), func(p posting) bool { return p.ordinal >= to })
				}
				if c.Seek(to) != (at < len(want)) {
					t.Fatalf("Seek(%d) at %d of %d", to, at, len(want))
				}
				seeks++
			}
			checkCursor(t, &c, want, at)
		}
	})
	if seeks == 0 {
		t.Error("no cursor ever sought")
	}
}

func checkCursor(t *rapid.T, c *Cursor, want []posting, at int) {
	if at == len(want) {
		if c.Ordinal() != math.MaxUint32 {
			t.Fatalf("at %d behind the last", c.Ordinal())
		}
		return
	}
	if c.Ordinal() != want[at].ordinal || c.Counts() != want[at].counts || c.Plain() != (want[at].counts == plain) {
		t.Fatalf("at %d %v, want %v", c.Ordinal(), c.Counts(), want[at])
	}
	if p := want[at].counts; !c.Plain() && p.elsewhere() && c.Posting().Lengths != (Counts{0, 300, 3}) {
		t.Fatalf("lengths %v", c.Posting().Lengths)
	}
	last, bounds := c.Bounds()
	for _, p := range want[at:] {
		if p.ordinal > last {
			break
		}
		for f := range bounds {
			if p.counts[f] > bounds[f] {
				t.Fatalf("bounds %v for %v", bounds, p)
			}
		}
	}
	if last < want[at].ordinal {
		t.Fatalf("bounds up to %d at %d", last, want[at].ordinal)
	}
}

// A list without its dead postings equals one to which only the others were added.
func TestRewrittenList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, want := drawList(t)
		isLive := func(ordinal uint32) bool { return ordinal%3 != 0 }
		var fresh list
		for _, p := range want {
			if isLive(p.ordinal) {
				fresh.add(p.ordinal, p.counts, Counts{9, 300, 3})
			}
		}
		got := l.rewritten(isLive)
		if diff := cmp.Diff(fresh, got, cmp.AllowUnexported(list{}, blocks{}, sealed{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A copy of a list stays as it was while the list grows.
func TestListsOnlyGrow(t *testing.T) {
	var l list
	for i := range uint32(1000) {
		copied := l.frozen()
		l.add(2*i, Counts{Content: i%3 + 1}, Counts{})
		n := uint32(0)
		for c := copied.cursor(); c.Next(); n++ {
			if c.ordinal != 2*n || c.Counts()[Content] != n%3+1 {
				t.Fatalf("posting %d of a copy: %d %v", n, c.ordinal, c.Counts())
			}
		}
		if n != i {
			t.Fatalf("%d postings in a copy of %d", n, i)
		}
	}
}

// A copy of a list skips by its own blocks, not by those that the list seals later,
// and its bounds are those of its own postings.
func TestCopiesKeepTheirBlocks(t *testing.T) {
	const n = 6 * blockPostings
	var l list
	var copies []list
	for i := range uint32(n) {
		l.add(2*i, Counts{Content: i/50 + 1}, Counts{})
		copies = append(copies, l.frozen())
	}
	for i, copied := range copies {
		c := copied.cursor()
		if c.Seek(2*uint32(i)+1) || c.Ordinal() != math.MaxUint32 {
			t.Fatalf("a copy of %d postings has one at %d", i+1, c.Ordinal())
		}
		c = copied.cursor()
		if !c.Seek(2*uint32(i)) || c.Counts()[Content] != uint32(i)/50+1 {
			t.Fatalf("the last of %d postings is not found: %d %v", i+1, c.Ordinal(), c.Counts())
		}
		if _, bounds := c.Bounds(); bounds[Content] != uint32(i)/50+1 {
			t.Fatalf("bounds %v of the last block of %d postings", bounds, i+1)
		}
	}
}

// Bounds of a block are those of its own postings, not of the blocks before it.
func TestBoundsAreOfOneBlock(t *testing.T) {
	var l list
	for i := range uint32(5 * blockPostings / 2) {
		l.add(i, Counts{Content: []uint32{9, 4, 2}[i/blockPostings], Tags: []uint32{0, 1, 0}[i/blockPostings]}, Counts{})
	}
	c := l.cursor()
	for block, want := range []Counts{{Content: 9}, {Content: 4, Tags: 1}, {Content: 2}} {
		if !c.Seek(uint32(block*blockPostings + 3)) {
			t.Fatal("nothing there")
		}
		if _, got := c.Bounds(); got != want {
			t.Errorf("block %d: bounds %v, want %v", block, got, want)
		}
	}
}
