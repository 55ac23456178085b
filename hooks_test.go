package convmem_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// shouting is an analyzer of one rule: words in capitals.
type shouting struct {
	name  string
	texts *atomic.Int64 // analysed
}

func (s shouting) Name() string { return s.name }

func (s shouting) Analyze(text string, emit func(string, int)) {
	s.texts.Add(1)
	for i, word := range strings.Fields(text) {
		emit(strings.ToUpper(word), i)
	}
}

func (s shouting) Weight(term string) float64 {
	if term == "THE" {
		return 0
	}
	return 1
}

func (w *world) found(query string) []string {
	w.Helper()
	var contents []string
	for _, hit := range w.search(convmem.SearchRequest{Query: query}).Hits {
		contents = append(contents, hit.Content)
	}
	return contents
}

// The host's analyzer decides what finds what, and terms without weight count
// only alone.
func TestAnalyzer(t *testing.T) {
	w := newWorld(t, convmem.Options{Analyzer: shouting{"shouting/1", new(atomic.Int64)}})
	w.say("s", "the foxes", convmem.MetadataPatch{})
	w.say("s", "the dog", convmem.MetadataPatch{})
	for query, want := range map[string][]string{
		"FOXES": {"the foxes"}, "fox": nil, "the foxes": {"the foxes"}, "the": {"the dog", "the foxes"},
	} {
		if diff := cmp.Diff(want, w.found(query)); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
}

// With a snapshot no text is analysed again, unless the analyzer's name changed:
// then all of it is.
func TestSnapshotSparesAnalysis(t *testing.T) {
	texts := new(atomic.Int64)
	w := newWorld(t, convmem.Options{Analyzer: shouting{"shouting/1", texts}})
	id := ""
	for i := range 20 {
		key := fmt.Sprint("key ", i)
		r, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: fmt.Sprint("number ", i), IdempotencyKey: key})
		w.ok("write", err)
		id = r.Message.ID
	}
	content := "number changed"
	w.update(convmem.UpdateRequest{MessageID: id, Content: &content})
	w.rebuild() // writes a snapshot
	w.say("s", "behind the snapshot", convmem.MetadataPatch{})
	before := w.search(convmem.SearchRequest{Query: "number changed behind"})
	for _, step := range []struct {
		name    string
		atMost  int64
		atLeast int64
	}{{"shouting/1", 5, 1}, {"shouting/2", 1000, 21}} {
		w.options.Analyzer = shouting{step.name, texts}
		texts.Store(0)
		w.reopen()
		if n := texts.Load(); n > step.atMost || n < step.atLeast {
			t.Errorf("%s: %d texts analysed, want %d to %d", step.name, n, step.atLeast, step.atMost)
		}
		if diff := cmp.Diff(before, w.search(convmem.SearchRequest{Query: "number changed behind"})); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
		if _, err := w.db.Verify(ctx, nil); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	// Revisions and keys came back too.
	_, err := w.db.Update(ctx, convmem.UpdateRequest{MessageID: id, Content: &content, ExpectedRevision: 1})
	w.fails("update", err, convmem.CodeConflict)
	again, err := w.db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "number 3", IdempotencyKey: "key 3"})
	w.ok("write", err)
	if again.Message.Content != "number 3" || w.health().ActiveMessages != 21 {
		t.Errorf("a key was forgotten: %d messages", w.health().ActiveMessages)
	}
}

// After a change of analyzer the next Close of a store that is large enough writes
// a snapshot again, so that only one Open analyses everything.
func TestSnapshotOfANewAnalyzer(t *testing.T) {
	texts := new(atomic.Int64)
	w := newWorld(t, convmem.Options{Analyzer: shouting{"shouting/1", texts}})
	for i := range 40 {
		w.say("s", fmt.Sprint(i)+strings.Repeat(" some words to fill a page with", 1500), convmem.MetadataPatch{})
	}
	w.reopen()
	w.options.Analyzer = shouting{"shouting/2", texts}
	for i, want := range []int64{40, 0, 0} {
		texts.Store(0)
		w.reopen()
		if n := texts.Load(); (n >= 40) != (want == 40) {
			t.Errorf("open %d: %d texts analysed, want about %d", i, n, want)
		}
	}
}

// judge is a Reranker that is a function.
type judge func(ctx context.Context, query string, candidates []convmem.Candidate) ([]float64, error)

func (j judge) Rerank(ctx context.Context, query string, candidates []convmem.Candidate) ([]float64, error) {
	return j(ctx, query, candidates)
}

// byLength likes long messages.
func byLength(_ context.Context, _ string, candidates []convmem.Candidate) ([]float64, error) {
	scores := make([]float64, len(candidates))
	for i, c := range candidates {
		scores[i] = float64(len(c.Message.Content))
	}
	return scores, nil
}

func rerankWorld(t *testing.T, r convmem.Reranker) *world {
	w := newWorld(t, convmem.Options{Reranker: r})
	w.say("s", "fox", convmem.MetadataPatch{})
	w.say("s", "a fox and then some more", convmem.MetadataPatch{})
	w.say("s", "the fox is here", convmem.MetadataPatch{Tags: []string{"fox"}})
	w.say("s", "no match", convmem.MetadataPatch{})
	return w
}

