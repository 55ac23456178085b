package index

import (
	"encoding/binary"

	"github.com/oklog/ulid/v2"
)

// A block is what a row has of variable length, all numbers as uvarints:
//
//	tags       count, then {length, bytes}
//	relations  count, then {number of the type, target 16 bytes}
//	lengths    terms in content, in summary, in tags
//	terms      of content, then summary, then tags: number<<1 | step
//
// The terms stand in the order of their positions. step is 1 where the position
// is not that of the term before, and for the first of each field. So the block
// tells which terms stand next to each other, and with it the row can be taken
// out of the postings, or put into others, without the text.

// Token is a term at its place in a text. Number is that of the term until the
// index changes. Positions begin at 0 and grow by 0 or 1 from term to term; two
// terms stand next to each other when theirs differ by 1.
type Token struct {
	Number, Position uint32
}

// blockReader takes values off the front of a block.
type blockReader struct{ rest []byte }

func (r *blockReader) number() uint32 {
	if c := r.rest[0]; c < 0x80 {
		r.rest = r.rest[1:]
		return uint32(c)
	}
	v, n := binary.Uvarint(r.rest)
	r.rest = r.rest[n:]
	return uint32(v)
}

func (r *blockReader) bytes(n uint32) []byte {
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// tags calls yield for every tag.
func (r *blockReader) tags(yield func(tag []byte)) {
	for n := r.number(); n > 0; n-- {
		yield(r.bytes(r.number()))
	}
}

// relations calls yield for every relation.
func (r *blockReader) relations(yield func(kind uint32, target ulid.ULID)) {
	for n := r.number(); n > 0; n-- {
		kind := r.number()
		yield(kind, ulid.ULID(r.bytes(idBytes)))
	}
}

func (r *blockReader) lengths() (lengths Counts) {
	for f := range lengths {
		lengths[f] = r.number()
	}
	return lengths
}

// token returns the number of the next term and its step.
func (r *blockReader) token() (number, step uint32) {
	v := r.number()
	return v >> 1, v & 1
}

// skipToLengths skips tags and relations.
func (r *blockReader) skipToLengths() {
	if r.rest[0] == 0 && r.rest[1] == 0 { // there are none, as mostly
		r.rest = r.rest[2:]
		return
	}
	r.tags(func([]byte) {})
	r.relations(func(uint32, ulid.ULID) {})
}

// lengthsOf returns the lengths of the fields of a block.
func lengthsOf(block []byte) Counts {
	r := blockReader{block}
	r.skipToLengths()
	return r.lengths()
}

// hasTags says whether a block has all of the tags.
func hasTags(block []byte, wanted []string) bool {
	for _, tag := range wanted {
		found := false
		r := blockReader{block}
		r.tags(func(has []byte) { found = found || string(has) == tag })
		if !found {
			return false
		}
	}
	return true
}

// blockWriter makes a block.
type blockWriter struct {
	head    []byte // tags and relations
	lengths Counts
	terms   []byte
	// position is that of the last term of the field, -1 before the first.
	position int
}

func (w *blockWriter) reset() {
	w.head, w.terms, w.lengths = w.head[:0], w.terms[:0], Counts{}
}

func (w *blockWriter) tags(tags []string) {
	w.head = binary.AppendUvarint(w.head, uint64(len(tags)))
	for _, tag := range tags {
		w.head = binary.AppendUvarint(w.head, uint64(len(tag)))
		w.head = append(w.head, tag...)
	}
}

func (w *blockWriter) relations(relations []Relation, number func(string) uint32) {
	w.head = binary.AppendUvarint(w.head, uint64(len(relations)))
	for _, relation := range relations {
		w.head = binary.AppendUvarint(w.head, uint64(number(relation.Type)))
		w.head = append(w.head, relation.Target[:]...)
	}
}

// term adds a term of the field, whose terms must follow each other.
func (w *blockWriter) term(f Field, number uint32, position int) {
	step := uint64(0)
	if w.lengths[f] == 0 || position != w.position {
		step = 1
	}
	w.position = position
	w.lengths[f]++
	w.terms = binary.AppendUvarint(w.terms, uint64(number)<<1|step)
}

// finish returns the block, which is valid until the writer is used again.
func (w *blockWriter) finish() []byte {
	for _, length := range w.lengths {
		w.head = binary.AppendUvarint(w.head, uint64(length))
	}
	w.head = append(w.head, w.terms...)
	return w.head
}
