package store

import (
	"hash/maphash"

	"github.com/oklog/ulid/v2"
)

// tableIndex leads from ids to entries of a table by extendible hashing: the
// first bits of an id's hash choose a bucket, and a bucket that is full is split
// in two by the next bit. Growing so moves a few hundred references at a time,
// however large the table is, and doubles nothing but a list of pointers.
//
// The seed is random, so that nobody can choose ids that collide.
type tableIndex struct {
	seed      maphash.Seed
	depth     uint8     // bits of the hash that choose in directory
	directory []*bucket // a bucket of lesser depth stands in several places
	buckets   int64
}

// bucket is an open-addressing hash table of references. The tag, a byte of the
// hash, keeps a search from reading every entry that it passes.
type bucket struct {
	refs  [bucketSlots]uint32 // 0: empty
	tags  [bucketSlots]uint8
	used  uint16
	depth uint8 // bits of the hash that all members have in common
}

const (
	// bucketSlots fills a size class of the allocator, bucketBytes.
	bucketSlots = 408
	bucketBytes = 2048
	// bucketFull keeps searches short: some empty slot is always near.
	bucketFull = bucketSlots * 7 / 8
)

// newTableIndex makes an index with so many buckets that the given number of
// records fills five eighths of them at most.
func newTableIndex(records int) tableIndex {
	x := tableIndex{seed: maphash.MakeSeed()}
	for records > bucketFull*5/8<<x.depth {
		x.depth++
	}
	x.buckets = 1 << x.depth
	x.directory = make([]*bucket, x.buckets)
	for i := range x.directory {
		x.directory[i] = &bucket{depth: x.depth}
	}
	return x
}

// hash is split three ways: the first bits choose the bucket, bits 8 to 39 the
// place in it, the last eight are the tag.
func (x *tableIndex) hash(id ulid.ULID) uint64 { return maphash.Bytes(x.seed, id[:]) }

func (x *tableIndex) bucket(hash uint64) *bucket { return x.directory[x.number(hash)] }

// number returns the place of a hash's bucket in the directory.
func (x *tableIndex) number(hash uint64) uint64 { return hash >> (64 - x.depth) }

func homeSlot(hash uint64) int { return int(uint64(uint32(hash>>8)) * bucketSlots >> 32) }

func tagOf(hash uint64) uint8 { return uint8(hash) }

func nextSlot(slot int) int {
	if slot++; slot < bucketSlots {
		return slot
	}
	return 0
}

// distance is how many steps nextSlot takes from one slot to another.
func distance(from, to int) int {
	if to >= from {
		return to - from
	}
	return to - from + bucketSlots
}

// find returns the slot where id stands, or the empty one where a search for it
// ends.
func (t *table) find(hash uint64, id ulid.ULID) (*bucket, int) {
	b := t.index.bucket(hash)
	slot := homeSlot(hash)
	for ; b.refs[slot] != 0; slot = nextSlot(slot) {
		if b.tags[slot] == tagOf(hash) && t.entry(b.refs[slot]).id == id {
			break
		}
	}
	return b, slot
}

// link adds a reference to an entry whose id is not in the index, and for which
// find returned the bucket and the slot.
func (t *table) link(b *bucket, slot int, hash uint64, ref uint32) {
	if b.used < bucketFull {
		b.set(slot, hash, ref)
		return
	}
	// The loop ends: more ids than a bucket holds, alike in all 64 bits of a
	// seeded hash, do not occur.
	for t.index.bucket(hash).used == bucketFull {
		t.split(hash)
	}
	t.index.bucket(hash).insert(hash, ref)
}

func (b *bucket) insert(hash uint64, ref uint32) {
	slot := homeSlot(hash)
	for b.refs[slot] != 0 {
		slot = nextSlot(slot)
	}
	b.set(slot, hash, ref)
}

func (b *bucket) set(slot int, hash uint64, ref uint32) {
	b.refs[slot], b.tags[slot] = ref, tagOf(hash)
	b.used++
}

// unlink empties a slot and moves up what a search could no longer reach over
// it. No marks of removed entries are left to lengthen later searches.
func (t *table) unlink(b *bucket, gap int) {
	for slot := nextSlot(gap); b.refs[slot] != 0; slot = nextSlot(slot) {
		home := homeSlot(t.hashOf(b.refs[slot]))
		if distance(home, slot) >= distance(gap, slot) {
			b.refs[gap], b.tags[gap] = b.refs[slot], b.tags[slot]
			gap = slot
		}
	}
	b.refs[gap], b.tags[gap] = 0, 0
	b.used--
}

func (t *table) hashOf(ref uint32) uint64 { return t.index.hash(t.entry(ref).id) }

// split replaces the bucket of hash by two, told apart by one more bit.
func (t *table) split(hash uint64) {
	x := &t.index
	old := x.bucket(hash)
	if old.depth == x.depth {
		x.double()
	}
	halves := [2]*bucket{{depth: old.depth + 1}, {depth: old.depth + 1}}
	for _, ref := range old.refs {
		if ref != 0 {
			h := t.hashOf(ref)
			halves[h>>(63-old.depth)&1].insert(h, ref)
		}
	}
	places := 1 << (x.depth - old.depth)
	first := int(hash>>(64-old.depth)) * places
	for i := range places {
		x.directory[first+i] = halves[2*i/places]
	}
	x.buckets++
}

// double makes one more bit of the hash count in the directory.
func (x *tableIndex) double() {
	directory := make([]*bucket, 0, 2*len(x.directory))
	for _, b := range x.directory {
		directory = append(directory, b, b)
	}
	x.directory, x.depth = directory, x.depth+1
}
