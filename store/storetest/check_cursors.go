package storetest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"example.com/convmem"
)

func cursorChecks() []check {
	return []check{
		{"cursor/foreign", checkForeignCursors},
		{"cursor/damaged", checkDamagedCursors},
		{"cursor/made up", checkMadeUpCursors},
	}
}

// cursors opens a store with two long sessions and returns one cursor of every
// kind.
func (k *kit) cursors() (l *lab, ascending, descending, sessions string) {
	l = k.open()
	l.sayAll("s", numbered(3)...)
	l.sayAll("t", numbered(3)...)
	ascending = l.history(convmem.HistoryRequest{SessionID: "s", Limit: 1}).NextCursor
	descending = l.history(convmem.HistoryRequest{SessionID: "s", Limit: 1, Order: convmem.OrderDescending}).NextCursor
	sessions = l.sessions(convmem.SessionsRequest{Limit: 1}).NextCursor
	if ascending == "" || descending == "" || sessions == "" {
		k.Fatal("a first page has no next one")
	}
	return l, ascending, descending, sessions
}

func historyAt(session string, order convmem.Order, cursor string) convmem.ReadRequest {
	return convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: session, Order: order, Cursor: cursor}}
}

func sessionsAt(cursor string) convmem.ReadRequest {
	return convmem.ReadRequest{Sessions: &convmem.SessionsRequest{Cursor: cursor}}
}

// checkForeignCursors uses every cursor for something else: another session,
// another order, another view.
func checkForeignCursors(k *kit) {
	l, ascending, descending, sessions := k.cursors()
	for name, r := range map[string]convmem.ReadRequest{
		"another session":             historyAt("t", convmem.OrderAscending, ascending),
		"another session, descending": historyAt("t", convmem.OrderDescending, descending),
		"a session without messages":  historyAt("u", convmem.OrderAscending, ascending),
		"descending from ascending":   historyAt("s", convmem.OrderDescending, ascending),
		"ascending from descending":   historyAt("s", convmem.OrderAscending, descending),
		"default from descending":     historyAt("s", "", descending),
		"history from sessions":       historyAt("s", convmem.OrderAscending, sessions),
		"sessions from ascending":     sessionsAt(ascending),
		"sessions from descending":    sessionsAt(descending),
	} {
		_, err := l.store.Read(l.ctx(), r)
		k.fails(name, err, convmem.CodeValidation, "cursor")
	}
	for name, r := range map[string]convmem.ReadRequest{
		"ascending": historyAt("s", "", ascending), "descending": historyAt("s", convmem.OrderDescending, descending), "sessions": sessionsAt(sessions),
	} {
		_, err := l.store.Read(l.ctx(), r)
		k.ok("its own cursor, "+name, err)
	}
}

// damage lists texts that are nearly the cursor: each character changed, left
// out and doubled, and things put around it.
func damage(cursor string) []string {
	all := []string{" " + cursor, cursor + " ", cursor + "=", cursor + "\n", cursor + cursor, strings.ToLower(cursor), strings.ToUpper(cursor)}
	for i := range len(cursor) {
		before, after := cursor[:i], cursor[i+1:]
		for _, replacement := range []string{"", "A", "B", "w", "7", "-", cursor[i:i+1] + cursor[i:i+1], "\x00", "日"} {
			all = append(all, before+replacement+after)
		}
		all = append(all, before) // cut short; "" at last, which is no cursor at all
	}
	return all
}

// checkDamagedCursors tries everything that nearly is the cursor: no change
// may go unnoticed.
func checkDamagedCursors(k *kit) {
	l, ascending, descending, sessions := k.cursors()
	for name, request := range map[string]func(cursor string) convmem.ReadRequest{
		ascending:  func(c string) convmem.ReadRequest { return historyAt("s", convmem.OrderAscending, c) },
		descending: func(c string) convmem.ReadRequest { return historyAt("s", convmem.OrderDescending, c) },
		sessions:   sessionsAt,
	} {
		for _, damaged := range damage(name) {
			if damaged == name || damaged == "" {
				continue
			}
			_, err := l.store.Read(l.ctx(), request(damaged))
			k.fails(fmt.Sprintf("cursor %q in place of %q", damaged, name), err, convmem.CodeValidation, "cursor")
			if k.Failed() {
				return
			}
		}
	}
}

// checkMadeUpCursors tries what a client might guess a cursor to be.
func checkMadeUpCursors(k *kit) {
	l := k.open()
	id := l.say("s", "content").ID
	for _, cursor := range []string{
		"x", "0", "-1", "1", "null", "{}", id, strings.ToLower(id), badUTF8, strings.Repeat("A", 100_000),
		base64.StdEncoding.EncodeToString([]byte(id)), base64.RawURLEncoding.EncodeToString([]byte(id)), hex.EncodeToString([]byte(id)),
		base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
	} {
		for _, r := range []convmem.ReadRequest{historyAt("s", "", cursor), historyAt("s", convmem.OrderDescending, cursor), sessionsAt(cursor)} {
			_, err := l.store.Read(l.ctx(), r)
			k.fails(fmt.Sprintf("cursor %.40q", cursor), err, convmem.CodeValidation, "cursor")
		}
	}
}
