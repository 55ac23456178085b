package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"example.com/convmem"
)

// hits changes the list of hits.
func hits(change func(s *twisted, r convmem.SearchRequest, list []convmem.Hit) []convmem.Hit) func(*twisted) {
	return afterSearch(func(s *twisted, r convmem.SearchRequest, result *convmem.SearchResult) {
		result.Hits = change(s, r, result.Hits)
	})
}

// eachHit changes every hit.
func eachHit(change func(s *twisted, r convmem.SearchRequest, hit *convmem.Hit)) func(*twisted) {
	return hits(func(s *twisted, r convmem.SearchRequest, list []convmem.Hit) []convmem.Hit {
		for i := range list {
			change(s, r, &list[i])
		}
		return list
	})
}

// only keeps the hits that keep wants.
func only(keep func(r convmem.SearchRequest, hit convmem.Hit) bool) func(*twisted) {
	return hits(func(_ *twisted, r convmem.SearchRequest, list []convmem.Hit) []convmem.Hit {
		return slices.DeleteFunc(list, func(hit convmem.Hit) bool { return !keep(r, hit) })
	})
}

// searchMutants are wrong about search.
func searchMutants() []mutant {
	return slices.Concat(filterMutants(), textMutants(), resultMutants())
}

func filterMutants() []mutant {
	// filterLate looks for more than was asked, but not for all, and filters
	// what it found.
	filterLate := func(s *twisted) {
		s.search = func(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
			result, err := s.Model.Search(ctx, convmem.SearchRequest{Query: r.Query, Limit: 100})
			result.Hits = slices.DeleteFunc(result.Hits, func(hit convmem.Hit) bool { return !passes(hit.Message, r) })
			return result, err
		}
	}
	return []mutant{
		{"search/filters", "random: kinds are ignored", beforeSearch(func(r *convmem.SearchRequest) { r.Filters.Kinds = nil })},
		{"search/filters", "random: only the first tier counts", beforeSearch(func(r *convmem.SearchRequest) { r.Filters.Tiers = r.Filters.Tiers[:min(1, len(r.Filters.Tiers))] })},
		{"search/filters", "random: roles are ignored", beforeSearch(func(r *convmem.SearchRequest) { r.Filters.Roles = nil })},
		{"search/filters", "the least importance is exclusive", only(func(r convmem.SearchRequest, hit convmem.Hit) bool {
			return r.MinImportance == 0 || hit.Metadata.Importance > r.MinImportance
		})},
		{"search/filters on tags", "random: one tag is enough", func(s *twisted) {
			s.search = func(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
				tags := r.Filters.Tags
				r.Filters.Tags = nil
				result, err := s.Model.Search(ctx, r)
				result.Hits = slices.DeleteFunc(result.Hits, func(hit convmem.Hit) bool {
					return len(tags) > 0 && !slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(hit.Metadata.Tags, tag) })
				})
				return result, err
			}
		}},
		{"search/filters on tags", "tags have no case", beforeSearch(func(r *convmem.SearchRequest) {
			r.Filters.Tags = slices.Clone(r.Filters.Tags)
			for i := range r.Filters.Tags {
				r.Filters.Tags[i] = strings.ToLower(r.Filters.Tags[i])
			}
		})},
		{"search/since and until", "since is exclusive", only(func(r convmem.SearchRequest, hit convmem.Hit) bool {
			return r.Filters.Since.IsZero() || !said(hit.Message).Equal(r.Filters.Since)
		})},
		{"search/since and until", "random: the time of writing counts", func(s *twisted) {
			s.search = func(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
				since, until := r.Filters.Since, r.Filters.Until
				r.Filters.Since, r.Filters.Until = time.Time{}, time.Time{}
				result, err := s.Model.Search(ctx, r)
				result.Hits = slices.DeleteFunc(result.Hits, func(hit convmem.Hit) bool {
					return !since.IsZero() && hit.Timestamp.Before(since) || !until.IsZero() && hit.Timestamp.After(until)
				})
				return result, err
			}
		}},
		{"search/filters act before the limit", "filters act on the best hundred", filterLate},
		{"search/filters see updates", "filters look at what was written", afterUpdate(func(s *twisted, r convmem.UpdateRequest, _ *convmem.UpdateResult) {
			s.locked(func() { s.must(r.MessageID).message.Metadata.Tier = convmem.TierShort })
		})},
		{"search/session", "random: the session is ignored", beforeSearch(func(r *convmem.SearchRequest) { r.SessionID = "" })},
	}
}

