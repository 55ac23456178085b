package search

import (
	"context"
	"slices"

	"example.com/convmem/index"
)

// candidates returns the best messages by their own score, best first, and then
// those copies of the query that are not among them.
func (s *scorer) candidates(ctx context.Context) ([]candidate, error) {
	var err error
	switch few := s.view.Few(); {
	case len(s.terms) == 0:
		return nil, ctx.Err()
	case few != nil:
		err = s.each(ctx, few)
	default:
		err = newScan(s).run(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.collect(ctx)
}

// collect makes candidates of the best and of the copies of the query.
func (s *scorer) collect(ctx context.Context) ([]candidate, error) {
	copies, err := s.copies(ctx)
	if err != nil {
		return nil, err
	}
	one := newSingle(s)
	found := make([]candidate, 0, 2*(len(s.best.heap)+len(copies)))
	for _, r := range s.best.sorted() {
		c := one.found(r)
		c.exact = slices.Contains(copies, r.ordinal)
		found = append(found, c)
	}
	for _, ordinal := range copies {
		if !slices.ContainsFunc(s.best.heap, func(r scoredRow) bool { return r.ordinal == ordinal }) {
			if c, ok := one.candidate(ordinal); ok {
				c.exact = true
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// each scores messages one by one.
func (s *scorer) each(ctx context.Context, ordinals []uint32) error {
	one := newSingle(s)
	for i, ordinal := range ordinals {
		if i%index.PageRows == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if sum, matched := one.sum(ordinal); matched != 0 {
			s.offer(ordinal, sum.whole(), matched)
		}
	}
	return nil
}

// copies returns the messages whose content is the query. They need not be among
// the best: others may hold its words more often. A copy holds all terms of the
// query, so those that hold the rarest of them are looked at. Of very many copies
// the best candidateCount are enough.
func (s *scorer) copies(ctx context.Context) ([]uint32, error) {
	rarest, ok := s.rarest()
	if !ok {
		return nil, nil
	}
	var copies []uint32
	length := uint8(min(len(s.query.text), index.LongLength))
	page, lengths := -1, []uint8(nil)
	for c := s.view.Cursor(rarest); c.Next(); {
		if at := int(c.Ordinal() / index.PageRows); at != page {
			page, lengths = at, s.view.Lengths(at)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if lengths == nil || lengths[c.Ordinal()%index.PageRows] != length ||
			s.view.Fingerprint(c.Ordinal()) != s.query.fingerprint || !s.view.Passes(c.Ordinal()) || !s.sameTerms(c.Ordinal()) {
			continue
		}
		if copies = append(copies, c.Ordinal()); len(copies) > 2*candidateCount {
			copies = s.bestTied(copies)
		}
	}
	return s.bestTied(copies), nil
}

// sameTerms says whether a content has the terms of the query. With them a
// fingerprint cannot be forged: what has both is a copy in all but white space and
// marks.
func (s *scorer) sameTerms(ordinal uint32) bool {
	content := s.view.AppendContent(nil, ordinal, len(s.query.text)+1)
	return slices.EqualFunc(content, s.query.text, func(has, wanted index.Token) bool {
		number, ok := s.view.Number(int(wanted.Number))
		return ok && has.Number == number && has.Position == wanted.Position
	})
}

// bestTied returns the best of rows that have the same score, no more than become
// candidates.
func (s *scorer) bestTied(ordinals []uint32) []uint32 {
	slices.SortFunc(ordinals, s.view.CompareTies)
	return ordinals[:min(len(ordinals), candidateCount)]
}

// rarest returns the place of the term of the text that the fewest messages hold,
// false when none holds one of them.
func (s *scorer) rarest() (place int, ok bool) {
	for _, token := range s.query.text {
		at := int(token.Number)
		if s.view.Frequency(at) == 0 {
			return 0, false
		}
		if !ok || s.view.Frequency(at) < s.view.Frequency(place) {
			place, ok = at, true
		}
	}
	return place, ok
}
