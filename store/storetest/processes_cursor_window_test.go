package storetest

import (
	"context"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/vfs/faultfs"
)

// TestSessionPagesWhileARebuildEnds deletes the newest message of the last
// session of page one and rebuilds. A process that was idle meanwhile reads page
// two before each of the rebuild's file operations: the session must not come
// again, also between the new log and the snapshot that goes with it, and also
// when the rebuilding process is killed there.
func TestSessionPagesWhileARebuildEnds(t *testing.T) {
	for _, killed := range []bool{false, true} {
		for n, more := 0, true; more && !t.Failed(); n++ {
			more = pageDuringRebuild(t, n, killed)
		}
	}
}

// pageDuringRebuild reports whether the rebuild has an n-th operation.
func pageDuringRebuild(t *testing.T, n int, killed bool) (reached bool) {
	p := &pagers{TB: t, disk: pagedDisk(t), clock: newClock()}
	for i := range 2 {
		p.open(i)
		defer p.close(i)
	}
	fsys := faultfs.New(p.disk)
	db, err := convmem.Open(context.Background(), "", &convmem.Options{FS: fsys, Now: p.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	p.dbs[2] = db
	r := convmem.SessionsRequest{Limit: 2}
	r.Cursor = p.lab(0).sessions(r).NextCursor
	p.removeNewest(sessionName(2))
	want := []string{sessionName(1), sessionName(0)}
	look := func(op faultfs.Op) {
		var got []string
		for _, info := range p.lab(1).sessions(r).Sessions {
			got = append(got, info.SessionID)
		}
		same(t, "killed "+map[bool]string{true: "at ", false: "never, page two before "}[killed]+op.String(), got, want)
	}
	first := len(fsys.Ops()) + n
	fsys.Before = func(op faultfs.Op) error {
		if op.Index == first {
			reached = true
			if killed {
				fsys.Kill()
			}
			look(op)
		}
		return nil
	}
	if _, err := db.Rebuild(context.Background(), convmem.RebuildRequest{}); err != nil && !killed {
		t.Errorf("rebuild: %v", err)
	}
	fsys.Before = nil
	if killed && reached {
		// A writer settles what the kill left; then the idle one goes on.
		p.lab(0).say(sessionName(3), "new")
		look(faultfs.Op{Index: first, Kind: "killed, then a write by another"})
		return reached
	}
	p.close(2)
	return reached
}
