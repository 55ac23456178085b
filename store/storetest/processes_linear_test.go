package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// TestProcessesInMemoryAreLinearizable and its sister let many goroutines use
// several processes at once and look for an order that explains every answer.
func TestProcessesInMemoryAreLinearizable(t *testing.T) {
	runCrowds(t, func() func(testing.TB) vfs.FS {
		disk := vfs.NewMem(0)
		return func(testing.TB) vfs.FS { return disk }
	})
}

func TestProcessesOnDiskAreLinearizable(t *testing.T) {
	runCrowds(t, func() func(testing.TB) vfs.FS {
		directory := t.TempDir()
		return func(t testing.TB) vfs.FS {
			fsys, err := vfs.OS(directory)
			if err != nil {
				t.Fatal(err)
			}
			return fsys
		}
	})
}

// runCrowds runs one crowd on a new disk, or many.
func runCrowds(t *testing.T, newDisk func() func(testing.TB) vfs.FS) {
	rounds := 1
	if *long {
		rounds = 60
	}
	for round := 0; round < rounds && !t.Failed(); round++ {
		runCrowd(t, newDisk(), uint64(round))
	}
}

const (
	crowdGoroutines = 8
	crowdProcesses  = 3
	crowdMessages   = 8
	crowdCalls      = 60 // of each goroutine
)

// crowd is a store that several processes use at once.
type crowd struct {
	*witness
	t      *testing.T
	newFS  func(testing.TB) vfs.FS
	dbs    []*convmem.DB // for changes
	reader *convmem.DB   // read-only
	shared []string      // the ids of messages that everybody changes
	seed   uint64
}

func (c *crowd) open(how mode) *convmem.DB {
	db, err := convmem.Open(context.Background(), "", &convmem.Options{
		FS: c.newFS(c.t), LockWait: time.Minute, ReadOnly: how == readOnly,
	})
	if err != nil {
		c.t.Errorf("open (%s): %v", how, err)
		return nil
	}
	return db
}

func (c *crowd) close(db *convmem.DB) {
	if err := db.Close(); err != nil {
		c.t.Errorf("close: %v", err)
	}
}

func runCrowd(t *testing.T, newFS func(testing.TB) vfs.FS, seed uint64) {
	c := &crowd{witness: newWitness(), t: t, newFS: newFS, seed: seed}
	for range crowdProcesses {
		c.dbs = append(c.dbs, c.open(ordinary))
	}
	c.reader = c.open(readOnly)
	if t.Failed() {
		t.FailNow()
	}
	for i := range crowdMessages {
		(&member{crowd: c, number: -1, calls: i, r: rand.New(rand.NewPCG(0, 0))}).write("shared", "")
	}
	for id := range c.messages {
		c.shared = append(c.shared, id)
	}
	beside(c.work, c.rebuild, c.visit)
	for _, db := range append(c.dbs, c.reader) {
		c.close(db)
	}
	c.check(t)
	c.report()
}

func (c *crowd) work() {
	together(crowdGoroutines, func(i int) {
		m := &member{crowd: c, number: i, r: rand.New(rand.NewPCG(c.seed, uint64(i))), known: map[string]convmem.Message{}}
		for range crowdCalls {
			m.act()
		}
	})
}

// report prints how much happened.
func (c *crowd) report() {
	observations, changes := 0, 0
	for _, all := range c.messages {
		for _, o := range all {
			observations++
			if o.change {
				changes++
			}
		}
	}
	c.t.Logf("%d observations of %d messages, %d changes, %d whole histories, %d answers about keys, %d rebuilds, %d visits",
		observations, len(c.messages), changes, len(c.views), len(c.keyed), c.rebuilds, c.visits)
}

