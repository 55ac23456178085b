package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"example.com/convmem"
)

func concurrencyChecks() []check {
	return []check{
		{"concurrency/writers, readers and rebuilds", checkEverybody},
		{"concurrency/one winner per revision", checkOneWinner},
		{"concurrency/one message per key", checkOneMessage},
		{"concurrency/one delete", checkOneDelete},
		{"concurrency/paging beside writers", checkPagingBesideWriters},
	}
}

// together runs n functions at once and waits for all.
func together(n int, do func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

// beside runs work, and the others over and over until work is done. The
// others stop when they return false.
func beside(work func(), others ...func() bool) {
	done := make(chan struct{})
	var group sync.WaitGroup
	for _, other := range others {
		group.Go(func() {
			for other() {
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	work()
	close(done)
	group.Wait()
}

const (
	writers  = 4
	messages = 12 // per writer
)

// writeAtOnce lets several writers write to sessions of their own and one in
// common, and returns what was acknowledged, by session.
func (l *lab) writeAtOnce() map[string][]convmem.Message {
	var mu sync.Mutex
	acknowledged := map[string][]convmem.Message{}
	together(writers, func(w int) {
		for i := range messages {
			session := []string{"common", fmt.Sprint("session ", w)}[i%2]
			result, err := l.store.Write(l.ctx(), convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: fmt.Sprintf("quartz %d of %d", i, w)})
			if err != nil {
				l.Errorf("write %d of writer %d: %v", i, w, err)
				return
			}
			mu.Lock()
			acknowledged[session] = append(acknowledged[session], result.Message)
			mu.Unlock()
		}
	})
	return acknowledged
}

// checkEverybody lets writers, readers, searches and rebuilds meet. Every
// acknowledged message is there once, and every reader sees an order that
// holds.
func checkEverybody(k *kit) {
	l := k.open()
	var acknowledged map[string][]convmem.Message
	beside(func() { acknowledged = l.writeAtOnce() },
		func() bool {
			result, err := l.store.Read(l.ctx(), convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "common", Limit: 1000}})
			if err != nil {
				k.Errorf("read: %v", err)
				return false
			}
			return k.rising(result.History.Messages)
		},
		func() bool {
			result, err := l.store.Search(l.ctx(), convmem.SearchRequest{Query: "quartz", Limit: 100})
			if err != nil {
				k.Errorf("search: %v", err)
				return false
			}
			k.wellRanked("beside writers", result.Hits)
			return !k.Failed()
		},
		func() bool {
			_, err := l.store.Rebuild(l.ctx(), convmem.RebuildRequest{})
			if err != nil && convmem.CodeOf(err) != convmem.CodeBusy {
				k.Errorf("rebuild: %v", err)
			}
			return !k.Failed()
		},
	)
	l.complete("at once", acknowledged)
	l.reopen()
	l.complete("after a restart", acknowledged)
}

// rising reports whether ids rise and fails if they do not.
func (k *kit) rising(list []convmem.Message) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1].ID >= list[i].ID {
			k.Errorf("message %d of %d: id %s follows %s", i, len(list), list[i].ID, list[i-1].ID)
			return false
		}
	}
	return true
}

// complete fails unless every acknowledged message is there exactly once, as
// it was answered, and nothing else is.
func (l *lab) complete(when string, acknowledged map[string][]convmem.Message) {
	l.Helper()
	seen := map[string]bool{}
	for session, expected := range acknowledged {
		slices.SortFunc(expected, func(a, b convmem.Message) int { return strings.Compare(a.ID, b.ID) })
		same(l, session+" "+when, l.all(convmem.HistoryRequest{SessionID: session}), expected)
		for _, message := range expected {
			if seen[message.ID] {
				l.Errorf("the id %s was given twice", message.ID)
			}
			seen[message.ID] = true
		}
	}
	same(l, "messages "+when, len(seen), writers*messages)
	same(l, "active messages "+when, l.health().ActiveMessages, int64(writers*messages))
	found := l.found(convmem.SearchRequest{Query: "quartz", Limit: 100})
	slices.Sort(found)
	same(l, "found "+when, len(slices.Compact(found)), writers*messages)
}

