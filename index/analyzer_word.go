package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// compound emits the terms of the word or compound that s begins with and
// returns its length.
func (a *analyzer) compound(s string) int {
	if n := plainLength(s); n > 0 {
		a.leaf(a.term(s[:n]))
		return n
	}
	n := compoundLength(s)
	whole := s[:n]
	if i := strings.Index(whole, "://"); i >= 0 {
		whole = whole[i+len("://"):] // every URL has a scheme
	}
	a.piece(whole, 0)
	return n
}

// plainLength measures an ordinary English word, by far the most frequent case;
// 0 when it may be anything else.
func plainLength(s string) int {
	if !isLatinLetter(rune(s[0])) {
		return 0
	}
	n := 1
	for n < len(s) && 'a' <= s[n] && s[n] <= 'z' {
		n++
	}
	rest := s[n:]
	if rest != "" && (rest[0] == '.' || rest[0] == ',') {
		rest = rest[1:]
	}
	if rest != "" && (rest[0] >= utf8.RuneSelf || classifyASCII(rest[0]) != separator) {
		return 0
	}
	return n
}

// compoundLength measures words of one script each, held together by joiners.
func compoundLength(s string) int {
	var of script // that of the word so far
	var last rune
	part := 0 // where the word after the last joiner begins
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch classify(r) {
		case word:
			if is := scriptOf(r, of); is != 0 {
				if of != 0 && of != is {
					return i
				}
				of = is
			}
		case mark:
		default:
			size = suffixLength(s, part, i, last)
			if size == 0 {
				if size = joinerLength(s, i); size == 0 {
					return i
				}
				part, of = i+size, 0
			}
		}
		i += size
		last = r
	}
	return len(s)
}

// suffixLength returns the length of a "++" or "#" at i that belongs to the
// word before it, 0 when there is none: C++, g++, n++; C# but not issue#7.
func suffixLength(s string, part, i int, last rune) int {
	if !isLatinLetter(last) {
		return 0
	}
	rest := s[i:]
	switch {
	case strings.HasPrefix(rest, "++") && !strings.HasPrefix(rest, "+++"):
		return 2
	case rest[0] == '#' && i-part == 1:
		return 1
	}
	return 0
}

func isLatinLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// joinerLength returns the length of the joiner at i, 0 when what is there
// does not join two words.
func joinerLength(s string, i int) int {
	n := 0
	switch rest := s[i:]; {
	case strings.HasPrefix(rest, "://"):
		n = 3
	case strings.HasPrefix(rest, "::"), strings.HasPrefix(rest, `:\`):
		n = 2
	case rest[0] == ',':
		n = thousandsLength(s, i)
	case rest[0] == '+' || classify(rune(rest[0])) == joiner:
		n = 1
	}
	if n == 0 {
		return 0
	}
	next, _ := utf8.DecodeRuneInString(s[i+n:])
	if classify(next) != word {
		return 0
	}
	return n
}

// thousandsLength is 1 for a comma between digits that three digits and no more
// follow, as in 1,000.
func thousandsLength(s string, i int) int {
	digits := 0
	for j := i + 1; j < len(s) && digits <= 3 && '0' <= s[j] && s[j] <= '9'; j++ {
		digits++
	}
	if digits == 3 && i > 0 && '0' <= s[i-1] && s[i-1] <= '9' {
		return 1
	}
	return 0
}

// joinerLevel says at which level a compound comes apart at a joiner: the loosest
// first, and at noLevel never.
func joinerLevel(c byte) int {
	switch c {
	case '/', '\\', '@', ':', '&':
		return 0
	case '.':
		return 1
	case '-', '_', '+', '#':
		return 2
	case '\'':
		return 3
	}
	return noLevel
}

const noLevel = 4

// piece emits s whole and then its parts, level by level.
func (a *analyzer) piece(s string, level int) {
	s = cutEnding(strings.ReplaceAll(s, ",", "")) // commas stand in numbers only
	a.emit(a.term(s), a.position)
	if isIdentifier(s) {
		a.position++
		return
	}
	a.parts(s, level)
}

// parts emits what s comes apart into at the first level where it does.
func (a *analyzer) parts(s string, level int) {
	level, next := loosest(s, level)
	if level == noLevel {
		a.humps(s)
		return
	}
	a.pieces(s, next, level)
}

// loosest returns the first level, from one on, at which s comes apart, and
// where it first does.
func loosest(s string, from int) (level, at int) {
	level = noLevel
	for i := 0; i < len(s); i++ {
		if l := joinerLevel(s[i]); l < level && l >= from && !holds(s, i) {
			level, at = l, i
		}
	}
	return level, at
}

// pieces emits the parts of s, the first of which ends at next.
func (a *analyzer) pieces(s string, next, level int) {
	for s != "" {
		if next > 0 {
			a.piece(s[:next], level+1)
		}
		s = s[min(next+1, len(s)):]
		next = cut(s, level)
	}
}

// cut returns where s first comes apart at a level, len(s) when it does not.
func cut(s string, level int) int {
	for i := 0; i < len(s); i++ {
		if joinerLevel(s[i]) == level && !holds(s, i) {
			return i
		}
	}
	return len(s)
}

// holds says whether the joiner at i is part of a word: the dot of a number,
// the signs of C++ and C#.
func holds(s string, i int) bool {
	switch s[i] {
	case '.':
		return i > 0 && i+1 < len(s) && isDigit(rune(s[i-1])) && isDigit(rune(s[i+1]))
	case '+':
		return i+1 < len(s) && s[i+1] == '+' || i > 0 && s[i-1] == '+'
	case '#':
		return i > 0 && isLatinLetter(rune(s[i-1])) && (i == 1 || classify(rune(s[i-2])) == joiner)
	}
	return false
}

// humps emits the parts of a word that differ in case or kind: readMessages,
// HTTPServer, utf8. A word that changes often between letters and digits is a
// code, not a name, and stays whole; so does a very long one.
func (a *analyzer) humps(s string) {
	var buffer [8]int
	ends := humpEnds(buffer[:0], s)
	if len(ends) < 2 {
		a.position++
		return
	}
	start := 0
	for _, end := range ends {
		if hump := s[start:end]; strings.Trim(hump, "+#") != "" {
			a.leaf(a.term(hump))
		}
		start = end
	}
}

const (
	maxHumpedBytes  = 64 // longer words stay whole
	maxAlternations = 3  // between letters and digits
)

// humpEnds appends where the humps of s end.
func humpEnds(ends []int, s string) []int {
	if len(s) > maxHumpedBytes {
		return nil
	}
	alternations := 0
	var previous rune
	for i, r := range s {
		if i > 0 && endsHump(s, i, previous, r) {
			ends = append(ends, i)
			if isDigit(r) != isDigit(previous) {
				alternations++
			}
		}
		if !isMark(r) {
			previous = r
		}
	}
	if alternations > maxAlternations {
		return nil
	}
	return append(ends, len(s))
}

// endsHump says whether a new part begins at i, between previous and r.
func endsHump(s string, i int, previous, r rune) bool {
	switch {
	case isMark(r) || r == '.' || previous == '.':
		return false
	case r == '+' || r == '#':
		return i > 1 && isLatinLetter(previous) && isLatinLetter(rune(s[i-2]))
	case previous == '+' || previous == '#' || isDigit(previous) != isDigit(r):
		return true
	case !unicode.IsUpper(r):
		return false
	}
	return !unicode.IsUpper(previous) || beginsWord(s[i:])
}

// beginsWord says whether s begins with a capital and at least two small
// letters; one is the plural of an acronym, as in URLs.
func beginsWord(s string) bool {
	small := 0
	for i, r := range s {
		if i > 0 {
			if !unicode.IsLower(r) {
				break
			}
			small++
		}
	}
	return small > 1 || small == 1 && !strings.HasPrefix(s[1:], "s")
}
