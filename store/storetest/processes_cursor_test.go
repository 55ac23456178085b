package storetest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

var long = flag.Bool("long", false, "run the tests of many processes for minutes")

// pagers are three processes that page through one store together: the first
// reads the first pages, the second is idle until it reads the second pages, and
// the third changes the store in between and reads the last pages.
type pagers struct {
	testing.TB
	disk  *vfs.Mem
	clock *clock
	dbs   [3]*convmem.DB
}

const pagerSessions, pagerMessages = 4, 5

// pagedDisk returns a disk with sessions that have several messages each. The
// last session is the one that was written to last.
func pagedDisk(t testing.TB) *vfs.Mem {
	p := &pagers{TB: t, disk: vfs.NewMem(0), clock: newClock()}
	p.open(0)
	for i := range pagerMessages * pagerSessions {
		p.lab(0).say(sessionName(i/pagerMessages), fmt.Sprint("message ", i))
	}
	p.close(0)
	return p.disk
}

func sessionName(i int) string { return fmt.Sprint("session ", i) }

func newClock() *clock { return &clock{now: time.UnixMilli(1_750_000_000_000).UTC()} }

func (p *pagers) open(i int) {
	p.Helper()
	db, err := convmem.Open(context.Background(), "", &convmem.Options{FS: p.disk, Now: p.clock.Now})
	if err != nil {
		p.Fatalf("open by process %d: %v", i, err)
	}
	p.dbs[i] = db
}

func (p *pagers) close(i int) {
	p.Helper()
	if err := p.dbs[i].Close(); err != nil {
		p.Fatalf("close of process %d: %v", i, err)
	}
}

func (p *pagers) lab(i int) *lab {
	return &lab{kit: &kit{TB: p.TB}, store: p.dbs[i], clock: p.clock}
}

// removeNewest deletes the newest message of a session.
func (p *pagers) removeNewest(session string) {
	newest := p.lab(2).history(convmem.HistoryRequest{SessionID: session, Order: convmem.OrderDescending, Limit: 1})
	p.lab(2).remove(newest.Messages[0].ID)
}

// removeNth deletes the message at a place of a session's history.
func (p *pagers) removeNth(session string, n int) {
	history := p.lab(2).all(convmem.HistoryRequest{SessionID: session})
	p.lab(2).remove(history[min(n, len(history)-1)].ID)
}

func (p *pagers) reopen(i int) { p.close(i); p.open(i) }

// pagerEvents lists what can happen between two pages. Pages hold two sessions
// or messages, so that at first sessions 3 and 2 have been shown, and of a
// history the messages at 0 and 1, or, backwards, 4 and 3.
func pagerEvents() []pagerEvent {
	return []pagerEvent{
		{"delete the newest of a session shown", func(p *pagers) { p.removeNewest(sessionName(3)) }},
		{"delete the newest of the last session shown", func(p *pagers) { p.removeNewest(sessionName(2)) }},
		{"delete the newest of the next session", func(p *pagers) { p.removeNewest(sessionName(1)) }},
		{"delete the last message shown", func(p *pagers) { p.removeNth(sessionName(1), 1) }},
		{"write to a session shown", func(p *pagers) { p.lab(2).say(sessionName(3), "new") }},
		{"write to the next session", func(p *pagers) { p.lab(2).say(sessionName(1), "new") }},
		{"begin a session", func(p *pagers) { p.lab(2).say("another session", "new") }},
		{"rebuild", func(p *pagers) { p.lab(2).rebuild() }},
		{"rebuild by the first", func(p *pagers) { p.lab(0).rebuild() }},
		{"the second starts again", func(p *pagers) { p.reopen(1) }},
		{"the power fails", (*pagers).cutPower},
		{"the snapshot is lost", func(p *pagers) { _ = p.disk.Remove("convmem.snap") }},
	}
}

type pagerEvent struct {
	name string
	do   func(*pagers)
}