// checkOneWinner lets everybody make the same step from revision to revision.
func checkOneWinner(k *kit) {
	l := k.open()
	message := l.say("s", "quartz")
	for revision := int64(1); revision <= 8; revision++ {
		var results [6]convmem.UpdateResult
		var errs [6]error
		together(6, func(i int) {
			content := fmt.Sprintf("revision %d by %d", revision+1, i)
			results[i], errs[i] = l.store.Update(l.ctx(), convmem.UpdateRequest{MessageID: message.ID, Content: &content, ExpectedRevision: revision})
		})
		winners := 0
		for i, err := range errs {
			if err == nil {
				winners++
				same(k, "the winner's message", l.get(message.ID), results[i].Message)
				continue
			}
			if fault := k.fails("a loser", err, convmem.CodeConflict, ""); fault != nil {
				same(k, "the revision that beat it", fault.Revision, revision+1)
			}
		}
		same(k, "winners", winners, 1)
	}
}

// checkOneMessage writes one request with one key many times at once: one
// call writes and the others replay it.
func checkOneMessage(k *kit) {
	l := k.open()
	for round := range 6 {
		var results [6]convmem.WriteResult
		together(6, func(i int) {
			var err error
			results[i], err = l.store.Write(l.ctx(), keyed(func(r *convmem.WriteRequest) { r.IdempotencyKey = fmt.Sprint("key ", round) }))
			if err != nil {
				k.Errorf("write: %v", err)
			}
		})
		first := 0
		for _, result := range results {
			if !result.Replayed {
				first++
			}
			same(k, "the message", result.Message, results[0].Message)
		}
		same(k, "writes that were no replay", first, 1)
	}
	same(k, "messages", len(l.all(convmem.HistoryRequest{SessionID: "s"})), 6)
}

// checkOneDelete deletes each message many times at once: one call finds
// something to delete.
func checkOneDelete(k *kit) {
	l := k.open()
	for _, message := range l.sayAll("s", numbered(6)...) {
		var results [6]convmem.DeleteResult
		together(6, func(i int) {
			var err error
			if results[i], err = l.store.Delete(l.ctx(), convmem.DeleteRequest{MessageID: message.ID}); err != nil {
				k.Errorf("delete: %v", err)
			}
		})
		deleted := 0
		for _, result := range results {
			if result.Deleted {
				deleted++
			}
		}
		same(k, "deletes that deleted", deleted, 1)
	}
	same(k, "deleted messages", l.health().DeletedMessages, 6)
}

// checkPagingBesideWriters pages through 30 messages while others are written:
// each of the 30 comes exactly once, and in order.
func checkPagingBesideWriters(k *kit) {
	l := k.open()
	first := l.sayAll("common", numbered(30)...)
	last := first[len(first)-1].ID
	beside(func() { l.writeAtOnce() }, func() bool {
		r := convmem.HistoryRequest{SessionID: "common", Limit: 7}
		var seen []convmem.Message
		for len(seen) < len(first) {
			result, err := l.store.Read(l.ctx(), convmem.ReadRequest{History: &r})
			if err != nil || len(result.History.Messages) == 0 {
				k.Errorf("read after %d messages: %v", len(seen), err)
				return false
			}
			seen = append(seen, result.History.Messages...)
			if r.Cursor = result.History.NextCursor; r.Cursor == "" {
				break
			}
		}
		old := slices.DeleteFunc(slices.Clone(seen), func(m convmem.Message) bool { return m.ID > last })
		if slices.Equal(ids(old), ids(first)) {
			return k.rising(seen)
		}
		k.Errorf("paging visited %d of %d messages", len(old), len(first))
		return false
	})
}
