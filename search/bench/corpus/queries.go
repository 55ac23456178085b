package corpus

import (
	"math"
	"strings"
)

// Kind is a kind of query.
type Kind string

// The kinds of queries.
const (
	// Question has three to eight words: function words, one or two that each
	// stand in one message of 15 to one of 250, and one or two rarer ones. In the
	// questions of LoCoMo, a public set of conversations, the words that are no
	// names stand in 1 of 30, 100, 230 and 450 messages, by the median, the most
	// frequent word first.
	Question Kind = "question"
	// RareWord is a word of one message of 2,000 or of fewer.
	RareWord Kind = "rare word"
	// FrequentWords are two of the 200 most frequent words.
	FrequentWords Kind = "two frequent words"
)

// Query is something to search for.
type Query struct {
	Kind Kind
	Text string
}

// cycle is the order in which the kinds follow each other.
var cycle = []Kind{Question, RareWord, Question, FrequentWords, Question}

const (
	frequentRanks = 200
	midRank       = 10
	lowRank       = 300
	rareRank      = 2_000
	tailRank      = 20_000
	endRank       = 30_000
)

// Queries returns the first n queries. Of five, three are questions, one is a rare
// word and one is two frequent words.
func (c Corpus) Queries(n int) []Query {
	w := newWriter(c.seed, queryStream)
	queries := make([]Query, n)
	for i := range queries {
		kind := cycle[i%len(cycle)]
		queries[i] = Query{kind, w.query(kind)}
	}
	return queries
}

func (w *writer) query(kind Kind) string {
	switch kind {
	case RareWord:
		return word(w.rank(rareRank, endRank))
	case FrequentWords:
		first := w.IntN(frequentRanks)
		other := (first + 1 + w.IntN(frequentRanks-1)) % frequentRanks
		return word(first) + " " + word(other)
	default:
		return w.question()
	}
}

func (w *writer) question() string {
	var words []string
	for range 1 + w.IntN(2) {
		words = append(words, w.ended(word(w.rank(midRank, lowRank))))
	}
	for range 1 + w.IntN(2) {
		words = append(words, w.ended(word(w.rank(lowRank, tailRank))))
	}
	for length := 3 + w.IntN(6) - 1; len(words) < length; {
		words = append(words, w.stopWord())
	}
	w.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	first := questionWords[w.IntN(len(questionWords))]
	return strings.ToUpper(first[:1]) + first[1:] + " " + strings.Join(words, " ") + "?"
}

// rank draws one from low to below high, each power of ten alike.
func (w *writer) rank(low, high float64) int {
	return int(low * math.Pow(high/low, w.Float64()))
}
