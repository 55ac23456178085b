package index

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// For any text: no panic, the same terms twice, whether decomposed or not;
// terms are not empty, bounded and valid; positions never fall; each word of
// the text finds the text; and a text with a letter or digit has a term.
func FuzzAnalyze(f *testing.F) {
	for _, seed := range []string{
		"", "The foxes don't jump.", "E_CONN_RESET readMessages HTTPServer2 foo.go:42 v1.2.3",
		"https://example.com/a/b?x=1 C++ C# .NET -32602 1,000 a -> b", "重跑gen-itgc後 しりとり ﾃﾞｰﾀ",
		"한국어를 ㅋㅋㅋ", "ภาษาไทย ខ្មែរ", "👩🏽‍💻❤️‍🔥🇯🇵1️⃣#️⃣", "مُحَمَّد שָׁלוֹם", "cafe\u0301\u200Bx", "\xFF\x00a",
		"foo-бар", "a\u0301\u0301\u200D", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "\uFDFA½㍻", strings.Repeat("x", 200), "+#+#a++#", "$\u0301\u200D =\u0301=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms := checkTerms(t, text)
		if again := analyzed(text); !slices.Equal(terms, again) {
			t.Fatalf("%+q: %q, then %q", text, terms, again)
		}
		if utf8.ValidString(text) {
			if other := analyzed(norm.NFC.String(text)); !slices.Equal(terms, other) {
				t.Fatalf("%+q: %q, composed %q", text, terms, other)
			}
		}
		found := map[string]bool{}
		for _, term := range terms {
			found[term] = true
		}
		for _, w := range strings.Fields(text) {
			for _, term := range analyzed(w) {
				if !found[term] {
					t.Fatalf("%+q: its word %+q has the term %q", text, w, term)
				}
			}
		}
		if len(terms) == 0 && strings.ContainsFunc(prepare(text), searchable) {
			t.Fatalf("%+q has no term", text)
		}
	})
}

func searchable(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.In(r, unicode.So, unicode.Sm, unicode.Sc)
}

func checkTerms(t *testing.T, text string) []string {
	var terms []string
	last := 0
	Analyze(text, func(term string, position int) {
		if term == "" || len(term) > MaxTermBytes || !utf8.ValidString(term) {
			t.Fatalf("%+q: term %+q of %d bytes", text, term, len(term))
		}
		if position < last {
			t.Fatalf("%+q: position %d after %d", text, position, last)
		}
		last = position
		terms = append(terms, term)
	})
	return terms
}
