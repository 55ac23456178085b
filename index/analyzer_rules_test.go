package index

import (
	"slices"
	"strings"
	"testing"
)

// Every rule of [Standard]: the terms of each text in the order of Analyze,
// separated by a space.
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
		{"full width punctuation", "ｆｏｏ．ｇｏ：４２", "foo.go:42 foo.go foo go 42"},
		{"ligature", "ﬁle", "file"},
		{"ohm and angstrom signs", "\u2126 \u212B", "ω a"},
		{"trade mark", "Foo™", "footm foo tm"},
		{"era sign", "㍻", "平 平成 成"},
		{"fraction", "½", "1/2 1 2"},
		{"sharp s", "Straße STRASSE", "strass strass"},
		{"capital sharp s", "GROẞ", "gross"},
		{"dotted capital I", "İstanbul I\u0307stanbul istanbul", "istanbul istanbul istanbul"},
		{"dotless i is another letter", "ısı", "ısı"},
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
		{"Devanagari nukta", "\u0958 \u0915\u093C \u0915", "\u0915\u093C \u0915\u093C \u0915"},
		{"Devanagari with joiners", "क्\u200Dष क्\u200Cष", "क्ष क्ष"},
		{"Devanagari numbers are words", "१२३", "१२३"},

		// Letters of which nothing is left stand for themselves when alone.
		{"tatweel alone", "\u0640\u0640 x", "\uFFFD x"},
		{"Arabic vowel sign as a letter", "\uFE76 \uFCF2", "\uFFFD \uFFFD"},
		{"Hangul fillers", "\u3164 \uFFA0 \u115F\u1160", "\uFFFD \uFFFD \uFFFD"},
		{"half width dakuten alone", "ﾞ ﾟ", "\uFFFD \uFFFD"},
		{"modifier apostrophe alone", "\u02BC (\u02BC)", "\uFFFD \uFFFD"},
		{"not alone", "\u02BCa a\u0640 ｶﾞ", "a a ガ"},

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
		{"stems", "running runs ran foxes studies", "run run run fox studi"},
		{"stop words keep their form", "because being", "because being"},
		{"endings", "don't user's we'll I'm they've you're he'd", "do user we i they you he"},
		{"typographic apostrophe", "user’s don’t", "user do"},
		{"not", "isn't can't won't shan't ain't haven't CAN'T Won't", "is can will shall ain have can will"},
		{"won without an apostrophe", "won", "win"},
		{"accent as an apostrophe", "don\u00B4t isn\u1FFDt", "do is"},
		{"modifier apostrophe", "don\u02BCt", "do"},
		{"an apostrophe inside a compound", "don't-care he's/she's he/can't", "don't-care do care he's/she he she he/can't he can"},
		{"names with apostrophes", "O'Brien James' D'Arcy's", "o'brien o brien jame d'arcy d arci"},
		{"irregular verbs", "went goes gone wrote taken bought", "go go go write take buy"},
		{"irregular nouns", "children mice women indices", "child mous woman index"},
		{"forms that are other words", "ground wound rose bore shot lives", "ground wound rose bore shot live"},
		{"forms that hardly are", "saw left felt found thoughts", "see leav feel find think"},
		{"an irregular form in an identifier", "childrenCount wrote_at", "childrencount child count wrote_at write at"},
		{"irregular only as a whole word", "wentworth unwon", "wentworth unwon"},
		{"other apostrophes", "l’homme rock'n'roll", "l'homme l homm rock'n'roll rock n roll"},
		{"quoted word", "'quoted'", "quot"},
		{"sentence", "End. Next, one; two: three! four? (five)", "end next one two three four five"},
		{"no space after a stop", "end.Next", "end.next end next"},
		{"ellipsis", "wait...what", "wait what"},
		{"hyphen", "well-known", "well-known well know"},
		{"other hyphens", "well\u2010known well\u2011known", "well-known well know well-known well know"},
		{"dash between words", "one--two one—two", "one two one two"},
		{"slash", "and/or", "and/or and or"},
		{"ampersand", "AT&T", "at&t at t"},

		// Identifiers.
		{"kebab case", "my-service-name", "my-service-name my servic name"},
		{"qualified name", "com.example.FooBar", "com.example.foobar com exampl foobar foo bar"},
		{"call and generics", "foo.Bar(baz) Map<String,Int>", "foo.bar foo bar baz map string int"},
		{"private name", "__init__ _x", "init x"},
		{"shell path", "./run.sh ../a/b", "run.sh run sh a/b a b"},
		{"path with a line", "src/index/a_b.go:12:3", "src/index/a_b.go:12:3 src index a_b.go a_b a b go 12 3"},
		{"pre-release", "1.0.0-beta.1+build.5", "1.0.0-beta.1+build.5 1.0.0-beta 1.0.0 beta 1+build 1 build 5"},
		{"version at the end", "use v1.2, v1.3.", "use v1.2 v 1.2 v1.3 v 1.3"},
		{"URL in brackets", "(see http://localhost:8080/x).", "see localhost:8080/x localhost 8080 x"},
		{"URL with Han", "https://ja.wikipedia.org/wiki/東京", "ja.wikipedia.org/wiki ja.wikipedia.org ja wikipedia org wiki 東 東京 京"},
		{"mail address with a tag", "<jo.do+x@mail.example.org>", "jo.do+x@mail.example.org jo.do+x jo do+x do x mail.example.org mail exampl org"},
		{"mailto", "mailto:user@example.com", "mailto:user@example.com mailto user example.com exampl com"},
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
		{"thousands", "1,000", "1000"},
		{"millions", "1,234,567.89", "1234567.89"},
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
		{"C# and .NET", "C#/.NET Objective-C++.", "c# .net net objective-c++ object c++"},
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
		{"UUID in capitals and brackets", "{550E8400-E29B-41D4-A716-446655440000}", "550e8400-e29b-41d4-a716-446655440000"},
		{"UUID in a compound", "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
			"urn:uuid:550e8400-e29b-41d4-a716-446655440000 urn uuid 550e8400-e29b-41d4-a716-446655440000"},
		{"nearly a ULID", "91ARZ3NDEKTSV4RRFFQ69G5FAU", "91arz3ndektsv4rrffq69g5fau"},
		{"operators that stand free", "a -> b == c", "a -> b == c"},
		{"operators between words", "a=b a>b", "a b a b"},
		{"operator alone", "$", "$"},
		{"mark on an operator", "$\u0301 x", "$ x"},
		{"operator between marks", "!\u0301$\u0301$ -\u0301-5", "$ $ -5 5"},
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
		{"kana marks apart", "ハ\u309Aリ ﾊﾟﾘ か\u3099", "パリ パリ が"},
		{"kana mark that does not compose", "あ\u3099い", "あ゙い"},
		{"bopomofo", "ㄅㄆ", "ㄅㄆ"},
		{"middle dot", "ジョン・ケイジ", "ジョ ョン ケイ イジ"},
		{"Hangul", "한국어를", "한 한국어를 한국 국어 어를"},
		{"Hangul noun of one syllable", "집에서", "집 집에서 집에 에서"},
		{"Hangul and Latin", "API를 v2에서", "api 를 v2 v 2 에 에서"},
		{"Hangul of two syllables", "공부", "공 공부"},
		{"Hangul of one syllable", "집", "집"},
		{"decomposed Hangul", "\u1112\u1161\u11ABG", "한 g"},
		{"single jamo", "ㅋㅋㅋ", "ᄏ ᄏᄏᄏ ᄏᄏ ᄏᄏ"},

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
		{"family", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦 👨", "👨‍👩‍👧‍👦 👨"},
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

		// Long words.
		{"64 letters", strings.Repeat("ab", 32), strings.Repeat("ab", 32)},
		{"as long as a term can be", strings.Repeat("x1", 64), strings.Repeat("x1", 64)},
		{"one byte longer", strings.Repeat("x1", 64) + "x", strings.Repeat("x1", 55) + "x~60b7c83a4ea6a007"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(analyzed(test.text), " "); got != test.want {
				t.Errorf("Analyze(%+q)\n got %s\nwant %s", test.text, got, test.want)
			}
		})
	}
}

