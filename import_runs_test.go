package convmem_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// plainLine is the line of a small message.
func plainLine(id, session, content string) string {
	return fmt.Sprintf(`{"message_id":%q,"session_id":%q,"role":"user","content":%q}`+"\n", id, session, content)
}

// idAt is an id of a moment in Unix milliseconds.
func idAt(ms int64, number byte) string {
	id := ulid.ULID{15: number}
	if err := id.SetTime(uint64(ms)); err != nil {
		panic(err)
	}
	return id.String()
}

// An id may be a minute ahead of the clock and not a millisecond more. What is
// written afterwards comes behind it, also when the clock steps back.
func TestImportAhead(t *testing.T) {
	c := newCarrier(t, 1)
	now := c.now.UnixMilli()
	result, err := c.db.Import(ctx, strings.NewReader(plainLine(idAt(now+60_001, 0), "s", "SECRET")+plainLine(idAt(now+60_000, 255), "s", "ahead")), nil)
	if e := refusal(t, err, convmem.CodeValidation); e.Field != "message_id" || result.Problems[0].Line != 1 || result.Written != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	c.say("s", "next")
	c.now = c.now.Add(-time.Hour)
	c.reopen()
	c.say("s", "after the clock stepped back")
	c.rebuild()
	c.say("s", "after a rebuild")
	want := []string{"ahead", "next", "after the clock stepped back", "after a rebuild"}
	if diff := cmp.Diff(want, contents(c.answers("").Messages["s"])); diff != "" {
		t.Error(diff)
	}
	// Elsewhere, by a clock an hour behind, those ids are too far ahead.
	_, err = newStepped(t, c.now).db.Import(ctx, strings.NewReader(c.export(nil)), nil)
	refusal(t, err, convmem.CodeValidation)
}

func newStepped(t fataler, now time.Time) *carrier {
	c := newCarrier(t, 9)
	c.now = now
	return c
}

// An import of what is there already writes not a byte, and one that was written
// by a second handle meanwhile is there.
func TestImportAgain(t *testing.T) {
	source := newCarrier(t, 1)
	source.fill(1200)
	source.write("other", goldenKeyed)
	text := source.export(nil)
	c := newCarrier(t, 2)
	c.take(text)
	for _, step := range []string{"at once", "by another handle", "after a rebuild", "opened again"} {
		beside := *c
		switch step {
		case "by another handle":
			beside.db = c.open()
		case "after a rebuild":
			c.rebuild()
		case "opened again":
			c.reopen()
			beside.db = c.db
		}
		before := beside.health()
		result := beside.take(text)
		if result.Present != 1201 || result.Written != 0 || result.Lines != 1202 {
			t.Errorf("%s: %+v", step, result)
		}
		after := beside.health()
		if before.LogSize != after.LogSize || before.LastSequence != after.LastSequence || before.IO.FlushCalls != after.IO.FlushCalls {
			t.Errorf("%s: the log was written: %+v, then %+v", step, before, after)
		}
		if beside.db != c.db {
			c.ok("close", beside.db.Close())
		}
	}
}

func (c *carrier) health() convmem.HealthResult {
	c.Helper()
	h, err := c.db.Health(ctx, convmem.HealthRequest{})
	c.ok("health", err)
	return h
}

// A deleted message comes back; the log that says so reads and verifies like any
// other.
func TestImportBringsBack(t *testing.T) {
	c := newCarrier(t, 1)
	old := c.write("", goldenKeyed).Message.ID
	c.say("s", "between")
	text := c.export(nil)
	_, err := c.db.Delete(ctx, convmem.DeleteRequest{MessageID: old})
	c.ok("delete", err)
	again := c.write("", goldenKeyed) // its key is free, and now taken
	if again.Replayed {
		t.Fatal("the key of a deleted message lives")
	}
	_, err = c.db.Import(ctx, strings.NewReader(text), nil)
	if e := refusal(t, err, convmem.CodeConflict); e.Field != "idempotency_key" || !strings.Contains(e.Message, again.Message.ID) {
		t.Error(e)
	}
	_, err = c.db.Delete(ctx, convmem.DeleteRequest{MessageID: again.Message.ID})
	c.ok("delete", err)
	if result := c.take(text); result.Written != 1 || result.Present != 1 {
		t.Errorf("%+v", result)
	}
	for range 2 {
		equalText(t, "brought back", text, c.export(nil))
		if v, err := c.db.Verify(ctx, nil); err != nil || v.Snapshot == convmem.SnapshotBad {
			t.Errorf("verify: %+v, %v", v, err)
		}
		c.reopen()
	}
	if again := c.write("", goldenKeyed); again.Message.ID != old || !again.Replayed {
		t.Errorf("%+v", again)
	}
}

