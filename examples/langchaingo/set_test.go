package langchaingo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/langchaingo"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"
)

// replacement is a SetMessages and what it may cost.
type replacement struct {
	name, old, new                    string
	batches, updates, deletes, clears int64
}

func replacements() []replacement {
	return []replacement{
		{"the same", "a b c", "a b c", 0, 0, 0, 0},
		{"the first list", "", "a b c", 1, 0, 0, 0},
		{"more", "a b", "a b c d", 1, 0, 0, 0},
		{"without one", "a b c d", "b c d", 0, 0, 1, 0},
		{"without one of equal ones", "a a a a", "a a a", 0, 0, 1, 0},
		{"without two", "a b c d", "c d", 0, 1, 2, 0},
		{"all but the last", "a b c d e f", "f", 0, 1, 5, 0},
		{"without two, with one more", "a b c d", "c d e", 1, 0, 5, 0},
		{"without the last", "a b c", "a b", 1, 0, 4, 0},
		{"another order", "a b c", "b a c", 1, 0, 4, 0},
		{"something else", "a b c", "x y", 1, 0, 4, 0},
		{"something longer", "a b", "x y z", 1, 0, 3, 0},
		{"nothing", "a b c", "", 0, 0, 0, 1},
		{"nothing of nothing", "", "", 0, 0, 0, 1},
	}
}

// The new list stands, in every handle and after a reopen, at the stated cost, and
// nothing is left behind. Ids of messages that stay do not change.
func TestSetMessages(t *testing.T) {
	for _, r := range replacements() {
		t.Run(r.name, func(t *testing.T) {
			dir := t.TempDir()
			db, second := open(t, dir), open(t, dir)
			ok(t, "set", langchaingo.NewHistory(db, "s").SetMessages(ctx, humans(r.old)))
			c := &calls{Store: db}
			h := langchaingo.NewHistory(c, "s")
			list := humans(r.new)
			ok(t, "set", h.SetMessages(ctx, list))
			same(t, "the caller's list", list, humans(r.new))
			same(t, "batches, updates, deletes, clears, all changes",
				[]int64{c.batches.Load(), c.updates.Load(), c.deletes.Load(), c.clears.Load(), c.changes()},
				[]int64{r.batches, r.updates, r.deletes, r.clears, r.batches + r.updates + r.deletes + r.clears})
			same(t, "another handle", messages(t, langchaingo.NewHistory(second, "s")), list)
			same(t, "stored", len(raw(t, second, "s")), len(list))
			ok(t, "close", db.Close())
			ok(t, "close", second.Close())
			same(t, "reopened", messages(t, langchaingo.NewHistory(open(t, dir), "s")), list)
		})
	}
}

// The store dies at every single call of every replacement, or fails once there.
// The list is the old or the new one, the error has the cause, and the next
// SetMessages or Clear leaves nothing behind.
func TestSetMessagesThroughFailures(t *testing.T) {
	points, old, new := 0, 0, 0
	for _, r := range replacements() {
		for n := 1; ; n++ {
			dies := &calls{}
			dies.failFrom(n)
			failsOnce := &calls{}
			failsOnce.failAt(n)
			if !failure(t, r, n, dies, &old, &new) {
				break
			}
			failure(t, r, n, failsOnce, &old, &new)
			points += 2
		}
	}
	t.Logf("%d failures: the old list stood %d times, the new one %d times", points, old, new)
	if old == 0 || new == 0 {
		t.Error("one of the outcomes was never seen")
	}
}

