package index

import "strings"

// Field is a part of a message that can be searched.
type Field int

// The fields, in the order in which everything lists them.
const (
	Content Field = iota
	Summary
	Tags
	FieldCount int = iota // how many there are
)

// Statistics counts live messages and their terms, exactly.
type Statistics struct {
	Messages int
	Fields   [FieldCount]FieldStatistics
}

// FieldStatistics counts what one field holds.
type FieldStatistics struct {
	Messages int // in which the field has a term
	Terms    int // in all of them, repetitions included
}

// Statistics returns the counts of the live messages.
func (ix *Index) Statistics() Statistics { return ix.stats }

// postings is the inverted file. Updates and deletions leave dead entries
// behind, which compaction takes out when they outnumber the live ones; the
// frequencies of terms are exact all the time.
type postings struct {
	ids   map[string]uint32
	terms []term
	free  []uint32 // places in terms
	total int      // entries
	dead  int      // of them
}

type term struct {
	text      string
	frequency int // live messages
	entries   []entry
}

// entry says how often a term stands in one field of a message. The entries of
// a term ascend by ordinal, then by field.
type entry struct {
	ordinal uint32
	count   uint32 // the field in the two highest bits
}

// A field can hold a term 2^30-1 times, which takes a text of a gigabyte.
const countBits = 30

func (e entry) field() uint32 { return e.count >> countBits }
func (e entry) times() uint32 { return e.count & (1<<countBits - 1) }

func newPostings() postings { return postings{ids: map[string]uint32{}} }

// addWords analyses d and adds its terms under ordinal, which must be the
// greatest so far.
func (ix *Index) addWords(ordinal uint32, m *message, d Doc) {
	add := func(field Field) func(string, int) {
		return func(text string, _ int) {
			m.lengths[field]++
			ix.words.add(ordinal, field, text, m)
		}
	}
	ix.analyzer.analyze(d.Content, add(Content))
	ix.analyzer.analyze(d.Summary, add(Summary))
	for _, tag := range d.Tags {
		ix.analyzer.analyzeTag(tag, add(Tags))
	}
	m.terms = append([]uint32(nil), m.terms...) // without spare capacity
	ix.stats.count(m, +1)
}

// removeWords makes the entries of m dead.
func (ix *Index) removeWords(m *message) {
	for _, id := range m.terms {
		ix.words.terms[id].frequency--
	}
	ix.words.dead += int(m.entries)
	ix.stats.count(m, -1)
}

// count adds the fields of m, or with -1 takes them out.
func (s *Statistics) count(m *message, by int) {
	s.Messages += by
	for f, length := range m.lengths {
		if length > 0 {
			s.Fields[f].Messages += by
			s.Fields[f].Terms += by * int(length)
		}
	}
}

// add counts one occurrence of a term.
func (p *postings) add(ordinal uint32, field Field, text string, m *message) {
	id, known := p.ids[text]
	if !known {
		id = p.define(strings.Clone(text))
	}
	t := &p.terms[id]
	last := len(t.entries) - 1
	if last < 0 || t.entries[last].ordinal != ordinal {
		m.terms = append(m.terms, id)
		t.frequency++
	} else if t.entries[last].field() == uint32(field) {
		t.entries[last].count++
		return
	}
	t.entries = append(t.entries, entry{ordinal, uint32(field)<<countBits | 1})
	p.total++
	m.entries++
}

func (p *postings) define(text string) uint32 {
	id := uint32(len(p.terms))
	if n := len(p.free); n > 0 {
		id, p.free = p.free[n-1], p.free[:n-1]
		p.terms[id] = term{text: text}
	} else {
		p.terms = append(p.terms, term{text: text})
	}
	p.ids[text] = id
	return id
}

// Frequency counts the live messages that hold a term in any field.
func (ix *Index) Frequency(term string) int {
	id, ok := ix.words.ids[term]
	if !ok {
		return 0
	}
	return ix.words.terms[id].frequency
}

// Occurrence says how often a term stands in each field of a live message.
type Occurrence struct {
	Ordinal uint32
	Counts  [FieldCount]uint32
}

// Cursor walks the messages that hold a term by ascending ordinal. Ordinals
// name messages until the index changes; their order means nothing.
type Cursor struct {
	messages []message
	rest     []entry
}

// Occurrences returns a cursor before the first message that holds the term.
func (ix *Index) Occurrences(term string) *Cursor {
	c := &Cursor{messages: ix.messages}
	if id, ok := ix.words.ids[term]; ok {
		c.rest = ix.words.terms[id].entries
	}
	return c
}

// Next steps to the next message if its ordinal is below end.
func (c *Cursor) Next(end uint32) (o Occurrence, ok bool) {
	for len(c.rest) > 0 && c.rest[0].ordinal < end {
		o = Occurrence{Ordinal: c.rest[0].ordinal}
		for len(c.rest) > 0 && c.rest[0].ordinal == o.Ordinal {
			o.Counts[c.rest[0].field()] = c.rest[0].times()
			c.rest = c.rest[1:]
		}
		if c.messages[o.Ordinal].live {
			return o, true
		}
	}
	return Occurrence{}, false
}
