package storetest

import (
	"context"
	"strings"

	"example.com/convmem"
)

// payloadMutants are wrong about payloads.
func payloadMutants() []mutant {
	everywhere := func(change func(*convmem.Payload)) func(*twisted) {
		return func(s *twisted) {
			beforeWrite(func(r *convmem.WriteRequest) { change(&r.Payload) })(s)
			beforeUpdate(func(r *convmem.UpdateRequest) {
				if r.Payload != nil {
					r.Payload = new(*r.Payload)
					change(r.Payload)
				}
			})(s)
		}
	}
	forget := func(s *twisted) {
		for _, e := range s.entries {
			e.message.Payload = convmem.Payload{}
		}
	}
	return []mutant{
		{"payload/limits", "a long type is cut", everywhere(func(p *convmem.Payload) { p.Type = prefix(p.Type, 256) })},
		{"payload/limits", "long data is cut", everywhere(func(p *convmem.Payload) { p.Data = p.Data[:min(len(p.Data), 1<<20)] })},
		{"payload/limits", "data must be UTF-8", everywhere(func(p *convmem.Payload) { p.Data = []byte(strings.ToValidUTF8(string(p.Data), "?")) })},
		{"payload/limits", "data without a type is none", everywhere(func(p *convmem.Payload) {
			if p.Type == "" {
				p.Data = nil
			}
		})},
		{"payload/byte for byte", "types are trimmed", everywhere(func(p *convmem.Payload) { p.Type = strings.TrimSpace(p.Type) })},
		{"payload/byte for byte", "NULs at the end are lost", everywhere(func(p *convmem.Payload) { p.Data = []byte(strings.TrimRight(string(p.Data), "\x00")) })},
		{"payload/comes with every message", "a hit has none", afterSearch(func(_ *twisted, _ convmem.SearchRequest, result *convmem.SearchResult) {
			for i := range result.Hits {
				result.Hits[i].Payload = convmem.Payload{}
			}
		})},
		{"payload/comes with every message", "cut messages have none", afterHistory(func(_ *twisted, _ convmem.HistoryRequest, page *convmem.HistoryResult) {
			for i := range page.Messages {
				if page.Messages[i].ContentTruncated {
					page.Messages[i].Payload = convmem.Payload{}
				}
			}
		})},
		{"payload/comes with every message", "related messages have none", afterContext(func(_ *twisted, _ convmem.ContextRequest, c *convmem.ContextResult) {
			for _, related := range c.Relations {
				if related.Message != nil {
					related.Message.Payload = convmem.Payload{}
				}
			}
		})},
		{"payload/update", "random: the zero payload does not clear", beforeUpdate(func(r *convmem.UpdateRequest) {
			if r.Payload != nil && r.Payload.Type == "" && len(r.Payload.Data) == 0 {
				r.Payload, r.Metadata = nil, &convmem.MetadataPatch{}
			}
		})},
		{"payload/update", "random: an update of content clears it", beforeUpdate(func(r *convmem.UpdateRequest) {
			if r.Payload == nil && r.Content != nil {
				r.Payload = &convmem.Payload{}
			}
		})},
		{"payload/an update that changes nothing", "a payload is always a change", func(s *twisted) {
			s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
				result, err := s.Model.Update(ctx, r)
				if err == nil && !result.Changed && r.Payload != nil {
					s.locked(func() { s.must(r.MessageID).message.Revision++; s.sequence++ })
				}
				return result, err
			}
		}},
		{"payload/idempotency", "random: payloads do not count", func(s *twisted) {
			s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
				s.locked(func() {
					if e := s.keyed(r.SessionID, r.IdempotencyKey); e != nil {
						r.Payload = e.first.Payload
					}
				})
				return s.Model.Write(ctx, r)
			}
		}},
		{"payload/idempotency", "type and data count as one text", func(s *twisted) {
			s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
				s.locked(func() {
					if e := s.keyed(r.SessionID, r.IdempotencyKey); e != nil && e.first.Payload.Type+string(e.first.Payload.Data) == r.Payload.Type+string(r.Payload.Data) {
						r.Payload = e.first.Payload
					}
				})
				return s.Model.Write(ctx, r)
			}
		}},
		{"payload/is copied", "data is shared with the request", afterWrite(func(s *twisted, r convmem.WriteRequest, result *convmem.WriteResult) {
			s.locked(func() { s.must(result.Message.ID).message.Payload.Data = r.Payload.Data })
		})},
		{"payload/is copied", "data is shared with the request of an update", afterUpdate(func(s *twisted, r convmem.UpdateRequest, _ *convmem.UpdateResult) {
			if r.Payload != nil {
				s.locked(func() { s.must(r.MessageID).message.Payload.Data = r.Payload.Data })
			}
		})},
		{"payload/is copied", "hits share their data", afterSearch(func(s *twisted, _ convmem.SearchRequest, result *convmem.SearchResult) {
			s.locked(func() {
				for i := range result.Hits {
					result.Hits[i].Payload = s.must(result.Hits[i].ID).message.Payload
				}
			})
		})},
		{"payload/counts in what a result may hold", "pages have no end", weightless},
		{"payload/is not searched", "random: types are searched", func(s *twisted) {
			s.search = func(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
				s.locked(func() {
					for _, e := range s.entries {
						e.counted = &[3]map[string]int{count(e.message.Content + " " + e.message.Payload.Type), count(e.message.Metadata.Summary), count(strings.Join(e.message.Metadata.Tags, "\n"))}
					}
				})
				return s.Model.Search(ctx, r)
			}
		}},
		{"payload/survives restart and rebuild", "a restart loses them", func(s *twisted) { s.reopened = func() { forget(s) } }},
		{"payload/survives restart and rebuild", "a rebuild loses them", afterRebuild(func(s *twisted, _ *convmem.RebuildResult) { s.locked(func() { forget(s) }) })},
	}
}

// weightless keeps data where it does not count, and puts it into the results of
// history.
func weightless(s *twisted) {
	data := map[string][]byte{}
	s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
		payload := r.Payload.Data
		r.Payload.Data = nil
		result, err := s.Model.Write(ctx, r)
		data[result.Message.ID] = payload
		return result, err
	}
	afterHistory(func(_ *twisted, _ convmem.HistoryRequest, page *convmem.HistoryResult) {
		for i := range page.Messages {
			page.Messages[i].Payload.Data = data[page.Messages[i].ID]
		}
	})(s)
}
