package index

// slackBytes is how much may be dead before its share counts.
const slackBytes = 1 << 20

// maxOrdinal is where ordinals begin anew.
const maxOrdinal = 1 << 31

// reclaim gives back the memory of dead rows, a small part with every change that
// made some bytes of them: while more is dead than alive it moves live rows, of
// twice as many bytes, out of the page that is dead most, which goes when it is
// empty. Such a page is more than half dead, so moving frees more than it takes.
// Lists of mostly dead postings are written anew, a few with every change. So a
// message that is updated for ever does not fill the memory, and no change takes
// longer than its own size and that of the longest list of a term account for.
func (ix *Index) reclaim(bytes int) {
	ix.words.rewrite(ix.rows.isLive)
	for bytes *= 2; bytes > 0 && ix.rows.bytes > 2*ix.rows.liveBytes+ix.slackBytes; {
		moved := ix.moveOne()
		if moved == 0 {
			break
		}
		bytes -= moved
	}
	if ix.rows.next() >= ix.lastOrdinal {
		ix.renumber()
	}
}

// emptying is a page that is being emptied.
type emptying struct {
	page   *page
	number uint32
	slot   uint32 // rows before it are dead
}

// moveOne moves a live row from the page that is being emptied to the end, and
// returns its bytes, 0 when there is no such page.
func (ix *Index) moveOne() int {
	e := &ix.emptying
	if e.page == nil || e.page.live == 0 {
		e.page, e.number = ix.rows.deadest()
		e.slot = 0
	}
	if e.page == nil {
		return 0
	}
	for e.page.died[e.slot] != 0 {
		e.slot++
	}
	ordinal, block := e.number*pageRows+e.slot, e.page.block(e.slot)
	ix.place(e.page.rows[e.slot], block)
	ix.drop(ordinal)
	return rowBytes + len(block)
}

// renumber gives the live rows the first ordinals.
func (ix *Index) renumber() {
	old := ix.rows
	ix.rows, ix.emptying = rows{pageBytes: old.pageBytes}, emptying{}
	ix.epoch++
	ix.words.stats, ix.words.due = Statistics{}, nil
	for number := range ix.words.terms {
		ix.words.terms[number].postings = list{}
	}
	for ordinal := range old.all {
		ix.place(*old.row(ordinal), old.block(ordinal))
	}
}
