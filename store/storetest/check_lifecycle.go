package storetest

import (
	"fmt"
	"math"
	"time"

	"example.com/convmem"
)

func deleteChecks() []check {
	return []check{
		{"delete/gone at once", checkDeleteGone},
		{"delete/guard", checkDeleteGuard},
		{"delete/nothing to delete", checkDeleteNothing},
		{"delete/survives restart and rebuild", checkDeleteSurvives},
	}
}

func rebuildChecks() []check {
	return []check{
		{"rebuild/counts", checkRebuildCounts},
		{"rebuild/an empty store", checkRebuildEmpty},
		{"rebuild/changes no answer", checkRebuildInvariance},
		{"rebuild/the store goes on", checkRebuildGoesOn},
	}
}

// checkDeleteGone looks for a deleted message everywhere at once.
func checkDeleteGone(k *kit) {
	l := k.open()
	written := l.sayAll("s", "one", "quartz", "three")
	l.setMetadata(written[0].ID, convmem.MetadataPatch{Relations: relatedTo(written[1].ID)})
	l.setMetadata(written[1].ID, convmem.MetadataPatch{Tags: []string{"tag"}, Relations: relatedTo(written[2].ID)})
	l.remove(written[1].ID)
	same(k, "history", contents(l.all(convmem.HistoryRequest{SessionID: "s"})), []string{"one", "three"})
	same(k, "descending", contents(l.all(convmem.HistoryRequest{SessionID: "s", Order: convmem.OrderDescending})), []string{"three", "one"})
	same(k, "search", l.found(convmem.SearchRequest{Query: "quartz"}), nil)
	same(k, "sessions", l.sessions(convmem.SessionsRequest{}).Sessions[0].MessageCount, 2)
	around := l.context(convmem.ContextRequest{MessageID: written[0].ID})
	same(k, "neighbours", contents(around.After), []string{"three"})
	same(k, "relations", around.Relations, []convmem.RelatedMessage{
		{Type: convmem.RelationRelatedTo, Direction: convmem.Outgoing, Depth: 1, MessageID: written[1].ID},
	})
	same(k, "relations from it", l.context(convmem.ContextRequest{MessageID: written[2].ID}).Relations, []convmem.RelatedMessage(nil))
	_, err := l.store.Read(l.ctx(), convmem.ReadRequest{Context: &convmem.ContextRequest{MessageID: written[1].ID}})
	k.fails("context of it", err, convmem.CodeNotFound, "")
	_, err = l.store.Update(l.ctx(), convmem.UpdateRequest{MessageID: written[1].ID, Content: new("again")})
	k.fails("update of it", err, convmem.CodeNotFound, "")
}

// deletes fails unless a delete succeeds and says whether there was something.
func (l *lab) deletes(what string, r convmem.DeleteRequest, expected bool) {
	l.Helper()
	result, err := l.store.Delete(l.ctx(), r)
	l.ok(what, err)
	same(l, what, result, convmem.DeleteResult{Deleted: expected})
}

// checkDeleteGuard deletes with the wrong session and with the right one.
func checkDeleteGuard(k *kit) {
	l := k.open()
	message := l.say("s", "quartz")
	l.say("other", "something")
	for _, guard := range []string{"other", "S", "s ", "nowhere"} {
		l.deletes("guard "+guard, convmem.DeleteRequest{MessageID: message.ID, SessionID: guard}, false)
		same(k, "the message", l.get(message.ID), message)
		same(k, "search", l.found(convmem.SearchRequest{Query: "quartz"}), []string{message.ID})
	}
	l.deletes("the right guard", convmem.DeleteRequest{MessageID: message.ID, SessionID: "s"}, true)
	l.deletes("the right guard again", convmem.DeleteRequest{MessageID: message.ID, SessionID: "s"}, false)
}

// checkDeleteNothing deletes what is not there, which is a result and no
// error.
func checkDeleteNothing(k *kit) {
	l := k.open()
	l.deletes("in an empty store", convmem.DeleteRequest{MessageID: strangerID(1)}, false)
	message := l.say("s", "x")
	before := l.health().LastSequence
	l.deletes("never there", convmem.DeleteRequest{MessageID: strangerID(1)}, false)
	same(k, "last sequence", l.health().LastSequence, before)
	l.remove(message.ID)
	l.deletes("twice", convmem.DeleteRequest{MessageID: message.ID}, false)
	l.rebuild()
	l.deletes("after a rebuild", convmem.DeleteRequest{MessageID: message.ID}, false)
	same(k, "deleted messages", l.health().DeletedMessages, 0)
}

