package search

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"

	"example.com/convmem/index"
)

// scan finds the best messages page by page. Terms are essential or not: those
// that are not, the least ones, can together not lift a message to the threshold,
// so a message without any other term is never looked at (MaxScore). The
// threshold rises during the scan, and with it the number of those terms. Nothing
// is lost: a message is passed over only when a bound on its score is below the
// threshold.
type scan struct {
	*scorer
	// order is the terms by rising bound, the first inessential of which are
	// not essential.
	order       []*scanned
	inessential int
	// rest[i] bounds the score of a message that holds only the first i terms,
	// and sums[i] what they add.
	rest, sums []float64
	perIdeal   float64 // slop / ideal
	page       *pageSums
	batch      index.Batch
	// bulk says that the sums of the page hold what all terms add.
	bulk bool
	// filtered says that the filter is worth a look before a sum is completed;
	// whether a message is live can wait for its score.
	filtered bool
}

type scanned struct {
	*scored
	bit    set
	cursor index.Cursor
}

// pageSums gathers the sums of a page's messages.
type pageSums struct {
	sums    [index.PageRows]int64
	matched [index.PageRows]set
	touched [index.PageRows / 64]uint64
}

// Each search takes a clean one and leaves a clean one behind.
var pagePool = sync.Pool{New: func() any { return new(pageSums) }}

func newScan(s *scorer) *scan {
	n := &scan{scorer: s, filtered: s.view.Filtered(), page: pagePool.Get().(*pageSums)}
	for i := range s.terms {
		t := &s.terms[i]
		n.order = append(n.order, &scanned{scored: t, bit: 1 << i, cursor: s.view.Cursor(t.place)})
	}
	slices.SortStableFunc(n.order, func(a, b *scanned) int { return cmp.Compare(a.bound, b.bound) })
	n.perIdeal = slop / s.ideal
	n.rest, n.sums = []float64{0}, []float64{0}
	mass := 0.0
	for i, t := range n.order {
		mass += t.weight
		n.sums = append(n.sums, n.sums[i]+t.bound)
		n.rest = append(n.rest, n.sums[i+1]*n.perIdeal*s.coverage(mass))
	}
	return n
}

// run looks at every page that has a message with an essential term.
func (n *scan) run(ctx context.Context) error {
	defer pagePool.Put(n.page)
	for _, t := range n.order {
		t.cursor.Next()
	}
	for page := n.nextPage(0); page < n.view.Pages(); page = n.nextPage(page + 1) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if lengths := n.view.Lengths(page); lengths != nil && n.worthwhile(page) {
			n.sum(page, lengths)
			n.collect(page, lengths)
		}
	}
	return nil
}

// nextPage returns the first page from one on in which an essential term stands,
// and brings the cursors of those terms there. Behind the last it returns a number
// that no page has.
func (n *scan) nextPage(from int) int {
	n.choose()
	start, first := uint32(from*index.PageRows), uint32(math.MaxUint32)
	for _, t := range n.essential() {
		if t.cursor.Ordinal() < start {
			t.cursor.Seek(start)
		}
		first = min(first, t.cursor.Ordinal())
	}
	return int(first / index.PageRows)
}

// choose moves terms that have become inessential.
func (n *scan) choose() {
	threshold := n.best.threshold()
	for n.inessential < len(n.order) && n.rest[n.inessential+1] < threshold {
		n.inessential++
	}
}

func (n *scan) essential() []*scanned { return n.order[n.inessential:] }

// worthwhile says whether a message of the page can reach the threshold.
func (n *scan) worthwhile(page int) bool {
	end := uint32((page + 1) * index.PageRows)
	sum := n.sums[n.inessential]
	for _, t := range n.essential() {
		if t.cursor.Ordinal() >= end {
			continue
		}
		bound := t.bound
		if last, counts := t.cursor.Bounds(); last >= end-1 {
			bound = n.bound(t.scored, counts)
		}
		sum += bound
	}
	return sum*n.perIdeal >= n.best.threshold()
}

// sum adds up what the terms add to the messages of a page: the essential ones to
// every message that holds one of them, then the others to those messages. When
// those are very few, the others are left to complete.
func (n *scan) sum(page int, lengths []uint8) {
	for _, t := range n.essential() {
		n.take(t, page, lengths, true)
	}
	if n.bulk = n.page.count() > fewTouched; !n.bulk {
		return
	}
	for _, t := range n.order[:n.inessential] {
		if start := uint32(page * index.PageRows); t.cursor.Ordinal() < start {
			t.cursor.Seek(start)
		}
		n.take(t, page, lengths, false)
	}
}

