package storetest

import (
	"fmt"
	"slices"
	"strings"

	"example.com/convmem"
)

func searchTextChecks() []check {
	return []check{
		{"search/languages", checkLanguages},
		{"search/case and width", checkFolds},
		{"search/there is no syntax", checkNoSyntax},
		{"search/no searchable character", checkUnsearchable},
		{"search/nothing matches", checkNoMatch},
		{"search/long words and texts", checkLongTexts},
		{"search/changes are seen at once", checkSearchSeesChanges},
	}
}

// finds fails unless a query finds the message with the content, whatever else
// it finds.
func (k *kit) finds(content, query string) {
	k.Helper()
	l := k.open()
	l.say("other", "unrelated")
	wanted := l.say("s", content)
	l.say("other", "nothing to see")
	if got := l.found(convmem.SearchRequest{Query: query}); !slices.Contains(got, wanted.ID) {
		k.Errorf("query %.60q does not find %.60q", query, content)
	}
}

// checkLanguages looks for words inside sentences of scripts with and without
// spaces.
func checkLanguages(k *kit) {
	for _, c := range []struct{ name, content, query string }{
		{"English", "We chose PostgreSQL for the billing service.", "billing"},
		{"English, two words", "We chose PostgreSQL for the billing service.", "postgresql billing"},
		{"English, end of sentence", "The answer is quartz.", "quartz"},
		{"German", "Der Zug fährt über die Brücke", "Brücke"},
		{"French", "L'été dernier à Besançon", "besançon"},
		{"Russian", "Завтра мы едем в Москву", "москву"},
		{"Greek", "Καλημέρα κόσμε", "κόσμε"},
		{"Japanese, two Han characters", "昨日は東京へ行きました", "東京"},
		{"Japanese, one Han character", "うちの猫は元気です", "猫"},
		{"Japanese, katakana", "来年はパリに住みたい", "パリ"},
		{"Japanese, a long word", "データベースにはポスグレを使う", "データベース"},
		{"Japanese, hiragana", "わたしはりんごがすきです", "りんご"},
		{"Japanese, mixed", "会議は明日の午後三時からです", "明日の会議"},
		{"Japanese, beside Latin letters", "PostgreSQLを採用した", "採用"},
		{"Latin letters in Japanese", "設計はPostgreSQLを使う", "postgresql"},
		{"Chinese, two characters", "我们决定使用数据库存储信息", "数据"},
		{"Chinese, three characters", "我们决定使用数据库存储信息", "数据库"},
		{"Chinese, one character", "我们家有一只狗", "狗"},
		{"Chinese, traditional", "我們決定使用資料庫", "資料庫"},
		{"Korean, a word", "내일 서울에서 만나요", "내일"},
		{"Korean, before a particle", "내일 서울에서 만나요", "서울"},
		{"Korean, inside a word", "우리는 데이터베이스를 선택했다", "베이스"},
		{"digits", "The build number is 48151623", "48151623"},
		{"a word of one letter", "variable x is unset", "x"},
	} {
		k.run(c.name, func(k *kit) { k.finds(c.content, c.query) })
	}
}

// checkFolds looks for words in other letters of the same word.
func checkFolds(k *kit) {
	for _, c := range []struct{ name, content, query string }{
		{"lower from upper", "POSTGRESQL", "postgresql"},
		{"upper from lower", "postgresql", "POSTGRESQL"},
		{"German capitals", "Grüße aus MÜNCHEN", "münchen"},
		{"Cyrillic capitals", "МОСКВА", "москва"},
		{"narrow from wide letters", "ＰｏｓｔｇｒｅＳＱＬ", "postgresql"},
		{"wide from narrow letters", "postgresql", "ＰＯＳＴＧＲＥＳＱＬ"},
		{"wide digits", "番号は４８１５です", "4815"},
		{"half-width katakana", "ﾊﾟﾘに行く", "パリ"},
		{"half-width katakana in the query", "パリに行く", "ﾊﾟﾘ"},
		{"composed from decomposed", "cafe\u0301", "café"},
		{"decomposed from composed", "café", "cafe\u0301"},
	} {
		k.run(c.name, func(k *kit) { k.finds(c.content, c.query) })
	}
}