// checkDeleteSurvives wants a deleted message to stay away in later lives of
// the store.
func checkDeleteSurvives(k *kit) {
	l := k.open()
	written := l.sayAll("s", "one", "quartz", "three")
	l.setContent(written[1].ID, "quartz again")
	l.remove(written[1].ID)
	see := func(when string) {
		same(k, "history "+when, contents(l.all(convmem.HistoryRequest{SessionID: "s"})), []string{"one", "three"})
		same(k, "search "+when, l.found(convmem.SearchRequest{Query: "quartz"}), nil)
	}
	l.reopen()
	see("after a restart")
	l.rebuild()
	see("after a rebuild")
	l.reopen()
	see("after both")
}

// worn makes a store with a history: 12 messages, of which 3 are deleted and 4
// changed, two of them twice.
func (l *lab) worn() []convmem.Message {
	l.Helper()
	var written []convmem.Message
	for i := range 12 {
		patch := convmem.MetadataPatch{Importance: new(i * 7), Kind: kinds()[i%6], Tags: []string{fmt.Sprint("tag", i%3), "stone"}}
		if i > 0 {
			patch.Relations = relations(relationTypes()[i%4], written[i/2].ID)
		}
		written = append(written, l.note(fmt.Sprint("session ", i%3), fmt.Sprintf("quartz number %d 東京 %d", i, i*i), patch))
	}
	for i, at := range []int{2, 5, 2, 8, 10, 5} {
		written[at] = l.setContent(written[at].ID, fmt.Sprint("changed granite 京都 ", i))
	}
	for _, at := range []int{1, 4, 11} {
		l.remove(written[at].ID)
	}
	return written
}

// checkRebuildCounts rebuilds a worn store, and then one where nothing is
// left to do.
func checkRebuildCounts(k *kit) {
	l := k.open()
	l.worn()
	before := l.health()
	result := l.rebuild()
	same(k, "messages indexed", result.MessagesIndexed, 9)
	if result.RecordsRemoved < before.DeletedMessages+before.UpdateRecords {
		k.Errorf("%d records removed, but %d messages were deleted and %d records were updates", result.RecordsRemoved, before.DeletedMessages, before.UpdateRecords)
	}
	if result.BytesAfter <= 0 || result.BytesAfter >= result.BytesBefore {
		k.Errorf("%d bytes before, %d after", result.BytesBefore, result.BytesAfter)
	}
	again := l.rebuild()
	same(k, "messages indexed again", again.MessagesIndexed, 9)
	same(k, "records removed again", again.RecordsRemoved, 0)
	same(k, "bytes before it", again.BytesBefore, result.BytesAfter)
}

// checkRebuildEmpty rebuilds stores without a live message.
func checkRebuildEmpty(k *kit) {
	l := k.open()
	same(k, "of a new store", l.rebuild().MessagesIndexed, 0)
	message := l.say("s", "x")
	l.remove(message.ID)
	same(k, "of an emptied store", l.rebuild().MessagesIndexed, 0)
	same(k, "history", l.all(convmem.HistoryRequest{SessionID: "s"}), []convmem.Message(nil))
	next := l.say("s", "y")
	same(k, "a message afterwards", l.get(next.ID), next)
}

// picture is every answer that a store gives to fixed questions.
type picture struct {
	Histories map[string][]convmem.Message
	Contexts  map[string]convmem.ContextResult
	Sessions  convmem.SessionsResult
	Searches  map[string][]convmem.Hit
}

