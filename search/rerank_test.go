package search

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// plainText is a text of words: each has a position of its own.
func plainText(numbers ...uint32) []token {
	var tokens []token
	for i, n := range numbers {
		tokens = append(tokens, token{Number: n, Position: uint32(i)})
	}
	return tokens
}

// stacked is a text with several terms at each position.
func stacked(positions ...[]uint32) []token {
	var tokens []token
	for at, numbers := range positions {
		for _, n := range numbers {
			tokens = append(tokens, token{Number: n, Position: uint32(at)})
		}
	}
	return tokens
}

// simpleQuestion holds terms of idf 2 in an index of 1,000 messages. Terms from
// 100 on are not scored and have an idf of 0.5.
func simpleQuestion(text ...uint32) *question {
	q := &question{text: plainText(text...), terms: map[uint32]known{}, messages: 1000}
	for _, n := range text {
		if n < 100 {
			q.terms[n] = known{weight: 2, scored: true}
		} else {
			q.terms[n] = known{weight: 0.5}
		}
	}
	q.ideal = 10
	return q
}

// talkOf is a conversation of n candidates that stand next to each other, of two
// roles by turns, each with an own score of 0.1.
func talkOf(n int) ([]subject, []placed) {
	subjects, places := make([]subject, n), make([]placed, n)
	for i := range n {
		subjects[i] = subject{own: 0.1, role: []string{"user", "assistant"}[i%2]}
		places[i] = placed{of: i, rank: i, near: i > 0}
	}
	return subjects, places
}

func contents(texts ...[]token) func(int) []token {
	return func(i int) []token {
		if i < len(texts) {
			return texts[i]
		}
		return nil
	}
}

// finals returns the scores that factors make.
func finals(subjects []subject, factors []float64) []float64 {
	scores := make([]float64, len(factors))
	for i, f := range factors {
		scores[i] = subjects[i].own * f
	}
	return scores
}

var nearly = cmpopts.EquateApprox(0, 1e-12)

// The whole formula, by hand.
func TestRerank(t *testing.T) {
	q := simpleQuestion(1, 2, 3)
	q.phrases = [][]token{plainText(2, 3), plainText(3, 1)}
	subjects := []subject{
		{own: 0.5, role: "user", asks: true},
		{own: 0.2, role: "assistant"},
		{own: 0.1, role: "assistant"},
	}
	places := []placed{{of: 0}, {of: 1, rank: 1, near: true}, {of: 2, rank: 7}}
	got := finals(subjects, rerank(q, subjects, places, contents(
		plainText(9, 1, 2), // a pair
		plainText(3, 1),    // a phrase; opens with a word of the query
		nil,
	)))
	pair := min(4, math.Log(1+(1000-1+0.5)/1.5)) * 0.1 / 10
	first, second := 0.5+pair, 0.2+0.2/2
	want := []float64{
		(first + 0.3*second + 0.3*second) * 0.9,
		(second + 0.6*first + 0.3*first) * 1.3,
		0.1,
	}
	if diff := cmp.Diff(want, got, nearly); diff != "" {
		t.Error(diff)
	}
}

// What stands around a message does not put it above one that holds the query.
func TestPhraseStaysAbove(t *testing.T) {
	q := simpleQuestion(1, 2)
	subjects, places := talkOf(3)
	subjects[0].own, subjects[0].asks = 0.4, true
	subjects[1].own = 0.3
	subjects = append(subjects, subject{own: 0.35, role: "user"}, subject{own: 0.9, role: "user"})
	places = append(places, placed{of: 3, rank: 80}, placed{of: 4, rank: 99})
	got := func(text []token) []float64 {
		return finals(subjects, rerank(q, subjects, places, contents(nil, nil, nil, text, plainText(1))))
	}
	lifted := got(plainText(2, 1))
	if lifted[1] <= lifted[3] {
		t.Fatalf("not lifted enough for the test: %v", lifted)
	}
	held := got(plainText(5, 1, 2))
	if held[1] >= held[3] || held[1] < held[3]*0.999 {
		t.Errorf("with the phrase elsewhere: %v", held)
	}
	if math.Abs(held[4]-0.9*1.3) > 1e-12 { // it opens with a word of the query
		t.Errorf("what is better by itself has %v", held[4])
	}
	if held[2] != lifted[2] {
		t.Errorf("what is below anyway changed from %v to %v", lifted[2], held[2])
	}
}

