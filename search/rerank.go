package search

import "slices"

// The second stage looks at the candidates only. It reads their content, lets
// them lift each other where they stand in one conversation, and answers with a
// factor for each: what its own score, and so every part of it, is multiplied by.
//
//	read   = own + pairWeight * pairs + phraseWeight * phrases
//	raised = read + lift                              in a conversation, else read
//	final  = raised * openingFactor, if the content opens with a word of the query
//	                * askingFactor, if it asks
//
// Two rules come last. A message that does not hold the whole query as a phrase
// is not raised above the best one that does. A copy of the query gains the
// score of the best other message and so stands above all of them.
//
// Nothing here depends on how many hits are wanted, on ordinals or on the clock,
// and sums are formed in an order that only the texts and their places give.

// question is a query as the second stage sees it.
type question struct {
	// text is the terms of the whole query in order, phrases those of each
	// part in quotation marks.
	text    []token
	phrases [][]token
	terms   map[uint32]known // those of the text that some message holds
	// ideal is the weight of all terms that are scored, above 0: what own scores
	// were divided by.
	ideal    float64
	messages int // live ones in the index
}

// known is a term that some message holds.
type known struct {
	weight float64 // as in the first stage; of others their idf
	scored bool    // it counted in the own scores; stop words mostly do not
}

// subject is a candidate as the second stage sees it.
type subject struct {
	own   float64 // its score by the first stage, above 0
	copy  bool    // its content is the query
	asks  bool    // its content holds a question mark
	role  string
	opens bool // found by reading: see openingFactor
	whole bool // found by reading: it holds the whole query as a phrase
}

// placed is a candidate at its place in its session.
type placed struct {
	of   int // which candidate
	rank int // among the live messages of the session
	// near says that the candidate before it in the list is a neighbour: in the
	// same session, at most nearReach places before, without a long silence
	// between them.
	near bool
}

// rerank returns what the own score of each candidate is multiplied by. The
// places are sorted by session and rank and name every candidate once. content
// returns the terms of a candidate's content in order; rerank is done with them
// when it asks for the next.
func rerank(q *question, subjects []subject, places []placed, content func(i int) []token) []float64 {
	read := readAll(q, subjects, content)
	scores := slices.Clone(read)
	for i, lift := range lifts(subjects, places, read) {
		scores[i] += lift
	}
	for i := range subjects {
		shape := subjects[i].shape()
		scores[i] *= shape
		read[i] *= shape
	}
	holdBelowPhrase(subjects, read, scores)
	raiseCopies(subjects, scores)
	for i := range scores {
		scores[i] /= subjects[i].own
	}
	return scores
}

// shape is the factor for what a message is, whatever stands around it.
func (s *subject) shape() float64 {
	factor := 1.0
	if s.opens {
		factor *= openingFactor
	}
	if s.asks {
		factor *= askingFactor
	}
	return factor
}

// readAll reads the contents and returns the scores with what they add.
func readAll(q *question, subjects []subject, content func(i int) []token) []float64 {
	pairs := newPairs(q.text)
	whole := newPhrase(q.text)
	quoted := make([]*phrase, len(q.phrases))
	for i, text := range q.phrases {
		quoted[i] = newPhrase(text)
	}
	scores := make([]float64, len(subjects))
	for i := range subjects {
		tokens := content(i)
		s := &subjects[i]
		s.opens = opens(q, tokens)
		s.whole = s.copy || whole.in(tokens)
		pairs.read(i, tokens)
		scores[i] = s.own + phraseWeight*share(quoted, tokens)
	}
	for i, sum := range pairs.sums(len(subjects), q) {
		scores[i] += pairWeight * sum / q.ideal
	}
	return scores
}

// holdBelowPhrase takes back what raised a message above the best one that holds
// the whole query as a phrase. By what it holds itself it may stand above it.
func holdBelowPhrase(subjects []subject, read, scores []float64) {
	best := 0.0
	for i := range subjects {
		if subjects[i].whole {
			best = max(best, scores[i])
		}
	}
	if best == 0 {
		return
	}
	for i := range subjects {
		if !subjects[i].whole && scores[i] >= best {
			scores[i] = max(read[i], best*(1-slack*best/scores[i]))
		}
	}
}

// slack is how far below the best phrase those are put that would stand above it,
// the nearer the better they are. It is far more than rounding takes away when the
// parts of a score are scaled and added.
const slack = 1e-6

// raiseCopies puts the copies of the query above all others.
func raiseCopies(subjects []subject, scores []float64) {
	best := 0.0
	for i := range subjects {
		if !subjects[i].copy {
			best = max(best, scores[i])
		}
	}
	for i := range subjects {
		if subjects[i].copy {
			scores[i] += best
		}
	}
}