// fewTouched is up to how many messages of a page are completed one by one.
const fewTouched = 4

// take adds what a term adds to the messages of a page, or only to those that were
// touched already.
func (n *scan) take(t *scanned, page int, lengths []uint8, all bool) {
	start := uint32(page * index.PageRows)
	t.cursor.Take(start+index.PageRows, &n.batch)
	for _, slot := range n.batch.Plain {
		if all || n.page.has(slot) {
			n.page.add(slot, t.bit, n.repeated(t.scored, 1, start+uint32(slot), lengths[slot]))
		}
	}
	for _, r := range n.batch.Repeated {
		if all || n.page.has(r.Slot) {
			n.page.add(r.Slot, t.bit, n.repeated(t.scored, r.Count, start+uint32(r.Slot), lengths[r.Slot]))
		}
	}
	for i := range n.batch.Others {
		if other := &n.batch.Others[i]; all || n.page.has(other.Slot) {
			share, at := n.others(t, &other.Posting, start+uint32(other.Slot), lengths[other.Slot])
			n.page.add(other.Slot, t.bit|at, share)
		}
	}
}

// others is what a posting adds that is not plain, in a message of some length of
// content, and whether it is not of the content alone.
func (n *scan) others(t *scanned, p *index.Posting, ordinal uint32, length uint8) (int64, set) {
	lengths := p.Lengths
	if lengths[index.Content] = uint32(length); length == index.LongLength {
		lengths[index.Content] = n.view.FieldLengths(ordinal)[index.Content]
	}
	return n.share(t.scored, p.Counts, lengths).whole(), where(p.Counts)
}

func (p *pageSums) add(slot uint16, bit set, share int64) {
	p.touched[slot/64] |= 1 << (slot % 64)
	p.matched[slot] |= bit
	p.sums[slot] += share
}

// has says whether a message was touched.
func (p *pageSums) has(slot uint16) bool { return p.touched[slot/64]>>(slot%64)&1 != 0 }

// count counts the messages that were touched.
func (p *pageSums) count() (n int) {
	for _, touched := range p.touched {
		n += bits.OnesCount64(touched)
	}
	return n
}

// collect offers the messages that were touched, and cleans the page.
func (n *scan) collect(page int, lengths []uint8) {
	start, p := uint32(page*index.PageRows), n.page
	missing := n.inessential // terms that the sums lack
	if n.bulk {
		missing = 0
	}
	for word, touched := range p.touched {
		for ; touched != 0; touched &= touched - 1 {
			slot := uint32(word*64 + bits.TrailingZeros64(touched))
			if n.reachable(p.sums[slot], missing) && (!n.filtered || n.view.Passes(start+slot)) {
				n.complete(start+slot, lengths[slot], missing, p.sums[slot], p.matched[slot])
			}
			p.sums[slot], p.matched[slot] = 0, 0
		}
		p.touched[word] = 0
	}
}

// complete adds what the first missing terms add to a message and offers it, unless
// it cannot reach the threshold.
func (n *scan) complete(ordinal uint32, length uint8, missing int, sum int64, matched set) {
	for i := missing - 1; i >= 0; i-- {
		t := n.order[i]
		if t.cursor.Ordinal() < ordinal {
			t.cursor.Seek(ordinal)
		}
		if t.cursor.Ordinal() == ordinal {
			share, at := n.present(t, ordinal, length)
			sum += share
			matched |= t.bit | at
		}
		if !n.reachable(sum, i) {
			return
		}
	}
	n.offer(ordinal, sum, matched)
}

// present is what the posting adds at which the cursor of a term stands.
func (n *scan) present(t *scanned, ordinal uint32, length uint8) (int64, set) {
	if t.cursor.Plain() {
		return n.repeated(t.scored, 1, ordinal, length), 0
	}
	return n.others(t, t.cursor.Posting(), ordinal, length)
}

// reachable says whether a message with some sum and the first i terms still to
// come can reach the threshold, whatever it covers.
func (n *scan) reachable(sum int64, i int) bool {
	return (float64(sum)/scale+n.sums[i])*n.perIdeal >= n.best.threshold()
}
