package search

import (
	"cmp"
	"slices"

	"example.com/convmem/index"
)

// Finish returns the hits, unless one of the messages that were found has changed
// since Begin, or ix is another index: then it says no. It changes nothing and may
// be called again.
func (s *Search) Finish(ix *index.Index) (hits []Hit, ok bool) {
	if !ix.Made(s.view) {
		return nil, false
	}
	for i := range s.found {
		if !ix.Holds(s.view, s.found[i].ordinal) {
			return nil, false
		}
	}
	if s.named != nil && !ix.Holds(s.view, s.named.ordinal) {
		return nil, false
	}
	ranked := s.rank(ix)
	slices.SortFunc(ranked, compareRanked)
	ranked = s.withNamed(ranked)
	for _, r := range ranked[:max(0, min(s.query.limit, len(ranked)))] {
		hits = append(hits, r.hit)
	}
	return hits, true
}

// Release gives back memory that other searches can use. Nothing may be called
// after it.
func (s *Search) Release() {
	if s.scorer != nil {
		s.scorer.release()
	}
	s.scorer, s.found, s.view = nil, nil, nil
}

// ranked is a hit with what ties are broken by.
type ranked struct {
	hit        Hit
	score      float64
	importance int
}

// compareRanked puts the better one first. No two are alike, since ids differ; a
// greater id is also a newer one.
func compareRanked(a, b ranked) int {
	return cmp.Or(
		cmp.Compare(b.score, a.score),
		cmp.Compare(b.importance, a.importance),
		b.hit.ID.Compare(a.hit.ID),
	)
}

// rank puts the candidates through the second stage.
func (s *Search) rank(ix *index.Index) []ranked {
	if len(s.found) == 0 {
		return nil
	}
	candidates := s.scorer.withNeighbours(ix, s.found)
	subjects := make([]subject, len(candidates))
	for i, c := range candidates {
		subjects[i] = subject{own: c.parts.sum(), copy: c.exact, asks: c.entry.Asks, role: c.entry.Role}
	}
	s.view.Touch(ordinalsOf(candidates))
	var tokens []index.Token
	factors := rerank(s.question(), subjects, placesOf(ix, candidates), func(i int) []index.Token {
		tokens = s.view.AppendContent(tokens[:0], candidates[i].ordinal, readTerms)
		return tokens
	})
	list := make([]ranked, len(candidates))
	for i, c := range candidates {
		list[i] = c.ranked(factors[i])
	}
	return list
}

func (c *candidate) ranked(factor float64) ranked {
	h := Hit{
		ID:      c.entry.ID,
		Content: c.parts[index.Content], Summary: c.parts[index.Summary], Tags: c.parts[index.Tags],
	}.Scaled(factor)
	for f, part := range c.parts {
		h.Matched[f] = part > 0
	}
	return ranked{hit: h, score: h.Score(), importance: c.entry.Importance}
}

func ordinalsOf(candidates []candidate) []uint32 {
	ordinals := make([]uint32, len(candidates))
	for i := range candidates {
		ordinals[i] = candidates[i].ordinal
	}
	return ordinals
}

// placesOf returns where the candidates stand.
func placesOf(ix *index.Index, candidates []candidate) []placed {
	places := make([]placed, 0, len(candidates))
	for _, p := range ix.Places(ordinalsOf(candidates), index.Reach{Messages: nearReach, Silence: nearSilence}) {
		places = append(places, placed{of: p.Of, rank: p.Rank, near: p.Near})
	}
	return places
}

// withNeighbours adds the messages around the best candidates that hold a term of
// the query too: what stands beside a good message is worth a look.
func (s *scorer) withNeighbours(ix *index.Index, found []candidate) []candidate {
	one := newSingle(s)
	all := slices.Clone(found)
	ordinals := ordinalsOf(found)
	beside := ix.Beside(s.view, ordinals[:min(besideCount, len(found))], besideReach)
	s.view.Touch(beside)
	for _, ordinal := range beside {
		if slices.Contains(ordinals, ordinal) || !s.view.Passes(ordinal) {
			continue
		}
		if c, ok := one.candidate(ordinal); ok {
			all = append(all, c)
		}
	}
	return all
}

// question is the query with the numbers that terms have in the view.
func (s *Search) question() *question {
	q := &question{
		terms: map[uint32]known{}, ideal: s.scorer.ideal, messages: s.view.Statistics().Messages,
	}
	q.text = s.numbered(s.query.text)
	for _, phrase := range s.query.phrases {
		q.phrases = append(q.phrases, s.numbered(phrase))
	}
	for place := range s.query.terms {
		if number, ok := s.view.Number(place); ok {
			q.terms[number] = known{weight: idf(q.messages, s.view.Frequency(place))}
		}
	}
	for _, t := range s.scorer.terms {
		q.terms[t.number] = known{weight: t.weight, scored: true}
	}
	return q
}

// numbered replaces places by numbers. Terms that no message holds get numbers
// that no term has.
func (s *Search) numbered(tokens []index.Token) []index.Token {
	numbered := slices.Clone(tokens)
	for i := range numbered {
		place := int(numbered[i].Number)
		number, ok := s.view.Number(place)
		if !ok {
			number = ^uint32(place)
		}
		numbered[i].Number = number
	}
	return numbered
}

// withNamed puts the message whose id the query is first, with a score a little
// above the best other one, and at least 1. A message without words of the query
// has it for its content.
func (s *Search) withNamed(list []ranked) []ranked {
	if s.named == nil {
		return list
	}
	hit := Hit{ID: s.named.entry.ID, Content: 1, Matched: [index.FieldCount]bool{index.Content: true}}
	list = slices.DeleteFunc(list, func(r ranked) bool {
		if r.hit.ID != hit.ID {
			return false
		}
		hit = r.hit
		return true
	})
	top := 1.0
	if len(list) > 0 {
		top = max(top, list[0].score)
	}
	return slices.Insert(list, 0, ranked{hit: hit.Scaled(top * justAbove / hit.Score())})
}

// justAbove is more than 1 by far more than rounding takes away.
const justAbove = 1 + 1e-9
