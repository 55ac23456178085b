package search

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPairs(t *testing.T) {
	rare, common := math.Log(1+999.5/1.5), math.Log(1+998.5/2.5)
	tests := []struct {
		name  string
		text  []token
		texts [][]token
		want  []float64
	}{
		{"no pair in the query", plainText(1), [][]token{plainText(1, 1)}, []float64{0}},
		{"in order", plainText(1, 2), [][]token{plainText(5, 1, 2), plainText(2, 1), plainText(1, 5, 2)}, []float64{rare, 0, 0}},
		{"the more hold it the less it weighs", plainText(1, 2), [][]token{plainText(1, 2), plainText(1, 2)}, []float64{common, common}},
		{"once for each text", plainText(1, 2, 1, 2), [][]token{plainText(1, 2, 1, 2, 1, 2), plainText(1, 2)}, []float64{common + rare, common}},
		{"no more than its terms", plainText(100, 101), [][]token{plainText(100, 101)}, []float64{1}},
		{"the last of a position", stacked([]uint32{7, 1}, []uint32{8, 2}), [][]token{
			stacked([]uint32{9, 1}, []uint32{9, 2}), stacked([]uint32{1, 9}, []uint32{2}), stacked([]uint32{7}, []uint32{8}),
		}, []float64{rare, 0, 0}},
		{"not over a gap", plainText(1, 2), [][]token{{{Number: 1, Position: 3}, {Number: 2, Position: 5}}}, []float64{0}},
		{"not in one place", plainText(1, 2), [][]token{stacked([]uint32{1, 2})}, []float64{0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := simpleQuestion(1, 2, 7, 8, 100, 101)
			q.terms[1], q.terms[2] = known{weight: 5, scored: true}, known{weight: 5, scored: true}
			p := newPairs(test.text)
			for i, text := range test.texts {
				p.read(i, text)
			}
			if diff := cmp.Diff(test.want, p.sums(len(test.texts), q), nearly); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPairsAreDistinct(t *testing.T) {
	got := newPairs(plainText(2, 1, 2, 1, 2)).all
	if diff := cmp.Diff([]pair{{1, 2}, {2, 1}}, got, cmp.AllowUnexported(pair{})); diff != "" {
		t.Error(diff)
	}
}

// Every one of many pairs is found.
func TestManyPairs(t *testing.T) {
	q := simpleQuestion()
	var numbers []uint32
	for n := range uint32(200) {
		numbers = append(numbers, n)
		q.terms[n] = known{weight: 0.25}
	}
	p := newPairs(plainText(numbers...))
	p.read(0, plainText(numbers...))
	if got := p.sums(1, q)[0]; math.Abs(got-199*0.5) > 1e-9 {
		t.Errorf("the pairs weigh %v", got)
	}
}