// failure runs one replacement on a failing store and reports whether it failed.
func failure(t *testing.T, r replacement, n int, c *calls, old, new *int) bool {
	t.Helper()
	db := storetest.Open(t)
	sound := langchaingo.NewHistory(db, "s")
	ok(t, "set", sound.SetMessages(ctx, humans(r.old)))
	c.Store = db
	err := langchaingo.NewHistory(c, "s").SetMessages(ctx, humans(r.new))
	if err == nil {
		return false
	}
	what := fmt.Sprintf("%s, call %d", r.name, n)
	fails(t, what, err, convmem.CodeIO, "set messages")
	if !errors.Is(err, errDisk) {
		t.Fatalf("%s: the cause is missing: %v", what, err)
	}
	switch got := texts(t, sound); {
	case got == r.old:
		*old++
	case got == r.new:
		*new++
	default:
		t.Fatalf("%s: got %q, want %q or %q", what, got, r.old, r.new)
	}
	ok(t, what+", added", sound.AddUserMessage(ctx, "z"))
	after := append(messages(t, sound)[1:], humans("y")...)
	ok(t, what+", set again", sound.SetMessages(ctx, after))
	same(t, what+", messages", messages(t, sound), after)
	same(t, what+", stored", len(raw(t, db, "s")), len(after))
	return true
}

// What a dead process left behind does not come back, whatever is set next and
// whatever other programs delete.
func TestLeftoversDoNotComeBack(t *testing.T) {
	for _, left := range []string{"c d", "x y"} {
		for _, next := range []string{"", left, left[2:], left + " e", "z", left[:1]} {
			t.Run(left+" to "+next, func(t *testing.T) {
				db := storetest.Open(t)
				h := langchaingo.NewHistory(db, "s")
				ok(t, "set", h.SetMessages(ctx, humans("a b c d")))
				c := &calls{Store: db}
				c.failFrom(4) // read, mark, read, then the first Delete
				fails(t, "set", langchaingo.NewHistory(c, "s").SetMessages(ctx, humans(left)), convmem.CodeIO)
				same(t, "messages", texts(t, h), left)

				again := &calls{Store: db}
				again.failFrom(3) // read, one of the leftovers, not the second
				if next != "" {
					fails(t, "set", langchaingo.NewHistory(again, "s").SetMessages(ctx, humans(next)), convmem.CodeIO)
				}
				same(t, "messages", texts(t, h), left)
				all := raw(t, db, "s")
				ok(t, "delete", remove(db, all[len(all)-2].ID))
				same(t, "messages without the first", texts(t, h), left[2:])
				ok(t, "set", h.SetMessages(ctx, humans(next)))
				same(t, "messages", texts(t, h), next)
				same(t, "stored", len(raw(t, db, "s")), len(strings.Fields(next)))
			})
		}
	}
}

// deletions is a store that notes what is deleted.
type deletions struct {
	*convmem.DB
	ids []string
}

func (d *deletions) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	d.ids = append(d.ids, r.MessageID)
	return d.DB.Delete(ctx, r)
}

// What is replaced goes from the oldest to the newest, the mark last, and nothing
// else goes: at once, and where the next SetMessages cleans up.
func TestOrderOfDeletion(t *testing.T) {
	for _, new := range []string{"d e", "x y"} {
		db := storetest.Open(t)
		d := &deletions{DB: db}
		h := langchaingo.NewHistory(d, "s")
		for _, died := range []bool{false, true} {
			ok(t, "clear", h.Clear(ctx))
			ok(t, "set", h.SetMessages(ctx, humans("a b c d e")))
			c := &calls{Store: d}
			if died {
				c.failFrom(4)
			}
			err := langchaingo.NewHistory(c, "s").SetMessages(ctx, humans(new))
			same(t, "failed", err != nil, died)
			var want []string
			if died {
				all := raw(t, db, "s")
				for _, m := range all[:len(all)-2] {
					want = append(want, m.ID)
				}
				d.ids = nil
				ok(t, "set again", h.SetMessages(ctx, humans(new)))
				same(t, "deleted", d.ids, want)
			}
			if !slices.IsSorted(d.ids) || len(d.ids) < 3 {
				t.Errorf("deleted %v", d.ids)
			}
			same(t, "stored", len(raw(t, db, "s")), 2)
			d.ids = nil
		}
	}
}

