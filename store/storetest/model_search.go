package storetest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"example.com/convmem"
)

// Search ranks messages by how many words of the query they hold.
func (m *Model) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	return call(ctx, m, "search", func() (convmem.SearchResult, error) {
		if err := checkSearch(r); err != nil {
			return convmem.SearchResult{}, err
		}
		query := folded(words(r.Query))
		var hits []convmem.Hit
		for _, e := range m.live() {
			if hit, ok := score(e, query); ok && passes(e.message, r) {
				hits = append(hits, hit)
			}
		}
		slices.SortFunc(hits, compareHits)
		hits = hits[:min(len(hits), orDefault(r.Limit, convmem.DefaultSearchLimit))]
		result := convmem.SearchResult{Hits: []convmem.Hit{}}
		size := 0
		for _, hit := range hits {
			hit.Message = viewOf(m.must(hit.ID), r.MaxContentCharacters)
			if size += messageBytes(hit.Message); size > resultBytes && len(result.Hits) > 0 {
				result.Truncated = true
				break
			}
			result.Hits = append(result.Hits, hit)
		}
		// Previews only get what the hits themselves leave.
		for i := range result.Hits {
			m.complete(&result.Hits[i], r, &size, &result.Truncated)
		}
		return result, nil
	})
}

func checkSearch(r convmem.SearchRequest) error {
	for i, tag := range r.Filters.Tags {
		if err := checkLength(item("tags", i), tag, 1, convmem.MaxTagBytes); err != nil {
			return err
		}
	}
	return firstOf(
		checkLength("query", r.Query, 1, convmem.MaxQueryBytes),
		checkLength("session_id", r.SessionID, 0, convmem.MaxSessionIDBytes),
		checkChoices("kinds", r.Filters.Kinds, kinds()),
		checkChoices("tiers", r.Filters.Tiers, tiers()),
		checkChoices("roles", r.Filters.Roles, roles()),
		checkRange("min_importance", r.MinImportance, 0, convmem.MaxImportance),
		checkRange("context_size", r.ContextSize, 0, convmem.MaxContextSize),
		checkRange("limit", r.Limit, 0, convmem.MaxSearchLimit),
		checkCut(r.MaxContentCharacters),
	)
}

// passes reports whether every filter lets a message through.
func passes(message convmem.Message, r convmem.SearchRequest) bool {
	metadata, f := message.Metadata, r.Filters
	for _, tag := range f.Tags {
		if !slices.Contains(metadata.Tags, tag) {
			return false
		}
	}
	moment := said(message).UnixMilli()
	return (r.SessionID == "" || r.SessionID == message.SessionID) &&
		metadata.Importance >= r.MinImportance &&
		allows(f.Kinds, metadata.Kind) && allows(f.Tiers, metadata.Tier) && allows(f.Roles, message.Role) &&
		(f.Since.IsZero() || moment >= f.Since.UnixMilli()) &&
		(f.Until.IsZero() || moment <= f.Until.UnixMilli())
}

func allows[S comparable](list []S, value S) bool {
	return len(list) == 0 || slices.Contains(list, value)
}

// score rates one message: each part of it by the words of the query in it,
// tags twice. ok is false when it holds none of them.
func score(e *entry, query []string) (hit convmem.Hit, ok bool) {
	if e.counted == nil {
		metadata := e.message.Metadata
		e.counted = &[3]map[string]int{
			count(e.message.Content), count(metadata.Summary), count(strings.Join(metadata.Tags, "\n")),
		}
	}
	hit.Message = e.message
	hit.Breakdown = convmem.ScoreBreakdown{
		Content: share(e.counted[0], query), Summary: share(e.counted[1], query), Tags: 2 * share(e.counted[2], query),
	}
	hit.Score = hit.Breakdown.Content + hit.Breakdown.Summary + hit.Breakdown.Tags
	hit.MatchedFields = matched(hit.Breakdown)
	return hit, hit.Score > 0
}

// matched lists the fields that have a share in a score.
func matched(b convmem.ScoreBreakdown) []convmem.Field {
	var fields []convmem.Field
	if b.Content > 0 {
		fields = append(fields, convmem.FieldContent)
	}
	if b.Summary > 0 {
		fields = append(fields, convmem.FieldSummary)
	}
	if b.Tags > 0 {
		fields = append(fields, convmem.FieldTags)
	}
	return fields
}

// count counts the words of a text.
func count(text string) map[string]int {
	counts := map[string]int{}
	for _, word := range words(text) {
		counts[word]++
	}
	return counts
}

// share adds up, for each word of the query, n/(n+1) where a text holds it n
// times. The words are in a fixed order, so equal texts get equal bits.
func share(counts map[string]int, query []string) float64 {
	var sum float64
	for _, word := range query {
		n := float64(counts[word])
		sum += n / (n + 1)
	}
	return sum
}

// compareHits is the order of results.
func compareHits(a, b convmem.Hit) int {
	return cmp.Or(
		cmp.Compare(b.Score, a.Score),
		cmp.Compare(b.Metadata.Importance, a.Metadata.Importance),
		b.Timestamp.Compare(a.Timestamp),
		cmp.Compare(b.ID, a.ID),
	)
}

// must returns a message that is known to live.
func (m *Model) must(id string) *entry {
	e, err := m.find(id)
	if err != nil {
		panic(err) // the lock is held since the id was found
	}
	return e
}

// complete fills in what a hit says beside its message.
func (m *Model) complete(hit *convmem.Hit, r convmem.SearchRequest, size *int, truncated *bool) {
	for _, s := range m.steps(hit.ID) {
		if _, err := m.find(s.id); err == nil {
			hit.RelationCount++
		}
		if s.direction == convmem.Incoming && s.kind == convmem.RelationSupersedes {
			hit.SupersededBy = append(hit.SupersededBy, s.id)
		}
	}
	keep := func(entries []*entry) []convmem.Message {
		var kept []convmem.Message
		for _, message := range view(entries, r.MaxContentCharacters) {
			if *size+messageBytes(message) > resultBytes {
				*truncated = true
				break
			}
			*size += messageBytes(message)
			kept = append(kept, message)
		}
		return kept
	}
	before, after := m.neighbours(m.must(hit.ID), r.ContextSize, r.ContextSize)
	hit.Before, hit.After = keep(before), keep(after)
}
