package index

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// prepare gives a text the form that scan expects: valid UTF-8 in NFKC, without
// characters that nobody sees, with one apostrophe, one hyphen and one slash.
func prepare(text string) string {
	if isASCII(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	// Before NFKC, so that nothing invisible keeps a letter from its mark.
	text = strings.Map(new(invisible).drop, text)
	text = norm.NFKC.String(text)
	// After it, because NFKC takes ligatures apart into letters and points.
	return strings.Map(simplify, text)
}

// invisible drops characters without width from a text it is shown rune by
// rune. Those that hold an emoji together stay.
type invisible struct{ last rune }

func (v *invisible) drop(r rune) rune {
	if r < 0xAD || 0x4E00 <= r && r <= 0xD7FF { // most text: no table needed
		v.last = r
		return r
	}
	switch {
	case isSkinTone(r):
		if unicode.Is(unicode.So, v.last) {
			return -1
		}
	case r == zeroWidthJoiner:
		if !unicode.Is(unicode.So, v.last) {
			return -1
		}
		return r // a skin tone may follow, so last stays
	case isFlagTag(r):
		if v.last != blackFlag {
			return -1
		}
		return r
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return -1
	}
	v.last = r
	return r
}

const (
	zeroWidthJoiner = '\u200D'
	blackFlag       = '\U0001F3F4' // tags after it name a region
)

func isSkinTone(r rune) bool { return 0x1F3FB <= r && r <= 0x1F3FF }
func isFlagTag(r rune) bool  { return 0xE0020 <= r && r <= 0xE007F }

// simplify drops the points that Arabic and Hebrew are usually written without
// and gives variants of joining punctuation their ASCII form.
func simplify(r rune) rune {
	switch r {
	case '\u2019', '\u02BC', '\u2018', '\u201B': // apostrophes
		return '\''
	case '\u2010', '\u2212': // hyphen, minus
		return '-'
	case '\u2044', '\u2215': // the slashes of fractions
		return '/'
	case '\u0640': // tatweel only makes a word longer
		return -1
	}
	if 0x0591 <= r && r <= 0x08FF && isPoint(r) {
		return -1
	}
	return r
}

// isPoint says whether r is a Hebrew point or accent or an Arabic vowel sign.
// The madda and hamza, U+0653 to U+0655, make other letters and are none.
func isPoint(r rune) bool {
	switch {
	case r <= 0x05C7, 0x0610 <= r && r <= 0x061A, 0x064B <= r && r <= 0x0652,
		0x0656 <= r && r <= 0x065F, r == 0x0670, 0x06D6 <= r && r <= 0x06ED, 0x08CA <= r:
		return unicode.Is(unicode.Mn, r)
	}
	return false
}
