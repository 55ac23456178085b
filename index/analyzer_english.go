package index

import (
	"strings"

	"github.com/kljensen/snowball/english"
)

// cutEnding cuts what English hangs onto a word with an apostrophe.
func cutEnding(s string) string {
	i := strings.LastIndexByte(s, '\'')
	if i <= 0 || len(s)-i > len("'re") {
		return s
	}
	switch strings.ToLower(s[i+1:]) {
	case "t":
		if isLowerLatin(strings.ToLower(s[:i])) { // a compound is cut in its parts
			return cutNot(s[:i])
		}
	case "s", "d", "m", "re", "ve", "ll":
		return s[:i]
	}
	return s
}

// cutNot cuts the n of "n't" from what stands before the apostrophe, so that
// "haven't" gives have and not a harbour.
func cutNot(s string) string {
	switch strings.ToLower(s) {
	case "can", "ain": // the latter stands for am, is, are and has
		return s
	case "won":
		return "will"
	case "shan":
		return "shall"
	}
	if len(s) > 2 && s[len(s)-1]|' ' == 'n' {
		return s[:len(s)-1]
	}
	return s
}

// stem reduces a word of a to z to what it shares with its other forms. Stop
// words keep their form, by which queries know them.
func stem(word string) string {
	if isStopWord(word) {
		return word
	}
	if stem := english.Stem(baseNoun(baseVerb(word)), true); stem != "" {
		return stem
	}
	return word // a stem of nothing would hide it
}

// isStopWord says whether an English word only holds a sentence or question
// together. Content words that are also grammar now and then, such as may (the
// month), us (the country), like and get, are none: their frequency tells how
// much they say. Contractions arrive here without their endings; those written
// without an apostrophe are listed, unless that makes another word, as well,
// hell and wed.
func isStopWord(term string) bool {
	switch term {
	case "a", "an", "the", "this", "that", "these", "those",
		"i", "me", "my", "myself", "we", "our", "ours", "ourselves",
		"you", "your", "yours", "yourself", "yourselves",
		"he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself",
		"they", "them", "their", "theirs", "themselves",
		"who", "whom", "whose", "what", "which", "when", "where", "why", "how",
		"am", "is", "are", "was", "were", "be", "been", "being",
		"have", "has", "had", "having", "do", "does", "did", "doing",
		"can", "cannot", "could", "will", "would", "shall", "should", "might", "must",
		"and", "but", "or", "nor", "if", "because", "as", "until", "while", "than", "though", "although", "whether",
		"of", "at", "by", "for", "with", "about", "against", "between", "into", "through", "during",
		"before", "after", "above", "below", "to", "from", "up", "down", "in", "out", "on", "off",
		"over", "under", "upon", "again", "further", "then", "once", "ever",
		"here", "there", "all", "any", "both", "each", "few", "many", "much", "more", "most", "other", "some", "such",
		"no", "not", "only", "own", "same", "so", "too", "very", "just", "now", "also",
		// What apostrophes leave, and contractions without one.
		"s", "t", "ve", "ll", "ain", "aren", "couldn", "didn", "doesn", "hadn", "hasn", "isn", "shouldn", "wasn", "weren", "wouldn",
		"aint", "arent", "cant", "couldnt", "didnt", "doesnt", "dont", "hadnt", "hasnt", "havent", "isnt",
		"shouldnt", "wasnt", "werent", "wont", "wouldnt", "im", "ive", "youre", "youve", "theyre", "theyve", "weve",
		"thats", "whats", "wheres", "whos", "hows":
		return true
	}
	return false
}
