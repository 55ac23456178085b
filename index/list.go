package index

import (
	"encoding/binary"
	"math"
	"sort"
)

// blockPostings is how many postings a block of a list has.
const blockPostings = 128

// list is the postings of a term by ascending ordinal, compressed: each is
//
//	ordinal - the one before (the first: ordinal + 1), shifted left by one
//
// with the lowest bit 0 when the term stands in the content only and once, as it
// mostly does. Or else it is 1 and the count in the content follows, shifted left
// by one. Its lowest bit is 1 when the term stands elsewhere too: then the counts
// in summary and tags follow, and the lengths of these two, so that no row has to be
// looked at to score it. All are uvarints.
//
// Bytes are only ever appended, so that a frozen copy of a list stays as it was
// while the index changes. Every blockPostings postings are sealed with an entry of
// blocks, by which a reader skips them.
type list struct {
	data   []byte
	blocks *blocks // nil while there are few postings
	last   uint32  // ordinal of the last posting
	// size counts the postings, frequency those of live messages.
	size, frequency uint32
	max             maxima // over all postings
	due             bool   // stands in words.due
}

// slackPostings is how many postings may be dead before their share counts.
const slackPostings = 8

// mostlyDead says whether the list is worth writing anew.
func (l *list) mostlyDead() bool { return l.size > 2*l.frequency+slackPostings }

// blocks are the sealed blocks of a list.
type blocks struct {
	sealed []sealed
	open   maxima // over the postings behind the last one
}

// sealed describes a block of postings.
type sealed struct {
	last uint32 // its last ordinal
	end  uint32 // where in data it ends
	max  maxima
}

// Counts says how often a term stands in each field of a message.
type Counts [FieldCount]uint32

// elsewhere says whether the term stands in another field than the content.
func (c *Counts) elsewhere() bool { return c[Summary]|c[Tags] != 0 }

// Posting is a posting that is not plain.
type Posting struct {
	Counts
	// Lengths are those of summary and tags where the term stands in one of
	// them; that of the content is 0.
	Lengths Counts
}

// maxima are bounds of Counts. What does not fit is the greatest number, which
// stands for all above it too.
type maxima [FieldCount]uint8

func (m *maxima) include(c Counts) {
	for f, n := range c {
		m[f] = max(m[f], uint8(min(n, math.MaxUint8)))
	}
}

// counts returns bounds for the counts of each field.
func (m maxima) counts() (c Counts) {
	for f, n := range m {
		if c[f] = uint32(n); n == math.MaxUint8 {
			c[f] = math.MaxUint32
		}
	}
	return c
}

// plain is the counts of most postings.
var plain = Counts{Content: 1}

// add appends the posting of a live message with fields of some lengths. Its
// ordinal must be the greatest.
func (l *list) add(ordinal uint32, c, lengths Counts) {
	before := l.last
	if l.size == 0 {
		before = math.MaxUint32 // ordinal - before is then ordinal + 1
	}
	l.write(uint64(ordinal-before)<<1, c, lengths)
	l.last = ordinal
	l.size++
	l.frequency++
	l.max.include(c)
	if l.size >= blockPostings {
		l.seal(c)
	}
}

// write appends the bytes of a posting.
func (l *list) write(delta uint64, c, lengths Counts) {
	var buffer [6 * binary.MaxVarintLen32]byte
	b := buffer[:0]
	if c == plain {
		b = binary.AppendUvarint(b, delta)
	} else {
		b = binary.AppendUvarint(b, delta|1)
		if !c.elsewhere() {
			b = binary.AppendUvarint(b, uint64(c[Content])<<1)
		} else {
			b = binary.AppendUvarint(b, uint64(c[Content])<<1|1)
			for _, n := range [...]uint32{c[Summary], c[Tags], lengths[Summary], lengths[Tags]} {
				b = binary.AppendUvarint(b, uint64(n))
			}
		}
	}
	if need := len(l.data) + len(b); need > cap(l.data) {
		// There are so many lists that the usual room to grow would be much of
		// the index.
		l.data = append(make([]byte, 0, need+need/32), l.data...)
	}
	l.data = append(l.data, b...)
}

// seal notes a posting for its block, and the block when it is full.
func (l *list) seal(c Counts) {
	if l.blocks == nil {
		l.blocks = &blocks{open: l.max} // the first block is the whole list
	}
	b := l.blocks
	b.open.include(c)
	if l.size%blockPostings == 0 {
		b.sealed = append(b.sealed, sealed{last: l.last, end: uint32(len(l.data)), max: b.open})
		b.open = maxima{}
	}
}

// frozen returns a copy that stays as it is.
func (l *list) frozen() list {
	c := *l
	if l.blocks != nil {
		own := *l.blocks
		c.blocks = &own
	}
	return c
}

// bytes estimates the memory of blocks.
func (b *blocks) bytes() int64 {
	if b == nil {
		return 0
	}
	return sizeOf[blocks]() + int64(cap(b.sealed))*sizeOf[sealed]()
}

// rewritten returns the list without postings of dead rows.
func (l *list) rewritten(isLive func(uint32) bool) list {
	var kept list
	c := l.cursor()
	for c.Next() {
		if isLive(c.ordinal) {
			kept.add(c.ordinal, c.Counts(), c.posting.Lengths)
		}
	}
	return kept
}

// Cursor walks the postings of a term by ascending ordinal, those of dead rows
// included. It begins before the first.
type Cursor struct {
	data    []byte
	blocks  []sealed
	open    maxima
	block   int // that of the present posting, when leave has run
	at      int // where in data the next posting begins
	ordinal uint32
	plain   bool // posting is not set
	posting Posting
}

