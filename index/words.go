package index

import (
	"hash/crc32"
	"slices"
	"strings"
)

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

// count adds the fields of a message, or with -1 takes them out.
func (s *Statistics) count(lengths Counts, by int) {
	s.Messages += by
	for f, length := range lengths {
		if length > 0 {
			s.Fields[f].Messages += by
			s.Fields[f].Terms += by * int(length)
		}
	}
}

// words is the dictionary and the postings of its terms.
type words struct {
	dictionary dictionary
	terms      []term // by number
	free       []uint32
	stats      Statistics

	// due are terms whose postings are to be written anew.
	due []uint32

	writer blockWriter // used for one block after the other
	tally  []tallied
}

// term is a word that some live message holds, or with an empty text a number
// that is free.
type term struct {
	text     string
	postings list
}

// tallied is an occurrence of a term: its number, and the field in the two lowest
// bits, so that sorting brings together what belongs to one term.
type tallied uint64

func tally(number uint32, f Field) tallied { return tallied(number)<<2 | tallied(f) }

func (t tallied) number() uint32 { return uint32(t >> 2) }
func (t tallied) field() Field   { return Field(t & 3) }

func newWords() words { return words{dictionary: newDictionary()} }

// number returns that of a term that some live message holds.
func (w *words) number(text string) (number uint32, ok bool) {
	return w.dictionary.find(w.terms, text)
}

// define returns the number of a term, a new one if need be.
func (w *words) define(text string) uint32 {
	if number, ok := w.number(text); ok {
		return number
	}
	number := uint32(len(w.terms))
	t := term{text: strings.Clone(text)}
	if n := len(w.free); n > 0 {
		number, w.free = w.free[n-1], w.free[:n-1]
		w.terms[number] = t
	} else {
		w.terms = append(w.terms, t)
	}
	w.dictionary.insert(w.terms, number)
	return number
}

// analyse returns the block of d, which is valid until the next call.
func (ix *Index) analyse(d Doc) []byte {
	w := &ix.words.writer
	w.reset()
	w.tags(d.Tags)
	w.relations(d.Relations, ix.typeNumber)
	add := func(f Field) func(string, int) {
		return func(text string, position int) { w.term(f, ix.words.define(text), position) }
	}
	ix.analyzer.Analyze(d.Content, add(Content))
	ix.analyzer.Analyze(d.Summary, add(Summary))
	for _, tag := range d.Tags {
		analyzeTag(ix.analyzer, tag, add(Tags))
	}
	return w.finish()
}

// typeNumber keeps its own copy of a type that it did not know.
func (ix *Index) typeNumber(name string) uint32 {
	if number, ok := ix.types.numbers[name]; ok {
		return number
	}
	return ix.types.number(strings.Clone(name))
}

// include adds a row, whose fields have these lengths, to the postings. Its ordinal
// must be the greatest.
func (w *words) include(ordinal uint32, block []byte, lengths Counts) {
	w.each(block, func(number uint32, c Counts) {
		w.terms[number].postings.add(ordinal, c, lengths)
	})
	w.stats.count(lengths, +1)
}

// exclude takes a row that has died out of what is counted. Its postings stay
// until those of dead rows are the most of their list; such lists become due.
func (w *words) exclude(block []byte) {
	w.each(block, func(number uint32, _ Counts) {
		t := &w.terms[number]
		t.postings.frequency--
		switch {
		case t.postings.frequency == 0:
			w.dictionary.remove(w.terms, number)
			*t = term{}
			w.free = append(w.free, number)
		case t.postings.mostlyDead() && !t.postings.due:
			t.postings.due = true
			w.due = append(w.due, number)
		}
	})
	w.stats.count(lengthsOf(block), -1)
}

// rewriteAtOnce is how many postings one change writes anew, or those of one list
// if it has more.
const rewriteAtOnce = 1 << 14

// rewrite writes some of the lists anew that are due: those of a message's words
// often become so together.
func (w *words) rewrite(isLive func(uint32) bool) {
	for done := 0; len(w.due) > 0 && done < rewriteAtOnce; {
		last := len(w.due) - 1
		l := &w.terms[w.due[last]].postings
		w.due = w.due[:last]
		if l.due && l.mostlyDead() {
			done += int(l.size)
			*l = l.rewritten(isLive)
		}
		l.due = false
	}
}

// each calls fn for every distinct term of a block, by ascending number.
func (w *words) each(block []byte, fn func(number uint32, c Counts)) {
	r := blockReader{block}
	r.skipToLengths()
	w.tally = w.tally[:0]
	for f, length := range r.lengths() {
		for range length {
			number, _ := r.token()
			w.tally = append(w.tally, tally(number, Field(f)))
		}
	}
	slices.Sort(w.tally)
	for i := 0; i < len(w.tally); {
		number := w.tally[i].number()
		var c Counts
		for ; i < len(w.tally) && w.tally[i].number() == number; i++ {
			c[w.tally[i].field()]++
		}
		fn(number, c)
	}
	if cap(w.tally) > maxScratch {
		w.tally = nil // a very long text came by
	}
}

// maxScratch bounds the scratch memory that is kept from text to text.
const maxScratch = 1 << 16

// Fingerprint is the same for the same text, and hardly ever for two others.
func Fingerprint(text string) uint32 { return crc32.Checksum([]byte(text), castagnoli) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
