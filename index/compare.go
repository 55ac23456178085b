package index

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/oklog/ulid/v2"
)

// Compare returns the first difference that it finds between what the two indexes
// answer, or nil, and checks on the way that each agrees with itself. It changes
// neither. How the indexes came about does not count: ordinals, dead rows, the
// numbers of terms, and what is remembered of deletions and imports may differ.
// The error names messages and relations by their ids and repeats no text.
//
// The cost is a walk over both, with a cursor for every term.
func (ix *Index) Compare(other *Index) error {
	if ix.Len() != other.Len() {
		return fmt.Errorf("%d live messages in one index, %d in the other", ix.Len(), other.Len())
	}
	c := comparison{a: ix, b: other}
	for _, check := range []func() error{
		ix.checkRows, other.checkRows, ix.checkPages, other.checkPages,
		ix.checkOrders, other.checkOrders, ix.checkHistories, other.checkHistories, ix.checkPostings, other.checkPostings,
		c.compareRows, c.compareSessions, c.compareRelations,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

type comparison struct{ a, b *Index }

// checkRows checks that the live rows are those of the live messages and that
// their numbers lead somewhere.
func (ix *Index) checkRows() error {
	live := 0
	var stats Statistics
	for ordinal := range ix.rows.all {
		r := ix.rows.row(ordinal)
		live++
		if known, ok := ix.byID[r.id]; !ok || known != ordinal {
			return fmt.Errorf("a row of message %s is not the one of its id", r.id)
		}
		if int(r.session) >= len(ix.numbered) || ix.numbered[r.session] == nil ||
			int(r.traits) >= len(ix.traits.values) || !ix.fitsBlock(ix.rows.block(ordinal)) {
			return fmt.Errorf("the row of message %s leads nowhere", r.id)
		}
		lengths := lengthsOf(ix.rows.block(ordinal))
		stats.count(lengths, +1)
		if ix.rows.page(ordinal).lengths[ordinal%pageRows] != uint8(min(lengths[Content], LongLength)) {
			return fmt.Errorf("the row of message %s has another length than its words", r.id)
		}
	}
	if live != ix.Len() || live != ix.rows.live {
		return fmt.Errorf("%d live rows for %d messages, and %d were counted", live, ix.Len(), ix.rows.live)
	}
	if stats != ix.words.stats {
		return errors.New("the statistics are not those of the rows")
	}
	return nil
}

// checkHistories checks that the histories lead to the rows of their messages.
func (ix *Index) checkHistories() error {
	for _, s := range ix.sessions {
		for e := range s.history.forward(position{}) {
			if ordinal, ok := ix.byID[e.id]; !ok || ordinal != e.ordinal {
				return fmt.Errorf("a history has another row for message %s", e.id)
			}
		}
	}
	return nil
}

// checkPostings checks that the postings of live rows are those that their blocks
// say, and that the dictionary leads to them.
func (ix *Index) checkPostings() error {
	w := words{terms: ix.words.terms}
	cursors := make([]Cursor, len(w.terms))
	found := make([]uint32, len(w.terms))
	for number := range w.terms {
		cursors[number] = w.terms[number].postings.cursor()
	}
	var err error
	for ordinal := range ix.rows.all {
		lengths := lengthsOf(ix.rows.block(ordinal))
		lengths[Content] = 0
		w.each(ix.rows.block(ordinal), func(number uint32, counts Counts) {
			c := &cursors[number]
			if !c.Seek(ordinal) || c.ordinal != ordinal || c.Counts() != counts ||
				counts.elsewhere() && c.posting.Lengths != lengths {
				err = fmt.Errorf("a posting of message %s is not as its row says", ix.rows.row(ordinal).id)
			}
			found[number]++
		})
	}
	if err != nil {
		return err
	}
	return ix.checkDictionary(found)
}

// checkDictionary checks the terms against how many live rows hold each.
func (ix *Index) checkDictionary(found []uint32) error {
	used := 0
	for number := range ix.words.terms {
		t := &ix.words.terms[number]
		known, ok := ix.words.number(t.text)
		switch l := &t.postings; {
		case t.text == "" && found[number] == 0 && l.size == 0:
			continue
		case t.text == "" || !ok || known != uint32(number):
			return fmt.Errorf("term number %d is not in the dictionary", number)
		case !l.consistent():
			return fmt.Errorf("what is known of the postings of term number %d is not so", number)
		case l.frequency != found[number] || ix.livePostings(l) != found[number]:
			return fmt.Errorf("%d messages hold term number %d, %d were counted", found[number], number, l.frequency)
		}
		used++
	}
	if used != ix.words.dictionary.count || used+len(ix.words.free) != len(ix.words.terms) {
		return errors.New("the dictionary has terms that no message holds")
	}
	return nil
}

// consistent says whether all that is known of a list is what its postings say.
func (l *list) consistent() bool {
	again := l.rewritten(func(uint32) bool { return true })
	a, b := again.blocks, l.blocks
	if a == nil || b == nil {
		a, b = nil, nil
		if again.blocks != l.blocks {
			return false
		}
	}
	return bytes.Equal(again.data, l.data) && again.size == l.size && again.last == l.last && again.max == l.max &&
		(a == nil || a.open == b.open && slices.Equal(a.sealed, b.sealed))
}

// checkPages checks what is counted of the pages.
func (ix *Index) checkPages() error {
	size, live := 0, 0
	for p := range ix.rows.pages {
		bytes, dead := 0, uint32(0)
		for slot, died := range p.died {
			if died == 0 {
				bytes += rowBytes + len(p.block(uint32(slot)))
			} else if dead++; died > ix.rows.deaths {
				return errors.New("a row has died in the future")
			}
		}
		if bytes != p.live || dead != p.dead {
			return errors.New("a page has counted its rows wrongly")
		}
		size += p.size()
		live += bytes
	}
	if size != ix.rows.bytes || live != ix.rows.liveBytes {
		return fmt.Errorf("%d bytes of rows, %d of them live; %d and %d were counted", size, live, ix.rows.bytes, ix.rows.liveBytes)
	}
	return nil
}

func (ix *Index) livePostings(l *list) (n uint32) {
	for c := l.cursor(); c.Next(); {
		if ix.rows.isLive(c.ordinal) {
			n++
		}
	}
	return n
}

func (c *comparison) compareRows() error {
	for id, here := range c.a.byID {
		there, ok := c.b.byID[id]
		if !ok {
			return fmt.Errorf("message %s is in one index only", id)
		}
		if what := c.difference(here, there); what != "" {
			return fmt.Errorf("message %s differs in its %s", id, what)
		}
	}
	return nil
}

// difference names what differs between two rows, or returns "".
func (c *comparison) difference(here, there uint32) string {
	r, t := c.a.rows.row(here), c.b.rows.row(there)
	switch {
	case c.a.sessionOf(here).name != c.b.sessionOf(there).name:
		return "session"
	case c.a.traitsOf(here) != c.b.traitsOf(there):
		return "role, kind, tier, importance, summary or question"
	case r.time != t.time:
		return "time"
	case r.fingerprint != t.fingerprint:
		return "content"
	}
	return c.blockDifference(blockReader{c.a.rows.block(here)}, blockReader{c.b.rows.block(there)})
}

func (c *comparison) blockDifference(here, there blockReader) string {
	var tags [2][][]byte
	here.tags(func(tag []byte) { tags[0] = append(tags[0], tag) })
	there.tags(func(tag []byte) { tags[1] = append(tags[1], tag) })
	if !slices.EqualFunc(tags[0], tags[1], bytes.Equal) {
		return "tags"
	}
	var relations [2][]Relation
	here.relations(func(kind uint32, id ulid.ULID) {
		relations[0] = append(relations[0], Relation{c.a.types.values[kind], id})
	})
	there.relations(func(kind uint32, id ulid.ULID) {
		relations[1] = append(relations[1], Relation{c.b.types.values[kind], id})
	})
	if !slices.Equal(relations[0], relations[1]) {
		return "relations"
	}
	lengths := here.lengths()
	if lengths != there.lengths() {
		return "number of terms"
	}
	for n := lengths[Content] + lengths[Summary] + lengths[Tags]; n > 0; n-- {
		a, stepA := here.token()
		b, stepB := there.token()
		if stepA != stepB || c.a.words.terms[a].text != c.b.words.terms[b].text {
			return "terms"
		}
	}
	return ""
}

func (c *comparison) compareSessions() error {
	if len(c.a.sessions) != len(c.b.sessions) {
		return fmt.Errorf("%d sessions in one index, %d in the other", len(c.a.sessions), len(c.b.sessions))
	}
	for name, s := range c.a.sessions {
		there := c.b.sessions[name]
		if there == nil {
			return errors.New("a session is in one index only")
		}
		if part := s.difference(there); part != "" {
			return fmt.Errorf("a session differs in its %s", part)
		}
	}
	return nil
}

func (s *session) difference(t *session) string {
	switch {
	case s.history.length == 0 || !s.history.equal(&t.history):
		return "history"
	case !s.summaries.equal(&t.summaries):
		return "summaries"
	case s.name != t.name || !maps.Equal(s.kinds, t.kinds):
		return "kinds"
	case s.activity != t.activity || s.activity != s.newest().Time():
		return "activity"
	}
	return ""
}

// equal reports whether the lists hold the same, and are sorted: a list that is
// not would miss some of what it holds. It does not matter how they are cut.
func (o *ordered[T]) equal(p *ordered[T]) bool {
	if o.length != p.length || !o.sorted() || !p.sorted() {
		return false
	}
	there := position{}
	for v := range o.forward(position{}) {
		if o.compare(v, p.chunks[there.chunk][there.offset]) != 0 {
			return false
		}
		if there.offset++; there.offset == len(p.chunks[there.chunk]) {
			there = position{chunk: there.chunk + 1}
		}
	}
	return true
}

// sorted reports whether the list is in order, of the length that it says and
// without empty chunks.
func (o *ordered[T]) sorted() bool {
	count := 0
	var last T
	for v := range o.forward(position{}) {
		if count > 0 && o.compare(last, v) > 0 {
			return false
		}
		last = v
		count++
	}
	empty := slices.ContainsFunc(o.chunks, func(c []T) bool { return len(c) == 0 })
	return count == o.length && !empty
}

// checkOrders checks that both orders of the sessions list each of them once.
func (ix *Index) checkOrders() error {
	for _, order := range []*ordered[*session]{&ix.byActivity, &ix.byChange} {
		if order.length != len(ix.sessions) || !order.sorted() {
			return errors.New("an order of the sessions is not one of all sessions")
		}
		for s := range order.forward(position{}) {
			if ix.sessions[s.name] != s {
				return errors.New("an order of the sessions holds one that is gone")
			}
		}
	}
	return nil
}

func (c *comparison) compareRelations() error {
	if len(c.a.incoming) != len(c.b.incoming) {
		return errors.New("the indexes have relations to different numbers of messages")
	}
	for id, list := range c.a.incoming {
		there := c.b.incoming[id]
		if there == nil || !list.equal(there) {
			return fmt.Errorf("the relations to message %s differ", id)
		}
	}
	return nil
}
