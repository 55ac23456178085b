package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// scan cuts prepared text into runs of one class and emits the terms of each.
func (a *analyzer) scan(s string) {
	var before rune // the last rune of what was read
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch classify(r) {
		case word:
			n = a.compound(s[i:])
		case operator, joiner, separator:
			n = max(n, a.punctuation(s[i:], before))
		case symbol:
			n = a.symbols(s[i:])
		case cjk:
			n = a.cjkRun(s[i:])
		case hangul:
			n = a.hangulRun(s[i:])
		case spaceless:
			n = a.spacelessRun(s[i:])
		case mark: // on nothing
			i, before = i+n, 0
			continue
		}
		i += n
		before, _ = utf8.DecodeLastRuneInString(s[:i])
	}
}

// punctuation reads what stands outside words and returns how much it made
// terms of, 0 when nothing: an operator, or what belongs to the word after it.
func (a *analyzer) punctuation(s string, before rune) int {
	next, _ := utf8.DecodeRuneInString(s[1:])
	if next == enclosingKeycap && (s[0] == '#' || s[0] == '*') {
		return a.symbols(s)
	}
	// Only the start of a run is looked at, or a long one would take the
	// square of its length.
	if isOperatorByte(s[0]) && (before >= utf8.RuneSelf || !isOperatorByte(byte(before))) {
		if n := operatorLength(s); n > 0 {
			a.operator(s[:n], s[n:], before)
			return n
		}
	}
	if isPrefix(s[0], before, next) {
		n := 1 + compoundLength(s[1:])
		a.piece(s[:n], 0)
		return n
	}
	return 0
}

// isPrefix says whether c between two runes belongs to the word it stands
// before, as in .NET, .gitignore, -32602.
func isPrefix(c byte, before, next rune) bool {
	if before == rune(c) || isWordly(before) || classify(next) != word {
		return false
	}
	return c == '.' && unicode.IsLetter(next) || c == '-' && isDigit(next)
}

const enclosingKeycap = '\u20E3'

// isWordly says whether r is part of a word in any script.
func isWordly(r rune) bool {
	switch classify(r) {
	case word, mark, cjk, hangul, spaceless:
		return true
	}
	return false
}

// operatorBytes are ASCII symbols and the punctuation that operators also use.
const operatorBytes = "$<=>^|~+-&!:*/%"

func isOperatorByte(c byte) bool { return strings.IndexByte(operatorBytes, c) >= 0 }

// operatorLength measures the operator s begins with; 0 when it is all
// punctuation.
func operatorLength(s string) int {
	n := len(s) - len(strings.TrimLeft(s, operatorBytes))
	if !strings.ContainsAny(s[:n], "$<=>^|~+") {
		return 0
	}
	return n
}

// operator emits s when it stands free: the "->" of "a -> b", not the "=" of
// "a=b".
func (a *analyzer) operator(s, rest string, before rune) {
	next, _ := utf8.DecodeRuneInString(rest)
	if !isWordly(before) && (isMark(next) || !isWordly(next)) {
		a.leaf(bounded(s))
	}
}

// symbols reads a row of the same grapheme cluster and emits it once.
func (a *analyzer) symbols(s string) int {
	clusters := graphemes.FromString(s)
	clusters.Next()
	first := clusters.Value()
	a.leaf(bounded(strings.TrimRight(first, string(zeroWidthJoiner))))
	n := len(first)
	for strings.HasPrefix(s[n:], first) && clusters.Next() && clusters.Value() == first {
		n += len(first)
	}
	return n
}

// leaf emits a term that has a position of its own.
func (a *analyzer) leaf(term string) {
	a.emit(term, a.position)
	a.position++
}

// runLength measures the run of one class, marks included, that s begins with.
func runLength(s string, c class) int {
	for i, r := range s {
		if got := classify(r); got != c && got != mark {
			return i
		}
	}
	return len(s)
}

// unitLength measures a rune and the marks on it.
func unitLength(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !isMark(r) {
			break
		}
		n += size
	}
	return n
}

// cjkRun emits the pairs of a run of Han and kana, and its Han characters.
func (a *analyzer) cjkRun(s string) int {
	run := s[:runLength(s, cjk)]
	for i := 0; i < len(run); {
		n := unitLength(run[i:])
		r, _ := utf8.DecodeRuneInString(run[i:])
		if n == len(run) || unicode.Is(unicode.Han, r) {
			a.emit(bounded(run[i:i+n]), a.position)
		}
		if i+n < len(run) {
			a.emit(bounded(run[i:i+n+unitLength(run[i+n:])]), a.position)
		}
		a.position++
		i += n
	}
	return len(run)
}

// hangulRun emits a Korean word, its first syllable and its pairs of syllables.
// Particles are written onto words, so the word alone would hide its stem, and
// pairs a stem of one syllable.
func (a *analyzer) hangulRun(s string) int {
	run := s[:runLength(s, hangul)]
	n := unitLength(run)
	a.emit(bounded(run[:n]), a.position)
	if n < len(run) && n+unitLength(run[n:]) < len(run) {
		a.emit(bounded(run), a.position)
	}
	for i := 0; i < len(run); {
		n := unitLength(run[i:])
		if i+n < len(run) {
			a.emit(bounded(run[i:i+n+unitLength(run[i+n:])]), a.position)
		}
		a.position++
		i += n
	}
	return len(run)
}

// spacelessRun emits the pairs of grapheme clusters of a run.
func (a *analyzer) spacelessRun(s string) int {
	run := s[:runLength(s, spaceless)]
	clusters := graphemes.FromString(run)
	clusters.Next()
	if clusters.End() == len(run) {
		a.leaf(bounded(run))
		return len(run)
	}
	for start := 0; start < len(run); {
		middle := clusters.End()
		if clusters.Next() {
			a.emit(bounded(run[start:clusters.End()]), a.position)
		}
		a.position++
		start = middle
	}
	return len(run)
}
