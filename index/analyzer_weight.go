package index

import "unicode"

// faintWeight is the weight of a faint term.
const faintWeight = 0.2

// isFaint says whether a term is mostly grammar: one or two hiragana, or a
// single Hangul syllable. They are not left out, because some words consist of
// nothing else.
func isFaint(term string) bool {
	if len(term) > len("ああ") || term == "" || term[0] < 0xE3 {
		return false
	}
	for _, r := range term {
		if hiragana := unicode.Is(unicode.Hiragana, r); !hiragana && (len(term) > len("가") || classify(r) != hangul) {
			return false
		}
	}
	return true
}
