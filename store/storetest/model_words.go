package storetest

import (
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// words takes a text apart for search: words without regard to case and width,
// pairs of neighbouring characters where a script has no spaces, and symbols
// one by one. Everything else only separates.
func words(text string) []string {
	runes := []rune(norm.NFKC.String(cases.Fold().String(norm.NFKC.String(text))))
	var all []string
	for i := 0; i < len(runes); {
		j := i + 1
		for j < len(runes) && class(runes[j]) == class(runes[i]) && class(runes[i]) != symbol {
			j++
		}
		switch class(runes[i]) {
		case letter, symbol:
			all = append(all, string(runes[i:j]))
		case unspaced:
			all = append(all, pairs(runes[i:j])...)
		}
		i = j
	}
	return all
}

// pairs lists the neighbours in a run, its Han characters alone, and a run of
// one character as it is.
func pairs(run []rune) []string {
	if len(run) == 1 {
		return []string{string(run)}
	}
	var all []string
	for i, r := range run {
		if unicode.Is(unicode.Han, r) {
			all = append(all, string(r))
		}
		if i > 0 {
			all = append(all, string(run[i-1:i+1]))
		}
	}
	return all
}

// The classes of characters.
const (
	separator = iota
	letter
	unspaced // of a script that is written without spaces, or whose words are long
	symbol
)

// class says what a character does to words.
func class(r rune) int {
	switch {
	case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
		if r > unicode.MaxLatin1 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)) {
			return unspaced
		}
		return letter
	case unicode.Is(unicode.So, r):
		return symbol
	}
	return separator
}
