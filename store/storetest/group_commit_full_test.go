package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// TestFullBatches queues more than one batch takes. The rest follows in the next
// one, in order, and its fate is its own.
func TestFullBatches(t *testing.T) {
	for _, c := range []struct {
		name        string
		calls, size int
		failing     int // the sync that fails, counted from that of the first call; -1: none
		ok, syncs   int
	}{
		{"too many bytes", 10, convmem.MaxContentBytes, -1, 11, 3},
		{"too many bytes, the first batch fails", 10, convmem.MaxContentBytes, 1, 1, 2},
		{"too many bytes, the second batch fails", 10, convmem.MaxContentBytes, 2, 8, 3},
		{"too many changes", 1030, 10, -1, 1031, 3},
		{"too many changes, the second batch fails", 1030, 10, 2, 1025, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(t)
				if c.failing >= 0 {
					q.fsys.Inject(faultfs.Fault{Kind: faultfs.Sync, N: c.failing, Match: func(op faultfs.Op) bool { return isLog(op.Name) }})
				}
				results, errs := q.writeBehindEachOther(c.calls+1, c.size)
				q.check(results, errs, c.ok)
				same(t, "syncs", q.syncs()-q.from, c.syncs)
			})
		})
	}
}

// queued is a store whose next sync is held up.
type queued struct {
	*testing.T
	fsys *faultfs.FS
	gate *gate
	db   *convmem.DB
	from int // syncs so far
}

func newQueue(t *testing.T) *queued {
	q := &queued{T: t, fsys: faultfs.New(vfs.NewMem(0)), gate: &gate{opened: make(chan struct{})}}
	q.fsys.Before = q.gate.before
	db, err := convmem.Open(context.Background(), "", &convmem.Options{FS: q.fsys})
	if err != nil {
		t.Fatal(err)
	}
	q.db, q.from = db, q.syncs()
	return q
}

func (q *queued) syncs() (n int) {
	for _, op := range q.fsys.Ops() {
		if op.Kind == faultfs.SyncData && isLog(op.Name) {
			n++
		}
	}
	return n
}

// writeBehindEachOther makes n writes, each once the one before has been queued.
func (q *queued) writeBehindEachOther(n, size int) ([]convmem.WriteResult, []error) {
	results, errs := make([]convmem.WriteResult, n), make([]error, n)
	q.gate.armed.Store(true)
	for i := range n {
		content := fmt.Sprint(i)
		content += strings.Repeat(" ", size-len(content))
		go func() {
			results[i], errs[i] = q.db.Write(context.Background(), convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: content})
		}()
		synctest.Wait()
	}
	close(q.gate.opened)
	synctest.Wait()
	return results, errs
}

// check fails unless the first ok writes, and no others, succeeded, with rising
// ids, and are what readers see.
func (q *queued) check(results []convmem.WriteResult, errs []error, ok int) {
	for i, err := range errs {
		want := convmem.Code("")
		if i >= ok {
			want = convmem.CodeIO
		}
		if convmem.CodeOf(err) != want {
			q.Fatalf("write %d of %d: got error %v, want code %q", i, len(errs), err, want)
		}
		if i > 0 && i < ok && results[i].Message.ID <= results[i-1].Message.ID {
			q.Errorf("write %d got the id %s after %s", i, results[i].Message.ID, results[i-1].Message.ID)
		}
	}
	l := &lab{kit: &kit{TB: q.T}, store: q.db}
	seen := l.all(convmem.HistoryRequest{SessionID: "s", Limit: convmem.MaxReadLimit})
	same(q, "messages", len(seen), ok)
	for i, m := range seen[:min(ok, len(seen))] {
		if m.ID != results[i].Message.ID || strings.TrimSpace(m.Content) != fmt.Sprint(i) {
			q.Errorf("message %d is %s, %.20q; want %s", i, m.ID, m.Content, results[i].Message.ID)
		}
	}
}
