package storetest

import (
	"strings"
	"unicode/utf8"

	"example.com/convmem"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

func budgetChecks() []check {
	return []check{
		{"budget/max characters", checkMaxCharacters},
		{"budget/max characters over pages", checkMaxCharactersPages},
		{"budget/max content characters", checkMaxContent},
		{"budget/max content characters everywhere", checkMaxContentEverywhere},
		{"budget/nothing is cut unasked", checkNothingCut},
	}
}

// checkMaxCharacters counts code points, not bytes: the contents have 4, 2, 3
// and 1 of them.
func checkMaxCharacters(k *kit) {
	l := k.open()
	written := l.sayAll("s", "日本語だ", "éé", "👩‍👩", "z")
	for _, c := range []struct {
		order convmem.Order
		limit int
		max   int
		count int
	}{
		{"", 0, 1, 1}, {"", 0, 4, 1}, {"", 0, 5, 1}, {"", 0, 6, 2}, {"", 0, 8, 2}, {"", 0, 9, 3}, {"", 0, 10, 4}, {"", 0, 1000, 4}, {"", 0, 0, 4},
		{"", 1, 1000, 1}, {"", 2, 7, 2}, {"", 3, 6, 2},
		{"desc", 0, 1, 1}, {"desc", 0, 3, 1}, {"desc", 0, 4, 2}, {"desc", 0, 5, 2}, {"desc", 0, 6, 3}, {"desc", 0, 9, 3}, {"desc", 0, 10, 4},
	} {
		page := l.history(convmem.HistoryRequest{SessionID: "s", Order: c.order, Limit: c.limit, MaxCharacters: c.max})
		same(k, "a page within its budget", page.Messages, inOrder(written, c.order)[:c.count])
		if more := c.count < len(written); more != (page.NextCursor != "") {
			k.Errorf("order %q, max characters %d: next cursor %q", c.order, c.max, page.NextCursor)
		}
	}
}

// checkMaxCharactersPages pages through a session with budgets that single
// messages exceed: each still comes exactly once.
func checkMaxCharactersPages(k *kit) {
	l := k.open()
	written := l.sayAll("s", "12345", "123", "12", strings.Repeat("x", 100), "1", "12", "123")
	for max := 1; max < 12; max++ {
		for _, order := range []convmem.Order{convmem.OrderAscending, convmem.OrderDescending} {
			r := convmem.HistoryRequest{SessionID: "s", Order: order, MaxCharacters: max}
			same(k, "the whole run", l.all(r), inOrder(written, order))
		}
	}
}

// clusters takes a text apart into what a reader takes for characters.
func clusters(text string) []string {
	var all []string
	for it := graphemes.FromString(text); it.Next(); {
		all = append(all, it.Value())
	}
	return all
}

// wellCut fails unless kept is the longest beginning of a text that ends on a
// grapheme boundary within the limit. A limit in characters is read in two
// ways, grapheme clusters or code points; a store must hold to one of them.
func (k *kit) wellCut(kept, full string, limit int, inCodePoints bool) {
	k.Helper()
	expected, size := "", 0
	for _, cluster := range clusters(full) {
		if inCodePoints {
			size += utf8.RuneCountInString(cluster)
		} else {
			size++
		}
		if size > limit {
			break
		}
		expected += cluster
	}
	if kept != expected {
		k.Errorf("%q cut to %d characters is %q, want %q", full, limit, kept, expected)
	}
}

// checkMaxContent cuts texts of many-part characters to every length. The cut
// is on a grapheme boundary, is said, and leaves the stored content alone.
func checkMaxContent(k *kit) {
	l := k.open()
	family := "👩‍👩‍👧‍👦"
	probe := l.say("s", family+family)
	kept := l.cutTo(probe.ID, 1).Content
	inCodePoints := kept == ""
	for _, full := range []string{
		"abcdef", "日本語のテキスト", "x" + family + "y", family + family + family, "e\u0301e\u0301e\u0301", "🇯🇵🇫🇷🇩🇪", "line\r\nline\r\n", "한국어", "각각", "नमस्ते", "👍🏽👍🏿", "a\x00b", "1\ufe0f\u20e32\ufe0f\u20e3",
	} {
		message := l.say("s", full)
		for limit := 1; limit <= utf8.RuneCountInString(full)+1; limit++ {
			got := l.cutTo(message.ID, limit)
			k.wellCut(got.Content, full, limit, inCodePoints)
			same(k, "truncated", got.ContentTruncated, len(got.Content) < len(full))
			if got.ContentTruncated {
				same(k, "content bytes", got.ContentBytes, len(full))
			}
		}
		same(k, "the stored content", l.get(message.ID).Content, full)
	}
}

// cutTo reads a message with its content cut.
func (l *lab) cutTo(id string, limit int) convmem.Message {
	l.Helper()
	return l.context(convmem.ContextRequest{MessageID: id, MaxContentCharacters: limit}).Message
}

// checkMaxContentEverywhere looks at every place where a message comes out.
func checkMaxContentEverywhere(k *kit) {
	l := k.open()
	written := l.sayAll("s", "marker one", "marker two", "short")
	l.setMetadata(written[1].ID, convmem.MetadataPatch{Relations: relatedTo(written[0].ID)})
	cut := func(what string, got convmem.Message, full string) {
		same(k, what, got.Content, full[:7])
		same(k, what+": truncated", got.ContentTruncated, true)
		same(k, what+": content bytes", got.ContentBytes, len(full))
	}
	page := l.history(convmem.HistoryRequest{SessionID: "s", MaxContentCharacters: 7})
	cut("history", page.Messages[0], "marker one")
	cut("history", page.Messages[1], "marker two")
	same(k, "short content", page.Messages[2], written[2])
	around := l.context(convmem.ContextRequest{MessageID: written[1].ID, MaxContentCharacters: 7})
	cut("context", around.Message, "marker two")
	cut("a neighbour before", around.Before[0], "marker one")
	same(k, "a neighbour after", around.After[0], written[2])
	cut("a related message", *around.Relations[0].Message, "marker one")
	hits := l.search(convmem.SearchRequest{Query: "two", ContextSize: 1, MaxContentCharacters: 7})
	if len(hits) != 1 {
		k.Fatalf("%d hits for a word of one message", len(hits))
	}
	cut("a hit", hits[0].Message, "marker two")
	cut("a preview before", hits[0].Before[0], "marker one")
	same(k, "a preview after", hits[0].After[0], written[2])
	info := l.sessions(convmem.SessionsRequest{MaxContentCharacters: 3}).Sessions[0]
	same(k, "the representative summary", info.RepresentativeSummary, "sho")
}

// checkNothingCut reads the largest content without a limit and with one that
// it does not reach.
func checkNothingCut(k *kit) {
	l := k.open()
	full := text(convmem.MaxContentBytes)
	id := l.say("s", full).ID
	for what, got := range map[string]convmem.Message{
		"history":       l.history(convmem.HistoryRequest{SessionID: "s"}).Messages[0],
		"context":       l.get(id),
		"at the limit":  l.cutTo(id, convmem.MaxContentBytes),
		"never reached": l.cutTo(id, convmem.MaxContentBytes-1),
	} {
		if got.Content != full || got.ContentTruncated {
			k.Errorf("%s: %d bytes of %d, truncated %t", what, len(got.Content), len(full), got.ContentTruncated)
		}
	}
}
