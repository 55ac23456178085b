package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/convmem"
)

func batchChecks() []check {
	return []check{
		{"batch/results", checkBatchResults},
		{"batch/number of messages", checkBatchLimits},
		{"batch/one refused message", checkBatchRefused},
		{"batch/a key twice within it", checkBatchKeyWithin},
		{"batch/a key from before", checkBatchKeyBefore},
		{"batch/a conflict", checkBatchConflict},
		{"batch/results are copies", checkBatchCopied},
		{"batch/survives restart and rebuild", checkBatchSurvives},
		{"batch/cancelled", checkBatchCancelled},
		{"batch/nothing between", checkBatchTogether},
	}
}

// plain makes a request without metadata.
func plain(session, content, key string) convmem.WriteRequest {
	return convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: content, IdempotencyKey: key}
}

// everything is every message of the sessions, in the order of ids.
func (l *lab) everything(sessions ...string) []convmem.Message {
	l.Helper()
	var all []convmem.Message
	for _, session := range sessions {
		all = append(all, l.all(convmem.HistoryRequest{SessionID: session})...)
	}
	slices.SortFunc(all, func(a, b convmem.Message) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// written lists the messages of results.
func written(results []convmem.WriteResult) []convmem.Message {
	var all []convmem.Message
	for _, result := range results {
		all = append(all, result.Message)
	}
	return all
}

// checkBatchResults writes a batch over several sessions, with every value.
func checkBatchResults(k *kit) {
	l := k.openBatcher()
	before := l.say("a", "before")
	full := keyed(func(r *convmem.WriteRequest) { r.SessionID = "b" })
	if !l.noPayload {
		full.Payload = parcel()
	}
	sequence := l.health().LastSequence
	l.clock.step(time.Second)
	requests := []convmem.WriteRequest{plain("b", "quartz one", ""), plain("a", "quartz two", ""), full, plain("b", "quartz one", ""), plain("a", "quartz three", "")}
	results := l.writeBatch(requests...)
	all := written(results)
	for i, m := range all {
		same(k, "replayed", results[i].Replayed, false)
		same(k, "session, role, content, payload", []any{m.SessionID, m.Role, m.Content, m.Payload}, []any{requests[i].SessionID, requests[i].Role, requests[i].Content, requests[i].Payload})
		same(k, "metadata", m.Metadata, want(requests[i].Metadata))
		same(k, "revision", m.Revision, 1)
		same(k, "times", []time.Time{m.Timestamp, m.UpdatedAt}, []time.Time{l.clock.Now(), l.clock.Now()})
		same(k, "the stored message", l.get(m.ID), m)
	}
	k.rising(append([]convmem.Message{before}, all...))
	same(k, "the history", l.everything("a", "b"), append([]convmem.Message{before}, all...))
	same(k, "found", len(l.found(convmem.SearchRequest{Query: "quartz"})), 4)
	h := l.health()
	k.sane("after a batch", h)
	same(k, "active messages", h.ActiveMessages, 6)
	if h.LastSequence <= sequence {
		k.Errorf("last sequence %d after %d", h.LastSequence, sequence)
	}
	k.rising(append(all, l.say("a", "after")))
}

// checkBatchLimits writes batches of none, one, most and too many.
func checkBatchLimits(k *kit) {
	for _, c := range []struct {
		count   int
		verdict verdict
	}{{0, refused("messages")}, {1, allowed()}, {1000, allowed()}, {1001, refused("messages", "1001", "1000")}} {
		k.run(fmt.Sprint(c.count), func(k *kit) {
			l := k.openBatcher()
			results, err := l.tryBatch(l.ctx(), distinct(c.count, func(i int) convmem.WriteRequest {
				return plain("s", fmt.Sprint("message ", i), fmt.Sprint("key ", i))
			})...)
			k.judge(err, c.verdict)
			stored := 0
			if err == nil {
				stored = c.count
			}
			same(k, "results", len(results), stored)
			same(k, "active messages", l.health().ActiveMessages, int64(stored))
			same(k, "the history", ids(l.all(convmem.HistoryRequest{SessionID: "s", Limit: 1000})), ids(written(results)))
		})
	}
}

// checkBatchRefused puts one bad message at the beginning, in the middle and at
// the end of a batch: the error says where, and nothing is stored.
func checkBatchRefused(k *kit) {
	const size = 5
	for _, c := range []struct {
		field  string
		change func(*convmem.WriteRequest)
	}{
		{"session_id", func(r *convmem.WriteRequest) { r.SessionID = "" }},
		{"role", func(r *convmem.WriteRequest) { r.Role = "bot" }},
		{"content", func(r *convmem.WriteRequest) { r.Content = "" }},
		{"content", func(r *convmem.WriteRequest) { r.Content = badUTF8 }},
		{"content", func(r *convmem.WriteRequest) { r.Content = text(1<<20 + 1) }},
		{"idempotency_key", func(r *convmem.WriteRequest) { r.IdempotencyKey = text(257) }},
		{"importance", func(r *convmem.WriteRequest) { r.Metadata.Importance = new(101) }},
		{"tags[1]", func(r *convmem.WriteRequest) { r.Metadata.Tags = []string{"a", ""} }},
		{"relations[0].message_id", func(r *convmem.WriteRequest) { r.Metadata.Relations = relatedTo("x") }},
		{"payload.type", func(r *convmem.WriteRequest) { r.Payload.Type = text(257) }},
	} {
		k.run(c.field, func(k *kit) {
			l := k.openBatcher()
			if l.noPayload && c.field == "payload.type" {
				k.Skip("the store carries no payloads")
			}
			kept := l.say("s", "kept")
			before := l.health()
			for place := range size {
				requests := distinct(size, func(i int) convmem.WriteRequest { return plain("s", fmt.Sprint("quartz ", i), fmt.Sprint("key ", i)) })
				c.change(&requests[place])
				results, err := l.tryBatch(l.ctx(), requests...)
				field := fmt.Sprintf("messages[%d].%s", place, c.field)
				k.fails("a batch with a bad message", err, convmem.CodeValidation, field)
				k.says("a batch with a bad message", err, field)
				same(k, "results", results, nil)
			}
			l.unchanged(before, kept)
			same(k, "a batch without it", len(l.writeBatch(plain("s", "quartz", "key 0"), plain("s", "quartz", "key 1"))), 2)
		})
	}
}

// unchanged fails unless the store is as it was: kept is all of session s, and
// nothing is about quartz.
func (l *lab) unchanged(before convmem.HealthResult, kept ...convmem.Message) {
	l.Helper()
	same(l, "the history", l.all(convmem.HistoryRequest{SessionID: "s"}), kept)
	same(l, "found", l.found(convmem.SearchRequest{Query: "quartz"}), nil)
	after := l.health()
	same(l, "counts", counts(after), counts(before))
	same(l, "last sequence and log size", []int64{after.LastSequence, after.LogSize}, []int64{before.LastSequence, before.LogSize})
}

// checkBatchKeyWithin repeats a keyed message in its own batch: the second one
// is a replay of the first, but not in another session.
func checkBatchKeyWithin(k *kit) {
	l := k.openBatcher()
	results := l.writeBatch(
		plain("s", "once", "key"), plain("s", "between", ""), plain("s", "once", "key"), plain("other", "once", "key"), plain("s", "once", "Key"), plain("s", "once", "key"),
	)
	replayed := distinct(len(results), func(i int) bool { return results[i].Replayed })
	same(k, "replayed", replayed, []bool{false, false, true, false, false, true})
	same(k, "the replay", results[2].Message, results[0].Message)
	same(k, "the second replay", results[5].Message, results[0].Message)
	same(k, "the history", l.all(convmem.HistoryRequest{SessionID: "s"}), []convmem.Message{results[0].Message, results[1].Message, results[4].Message})
	same(k, "the other session", l.all(convmem.HistoryRequest{SessionID: "other"}), []convmem.Message{results[3].Message})
	l.replays("a write", plain("s", "once", "key"), results[0].Message)
}

// checkBatchKeyBefore meets keys of earlier writes and batches.
func checkBatchKeyBefore(k *kit) {
	l := k.openBatcher()
	first := l.write(plain("s", "first", "one"))
	second := l.writeBatch(plain("s", "second", "two"))[0].Message
	gone := l.write(plain("s", "gone", "three"))
	l.remove(gone.ID)
	first = l.setContent(first.ID, "first, changed")
	results := l.writeBatch(plain("s", "new", ""), plain("s", "first", "one"), plain("s", "other", "three"), plain("s", "second", "two"))
	same(k, "a replay as it is now", results[1], convmem.WriteResult{Message: first, Replayed: true})
	same(k, "a replay of a batch", results[3], convmem.WriteResult{Message: second, Replayed: true})
	same(k, "the key of a deleted message", results[2].Replayed, false)
	all := []convmem.Message{first, second, results[0].Message, results[2].Message}
	same(k, "the history", l.all(convmem.HistoryRequest{SessionID: "s"}), all)
	before := l.health()
	results = l.writeBatch(plain("s", "first", "one"), plain("s", "second", "two"), plain("s", "first", "one"))
	same(k, "a batch of replays", results, []convmem.WriteResult{{Message: first, Replayed: true}, {Message: second, Replayed: true}, {Message: first, Replayed: true}})
	same(k, "last sequence", l.health().LastSequence, before.LastSequence)
	same(k, "log size", l.health().LogSize, before.LogSize)
}

// checkBatchConflict reuses a key for something else, at every place: nothing of
// the batch is stored, not even its other keys.
func checkBatchConflict(k *kit) {
	const size = 4
	for _, within := range []bool{false, true} {
		l := k.openBatcher()
		kept := l.write(plain("s", "kept", "used"))
		before := l.health()
		for place := range size {
			requests := distinct(size, func(i int) convmem.WriteRequest { return plain("s", fmt.Sprint("quartz ", i), fmt.Sprint("key ", i)) })
			at := place
			if within {
				at = max(1, place)
				requests[at] = plain("s", "quartz, but something else", requests[0].IdempotencyKey)
			} else {
				requests[at].IdempotencyKey = "used"
			}
			_, err := l.tryBatch(l.ctx(), requests...)
			k.fails("a conflict", err, convmem.CodeConflict, fmt.Sprintf("messages[%d].idempotency_key", at))
		}
		l.unchanged(before, kept)
		for i := range size {
			key := fmt.Sprint("key ", i)
			result, err := l.store.Write(l.ctx(), plain("s", "something else", key))
			k.ok("a key of a refused batch", err)
			same(k, "replayed "+key, result.Replayed, false)
		}
	}
}

// checkBatchCopied scribbles over the requests and the results of a batch, in
// which one message stands twice.
func checkBatchCopied(k *kit) {
	l := k.openBatcher()
	patch := fullPatch(strangerID(1))
	request := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "quartz", Metadata: patch, IdempotencyKey: "key"}
	if !l.noPayload {
		request.Payload = parcel()
	}
	same := func(what string, m convmem.Message) {
		k.Helper()
		same(k, what, []any{m.Metadata, m.Payload.Data}, []any{want(fullPatch(strangerID(1))), parcel().Data[:len(request.Payload.Data)]})
	}
	results := l.writeBatch(request, request)
	scribble(&patch)
	for i := range request.Payload.Data {
		request.Payload.Data[i] = '#'
	}
	same("the answer after scribbling over the request", results[1].Message)
	same("the stored message after scribbling over the request", l.get(results[0].Message.ID))
	deface(results[0].Message)
	for i := range results[0].Message.Payload.Data {
		results[0].Message.Payload.Data[i] = '#'
	}
	same("the replay after defacing the first result", results[1].Message)
	same("the stored message after defacing the first result", l.get(results[1].Message.ID))
}

// checkBatchSurvives looks at a batch in later lives of the store.
func checkBatchSurvives(k *kit) {
	l := k.openBatcher()
	requests := []convmem.WriteRequest{plain("s", "one", "key 1"), plain("t", "two", ""), plain("s", "three", "key 3")}
	all := written(l.writeBatch(requests...))
	see := func(when string) {
		k.Helper()
		same(k, when, l.everything("s", "t"), all)
		l.replays("a write "+when, requests[0], all[0])
		again := l.writeBatch(requests[2], requests[0])
		same(k, "a batch "+when, again, []convmem.WriteResult{{Message: all[2], Replayed: true}, {Message: all[0], Replayed: true}})
	}
	l.reopen()
	see("after a restart")
	l.rebuild()
	see("after a rebuild")
	l.reopen()
	see("after both")
}

func checkBatchCancelled(k *kit) {
	l := k.openBatcher()
	kept := l.say("s", "kept")
	before := l.health()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := l.tryBatch(ctx, plain("s", "quartz", ""), plain("s", "quartz", ""))
	if fault := k.fails("a cancelled batch", err, convmem.CodeBusy, ""); fault != nil {
		same(k, "op", fault.Op, "write batch")
	}
	l.unchanged(before, kept)
}

// checkBatchTogether lets several write batches while others write and read: a
// reader sees all of a batch or nothing, and no id comes between those of one.
func checkBatchTogether(k *kit) {
	const writers, rounds, size = 3, 8, 5
	l := k.openBatcher()
	var mu sync.Mutex
	var batches [][]convmem.Message
	beside(func() {
		together(writers, func(w int) {
			for round := range rounds {
				results, err := l.tryBatch(l.ctx(), distinct(size, func(i int) convmem.WriteRequest {
					return plain("s", fmt.Sprintf("writer %d, round %d, message %d", w, round, i), "")
				})...)
				if err != nil {
					k.Errorf("write batch: %v", err)
					return
				}
				mu.Lock()
				batches = append(batches, written(results))
				mu.Unlock()
			}
		})
	}, func() bool {
		if _, err := l.store.Write(l.ctx(), plain("beside", "alone", "")); err != nil {
			k.Errorf("write: %v", err)
		}
		return !k.Failed()
	}, func() bool {
		page, err := l.store.Read(l.ctx(), convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s", Limit: 1000}})
		if err != nil || len(page.History.Messages)%size != 0 {
			k.Errorf("a reader sees a part of a batch: %v, %+v", err, page.History)
			return false
		}
		return k.rising(page.History.Messages)
	})
	same(k, "batches", len(batches), writers*rounds)
	order := ids(l.everything("s", "beside"))
	for _, batch := range batches {
		at := slices.Index(order, batch[0].ID)
		if at < 0 || at+size > len(order) {
			k.Fatalf("the message %s of a batch is not there", batch[0].ID)
		}
		same(k, "the ids of a batch", order[at:at+size], ids(batch))
	}
}