// What the rules mean: whether a query finds a text.
func TestQueryFinds(t *testing.T) {
	tests := []struct {
		name, text, query string
		found             bool
	}{
		{"one Han character", "東京都に住む", "都", true},
		{"two Han characters", "明日は設計の話", "設計", true},
		{"the same two, not side by side", "設備の計画", "設計する", true}, // by the single characters
		{"other Han characters", "設計", "東京", false},
		{"hiragana only", "昨日しりとりをした", "しりとり", true},
		{"one hiragana between Latin", "GoのAPI", "の", true},
		{"one hiragana of a word", "Goの本", "の", false},
		{"katakana", "データベースの設計", "データ", true},
		{"katakana for hiragana", "ねこがいる", "ネコ", false},
		{"dakuten", "パリに行った", "バリ", false},
		{"no dakuten", "パリに行った", "ハリ", false},
		{"half width", "データを保存", "ﾃﾞｰﾀ", true},
		{"Latin glued to Han", "重跑gen-itgc後", "itgc", true},
		{"Latin glued to Han, whole", "重跑gen-itgc後", "gen-itgc", true},
		{"Korean noun with a particle", "데이터베이스를 설계했다", "데이터베이스", true},
		{"Korean noun with another particle", "회의는 내일", "회의가", true},
		{"Korean noun of one syllable", "집에서 일한다", "집", true},
		{"Korean noun of one syllable, both with particles", "물을 마셨다", "물이", true},
		{"other Korean noun", "물을 마셨다", "책이", false},
		{"Thai word in a sentence", "ฉันชอบภาษาไทยมาก", "ภาษา", true},
		{"Thai tone mark", "เสือ", "เสื้อ", false},
		{"Hindi vowel sign", "कल", "काल", false},
		{"Arabic with vowel signs", "كِتَاب", "كتاب", true},
		{"Hebrew with points", "שָׁלוֹם", "שלום", true},
		{"decomposed", "cafe\u0301", "CAFÉ", true},
		{"dotted capital I", "İzmir", "izmir", true},
		{"sharp s", "Straße", "STRASSE", true},
		{"final sigma", "Σίσυφος", "ΣΊΣΥΦΟΣ", true},
		{"zero width space", "pass\u200Bword", "password", true},
		{"skin tone", "👍🏽 thanks", "👍", true},
		{"part of a family", "👨‍👩‍👧", "👨", false},
		{"symbol only", "a -> b", "->", true},
		{"other symbol", "a -> b", "=>", false},
		{"C++", "we use C++ here", "c++", true},
		{"C for C++", "we use C++ here", "C", false},
		{"C# for C", "written in C", "C#", false},
		{".NET", "ASP.NET core", ".NET", true},
		{"part of an identifier", "got E_CONN_RESET", "conn reset", true},
		{"hump", "call readMessages()", "messages", true},
		{"file of a path", "see store/log.go:42", "log.go", true},
		{"host of a URL", "https://docs.example.com/a?b=c", "example docs", true},
		{"ULID in other case", "id 01ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav", true},
		{"beginning of a ULID", "id 01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEK", false},
		{"number with commas", "costs 1,000 euros", "1000", true},
		{"part of a number with commas", "costs 1,000 euros", "000", false},
		{"past for present", "Where did she go?", "went", true},
		{"plural for singular", "her children", "child", true},
		{"contraction", "they won't", "will", true},
		{"won is no contraction", "they won't", "won", false},
		{"stop words with others", "who is it", "who is the captain", false},
		{"stop words alone", "who is it", "Who is it?", true},
		{"an invisible letter", "a \u3164 b", "\u3164", true},
		{"punctuation", "really?!", "?!", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if found := sharesTerm(test.query, test.text); found != test.found {
				t.Errorf("%q finds %q: %t; terms %q, looked for %v", test.query, test.text, found,
					analyzed(test.text), QueryTerms(Standard(), test.query))
			}
		})
	}
}

