package search

import "example.com/convmem/index"

// The constants of the first stage. k1 and the weights of the fields are usual
// values; .6 to 1.2 and .1 to .3 measured alike.
const (
	k1 = 1.2

	// coverageExponent is for the share of the query that a message covers. On
	// the conversations it changes nothing; of Japanese paragraphs it finds half
	// a point more first.
	coverageExponent = 0.2
)

// fields says how each field counts: its weight, and how much its length does.
// Messages are short, and a long one is rarely padding. Tags are a set that
// somebody chose: their number says nothing about how much one of them matters.
var fields = [index.FieldCount]struct{ weight, length float64 }{
	index.Content: {weight: 1, length: 0.2},
	index.Summary: {weight: 1, length: 0.2},
	index.Tags:    {weight: 2, length: 0},
}

// The constants that choose the candidates.
const (
	// candidateCount is how many of the best by their own score are candidates,
	// at least the greatest limit of a search. 50 to 300 find the same.
	candidateCount = 100

	// besideCount is how many of these bring in the messages beside them, up to
	// besideReach places away, that hold a word of the query too: an answer often
	// repeats little of what is asked for. With none beside, 100 candidates find
	// 6.5 points less, and 300 find 1.8; one place finds .3 less, four no more.
	// 20, 30 and 50 of the candidates find the same.
	besideCount = 30
	besideReach = 2
)

// readTerms is how many terms of a message the second stage reads, its first ones:
// a very long message among the candidates must not make a search slow.
const readTerms = 2048

// The constants of the second stage. They are round numbers on a plateau, tuned on
// five English conversations (2,760 messages, 760 questions) and checked on
// Japanese and Chinese paragraphs. The figures are changes in points of recall@10
// and nDCG@10 on the conversations when that constant alone changes; .3 is noise.
// Tuned anew on each four of the five, they gain the fifth +.2 and +.4.
const (
	// pairWeight is what the pairs of the query that stand in the content add,
	// in parts of the query's weight. 0: -1.2 -1.2; .05: -.3 -.5; .2: +.2 -.1.
	pairWeight = 0.1

	// phraseWeight is what all parts of the query in quotation marks add. The
	// questions hold too few to tell: 0 and .4 change nothing. A full score is
	// about 1, so it decides between messages that are nearly as good.
	phraseWeight = 0.2

	// openingFactor is for a message that begins with a word of the query: the
	// label of who speaks, the title of a note. 1: -1.4 -2.8; 1.2: -.4 -.4;
	// 1.5: -.1 +.2, but then a question that names the wrong speaker misses more.
	// Without such labels in the texts it changes nothing (+.0 -.2). In
	// Chinese paragraphs it gains 1.4 points of recall@1.
	openingFactor = 1.3

	// askingFactor is for a message that asks: it seldom holds the answer.
	// 1: -.4 -.3; .8: -.2 -.4.
	askingFactor = 0.9

	// answerWeight is how much of its score a message that asks gives to the one
	// right after it, of another role. 0: -3.3 -5.4; .5: -.0 -.1; .7: -.1 +.2.
	answerWeight = 0.6

	// nextWeight is how much a message gives to the one right before it.
	// 0: -.7 -.2; .2: -.1 +.3; .4: -.4 -.6.
	nextWeight = 0.3

	// secondWeight is how much a message gives to those two away, which mostly
	// are of the same role. 0: -1.9 -1.2; .1: -.4 -.4; .3: +.3 +.0. What a
	// statement gave to the one right after it changed nothing (.05) or lost.
	secondWeight = 0.2

	// nearWeight is how much the best of the neighbours gives to all of them,
	// nearReach how far away a neighbour stands. Weight 0: -1.8 -1.4; .2: -.5
	// -.3; .4: -.4 -.1. Reach 8: +.1 +.1; 4: +.4 +.3, but finds fewer sessions.
	nearWeight = 0.3
	nearReach  = 16

	// nearSilence ends a conversation, in milliseconds: half an hour. The
	// sessions that were measured hold longer silences only between
	// conversations.
	nearSilence = 30 * 60 * 1000
)
