package index

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// For any text: no panic, the same terms twice, whether decomposed or not;
// terms are not empty, bounded and valid; positions begin at 0 and grow by 0 to
// 2; the terms of what stands between two spaces are terms of the text, which
// the query for it finds; and what is searchable has a term.
func FuzzAnalyze(f *testing.F) {
	for _, seed := range []string{
		"", "The foxes don't jump.", "E_CONN_RESET readMessages HTTPServer2 foo.go:42 v1.2.3",
		"https://example.com/a/b?x=1 C++ C# .NET -32602 1,000 a -> b", "重跑gen-itgc後 しりとり ﾃﾞｰﾀ",
		"한국어를 ㅋㅋㅋ", "ภาษาไทย ខ្មែរ", "👩🏽‍💻❤️‍🔥🇯🇵1️⃣#️⃣", "مُحَمَّد שָׁלוֹם", "cafe\u0301\u200Bx", "\xFF\x00a",
		"foo-бар", "a\u0301\u0301\u200D", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "\uFDFA½㍻", strings.Repeat("x", 200),
		"+#+#a++#", "don\u00B4t can't ain't'", "\u3164 \u02BC\u0640 ﾞ \uFE76x", "(see x's 1,000,000.5), foo.go,", "$\u0301\u200D =\u0301=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text) })
}

func checkText(t failer, text string) {
	t.Helper()
	terms := checkTerms(t, text)
	if again := analyzed(text); !slices.Equal(terms, again) {
		t.Fatalf("%+q: %q, then %q", text, terms, again)
	}
	composed := norm.NFC.String(text)
	// Into more than 30 marks in a row, package norm puts something of its own.
	safe := strings.Count(composed, "\u034F") == strings.Count(text, "\u034F")
	if other := analyzed(composed); safe && utf8.ValidString(text) && !slices.Equal(terms, other) {
		t.Fatalf("%+q: %q, composed %q", text, terms, other)
	}
	checkRuns(t, Standard(), text, terms)
	if len(terms) == 0 && strings.ContainsFunc(prepare(text), searchable) {
		t.Fatalf("%+q has no term", text)
	}
}

// failer is what tests, fuzz tests and property tests have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkRuns checks every run without white space: that its terms are among those
// of the text, and that it finds the text if it has a letter or digit.
func checkRuns(t failer, a Analyzer, text string, terms []string) {
	found := map[string]bool{}
	for _, term := range terms {
		found[term] = true
	}
	for _, run := range strings.Fields(text) {
		for _, term := range termsOf(a, run) {
			if !found[term] {
				t.Fatalf("%+q: its run %+q has the term %q", text, run, term)
			}
		}
		query := QueryTerms(a, run)
		if !slices.IsSortedFunc(query, func(a, b QueryTerm) int { return strings.Compare(a.Text, b.Text) }) {
			t.Fatalf("%+q: unsorted terms %v", run, query)
		}
		finds := slices.ContainsFunc(query, func(term QueryTerm) bool { return term.Weight > 0 && found[term.Text] })
		if !finds && strings.ContainsFunc(run, isLetterOrNumber) {
			t.Fatalf("%+q: its run %+q does not find it with %v", text, run, query)
		}
	}
}

func isLetterOrNumber(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// Every letter and number of Unicode, alone and inside brackets, finds its text.
// Of Han and Hangul, which are many and alike, some are tried.
func TestEveryLetterFinds(t *testing.T) {
	withoutRaceDetector(t)
	a, letters := Standard(), 0
	for r := range unicode.MaxRune + 1 {
		if isLetterOrNumber(r) && (r%16 == 0 || !unicode.In(r, unicode.Han, unicode.Hangul)) {
			letters++
			text := "a " + string(r) + " (" + string(r) + ")."
			checkRuns(t, a, text, termsOf(a, text))
		}
	}
	t.Log(letters, "letters and numbers")
}

func searchable(r rune) bool {
	return isLetterOrNumber(r) || unicode.In(r, unicode.So, unicode.Sm, unicode.Sc)
}

func checkTerms(t failer, text string) []string {
	var terms []string
	checkPositions(t, text, func(emit func(string, int)) {
		Standard().Analyze(text, func(term string, position int) {
			if term == "" || len(term) > MaxTermBytes || !utf8.ValidString(term) {
				t.Fatalf("%+q: term %+q of %d bytes", text, term, len(term))
			}
			emit(term, position)
			terms = append(terms, term)
		})
	})
	return terms
}

// The same for texts of what the rules treat most differently.
func TestAnalyzeProperties(t *testing.T) {
	withoutRaceDetector(t)
	alphabet := strings.Split("aAnstwZ0159 \t\n\u0085\u00A0\u2028\u3000.,'’´-/\\:+#_@&$<=>~|!?*()é\u0301\u0308\u0345\u20E3ßİſςж漢々かゝヶガーｶﾞㄅ가ㅎㅏㅋกำ่ខ្မ\u1160\u3164\uFFA0क्षאָمَـ\uFE76\u02BC\u037A"+
		"\u200B\u200C\u200D\uFE0F\uFEFF\u00AD\u034F\u180E👍🏽👩❤🇯🏴\U000E0067\U000E007F½①㍻²\uFDFA\uFFFD\U0001D4B3\U0001B001", "")
	for _, r := range []string{"\u0301", "\u3099", "x", "👩\u200D", "01", "-a"} {
		alphabet = append(alphabet, strings.Repeat(r, 40)) // more than some limits allow
	}
	alphabet = append(alphabet, "://", "n't", "++", "E_x", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "the", "went")
	for range 50 { // each time 100 texts, unless -rapid.checks says otherwise
		rapid.Check(t, func(t *rapid.T) {
			checkText(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 24).Draw(t, "text"), ""))
		})
	}
}
