package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/convmem"
)

func deleteSessionChecks() []check {
	return []check{
		{"delete session/gone at once", checkDeleteSessionGone},
		{"delete session/nothing to delete", checkDeleteSessionNothing},
		{"delete session/values", checkDeleteSessionValues},
		{"delete session/cursors go on", checkDeleteSessionCursors},
		{"delete session/keys are free", checkDeleteSessionKeys},
		{"delete session/the name again", checkDeleteSessionNameAgain},
		{"delete session/survives restart and rebuild", checkDeleteSessionSurvives},
		{"delete session/cancelled", checkDeleteSessionCancelled},
		{"delete session/all of it or nothing", checkDeleteSessionTogether},
	}
}

// checkDeleteSessionGone looks everywhere for a deleted session, and at what others
// say about it.
func checkDeleteSessionGone(k *kit) {
	l := k.openCleaner()
	var gone []convmem.Message
	kept := l.sayAll("kept", "granite one", "granite two")
	for i := range 5 {
		gone = append(gone, l.note("gone", fmt.Sprint("quartz ", i), convmem.MetadataPatch{Tags: []string{"topaz"}, Relations: relatedTo(kept[0].ID)}))
		l.say("gone ", "granite beside") // a name that begins alike
	}
	l.setContent(gone[2].ID, "quartz, changed")
	kept[1] = l.setMetadata(kept[1].ID, convmem.MetadataPatch{Relations: relatedTo(gone[0].ID)})
	l.remove(gone[4].ID)
	before := l.health()
	l.deletesSession("a session of four", "gone", 4)
	same(k, "its history", l.all(convmem.HistoryRequest{SessionID: "gone"}), nil)
	same(k, "its words", l.found(convmem.SearchRequest{Query: "quartz topaz"}), nil)
	same(k, "search in it", l.found(convmem.SearchRequest{Query: "granite", SessionID: "gone"}), nil)
	var names []string
	for _, info := range l.sessions(convmem.SessionsRequest{}).Sessions {
		names = append(names, fmt.Sprint(info.SessionID, ": ", info.MessageCount))
	}
	same(k, "sessions", names, []string{"gone : 5", "kept: 2"})
	for _, message := range gone {
		_, err := l.store.Read(l.ctx(), convmem.ReadRequest{Context: &convmem.ContextRequest{MessageID: message.ID}})
		k.fails("context of its message", err, convmem.CodeNotFound, "")
		_, err = l.store.Update(l.ctx(), convmem.UpdateRequest{MessageID: message.ID, Content: new("again")})
		k.fails("update of its message", err, convmem.CodeNotFound, "")
		l.deletes("delete of its message", convmem.DeleteRequest{MessageID: message.ID}, false)
	}
	same(k, "the other session", l.all(convmem.HistoryRequest{SessionID: "kept"}), kept)
	same(k, "relations from it", l.context(convmem.ContextRequest{MessageID: kept[0].ID}).Relations, nil)
	same(k, "relations to it", l.context(convmem.ContextRequest{MessageID: kept[1].ID}).Relations, []convmem.RelatedMessage{
		{Type: convmem.RelationRelatedTo, Direction: convmem.Outgoing, Depth: 1, MessageID: gone[0].ID},
	})
	for _, hit := range l.search(convmem.SearchRequest{Query: "granite"}) {
		same(k, "relations of a hit", hit.RelationCount, 0)
	}
	after := l.health()
	k.sane("afterwards", after)
	same(k, "counts", counts(after), [3]int64{before.ActiveMessages - 4, before.DeletedMessages + 4, before.UpdateRecords})
}

// checkDeleteSessionNothing deletes sessions that are not there.
func checkDeleteSessionNothing(k *kit) {
	l := k.openCleaner()
	l.deletesSession("in an empty store", "s", 0)
	kept := l.say("s", "kept")
	before := l.health()
	for _, name := range []string{"S", "s ", "nowhere", kept.ID, "*", "%"} {
		l.deletesSession(name, name, 0)
	}
	l.unchanged(before, kept)
	l.deletesSession("the session", "s", 1)
	before = l.health()
	l.deletesSession("twice", "s", 0)
	l.unchanged(before)
	l.rebuild()
	l.deletesSession("after a rebuild", "s", 0)
}

func checkDeleteSessionValues(k *kit) {
	for _, c := range []struct {
		name, session string
		verdict       verdict
	}{
		{"empty", "", refused("session_id")},
		{"256 bytes", text(256), allowed()},
		{"257 bytes", text(257), refused("session_id", "257", "256")},
		{"not UTF-8", badUTF8, refused("session_id")},
	} {
		k.run(c.name, func(k *kit) {
			l := k.openCleaner()
			kept := l.say("s", "kept")
			_, err := l.tryDeleteSession(l.ctx(), c.session)
			k.judge(err, c.verdict)
			same(k, "another session", l.all(convmem.HistoryRequest{SessionID: "s"}), []convmem.Message{kept})
		})
	}
}