func TestHoldBelowPhrase(t *testing.T) {
	subjects := []subject{{}, {whole: true}, {whole: true}, {}, {}, {}}
	read := []float64{0.1, 0.5, 0.3, 0.2, 0.7, 0.2}
	scores := []float64{0.9, 0.6, 0.3, 0.8, 0.8, 0.4}
	holdBelowPhrase(subjects, read, scores)
	want := []float64{0.6, 0.6, 0.3, 0.6, 0.7, 0.4}
	if diff := cmp.Diff(want, scores, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
	if !(scores[1] > scores[0]*(1+1e-9) && scores[0] > scores[3]*(1+1e-9)) {
		t.Errorf("out of order: %v", scores)
	}
}

// Whatever the scene, a message without the phrase stands below the best one that
// holds it, or where it would stand alone.
func TestPhraseStaysAboveAnywhere(t *testing.T) {
	held := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		for i := range s.subjects {
			s.subjects[i].copy = false
		}
		scores := finals(s.subjects, s.rerank())
		apart := scene{s.subjects, slices.Clone(s.places), s.texts, s.question}
		for i := range apart.places {
			apart.places[i].near = false
		}
		alone := finals(s.subjects, apart.rerank())
		whole, best := newPhrase(s.question.text), 0.0
		for i, text := range s.texts {
			if whole.in(text) {
				best = max(best, scores[i])
			}
		}
		for i, text := range s.texts {
			if best == 0 || whole.in(text) || scores[i] == alone[i] {
				continue
			}
			held++
			if scores[i] >= best {
				t.Fatalf("candidate %d scores %v, alone %v, the best with the phrase %v", i, scores[i], alone[i], best)
			}
		}
	})
	if held == 0 {
		t.Error("nothing was held below")
	}
}

// scene is any candidates at any places.
type scene struct {
	subjects []subject
	places   []placed
	texts    [][]token
	question *question
}

func drawScene(t *rapid.T) scene {
	s := scene{question: simpleQuestion(rapid.SliceOfN(rapid.Uint32Range(1, 4), 1, 5).Draw(t, "query")...)}
	n := rapid.IntRange(1, 30).Draw(t, "candidates")
	rank := 0
	for i := range n {
		s.subjects = append(s.subjects, subject{
			own:  rapid.Float64Range(0.001, 1).Draw(t, "own"),
			copy: rapid.IntRange(0, 20).Draw(t, "copy") == 0,
			asks: rapid.Bool().Draw(t, "asks"),
			role: rapid.SampledFrom([]string{"user", "assistant", "tool"}).Draw(t, "role"),
		})
		step := rapid.IntRange(1, 20).Draw(t, "step")
		rank += step
		near := i > 0 && step <= nearReach && rapid.IntRange(0, 4).Draw(t, "silence") > 0
		s.places = append(s.places, placed{of: i, rank: rank, near: near})
		s.texts = append(s.texts, plainText(rapid.SliceOfN(rapid.Uint32Range(1, 6), 0, 8).Draw(t, "text")...))
	}
	return s
}

func (s scene) rerank() []float64 {
	return rerank(s.question, slices.Clone(s.subjects), s.places, contents(s.texts...))
}

func TestCopiesComeFirst(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		scores := finals(s.subjects, s.rerank())
		for i := range scores {
			if !(scores[i] > 0) || math.IsInf(scores[i], 0) {
				t.Fatalf("candidate %d scores %v", i, scores[i])
			}
			for j := range scores {
				if s.subjects[i].copy && !s.subjects[j].copy {
					compared++
					if scores[i] <= scores[j] {
						t.Fatalf("the copy %d scores %v, %d scores %v", i, scores[i], j, scores[j])
					}
				}
			}
		}
	})
	if compared == 0 {
		t.Error("no copies")
	}
}

// In what order the candidates come changes no bit.
func TestOrderOfCandidates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		want := s.rerank()
		order := rapid.Permutation(s.places).Draw(t, "order") // place of the i-th candidate now
		shuffled := scene{question: s.question, places: slices.Clone(s.places)}
		for i, p := range order {
			shuffled.subjects = append(shuffled.subjects, s.subjects[p.of])
			shuffled.texts = append(shuffled.texts, s.texts[p.of])
			for j := range shuffled.places {
				if shuffled.places[j].rank == p.rank {
					shuffled.places[j].of = i
				}
			}
		}
		for i, factor := range shuffled.rerank() {
			if factor != want[order[i].of] {
				t.Fatalf("candidate %d: %v, was %v", order[i].of, factor, want[order[i].of])
			}
		}
	})
}

func BenchmarkRerank(b *testing.B) {
	subjects, places := talkOf(500)
	q := simpleQuestion(1, 2, 3, 4, 5, 6, 7, 8)
	var text []uint32
	for i := range uint32(40) {
		text = append(text, i*7%50)
	}
	tokens := plainText(text...)
	b.ReportAllocs()
	for b.Loop() {
		rerank(q, subjects, places, func(int) []token { return tokens })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/candidate")
}
