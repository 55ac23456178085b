package index

import (
	"cmp"
	"slices"

	"github.com/oklog/ulid/v2"
)

// PageRows is how many ordinals a page has: page n has those from n*PageRows on.
const PageRows = pageRows

// A View is an index as it was at one moment, as far as one search needs it. It
// stays as it was while the index changes, and may be read beside that. It holds
// memory that the index has given up meanwhile, so it should not be kept.
//
// Rows have ordinals, which name them in this view only; their order means
// nothing.
type View struct {
	of      *Index
	epoch   uint64
	rows    rows
	traits  []traits
	stats   Statistics
	terms   []viewed
	matcher matcher
	few     []uint32
}

// viewed is a term of the view.
type viewed struct {
	number   uint32
	known    bool
	postings list
}

// View returns a view for a search for terms among the messages that pass a
// filter. Neither terms nor what the filter points to may change while the view
// is used. The cost grows with the number of terms, and with the messages of the
// session that the filter names where they are few, not with the index.
func (ix *Index) View(terms []string, f Filter) *View {
	v := &View{
		of: ix, epoch: ix.epoch, rows: ix.rows, traits: ix.traits.values, stats: ix.words.stats,
		terms: make([]viewed, len(terms)), matcher: ix.matcher(f),
	}
	postings := 0
	for i, text := range terms {
		if number, ok := ix.words.number(text); ok {
			v.terms[i] = viewed{number: number, known: true, postings: ix.words.terms[number].postings.frozen()}
			postings += int(v.terms[i].postings.size)
		}
	}
	v.few = ix.few(f.Session, postings)
	return v
}

// maxFew is how many messages a session has at most that is looked at by itself.
const maxFew = 2048

// few returns the ordinals of a session that is worth looking at by itself: one
// with fewer bytes of blocks than the terms have postings elsewhere. A byte of a
// block takes about as long to read as a posting.
func (ix *Index) few(session string, postings int) []uint32 {
	s := ix.sessions[session]
	if session == "" || s == nil || s.history.length > min(maxFew, postings) {
		return nil
	}
	ordinals := make([]uint32, 0, s.history.length)
	for e := range s.history.forward(position{}) {
		if postings -= len(ix.rows.block(e.ordinal)); postings < 0 {
			return nil
		}
		ordinals = append(ordinals, e.ordinal)
	}
	return ordinals
}

// Statistics returns the counts of the messages that were live.
func (v *View) Statistics() Statistics { return v.stats }

// Few returns the only rows that can pass the filter, when they are so few that
// the postings are better left alone, or nil.
func (v *View) Few() []uint32 { return v.few }

// Filtered says whether the filter may keep a live message out.
func (v *View) Filtered() bool { return !v.matcher.all }

// Nothing says that no message passes the filter.
func (v *View) Nothing() bool { return v.matcher.nothing }

// Frequency counts the messages that hold a term, given by its place in the list
// that the view was made with.
func (v *View) Frequency(term int) int { return int(v.terms[term].postings.frequency) }

// Number returns the number by which the Tokens of this view know a term, false
// when no message holds it.
func (v *View) Number(term int) (uint32, bool) { return v.terms[term].number, v.terms[term].known }

// Cursor returns a cursor before the first posting of a term.
func (v *View) Cursor(term int) Cursor { return v.terms[term].postings.cursor() }

// Bounds returns bounds of all counts of a term.
func (v *View) Bounds(term int) Counts { return v.terms[term].postings.max.counts() }

// Pages returns the number of pages.
func (v *View) Pages() int { return len(v.rows.full) + 1 }

// Lengths returns how many terms the content of each row of a page has, at most
// LongLength, and nil for a page without live rows. It must not be changed.
func (v *View) Lengths(page int) []uint8 {
	if p := v.rows.page(uint32(page * pageRows)); p != nil {
		return p.lengths
	}
	return nil
}

// FieldLengths returns how many terms each field of a row has.
func (v *View) FieldLengths(ordinal uint32) Counts {
	return lengthsOf(v.rows.block(ordinal))
}

