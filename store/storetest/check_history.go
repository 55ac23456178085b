package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/convmem"
)

func historyChecks() []check {
	return []check{
		{"history/pages", checkHistoryPages},
		{"history/default limit", checkHistoryDefaults},
		{"history/unknown session", checkUnknownSession},
		{"history/sessions apart", checkSessionsApart},
		{"history/paging while things happen", checkPagingMeanwhile},
		{"history/size of a page", checkHistoryBytes},
	}
}

// numbered makes n different contents.
func numbered(n int) []string {
	return distinct(n, func(i int) string { return fmt.Sprint("message ", i) })
}

// inOrder reverses messages for a descending run.
func inOrder(messages []convmem.Message, order convmem.Order) []convmem.Message {
	messages = slices.Clone(messages)
	if order == convmem.OrderDescending {
		slices.Reverse(messages)
	}
	return messages
}

// checkHistoryPages cuts histories into pages of every size. The last page has
// no cursor, also when it is full.
func checkHistoryPages(k *kit) {
	l := k.open()
	written := l.sayAll("s", numbered(7)...)
	l.sayAll("another", numbered(3)...)
	for _, order := range []convmem.Order{"", convmem.OrderAscending, convmem.OrderDescending} {
		expected := inOrder(written, order)
		for limit := 1; limit <= 8; limit++ {
			r := convmem.HistoryRequest{SessionID: "s", Order: order, Limit: limit}
			for from := 0; from < len(expected); from += limit {
				page := l.history(r)
				to := min(from+limit, len(expected))
				same(k, fmt.Sprintf("order %q, limit %d, from %d", order, limit, from), page.Messages, expected[from:to])
				if last := to == len(expected); last != (page.NextCursor == "") {
					k.Fatalf("order %q, limit %d, from %d: next cursor %q", order, limit, from, page.NextCursor)
				}
				r.Cursor = page.NextCursor
			}
		}
	}
}

// checkHistoryDefaults leaves out limit and order, and changes the limit
// within a run.
func checkHistoryDefaults(k *kit) {
	l := k.open()
	written := l.sayAll("s", numbered(103)...)
	page := l.history(convmem.HistoryRequest{SessionID: "s"})
	same(k, "the first page", page.Messages, written[:100])
	next := l.history(convmem.HistoryRequest{SessionID: "s", Limit: 1, Cursor: page.NextCursor})
	same(k, "a page of one", next.Messages, written[100:101])
	next = l.history(convmem.HistoryRequest{SessionID: "s", Order: convmem.OrderAscending, Limit: 1000, Cursor: next.NextCursor})
	same(k, "a large page", next, convmem.HistoryResult{Messages: written[101:]})
	same(k, "a large first page", l.history(convmem.HistoryRequest{SessionID: "s", Limit: 1000}), convmem.HistoryResult{Messages: written})
}

// checkUnknownSession wants an empty history, not an error.
func checkUnknownSession(k *kit) {
	l := k.open()
	for _, order := range []convmem.Order{convmem.OrderAscending, convmem.OrderDescending} {
		r := convmem.HistoryRequest{SessionID: "s", Order: order}
		same(k, "in an empty store", l.history(r), convmem.HistoryResult{})
	}
	message := l.say("t", "x")
	same(k, "beside another session", l.history(convmem.HistoryRequest{SessionID: "s"}), convmem.HistoryResult{})
	l.remove(message.ID)
	same(k, "whose messages are deleted", l.history(convmem.HistoryRequest{SessionID: "t"}), convmem.HistoryResult{})
}

// checkSessionsApart uses session ids that look alike.
func checkSessionsApart(k *kit) {
	l := k.open()
	expected := map[string][]convmem.Message{}
	for range 2 {
		for _, session := range []string{"a", "A", "a ", "a/b", "a\x00", "a\x00b", "é", "e\u0301", "аккаунт"} {
			expected[session] = append(expected[session], l.say(session, "in "+session))
		}
	}
	for session, messages := range expected {
		same(k, fmt.Sprintf("session %q", session), l.all(convmem.HistoryRequest{SessionID: session, Limit: 1}), messages)
	}
	same(k, "number of sessions", len(l.sessions(convmem.SessionsRequest{}).Sessions), len(expected))
}

