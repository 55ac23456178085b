package index

import (
	"testing"
	"unicode"
)

// What is decided by ranges is what the tables of Unicode say.
func TestRangesAgreeWithUnicode(t *testing.T) {
	tests := []struct {
		name   string
		in     func(rune) bool
		agrees func(rune) bool
	}{
		{"plain", isPlain, func(r rune) bool {
			hidden := unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
			return !hidden && !isTraceless(r)
		}},
		{"Cyrillic", isCyrillicLetter, func(r rune) bool { return unicode.IsLetter(r) && unicode.Is(unicode.Cyrillic, r) }},
		{"kana", isKana, func(r rune) bool { return unicode.IsLetter(r) && unicode.In(r, unicode.Hiragana, unicode.Katakana) }},
		{"Han", isCommonHan, func(r rune) bool { return unicode.IsLetter(r) && unicode.Is(unicode.Han, r) }},
		{"Hangul", isHangulSyllable, func(r rune) bool { return unicode.IsLetter(r) && unicode.Is(unicode.Hangul, r) }},
		{"traceless", isTraceless, unicode.IsLetter},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			some := 0
			for r := range unicode.MaxRune + 1 {
				if !test.in(r) {
					continue
				}
				some++
				if !test.agrees(r) {
					t.Errorf("%U", r)
				}
			}
			if some == 0 {
				t.Error("no character")
			}
		})
	}
}
