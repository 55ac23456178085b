package search

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The sums are worked out by hand.
func TestLifts(t *testing.T) {
	tests := []struct {
		name   string
		change func(subjects []subject, places []placed)
		want   []float64
	}{
		{"statements", func(s []subject, _ []placed) { s[2].own = 1 }, []float64{
			0.1*0.3 + 1*0.2 + 1*0.3,       // next, the one after that, the best
			1*0.3 + 0.1*0.2 + 1*0.3,       // next, the one after that, the best
			0.1*0.3 + 0.1*0.2*2 + 0.1*0.3, // next, two away on both sides, the best
			0.1*0.3 + 0.1*0.2 + 1*0.3,     // next, two before, the best
			1*0.2 + 1*0.3,                 // two before, the best
		}},
		{"an answer", func(s []subject, _ []placed) { s[1].own, s[1].asks = 1, true }, []float64{
			1*0.3 + 0.1*0.2 + 1*0.3,
			0.1*0.3 + 0.1*0.2 + 0.1*0.3,
			1*0.6 + 0.1*0.3 + 0.1*0.2*2 + 1*0.3, // answered, next, two away, the best
			0.1*0.3 + 1*0.2 + 1*0.3,
			0.1*0.2 + 1*0.3,
		}},
		{"who asked goes on", func(s []subject, _ []placed) { s[1].asks, s[1].role = true, "user" }, []float64{
			0.1*0.3 + 0.1*0.2 + 0.1*0.3,
			0.1*0.3 + 0.1*0.2 + 0.1*0.3,
			0.1*0.3 + 0.1*0.2*2 + 0.1*0.3,
			0.1*0.3 + 0.1*0.2 + 0.1*0.3,
			0.1*0.2 + 0.1*0.3,
		}},
		{"a silence", func(s []subject, p []placed) { s[2].own, p[3].near = 1, false }, []float64{
			0.1*0.3 + 1*0.2 + 1*0.3,
			1*0.3 + 1*0.3,
			0.1*0.2 + 0.1*0.3,
			0.1*0.3 + 0.1*0.3,
			0.1 * 0.3,
		}},
		{"apart", func(s []subject, p []placed) {
			p[1].rank, p[2].rank, p[3].rank, p[4].rank = 10, 16, 17, 33
			s[0].own = 1
		}, []float64{
			0.1 * 0.3,
			1 * 0.3,
			0.1*0.3 + 1*0.3, // next, and the first is 16 before
			0.1 * 0.3,       // the first is 17 before
			0.1 * 0.3,       // the fourth is 16 before
		}},
		{"one role", func(s []subject, _ []placed) {
			for i := range s {
				s[i].role, s[i].asks = "user", true
			}
		}, make([]float64, 5)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			subjects, places := talkOf(5)
			test.change(subjects, places)
			read := make([]float64, len(subjects))
			for i, s := range subjects {
				read[i] = s.own
			}
			if diff := cmp.Diff(test.want, lifts(subjects, places, read), nearly); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// lifts agrees with looking at every other candidate.
func TestLiftsAnywhere(t *testing.T) {
	lifted := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		read := make([]float64, len(s.subjects))
		for i, subject := range s.subjects {
			read[i] = subject.own
		}
		want := s.naiveLifts()
		for _, w := range want {
			if w > 0 {
				lifted++
			}
		}
		if diff := cmp.Diff(want, lifts(s.subjects, s.places, read), nearly); diff != "" {
			t.Fatal(diff)
		}
	})
	if lifted == 0 {
		t.Error("nothing was lifted")
	}
}

// naiveLifts needs places in the order of the candidates.
func (s scene) naiveLifts() []float64 {
	near := func(i, j int) bool {
		for k := min(i, j) + 1; k <= max(i, j); k++ {
			if !s.places[k].near {
				return false
			}
		}
		distance := s.places[i].rank - s.places[j].rank
		return i != j && max(distance, -distance) <= 16
	}
	lifts := make([]float64, len(s.subjects))
	for i, to := range s.subjects {
		best, sum, talk := 0.0, 0.0, false
		for j, from := range s.subjects {
			if !near(i, j) {
				continue
			}
			best = max(best, from.own)
			talk = talk || from.role != to.role
			switch distance := s.places[j].rank - s.places[i].rank; {
			case distance == 1:
				sum += 0.3 * from.own
			case distance == 2 || distance == -2:
				sum += 0.2 * from.own
			case distance == -1 && from.asks && from.role != to.role:
				sum += 0.6 * from.own
			}
		}
		if talk {
			lifts[i] = sum + 0.3*best
		}
	}
	return lifts
}
