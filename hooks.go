package convmem

import "context"

// Analyzer turns text into the terms that search knows, for messages and for
// queries alike. Its methods are called by several goroutines at once.
type Analyzer interface {
	// Name identifies the rules. It must change whenever some text may give
	// other terms: the index is then made anew from all text.
	Name() string
	// Analyze calls emit for every term of a text with its position. Positions
	// begin at 0 or above and never fall; two terms stand next to each other
	// when no position lies between theirs. A term has 1 to 128 bytes. The same
	// text must always give the same terms, and no text may make it panic: it is
	// called for messages that are on stable storage already, so a store that
	// holds such a text could not be opened with this Analyzer any more.
	Analyze(text string, emit func(term string, position int))
	// Weight says how much a term of a query counts: 1 is usual. Terms of
	// weight 0 are left out of a query, unless it has no others; then all count
	// alike. Other weights count as 0.001 to 1000.
	Weight(term string) float64
}

// Candidate is a hit that a Reranker judges.
type Candidate struct {
	// Message is whole, with its payload, whatever the search asked for, also
	// beyond Options.MaxResultBytes. The Reranker may keep it.
	Message Message
	// Score is that of the search for words.
	Score float64
}

// Reranker puts the hits of searches in another order, by embeddings, say, or by a
// model that reads them. Its method is called by several goroutines at once, while
// nobody waits for the search.
type Reranker interface {
	// Rerank returns a score for every candidate, in their order: from 0 to
	// 1e100, more for a better one. It takes the place of the candidate's score.
	// candidates are the best [MaxSearchLimit] hits, best first, at least one,
	// whatever the limit of the search.
	//
	// An error, or scores that are too few, too many, out of range or not a
	// number, leave the order and the scores as they were: the result then says
	// why in [SearchResult.RerankError]. When ctx ends, the search fails. A
	// message that is changed or deleted meanwhile is left out of the result. A
	// query that is the id of a message is not reranked.
	Rerank(ctx context.Context, query string, candidates []Candidate) ([]float64, error)
}