func textMutants() []mutant {
	return []mutant{
		{"search/languages", "only spaces separate words", only(func(r convmem.SearchRequest, hit convmem.Hit) bool {
			return slices.Contains(strings.Fields(strings.ToLower(hit.Content)), r.Query)
		})},
		{"search/case and width", "case matters", only(func(r convmem.SearchRequest, hit convmem.Hit) bool {
			return strings.Contains(hit.Content, r.Query)
		})},
		{"search/case and width", "width matters", only(func(r convmem.SearchRequest, hit convmem.Hit) bool {
			return strings.Contains(strings.ToLower(hit.Content), strings.ToLower(r.Query))
		})},
		{"search/there is no syntax", "an open quotation fails", func(s *twisted) {
			s.search = func(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
				if strings.Count(r.Query, `"`)%2 == 1 {
					return convmem.SearchResult{}, invalid("query", "open quotation")
				}
				return s.Model.Search(ctx, r)
			}
		}},
		{"search/there is no syntax", "minus excludes", beforeSearch(func(r *convmem.SearchRequest) {
			if strings.HasPrefix(r.Query, "-") {
				r.Query = "-"
			}
		})},
		{"search/no searchable character", "nothing to look for finds everything", beforeSearch(func(r *convmem.SearchRequest) {
			if len(words(r.Query)) == 0 {
				r.Query = "quartz"
			}
		})},
		{"search/nothing matches", "every message is a hit", hits(func(s *twisted, _ convmem.SearchRequest, list []convmem.Hit) []convmem.Hit {
			if len(list) == 0 && len(s.entries) > 0 {
				list = append(list, convmem.Hit{Message: clone(s.entries[0].message)})
			}
			return list
		})},
		{"search/long words and texts", "only the first 64 KiB are indexed", only(func(r convmem.SearchRequest, hit convmem.Hit) bool {
			return strings.Contains(prefix(hit.Content, 1<<16), r.Query) || len(r.Query) > 100
		})},
		{"search/changes are seen at once", "random: an update leaves the index alone", func(s *twisted) {
			s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
				var e *entry
				var counted *[3]map[string]int
				s.locked(func() {
					if e, _ = s.find(r.MessageID); e != nil {
						score(e, nil)
						counted = e.counted
					}
				})
				result, err := s.Model.Update(ctx, r)
				if e != nil {
					s.locked(func() { e.counted = counted })
				}
				return result, err
			}
		}},
	}
}

func resultMutants() []mutant {
	return []mutant{
		{"search/order", "of equals the oldest comes first", hits(func(_ *twisted, _ convmem.SearchRequest, list []convmem.Hit) []convmem.Hit {
			slices.SortStableFunc(list, func(a, b convmem.Hit) int {
				if a.Score != b.Score || a.Metadata.Importance != b.Metadata.Importance {
					return compareHits(a, b)
				}
				return strings.Compare(a.ID, b.ID)
			})
			return list
		})},
		{"search/order", "importance breaks no tie", hits(func(_ *twisted, _ convmem.SearchRequest, list []convmem.Hit) []convmem.Hit {
			slices.SortStableFunc(list, func(a, b convmem.Hit) int {
				if a.Score != b.Score {
					return compareHits(a, b)
				}
				return strings.Compare(b.ID, a.ID)
			})
			return list
		})},
		{"search/order", "random: the score is not the sum", eachHit(func(_ *twisted, _ convmem.SearchRequest, hit *convmem.Hit) { hit.Score += 1e-9 })},
		{"search/a smaller limit is a beginning", "random: a small limit ranks otherwise", hits(func(_ *twisted, r convmem.SearchRequest, list []convmem.Hit) []convmem.Hit {
			if r.Limit < 10 && len(list) > 1 {
				list[0] = list[len(list)-1]
			}
			return list
		})},
		{"search/default limit", "the default limit is 10", beforeSearch(func(r *convmem.SearchRequest) { r.Limit = orDefault(r.Limit, 10) })},
		{"search/fields", "random: content always matches", eachHit(func(_ *twisted, _ convmem.SearchRequest, hit *convmem.Hit) {
			if !slices.Contains(hit.MatchedFields, convmem.FieldContent) {
				hit.MatchedFields = slices.Insert(hit.MatchedFields, 0, convmem.FieldContent)
			}
		})},
		{"search/hits are whole messages", "hits lack their sources", eachHit(func(_ *twisted, _ convmem.SearchRequest, hit *convmem.Hit) { hit.Metadata.SourceMessageIDs = nil })},
		{"search/relation count and superseded by", "random: relations with the dead count", eachHit(func(_ *twisted, _ convmem.SearchRequest, hit *convmem.Hit) {
			hit.RelationCount = max(hit.RelationCount, len(hit.Metadata.Relations))
		})},
		{"search/relation count and superseded by", "the newest successor comes first", eachHit(func(_ *twisted, _ convmem.SearchRequest, hit *convmem.Hit) { slices.Reverse(hit.SupersededBy) })},
		{"search/previews", "random: previews before run backwards", eachHit(func(_ *twisted, _ convmem.SearchRequest, hit *convmem.Hit) { slices.Reverse(hit.Before) })},
		{"search/previews", "previews are filtered too", eachHit(func(_ *twisted, r convmem.SearchRequest, hit *convmem.Hit) {
			hit.Before = slices.DeleteFunc(hit.Before, func(m convmem.Message) bool { return !passes(m, r) })
		})},
		{"search/writes nothing", "a search is recorded", afterSearch(func(s *twisted, _ convmem.SearchRequest, _ *convmem.SearchResult) {
			s.locked(func() { s.sequence++ })
		})},
		{"search/size of a response", "what is cut off is not said", afterSearch(func(_ *twisted, _ convmem.SearchRequest, result *convmem.SearchResult) { result.Truncated = false })},
	}
}
