package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// TestReaderOfACopiedLog opens for reading a directory with nothing but a log in
// it, as a copy or a restore makes it. A process that then opens it for writing
// is followed like any other.
func TestReaderOfACopiedLog(t *testing.T) {
	full := pagedDisk(t)
	disk := vfs.NewMem(0)
	for _, name := range full.Names() {
		if strings.HasSuffix(name, ".log") {
			data, err := full.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := disk.WriteFile(name, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	open := func(how mode) *lab {
		db, err := convmem.Open(context.Background(), "", &convmem.Options{FS: disk, ReadOnly: how == readOnly, Exclusive: how == exclusive})
		if err != nil {
			t.Fatalf("open (%s): %v", how, err)
		}
		t.Cleanup(func() { db.Close() })
		return &lab{kit: &kit{TB: t}, store: db, clock: newClock()}
	}
	reader := open(readOnly)
	writer := open(ordinary)
	new := writer.say(sessionName(0), "new")
	same(t, "messages that the reader sees", ids(reader.all(convmem.HistoryRequest{SessionID: sessionName(0)}))[pagerMessages:], []string{new.ID})
	writer.rebuild()
	next := writer.say(sessionName(0), "newer")
	same(t, "messages that the reader sees after a rebuild", ids(reader.all(convmem.HistoryRequest{SessionID: sessionName(0)}))[pagerMessages:], []string{new.ID, next.ID})
}

// TestIDsAreNotGivenTwice deletes the newest message and rebuilds. A process that
// has only the log to go by, on a machine whose clock was set back, must know
// that the id was given.
func TestIDsAreNotGivenTwice(t *testing.T) {
	p := &pagers{TB: t, disk: vfs.NewMem(0), clock: newClock()}
	p.open(0)
	first := p.lab(0).say("s", "first")
	p.lab(0).remove(first.ID)
	p.lab(0).rebuild()
	if err := p.disk.Remove("convmem.snap"); err != nil {
		t.Fatal(err)
	}
	p.disk = p.disk.Kill()
	p.clock.step(-time.Hour)
	p.open(1)
	defer p.close(1)
	if next := p.lab(1).say("s", "next"); next.ID <= first.ID {
		t.Errorf("the id %s follows %s", next.ID, first.ID)
	}
}
