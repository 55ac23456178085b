package convmem_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// FuzzSearch puts any two texts into a store and looks for any third: nothing may
// fail. While the first text is alone, each run of it that can be looked for must
// find it.
func FuzzSearch(f *testing.F) {
	for _, seed := range [][3]string{
		{"The fox ran.", "A second message", "fox"},
		{"E_CONN_RESET at foo.go:42 readMessages v1.2.3", "C++ C# .NET", "conn reset"},
		{"重跑gen-stock後, 東京タワーに行く", "ﾃﾞｰﾀﾍﾞｰｽ パリ バリ", "\"東京\" 京"},
		{"서울에서 만나요", "ภาษาไทย हिन्दी مَرْحَبًا שָׁלוֹם", "서울"},
		{"👩‍💻 👍🏽 zero\u200bwidth soft\u00adhyphen", "İstanbul Straße ΣΊΣΥΦΟΣ", "👍"},
		{"cafe\u0301 が e\u0301\u0327 \u0301alone", "a\u00a0b\u3000c\u2028d\u0085e", "\"unbalanced"},
		{"https://example.com/a/b?c=d#e mail@example.com it's don’t", "1,000 0x1F -32602 3.14", "* OR NOT ( : -"},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "3fd0c1be-58a2-4d17-9c6e-2b8e71a0f4d9", "01arz3ndektsv4rrffq69g5fav"},
		{strings.Repeat("a", 64) + " " + strings.Repeat("界", 64), strings.Repeat("x", 5000), strings.Repeat("q ", 2000)},
		{"\x00 \x01 ﷺ ㍻ ½ ² Ⅷ ʼn ﬁ ﾞ゛", "---___...", "\u0300"},
		{"the of and", "to be or not to be", "who is it"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, alone, second, query string) {
		if !storable(alone) || !storable(second) || !storable(query) || len(query) > convmem.MaxQueryBytes {
			t.Skip("not what a request may hold")
		}
		w := newWorld(t, convmem.Options{FS: vfs.NewMem(0)})
		defer w.db.Close()
		m := w.say("s", alone, convmem.MetadataPatch{})
		for _, run := range findableRuns(alone) {
			r := convmem.SearchRequest{Query: run}
			hits := w.search(r).Hits
			checkHits(t, r, hits)
			if len(hits) != 1 || hits[0].ID != m.ID {
				t.Errorf("%+q does not find %+q", run, alone)
			}
		}
		patch := convmem.MetadataPatch{}
		if len(query) <= convmem.MaxSummaryBytes {
			patch.Summary = &query
		}
		if len(query) <= convmem.MaxTagBytes {
			patch.Tags = []string{query}
		}
		w.say("s", second, patch)
		w.update(convmem.UpdateRequest{MessageID: m.ID, Content: new(second + alone)})
		for _, text := range []string{query, alone, second} {
			if len(text) <= convmem.MaxQueryBytes {
				r := convmem.SearchRequest{Query: text, ContextSize: 1}
				checkHits(t, r, w.search(r).Hits)
			}
		}
	})
}

func storable(text string) bool {
	return text != "" && len(text) < convmem.MaxContentBytes/2 && utf8.ValidString(text)
}

// findableRuns lists the runs of a text without white space that a query must
// find, the first few of them and each once.
func findableRuns(text string) (runs []string) {
	seen := map[string]bool{}
	for _, run := range strings.FieldsFunc(text, unicode.IsSpace) {
		findable := strings.ContainsFunc(run, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
		if findable && utf8.RuneCountInString(run) <= 64 && !seen[run] && len(runs) < 32 {
			seen[run] = true
			runs = append(runs, run)
		}
	}
	return runs
}
