package index

import (
	"unicode"
	"unicode/utf8"
)

// class says how scan treats a rune.
type class int

const (
	separator class = iota
	word            // letters of scripts with spaces, digits
	mark            // goes on with whatever it follows
	joiner          // ASCII punctuation that can hold a compound together
	operator        // ASCII symbols
	symbol          // other symbols, emoji, private use
	cjk             // Han, kana, bopomofo
	hangul
	spaceless // scripts that need a dictionary to be cut into words
)

func classify(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return classifyASCII(byte(r))
	case isCyrillicLetter(r):
		return word
	case isKana(r), isCommonHan(r): // without a look into a table, as the next
		return cjk
	case isHangulSyllable(r):
		return hangul
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return classifyLetter(r)
	case isMark(r):
		if isSpaceless(r) {
			return spaceless
		}
		return mark
	case unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Z):
		return separator
	}
	return symbol
}

func classifyASCII(c byte) class {
	switch {
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
		return word
	}
	switch c {
	case '_', '-', '.', ':', '/', '\\', '@', '#', '\'', '&', ',':
		return joiner
	case '$', '<', '=', '>', '^', '|', '~', '+':
		return operator
	}
	return separator
}

func classifyLetter(r rune) class {
	switch {
	case r < 0x0E00:
		return word
	case unicode.Is(unicode.Hangul, r):
		return hangul
	case isSpaceless(r):
		return spaceless
	case r >= 0x3005 && isCJK(r):
		return cjk
	}
	return word
}

func isCyrillicLetter(r rune) bool { return 0x0400 <= r && r <= 0x0481 }
func isKana(r rune) bool           { return 0x3041 <= r && r <= 0x3096 || 0x30A1 <= r && r <= 0x30FA }
func isCommonHan(r rune) bool      { return 0x4E00 <= r && r <= 0x9FFF }
func isHangulSyllable(r rune) bool { return 0xAC00 <= r && r <= 0xD7A3 }

// The long vowel mark and the closing mark belong to no single script.
func isCJK(r rune) bool {
	return r == 'ー' || r == '〆' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo)
}

func isSpaceless(r rune) bool {
	if r < 0x0E00 || 0x3000 <= r && r < 0xA900 {
		return false
	}
	return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
		unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom)
}

func isMark(r rune) bool { return r >= 0x0300 && unicode.IsMark(r) }

// hasAccents says whether marks after r only vary it.
func hasAccents(r rune) bool {
	if r < utf8.RuneSelf {
		return classifyASCII(byte(r)) == word
	}
	return unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}

// script identifies the script of a letter; 0 for digits and letters that all
// scripts share.
type script int

// otherScript stands for all that are not told apart, because they hardly meet
// in one word.
const otherScript script = -1

// scriptOf returns the script of a letter or digit. It is quickest for the next
// letter of the same script.
func scriptOf(r rune, before script) script {
	if isLatinLetter(r) {
		return 1
	}
	if r < utf8.RuneSelf {
		return 0
	}
	if isCyrillicLetter(r) {
		return 2
	}
	tables := [...]*unicode.RangeTable{
		unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew, unicode.Devanagari,
		unicode.Bengali, unicode.Tamil, unicode.Telugu, unicode.Armenian, unicode.Georgian, unicode.Ethiopic,
	}
	if before > 0 && unicode.Is(tables[before-1], r) {
		return before
	}
	for i, table := range tables {
		if unicode.Is(table, r) {
			return script(i + 1)
		}
	}
	if unicode.Is(unicode.Common, r) || unicode.IsNumber(r) {
		return 0
	}
	return otherScript
}

func isDigit(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9'
	}
	if isCyrillicLetter(r) {
		return false
	}
	return unicode.IsNumber(r)
}