// The Reranker's order and scores are those of the result; the fields share a
// score as before, and a smaller limit is the beginning of a larger one.
func TestReranker(t *testing.T) {
	var saw []convmem.Candidate
	w := rerankWorld(t, judge(func(ctx context.Context, query string, candidates []convmem.Candidate) ([]float64, error) {
		saw = candidates
		if query != "fox" {
			t.Errorf("query %q", query)
		}
		return byLength(ctx, query, candidates)
	}))
	all := w.search(convmem.SearchRequest{Query: "fox", ContextSize: 1, MaxContentCharacters: 5})
	if diff := cmp.Diff([]string{"a fox", "the f", "fox"}, contents(messagesOf(all.Hits))); diff != "" || all.RerankError != "" {
		t.Fatalf("%s %s", diff, all.RerankError)
	}
	if len(saw) != 3 || !slices.IsSortedFunc(saw, func(a, b convmem.Candidate) int { return -cmpFloat(a.Score, b.Score) }) {
		t.Errorf("candidates %+v", saw)
	}
	for i, want := range []float64{24, 15, 3} {
		hit := all.Hits[i]
		b := hit.Breakdown
		if math.Abs(hit.Score-want) > 1e-9 || hit.Score != (b.Content+b.Summary)+b.Tags {
			t.Errorf("score %v of %v, want %v", hit.Score, b, want)
		}
		if tagged := slices.Contains(hit.MatchedFields, convmem.FieldTags); tagged != (b.Tags > 0) || tagged != (i == 1) {
			t.Errorf("hit %d matched %v, breakdown %v", i, hit.MatchedFields, b)
		}
		if len(hit.Before)+len(hit.After) == 0 {
			t.Errorf("hit %d has no neighbours", i)
		}
	}
	one := w.search(convmem.SearchRequest{Query: "fox", ContextSize: 1, MaxContentCharacters: 5, Limit: 1})
	if diff := cmp.Diff(all.Hits[:1], one.Hits); diff != "" {
		t.Error(diff)
	}
	saw = nil
	if hits := w.search(convmem.SearchRequest{Query: "fox", SessionID: "other"}).Hits; len(hits) > 0 || saw != nil {
		t.Errorf("%d hits, %d candidates where nothing matches", len(hits), len(saw))
	}
}

func messagesOf(hits []convmem.Hit) []convmem.Message {
	var messages []convmem.Message
	for _, hit := range hits {
		messages = append(messages, hit.Message)
	}
	return messages
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// A Reranker that fails costs its order, not the search, and the result says so.
func TestRerankerFails(t *testing.T) {
	plain := rerankWorld(t, nil).search(convmem.SearchRequest{Query: "fox"})
	for name, broken := range map[string]func(scores []float64) ([]float64, error){
		"an error":     func([]float64) ([]float64, error) { return nil, errors.New("no model") },
		"too few":      func(s []float64) ([]float64, error) { return s[1:], nil },
		"too many":     func(s []float64) ([]float64, error) { return append(s, 1), nil },
		"negative":     func(s []float64) ([]float64, error) { s[1] = -1; return s, nil },
		"not a number": func(s []float64) ([]float64, error) { s[0] = math.NaN(); return s, nil },
		"infinite":     func(s []float64) ([]float64, error) { s[2] = math.Inf(1); return s, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := rerankWorld(t, judge(func(ctx context.Context, query string, candidates []convmem.Candidate) ([]float64, error) {
				scores, _ := byLength(ctx, query, candidates)
				return broken(scores)
			}))
			got := w.search(convmem.SearchRequest{Query: "fox"})
			if got.RerankError == "" {
				t.Error("the result does not say that the Reranker failed")
			}
			got.RerankError = ""
			for i := range got.Hits { // ids are random
				got.Hits[i].ID, got.Hits[i].Timestamp, got.Hits[i].UpdatedAt = plain.Hits[i].ID, plain.Hits[i].Timestamp, plain.Hits[i].UpdatedAt
			}
			if diff := cmp.Diff(plain, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What happens to messages while they are judged does no harm: one that is deleted
// is left out, and writes do not wait.
func TestChangesWhileReranking(t *testing.T) {
	var w *world
	w = rerankWorld(t, judge(func(ctx context.Context, query string, candidates []convmem.Candidate) ([]float64, error) {
		w.remove(candidates[0].Message.ID)
		w.say("s", "a new fox", convmem.MetadataPatch{})
		return byLength(ctx, query, candidates)
	}))
	if hits := w.search(convmem.SearchRequest{Query: "fox"}).Hits; len(hits) != 2 {
		t.Errorf("%d hits, want the two of three that are left", len(hits))
	}
}

// A context that ends while the Reranker works ends the search.
func TestRerankerIsCancelled(t *testing.T) {
	cancelled, cancel := context.WithCancel(ctx)
	w := rerankWorld(t, judge(func(ctx context.Context, _ string, _ []convmem.Candidate) ([]float64, error) {
		cancel()
		return nil, ctx.Err()
	}))
	_, err := w.db.Search(cancelled, convmem.SearchRequest{Query: "fox"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
