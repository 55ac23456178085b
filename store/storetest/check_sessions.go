package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/convmem"
)

func sessionsChecks() []check {
	return []check{
		{"sessions/order", checkSessionsOrder},
		{"sessions/pages", checkSessionsPages},
		{"sessions/values", checkSessionValues},
		{"sessions/representative summary", checkRepresentative},
		{"sessions/deleted messages", checkSessionsDeletes},
		{"sessions/paging while things happen", checkSessionsMeanwhile},
		{"sessions/paging while everything is written to", checkSessionsShuffled},
	}
}

// names lists the session ids of a run over sessions from a cursor on.
func (l *lab) names(r convmem.SessionsRequest) []string {
	l.Helper()
	var all []string
	for range 1000 {
		page := l.sessions(r)
		for _, info := range page.Sessions {
			all = append(all, info.SessionID)
		}
		if page.NextCursor == "" {
			return all
		}
		r.Cursor = page.NextCursor
	}
	l.Fatal("read sessions: the pages never end")
	return nil
}

// sayIn says one message in each session without moving the clock.
func (l *lab) sayIn(sessions ...string) {
	l.Helper()
	for _, session := range sessions {
		l.write(convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: "in " + session})
	}
}

// checkSessionsOrder moves sessions by writing to them: newest activity
// first, then the smaller id.
func checkSessionsOrder(k *kit) {
	l := k.open()
	same(k, "an empty store", l.sessions(convmem.SessionsRequest{}), convmem.SessionsResult{})
	l.sayIn("b", "a", "日", "B", "c")
	same(k, "one moment", l.names(convmem.SessionsRequest{}), []string{"B", "a", "b", "c", "日"})
	l.clock.step(time.Millisecond)
	l.sayIn("c", "b")
	same(k, "two moments", l.names(convmem.SessionsRequest{}), []string{"b", "c", "B", "a", "日"})
	l.clock.step(time.Millisecond)
	l.sayIn("日")
	same(k, "three moments", l.names(convmem.SessionsRequest{}), []string{"日", "b", "c", "B", "a"})
}

// checkSessionsPages cuts the list into pages of every size, through moments
// that several sessions share.
func checkSessionsPages(k *kit) {
	l := k.open()
	l.sayIn("e", "d", "c")
	l.clock.step(time.Millisecond)
	l.sayIn("b", "a", "d")
	all := []string{"a", "b", "d", "c", "e"}
	for limit := 1; limit <= 6; limit++ {
		r := convmem.SessionsRequest{Limit: limit}
		for from := 0; from < len(all); from += limit {
			page := l.sessions(r)
			var got []string
			for _, info := range page.Sessions {
				got = append(got, info.SessionID)
			}
			to := min(from+limit, len(all))
			same(k, fmt.Sprintf("limit %d, from %d", limit, from), got, all[from:to])
			if last := to == len(all); last != (page.NextCursor == "") {
				k.Fatalf("limit %d, from %d: next cursor %q", limit, from, page.NextCursor)
			}
			r.Cursor = page.NextCursor
		}
	}
	l = k.open()
	l.sayIn(distinct(101, func(i int) string { return fmt.Sprintf("%03d", i) })...)
	page := l.sessions(convmem.SessionsRequest{})
	same(k, "sessions on a page by default", len(page.Sessions), 100)
	same(k, "sessions on the next", l.names(convmem.SessionsRequest{Cursor: page.NextCursor}), []string{"100"})
}

func kindCounts(changes map[convmem.MemoryKind]int) map[convmem.MemoryKind]int {
	counts := map[convmem.MemoryKind]int{}
	for _, kind := range kinds() {
		counts[kind] = changes[kind]
	}
	return counts
}

// checkSessionValues wants all six kinds counted and times of writing, not of
// updates or of what was said.
func checkSessionValues(k *kit) {
	l := k.open()
	first := l.say("s", "first")
	l.note("s", "second", convmem.MetadataPatch{Kind: convmem.KindEpisode})
	l.note("s", "third", convmem.MetadataPatch{Kind: convmem.KindEpisode, OccurredAt: time.UnixMilli(5)})
	last := l.note("s", "last", convmem.MetadataPatch{Kind: convmem.KindSummary})
	l.clock.step(time.Hour)
	l.setMetadata(first.ID, convmem.MetadataPatch{Kind: convmem.KindPreference})
	same(k, "one session", l.sessions(convmem.SessionsRequest{}), convmem.SessionsResult{Sessions: []convmem.SessionInfo{{
		SessionID: "s", MessageCount: 4, RepresentativeSummary: "last", StartedAt: first.Timestamp, LastMessageAt: last.Timestamp,
		KindCounts: kindCounts(map[convmem.MemoryKind]int{convmem.KindPreference: 1, convmem.KindEpisode: 2, convmem.KindSummary: 1}),
	}}})
}