func (l *list) cursor() Cursor {
	c := Cursor{data: l.data, open: l.max, ordinal: math.MaxUint32}
	if l.blocks != nil {
		c.blocks, c.open = l.blocks.sealed, l.blocks.open
	}
	return c
}

// Next steps to the next posting and says whether there is one. After the last,
// Ordinal is the greatest number.
func (c *Cursor) Next() bool {
	if c.at == len(c.data) {
		c.ordinal = math.MaxUint32
		return false
	}
	v := uint64(c.data[c.at])
	c.at++
	if v >= 0x80 {
		v = c.long()
	}
	c.ordinal += uint32(v >> 1)
	if c.plain = v&1 == 0; !c.plain {
		c.readPosting()
	}
	return true
}

func (c *Cursor) readPosting() {
	n := c.number()
	c.posting = Posting{Counts: Counts{Content: n >> 1}}
	if n&1 != 0 {
		p := &c.posting
		p.Counts[Summary], p.Counts[Tags] = c.number(), c.number()
		p.Lengths[Summary], p.Lengths[Tags] = c.number(), c.number()
	}
}

func (c *Cursor) number() uint32 {
	if n := c.data[c.at]; n < 0x80 {
		c.at++
		return uint32(n)
	}
	n, size := binary.Uvarint(c.data[c.at:])
	c.at += size
	return uint32(n)
}

// Batch is what [Cursor.Take] takes: postings of one page, by their slots.
type Batch struct {
	// Plain are the slots of messages that hold the term once, in the content.
	Plain []uint16
	// Repeated are those that hold it in the content only, up to MaxRepeated
	// times.
	Repeated []Repeated
	// Others are the rest.
	Others []Slot
}

// MaxRepeated is the greatest count in Batch.Repeated.
const MaxRepeated = 4

// Repeated is a posting of a page with nothing but a small count.
type Repeated struct{ Slot, Count uint16 }

// Slot is a posting of a page.
type Slot struct {
	Slot uint16
	Posting
}

// Take fills a batch with the present posting and those after it up to the end of
// the page, a multiple of PageRows, and steps to the one behind them.
func (c *Cursor) Take(end uint32, b *Batch) {
	b.Plain, b.Repeated, b.Others = b.Plain[:0], b.Repeated[:0], b.Others[:0]
	for c.ordinal < end {
		switch slot := uint16(c.ordinal % pageRows); {
		case c.plain:
			b.Plain = append(b.Plain, slot)
			c.takePlain(end, b)
		case c.posting.Counts[Content] <= MaxRepeated && !c.posting.elsewhere():
			b.Repeated = append(b.Repeated, Repeated{slot, uint16(c.posting.Counts[Content])})
		default:
			b.Others = append(b.Others, Slot{slot, c.posting})
		}
		c.Next()
	}
}

// takePlain is Take for the run of short plain postings that follow, which most
// are.
func (c *Cursor) takePlain(end uint32, b *Batch) {
	data, at, ordinal, plain := c.data, c.at, c.ordinal, b.Plain
	for at < len(data) && data[at] < 0x80 && data[at]&1 == 0 {
		next := ordinal + uint32(data[at]>>1)
		if next >= end {
			break
		}
		plain = append(plain, uint16(next%pageRows))
		ordinal = next
		at++
	}
	c.at, c.ordinal, b.Plain = at, ordinal, plain
}

// long reads a number of more than one byte, whose first byte is read already.
func (c *Cursor) long() uint64 {
	c.at--
	v, n := binary.Uvarint(c.data[c.at:])
	c.at += n
	return v
}

// Seek steps to the first posting at or behind an ordinal, which must not be
// below the present one, and says whether there is one. It stays where it is when
// it stands there already.
func (c *Cursor) Seek(ordinal uint32) bool {
	if c.ordinal != math.MaxUint32 && c.ordinal >= ordinal {
		return true
	}
	c.skip(ordinal)
	for c.Next() {
		if c.ordinal >= ordinal {
			return true
		}
	}
	return false
}

// skip goes to the begin of the block that holds the first posting at or behind
// an ordinal, unless it is in that one.
func (c *Cursor) skip(ordinal uint32) {
	c.leave()
	if c.block == len(c.blocks) || c.blocks[c.block].last >= ordinal {
		return
	}
	rest := c.blocks[c.block:]
	c.block += sort.Search(len(rest), func(i int) bool { return rest[i].last >= ordinal })
	before := c.blocks[c.block-1]
	c.at, c.ordinal = int(before.end), before.last
}

// leave brings block up to the one of the present posting.
func (c *Cursor) leave() {
	for c.block < len(c.blocks) && c.at > int(c.blocks[c.block].end) {
		c.block++
	}
}

// Ordinal returns the ordinal of the present posting, the greatest number before
// the first and after the last.
func (c *Cursor) Ordinal() uint32 { return c.ordinal }

// Counts returns the counts of the present posting.
func (c *Cursor) Counts() Counts {
	if c.plain {
		return plain
	}
	return c.posting.Counts
}

// Posting returns the present posting, which must not be plain.
func (c *Cursor) Posting() *Posting { return &c.posting }

// Plain says whether the term stands once in the content and nowhere else.
func (c *Cursor) Plain() bool { return c.plain }

// Bounds returns bounds of the counts of all postings from the present one up to
// the ordinal last, which reach at least as far as the block does.
func (c *Cursor) Bounds() (last uint32, bounds Counts) {
	c.leave()
	if c.block == len(c.blocks) {
		return math.MaxUint32, c.open.counts()
	}
	return c.blocks[c.block].last, c.blocks[c.block].max.counts()
}
