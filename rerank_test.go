package convmem_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// Hits that the Reranker likes alike stand in the order of every result: greater
// importance first, then newer.
func TestRerankedTies(t *testing.T) {
	w := newWorld(t, convmem.Options{Reranker: judge(func(_ context.Context, _ string, candidates []convmem.Candidate) ([]float64, error) {
		scores := make([]float64, len(candidates))
		for i, c := range candidates {
			if scores[i] = 1; strings.Contains(c.Message.Content, "best") {
				scores[i] = 2
			}
		}
		return scores, nil
	})})
	for _, m := range []struct {
		content    string
		importance int
	}{{"fox one", 5}, {"fox two", 9}, {"fox three", 1}, {"fox best", 0}, {"fox four", 9}} {
		w.say("s"+m.content, m.content, convmem.MetadataPatch{Importance: new(m.importance)})
	}
	want := []string{"fox best", "fox four", "fox two", "fox one", "fox three"}
	if diff := cmp.Diff(want, w.found("fox")); diff != "" {
		t.Error(diff)
	}
}

// What a Reranker's error says is passed on as valid text of a bounded size.
func TestRerankErrorIsText(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"short", "no model", "no model"},
		{"invalid", "bad \xff byte", "bad ? byte"},
		{"long", strings.Repeat("x", 5000), strings.Repeat("x", 500)},
		{"long in letters", strings.Repeat("語", 5000), strings.Repeat("語", 166)},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := rerankWorld(t, judge(func(context.Context, string, []convmem.Candidate) ([]float64, error) {
				return nil, errors.New(test.text)
			}))
			got := w.search(convmem.SearchRequest{Query: "fox"}).RerankError
			if got != test.want || !utf8.ValidString(got) {
				t.Errorf("%d bytes: %q", len(got), got)
			}
		})
	}
}

// The candidates are the Reranker's own: what it does to them changes no result.
func TestRerankerMayChangeCandidates(t *testing.T) {
	want := rerankWorld(t, judge(byLength)).found("fox")
	got := rerankWorld(t, judge(func(ctx context.Context, query string, candidates []convmem.Candidate) ([]float64, error) {
		scores, err := byLength(ctx, query, candidates)
		clear(candidates)
		return scores, err
	})).search(convmem.SearchRequest{Query: "fox"})
	if diff := cmp.Diff(want, contents(messagesOf(got.Hits))); diff != "" {
		t.Error(diff)
	}
	for _, hit := range got.Hits {
		if math.Abs(hit.Score-float64(len(hit.Content))) > 1e-9 {
			t.Errorf("%q scores %v", hit.Content, hit.Score)
		}
	}
}