// checkRepresentative changes, clears and deletes summaries: the newest
// message with one counts, else the newest content.
func checkRepresentative(k *kit) {
	l := k.open()
	see := func(what, expected string) {
		k.Helper()
		same(k, what, l.sessions(convmem.SessionsRequest{}).Sessions[0].RepresentativeSummary, expected)
	}
	l.say("s", "one")
	two := l.say("s", "two")
	see("the newest content", "two")
	one := l.note("s", "three", convmem.MetadataPatch{Summary: new("summary of three")})
	see("a summary", "summary of three")
	l.say("s", "four")
	see("a summary before newer content", "summary of three")
	l.setMetadata(two.ID, convmem.MetadataPatch{Summary: new("summary of two")})
	see("the newest of two summaries, not the one set last", "summary of three")
	five := l.note("s", "five", convmem.MetadataPatch{Summary: new("summary of five")})
	see("the newest summary", "summary of five")
	l.remove(five.ID)
	see("after its message is deleted", "summary of three")
	l.setMetadata(one.ID, convmem.MetadataPatch{Summary: new("")})
	see("after it is cleared", "summary of two")
	l.setMetadata(two.ID, convmem.MetadataPatch{Summary: new("")})
	see("without any summary", "four")
	for _, c := range []struct{ name, full, kept string }{
		{"512 bytes", text(512), text(512)},
		{"513 bytes", strings.Repeat("x", 513), strings.Repeat("x", 512)},
		{"a character across the limit", strings.Repeat("日", 171), strings.Repeat("日", 170)},
		{"two bytes across the limit", "x" + strings.Repeat("é", 256), "x" + strings.Repeat("é", 255)},
		{"four bytes across the limit", "xx" + strings.Repeat("𝄞", 200), "xx" + strings.Repeat("𝄞", 127)},
	} {
		l.note("s", "content", convmem.MetadataPatch{Summary: &c.full})
		see("a summary of "+c.name, c.kept)
		l = k.open()
		l.say("s", c.full)
		see("content of "+c.name, c.kept)
	}
}

// checkSessionsDeletes deletes a session message by message and begins it
// again.
func checkSessionsDeletes(k *kit) {
	l := k.open()
	first := l.say("a", "first")
	l.say("b", "between")
	second := l.note("a", "second", convmem.MetadataPatch{Kind: convmem.KindSemantic})
	same(k, "before", l.names(convmem.SessionsRequest{}), []string{"a", "b"})
	l.remove(second.ID)
	same(k, "the newest message is deleted", l.names(convmem.SessionsRequest{}), []string{"b", "a"})
	info := l.sessions(convmem.SessionsRequest{}).Sessions[1]
	same(k, "its session", info, convmem.SessionInfo{
		SessionID: "a", MessageCount: 1, KindCounts: kindCounts(map[convmem.MemoryKind]int{convmem.KindConversation: 1}),
		RepresentativeSummary: "first", StartedAt: first.Timestamp, LastMessageAt: first.Timestamp,
	})
	l.remove(first.ID)
	same(k, "the last message is deleted", l.names(convmem.SessionsRequest{}), []string{"b"})
	l.reopen()
	same(k, "after a restart", l.names(convmem.SessionsRequest{}), []string{"b"})
	l.say("a", "again")
	same(k, "the session begins again", l.names(convmem.SessionsRequest{}), []string{"a", "b"})
	l.rebuild()
	same(k, "after a rebuild", l.names(convmem.SessionsRequest{}), []string{"a", "b"})
}

