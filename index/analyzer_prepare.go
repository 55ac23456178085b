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
	var v invisible
	visible := strings.Map(v.drop, text)
	if v.letter {
		visible = strings.Map(new(invisible).drop, standIn(text))
	}
	text = norm.NFKC.String(visible)
	// After it, because NFKC takes ligatures apart into letters and points.
	return strings.Map(simplify, text)
}

// invisible drops characters without width from a text it is shown rune by
// rune. Those that hold an emoji together stay.
type invisible struct {
	last   rune
	letter bool // there was a letter that may leave nothing behind
}

func (v *invisible) drop(r rune) rune {
	if isPlain(r) {
		v.last = r
		return r
	}
	v.letter = v.letter || isTraceless(r)
	switch {
	case r == '\u00B4' || r == '\u1FFD': // often typed for an apostrophe; NFKC makes a space of it
		r = '\''
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

// isPlain says that r is visible, as most characters are, without a look into a
// table: Latin-1, Greek to Hebrew, kana, Han and Hangul.
func isPlain(r rune) bool {
	return r < 0xAD || 0x037B <= r && r < 0x0600 || 0x3000 <= r && r < 0x3164 || 0x4E00 <= r && r <= 0xD7FF
}

// isTraceless says whether Unicode calls r a letter although it is a mark, a
// mere extension of one, a filler or an apostrophe. [invisible], NFKC and
// simplify leave nothing of such a letter alone.
func isTraceless(r rune) bool {
	switch {
	case r == 0x02BC, r == 0x037A, r == 0x0640, r == 0x115F, r == 0x1160, r == 0x3164,
		0xFC5E <= r && r <= 0xFC63, 0xFCF2 <= r && r <= 0xFCF4, 0xFE70 <= r && r <= 0xFE7F && r != 0xFE73 && r != 0xFE75,
		r == 0xFF9E, r == 0xFF9F, r == 0xFFA0:
		return true
	}
	return false
}

// standIn adds a U+FFFD to every run of text whose letters are all traceless,
// so that it can be found.
func standIn(text string) string {
	runs := strings.Fields(text)
	for i, run := range runs {
		if strings.ContainsFunc(run, isTraceless) && !strings.ContainsFunc(run, isTraced) {
			runs[i] = run + "\uFFFD"
		}
	}
	return strings.Join(runs, " ")
}

func isTraced(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsNumber(r)) && !isTraceless(r)
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
