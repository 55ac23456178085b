package corpus

import "slices"

const (
	vocabulary = 40_000

	// The word of rank r is as frequent as (zipfOffset+r)^-zipfExponent. The
	// offset stands for the function words, which are counted apart: without it
	// the first word would stand in most messages, as no word with a meaning does.
	// With it, it stands in one of seven.
	zipfExponent = 1.07
	zipfOffset   = 10
)

// endings are what stemmers take off.
var endings = []string{"s", "ed", "ing"}

// Words are syllables of a consonant and a vowel, and a last one that is closed.
// The letters of the last one are chosen so that no stemmer sees a suffix in it;
// a second syllable is needed because stemmers treat endings after a single one
// in other ways.
const (
	onsets      = "bdfghklmnprstv"
	vowels      = "aeiou"
	lastVowels  = "aiou"
	codas       = "bdgkmnp"
	openCount   = len(onsets) * len(vowels)
	closedCount = len(onsets) * len(lastVowels) * len(codas)

	// Frequent words are short.
	shortWords = 20_000
)

// word returns the word of a rank below vocabulary; no two ranks share one.
func word(rank int) string {
	// The factors have no divisor in common with the counts, so that each rank
	// gives another number, and neighbours have nothing alike.
	if rank < shortWords {
		return syllables(rank*10_007%(openCount*closedCount), 1)
	}
	return syllables((rank-shortWords)*700_001%(openCount*openCount*closedCount), 2)
}

// syllables spells a number as so many open syllables and a closed one.
func syllables(n, open int) string {
	b := make([]byte, 0, 2*open+3)
	pick := func(letters string) {
		b = append(b, letters[n%len(letters)])
		n /= len(letters)
	}
	for range open {
		pick(onsets)
		pick(vowels)
	}
	pick(onsets)
	pick(lastVowels)
	pick(codas)
	return string(b)
}

type stopWord struct {
	text   string
	weight int // how often among a thousand words, about
}

// Only words that are on every list in use: those of Lucene and Snowball among
// them.
var stopWords = []stopWord{
	{"the", 62}, {"and", 30}, {"to", 28}, {"i", 28}, {"of", 26}, {"a", 25}, {"in", 20},
	{"you", 17}, {"it", 15}, {"that", 15}, {"is", 14}, {"for", 11}, {"was", 10}, {"on", 9},
	{"with", 8}, {"my", 8}, {"this", 7}, {"be", 7}, {"have", 7}, {"we", 7}, {"but", 6},
	{"not", 6}, {"are", 6}, {"as", 6}, {"at", 5}, {"so", 5}, {"he", 5}, {"they", 5},
	{"do", 5}, {"me", 5}, {"from", 4}, {"or", 4}, {"she", 4}, {"what", 4}, {"your", 4},
	{"about", 4}, {"if", 4}, {"an", 3}, {"by", 3}, {"when", 3}, {"how", 3}, {"there", 3},
	{"her", 3}, {"his", 3}, {"had", 3}, {"no", 3}, {"been", 2}, {"were", 2}, {"our", 2},
	{"their", 2}, {"which", 2}, {"who", 2}, {"did", 2}, {"then", 2}, {"has", 2},
	{"more", 2}, {"some", 2}, {"where", 1}, {"why", 1}, {"does", 1}, {"before", 1},
	{"after", 1},
}

// questionWords begin a question.
var questionWords = []string{"what", "when", "where", "who", "why", "how", "which", "did", "does"}

// StopWords returns the function words in the corpus, for engines without a list
// of their own. They are in lower case.
func StopWords() []string {
	words := make([]string, len(stopWords))
	for i, s := range stopWords {
		words[i] = s.text
	}
	return words
}

// sumsOfWeights returns, for each stop word, the sum of the weights up to it.
func sumsOfWeights() []int {
	sums := make([]int, len(stopWords))
	sum := 0
	for i, s := range stopWords {
		sum += s.weight
		sums[i] = sum
	}
	return sums
}

func (w *writer) stopWord() string {
	n := w.IntN(w.weights[len(stopWords)-1])
	i, _ := slices.BinarySearch(w.weights, n+1)
	return stopWords[i].text
}
