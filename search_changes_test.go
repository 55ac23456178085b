package convmem_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// looks runs hit at the n-th look at Err.
type looks struct {
	context.Context
	left int
	hit  func()
}

func (c *looks) Err() error {
	if c.left--; c.left == 0 {
		c.hit()
	}
	return c.Context.Err()
}

// A rebuild of another process, wherever in a search it falls, hides no hit.
func TestRebuildWithinASearch(t *testing.T) {
	hits := 0
	for _, reranker := range []convmem.Reranker{nil, judge(byLength)} {
		for n := 1; n < 14; n++ {
			w := newWorld(t, convmem.Options{Reranker: reranker})
			for i := range 3 {
				w.say("s", fmt.Sprint("hello ", i), convmem.MetadataPatch{})
			}
			other, err := convmem.Open(ctx, "", &convmem.Options{FS: w.fsys})
			w.ok("open", err)
			c := &looks{Context: ctx, left: n, hit: func() {
				hits++
				_, err := other.Rebuild(ctx, convmem.RebuildRequest{})
				w.ok("rebuild", err)
			}}
			r, err := w.db.Search(c, convmem.SearchRequest{Query: "hello"})
			if err != nil || len(r.Hits) != 3 {
				t.Errorf("rebuild at look %d: %d hits, %v", n, len(r.Hits), err)
			}
			w.ok("close", other.Close())
		}
	}
	if hits < 10 {
		t.Errorf("only %d searches were disturbed", hits)
	}
}

// Every search finds all of what never changes while another process rebuilds.
func TestSearchBesideRebuilds(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	for i := range 30 {
		w.say("s", fmt.Sprint("hello ", i), convmem.MetadataPatch{})
	}
	other, err := convmem.Open(ctx, "", &convmem.Options{FS: w.fsys.(*vfs.Mem)})
	w.ok("open", err)
	defer other.Close()
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for range 60 {
			if _, err := other.Rebuild(ctx, convmem.RebuildRequest{}); err != nil {
				t.Error(err)
			}
		}
	})
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if n := len(w.search(convmem.SearchRequest{Query: "hello", Limit: 100, ContextSize: 1}).Hits); n != 30 {
			t.Fatalf("%d hits of 30", n)
		}
	}
	wg.Wait()
}

// always gives every candidate the same score, after doing something.
func always(score float64, first func(convmem.Candidate)) judge {
	return func(_ context.Context, _ string, candidates []convmem.Candidate) ([]float64, error) {
		first(candidates[0])
		scores := make([]float64, len(candidates))
		for i := range scores {
			scores[i] = score
		}
		return scores, nil
	}
}

// A message that is changed while it is judged, and may not pass the filter any
// more, is left out; the limit is filled by others.
func TestChangedWhileReranking(t *testing.T) {
	var w *world
	content := "nothing of that"
	w = newWorld(t, convmem.Options{Reranker: always(1, func(c convmem.Candidate) {
		w.update(convmem.UpdateRequest{MessageID: c.Message.ID, Content: &content, Metadata: &convmem.MetadataPatch{Tags: []string{"other"}}})
	})})
	for i := range 6 {
		w.say("s", fmt.Sprint("hello ", i), convmem.MetadataPatch{Tags: []string{"wanted"}})
	}
	hits := w.search(convmem.SearchRequest{Query: "hello", Limit: 5, Filters: convmem.Filters{Tags: []string{"wanted"}}}).Hits
	if len(hits) != 5 {
		t.Errorf("%d hits of 5", len(hits))
	}
	for _, hit := range hits {
		if hit.Content == content {
			t.Error("the changed message is a hit")
		}
	}
}

// Equal scores of a Reranker are ties, and the greatest ones add up to numbers.
func TestRerankerScoresAreKept(t *testing.T) {
	for _, score := range []float64{0, 5e-324, 0.7, 1e100} {
		w := newWorld(t, convmem.Options{Reranker: always(score, func(convmem.Candidate) {})})
		for i := range 40 {
			importance := i % 5 * 20
			w.say("s", "hello "+strings.Repeat("padding word ", i), convmem.MetadataPatch{Importance: &importance, Tags: []string{"hello"}})
		}
		r := w.search(convmem.SearchRequest{Query: "hello zebra", Limit: 100})
		for i, hit := range r.Hits {
			if math.Abs(hit.Score-score) > 1e-15*score || r.RerankError != "" {
				t.Fatalf("score %v, want %v; %s", hit.Score, score, r.RerankError)
			}
			if i > 0 && hit.Score == r.Hits[i-1].Score && hit.Metadata.Importance > r.Hits[i-1].Metadata.Importance {
				t.Fatalf("importance %d behind %d", hit.Metadata.Importance, r.Hits[i-1].Metadata.Importance)
			}
		}
	}
}

// A damaged message that would have been judged marks the result.
func TestDamagedWhenReranked(t *testing.T) {
	w := newWorld(t, convmem.Options{Reranker: judge(byLength)})
	for i := range 5 {
		w.say("s", fmt.Sprintf("hello marker%d", i), convmem.MetadataPatch{})
	}
	w.damage("marker3")
	r := w.search(convmem.SearchRequest{Query: "hello", Limit: 2})
	if !r.Truncated || len(r.Hits) != 2 {
		t.Errorf("%d hits, truncated %v", len(r.Hits), r.Truncated)
	}
}

// The id of a message is no text that a Reranker could judge.
func TestMessageIDIsNotReranked(t *testing.T) {
	w := newWorld(t, convmem.Options{Reranker: judge(func(context.Context, string, []convmem.Candidate) ([]float64, error) {
		return nil, errors.New("asked")
	})})
	message := w.say("s", "hello", convmem.MetadataPatch{})
	w.say("s", "see "+message.ID, convmem.MetadataPatch{})
	r := w.search(convmem.SearchRequest{Query: message.ID})
	if len(r.Hits) != 2 || r.Hits[0].ID != message.ID || r.RerankError != "" {
		t.Errorf("%+v", r)
	}
}
