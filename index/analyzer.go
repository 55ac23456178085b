package index

import (
	"slices"
	"strings"
	"sync"
)

// MaxTermBytes bounds every term.
const MaxTermBytes = 128

// Analyzer turns text into terms. Messages and queries are analysed alike: a
// message is found by the terms that it shares with the query. All methods must
// be safe for concurrent use, and give the same answers for ever under one name.
type Analyzer interface {
	// Name identifies the rules. It must change whenever some text may give
	// other terms: terms of different names must not meet in one index.
	Name() string
	// Analyze calls emit for every term of a text, repetitions included. Terms
	// are valid UTF-8 of 1 to [MaxTermBytes] bytes. Positions start at 0 or
	// above and never descend; a step of more than 1 counts as one of 1. Any
	// text is good, invalid UTF-8 too. A term may
	// share memory with the text; emit may be called by this goroutine only.
	Analyze(text string, emit func(term string, position int))
	// Weight says how much a term counts in a query: usually 1. A term of
	// weight 0 is left out of a query that has others. The terms of messages
	// are not weighed.
	Weight(term string) float64
}

// Standard returns the built-in Analyzer, for text in any language. Its time is
// linear in the length of the text. Analyzers that it returns have the same
// rules; one may serve any number of indexes, which then share the memory in
// which it keeps the forms of frequent words.
//
// Text is compared without compatibility forms (NFKC), case (full folding),
// accents on Latin, Greek and Cyrillic letters, Arabic and Hebrew vowel points,
// and characters without width. Signs that make another letter elsewhere, such
// as the kana dakuten, count. Then, by script:
//
//   - Words are terms; a word of a to z is reduced to its English stem, an
//     irregular form as went to that of go. Endings with an apostrophe are cut.
//     Identifiers, paths, URLs and addresses are terms whole and in their parts,
//     down to the humps of camelCase. C++ and C# are words. ULIDs, UUIDs and
//     long hexadecimal numbers have no parts.
//   - Han and kana run without spaces: every pair of neighbours is a term, and
//     so is every Han character.
//   - Hangul words are terms, and so are every pair of syllables in them and the
//     first syllable, which may be a noun that a particle is written onto.
//   - Thai, Lao, Khmer and Burmese: every pair of grapheme clusters.
//   - A symbol or emoji is a term, its skin tone left out; a row of the same
//     one counts once.
//
// A change of script ends a word, white space ends everything: what stands
// between two spaces has the same terms in any text. It has at least one if
// there is a letter, digit or symbol in it; ASCII symbols count as such when
// they stand free, as in "a -> b".
//
// A position counts the smallest parts. The first term has the position 0; from
// one term to the next it stays or grows by 1, or by 2 after the last pair of a
// run, whose second half has a position of its own. The whole of an identifier
// has the position of its first part, a pair that of its first half.
//
// English function words weigh 0. A pair of hiragana weighs less than 1, because
// it is mostly grammar; so does a lone hiragana or Hangul syllable.
func Standard() Analyzer {
	return &standard{sync.Pool{New: func() any { return newAnalyzer() }}}
}

// standardName has the version of the rules at its end.
const standardName = "convmem/2"

// standard lends an analyzer to each call.
type standard struct{ pool sync.Pool }

func (*standard) Name() string { return standardName }

func (s *standard) Analyze(text string, emit func(term string, position int)) {
	a := s.pool.Get().(*analyzer)
	a.analyze(text, emit)
	s.pool.Put(a) // not when emit panics: a may be in any state then
}

func (*standard) Weight(term string) float64 {
	switch {
	case isStopWord(term):
		return 0
	case isFaint(term):
		return faintWeight
	}
	return 1
}

func (s *standard) tagTerm(tag string) string {
	a := s.pool.Get().(*analyzer)
	defer s.pool.Put(a)
	return a.tagTerm(tag)
}

// QueryTerm is a term to look up.
type QueryTerm struct {
	Text   string
	Weight float64 // above 0
}

// QueryTerms returns the terms to look up for a query, distinct and sorted
// bytewise by Text: those of its words and the text as the name of a tag. Terms
// that weigh nothing are left out; if no word weighs anything, all are there and
// count 1.
func QueryTerms(a Analyzer, text string) []QueryTerm {
	var words []string
	a.Analyze(text, func(term string, _ int) { words = append(words, term) })
	if len(words) == 0 {
		return nil
	}
	weight := a.Weight
	if !slices.ContainsFunc(words, func(term string) bool { return a.Weight(term) > 0 }) {
		weight = func(string) float64 { return 1 }
	}
	words = append(words, tagTerm(a, text))
	slices.Sort(words)
	var terms []QueryTerm
	for _, term := range slices.Compact(words) {
		if w := weight(term); w > 0 {
			terms = append(terms, QueryTerm{term, min(max(w, minWeight), maxWeight)})
		}
	}
	return terms
}

// Weights outside of these would drown in rounding, or drown all others.
const (
	minWeight = 0.001
	maxWeight = 1000
)

// analyzeTag emits the terms of a tag's words and that of the whole tag, at the
// position of the last word. A tag that is one word has one term.
func analyzeTag(a Analyzer, tag string, emit func(term string, position int)) {
	whole := tagTerm(a, tag)
	last, some, covered := 0, false, false
	a.Analyze(tag, func(term string, position int) {
		last, some = position, true
		covered = covered || term == whole
		emit(term, position)
	})
	if some && !covered {
		emit(whole, last)
	}
}

// tagTerm returns the term that stands for a whole tag, whatever its spaces. It
// depends on nothing but the tag and the rules that the Analyzer's name stands
// for, so that a snapshot made under that name holds the same one.
func tagTerm(a Analyzer, tag string) string {
	if s, ok := a.(*standard); ok {
		return s.tagTerm(tag)
	}
	if a.Name() == standardName { // around a standard one, to weigh otherwise
		return newAnalyzer().tagTerm(tag)
	}
	var words []string
	a.Analyze(tag, func(term string, _ int) { words = append(words, term) })
	return bounded(strings.Join(words, " "))
}