// picture asks about the given messages, dead or alive.
func (l *lab) picture(messages []convmem.Message) picture {
	l.Helper()
	p := picture{
		Histories: map[string][]convmem.Message{}, Contexts: map[string]convmem.ContextResult{},
		Sessions: l.sessions(convmem.SessionsRequest{}), Searches: map[string][]convmem.Hit{},
	}
	for _, message := range messages {
		for _, order := range []convmem.Order{convmem.OrderAscending, convmem.OrderDescending} {
			p.Histories[message.SessionID+string(order)] = l.all(convmem.HistoryRequest{SessionID: message.SessionID, Order: order, Limit: 2})
		}
		result, err := l.store.Read(l.ctx(), convmem.ReadRequest{Context: &convmem.ContextRequest{MessageID: message.ID, RelationDepth: new(2)}})
		if err == nil {
			p.Contexts[message.ID] = *result.Context
		}
	}
	for _, query := range []string{"quartz", "granite", "東京", "京都", "stone", "tag1", "quartz number 9", "changed stone 東京"} {
		p.Searches[query] = l.search(convmem.SearchRequest{Query: query, Limit: 100, ContextSize: 2})
		p.Searches[query+" in a session"] = l.search(convmem.SearchRequest{Query: query, SessionID: "session 1", MinImportance: 10})
		l.wellRanked(query, p.Searches[query])
	}
	return p
}

// checkRebuildInvariance compares scores to the last bit.
func checkRebuildInvariance(k *kit) {
	l := k.open()
	written := l.worn()
	before := l.picture(written)
	if n := len(before.Searches["quartz"]); n < 5 || len(before.Contexts) != 9 {
		k.Fatalf("%d hits and %d contexts are too few to compare", n, len(before.Contexts))
	}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"a restart", func() { l.reopen() }},
		{"a rebuild", func() { l.rebuild() }},
		{"a second rebuild", func() { l.rebuild() }},
		{"a restart after a rebuild", func() { l.reopen() }},
	} {
		c.do()
		same(k, "after "+c.name, l.picture(written), before)
	}
	// Whatever the rebuild did must also hold for what comes later.
	message := l.say("session 1", "quartz added later")
	l.setContent(written[0].ID, "quartz changed later")
	l.remove(written[3].ID)
	before = l.picture(append(written, message))
	l.reopen()
	same(k, "after changes and a restart", l.picture(append(written, message)), before)
	l.rebuild()
	same(k, "after changes and a rebuild", l.picture(append(written, message)), before)
}

// checkRebuildGoesOn writes and updates between rebuilds.
func checkRebuildGoesOn(k *kit) {
	l := k.open()
	first := l.say("s", "first")
	for round := range 4 {
		l.clock.step(time.Second)
		l.rebuild()
		if round%2 == 1 {
			l.reopen()
		}
		first = l.setContent(first.ID, fmt.Sprint("round ", round))
		same(k, "revision", first.Revision, int64(round)+2)
		l.say("s", fmt.Sprint("message ", round))
	}
	same(k, "the history", contents(l.all(convmem.HistoryRequest{SessionID: "s"})), []string{"round 3", "message 0", "message 1", "message 2", "message 3"})
}

// sane fails unless health is well and free of contradictions.
func (k *kit) sane(what string, h convmem.HealthResult) {
	k.Helper()
	same(k, what+": status", h.Status, convmem.HealthOK)
	same(k, what+": last error", h.LastError, "")
	same(k, what+": a snapshot that is valid has a size", h.SnapshotValid && h.SnapshotSize == 0, false)
	m := h.Memory
	same(k, what+": memory", m.Total(), m.StoreEntries+m.Bodies+m.Metadata+m.SearchIndex+m.HistoryIndex+m.RelationIndex)
	for name, n := range map[string]int64{
		"format version - 1": int64(h.FormatVersion) - 1, "log size": h.LogSize, "snapshot size": h.SnapshotSize,
		"active messages": h.ActiveMessages, "deleted messages": h.DeletedMessages, "update records": h.UpdateRecords,
		"last sequence": h.LastSequence, "dead bytes": h.DeadBytes, "live bytes": h.LogSize - h.DeadBytes,
		"store entries": m.StoreEntries, "bodies": m.Bodies, "metadata": m.Metadata, "search index": m.SearchIndex,
		"history index": m.HistoryIndex, "relation index": m.RelationIndex, "write bytes": h.IO.WriteBytes, "write calls": h.IO.WriteCalls,
		"flush calls": h.IO.FlushCalls, "truncate calls": h.IO.TruncateCalls, "replace calls": h.IO.ReplaceCalls,
	} {
		if n < 0 || n == math.MaxInt64 {
			k.Errorf("%s: %s is %d", what, name, n)
		}
	}
}
