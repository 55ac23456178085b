package convmem_test

import (
	"context"
	"fmt"
	"testing"

	"example.com/convmem"
)

// lookedAt is a context that calls functions when it is looked at: for the first
// time, the second and so on.
type lookedAt struct {
	context.Context
	looks int
	at    map[int]func()
}

func (c *lookedAt) Err() error {
	c.looks++
	if do := c.at[c.looks]; do != nil {
		do()
	}
	return nil
}

// A search begins again when what it found has changed while it scored, and in the
// end makes changes wait: it finds what is there then, and does not give up.
func TestSearchBeginsAgain(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	id := w.say("s", "a fox of kind 0", convmem.MetadataPatch{}).ID
	kinds := 0
	change := func() {
		kinds++
		w.update(convmem.UpdateRequest{MessageID: id, Content: new(fmt.Sprint("a fox of kind ", kinds))})
	}
	search := func(changes ...int) (looks int) {
		c := &lookedAt{Context: ctx, at: map[int]func(){}}
		for _, look := range changes {
			c.at[look] = change
		}
		before := kinds
		got, err := w.db.Search(c, convmem.SearchRequest{Query: "fox"})
		w.ok("search", err)
		if kinds != before+len(changes) {
			t.Fatalf("%d of %d changes were made", kinds-before, len(changes))
		}
		if want := fmt.Sprint("a fox of kind ", kinds); len(got.Hits) != 1 || got.Hits[0].Content != want {
			t.Errorf("after %d changes: %d hits %+v, want %q", len(changes), len(got.Hits), got.Hits, want)
		}
		return c.looks
	}
	// The second look is the first one of scoring.
	undisturbed := search()
	round := search(2) - undisturbed
	if round < 2 {
		t.Fatalf("a change costs only %d looks: the search has not begun again", round)
	}
	search(2, 2+round)
}
