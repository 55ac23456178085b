package convmem_test

import (
	"fmt"
	"sync"
	"testing"

	"example.com/convmem"
)

// A session is deleted while others change, delete and write its messages, often in
// the same write to the disk: none of the messages that were there before stays,
// every message is deleted by somebody once, and what was written meanwhile is there
// or counted.
func TestDeleteSessionBesideChanges(t *testing.T) {
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			dbs := handles(t, t.TempDir(), processes)
			for round := range 12 {
				deleteBesideChanges(t, dbs, fmt.Sprint("session ", round))
			}
			if _, err := dbs[0].Verify(ctx, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func deleteBesideChanges(t *testing.T, dbs []*convmem.DB, session string) {
	t.Helper()
	const size = 8
	old, err := dbs[0].WriteBatch(ctx, numberedBatch(session, size))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	deleted, fresh := 0, map[string]bool{}
	count := func(n int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if deleted += n; err != nil && convmem.CodeOf(err) != convmem.CodeNotFound {
			t.Error(err)
		}
	}
	for i := range size {
		db, id := dbs[i%len(dbs)], old.Results[i].Message.ID
		group.Go(func() {
			for revision := range 3 {
				_, err := db.Update(ctx, convmem.UpdateRequest{MessageID: id, Content: new(fmt.Sprint("changed ", revision))})
				count(0, err)
			}
		})
		group.Go(func() {
			if i%4 == 0 {
				r, err := db.Delete(ctx, convmem.DeleteRequest{MessageID: id})
				count(map[bool]int{true: 1}[r.Deleted], err)
			}
			r, err := db.Write(ctx, convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: "new"})
			count(0, err)
			mu.Lock()
			defer mu.Unlock()
			fresh[r.Message.ID] = true
		})
	}
	group.Go(func() {
		r, err := dbs[len(dbs)-1].DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: session})
		count(r.Deleted, err)
	})
	group.Wait()
	page, err := convmem.History(ctx, dbs[0], convmem.HistoryRequest{SessionID: session})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Messages {
		if !fresh[m.ID] {
			t.Errorf("%s: message %s is still there, revision %d", session, m.ID, m.Revision)
		}
	}
	if deleted+len(page.Messages) != size+len(fresh) {
		t.Errorf("%s: %d messages deleted, %d left of %d", session, deleted, len(page.Messages), size+len(fresh))
	}
}
