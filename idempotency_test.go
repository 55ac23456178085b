package convmem_test

import (
	"fmt"
	"sync"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

const keyCallers = 64

// handles opens a directory several times, as so many processes do.
func handles(t *testing.T, dir string, n int) (dbs []*convmem.DB) {
	t.Helper()
	for range n {
		db, err := convmem.Open(ctx, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		dbs = append(dbs, db)
	}
	return dbs
}

// callAtOnce calls write from many goroutines and returns the messages that were
// new and those that were replays.
func callAtOnce(t *testing.T, write func(i int) (convmem.WriteResult, error)) (fresh, replays []convmem.Message) {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range keyCallers {
		group.Go(func() {
			result, err := write(i)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Errorf("caller %d: %v", i, err)
			case result.Replayed:
				replays = append(replays, result.Message)
			default:
				fresh = append(fresh, result.Message)
			}
		})
	}
	group.Wait()
	return fresh, replays
}

// One key, 64 callers at once, one process or two, in the store itself and in a
// namespace, alone and in batches: one message, and everybody is told of it, then
// and in every later life.
func TestOneMessageForAKey(t *testing.T) {
	r := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleTool, Content: "once", IdempotencyKey: "key", Payload: convmem.Payload{Type: "t", Data: []byte{1}}}
	single := func(n *convmem.Namespace) (convmem.WriteResult, error) { return n.Write(ctx, r) }
	batch := func(n *convmem.Namespace) (convmem.WriteResult, error) {
		result, err := n.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: []convmem.WriteRequest{
			{SessionID: "s", Role: convmem.RoleUser, Content: "beside"}, r, {SessionID: "s", Role: convmem.RoleUser, Content: "beside"},
		}})
		if err != nil {
			return convmem.WriteResult{}, err
		}
		return result.Results[1], nil
	}
	for name, write := range map[string]func(*convmem.Namespace) (convmem.WriteResult, error){"writes": single, "batches": batch} {
		for _, processes := range []int{1, 2} {
			for _, namespace := range []string{"", "n"} {
				t.Run(fmt.Sprintf("%s, processes %d, namespace %q", name, processes, namespace), func(t *testing.T) {
					dir := t.TempDir()
					dbs := handles(t, dir, processes)
					at := func(i int) *convmem.Namespace { return dbs[i%len(dbs)].Namespace(namespace) }
					fresh, replays := callAtOnce(t, func(i int) (convmem.WriteResult, error) { return write(at(i)) })
					if len(fresh) != 1 || len(replays) != keyCallers-1 {
						t.Fatalf("%d new messages, %d replays", len(fresh), len(replays))
					}
					for _, replay := range replays {
						if diff := cmp.Diff(fresh[0], replay); diff != "" {
							t.Fatalf("a replay (-first +replay):\n%s", diff)
						}
					}
					keyedLater(t, dir, dbs, namespace, r, fresh[0])
				})
			}
		}
	}
}

// keyedLater repeats a request after a restart, after a rebuild and after both,
// again by many at once, and uses the key again once its session is deleted.
func keyedLater(t *testing.T, dir string, dbs []*convmem.DB, namespace string, r convmem.WriteRequest, want convmem.Message) {
	t.Helper()
	replay := func(when string) {
		t.Helper()
		fresh, replays := callAtOnce(t, func(i int) (convmem.WriteResult, error) {
			return dbs[i%len(dbs)].Namespace(namespace).Write(ctx, r)
		})
		if len(fresh) != 0 {
			t.Errorf("%s: %d new messages", when, len(fresh))
		}
		for _, got := range replays {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
				return
			}
		}
		other := r
		other.Payload.Data = []byte{2}
		_, err := dbs[0].Namespace(namespace).Write(ctx, other)
		if convmem.CodeOf(err) != convmem.CodeConflict {
			t.Errorf("%s: another request: %v", when, err)
		}
	}
	reopen := func() {
		for _, db := range dbs {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		dbs = handles(t, dir, len(dbs))
	}
	reopen()
	replay("after a restart")
	if _, err := dbs[0].Rebuild(ctx, convmem.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	replay("after a rebuild")
	reopen()
	replay("after both")
	_, err := dbs[len(dbs)-1].Namespace(namespace).DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := dbs[0].Namespace(namespace).Write(ctx, r)
	if err != nil || again.Replayed {
		t.Fatalf("the key of a deleted session: %+v, %v", again, err)
	}
	want = again.Message
	replay("for the new message")
}
