package convmem_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// version is what a message said for a while. Moments are counted, not timed.
type version struct {
	begun int64 // before the call that wrote it
	ended int64 // after the call that replaced or deleted it was answered; 0: not yet
	term  string
}

// chronicle knows of each content, which is written once, when it could be seen.
type chronicle struct {
	sync.Mutex
	moment   int64
	versions map[string]*version
}

func (c *chronicle) now() int64 {
	c.Lock()
	defer c.Unlock()
	c.moment++
	return c.moment
}

func (c *chronicle) begin(content, term string) {
	c.Lock()
	defer c.Unlock()
	c.moment++
	c.versions[content] = &version{begun: c.moment, term: term}
}

func (c *chronicle) end(content string) {
	c.Lock()
	defer c.Unlock()
	c.moment++
	c.versions[content].ended = c.moment
}

// fault says what is wrong with a hit of a search for term that ran from one
// moment to another; "" is nothing.
func (c *chronicle) fault(hit convmem.Hit, term string, from, to int64) string {
	c.Lock()
	defer c.Unlock()
	switch v := c.versions[hit.Content]; {
	case v == nil:
		return "nobody has written this"
	case v.begun > to:
		return "it was written later"
	case v.ended != 0 && v.ended < from:
		return "it was gone before"
	case v.term != term:
		return "it does not hold the query"
	}
	return ""
}

// changer is a goroutine that writes, updates and deletes, and looks for what it
// has just done.
type changer struct {
	*chronicle
	t      *testing.T
	db     *convmem.DB
	name   string
	random *rand.Rand
	serial int
	live   []convmem.Message
}

// content makes a text with one of the animals and words found nowhere else.
func (c *changer) content() (content, term string) {
	c.serial++
	term = animals[c.random.IntN(len(animals))]
	content = fmt.Sprintf("%s %s%dq%s", term, c.name, c.serial, strings.Repeat(" reed", c.random.IntN(5)))
	c.begin(content, term)
	return content, term
}

func (c *changer) write() error {
	content, _ := c.content()
	r, err := c.db.Write(ctx, convmem.WriteRequest{SessionID: c.name, Role: convmem.RoleUser, Content: content})
	if err == nil {
		c.live = append(c.live, r.Message)
	}
	return err
}

func (c *changer) update(i int) error {
	content, _ := c.content()
	r, err := c.db.Update(ctx, convmem.UpdateRequest{MessageID: c.live[i].ID, Content: &content})
	if err == nil {
		c.end(c.live[i].Content)
		c.live[i] = r.Message
	}
	return err
}

func (c *changer) remove(i int) error {
	_, err := c.db.Delete(ctx, convmem.DeleteRequest{MessageID: c.live[i].ID})
	if err == nil {
		c.end(c.live[i].Content)
		c.live = append(c.live[:i], c.live[i+1:]...)
	}
	return err
}

// run makes n changes. After each, its newest message must be found as it is.
func (c *changer) run(n int) {
	for range n {
		var err error
		switch op := c.random.IntN(4); {
		case op < 2 || len(c.live) == 0:
			err = c.write()
		case op == 2:
			err = c.update(c.random.IntN(len(c.live)))
		default:
			err = c.remove(c.random.IntN(len(c.live)))
		}
		if err == nil {
			err = c.seesItself()
		}
		if err != nil {
			c.t.Error(err)
			return
		}
	}
}

func (c *changer) seesItself() error {
	if len(c.live) == 0 {
		return nil
	}
	m := c.live[len(c.live)-1]
	found, err := c.db.Search(ctx, convmem.SearchRequest{Query: strings.Fields(m.Content)[1], Limit: 1})
	if err != nil {
		return err
	}
	if len(found.Hits) != 1 || found.Hits[0].ID != m.ID || found.Hits[0].Content != m.Content {
		return fmt.Errorf("%q is not found by its own word: %+v", m.Content, found.Hits)
	}
	return nil
}

// searchUntil searches until done is closed, and says how many hits it has seen.
func searchUntil(t *testing.T, db *convmem.DB, c *chronicle, random *rand.Rand, done <-chan struct{}) (hits int) {
	for {
		select {
		case <-done:
			return hits
		default:
		}
		r := convmem.SearchRequest{Query: animals[random.IntN(len(animals))], Limit: 1 + random.IntN(convmem.MaxSearchLimit)}
		from := c.now()
		found, err := db.Search(ctx, r)
		to := c.now()
		if err != nil {
			t.Error(err)
			return hits
		}
		checkHits(t, r, found.Hits)
		seen := map[string]bool{}
		for _, hit := range found.Hits {
			if fault := c.fault(hit, r.Query, from, to); fault != "" || seen[hit.ID] {
				t.Errorf("%s finds %q at revision %d: %s, twice %v", r.Query, hit.Content, hit.Revision, fault, seen[hit.ID])
			}
			seen[hit.ID] = true
		}
		hits += len(found.Hits)
	}
}

// Searches run beside changes and rebuilds, in this process and another. Each hit
// was there at some moment of its search, and when all is quiet the store finds
// what one finds that has read the log anew.
func TestSearchBesideChanges(t *testing.T) {
	w := newWorld(t, convmem.Options{FS: vfs.NewMem(0)})
	other, err := convmem.Open(ctx, "", &convmem.Options{FS: w.fsys})
	w.ok("open", err)
	defer other.Close()
	c := &chronicle{versions: map[string]*version{}}
	var changers, searchers sync.WaitGroup
	done := make(chan struct{})
	hits := make([]int, 3)
	for i := range 3 {
		db := []*convmem.DB{w.db, w.db, other}[i]
		changer := &changer{chronicle: c, t: t, db: db, name: fmt.Sprint("changer", i, "x"), random: rand.New(rand.NewPCG(uint64(i), 4))}
		changers.Go(func() { changer.run(150) })
		random := rand.New(rand.NewPCG(uint64(i), 5))
		searchers.Go(func() { hits[i] = searchUntil(t, db, c, random, done) })
	}
	changers.Go(func() {
		for range 4 {
			w.rebuildBeside()
		}
	})
	changers.Wait()
	close(done)
	searchers.Wait()
	t.Logf("%d texts, %v hits", len(c.versions), hits)

	var requests []convmem.SearchRequest
	for _, animal := range animals {
		requests = append(requests, convmem.SearchRequest{Query: animal + " reed", Limit: convmem.MaxSearchLimit})
	}
	w.sameRankings(t, other, requests, rankings(t, w.db, requests))
}

// rebuildBeside is a rebuild from another goroutine than the test's own.
func (w *world) rebuildBeside() {
	if _, err := w.db.Rebuild(ctx, convmem.RebuildRequest{}); err != nil {
		w.Errorf("rebuild: %v", err)
	}
}
