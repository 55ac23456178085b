package index

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/oklog/ulid/v2"
)

// The past as bytes, all numbers as uvarints:
//
//	imported  count, then {id 16 bytes, record}
//	recent    count, then {session length, session, tombstones count,
//	          then {id 16 bytes, born, died}}
//	older     the same

// AppendPast appends to b what [Index.Sessions] has to know of earlier moments
// and no log of live messages tells: deletions and imports. The cost grows with
// the deletions remembered, at most 131,072, and the imports.
func (ix *Index) AppendPast(b []byte) []byte {
	p := &ix.past
	b = binary.AppendUvarint(b, uint64(len(p.imported)))
	for _, id := range slices.SortedFunc(maps.Keys(p.imported), ulid.ULID.Compare) {
		b = append(b, id[:]...)
		b = binary.AppendUvarint(b, p.imported[id])
	}
	return p.older.append(p.recent.append(b))
}

func (g graves) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(g)))
	for _, name := range slices.Sorted(maps.Keys(g)) {
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
		b = binary.AppendUvarint(b, uint64(g[name].length))
		for t := range g[name].forward(position{}) {
			b = append(b, t.id[:]...)
			b = binary.AppendUvarint(b, t.born)
			b = binary.AppendUvarint(b, t.died)
		}
	}
	return b
}

// HasPast reports whether AppendPast has anything to tell.
func (ix *Index) HasPast() bool {
	return len(ix.past.imported)+len(ix.past.recent)+len(ix.past.older) > 0
}

// RestorePast takes over what AppendPast of another index gave, one that this
// index replaces or goes on from. It may be called while this index is still
// empty or when it is filled already, and more than once. After an error the
// index must not be used.
func (ix *Index) RestorePast(b []byte) error {
	in := byteReader{rest: b}
	p := &ix.past
	for n := in.number(); n > 0 && !in.failed; n-- {
		// A compacted log may show the last update of a message as its import.
		id := in.id()
		p.imported[id] = in.number()
	}
	p.recentCount += in.graves(p.recent)
	in.graves(p.older)
	if in.failed || len(in.rest) > 0 {
		return errors.New("the past of the index cannot be decoded")
	}
	for name, s := range ix.sessions {
		if died := p.lastDeath(name); died > s.changed {
			ix.unlist(s)
			ix.list(s, died)
		}
	}
	return nil
}

// byteReader takes values off the front of bytes of which nothing is known. After
// a failure it gives zeros.
type byteReader struct {
	rest   []byte
	failed bool
}

func (r *byteReader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *byteReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *byteReader) id() (id ulid.ULID) {
	copy(id[:], r.bytes(uint64(len(id))))
	return id
}

// graves adds tombstones to g and counts those that were new.
func (r *byteReader) graves(g graves) (count int) {
	for sessions := r.number(); sessions > 0 && !r.failed; sessions-- {
		name := string(r.bytes(r.number()))
		for n := r.number(); n > 0 && !r.failed; n-- {
			if g.add(name, tombstone{id: r.id(), born: r.number(), died: r.number()}) {
				count++
			}
		}
	}
	return count
}
