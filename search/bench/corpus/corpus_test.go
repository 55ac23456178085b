package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/go-porterstemmer"
	"github.com/kljensen/snowball/english"
)

// hashOf hashes values as lines of JSON.
func hashOf[T any](t *testing.T, values []T) string {
	t.Helper()
	h := sha256.New()
	e := json.NewEncoder(h)
	for _, v := range values {
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// TestPinned sees that the text stays what it was when figures were published.
func TestPinned(t *testing.T) {
	for _, test := range []struct{ name, got, want string }{
		{"the first 1000 messages", hashOf(t, slices.Collect(New(1).Messages(1000))), "900d6ef13b1b89af"},
		{"the first 1000 queries", hashOf(t, New(1).Queries(1000)), "6306f00cb1484c10"},
		{"those of another seed", hashOf(t, slices.Collect(New(2).Messages(1000))), "b2802a9a49e493a8"},
	} {
		if test.got != test.want {
			t.Errorf("%s have the hash %s, want %s", test.name, test.got, test.want)
		}
	}
}

// TestFewerAreTheFirst asks for less, and stops early.
func TestFewerAreTheFirst(t *testing.T) {
	c := New(1)
	all := slices.Collect(c.Messages(300))
	if got, want := hashOf(t, slices.Collect(c.Messages(7))), hashOf(t, all[:7]); got != want {
		t.Error("7 messages are not the first 7 of 300")
	}
	for m := range c.Messages(300) {
		if m.Number == 5 {
			if hashOf(t, []Message{m}) != hashOf(t, all[5:6]) {
				t.Error("the sixth message is another when no more are taken")
			}
			break
		}
	}
	if hashOf(t, c.Queries(7)) != hashOf(t, c.Queries(300)[:7]) {
		t.Error("7 queries are not the first 7 of 300")
	}
}

// TestShares counts what the documentation says of the text.
func TestShares(t *testing.T) {
	const n = 20_000
	stop := StopWords()
	var words, stopped, summarised, questions float64
	sessions, last := map[string]int{}, int64(0)
	for m := range New(1).Messages(n) {
		list := wordsOf(m.Content)
		if len(list) < shortest || len(list) > longest {
			t.Fatalf("message %d has %d words", m.Number, len(list))
		}
		if m.Time < last || (m.Summary == "") != (len(m.Tags) == 0) {
			t.Fatalf("message %d goes back in time, or has only one of summary and tags", m.Number)
		}
		last = m.Time
		sessions[m.Session]++
		words += float64(len(list))
		for _, w := range list {
			if slices.Contains(stop, w) {
				stopped++
			}
		}
		if m.Summary != "" {
			summarised++
		}
		if strings.HasSuffix(m.Content, "?") {
			questions++
		}
	}
	for _, share := range []struct {
		name           string
		got, low, high float64
	}{
		{"words in a message", words / n, 19, 21},
		{"messages in a session", n / float64(len(sessions)), 180, 220},
		{"function words", stopped / words, 0.44, 0.46},
		{"messages with a summary", summarised / n, 0.045, 0.055},
		{"questions", questions / n, 0.19, 0.21},
	} {
		if share.got < share.low || share.got > share.high {
			t.Errorf("%s: %.3f, want %.3f to %.3f", share.name, share.got, share.low, share.high)
		}
	}
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' })
}

// TestWords lists the vocabulary: no two words are alike, and none is another
// with an ending.
func TestWords(t *testing.T) {
	rankOf := make(map[string]int, vocabulary)
	for rank := range vocabulary {
		w := word(rank)
		if other, twice := rankOf[w]; twice {
			t.Fatalf("ranks %d and %d are both %q", other, rank, w)
		}
		rankOf[w] = rank
	}
	for w := range rankOf {
		for _, ending := range endings {
			if rank, ok := rankOf[w+ending]; ok {
				t.Fatalf("rank %d is %q with an ending", rank, w)
			}
		}
	}
}

// TestWordsAreStems asks two stemmers for words with each ending.
func TestWordsAreStems(t *testing.T) {
	for rank := 0; rank < vocabulary; rank += 5 {
		want := word(rank)
		for _, ending := range append([]string{""}, endings...) {
			text := want + ending
			if got := english.Stem(text, false); got != want {
				t.Errorf("Snowball makes %q of %q", got, text)
			}
			if got := porterstemmer.StemString(text); got != want {
				t.Errorf("Porter makes %q of %q", got, text)
			}
		}
	}
}

// TestFrequencies counts the words of some ranks and compares them with the law.
func TestFrequencies(t *testing.T) {
	counts, total := map[string]float64{}, 0.0
	for m := range New(1).Messages(20_000) {
		for _, w := range wordsOf(m.Content) {
			counts[w]++
			total++
		}
	}
	rate := func(w string) float64 { return counts[w] / total }
	// The first word has (1 + 20/10)^1.07 = 3.24 times the share of the 21st.
	if ratio := rate(word(0)) / rate(word(20)); ratio < 2.7 || ratio > 3.8 {
		t.Errorf("the first word is %.2f times as frequent as the 21st, want 3.24", ratio)
	}
	if ratio := rate("the") / rate("to"); ratio < 2 || ratio > 2.4 {
		t.Errorf(`"the" is %.2f times as frequent as "to", want 62/28`, ratio)
	}
	if counts[stopWords[len(stopWords)-1].text] == 0 {
		t.Error("the last of the stop words does not occur")
	}
}

func TestQueries(t *testing.T) {
	const n = 1000
	count := map[Kind]int{}
	stop := StopWords()
	for _, q := range New(1).Queries(n) {
		count[q.Kind]++
		words := wordsOf(q.Text)
		telling := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(stop, w) })
		want := map[Kind][4]int{ // words, at least and at most; those that are no stop words
			Question: {3, 8, 2, 4}, RareWord: {1, 1, 1, 1}, FrequentWords: {2, 2, 2, 2},
		}[q.Kind]
		if len(words) < want[0] || len(words) > want[1] || len(telling) < want[2] || len(telling) > want[3] {
			t.Errorf("a %s: %q", q.Kind, q.Text)
		}
	}
	if count[Question] != 3*n/5 || count[RareWord] != n/5 || count[FrequentWords] != n/5 {
		t.Errorf("the kinds are %v", count)
	}
}