// checkSessionsMeanwhile shows the sessions f and e, the first two of six that
// have two messages each, and lets something happen before the rest.
func checkSessionsMeanwhile(k *kit) {
	for _, c := range []struct {
		name string
		do   func(l *lab, newest map[string]convmem.Message)
		want []string
	}{
		{"nothing", func(*lab, map[string]convmem.Message) {}, []string{"d", "c", "b", "a"}},
		{"a session to come is written to", func(l *lab, _ map[string]convmem.Message) { l.say("b", "x") }, []string{"d", "c", "b", "a"}},
		{"a shown session is written to", func(l *lab, _ map[string]convmem.Message) { l.say("f", "x"); l.say("e", "x") }, []string{"d", "c", "b", "a"}},
		{"sessions begin", func(l *lab, _ map[string]convmem.Message) { l.say("0", "x"); l.say("g", "x") }, []string{"d", "c", "b", "a"}},
		{"sessions begin while the clock is back", func(l *lab, _ map[string]convmem.Message) {
			l.clock.step(-time.Hour)
			l.sayIn("0", "g", "b")
		}, []string{"d", "c", "b", "a"}},
		{"a shown session loses its newest message", func(l *lab, newest map[string]convmem.Message) { l.remove(newest["f"].ID) }, []string{"d", "c", "b", "a"}},
		{"the last shown session loses its newest message", func(l *lab, newest map[string]convmem.Message) { l.remove(newest["e"].ID) }, []string{"d", "c", "b", "a"}},
		{"a session to come loses its newest message", func(l *lab, newest map[string]convmem.Message) { l.remove(newest["d"].ID); l.remove(newest["b"].ID) }, []string{"d", "c", "b", "a"}},
		{"a session is rewritten", func(l *lab, newest map[string]convmem.Message) { l.say("d", "x"); l.remove(newest["d"].ID) }, []string{"d", "c", "b", "a"}},
		{"a session to come disappears", func(l *lab, newest map[string]convmem.Message) { l.empty("c") }, []string{"d", "b", "a"}},
		{"the last shown session disappears", func(l *lab, newest map[string]convmem.Message) { l.empty("e") }, []string{"d", "c", "b", "a"}},
		{"updates", func(l *lab, newest map[string]convmem.Message) {
			l.setContent(newest["a"].ID, "x")
			l.setContent(newest["f"].ID, "x")
		}, []string{"d", "c", "b", "a"}},
		{"a rebuild after a delete", func(l *lab, newest map[string]convmem.Message) {
			l.remove(newest["f"].ID)
			l.remove(newest["d"].ID)
			l.rebuild()
		}, []string{"d", "c", "b", "a"}},
		{"a restart after a delete", func(l *lab, newest map[string]convmem.Message) {
			l.remove(newest["f"].ID)
			l.remove(newest["d"].ID)
			l.reopen()
		}, []string{"d", "c", "b", "a"}},
		{"a rebuild and a restart after deletes", func(l *lab, newest map[string]convmem.Message) {
			l.remove(newest["f"].ID)
			l.remove(newest["d"].ID)
			l.rebuild()
			l.remove(newest["b"].ID)
			l.reopen()
			l.say("g", "x")
		}, []string{"d", "c", "b", "a"}},
		{"a rebuild and a restart after writes", func(l *lab, _ map[string]convmem.Message) {
			l.say("b", "x")
			l.say("g", "x")
			l.rebuild()
			l.reopen()
			l.say("a", "x")
		}, []string{"d", "c", "b", "a"}},
	} {
		k.run(c.name, func(k *kit) {
			l := k.open()
			newest := map[string]convmem.Message{}
			for range 2 {
				for _, session := range []string{"a", "b", "c", "d", "e", "f"} {
					newest[session] = l.say(session, "x")
				}
			}
			page := l.sessions(convmem.SessionsRequest{Limit: 2})
			same(k, "the first page", []string{page.Sessions[0].SessionID, page.Sessions[1].SessionID}, []string{"f", "e"})
			c.do(l, newest)
			same(k, "the rest, at once", l.names(convmem.SessionsRequest{Cursor: page.NextCursor}), c.want)
			same(k, "the rest, one by one", l.names(convmem.SessionsRequest{Cursor: page.NextCursor, Limit: 1}), c.want)
		})
	}
}

// empty deletes every message of a session.
func (l *lab) empty(session string) {
	l.Helper()
	for _, message := range l.all(convmem.HistoryRequest{SessionID: session}) {
		l.remove(message.ID)
	}
}

// checkSessionsShuffled writes to every session, and to a new one, after every
// page; the values shown are those of the moment.
func checkSessionsShuffled(k *kit) {
	l := k.open()
	l.sayIn("a", "b", "c", "d", "e")
	var seen []string
	r := convmem.SessionsRequest{Limit: 1}
	for round := 1; round <= 5; round++ {
		page := l.sessions(r)
		if len(page.Sessions) != 1 {
			k.Fatalf("page %d has %d sessions", round, len(page.Sessions))
		}
		info := page.Sessions[0]
		seen = append(seen, info.SessionID)
		same(k, "message count of the moment", info.MessageCount, round)
		same(k, "last message of the moment", info.LastMessageAt, l.clock.Now())
		l.clock.step(time.Millisecond)
		l.sayIn("e", "a", "d", "b", "c", fmt.Sprint("new ", round))
		r.Cursor = page.NextCursor
	}
	same(k, "next cursor of the last page", r.Cursor, "")
	slices.Sort(seen)
	same(k, "sessions seen", seen, []string{"a", "b", "c", "d", "e"})
}