// Messages of one session, some written and some imported between them, are in
// the order of their ids, asked for in either order and from every place.
func TestImportTakesItsPlace(t *testing.T) {
	c := newCarrier(t, 1)
	var want []string
	lines := ""
	for i := range int64(9) {
		name := fmt.Sprint("m", i)
		want = append(want, name)
		if i%3 != 1 {
			lines = plainLine(idAt(c.now.UnixMilli()+1, 7), "s", name) + lines // backwards
			c.now = c.now.Add(time.Millisecond)
			continue
		}
		c.say("s", name)
	}
	c.take(lines)
	for range 3 {
		for _, limit := range []int{1, 2, 100} {
			up := c.run(convmem.HistoryRequest{SessionID: "s", Limit: limit}, nil)
			down := c.run(convmem.HistoryRequest{SessionID: "s", Limit: limit, Order: convmem.OrderDescending}, nil)
			slices.Reverse(down)
			if diff := cmp.Diff([][]string{want, want}, [][]string{up, down}); diff != "" {
				t.Fatalf("limit %d: %s", limit, diff)
			}
		}
		if again := c.take(lines); again.Present != 6 || again.Written != 0 {
			t.Errorf("once more: %+v", again)
		}
		c.rebuild()
		c.reopen()
	}
}

// run follows a history to its end, with something between its pages.
func (c *carrier) run(r convmem.HistoryRequest, between func()) (all []string) {
	c.Helper()
	for range 1000 {
		page, err := convmem.History(ctx, c.db, r)
		c.ok("history", err)
		all = append(all, contents(page.Messages)...)
		if r.Cursor = page.NextCursor; r.Cursor == "" {
			return all
		}
		if between != nil {
			between()
		}
	}
	c.Fatalf("the pages never end")
	return nil
}

func (c *carrier) runSessions(limit int, between func()) (all []string) {
	c.Helper()
	r := convmem.SessionsRequest{Limit: limit}
	for range 1000 {
		page, err := convmem.Sessions(ctx, c.db, r)
		c.ok("sessions", err)
		for _, s := range page.Sessions {
			all = append(all, s.SessionID)
		}
		if r.Cursor = page.NextCursor; r.Cursor == "" {
			return all
		}
		between()
	}
	c.Fatalf("the pages never end")
	return nil
}

// What was there when a run began and stays is seen once, in the order of that
// moment, whatever is imported, written, deleted, rebuilt and opened again
// meanwhile; a session that an import begins is not seen at all.
func TestImportBetweenPages(t *testing.T) {
	runs, imported := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := newCarrier(t, 1)
		begin := c.now.UnixMilli()
		// Messages a to z of several sessions in one span of time, some of them
		// written at once and the others imported while runs are under way.
		var later []string
		for i := range rapid.IntRange(15, 50).Draw(t, "messages") {
			session := fmt.Sprint("s", rapid.IntRange(0, 5).Draw(t, "session"))
			line := plainLine(idAt(begin+int64(i/2), byte(i)), session, fmt.Sprint(i))
			if rapid.IntRange(0, 2).Draw(t, "when") == 0 {
				later = append(later, line)
				continue
			}
			c.take(line)
		}
		c.now = c.now.Add(time.Second)
		dead, fresh := map[string]bool{}, 0
		between := func() {
			switch rapid.IntRange(0, 6).Draw(t, "between") {
			case 0, 1, 2:
				n := rapid.IntRange(min(1, len(later)), len(later)).Draw(t, "imported")
				c.take(strings.Join(later[:n], ""))
				later, imported = later[n:], imported+n
			case 3:
				fresh++
				c.say(fmt.Sprint("s", fresh%7), fmt.Sprint("fresh ", fresh))
			case 4:
				c.rebuild()
			case 5:
				c.reopen()
			case 6:
				all := strings.Split(strings.TrimSpace(c.export(nil)), "\n")
				l := parseLine(rapid.SampledFrom(all).Draw(t, "deleted"))
				if l.ID != "" {
					_, err := c.db.Delete(ctx, convmem.DeleteRequest{MessageID: l.ID})
					c.ok("delete", err)
					dead[l.Content] = true
				}
			}
		}
		runs++
		limit := rapid.IntRange(1, 2).Draw(t, "limit")
		switch rapid.IntRange(0, 2).Draw(t, "run") {
		case 0, 1:
			r := convmem.HistoryRequest{SessionID: "s1", Limit: limit}
			if rapid.Bool().Draw(t, "descending") {
				r.Order = convmem.OrderDescending
			}
			was := contents(c.answers("").Messages["s1"])
			got := c.run(r, between)
			seenOnce(t, got, was, dead)
		default:
			before := c.answers("")
			var was []string
			for _, s := range before.Sessions {
				was = append(was, s.SessionID)
			}
			got := c.runSessions(limit, between)
			// One that lost every message it had may be another one now.
			gone := map[string]bool{}
			for session, messages := range before.Messages {
				gone[session] = !slices.ContainsFunc(messages, func(m convmem.Message) bool { return !dead[m.Content] })
			}
			seenOnce(t, got, was, gone)
			for _, session := range got {
				if !slices.Contains(was, session) {
					t.Fatalf("%s began later: was %q, got %q", session, was, got)
				}
			}
			kept := slices.DeleteFunc(slices.Clone(was), func(s string) bool { return gone[s] })
			if order := slices.DeleteFunc(got, func(s string) bool { return gone[s] }); !slices.Equal(kept, order) {
				t.Fatalf("was in the order %q, got %q", kept, order)
			}
		}
	})
	t.Logf("%d runs, %d messages imported meanwhile", runs, imported)
	if imported < 300 {
		t.Error("hardly anything was imported")
	}
}

