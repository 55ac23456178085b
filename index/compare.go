package index

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/oklog/ulid/v2"
)

// Compare returns the first difference that it finds between what the two indexes
// answer, or nil, and checks on the way that each agrees with itself. It changes
// neither. How the indexes came about does not count: the order of ordinals, dead
// rows, the numbers of terms, and what is remembered of deletions and imports may
// differ. The error names messages and relations by their ids and repeats no text.
//
// The cost is a walk over both, with 4 bytes of memory for every row and term.
func (ix *Index) Compare(other *Index) error {
	if ix.Len() != other.Len() {
		return fmt.Errorf("%d live messages in one index, %d in the other", ix.Len(), other.Len())
	}
	if err := errors.Join(ix.checkNumbers(), other.checkNumbers()); err != nil {
		return err
	}
	c := comparison{a: ix, b: other}
	for _, check := range []func() error{
		c.compareRows, c.compareSessions, c.compareRelations, c.compareTerms, c.compareTermsOfRows,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// comparison knows which parts of a and b stand for the same thing.
type comparison struct {
	a, b  *Index
	rows  []uint32 // ordinals of b by those of a; gone for dead rows
	terms []uint32 // numbers of terms of b by those of a; gone for unused ones
	// Live entries of the term that is being compared, with ordinals of b.
	here, there []entry
}

// checkNumbers checks that ordinals and numbers of terms lead somewhere.
func (ix *Index) checkNumbers() error {
	rows, terms := len(ix.messages), len(ix.words.terms)
	live := 0
	for i := range ix.messages {
		m := &ix.messages[i]
		if !m.live {
			continue
		}
		live++
		if m.session == nil || slices.ContainsFunc(m.terms, func(id uint32) bool { return int(id) >= terms }) {
			return fmt.Errorf("the row of message %s leads nowhere", m.id)
		}
	}
	if live != ix.Len() {
		return fmt.Errorf("%d live rows for %d messages", live, ix.Len())
	}
	for id, ordinal := range ix.byID {
		if int(ordinal) >= rows {
			return fmt.Errorf("message %s has no row", id)
		}
	}
	for _, id := range ix.words.ids {
		if int(id) >= terms {
			return fmt.Errorf("there is no term number %d", id)
		}
	}
	for id := range ix.words.terms {
		entries := ix.words.terms[id].entries
		if !ascends(entries) || len(entries) > 0 && int(entries[len(entries)-1].ordinal) >= rows {
			return fmt.Errorf("the postings of term number %d are out of order", id)
		}
	}
	return nil
}

func (c *comparison) compareRows() error {
	c.rows = slices.Repeat([]uint32{gone}, len(c.a.messages))
	for id, ordinal := range c.a.byID {
		there, ok := c.b.byID[id]
		if !ok {
			return fmt.Errorf("message %s is in one index only", id)
		}
		if field := c.a.messages[ordinal].difference(&c.b.messages[there], id); field != "" {
			return fmt.Errorf("message %s differs in its %s", id, field)
		}
		c.rows[ordinal] = there
	}
	if c.a.stats != c.b.stats {
		return errors.New("the statistics of the fields differ")
	}
	return nil
}

// difference names what differs between two rows for the live message id, or
// returns "".
func (m *message) difference(n *message, id ulid.ULID) string {
	switch {
	case !m.live || !n.live || m.id != id || n.id != id:
		return "row"
	case m.session.name != n.session.name:
		return "session"
	case m.role != n.role || m.kind != n.kind || m.tier != n.tier || m.importance != n.importance:
		return "role, kind, tier or importance"
	case !slices.Equal(m.tags, n.tags):
		return "tags"
	case m.time != n.time:
		return "time"
	case m.summarised != n.summarised:
		return "summary"
	case m.lengths != n.lengths || m.entries != n.entries || len(m.terms) != len(n.terms):
		return "number of terms"
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
	for _, ix := range []*Index{c.a, c.b} {
		if err := ix.checkOrders(); err != nil {
			return err
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
	if len(c.a.outgoing) != len(c.b.outgoing) || len(c.a.incoming) != len(c.b.incoming) {
		return errors.New("the indexes have relations of different numbers of messages")
	}
	for id, edges := range c.a.outgoing {
		if !slices.Equal(edges, c.b.outgoing[id]) {
			return fmt.Errorf("the relations of message %s differ", id)
		}
	}
	for id, list := range c.a.incoming {
		there := c.b.incoming[id]
		if there == nil || !list.equal(there) {
			return fmt.Errorf("the relations to message %s differ", id)
		}
	}
	return nil
}

// compareTerms compares the postings of live messages and the frequencies that
// follow from them, and fills in terms.
func (c *comparison) compareTerms() error {
	if c.a.words.used() != c.b.words.used() {
		return fmt.Errorf("%d terms in one index, %d in the other", c.a.words.used(), c.b.words.used())
	}
	c.terms = slices.Repeat([]uint32{gone}, len(c.a.words.terms))
	entries := 0
	for id := range c.a.words.terms {
		t := &c.a.words.terms[id]
		if t.frequency == 0 {
			continue
		}
		here, found := c.a.words.ids[t.text]
		there, known := c.b.words.ids[t.text]
		if !found || !known || here != uint32(id) {
			return fmt.Errorf("term number %d is in one index only", id)
		}
		live, err := c.compareTerm(t, &c.b.words.terms[there])
		if err != nil {
			return fmt.Errorf("term number %d: %w", id, err)
		}
		entries += live
		c.terms[id] = there
	}
	for _, w := range []*postings{&c.a.words, &c.b.words} {
		if w.total-w.dead != entries {
			return fmt.Errorf("%d live postings, of which %d were counted", entries, w.total-w.dead)
		}
	}
	return nil
}

// used counts the terms that live messages hold.
func (p *postings) used() (n int) {
	for i := range p.terms {
		if p.terms[i].frequency > 0 {
			n++
		}
	}
	return n
}

// compareTerm compares the live entries of a term of a with those of one of b,
// and returns how many there are.
func (c *comparison) compareTerm(t, u *term) (int, error) {
	c.here, c.there = c.here[:0], c.there[:0]
	frequency, last := 0, gone
	for _, e := range t.entries {
		if ordinal := c.rows[e.ordinal]; ordinal != gone {
			if e.ordinal != last {
				frequency++
			}
			last = e.ordinal
			c.here = append(c.here, entry{ordinal, e.count})
		}
	}
	for _, e := range u.entries {
		if c.b.messages[e.ordinal].live {
			c.there = append(c.there, e)
		}
	}
	slices.SortFunc(c.here, compareEntries) // they are in the order of a
	if !slices.Equal(c.here, c.there) {
		return 0, errors.New("its postings differ")
	}
	if frequency != t.frequency || frequency != u.frequency {
		return 0, fmt.Errorf("%d messages hold it, %d and %d were counted", frequency, t.frequency, u.frequency)
	}
	return len(c.here), nil
}

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.ordinal, b.ordinal), cmp.Compare(a.field(), b.field()))
}

// ascends reports whether entries stand in their order, no two alike.
func ascends(entries []entry) bool {
	for i := 1; i < len(entries); i++ {
		if compareEntries(entries[i-1], entries[i]) >= 0 {
			return false
		}
	}
	return true
}

// compareTermsOfRows compares the lists by which the words of a message are taken
// back when it goes.
func (c *comparison) compareTermsOfRows() error {
	for ordinal, there := range c.rows {
		if there == gone {
			continue
		}
		here := make([]uint32, 0, len(c.a.messages[ordinal].terms))
		for _, id := range c.a.messages[ordinal].terms {
			here = append(here, c.terms[id])
		}
		if !sameSet(here, c.b.messages[there].terms) {
			return fmt.Errorf("message %s differs in its list of terms", c.a.messages[ordinal].id)
		}
	}
	return nil
}

// sameSet reports whether the lists hold the same numbers, in whatever order. It
// may reorder the first one.
func sameSet(a, b []uint32) bool {
	if slices.Equal(a, b) {
		return true
	}
	b = slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
