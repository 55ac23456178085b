package convmem

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/convmem/search"
	"github.com/oklog/ulid/v2"
)

// findReranked is find with the scores of the Reranker. The best hits are read,
// judged without keeping anybody waiting, and what is left of them is returned.
func (db *DB) findReranked(ctx context.Context, b *searchBuilder) error {
	all := b.request
	all.Limit = MaxSearchLimit
	var hits []search.Hit
	var candidates []Candidate
	err := db.rank(ctx, all, func(m *moment, found []search.Hit) (err error) {
		hits, candidates, err = b.candidates(m, found)
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
	return db.at(ctx, b.request.MaxContentCharacters, func(m *moment) error { return b.build(m, hits) })
}

// candidates reads the messages of hits, and leaves out those that are damaged.
func (b *searchBuilder) candidates(m *moment, found []search.Hit) (hits []search.Hit, candidates []Candidate, err error) {
	b.judged, b.damaged = map[ulid.ULID]int64{}, false
	for _, hit := range found {
		message, err := m.message(hit.ID)
		if isDamagedMessage(err) {
			b.damaged = true
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		b.judged[hit.ID] = message.Revision
		hits = append(hits, hit)
		candidates = append(candidates, Candidate{Message: message, Score: hit.Score()})
	}
	return hits, candidates, nil
}

// rerank puts the hits into the order of the Reranker, or notes why it cannot. The
// error is that of ctx.
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
	sortByScores(hits, candidates, scores)
	return nil
}

// maxRerankError bounds what a host's error adds to a result, in bytes.
const maxRerankError = 500

// maxRerankScore is more than any scale needs, and leaves room to add.
const maxRerankScore = 1e100

func checkScores(scores []float64, want int) error {
	if len(scores) != want {
		return fmt.Errorf("the reranker returned %d scores for %d candidates", len(scores), want)
	}
	for i, score := range scores {
		if !(score >= 0 && score <= maxRerankScore) {
			return fmt.Errorf("the reranker returned the score %v for candidate %d, want 0 to %v", score, i, maxRerankScore)
		}
	}
	return nil
}

// sortByScores gives hits new scores, shared among the fields as the old ones
// were, and sorts them as every result is sorted.
func sortByScores(hits []search.Hit, candidates []Candidate, scores []float64) {
	importance := map[string]int{}
	for i := range hits {
		hits[i] = hits[i].WithScore(scores[i])
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
