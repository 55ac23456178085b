package convmem_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// life is a store's life in short: every kind of change, a rebuild, a restart.
// It knows what was acknowledged.
type life struct {
	fsys vfs.FS
	db   *convmem.DB
	held map[string]string // acknowledged contents by id
	// next is held with the change under way, whose id may not be known yet.
	next map[string]string
	ids  []string
}

func newLife(fsys vfs.FS) *life {
	return &life{fsys: fsys, held: map[string]string{}, next: map[string]string{}}
}

// unknownID stands in next for a message that is being written.
const unknownID = ""

func (l *life) open() (err error) {
	l.db, err = convmem.Open(ctx, "", &convmem.Options{FS: l.fsys, LockWait: time.Nanosecond})
	return err
}

func (l *life) write(content string) func() error {
	return func() error {
		l.next[unknownID] = content
		r, err := l.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: content})
		if err == nil {
			delete(l.next, unknownID)
			l.next[r.Message.ID] = content
			l.ids = append(l.ids, r.Message.ID)
		}
		return err
	}
}

func (l *life) update(i int, content string) func() error {
	return func() error {
		l.next[l.ids[i]] = content
		_, err := l.db.Update(ctx, convmem.UpdateRequest{MessageID: l.ids[i], Content: &content})
		return err
	}
}

func (l *life) remove(i int) func() error {
	return func() error {
		delete(l.next, l.ids[i])
		_, err := l.db.Delete(ctx, convmem.DeleteRequest{MessageID: l.ids[i]})
		return err
	}
}

func (l *life) rebuild() error {
	_, err := l.db.Rebuild(ctx, convmem.RebuildRequest{})
	return err
}

// run lives until something fails. After an error, held and next are the two
// contents that may be found.
func (l *life) run() error {
	for _, step := range []func() error{
		l.open, l.write("one"), l.write("two"), l.update(0, "one, changed"), l.write("three"), l.remove(1),
		l.rebuild, l.write("four"), func() error { return l.db.Close() }, l.open, l.write("five"), l.rebuild,
	} {
		l.next = maps.Clone(l.held)
		if err := step(); err != nil {
			return err
		}
		l.held = l.next
	}
	return nil
}

// survived opens what is left and compares it with what may be there.
func (l *life) survived(left *vfs.Mem) error {
	after := newLife(left)
	if err := after.open(); err != nil {
		return err
	}
	defer after.db.Close()
	page, err := convmem.History(ctx, after.db, convmem.HistoryRequest{SessionID: "s"})
	if err != nil {
		return err
	}
	found := map[string]string{}
	for _, m := range page.Messages {
		found[m.ID] = m.Content
	}
	if maps.Equal(found, l.held) || maps.Equal(l.renamed(found), l.next) {
		return nil
	}
	return fmt.Errorf("found %v, acknowledged %v, under way %v", found, l.held, l.next)
}

// renamed gives the message whose id nobody was told the name it has in next.
func (l *life) renamed(found map[string]string) map[string]string {
	content, writing := l.next[unknownID]
	found = maps.Clone(found)
	for id, text := range found {
		if _, known := l.held[id]; writing && !known && text == content {
			delete(found, id)
			found[unknownID] = text
		}
	}
	return found
}

// The power is cut before every file operation of a whole life.
func TestPowerCutsThroughALife(t *testing.T) {
	withoutRaceDetector(t)
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	l := newLife(fsys)
	r := rand.New(rand.NewPCG(1, 2))
	points, images := 0, 0
	look := func() {
		points++
		left := []*vfs.Mem{disk.Kill()}
		for range 12 {
			left = append(left, disk.CrashImage(r))
		}
		for _, m := range left {
			images++
			if err := l.survived(m); err != nil {
				t.Fatalf("point %d: %v", points, err)
			}
		}
	}
	fsys.Before = func(op faultfs.Op) error {
		if op.Kind != faultfs.Read {
			look()
		}
		return nil
	}
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	look()
	t.Logf("%d points, %d images", points, images)
}

// Every file operation of a life fails, in every way: the call is an IO_ERROR,
// and what was acknowledged is there afterwards.
func TestFailuresAreIOErrors(t *testing.T) {
	withoutRaceDetector(t)
	for name, effect := range map[string]faultfs.Effect{
		"not done": faultfs.NotDone, "short": faultfs.Short, "done": faultfs.Done, "lost": faultfs.Lost,
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				disk := vfs.NewMem(0)
				fsys := faultfs.New(disk)
				fsys.Inject(faultfs.Fault{N: n, Effect: effect})
				l := newLife(fsys)
				err := l.run()
				if fsys.Fired() == 0 {
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%d operations", n)
					return
				}
				if err != nil && convmem.CodeOf(err) != convmem.CodeIO {
					t.Fatalf("operation %d (%v): %v", n, fsys.Ops()[n], err)
				}
				fsys.Kill()
				for _, left := range []*vfs.Mem{disk.Kill(), disk.CrashImage(rand.New(rand.NewPCG(1, uint64(n))))} {
					if err := l.survived(left); err != nil {
						t.Fatalf("operation %d (%v): %v", n, fsys.Ops()[n], err)
					}
				}
			}
		})
	}
}