// has says whether a row was there, live or dead, and takes memory still.
func (v *View) has(ordinal uint32) bool {
	if ordinal >= v.rows.next() {
		return false
	}
	p := v.rows.page(ordinal)
	return p != nil && int(ordinal%pageRows) < len(p.rows)
}

// Passes says whether a row was live and passes the filter.
func (v *View) Passes(ordinal uint32) bool {
	return v.rows.wasLive(ordinal) && v.matcher.passes(v.rows.page(ordinal), ordinal%pageRows)
}

// Entry is what ranking needs to know of a message besides its words.
type Entry struct {
	ID          ulid.ULID
	Time        int64 // Doc.Time
	Importance  int
	Role        string
	Asks        bool   // whether it holds a question mark
	Fingerprint uint32 // see [Fingerprint]
}

// Entry returns what is known of a row.
func (v *View) Entry(ordinal uint32) Entry {
	r := v.rows.row(ordinal)
	c := &v.traits[r.traits]
	return Entry{
		ID: r.id, Time: r.time, Importance: int(c.importance), Role: c.role, Asks: c.asks, Fingerprint: r.fingerprint,
	}
}

// Touch looks at rows whose blocks are about to be read. Reading them one after the
// other waits for the memory each time; these looks do not depend on each other, so
// the processor waits for several at once. The result means nothing.
func (v *View) Touch(ordinals []uint32) (sum uint32) {
	for _, ordinal := range ordinals {
		sum += v.rows.row(ordinal).block
	}
	for _, ordinal := range ordinals {
		sum += uint32(v.rows.block(ordinal)[0])
	}
	return sum
}

// CompareTies puts the better one of two rows of one score first: the one of
// greater importance, or else of the greater id, which is also the newer one.
func (v *View) CompareTies(a, b uint32) int {
	r, t := v.rows.row(a), v.rows.row(b)
	return cmp.Or(
		cmp.Compare(v.traits[t.traits].importance, v.traits[r.traits].importance),
		t.id.Compare(r.id),
	)
}

// Fingerprint returns the fingerprint of a row's content.
func (v *View) Fingerprint(ordinal uint32) uint32 { return v.rows.row(ordinal).fingerprint }

// AppendContent appends the first terms of a row's content, at most limit, in the
// order of their positions.
func (v *View) AppendContent(tokens []Token, ordinal uint32, limit int) []Token {
	r := blockReader{v.rows.block(ordinal)}
	r.skipToLengths()
	position := ^uint32(0)
	for n := min(r.lengths()[Content], uint32(limit)); n > 0; n-- {
		number, step := r.token()
		position += step
		tokens = append(tokens, Token{Number: number, Position: position})
	}
	return tokens
}

// Count counts how often the terms with these numbers stand in each field of a
// row. counts must be as long as numbers.
func (v *View) Count(ordinal uint32, numbers []uint32, counts []Counts) (lengths Counts) {
	clear(counts)
	mask := uint64(0) // most terms of a row are none of these, and end here
	for _, number := range numbers {
		mask |= 1 << (number % 64)
	}
	r := blockReader{v.rows.block(ordinal)}
	r.skipToLengths()
	lengths = r.lengths()
	for f, length := range lengths {
		for range length {
			number, _ := r.token()
			if mask>>(number%64)&1 == 0 {
				continue
			}
			if i := slices.Index(numbers, number); i >= 0 {
				counts[i][f]++
			}
		}
	}
	return lengths
}

// Find returns the row of a live message in a view of ix that was made since it
// last changed.
func (ix *Index) Find(id ulid.ULID) (ordinal uint32, ok bool) {
	ordinal, ok = ix.byID[id]
	return ordinal, ok
}

// Made says whether a view is one of ix as its ordinals are now.
func (ix *Index) Made(v *View) bool { return v.of == ix && v.epoch == ix.epoch }

// Holds says whether a row of the view is that of a live message still, in ix. The
// index must not change meanwhile.
func (ix *Index) Holds(v *View, ordinal uint32) bool {
	return ix.Made(v) && ix.rows.isLive(ordinal)
}