// checkDeleteSessionCursors deletes a session while runs are under way, over it and
// over others.
func checkDeleteSessionCursors(k *kit) {
	l := k.openCleaner()
	for i := range 5 {
		l.sayAll(fmt.Sprint("session ", i), "one", "two", "three")
	}
	within := convmem.HistoryRequest{SessionID: "session 2", Limit: 1}
	within.Cursor = l.history(within).NextCursor
	beside := convmem.HistoryRequest{SessionID: "session 3", Limit: 1, Order: convmem.OrderDescending}
	beside.Cursor = l.history(beside).NextCursor
	list := l.sessions(convmem.SessionsRequest{Limit: 1})
	same(k, "the first session", list.Sessions[0].SessionID, "session 4")
	l.deletesSession("the session", "session 2", 3)
	l.reopen()
	same(k, "the run over it", l.all(within), nil)
	same(k, "the run over another", contents(l.all(beside)), []string{"two", "one"})
	var rest []string
	for r := (convmem.SessionsRequest{Limit: 1, Cursor: list.NextCursor}); ; {
		page := l.sessions(r)
		for _, info := range page.Sessions {
			rest = append(rest, info.SessionID)
		}
		if r.Cursor = page.NextCursor; r.Cursor == "" || len(rest) > 5 {
			break
		}
	}
	same(k, "the run over sessions", rest, []string{"session 3", "session 1", "session 0"})
}

// checkDeleteSessionKeys uses the keys of a deleted session again.
func checkDeleteSessionKeys(k *kit) {
	for name, then := range map[string]func(*lab){
		"at once": func(*lab) {}, "after a rebuild": func(l *lab) { l.rebuild() }, "after a restart": func(l *lab) { l.reopen() },
	} {
		k.run(name, func(k *kit) {
			l := k.openCleaner()
			gone := l.write(plain("s", "first", "key"))
			other := l.write(plain("other", "first", "key"))
			l.deletesSession("the session", "s", 1)
			then(l)
			r := plain("s", "something else", "key")
			again, err := l.store.Write(l.ctx(), r)
			k.ok("the key again", err)
			if again.Replayed || again.Message.ID <= gone.ID {
				k.Errorf("the deleted message %s was replayed: %+v", gone.ID, again)
			}
			l.replays("it belongs to the new message", r, again.Message)
			l.replays("the key of another session", plain("other", "first", "key"), other)
		})
	}
}

// checkDeleteSessionNameAgain begins a session anew.
func checkDeleteSessionNameAgain(k *kit) {
	l := k.openCleaner()
	old := l.sayAll("s", "old one", "old two", "old three")
	run := convmem.HistoryRequest{SessionID: "s", Limit: 2}
	run.Cursor = l.history(run).NextCursor
	l.deletesSession("the session", "s", 3)
	l.clock.step(-time.Hour)
	fresh := l.sayAll("s", "new one", "new two")
	see := func(when string) {
		k.Helper()
		same(k, "the history "+when, l.all(convmem.HistoryRequest{SessionID: "s"}), fresh)
		same(k, "the run that was under way "+when, l.all(run), fresh)
		info := l.sessions(convmem.SessionsRequest{}).Sessions[0]
		same(k, "the session "+when, []any{info.MessageCount, info.StartedAt, info.LastMessageAt}, []any{2, fresh[0].Timestamp, fresh[1].Timestamp})
	}
	k.rising(append(old, fresh...))
	see("at once")
	l.reopen()
	see("after a restart")
	l.rebuild()
	see("after a rebuild")
	l.deletesSession("again", "s", 2)
	same(k, "the history at last", l.all(convmem.HistoryRequest{SessionID: "s"}), nil)
}

// checkDeleteSessionSurvives wants a deleted session to stay away.
func checkDeleteSessionSurvives(k *kit) {
	l := k.openCleaner()
	kept := l.sayAll("kept", "one", "two")
	l.sayAll("gone", "quartz one", "quartz two", "quartz three")
	l.deletesSession("the session", "gone", 3)
	see := func(when string) {
		k.Helper()
		same(k, "its history "+when, l.all(convmem.HistoryRequest{SessionID: "gone"}), nil)
		same(k, "its words "+when, l.found(convmem.SearchRequest{Query: "quartz"}), nil)
		same(k, "the other session "+when, l.all(convmem.HistoryRequest{SessionID: "kept"}), kept)
	}
	l.reopen()
	see("after a restart")
	l.rebuild()
	see("after a rebuild")
	l.reopen()
	see("after both")
}

func checkDeleteSessionCancelled(k *kit) {
	l := k.openCleaner()
	kept := l.say("s", "kept")
	before := l.health()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := l.tryDeleteSession(ctx, "s")
	if fault := k.fails("a cancelled call", err, convmem.CodeBusy, ""); fault != nil {
		same(k, "op", fault.Op, "delete session")
	}
	l.unchanged(before, kept)
}

// checkDeleteSessionTogether lets several delete one session while others read it:
// they see all of it or nothing, and every message is deleted once.
func checkDeleteSessionTogether(k *kit) {
	const size = 12
	l := k.openCleaner()
	for round := range 6 {
		session := fmt.Sprint("session ", round)
		l.sayAll(session, numbered(size)...)
		var deleted atomic.Int64
		beside(func() {
			together(3, func(int) {
				n, err := l.tryDeleteSession(l.ctx(), session)
				if err != nil {
					k.Errorf("delete session: %v", err)
				}
				if n != 0 && n != size {
					k.Errorf("one call deleted %d messages of %d", n, size)
				}
				deleted.Add(int64(n))
			})
		}, func() bool {
			page, err := l.store.Read(l.ctx(), convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: session}})
			if err != nil || len(page.History.Messages)%size != 0 {
				k.Errorf("a reader sees a part of a session: %v, %+v", err, page.History)
			}
			return !k.Failed()
		})
		same(k, "deleted", deleted.Load(), size)
		l.clock.step(time.Millisecond)
	}
	same(k, "deleted messages", l.health().DeletedMessages, 6*size)
}
