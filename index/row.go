package index

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/oklog/ulid/v2"
)

// pageRows is how many rows a page has. Search scores a page at a time, and
// memory is given back by pages.
const pageRows = 1024

// pageBytes is when a page with fewer rows is closed: one of very long messages
// would hold much memory for the sake of a few.
const pageBytes = 1 << 20

// row is what is known of one version of a message but its words, which stand
// with its tags and relations in the page's blocks. A row never changes; an update
// of the message makes another one.
type row struct {
	id          ulid.ULID
	time        int64
	block       uint32 // where in page.blocks its block begins
	session     uint32 // the session's number
	traits      uint32 // in Index.traits
	fingerprint uint32 // of the content; see Fingerprint
}

// traits is what many messages have alike.
type traits struct {
	role, kind, tier string
	importance       int32
	asks             bool // the content holds a question mark
	summarised       bool
}

// page holds the rows of up to pageRows ordinals, in columns. Rows and blocks are only
// ever appended, so that a copy of a page stays as it was; died is the one thing
// that changes.
type page struct {
	rows []row
	// lengths are the terms of the content, LongLength for that many or more. Of
	// all columns scoring looks at this one most: it should stay in the
	// processor's cache.
	lengths []uint8
	// died is 0 for a live row, or else the number of the death that ended it.
	// Views read it while the index changes.
	died   []uint32
	dead   uint32 // rows that died; views read it too
	blocks []byte
	live   int // bytes of live rows
}

// LongLength stands for itself and all greater lengths in [View.Lengths].
const LongLength = math.MaxUint8

// rowBytes is what a row takes besides its block.
const rowBytes = 48

// size returns the bytes of all rows.
func (p *page) size() int { return len(p.rows)*rowBytes + len(p.blocks) }

// rows is a list of pages by ordinal.
type rows struct {
	full []*page // nil where no row is live
	tail page    // the last one, with room
	// deaths counts rows that died. A row with a greater number than a view
	// has was live when that was made.
	deaths uint32
	live   int // rows
	// Bytes of all rows that take memory, and of the live ones among them.
	bytes, liveBytes int
	pageBytes        int // the constant, less in tests
}

// next returns the ordinal of the next row.
func (r *rows) next() uint32 { return uint32(len(r.full)*pageRows + len(r.tail.rows)) }

// page returns the page of an ordinal, nil when all its rows are dead.
func (r *rows) page(ordinal uint32) *page {
	if n := int(ordinal / pageRows); n < len(r.full) {
		return r.full[n]
	}
	return &r.tail
}

func (r *rows) row(ordinal uint32) *row {
	return &r.page(ordinal).rows[ordinal%pageRows]
}

// block returns the block of a row.
func (p *page) block(slot uint32) []byte {
	end := uint32(len(p.blocks))
	if int(slot+1) < len(p.rows) {
		end = p.rows[slot+1].block
	}
	return p.blocks[p.rows[slot].block:end:end]
}

func (r *rows) block(ordinal uint32) []byte { return r.page(ordinal).block(ordinal % pageRows) }

// append adds a live row with its block and returns its ordinal.
func (r *rows) append(added row, length uint32, block []byte) uint32 {
	ordinal := r.next()
	t := &r.tail
	added.block = uint32(len(t.blocks))
	t.rows = append(t.rows, added)
	t.lengths = append(t.lengths, uint8(min(length, LongLength)))
	t.died = append(t.died, 0)
	t.blocks = append(t.blocks, block...)
	r.live++
	r.bytes += rowBytes + len(block)
	r.count(t, rowBytes+len(block))
	if len(t.rows) == pageRows || t.size() >= r.pageBytes {
		r.close()
	}
	return ordinal
}

// count adds to the bytes of live rows.
func (r *rows) count(p *page, bytes int) {
	p.live += bytes
	r.liveBytes += bytes
}

// close makes the tail a full page, without spare memory.
func (r *rows) close() {
	t := &r.tail
	r.full = append(r.full, &page{
		rows: slices.Clone(t.rows), lengths: slices.Clone(t.lengths),
		died: slices.Clone(t.died), dead: t.dead, blocks: slices.Clone(t.blocks), live: t.live,
	})
	r.tail = page{}
	r.forgetWhenDead(len(r.full) - 1)
}

// kill ends a live row.
func (r *rows) kill(ordinal uint32) {
	p, slot := r.page(ordinal), ordinal%pageRows
	r.deaths++
	atomic.StoreUint32(&p.died[slot], r.deaths)
	atomic.AddUint32(&p.dead, 1)
	r.live--
	r.count(p, -rowBytes-len(p.block(slot)))
	if n := int(ordinal / pageRows); n < len(r.full) {
		r.forgetWhenDead(n)
	}
}

// forgetWhenDead lets go of a full page without live rows. Views keep the list
// that they have.
func (r *rows) forgetWhenDead(n int) {
	if r.full[n].live == 0 {
		r.full = slices.Clone(r.full)
		r.bytes -= r.full[n].size()
		r.full[n] = nil
	}
}

// deadest returns the full page with the greatest share of dead bytes and its
// number, nil when in none of them it is more than half.
func (r *rows) deadest() (*page, uint32) {
	var found *page
	var number int
	share := 0.5
	for i, p := range r.full {
		if p == nil {
			continue
		}
		if dead := 1 - float64(p.live)/float64(p.size()); dead > share {
			found, number, share = p, i, dead
		}
	}
	return found, uint32(number)
}

// isLive says whether a row is live.
func (r *rows) isLive(ordinal uint32) bool {
	p, slot := r.page(ordinal), int(ordinal%pageRows)
	return p != nil && slot < len(p.died) && p.died[slot] == 0
}

// all yields the live rows by ascending ordinal. The one that was yielded may be
// killed, and rows may be appended, which are not yielded.
func (r *rows) all(yield func(ordinal uint32) bool) {
	end := r.next()
	for ordinal := range end {
		if r.isLive(ordinal) && !yield(ordinal) {
			return
		}
	}
}

// wereLive yields the rows that were live when the copy r of the index's rows was
// made.
func (r *rows) wereLive(yield func(ordinal uint32) bool) {
	for ordinal := range r.next() {
		if r.wasLive(ordinal) && !yield(ordinal) {
			return
		}
	}
}

// wasLive says whether a row was live when the copy r was made. It may be called
// beside changes.
func (r *rows) wasLive(ordinal uint32) bool {
	p, slot := r.page(ordinal), int(ordinal%pageRows)
	if p == nil || slot >= len(p.died) {
		return false
	}
	if atomic.LoadUint32(&p.dead) == 0 {
		return true // without a look at the row: so it is with most pages
	}
	died := atomic.LoadUint32(&p.died[slot])
	return died == 0 || died > r.deaths
}

// interned numbers the values it was asked for. Values are never forgotten.
type interned[T comparable] struct {
	numbers map[T]uint32
	values  []T
}

func (t *interned[T]) number(v T) uint32 {
	if n, ok := t.numbers[v]; ok {
		return n
	}
	if t.numbers == nil {
		t.numbers = map[T]uint32{}
	}
	n := uint32(len(t.values))
	t.numbers[v] = n
	t.values = append(t.values, v)
	return n
}
