package index

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// AnalyzerVersion changes whenever some text may give other terms than before.
// Terms of different versions must not meet in one index.
const AnalyzerVersion = 1

// MaxTermBytes bounds every term. A longer one keeps its beginning and ends in
// a hash of the whole, so that it still matches only itself.
const MaxTermBytes = 128

// Analyze calls emit for every term of a text, in order of position. Messages
// and queries are analysed alike. Any text is good: invalid UTF-8 counts as
// U+FFFD. The time is linear in the length of the text.
//
// Text is compared without compatibility forms (NFKC), case (full folding),
// accents on Latin, Greek and Cyrillic letters, Arabic and Hebrew vowel points,
// and characters without width. Signs that make another letter elsewhere, such
// as the kana dakuten, count. Then, by script:
//
//   - Words are terms; a word of a to z is reduced to its English stem.
//     Identifiers, paths, URLs and addresses are terms whole and in their parts,
//     down to the humps of camelCase. C++ and C# are words. ULIDs, UUIDs and
//     long hexadecimal numbers have no parts.
//   - Han and kana run without spaces: every pair of neighbours is a term, and
//     so is every Han character.
//   - Hangul words are terms, and so is every pair of syllables in them.
//   - Thai, Lao, Khmer and Burmese: every pair of grapheme clusters.
//   - A symbol or emoji is a term, its skin tone left out; a row of the same
//     one counts once.
//
// A change of script ends a word. Only text without a letter, digit or symbol
// has no terms; ASCII symbols count as such when they stand free, as in "a -> b".
//
// A position counts the smallest parts. The whole of an identifier has the
// position of its first part, a pair that of its first half.
func Analyze(text string, emit func(term string, position int)) {
	a := newAnalyzer()
	a.analyze(text, emit)
}

// QueryTerms returns the terms to look up for a query, distinct and sorted
// bytewise: those of [Analyze] and the text as the name of a tag. English words
// that say nothing, such as "the", are left out unless the text has no others.
func QueryTerms(text string) []string {
	a := newAnalyzer()
	var terms []string
	a.analyze(text, func(term string, _ int) { terms = append(terms, term) })
	if len(terms) == 0 {
		return nil
	}
	if telling := slices.DeleteFunc(slices.Clone(terms), english.IsStopWord); len(telling) > 0 {
		terms = telling
	}
	terms = append(terms, a.tagTerm(text))
	slices.Sort(terms)
	return slices.Compact(terms)
}

// analyzer keeps what is worth keeping between texts. It must not be shared.
type analyzer struct {
	folder   cases.Caser
	terms    map[string]string // by word in ASCII lower case
	emit     func(term string, position int)
	position int
}

func newAnalyzer() analyzer {
	return analyzer{folder: cases.Fold(), terms: map[string]string{}}
}

func (a *analyzer) analyze(text string, emit func(term string, position int)) {
	a.emit, a.position = emit, 0
	a.scan(prepare(text))
	a.emit = nil
}

// analyzeTag also emits the term of the whole tag unless it is among the terms
// of its words, as it is when the tag is one word.
func (a *analyzer) analyzeTag(tag string, emit func(term string, position int)) {
	whole := a.tagTerm(tag)
	some, covered := false, false
	a.analyze(tag, func(term string, position int) {
		some = true
		covered = covered || term == whole
		emit(term, position)
	})
	if some && !covered {
		emit(whole, 0)
	}
}

// tagTerm returns the term that stands for a whole tag, whatever its spaces.
func (a *analyzer) tagTerm(tag string) string {
	return a.term(strings.Join(strings.Fields(prepare(tag)), " "))
}

// The cache of terms is emptied when it is full: natural text fills it again
// with the words it uses most, and random text cannot make it grow.
const (
	maxCachedTerms     = 1 << 15
	maxCachedTermBytes = 24
)

// term folds a piece of prepared text into the form in which it is indexed.
func (a *analyzer) term(piece string) string {
	if len(piece) > maxCachedTermBytes {
		return a.foldTerm(piece)
	}
	var buffer [maxCachedTermBytes]byte
	lower := appendLower(buffer[:0], piece)
	if t, ok := a.terms[string(lower)]; ok {
		return t
	}
	if len(a.terms) >= maxCachedTerms {
		clear(a.terms)
	}
	word := string(lower)
	t := a.foldTerm(word)
	a.terms[word] = t
	return t
}

// appendLower appends s with its ASCII letters in lower case.
func appendLower(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

func (a *analyzer) foldTerm(word string) string {
	if isASCII(word) {
		word = strings.ToLower(word)
	} else {
		word = stripAccents(a.folder.String(word))
	}
	if len(word) <= MaxTermBytes && isLowerLatin(word) {
		// Stop words keep their form, by which queries know them. A stem of
		// nothing would hide the word.
		if stem := english.Stem(word, false); stem != "" {
			word = stem
		}
	}
	return bounded(word)
}

// bounded cuts a long term and marks it with a hash of the whole.
func bounded(term string) string {
	if len(term) <= MaxTermBytes {
		return term
	}
	h := fnv.New64a()
	h.Write([]byte(term))
	cut := MaxTermBytes - 17
	for !utf8.RuneStart(term[cut]) {
		cut--
	}
	return term[:cut] + "~" + strconv.FormatUint(h.Sum64(), 16)
}

// stripAccents drops the marks after Latin, Greek and Cyrillic letters and
// after digits.
func stripAccents(s string) string {
	strip := false
	stripped := strings.Map(func(r rune) rune {
		if isMark(r) {
			if strip {
				return -1
			}
			return r
		}
		strip = hasAccents(r)
		return r
	}, norm.NFD.String(s))
	return norm.NFC.String(stripped)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func isLowerLatin(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return s != ""
}