// sharesTerm says whether a query has a term of a text.
func sharesTerm(query, text string) bool {
	terms := analyzed(text)
	return slices.ContainsFunc(QueryTerms(Standard(), query), func(t QueryTerm) bool { return slices.Contains(terms, t.Text) })
}

// broken is an Analyzer that keeps no promise.
type broken struct{ Analyzer }

func (broken) Name() string { return "broken" }

func (broken) Analyze(text string, emit func(string, int)) {
	emit("", 7)
	emit(text, 5)
	emit(strings.Repeat("\x80", 300), 3)
	emit(strings.Repeat("long", 100), -1)
}

// A host's Analyzer that breaks its promises costs hits, not the index.
func TestChecked(t *testing.T) {
	a := Checked(broken{Standard()})
	if Checked(a) != a || Checked(Standard()) == nil {
		t.Error("checked twice")
	}
	last := 0
	a.Analyze("text", func(term string, position int) {
		if term == "" || len(term) > MaxTermBytes || position < last {
			t.Errorf("term of %d bytes at %d after %d", len(term), position, last)
		}
		last = position
	})
	ix := New(broken{Standard()})
	ix.Put(1, Doc{ID: makeID(1, 1), Session: "s", Content: "one", Tags: []string{"two"}, Summary: "three"})
	if v := ix.View([]string{"one"}, Filter{}); v.Frequency(0) != 1 {
		t.Error("the one good term is not found")
	}
	if err := ix.Compare(ix); err != nil {
		t.Error(err)
	}
}
