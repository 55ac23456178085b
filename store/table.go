package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/oklog/ulid/v2"
)

// table says where the live records of one log stand. Its entries stand in
// pages of fixed size, so growing never copies one; an entry is known by its
// ordinal, its number in page order. A hash index leads from ids to ordinals,
// see table_index.go. A million entries take about 36 bytes each. A table never
// shrinks, but what a removed entry leaves is used again.
//
// get, len, memory and freeze may run beside each other; put and remove run
// alone.
type table struct {
	pages   []*page
	epoch   atomic.Uint64 // of the pages that no frozen table shares
	used    uint32        // ordinals handed out so far
	free    uint32        // reference to the entry at the head of the free list
	records int

	index tableIndex
}

// page is the unit of copying between a table and its frozen copies. Whoever
// finds it older than the table must copy it before a change.
type page struct {
	epoch   uint64
	entries [pageEntries]entry
}

const (
	pageEntries = 256
	// pageBytes is what the allocator takes for a page: its next size class.
	pageBytes = 6784
)

// entry is a live record, or a member of the free list: its size is then zero
// and its id holds the reference to the next member.
//
// Frames start and end at multiples of frameAlign, which is why place counts in
// that unit: bytes 0 to 5 are the offset, up to 2 PiB, bytes 6 to 9 the size.
// Ten bytes without alignment instead of sixteen with.
type entry struct {
	id    ulid.ULID
	place [10]byte
}

const maxOffset = int64(1<<48-1) * frameAlign

// reference is an ordinal plus one, so that zero can mean none.
func reference(ordinal uint32) uint32 { return ordinal + 1 }

func (e *entry) location() location {
	return location{
		offset: int64(binary.LittleEndian.Uint64(e.place[:])&(1<<48-1)) * frameAlign,
		size:   int64(binary.LittleEndian.Uint32(e.place[6:])) * frameAlign,
	}
}

func (e *entry) live() bool { return binary.LittleEndian.Uint32(e.place[6:]) != 0 }

func (e *entry) set(at location) {
	// Cannot happen: scanner and snapshot reader let no such place through. If it
	// did, the table would show another record's bytes, so it must not go on.
	if !at.possible() {
		panic(fmt.Sprintf("store: no frame can stand at offset %d with size %d", at.offset, at.size))
	}
	binary.LittleEndian.PutUint64(e.place[:], uint64(at.offset)/frameAlign)
	binary.LittleEndian.PutUint32(e.place[6:], uint32(at.size/frameAlign))
}

// possible reports whether a frame of a record can stand there.
func (l location) possible() bool {
	return l.offset >= headerSize && l.offset <= maxOffset && l.offset%frameAlign == 0 &&
		l.size >= frameSize(0) && l.size <= frameSize(MaxPayload) && l.size%frameAlign == 0
}

func newTable() *table { return newTableFor(0) }

// newTableFor makes a table that will hold about so many records soon, and need
// not grow on the way.
func newTableFor(records int) *table { return &table{index: newTableIndex(records)} }

func (t *table) len() int { return t.records }

// get returns where the record id stands.
func (t *table) get(id ulid.ULID) (location, bool) {
	bucket, slot := t.find(t.index.hash(id), id)
	ref := bucket.refs[slot]
	if ref == 0 {
		return location{}, false
	}
	return t.entry(ref).location(), true
}

// put notes that the record id stands at at, and returns where it stood before.
func (t *table) put(id ulid.ULID, at location) (old location, existed bool) {
	hash := t.index.hash(id)
	bucket, slot := t.find(hash, id)
	if ref := bucket.refs[slot]; ref != 0 {
		e := t.writable(ref)
		old = e.location()
		e.set(at)
		return old, true
	}
	t.link(bucket, slot, hash, t.add(id, at))
	return location{}, false
}

// add makes an entry that is not in the index yet.
func (t *table) add(id ulid.ULID, at location) (ref uint32) {
	ref = t.allocate()
	e := t.writable(ref)
	e.id = id
	e.set(at)
	t.records++
	return ref
}

// remove forgets the record id and returns where it stood.
func (t *table) remove(id ulid.ULID) (old location, existed bool) {
	bucket, slot := t.find(t.index.hash(id), id)
	ref := bucket.refs[slot]
	if ref == 0 {
		return location{}, false
	}
	t.unlink(bucket, slot)
	e := t.writable(ref)
	old = e.location()
	*e = entry{}
	binary.LittleEndian.PutUint32(e.id[:], t.free)
	t.free = ref
	t.records--
	return old, true
}

// memory returns the bytes that the table holds, frozen copies not counted.
func (t *table) memory() int64 {
	const pointer = 8
	return int64(len(t.pages))*pageBytes + int64(cap(t.pages))*pointer +
		t.index.buckets*bucketBytes + int64(cap(t.index.directory))*pointer
}

// entry is for reading: a frozen table may share it.
func (t *table) entry(ref uint32) *entry {
	return &t.pages[(ref-1)/pageEntries].entries[(ref-1)%pageEntries]
}

// writable returns an entry that no frozen table shares.
func (t *table) writable(ref uint32) *entry {
	p := &t.pages[(ref-1)/pageEntries]
	if epoch := t.epoch.Load(); (*p).epoch != epoch {
		own := **p
		own.epoch = epoch
		*p = &own
	}
	return &(*p).entries[(ref-1)%pageEntries]
}

// allocate returns an entry for a new record. The free list comes first, so
// that the table holds no more than its records ever were at a time.
func (t *table) allocate() (ref uint32) {
	if ref := t.free; ref != 0 {
		t.free = binary.LittleEndian.Uint32(t.entry(ref).id[:])
		return ref
	}
	// used cannot wrap: so many entries would take 111 GB.
	if t.used%pageEntries == 0 {
		t.pages = append(t.pages, &page{epoch: t.epoch.Load()})
	}
	t.used++
	return reference(t.used - 1)
}

// frozenTable is the content of a table at one moment. It never changes and is
// safe to read while the table does.
type frozenTable struct {
	pages   []*page
	records int
}

// freeze returns the table's content as of now. It copies 8 bytes for every
// page; each page that changes afterwards is copied once more.
func (t *table) freeze() *frozenTable {
	t.epoch.Add(1)
	return &frozenTable{pages: slices.Clone(t.pages), records: t.records}
}

func (f *frozenTable) len() int { return f.records }

// inLogOrder returns the records by ascending offset. Every pass sorts, with 4
// bytes of memory a record.
func (f *frozenTable) inLogOrder() iter.Seq2[ulid.ULID, location] {
	return func(yield func(ulid.ULID, location) bool) {
		for _, ordinal := range f.sorted() {
			e := f.entry(ordinal)
			if !yield(e.id, e.location()) {
				return
			}
		}
	}
}

func (f *frozenTable) entry(ordinal uint32) *entry {
	return &f.pages[ordinal/pageEntries].entries[ordinal%pageEntries]
}

// sorted returns the ordinals of all records in log order.
func (f *frozenTable) sorted() []uint32 {
	ordinals := make([]uint32, 0, f.records)
	for ordinal := range uint32(len(f.pages) * pageEntries) {
		if f.entry(ordinal).live() {
			ordinals = append(ordinals, ordinal)
		}
	}
	slices.SortFunc(ordinals, func(a, b uint32) int {
		return cmp.Compare(f.entry(a).location().offset, f.entry(b).location().offset)
	})
	return ordinals
}
