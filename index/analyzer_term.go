package index

import (
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// analyzer keeps what is worth keeping between texts. It must not be shared.
type analyzer struct {
	folder   cases.Caser
	terms    map[string]string // by word in ASCII lower case
	emit     func(term string, position int)
	position int
}

func newAnalyzer() *analyzer {
	return &analyzer{folder: cases.Fold(), terms: map[string]string{}}
}

func (a *analyzer) analyze(text string, emit func(term string, position int)) {
	a.emit, a.position = emit, 0
	a.scan(prepare(text))
	a.emit = nil
}

// tagTerm folds a whole tag as if it were one word.
func (a *analyzer) tagTerm(tag string) string {
	return a.term(strings.Join(strings.Fields(prepare(tag)), " "))
}

// The cache of terms is emptied when it is full: natural text fills it again
// with the words it uses most, and random text cannot make it grow.
const (
	maxCachedTerms     = 1 << 16
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
		word = stem(word)
	}
	return bounded(word)
}

// bounded cuts a long term and marks it with a hash of the whole, so that it
// still matches only itself.
func bounded(term string) string {
	if len(term) <= MaxTermBytes {
		return term
	}
	h := fnv.New64a()
	h.Write([]byte(term))
	cut := MaxTermBytes - 17
	for cut > 0 && !utf8.RuneStart(term[cut]) {
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
