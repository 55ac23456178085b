// Package search ranks the messages of an index by how well they match a text, in
// two stages.
//
// The first is BM25F over content, summary and tags. Every term of the query that
// some live message holds adds
//
//	weight * tf / (k1+tf)    weight = own weight * ln(1 + (N-df+0.5)/(df+0.5))
//
// to a message, where tf adds up the fields, each by its weight and relative to
// the usual length of the field: weight * count / (1 - b + b*length/average). N
// and df count live messages; the average is over those that have the field. The
// sum, divided by its limit, the sum of all weights, is multiplied by
// (covered/all)^0.2, where covered is the weight of the terms that the message
// holds. So a message's own score lies between 0 and 1 and means the same from
// call to call.
//
// The best by their own score, the messages right beside the best of those, and
// exact copies of the query are the candidates. The second stage reads their words
// in order and looks at where they stand in their sessions: words of the query
// that stand together count more, and so do an answer to a question that matches
// and a message in a conversation that is about the query; see rerank. It
// multiplies all parts of a score by one factor, so that the score stays the sum
// of its parts.
//
// Scores are bit for bit the same however an index came to hold its messages: sums
// are formed in whole numbers or in the order of the terms, and nothing depends on
// ordinals, on the clock or on how many hits are wanted.
package search

import (
	"context"

	"example.com/convmem/index"
	"github.com/oklog/ulid/v2"
)

// Query says what to look for.
type Query struct {
	// Text is any text. It has no syntax; what stands in quotation marks counts
	// more where it is found as a phrase.
	Text string
	// Filter selects the messages that are ranked. It does not change how well
	// a message fits; but only messages that pass it lift others. What it
	// points to must not change during the search.
	Filter index.Filter
	// Limit is the greatest number of hits; below 1 there are none. No search
	// has more than some hundreds.
	Limit int
}

// Hit is a message that fits.
type Hit struct {
	ID ulid.ULID
	// What each field adds to the score.
	Content, Summary, Tags float64
	// Matched says whether content, summary and tags hold a term of the query.
	Matched [index.FieldCount]bool
}

// Score adds up the fields, always in the same order.
func (h Hit) Score() float64 { return (h.Content + h.Summary) + h.Tags }

// Scaled returns the hit with all that it adds to the score multiplied.
func (h Hit) Scaled(factor float64) Hit {
	h.Content *= factor
	h.Summary *= factor
	h.Tags *= factor
	return h
}

// WithScore returns the hit with another score, shared among the fields as before.
func (h Hit) WithScore(score float64) Hit {
	h = h.Scaled(score / h.Score())
	largest := &h.Content
	for _, part := range []*float64{&h.Summary, &h.Tags} {
		if *part > *largest {
			largest = part
		}
	}
	for range 4 { // what rounding took away
		*largest += score - h.Score()
	}
	return h
}

// Run returns the best hits: by falling score, then falling importance, then
// falling time of the id, then falling id. A smaller limit gives the first hits of
// a larger one. A text without terms, or with terms that no message holds, has no
// hits, unless it is the id of a message.
//
// The only error is that of a context that ended, looked at from time to time. The
// index must not change meanwhile; where it may, use [New].
func Run(ctx context.Context, ix *index.Index, q Query) ([]Hit, error) {
	s := New(ix.Analyzer(), q)
	defer s.Release()
	s.Begin(ix)
	if err := s.Score(ctx); err != nil {
		return nil, err
	}
	hits, _ := s.Finish(ix)
	return hits, nil
}

// Search is one search of an index that changes. Its steps, one after the other:
// [New] without any lock; Begin while the index does not change; Score without any
// lock, which is nearly all of the work; Finish while the index does not change.
// After a Finish that says no, Begin and the rest may be called again. Release
// ends it.
type Search struct {
	query  prepared
	view   *index.View
	scorer *scorer
	found  []candidate
	named  *candidate // the message whose id the query is
}

// New analyses a query.
func New(a index.Analyzer, q Query) *Search { return &Search{query: prepare(a, q)} }

// Begin takes a view of the index, in a few steps for each term of the query and,
// where the filter names a short session, for each message of it.
func (s *Search) Begin(ix *index.Index) {
	s.view = ix.View(s.query.terms, s.query.filter)
	s.named = nil
	if ordinal, ok := ix.Find(s.query.id); ok && !s.query.id.IsZero() && s.view.Passes(ordinal) {
		s.named = &candidate{ordinal: ordinal, entry: s.view.Entry(ordinal)}
	}
}

// Score finds the candidates. The only error is that of ctx, when it has ended.
func (s *Search) Score(ctx context.Context) error {
	s.found = nil
	if s.scorer != nil {
		s.scorer.release()
		s.scorer = nil
	}
	if len(s.query.terms) == 0 || s.view.Nothing() {
		return ctx.Err()
	}
	s.scorer = newScorer(s.view, &s.query)
	found, err := s.scorer.candidates(ctx)
	s.found = found
	return err
}
