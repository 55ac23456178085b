package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// adversarial is the group that the figures over all groups leave out.
const adversarial = "adversarial"

// The depths of nDCG and of the figure over sessions.
const (
	ndcgDepth    = 10
	sessionDepth = 5
)

// outcome is how well one query went.
type outcome struct {
	recall           recall
	reciprocal, ndcg float64
	// session is 1 or 0, and counts only where inSessions is set.
	session    float64
	inSessions bool
	took       time.Duration
}

// measure asks an engine all queries of a set.
func measure(ctx context.Context, s *set, open opener) (report, error) {
	groups := map[string]*tally{}
	for _, m := range s.memories {
		if err := m.measure(ctx, open, groups); err != nil {
			return report{}, err
		}
	}
	var all tally
	r := report{Set: s.name, Groups: map[string]figures{}}
	for _, name := range sortedKeys(groups) {
		r.Groups[name] = groups[name].figures()
		if name != adversarial {
			all.merge(*groups[name])
		}
	}
	r.figures = all.figures()
	return r, nil
}

// measure asks the queries of one store. It adds to the groups.
func (m *memory) measure(ctx context.Context, open opener, groups map[string]*tally) (err error) {
	e, err := open(ctx, m.messages)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	hasSessions := m.hasSessions()
	for _, q := range m.queries {
		start := time.Now()
		ranking, err := e.rank(ctx, q.Text)
		took := time.Since(start)
		if err != nil {
			return q.wrap(err)
		}
		o := q.outcome(ranking, m.sessions)
		o.inSessions, o.took = hasSessions, took
		if groups[q.Group] == nil {
			groups[q.Group] = &tally{}
		}
		groups[q.Group].add(o)
	}
	return nil
}

// outcome judges a ranking, given the session of every message.
func (q query) outcome(ranking []string, sessions map[string]string) outcome {
	ranking = without(ranking, q.Exclude)
	ranks := ranksOf(q.Relevant, ranking)
	count := len(q.Relevant)
	o := outcome{
		recall: recall{
			At1: shareWithin(1, ranks, count), At5: shareWithin(5, ranks, count),
			At10: shareWithin(10, ranks, count), At20: shareWithin(20, ranks, count),
		},
		ndcg: gain(ranks) / gain(ranksFrom1(count)),
	}
	if len(ranks) > 0 {
		o.reciprocal = 1 / float64(ranks[0])
	}
	if sessionFound(q.Relevant, ranking, sessions) {
		o.session = 1
	}
	return o
}

// without returns the ranking less the excluded messages.
func without(ranking, exclude []string) []string {
	return slices.DeleteFunc(slices.Clone(ranking), func(id string) bool { return slices.Contains(exclude, id) })
}

// ranksOf returns the places, from 1, of the relevant messages that were found,
// best first.
func ranksOf(relevant, ranking []string) (ranks []int) {
	for i, id := range ranking {
		if slices.Contains(relevant, id) {
			ranks = append(ranks, i+1)
		}
	}
	return ranks
}

// shareWithin is the share of count relevant messages that are among the first k.
func shareWithin(k int, ranks []int, count int) float64 {
	within := 0
	for _, rank := range ranks {
		if rank <= k {
			within++
		}
	}
	return float64(within) / float64(count)
}

// gain is the discounted cumulative gain of relevant messages at these ranks.
func gain(ranks []int) (sum float64) {
	for _, rank := range ranks {
		if rank <= ndcgDepth {
			sum += 1 / math.Log2(float64(rank+1))
		}
	}
	return sum
}

// ranksFrom1 are the ranks of count relevant messages in the best of rankings.
func ranksFrom1(count int) []int {
	ranks := make([]int, count)
	for i := range ranks {
		ranks[i] = i + 1
	}
	return ranks
}

// sessionFound reports whether a relevant message's session is among the first
// distinct sessions of a ranking.
func sessionFound(relevant, ranking []string, sessions map[string]string) bool {
	var first []string
	for _, id := range ranking {
		if session := sessions[id]; !slices.Contains(first, session) {
			first = append(first, session)
		}
		if len(first) == sessionDepth {
			break
		}
	}
	return slices.ContainsFunc(relevant, func(id string) bool { return slices.Contains(first, sessions[id]) })
}