// A trim leaves alone what other programs wrote and what they keep beside it. A list
// that is written anew has the text, and of a result the call id.
func TestMessagesOfOthersAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		new     func(list []llms.ChatMessage) []llms.ChatMessage
		changes int64
		kept    bool
	}{
		"trimmed by one": {func(list []llms.ChatMessage) []llms.ChatMessage { return list[1:] }, 1, true},
		"trimmed by two": {func(list []llms.ChatMessage) []llms.ChatMessage { return list[2:] }, 3, true},
		"added":          {func(list []llms.ChatMessage) []llms.ChatMessage { return append(list, humans("e")...) }, 1, true},
		"written anew":   {func(list []llms.ChatMessage) []llms.ChatMessage { return append(humans("z"), list[2:]...) }, 6, false},
	} {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t)
			counted := &calls{Store: db}
			h := langchaingo.NewHistory(counted, "s")
			ok(t, "set", h.SetMessages(ctx, humans("a b")))
			id := "call"
			for _, r := range []convmem.WriteRequest{
				{Role: convmem.RoleAssistant, Content: "c", Payload: convmem.Payload{Type: "other", Data: []byte("1")}},
				{Role: convmem.RoleTool, Content: "d", Payload: convmem.Payload{Data: []byte("1")}},
			} {
				r.SessionID, r.Metadata = "s", convmem.MetadataPatch{ToolCallID: &id, Tags: []string{"tag"}, Tier: convmem.TierLong}
				_, err := db.Write(ctx, r)
				ok(t, "write", err)
			}
			written := raw(t, db, "s")[2:]
			list, before := c.new(messages(t, h)), counted.changes()
			ok(t, "set", h.SetMessages(ctx, list))
			same(t, "changes", counted.changes()-before, c.changes)
			same(t, "messages", messages(t, h), list)
			all := raw(t, db, "s")
			same(t, "stored", len(all), len(list))
			kept := false
			for i := range len(all) - 1 {
				kept = kept || cmp.Equal(all[i:i+2], written)
			}
			same(t, "kept", kept, c.kept)
			for _, m := range all {
				if m.Role == convmem.RoleTool {
					same(t, "call id of the result", m.Metadata.ToolCallID, id)
				}
			}
		})
	}
}

// No mark outlives a success: what an import brings back is there, and stays.
func TestImportAfterReplacement(t *testing.T) {
	for new, want := range map[string]string{"b c d": "a b c d", "c d": "a b c d", "x": "a b c d x"} {
		db := storetest.Open(t)
		h := langchaingo.NewHistory(db, "s")
		ok(t, "set", h.SetMessages(ctx, humans("a b c d")))
		var saved bytes.Buffer
		_, err := db.Export(ctx, &saved, nil)
		ok(t, "export", err)
		ok(t, "set", h.SetMessages(ctx, humans(new)))
		_, err = db.Import(ctx, &saved, nil)
		ok(t, "import", err)
		same(t, "imported", texts(t, h), want)
		ok(t, "set the same", h.SetMessages(ctx, messages(t, h)))
		same(t, "messages", texts(t, h), want)
	}
}

// Results that are set find their call in what is kept and in the list itself.
func TestSetResultsFindTheirCall(t *testing.T) {
	db := storetest.Open(t)
	h := langchaingo.NewHistory(db, "s")
	all := variantMessages()[6:9] // a call and two results, the one of the second call first
	ok(t, "set", h.SetMessages(ctx, append(humans("a b"), all[0])))
	ok(t, "set", h.SetMessages(ctx, append(append(humans("a b"), all[0]), all[1:]...)))
	ok(t, "set", h.SetMessages(ctx, all))
	for _, m := range raw(t, db, "s") {
		same(t, "call id", m.Metadata.ToolCallID, "c1")
	}
	same(t, "messages", messages(t, h), all)
}

// What Messages returns is the caller's, also to trim in place, as the framework does.
func TestMessagesAreTheCallers(t *testing.T) {
	h := langchaingo.NewHistory(storetest.Open(t), "s")
	ok(t, "set", h.SetMessages(ctx, humans("a b c")))
	list := messages(t, h)
	list[0] = llms.AIChatMessage{Content: "x"}
	same(t, "messages", texts(t, h), "a b c")
}
