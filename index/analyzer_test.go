package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// analyzed returns the terms of a text in the order in which they are emitted.
func analyzed(text string) []string {
	var terms []string
	Analyze(text, func(term string, _ int) { terms = append(terms, term) })
	return terms
}

// The terms of each text, in the order of Analyze, separated by a space.
func TestAnalyze(t *testing.T) {
	tests := []struct{ name, text, want string }{
		// What has no terms.
		{"empty", "", ""},
		{"spaces", " \t\r\n\u00A0\u3000\u2028", ""},
		{"NUL and controls", "\x00\x01\x7F\u0085", ""},
		{"ASCII punctuation", `... !!! "?" ( ) [ ] { } ; , ' - -- : / \ @ # & % *`, ""},
		{"backtick fence", "```", ""},
		{"other punctuation", "。、「」…—–·¿¡«»", ""},
		{"only zero width", "\u200B\u200C\u200D\uFEFF\u00AD\u2060\uFE0F", ""},
		{"lone mark", "\u0301", ""},

		// Case, width, compatibility, accents.
		{"case", "Hello WORLD", "hello world"},
		{"full width", "ＡＢＣ１２３", "abc123 abc 123"},
		{"ligature", "ﬁle", "file"},
		{"trade mark", "Foo™", "footm foo tm"},
		{"era sign", "㍻", "平 平成 成"},
		{"fraction", "½", "1/2 1 2"},
		{"sharp s", "Straße STRASSE", "strass strass"},
		{"capital sharp s", "GROẞ", "gross"},
		{"dotted capital I", "İstanbul", "istanbul"},
		{"final sigma", "ΣΊΣΥΦΟΣ Σίσυφος", "σισυφοσ σισυφοσ"},
		{"Latin accents", "café CAFÉ cafe\u0301", "cafe cafe cafe"},
		{"two accents on one letter", "Việt", "viet"},
		{"many accents", "a" + strings.Repeat("\u0301", 100), "a"},
		{"Greek accents", "ἄνθρωπος", "ανθρωποσ"},
		{"Cyrillic accents", "ёлка ко́т", "елка кот"},
		{"letter with a stroke is another letter", "łódź", "łodz"},
		{"accent on a digit", "1\u0301", "1"},
		{"Arabic vowel signs", "مُحَمَّد محمد", "محمد محمد"},
		{"Arabic tatweel", "محـــمد", "محمد"},
		{"Arabic hamza makes a letter", "أمل امل", "أمل امل"},
		{"Arabic superscript alef", "هٰذا", "هذا"},
		{"Hebrew points", "שָׁלוֹם", "שלום"},
		{"Hebrew presentation form", "\uFB2Aלום", "שלום"},
		{"Devanagari signs stay", "हिन्दी हनद", "हिन्दी हनद"},
		{"Devanagari numbers are words", "१२३", "१२३"},

		// Zero width.
		{"zero width space inside a word", "pass\u200Bword", "password"},
		{"soft hyphen", "data\u00ADbase", "databas"},
		{"byte order mark", "\uFEFFhello", "hello"},
		{"word joiner and bidi marks", "he\u2060l\u200Fl\u202Eo", "hello"},
		{"joiner in Persian", "می\u200Cخواهم", "میخواهم"},
		{"zero width before a mark", "e\u200B\u0301te\u0301", "ete"},
		{"zero width before a kana mark", "か\u200B\u3099", "が"},
		{"variation selector on Han", "葛\U000E0100", "葛"},
		{"Hangul filler", "\u3164가", "가"},
		{"grapheme joiner", "a\u034Fb", "ab"},
		{"tags without a flag", "a\U000E0041b", "ab"},

		// English.
		{"stems", "running runs ran foxes studies", "run run ran fox studi"},
		{"stop words keep their form", "because being", "because being"},
		{"endings", "don't user's we'll I'm they've you're he'd", "don user we i they you he"},
		{"typographic apostrophe", "user’s don’t", "user don"},
		{"other apostrophes", "l’homme rock'n'roll", "l'homme l homm rock'n'roll rock n roll"},
		{"quoted word", "'quoted'", "quot"},
		{"sentence", "End. Next, one; two: three! four? (five)", "end next one two three four five"},
		{"no space after a stop", "end.Next", "end.next end next"},
		{"ellipsis", "wait...what", "wait what"},
		{"hyphen", "well-known", "well-known well known"},
		{"other hyphens", "well\u2010known well\u2011known", "well-known well known well-known well known"},
		{"dash between words", "one--two one—two", "one two one two"},
		{"slash", "and/or", "and/or and or"},
		{"ampersand", "AT&T", "at&t at t"},

		// Identifiers.
		{"snake case", "E_CONN_RESET", "e_conn_reset e conn reset"},
		{"camel case", "readMessages", "readmessag read messag"},
		{"acronym in camel case", "HTTPServer2", "httpserver2 http server 2"},
		{"plural of an acronym", "URLs IDs APIs", "url id api"},
		{"capital at the end", "planB", "planb plan b"},
		{"small first letter", "iPhone", "iphon i phone"},
		{"accented camel case", "caféBar", "cafebar cafe bar"},
		{"letters and digits", "utf8 3rd", "utf8 utf 8 3rd 3 rd"},
		{"a code has no parts", "a1b2c3d", "a1b2c3d"},
		{"file and line", "foo.go:42", "foo.go:42 foo.go foo go 42"},
		{"version", "v1.2.3", "v1.2.3 v 1.2.3"},
		{"version with a suffix", "1.2.3-rc1", "1.2.3-rc1 1.2.3 rc1 rc 1"},
		{"version on a name", "Go1.26.8", "go1.26.8 go 1.26.8"},
		{"decimal", "3.14", "3.14"},
		{"date", "2024-05-03", "2024-05-03 2024 05 03"},
		{"time", "12:30", "12:30 12 30"},
		{"thousands", "1,000", "1000 1 000"},
		{"millions", "1,234,567.89", "1234567.89 1 234 567.89"},
		{"list of numbers", "1,2,3", "1 2 3"},
		{"address and port", "10.0.0.1:8080", "10.0.0.1:8080 10.0.0.1 8080"},
		{"URL", "https://example.com/a/b?x=1#top", "example.com/a/b example.com exampl com a b x 1#top 1 top"},
		{"scheme alone", "https://", "https"},
		{"mail address", "user@example.com", "user@example.com user example.com exampl com"},
		{"absolute path", "/etc/hosts", "etc/hosts etc host"},
		{"Windows path", `C:\Users\foo`, `c:\users\foo c user foo`},
		{"namespace", "foo::bar", "foo::bar foo bar"},
		{"package path", "golang.org/x/text", "golang.org/x/text golang.org golang org x text"},
		{"handle and hashtag", "@user #topic", "user topic"},
		{"issue number", "issue#42", "issue#42 issu 42"},
		{"flag", "--dry-run -v", "dry-run dri run v"},
		{"variable", "$PATH", "path"},
		{"C++ and C#", "C++ C# g++ F#", "c++ c# g++ f#"},
		{"C++ between others", "C/C++, Java/C#; (C++)", "c/c++ c c++ java/c# java c# c++"},
		{"C++ with a year", "C++20 C#7", "c++20 c++ 20 c#7 c# 7"},
		{"longer name with pluses", "libstdc++", "libstdc++ libstdc"},
		{"sum", "a+b 1+1", "a+b a b 1+1 1 1"},
		{".NET", ".NET ASP.NET", ".net net asp.net asp net"},
		{"hidden file", "in .gitignore", "in .gitignore gitignor"},
		{"hidden file in a path", "~/.config/x", "~/ .config/x .config config x"},
		{"negative number", "code -32602", "code -32602 32602"},
		{"minus sign", "\u22125", "-5 5"},
		{"range", "1-5", "1-5 1 5"},
		{"hexadecimal", "0x1F 0xZZ", "0x1f 0xzz 0 x zz"},
		{"long hexadecimal", "deadbeef1234", "deadbeef1234"},
		{"ULID", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav"},
		{"ULID in small letters", "01arz3ndektsv4rrffq69g5fav", "01arz3ndektsv4rrffq69g5fav"},
		{"ULID in a compound", "id:01ARZ3NDEKTSV4RRFFQ69G5FAV", "id:01arz3ndektsv4rrffq69g5fav id 01arz3ndektsv4rrffq69g5fav"},
		{"UUID", "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"},
		{"operators that stand free", "a -> b == c", "a -> b == c"},
		{"operators between words", "a=b a>b", "a b a b"},
		{"operator alone", "$", "$"},
		{"mark on an operator", "$\u0301 x", "$ x"},
		{"operator after a lone mark", "\u0301=", "="},

		// Script changes.
		{"Latin inside Han", "重跑gen-itgc後", "重 重跑 跑 gen-itgc gen itgc 後"},
		{"Latin and Cyrillic", "fooбар", "foo бар"},
		{"compound of two scripts", "foo-бар", "foo-бар foo бар"},
		{"digits go with any script", "бар2", "бар2 бар 2"},
		{"digits between Han", "第3章", "第 3 章"},
		{"joiner before Han", "gen-重", "gen 重"},

		// Han, kana, Hangul.
		{"Han", "東京都", "東 東京 京 京都 都"},
		{"one Han character", "水", "水"},
		{"Han outside the first plane", "𠮷野", "𠮷 𠮷野 野"},
		{"compatibility Han", "\uF9D4", "倫"},
		{"closing mark and iteration mark", "〆切 人々", "〆切 切 人 人々 々"},
		{"Han and hiragana", "食べる", "食 食べ べる"},
		{"hiragana", "しりとり", "しり りと とり"},
		{"one hiragana", "あ", "あ"},
		{"hiragana and katakana differ", "ねこ ネコ", "ねこ ネコ"},
		{"katakana", "データ", "デー ータ"},
		{"half width katakana", "ﾃﾞｰﾀ", "デー ータ"},
		{"kana marks make letters", "パリ バリ ハリ", "パリ バリ ハリ"},
		{"kana mark that does not compose", "あ\u3099い", "あ゙い"},
		{"bopomofo", "ㄅㄆ", "ㄅㄆ"},
		{"middle dot", "ジョン・ケイジ", "ジョ ョン ケイ イジ"},
		{"Hangul", "한국어를", "한국어를 한국 국어 어를"},
		{"Hangul of two syllables", "공부", "공부"},
		{"Hangul of one syllable", "집", "집"},
		{"decomposed Hangul", "\u1112\u1161\u11ABG", "한 g"},
		{"single jamo", "ㅋㅋㅋ", "ᄏᄏᄏ ᄏᄏ ᄏᄏ"},

		// Scripts without spaces.
		{"Thai", "ภาษาไทย", "ภา าษ ษา าไ ไท ทย"},
		{"Thai with tone marks", "ที่นี่", "ที่นี่"},
		{"one Thai cluster", "ก่", "ก่"},
		{"Thai and Latin", "ใช้Goดี", "ใช้ go ดี"},
		{"Lao", "ລາວ", "ລາ າວ"},
		{"Khmer", "ខ្មែរ", "ខ្មែរ"},
		{"Burmese", "မြန်မာ", "မြန် န်မ မာ"},

		// Symbols.
		{"emoji", "👍 😂", "👍 😂"},
		{"emoji at a word", "nice👍", "nice 👍"},
		{"skin tone", "👍🏽", "👍"},
		{"skin tone alone", "🏽", "🏽"},
		{"joined emoji", "👩‍💻 👩🏽‍💻", "👩‍💻 👩‍💻"},
		{"variation selector on emoji", "❤️ ❤", "❤ ❤"},
		{"joined with a variation selector", "❤️‍🔥", "❤‍🔥"},
		{"loose joiner after emoji", "👩\u200Dx", "👩 x"},
		{"flags", "🇯🇵🇫🇷", "🇯🇵 🇫🇷"},
		{"flag of a region", "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
			"🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F"},
		{"keycaps", "1️⃣ #️⃣ *️⃣", "1 #⃣ *⃣"},
		{"row of one symbol", "😂😂😂 ────", "😂 ─"},
		{"currency", "€5", "€ 5"},
		{"mathematics", "∀x≠y", "∀ x ≠ y"},
		{"private use", "\uE0A0", "\uE0A0"},
		{"invalid UTF-8", "a\xFFb", "a \uFFFD b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(analyzed(test.text), " "); got != test.want {
				t.Errorf("Analyze(%+q)\n got %s\nwant %s", test.text, got, test.want)
			}
		})
	}
}