// event is something that happens between two pages of a run. It gets the
// messages of the session in the order of the run, the first two of which have
// been shown.
type event struct {
	name string
	do   func(l *lab, run []convmem.Message)
}

// events lists what can happen between two pages.
func events() []event {
	return []event{
		{"nothing", func(*lab, []convmem.Message) {}},
		{"a write", func(l *lab, _ []convmem.Message) { l.say("s", "meanwhile") }},
		{"writes while the clock is back", func(l *lab, _ []convmem.Message) {
			l.clock.step(-time.Hour)
			l.sayAll("s", "meanwhile 1", "meanwhile 2")
		}},
		{"a write elsewhere", func(l *lab, _ []convmem.Message) { l.say("t", "meanwhile") }},
		{"the last shown message is deleted", func(l *lab, run []convmem.Message) { l.remove(run[1].ID) }},
		{"every shown message is deleted", func(l *lab, run []convmem.Message) { l.remove(run[0].ID); l.remove(run[1].ID) }},
		{"the next message is deleted", func(l *lab, run []convmem.Message) { l.remove(run[2].ID) }},
		{"both are deleted", func(l *lab, run []convmem.Message) { l.remove(run[1].ID); l.remove(run[2].ID) }},
		{"everything to come is deleted", func(l *lab, run []convmem.Message) {
			for _, message := range run[2:] {
				l.remove(message.ID)
			}
		}},
		{"updates", func(l *lab, run []convmem.Message) {
			for _, message := range run {
				l.setContent(message.ID, message.Content+", changed")
			}
		}},
		{"a rebuild", func(l *lab, _ []convmem.Message) { l.rebuild() }},
		{"a restart", func(l *lab, _ []convmem.Message) { l.reopen() }},
		{"all of it", func(l *lab, run []convmem.Message) {
			l.remove(run[1].ID)
			l.say("s", "meanwhile")
			l.setContent(run[3].ID, "changed")
			l.rebuild()
			l.reopen()
			l.remove(run[2].ID)
			l.say("s", "meanwhile again")
		}},
	}
}

// checkPagingMeanwhile lets every event happen after the first page. What is
// left of the run is what lives and comes after the page, but not, descending,
// what was written since.
func checkPagingMeanwhile(k *kit) {
	for _, order := range []convmem.Order{convmem.OrderAscending, convmem.OrderDescending} {
		for _, event := range events() {
			k.run(string(order)+", "+event.name, func(k *kit) {
				l := k.open()
				run := inOrder(l.sayAll("s", numbered(6)...), order)
				r := convmem.HistoryRequest{SessionID: "s", Order: order, Limit: 2}
				page := l.history(r)
				same(k, "the first page", page.Messages, run[:2])
				event.do(l, run)
				r.Cursor = page.NextCursor
				rest := l.all(r)
				r.Cursor, r.Limit = "", 100
				expected := slices.DeleteFunc(l.all(r), func(m convmem.Message) bool {
					if order == convmem.OrderDescending {
						return m.ID >= run[1].ID
					}
					return m.ID <= run[1].ID
				})
				same(k, "the rest of the run", rest, expected)
			})
		}
	}
}

// checkHistoryBytes asks for more than a response may hold. A page stops at
// about 8 MiB and paging goes on from there.
func checkHistoryBytes(k *kit) {
	l := k.open()
	written := l.large(10)
	r := convmem.HistoryRequest{SessionID: "s"}
	page := l.history(r)
	if n := len(page.Messages); n < 5 || n > 8 || page.NextCursor == "" {
		k.Fatalf("a page over 10 messages of 1 MiB has %d and next cursor %q, want 5 to 8 and a cursor", n, page.NextCursor)
	}
	same(k, "the whole run", ids(l.all(r)), ids(written))
}

// large says n messages of 1 MiB each: the word marker and one very long word,
// which costs an index little.
func (l *lab) large(n int) []convmem.Message {
	l.Helper()
	const marker = "marker "
	content := marker + strings.Repeat("x", convmem.MaxContentBytes-len(marker))
	return distinct(n, func(int) convmem.Message { return l.say("s", content) })
}