// rebuild compacts the store from one process after another.
func (c *crowd) rebuild() bool {
	for _, db := range c.dbs {
		_, err := db.Rebuild(context.Background(), convmem.RebuildRequest{})
		if err != nil && convmem.CodeOf(err) != convmem.CodeBusy {
			c.t.Errorf("rebuild: %v", err)
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rebuilds++
	return true
}

// visit opens the store once more, uses it for a moment, and leaves a snapshot
// when the log has grown enough.
func (c *crowd) visit() bool {
	how := ordinary
	if c.visits%2 == 1 {
		how = readOnly
	}
	db := c.open(how)
	if db == nil {
		return false
	}
	defer c.close(db)
	guest := &crowd{witness: c.witness, t: c.t, dbs: []*convmem.DB{db}, reader: db, shared: c.shared}
	m := &member{crowd: guest, number: crowdGoroutines, r: rand.New(rand.NewPCG(c.seed, uint64(1000+c.visits))), known: map[string]convmem.Message{}}
	m.calls = 1000 * c.visits // contents differ between visits
	for range 3 {
		m.view()
		m.readOne()
		if how == ordinary {
			m.update(0)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.visits++
	return true
}

// member is one goroutine of the crowd.
type member struct {
	*crowd
	number int
	calls  int
	r      *rand.Rand
	known  map[string]convmem.Message // as last seen
}

func (m *member) process() *convmem.DB { return m.dbs[m.r.IntN(len(m.dbs))] }

// anybody returns a process to read with.
func (m *member) anybody() *convmem.DB {
	if m.r.IntN(4) == 0 {
		return m.reader
	}
	return m.process()
}

// target draws the id of a message, one of an idempotency key too.
func (m *member) target() string {
	if m.r.IntN(4) == 0 {
		for id := range m.known {
			return id
		}
	}
	return m.shared[m.r.IntN(len(m.shared))]
}

func (m *member) act() {
	switch n := m.r.IntN(100); {
	case n < 20:
		m.update(0)
	case n < 45:
		m.update(1)
	case n < 50:
		m.updateNothing()
	case n < 65:
		m.readOne()
	case n < 75:
		m.view()
	case n < 85:
		m.search()
	case n < 97:
		m.write("keyed", fmt.Sprint("key ", m.r.IntN(3)))
	case n < 99:
		m.remove(m.keyedID())
	default:
		m.remove(m.shared[m.r.IntN(len(m.shared))])
	}
}

// content is one of a kind and found by one word. Now and then it is long, so
// that the log grows enough for snapshots.
func (m *member) content() string {
	m.calls++
	content := fmt.Sprintf("quartz %d of %d", m.calls, m.number)
	if m.r.IntN(8) == 0 {
		content += strings.Repeat(" ", 30_000)
	}
	return content
}

// answered is what the callers of done look at.
func (m *member) answered(what, id string, begin int64, message convmem.Message, change bool, expected int64, err error) {
	end := m.tick()
	m.mu.Lock()
	defer m.mu.Unlock()
	what = fmt.Sprintf("%s by %d", what, m.number)
	var coded *convmem.Error
	switch {
	case err == nil:
		if change && expected != 0 && message.Revision != expected+1 {
			m.fault("%s: revision %d follows the expected %d", what, message.Revision, expected)
		}
		m.holds(what, message, begin, end, change)
		m.remember(message)
	case errors.As(err, &coded) && coded.Code == convmem.CodeConflict && coded.Revision != expected && expected != 0:
		m.note(id, observation{what: what + ", in conflict", begin: begin, end: end, place: seenPlace(coded.Revision)})
	case convmem.CodeOf(err) == convmem.CodeNotFound:
		m.note(id, observation{what: what + ", not found", begin: begin, end: end, place: gonePlace})
	default:
		m.fault("%s of %s: %v", what, id, err)
	}
}

func (m *member) remember(message convmem.Message) {
	if m.known != nil {
		m.known[message.ID] = message
	}
}

// update changes a message; with conditional 1 only if it is as last seen.
func (m *member) update(conditional int64) {
	id, content := m.target(), m.content()
	expected := conditional * max(1, m.known[id].Revision)
	begin := m.tick()
	result, err := m.process().Update(context.Background(), convmem.UpdateRequest{MessageID: id, Content: &content, ExpectedRevision: expected})
	m.answered(fmt.Sprintf("update from %d", expected), id, begin, result.Message, true, expected, err)
}

// updateNothing asks for what the message said when it was last seen, which by
// now may be a change.
func (m *member) updateNothing() {
	id := m.target()
	content := m.known[id].Content
	if content == "" {
		content = m.content()
	}
	begin := m.tick()
	result, err := m.process().Update(context.Background(), convmem.UpdateRequest{MessageID: id, Content: &content})
	m.answered("update back", id, begin, result.Message, result.Changed, 0, err)
}

func (m *member) readOne() {
	id := m.target()
	begin := m.tick()
	result, err := convmem.Context(context.Background(), m.anybody(), convmem.ContextRequest{MessageID: id})
	m.answered("read", id, begin, result.Message, false, 0, err)
}

func (m *member) view() {
	begin := m.tick()
	result, err := convmem.History(context.Background(), m.anybody(), convmem.HistoryRequest{SessionID: "shared", Limit: convmem.MaxReadLimit})
	m.whole("history", begin, result.Messages, err)
}

func (m *member) search() {
	begin := m.tick()
	result, err := m.anybody().Search(context.Background(), convmem.SearchRequest{Query: "quartz", SessionID: "shared", Limit: convmem.MaxSearchLimit})
	var found []convmem.Message
	for _, hit := range result.Hits {
		found = append(found, hit.Message)
	}
	m.whole("search", begin, found, err)
}

// whole takes in an answer that has all shared messages of one moment.
func (m *member) whole(what string, begin int64, found []convmem.Message, err error) {
	end := m.tick()
	m.mu.Lock()
	defer m.mu.Unlock()
	what = fmt.Sprintf("%s by %d", what, m.number)
	if err != nil {
		m.fault("%s: %v", what, err)
		return
	}
	v := historyView{begin: begin, end: end, revisions: map[string]int64{}}
	for _, id := range m.shared {
		v.revisions[id] = goneRevision
	}
	for _, message := range found {
		m.holds(what, message, begin, end, false)
		m.remember(message)
		v.revisions[message.ID] = message.Revision
	}
	for id, revision := range v.revisions {
		if revision == goneRevision {
			m.note(id, observation{what: what + ", missing", begin: begin, end: end, place: gonePlace})
		}
	}
	m.views = append(m.views, v)
}

// write writes a message, with a key one that others write as well.
func (m *member) write(session, key string) {
	request := convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: "quartz for " + key, IdempotencyKey: key}
	if key == "" {
		request.Content = m.content()
	}
	begin := m.tick()
	result, err := m.process().Write(context.Background(), request)
	m.answered("write", key, begin, result.Message, !result.Replayed, 0, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	id, end := result.Message.ID, m.tick()
	if err != nil {
		return
	}
	if !result.Replayed {
		m.made = append(m.made, madeMessage{id: id, begin: begin, end: end})
	}
	if key != "" {
		call := keyedCall{key: key, id: id, begin: begin, end: end}
		if result.Replayed {
			call.step = 1
		}
		m.keyed = append(m.keyed, call)
	}
}

// keyedID returns the id of a message that was written with a key.
func (m *member) keyedID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.keyed) == 0 {
		return m.shared[0]
	}
	return m.keyed[len(m.keyed)-1].id
}

func (m *member) remove(id string) {
	begin := m.tick()
	result, err := m.process().Delete(context.Background(), convmem.DeleteRequest{MessageID: id})
	end := m.tick()
	m.mu.Lock()
	defer m.mu.Unlock()
	o := observation{what: fmt.Sprintf("delete by %d", m.number), begin: begin, end: end, place: gonePlace}
	if err != nil {
		m.fault("%s of %s: %v", o.what, id, err)
		return
	}
	if result.Deleted {
		o.place, o.change = deletedPlace, true
		for _, call := range m.keyed {
			if call.id == id {
				m.keyed = append(m.keyed, keyedCall{key: call.key, id: id, step: 2, begin: begin, end: end})
				break
			}
		}
	}
	m.note(id, o)
}