// A whole and its parts share positions, so that neighbours stay neighbours.
func TestAnalyzePositions(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"words", "one, two", "one/0 two/1"},
		{"compound", "see foo.go:42 now", "see/0 foo.go:42/1 foo.go/1 foo/1 go/2 42/3 now/4"},
		{"dropped ending", "user's cat", "user/0 cat/1"},
		{"Han", "東京 都", "東/0 東京/0 京/1 都/2"},
		{"Hangul", "한국어 책", "한국어/0 한국/0 국어/1 책/3"},
		{"Thai", "ไทย ก", "ไท/0 ทย/1 ก/3"},
		{"identifier", "0x1F x", "0x1f/0 x/1"},
		{"emoji", "a 👍👍 b", "a/0 👍/1 b/2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			Analyze(test.text, func(term string, position int) {
				got = append(got, fmt.Sprintf("%s/%d", term, position))
			})
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestQueryTerms(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing to find", `"()" ...`, nil},
		{"sorted and distinct", "zebra apple zebra", []string{"appl", "zebra", "zebra apple zebra"}},
		{"one word is its own tag", "Running", []string{"run"}},
		{"compound is its own tag", "go-sdk", []string{"go", "go-sdk", "sdk"}},
		{"stop words go", "what is the plan", []string{"plan", "what is the plan"}},
		{"unless there is nothing else", "to be, or not", []string{"be", "not", "or", "to", "to be, or not"}},
		{"one stop word", "The", []string{"the"}},
		{"spaces in a tag count as one", " Project \n X ", []string{"project", "project x", "x"}},
		{"Han tag", "東京都", []string{"京", "京都", "東", "東京", "東京都", "都"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, QueryTerms(test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongTerms(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	one, two := analyzed(long+"1"), analyzed(long+"2")
	if len(one) != 1 || len(one[0]) > MaxTermBytes {
		t.Fatalf("%d terms, the first of %d bytes", len(one), len(one[0]))
	}
	if one[0] == two[0] {
		t.Error("long words that end differently give one term")
	}
	if got := analyzed(strings.ToUpper(long) + "1"); !slices.Equal(got, one) {
		t.Error("case counts in a long word")
	}
	exact := strings.Repeat("é", MaxTermBytes)
	if got := analyzed(exact); len(got) != 1 || got[0] != strings.Repeat("e", MaxTermBytes) {
		t.Errorf("a word of %d letters was cut: %q", MaxTermBytes, got)
	}
	for _, letter := range []string{"ж", "가", "𝒳"} { // of 2, 3 and 4 bytes
		for _, term := range analyzed(strings.Repeat(letter, 1000)) {
			if len(term) > MaxTermBytes || !utf8.ValidString(term) {
				t.Errorf("term of %d bytes: %+q", len(term), term)
			}
		}
	}
}

// An analyzer that has seen other texts gives the terms of a fresh one, also
// after its cache ran over.
func TestAnalyzerKeepsNothing(t *testing.T) {
	a := newAnalyzer()
	for i := range maxCachedTerms + 100 {
		a.analyze(fmt.Sprintf("word%d Running", i), func(string, int) {})
	}
	if len(a.terms) > maxCachedTerms {
		t.Errorf("%d cached terms", len(a.terms))
	}
	for _, text := range []string{"Running RUNNING running", "word7", "Éte ÉTE"} {
		var got []string
		a.analyze(text, func(term string, _ int) { got = append(got, term) })
		if diff := cmp.Diff(analyzed(text), got); diff != "" {
			t.Error(diff)
		}
	}
}
