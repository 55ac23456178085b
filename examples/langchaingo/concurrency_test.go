package langchaingo_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/langchaingo"
	"example.com/convmem/store/storetest"
	"example.com/convmem/store/vfs"
	"github.com/tmc/langchaingo/llms"
)

// Eight goroutines on two handles of one directory add: everything is there once, in
// the order in which each added.
func TestConcurrentAdds(t *testing.T) {
	const goroutines, each = 8, 25
	dir := t.TempDir()
	handles := []*convmem.DB{open(t, dir), open(t, dir)}
	var group sync.WaitGroup
	for g := range goroutines {
		h := langchaingo.NewHistory(handles[g%2], "s")
		group.Go(func() {
			for i := range each {
				if err := h.AddUserMessage(ctx, fmt.Sprintf("%d %d", g, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, db := range handles {
		var next [goroutines]int
		for _, m := range messages(t, langchaingo.NewHistory(db, "s")) {
			var g, i int
			_, err := fmt.Sscanf(m.GetContent(), "%d %d", &g, &i)
			ok(t, "scan", err)
			same(t, fmt.Sprintf("of goroutine %d", g), i, next[g])
			next[g]++
		}
		same(t, "messages of each", next, [goroutines]int{each, each, each, each, each, each, each, each})
	}
}

// Two handles replace the list, each by its own, by trims too, and two read: every
// list that is seen is one that was set, whole.
func TestConcurrentSets(t *testing.T) {
	const rounds = 10
	dir := t.TempDir()
	handles := []*convmem.DB{open(t, dir), open(t, dir)}
	ok(t, "set", langchaingo.NewHistory(handles[0], "s").SetMessages(ctx, humans("a1 a2 a3 a4 a5 a6")))
	allowed := map[string]bool{}
	for _, w := range []string{"a", "b"} {
		allowed[fmt.Sprintf("%[1]s1 %[1]s2 %[1]s3 %[1]s4 %[1]s5 %[1]s6", w)] = true
		allowed[fmt.Sprintf("%[1]s4 %[1]s5 %[1]s6", w)] = true
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for i, w := range []string{"a", "b"} {
		h := langchaingo.NewHistory(handles[i], "s")
		writers.Go(func() {
			whole := humans(fmt.Sprintf("%[1]s1 %[1]s2 %[1]s3 %[1]s4 %[1]s5 %[1]s6", w))
			for range rounds {
				for _, list := range [][]llms.ChatMessage{whole, whole[3:]} {
					if err := h.SetMessages(ctx, list); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	seen := make([]int, 2)
	for i := range seen {
		h := langchaingo.NewHistory(handles[i], "s")
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				list, err := h.Messages(ctx)
				var words []string
				for _, m := range list {
					words = append(words, m.GetContent())
				}
				if err != nil || !allowed[strings.Join(words, " ")] {
					t.Errorf("read %v, %v", words, err)
					return
				}
				seen[i]++
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	t.Logf("%d replacements, %d reads", 4*rounds, seen[0]+seen[1])
	h := langchaingo.NewHistory(handles[0], "s")
	ok(t, "set", h.SetMessages(ctx, humans("x")))
	same(t, "stored", len(raw(t, handles[1], "s")), 1)
}

// small opens a store whose pages have few messages.
func small(t *testing.T) *convmem.DB {
	t.Helper()
	db, err := convmem.Open(ctx, "", &convmem.Options{FS: vfs.NewMem(0), MaxResultBytes: 400})
	ok(t, "open", err)
	t.Cleanup(func() { db.Close() })
	return db
}

// Between any two pages of a reader another handle replaces the list, wholly or as far
// as the fifth of its deletions, after which it dies: the reader sees one list, whole.
func TestReplacedBetweenPages(t *testing.T) {
	const old = "a b c d e f g h i j k l m n"
	trimmed := strings.TrimPrefix(old, "a b c d e f g ")
	points := 0
	for _, new := range []string{trimmed, "x y", "x y z " + old, ""} {
		for _, dies := range []bool{false, true} {
			for page := 1; ; page++ {
				db := small(t)
				sound := langchaingo.NewHistory(db, "s")
				ok(t, "set", sound.SetMessages(ctx, humans(old)))
				dying := &calls{Store: db}
				reader := &calls{Store: db}
				changed := false
				reader.before = func(string) error {
					if reader.reads.Load() != int64(page) {
						return nil
					}
					changed = true
					if dies {
						deletes := 0
						dying.before = func(method string) error {
							if method == "delete" {
								deletes++
							}
							if deletes > 5 {
								return &convmem.Error{Code: convmem.CodeIO, Err: errDisk}
							}
							return nil
						}
					}
					err := langchaingo.NewHistory(dying, "s").SetMessages(ctx, humans(new))
					if err != nil && !dies {
						t.Error(err)
					}
					return nil
				}
				got := texts(t, langchaingo.NewHistory(reader, "s"))
				if got != old && got != new {
					t.Fatalf("to %q before page %d, dying %v: read %q", new, page, dies, got)
				}
				if !changed {
					break
				}
				points++
			}
		}
	}
	t.Logf("%d points between pages", points)
	if points < 40 {
		t.Errorf("%d points between pages: the store has fewer pages than meant", points)
	}
}

// A history that changes through every attempt is BUSY in the end, after ten of
// them. A read that fails before is that failure, in the last attempt too.
func TestAlwaysReplacedBetweenPages(t *testing.T) {
	reads := 0
	for n := 0; n <= reads; n++ { // the read that fails; 0: none
		db := small(t)
		sound := langchaingo.NewHistory(db, "s")
		ok(t, "set", sound.SetMessages(ctx, humans(strings.Repeat("r0 ", 8))))
		reader := &calls{Store: db}
		round := 0
		reader.before = func(string) error {
			if round++; round == n {
				return &convmem.Error{Op: "read", Code: convmem.CodeIO, Err: errDisk}
			}
			return sound.SetMessages(ctx, humans(strings.Repeat(fmt.Sprintf("r%d ", round), 8)))
		}
		_, err := langchaingo.NewHistory(reader, "s").Messages(ctx)
		if n == 0 {
			fails(t, "messages", err, convmem.CodeBusy, "messages")
			reads = int(reader.reads.Load())
			same(t, "reads", reads, 20) // two pages in each attempt
		} else if !errors.Is(err, errDisk) {
			t.Errorf("read %d of %d failed: got %v", n, reads, err)
		}
	}
	t.Logf("%d reads, each failed once", reads)
}

// Something happens between the read of a SetMessages and its change. A trim drops
// what it read and touches nothing newer: no trimmed text comes back, and nothing
// that was added is lost. Nothing is left behind.
func TestChangedDuringSetMessages(t *testing.T) {
	type change = func(h *langchaingo.History, db *convmem.DB) error
	clear := func(h *langchaingo.History, _ *convmem.DB) error { return h.Clear(ctx) }
	set := func(words string) change {
		return func(h *langchaingo.History, _ *convmem.DB) error { return h.SetMessages(ctx, humans(words)) }
	}
	add := func(h *langchaingo.History, _ *convmem.DB) error { return h.AddUserMessage(ctx, "g") }
	setAndAdd := func(h *langchaingo.History, db *convmem.DB) error { return errors.Join(set("e f")(h, db), add(h, db)) }
	deleteAt := func(places ...int) change {
		return func(_ *langchaingo.History, db *convmem.DB) error {
			all := raw(t, db, "s")
			for _, i := range places {
				if err := remove(db, all[i].ID); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, c := range []struct {
		name, before, new, want string
		change                  change
	}{
		{"trim and add", "update", "c d e f", "c d e f g", add},
		{"two trims", "update", "c d e f", "e f", set("e f")},
		{"two trims, the other smaller", "update", "e f", "e f", set("c d e f")},
		{"two trims and add", "update", "c d e f", "e f g", setAndAdd},
		{"the last dropped one is deleted", "update", "d e f", "d e f", deleteAt(2)},
		{"only the first dropped one is left", "update", "d e f", "d e f", deleteAt(1, 2)},
		{"all dropped ones are deleted", "update", "d e f", "d e f", deleteAt(0, 1, 2)},
		{"a kept one is deleted", "update", "d e f", "d f", deleteAt(4)},
		{"trim and clear", "update", "c d e f", "", clear},
		{"trim and another list", "update", "c d e f", "x y", set("x y")},
		{"trim by one, twice", "delete", "b c d e f", "b c d e f", set("b c d e f")},
		{"trim by one, and clear", "delete", "b c d e f", "", clear},
		{"another list and add", "batch", "x y", "x y", add},
		{"another list and trim", "batch", "x y", "x y", set("e f")},
		{"two other lists", "batch", "x y", "x y", set("u v w")},
		{"more and trim", "batch", "a b c d e f x", "e f x", set("e f")},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := storetest.Open(t)
			other := langchaingo.NewHistory(db, "s")
			ok(t, "set", other.SetMessages(ctx, humans("a b c d e f")))
			changed := &calls{Store: db}
			changed.before = func(method string) error {
				if method != c.before {
					return nil
				}
				changed.before = nil
				return c.change(other, db)
			}
			ok(t, "set", langchaingo.NewHistory(changed, "s").SetMessages(ctx, humans(c.new)))
			if changed.before != nil {
				t.Fatalf("no %s was made", c.before)
			}
			same(t, "messages", texts(t, other), c.want)
			same(t, "stored", len(raw(t, db, "s")), len(strings.Fields(c.want)))
		})
	}
}

func remove(db *convmem.DB, id string) error {
	_, err := db.Delete(ctx, convmem.DeleteRequest{MessageID: id})
	return err
}
