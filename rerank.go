package convmem

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/convmem/search"
)

// findReranked is find with the scores of the Reranker. The best hits are read,
// judged without keeping anybody waiting, and what is left of them is returned.
func (db *DB) findReranked(ctx context.Context, b *searchBuilder) error {
	all := b.request
	all.Limit = MaxSearchLimit
	var hits []search.Hit
	var candidates []Candidate
	err := db.rank(ctx, all, func(m *moment, found []search.Hit) (err error) {
		hits, candidates, err = m.candidates(found)
		b.result = SearchResult{}
		return err
	})
	if err != nil {
		return err
	}
	if len(candidates) > 0 {
		if err := db.rerank(ctx, b, hits, candidates); err != nil {
			return err
		}
	}
	return db.at(ctx, b.request.MaxContentCharacters, func(m *moment) error {
		return b.build(m, hits[:min(len(hits), b.request.Limit)])
	})
}

// candidates reads the messages of hits. One that is damaged goes last in hits
// and is no candidate.
func (m *moment) candidates(found []search.Hit) (hits []search.Hit, candidates []Candidate, err error) {
	var damaged []search.Hit
	for _, hit := range found {
		message, err := m.message(hit.ID)
		if isDamagedMessage(err) {
			damaged = append(damaged, hit)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		hits = append(hits, hit)
		candidates = append(candidates, Candidate{Message: message, Score: hit.Score()})
	}
	return append(hits, damaged...), candidates, nil
}

// rerank puts the hits that are candidates into the order of the Reranker, or
// notes why it cannot. The error is that of ctx.
func (db *DB) rerank(ctx context.Context, b *searchBuilder, hits []search.Hit, candidates []Candidate) error {
	scores, err := db.reranker.Rerank(ctx, b.request.Query, slices.Clone(candidates))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = checkScores(scores, len(candidates))
	}
	if err != nil {
		b.result.RerankError = cutBytes(strings.ToValidUTF8(err.Error(), "?"), maxRerankError)
		db.logger.Warn("search: the reranker failed, so the hits are in the order of the words", "err", err)
		return nil
	}
	sortByScores(hits[:len(scores)], candidates, scores)
	return nil
}

// maxRerankError bounds what a host's error adds to a result, in bytes.
const maxRerankError = 500

func checkScores(scores []float64, want int) error {
	if len(scores) != want {
		return fmt.Errorf("the reranker returned %d scores for %d candidates", len(scores), want)
	}
	for i, score := range scores {
		if !(score >= 0) || math.IsInf(score, 1) {
			return fmt.Errorf("the reranker returned the score %v for candidate %d, want 0 or more", score, i)
		}
	}
	return nil
}

// sortByScores gives hits new scores, shared among the fields as the old ones
// were, and sorts them as every result is sorted.
func sortByScores(hits []search.Hit, candidates []Candidate, scores []float64) {
	importance := map[string]int{}
	for i := range hits {
		hits[i] = hits[i].Scaled(scores[i] / candidates[i].Score)
		importance[candidates[i].Message.ID] = candidates[i].Message.Metadata.Importance
	}
	slices.SortFunc(hits, func(a, b search.Hit) int {
		return cmp.Or(
			cmp.Compare(b.Score(), a.Score()),
			cmp.Compare(importance[b.ID.String()], importance[a.ID.String()]),
			b.ID.Compare(a.ID),
		)
	})
}