// cutPower ends all processes without a word. Nothing is under way, so the disk
// may have lost only what was never promised.
func (p *pagers) cutPower() {
	p.disk = p.disk.CrashImage(rand.New(rand.NewPCG(1, 2)))
	for i := range p.dbs {
		p.open(i)
	}
}

// TestPagesOfSeveralProcesses takes every sequence of a few events between the
// first page and the second, which another process reads: each run must show
// what stays exactly once and in order, whatever happens.
func TestPagesOfSeveralProcesses(t *testing.T) {
	length := 2
	if *long {
		length = 4
	}
	full := pagedDisk(t)
	sequences := 0
	// Shorter sequences come first: a failure is the shortest there is.
	for level := [][]pagerEvent{nil}; len(level[0]) <= length && !t.Failed(); level = longer(level) {
		for _, sequence := range level {
			sequences++
			pageThrough(t, full.Kill(), sequence)
		}
	}
	t.Logf("%d sequences", sequences)
}

// longer extends each sequence by each event.
func longer(sequences [][]pagerEvent) (all [][]pagerEvent) {
	for _, sequence := range sequences {
		for _, event := range pagerEvents() {
			all = append(all, append(slices.Clip(sequence), event))
		}
	}
	return all
}

func pageThrough(t *testing.T, disk *vfs.Mem, sequence []pagerEvent) {
	p := &pagers{TB: t, disk: disk, clock: newClock()}
	p.clock.step(time.Hour)
	for i := range p.dbs {
		p.open(i)
		defer func() { p.close(i) }()
	}
	ascending := convmem.HistoryRequest{SessionID: sessionName(1), Limit: 2}
	descending := convmem.HistoryRequest{SessionID: sessionName(1), Limit: 2, Order: convmem.OrderDescending}
	sessions := convmem.SessionsRequest{Limit: 2}
	up, down, list := p.lab(0).history(ascending), p.lab(0).history(descending), p.lab(0).sessions(sessions)
	ascending.Cursor, descending.Cursor, sessions.Cursor = up.NextCursor, down.NextCursor, list.NextCursor

	names := make([]string, len(sequence))
	for i, event := range sequence {
		names[i] = event.name
		event.do(p)
	}
	what := "[" + strings.Join(names, ", ") + "]"

	live := ids(p.lab(2).all(convmem.HistoryRequest{SessionID: sessionName(1)}))
	same(t, what+": the ascending history goes on with", p.restOf(ascending), beyondID(live, ids(up.Messages)[1], 1))
	slices.Reverse(live)
	same(t, what+": the descending history goes on with", p.restOf(descending), beyondID(live, ids(down.Messages)[1], -1))
	p.checkSessions(what, sessions)
}

// beyondID keeps the ids that follow one, in the direction of the sign.
func beyondID(all []string, id string, sign int) []string {
	return slices.DeleteFunc(slices.Clone(all), func(other string) bool { return strings.Compare(other, id)*sign <= 0 })
}

// restOf follows a history to its end, beginning with the second process.
func (p *pagers) restOf(r convmem.HistoryRequest) (rest []string) {
	for page := 1; page < 20; page++ {
		result := p.lab(min(page, 2)).history(r)
		rest = append(rest, ids(result.Messages)...)
		if r.Cursor = result.NextCursor; r.Cursor == "" {
			return rest
		}
	}
	p.Fatal("the pages never end")
	return nil
}

// checkSessions follows the list of sessions to its end. What was not on the
// first page must come in the order of that moment, with the values of now.
func (p *pagers) checkSessions(what string, r convmem.SessionsRequest) {
	p.Helper()
	now := map[string]convmem.SessionInfo{}
	for _, info := range p.lab(2).sessions(convmem.SessionsRequest{}).Sessions {
		now[info.SessionID] = info
	}
	var rest []convmem.SessionInfo
	for page := 1; r.Cursor != "" && page < 20; page++ {
		result := p.lab(min(page, 2)).sessions(r)
		rest = append(rest, result.Sessions...)
		r.Cursor = result.NextCursor
	}
	same(p, what+": the sessions go on with", rest, []convmem.SessionInfo{now[sessionName(1)], now[sessionName(0)]})
}