// checkNoSyntax asks with what other engines take for operators. None may fail,
// and the word in them is still looked for.
func checkNoSyntax(k *kit) {
	l := k.open()
	wanted := l.say("s", "a piece of quartz")
	for _, query := range []string{
		`"quartz"`, `"quartz`, `quartz"`, `'quartz'`, "quartz*", "*quartz", "-quartz", "+quartz", "!quartz", "(quartz", "quartz)", "((quartz))",
		"content:quartz", "quartz:", ":quartz", "quartz^2", "quartz~", "[quartz", "{quartz}", "/quartz/", `\quartz`, `quartz\`, "quartz?", "quartz AND",
		"AND quartz", "OR quartz", "NOT quartz", "quartz NOT quartz", "quartz NEAR/2 quartz", "NEAR(quartz, 5)", "quartz; DROP TABLE messages", "<quartz>", "quartz & quartz", "quartz | quartz",
		"%quartz%", "quartz_", "$quartz", "@quartz", "#quartz", "quartz\x00", "\nquartz\t", "🎉 quartz", "quartz🎉", "‘quartz’", "「quartz」", "quartz、", "\ufeffquartz",
	} {
		if got := l.found(convmem.SearchRequest{Query: query}); !slices.Contains(got, wanted.ID) {
			k.Errorf("query %q does not find the word in it", query)
		}
	}
	k.finds("The parser is written in C++ and C#.", "C++")
	for _, query := range []string{"C++", "AND", "NOT", "*", `"`, `""`, "(", ")", ":", "-", "--", "^", "~", "🎉", "👩‍👩‍👧‍👦", "NEAR(", "a AND (b OR", "\\"} {
		l.search(convmem.SearchRequest{Query: query})
	}
}

// checkUnsearchable asks with nothing but separators, which finds nothing and
// is no error.
func checkUnsearchable(k *kit) {
	l := k.open()
	l.say("s", "a piece of quartz … ! ? * \" ( ) -")
	for _, query := range []string{" ", "\n\t ", "...", "!?", "\"", "*", "()", "-", "…", "、。", "\x00", "\u200b", "--- *** ---"} {
		same(k, fmt.Sprintf("query %q", query), l.search(convmem.SearchRequest{Query: query}), []convmem.Hit(nil))
	}
}

// checkNoMatch asks for what no message says.
func checkNoMatch(k *kit) {
	l := k.open()
	same(k, "an empty store", l.search(convmem.SearchRequest{Query: "quartz"}), []convmem.Hit(nil))
	l.say("s", "a piece of quartz")
	l.say("s", "昨日は東京へ行きました")
	for _, query := range []string{"granite", "大阪", "한국", "zzz"} {
		same(k, query, l.search(convmem.SearchRequest{Query: query}), []convmem.Hit(nil))
	}
}

// checkLongTexts looks for a word that long texts and long words surround,
// and with a long query.
func checkLongTexts(k *kit) {
	middle := strings.Repeat("filler ", 20_000)
	k.finds(middle+"quartz "+middle, "quartz")
	k.finds("quartz"+strings.Repeat("。", 1000), "quartz")
	k.finds(strings.Repeat("東京", 20_000)+"京都", "京都")
	k.finds("quartz", "quartz "+strings.Repeat("and more ", 400))
	k.finds(strings.Repeat("x", 100_000)+" quartz", "quartz")
}

// checkSearchSeesChanges changes each part of a message and deletes it.
func checkSearchSeesChanges(k *kit) {
	l := k.open()
	message := l.note("s", "granite", convmem.MetadataPatch{Summary: new("marble"), Tags: []string{"basalt"}})
	see := func(query string, found bool) {
		k.Helper()
		if got := l.found(convmem.SearchRequest{Query: query}); slices.Contains(got, message.ID) != found {
			k.Errorf("query %q: found %v", query, got)
		}
	}
	see("granite", true)
	see("marble", true)
	see("basalt", true)
	l.setContent(message.ID, "quartz")
	see("granite", false)
	see("quartz", true)
	l.setMetadata(message.ID, convmem.MetadataPatch{Summary: new("topaz"), Tags: []string{"amber"}})
	see("marble", false)
	see("basalt", false)
	see("topaz", true)
	see("amber", true)
	see("quartz", true)
	l.setMetadata(message.ID, convmem.MetadataPatch{Summary: new(""), Tags: []string{}})
	see("topaz", false)
	see("amber", false)
	l.remove(message.ID)
	see("quartz", false)
	again := l.say("s", "quartz")
	same(k, "written again", l.found(convmem.SearchRequest{Query: "quartz"}), []string{again.ID})
	l.rebuild()
	same(k, "after a rebuild", l.found(convmem.SearchRequest{Query: "quartz"}), []string{again.ID})
	l.reopen()
	same(k, "after a restart", l.found(convmem.SearchRequest{Query: "quartz"}), []string{again.ID})
}
