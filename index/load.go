package index

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/oklog/ulid/v2"
)

// ErrOtherAnalyzer says that a saved index holds terms of another [Analyzer].
var ErrOtherAnalyzer = errors.New("the saved index has the terms of another analyzer")

// errSaved says that something is wrong with a saved index.
var errSaved = errors.New("the saved index cannot be decoded")

// Load fills an empty index with what [Saved.Write] wrote, and reads not a byte
// more. After an error the index must not be used.
func (ix *Index) Load(r *bufio.Reader) error {
	in := savedReader{from: r}
	if in.string() != ix.analyzer.Name() && in.err == nil {
		return ErrOtherAnalyzer
	}
	in.each(func() { ix.types.number(in.string()) })
	in.each(func() { ix.traits.number(in.traits()) })
	in.each(func() { ix.loadSession(in.string(), in.number()) })
	expected := uint64(maxExpected)
	in.each(func() {
		text, size := in.string(), in.number()
		size = min(size, maxListExpected, expected)
		expected -= size
		ix.words.load(text, size)
	})
	in.each(func() { ix.loadRow(&in) })
	if in.err == nil && !ix.loaded() {
		in.err = errSaved
	}
	if errors.Is(in.err, io.EOF) {
		in.err = io.ErrUnexpectedEOF
	}
	return in.err
}

func (ix *Index) loadSession(name string, changed uint64) {
	if name == "" {
		ix.freed = append(ix.freed, uint32(len(ix.numbered)))
		ix.numbered = append(ix.numbered, nil)
		return
	}
	s := newSession(name)
	s.number, s.changed = uint32(len(ix.numbered)), changed
	ix.sessions[name] = s
	ix.numbered = append(ix.numbered, s)
}

// Bounds of the memory that is taken because a file says so: for all terms, and
// for each.
const (
	maxExpected     = 64 << 20
	maxListExpected = 4096
)

// load defines the next number, for a term whose postings will take about size
// bytes.
func (w *words) load(text string, size uint64) {
	number := uint32(len(w.terms))
	w.terms = append(w.terms, term{text: text, postings: list{data: make([]byte, 0, size)}})
	if text == "" {
		w.free = append(w.free, number)
		return
	}
	if _, there := w.number(text); there {
		return // loaded finds it missing
	}
	w.dictionary.insert(w.terms, number)
}

func (ix *Index) loadRow(in *savedReader) {
	r := row{id: in.id(), time: int64(in.number()), session: in.small(), traits: in.small(), fingerprint: in.small()}
	block := in.block()
	if in.err != nil || !ix.fits(&r, block) {
		in.fail(errSaved)
		return
	}
	ordinal := ix.add(r, block)
	s := ix.numbered[r.session]
	s.history.insert(entry{r.id, ordinal})
	s.count(r.id, ix.traits.values[r.traits], +1)
	ix.connect(r.id, block)
}

// fits says whether all that a row refers to is there.
func (ix *Index) fits(r *row, block []byte) bool {
	return int(r.session) < len(ix.numbered) && ix.numbered[r.session] != nil &&
		int(r.traits) < len(ix.traits.values) && !ix.Contains(r.id) && ix.fitsBlock(block)
}

// fitsBlock says whether a block can be read and refers to what is there.
func (ix *Index) fitsBlock(block []byte) bool {
	r := byteReader{rest: block}
	for n := r.number(); n > 0 && !r.failed; n-- {
		r.bytes(r.number())
	}
	for n := r.number(); n > 0 && !r.failed; n-- {
		r.failed = r.number() >= uint64(len(ix.types.values)) || r.failed
		r.bytes(idBytes)
	}
	terms := uint64(0)
	for range FieldCount {
		length := r.number()
		r.failed = r.failed || length > uint64(len(block)) // or the sum might overflow
		terms += length
	}
	for ; terms > 0 && !r.failed; terms-- {
		number := r.number() >> 1
		r.failed = r.failed || number >= uint64(len(ix.words.terms)) || ix.words.terms[number].text == ""
	}
	return !r.failed && len(r.rest) == 0
}

// loaded lists the sessions and says whether nothing is without rows.
func (ix *Index) loaded() bool {
	for _, s := range ix.sessions {
		if s.history.length == 0 {
			return false
		}
		ix.list(s, s.changed)
	}
	for i := range ix.words.terms {
		if t := &ix.words.terms[i]; t.text != "" && t.postings.frequency == 0 {
			return false
		}
	}
	return ix.words.dictionary.count+len(ix.words.free) == len(ix.words.terms) &&
		len(ix.sessions)+len(ix.freed) == len(ix.numbered)
}

// savedReader keeps the first error, after which it gives zeros.
type savedReader struct {
	from   *bufio.Reader
	err    error
	buffer []byte
}

func (r *savedReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *savedReader) number() uint64 {
	if r.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(r.from)
	if err != nil {
		r.fail(err)
	}
	return n
}

// small reads a number of 32 bits.
func (r *savedReader) small() uint32 {
	n := r.number()
	if n > math.MaxUint32 {
		r.fail(errSaved)
	}
	return uint32(n)
}

// each reads a count and calls fn as often.
func (r *savedReader) each(fn func()) {
	for n := r.number(); n > 0 && r.err == nil; n-- {
		fn()
	}
}

// block reads bytes with their length before them, valid until the next call.
// Memory is taken as they arrive.
func (r *savedReader) block() []byte {
	r.buffer = r.buffer[:0]
	for n := r.number(); n > 0 && r.err == nil; {
		part := int(min(n, savedBuffer))
		start := len(r.buffer)
		r.buffer = append(r.buffer, make([]byte, part)...)
		if _, err := io.ReadFull(r.from, r.buffer[start:]); err != nil {
			r.fail(err)
		}
		n -= uint64(part)
	}
	return r.buffer
}

func (r *savedReader) string() string { return string(r.block()) }

func (r *savedReader) id() (id ulid.ULID) {
	if r.err == nil {
		if _, err := io.ReadFull(r.from, id[:]); err != nil {
			r.fail(err)
		}
	}
	return id
}

func (r *savedReader) traits() traits {
	c := traits{role: r.string(), kind: r.string(), tier: r.string(), importance: int32(r.small())}
	flags := r.number()
	c.asks, c.summarised = flags&flagAsks != 0, flags&flagSummarised != 0
	return c
}
