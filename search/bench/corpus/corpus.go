// Package corpus makes up messages and queries for measuring search: any number
// of them, from a seed, the same whenever they are asked for.
//
// The text is no language, but it is distributed as one. Words follow a Zipf law,
// function words of English stand between them as often as in English, and some
// words carry an ending. Every word is a stem to the stemmers in use, so that
// engines with different stemmers find the same messages.
package corpus

import (
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Message is a message of a conversation.
type Message struct {
	// Number counts the messages from 0.
	Number  int
	Session string
	Role    string // the two speakers take turns
	// Time is in Unix milliseconds and never falls.
	Time    int64
	Content string
	// Summary and Tags are empty in most messages.
	Summary string
	Tags    []string
}

// Corpus is an endless row of messages and one of queries. Use [New].
type Corpus struct{ seed uint64 }

// New returns the corpus of a seed.
func New(seed uint64) Corpus { return Corpus{seed} }

const (
	// Content has 5 to 60 words. Their number is log-normal, about 20 on average.
	shortest, longest = 5, 60
	medianLength      = 17
	lengthSpread      = 0.6 // standard deviation of the logarithm

	// Sessions have 100 to 299 messages.
	shortestSession, longestSession = 100, 300

	stopShare       = 0.45 // of the words of a text; English has 0.4 to 0.5
	endingShare     = 0.25 // of the other words
	summarisedShare = 0.05 // of the messages, which have tags as well
	questionShare   = 0.2  // of the messages

	firstTime = 1_700_000_000_000
)

// The streams of random numbers that a seed gives.
const (
	messageStream = iota
	queryStream
)

// Messages yields the first n messages. Nothing is kept, so a program holds no
// more of them than it wants to; making one takes a few microseconds.
func (c Corpus) Messages(n int) iter.Seq[Message] {
	return func(yield func(Message) bool) {
		w := newWriter(c.seed, messageStream)
		at, session, left := int64(firstTime), 0, 0
		for i := range n {
			if left == 0 {
				session++
				left = shortestSession + w.IntN(longestSession-shortestSession)
				at += 3_600_000
			}
			left--
			at += 5_000 + w.Int64N(60_000)
			m := Message{Number: i, Session: "session-" + strconv.Itoa(session), Role: role(i), Time: at}
			w.fill(&m)
			if !yield(m) {
				return
			}
		}
	}
}

func role(i int) string {
	if i%2 == 0 {
		return "user"
	}
	return "assistant"
}

// writer makes up text.
type writer struct {
	*rand.Rand
	zipf    *rand.Zipf
	weights []int // of the stop words, each with those before it
}

func newWriter(seed, stream uint64) *writer {
	r := rand.New(rand.NewPCG(seed, stream))
	zipf := rand.NewZipf(r, zipfExponent, zipfOffset, vocabulary-1)
	return &writer{Rand: r, zipf: zipf, weights: sumsOfWeights()}
}

func (w *writer) fill(m *Message) {
	length := int(math.Round(medianLength * math.Exp(lengthSpread*w.NormFloat64())))
	m.Content = w.text(min(max(length, shortest), longest))
	if w.Float64() < summarisedShare {
		m.Summary = w.text(8 + w.IntN(9))
		for range 1 + w.IntN(3) {
			m.Tags = append(m.Tags, word(500+w.IntN(1000)))
		}
	}
}

// text is a sentence of n words.
func (w *writer) text(n int) string {
	var b strings.Builder
	for i := range n {
		next := w.word()
		if i == 0 {
			next = strings.ToUpper(next[:1]) + next[1:]
		} else if w.IntN(10) == 0 {
			b.WriteString(", ")
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(next)
	}
	if w.Float64() < questionShare {
		return b.String() + "?"
	}
	return b.String() + "."
}

func (w *writer) word() string {
	if w.Float64() < stopShare {
		return w.stopWord()
	}
	return w.ended(word(int(w.zipf.Uint64())))
}

func (w *writer) ended(word string) string {
	if w.Float64() < endingShare {
		return word + endings[w.IntN(len(endings))]
	}
	return word
}
