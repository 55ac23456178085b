// Package search ranks the messages of an index by how well they match a text.
//
// The score is BM25F. Every term of the query that some live message holds adds
//
//	idf * (k1+1) * tf / (k1+tf)    idf = ln(1 + (N-df+0.5)/(df+0.5))
//
// to a message, where tf adds up the fields, each by its weight and relative to
// the usual length of the field: weight * count / (1 - b + b*length/average). N
// and df count live messages; the average is over those that have the field.
// The sum is divided by its limit, the sum of idf * (k1+1), so that scores lie
// between 0 and 1 and mean the same from call to call.
//
// Scores are bit for bit the same however an index came to hold its messages:
// terms are added in sorted order, and nothing depends on ordinals or time.
package search

import (
	"context"
	"math"

	"example.com/convmem/index"
	"github.com/oklog/ulid/v2"
)

// The constants of the score.
const (
	k1            = 1.2
	weightContent = 1.0
	weightSummary = 1.0
	weightTags    = 2.0
	// How much the length of a field counts. Tags are a set: their number says
	// nothing about how much one of them matters.
	lengthContent = 0.2
	lengthSummary = 0.2
	lengthTags    = 0.0
)

// Query says what to look for.
type Query struct {
	// Text is any text; see [index.Analyze]. It has no syntax.
	Text string
	// Filter selects the messages that are ranked. It does not change a score.
	Filter index.Filter
	// Limit is the greatest number of hits; below 1 there are none.
	Limit int
}

// Hit is a message that holds a term of the query.
type Hit struct {
	ID ulid.ULID
	// What each field adds to the score.
	Content, Summary, Tags float64
	// Matched says whether content, summary and tags hold a term of the query.
	Matched [index.FieldCount]bool
}

// Score adds up the fields, always in the same order. It is above 0 and, but
// for rounding, at most 1.
func (h Hit) Score() float64 { return (h.Content + h.Summary) + h.Tags }

// Run returns the best hits: by falling score, then falling importance, then
// falling id, which puts the newest first. A smaller limit gives the first hits
// of a larger one. A text without terms, or with terms that no message holds,
// has no hits.
//
// The time grows with the number of live messages that hold a term. The only
// error is that of a context that ended, looked at from time to time. The index
// must not change meanwhile.
func Run(ctx context.Context, ix *index.Index, q Query) ([]Hit, error) {
	best := ranking{limit: max(q.Limit, 0)}
	s := newScorer(ix, q.Text)
	matches := ix.Matcher(q.Filter)
	for start := uint32(0); start < s.end(); start += window {
		if ctx.Err() != nil {
			break
		}
		s.scoreWindow(start)
		for _, slot := range s.touched {
			if matches(start + slot) {
				best.add(s.candidate(start, slot))
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return best.hits(), nil
}

// idf is the weight of a term that df of n messages hold.
func idf(n, df int) float64 {
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}