func seenOnce(t fataler, got, was []string, dead map[string]bool) {
	t.Helper()
	if once := slices.Compact(slices.Sorted(slices.Values(got))); len(once) != len(got) {
		t.Fatalf("seen twice: %q", got)
	}
	for _, name := range was {
		if !dead[name] && !slices.Contains(got, name) {
			t.Fatalf("%s was not seen: was %q, got %q", name, was, got)
		}
	}
}

// A session that an import begins in the past is not part of a run under way,
// however the store came to know of it: by its own import, the log, a snapshot or
// a rebuilt log.
func TestImportedSessionIsNotPartOfRun(t *testing.T) {
	for _, test := range []struct {
		name    string
		between func(*carrier)
	}{
		{"at once", func(*carrier) {}},
		{"read from the log", (*carrier).reopen},
		{"read from a snapshot", func(c *carrier) {
			c.write("", convmem.WriteRequest{SessionID: "new", Role: "user", Content: "x", Payload: convmem.Payload{Data: make([]byte, convmem.MaxPayloadBytes)}})
			c.reopen()
			if !c.health().SnapshotValid {
				c.Fatalf("no snapshot")
			}
		}},
		{"rebuilt", (*carrier).rebuild},
		{"rebuilt and read", func(c *carrier) { c.rebuild(); c.reopen() }},
		{"updated and rebuilt twice", func(c *carrier) {
			_, err := c.db.Update(ctx, convmem.UpdateRequest{MessageID: idAt(1_750_000_000_001, 1), Content: new("changed")})
			c.ok("update", err)
			c.rebuild()
			c.reopen()
			c.rebuild()
			c.reopen()
		}},
		{"by another handle", func(c *carrier) { c.db = c.open() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCarrier(t, 1)
			for _, session := range []string{"a", "b", "c", "d"} {
				c.now = c.now.Add(9 * time.Millisecond)
				c.say(session, "x")
			}
			done := false
			got := c.runSessions(1, func() {
				if !done {
					done = true
					c.take(plainLine(idAt(1_750_000_000_001, 1), "imported", "old") + plainLine(idAt(1_750_000_000_012, 1), "b", "old") +
						plainLine(idAt(1_750_000_000_035, 1), "a", "old") + plainLine(idAt(1_750_000_000_034, 1), "imported too", "old"))
					test.between(c)
				}
			})
			if diff := cmp.Diff([]string{"d", "c", "b", "a"}, got); diff != "" {
				t.Error(diff)
			}
			if now := len(c.answers("").Sessions); now < 6 {
				t.Errorf("%d sessions now", now)
			}
		})
	}
}

// A message that was the newest of all may come back to another session.
func TestImportMovesTheNewest(t *testing.T) {
	c := newCarrier(t, 1)
	c.say("y", "y")
	c.say("x", "x")
	c.say("z", "z")
	top := c.say("x", "top")
	got := c.runSessions(1, func() {
		if strings.Contains(c.export(nil), `"content":"top"`) {
			_, err := c.db.Delete(ctx, convmem.DeleteRequest{MessageID: top})
			c.ok("delete", err)
			c.take(plainLine(top, "y", "moved"))
		}
	})
	if diff := cmp.Diff([]string{"x", "z", "y"}, got); diff != "" {
		t.Error(diff)
	}
}
