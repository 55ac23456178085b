package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/convmem"
	"github.com/oklog/ulid/v2"
)

// changeMutants are wrong about values, writes, updates, deletes and upkeep.
func changeMutants() []mutant {
	return slices.Concat(valueMutants(), messageMutants(), keyMutants(), updateMutants(), lifecycleMutants(), sharingMutants())
}

// blurred changes the errors of writes.
func blurred(change func(*convmem.Error, convmem.WriteRequest)) func(*twisted) {
	return func(s *twisted) {
		s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
			result, err := s.Model.Write(ctx, r)
			var coded *convmem.Error
			if errors.As(err, &coded) {
				change(coded, r)
			}
			return result, err
		}
	}
}

func valueMutants() []mutant {
	clamp := func(n *int, most int) { *n = min(*n, most) }
	return []mutant{
		{"values/write", "a long session id is cut", beforeWrite(func(r *convmem.WriteRequest) { r.SessionID = prefix(r.SessionID, 256) })},
		{"values/write", "an unknown role is a user", beforeWrite(func(r *convmem.WriteRequest) {
			if !slices.Contains(roles(), r.Role) {
				r.Role = convmem.RoleUser
			}
		})},
		{"values/write", "broken UTF-8 is mended", beforeWrite(func(r *convmem.WriteRequest) { r.Content = strings.ToValidUTF8(r.Content, "?") })},
		{"values/write", "errors name no field", blurred(func(e *convmem.Error, _ convmem.WriteRequest) { e.Field = "" })},
		{"values/write", "errors name no numbers", blurred(func(e *convmem.Error, _ convmem.WriteRequest) { e.Message = "out of bounds" })},
		{"values/write", "the last byte of a long content is lost", beforeWrite(func(r *convmem.WriteRequest) { r.Content = prefix(r.Content, 1<<20-1) })},
		{"values/metadata of a write", "the last of 32 tags is lost", beforeWrite(func(r *convmem.WriteRequest) { r.Metadata.Tags = r.Metadata.Tags[:min(len(r.Metadata.Tags), 31)] })},
		{"values/metadata of a write", "importance 0 counts as unset", beforeWrite(func(r *convmem.WriteRequest) {
			if r.Metadata.Importance != nil && *r.Metadata.Importance == 0 {
				r.Metadata.Importance = nil
			}
		})},
		{"values/metadata of a write", "1970 counts as unset", beforeWrite(func(r *convmem.WriteRequest) {
			if r.Metadata.OccurredAt.UnixMilli() == 0 {
				r.Metadata.OccurredAt = time.Time{}
			}
		})},
		{"values/metadata of an update", "importance is clamped", beforeUpdate(func(r *convmem.UpdateRequest) {
			if r.Metadata != nil && r.Metadata.Importance != nil {
				r.Metadata.Importance = new(min(100, *r.Metadata.Importance))
			}
		})},
		{"values/choices", "there is no role tool", beforeWrite(func(r *convmem.WriteRequest) {
			if r.Role == convmem.RoleTool {
				r.Role = convmem.RoleSystem
			}
		})},
		{"values/update", "empty content is no content", beforeUpdate(func(r *convmem.UpdateRequest) {
			if r.Content != nil && *r.Content == "" {
				r.Content, r.Metadata = nil, &convmem.MetadataPatch{}
			}
		})},
		{"values/message ids", "lower-case ids pass", beforeUpdate(func(r *convmem.UpdateRequest) { r.MessageID = strings.ToUpper(r.MessageID) })},
		{"values/delete", "a long guard is cut", func(s *twisted) {
			s.delete = func(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
				r.SessionID = prefix(r.SessionID, 256)
				return s.Model.Delete(ctx, r)
			}
		}},
		{"values/read", "a large limit is clamped", beforeHistory(func(r *convmem.HistoryRequest) { clamp(&r.Limit, 1000) })},
		{"values/read", "history wins over other views", func(s *twisted) {
			s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
				if r.History != nil {
					r.Sessions = nil
				}
				return s.Model.Read(ctx, r)
			}
		}},
		{"values/search", "a large limit is clamped", beforeSearch(func(r *convmem.SearchRequest) { clamp(&r.Limit, 100) })},
		{"values/search", "unknown kinds are dropped", beforeSearch(func(r *convmem.SearchRequest) {
			r.Filters.Kinds = slices.DeleteFunc(slices.Clone(r.Filters.Kinds), func(kind convmem.MemoryKind) bool { return !slices.Contains(kinds(), kind) })
		})},
		{"values/refused writes store nothing", "a refused write leaves a record", func(s *twisted) {
			s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
				result, err := s.Model.Write(ctx, r)
				if err != nil {
					s.locked(func() { s.sequence++ })
				}
				return result, err
			}
		}},
		{"values/error text", "errors quote content", blurred(func(e *convmem.Error, r convmem.WriteRequest) { e.Message += ": " + r.Content })},
		{"values/error text", "errors quote roles of any length", blurred(func(e *convmem.Error, r convmem.WriteRequest) { e.Message += ": " + string(r.Role) })},
	}
}

func messageMutants() []mutant {
	return []mutant{
		{"message/defaults", "the default importance is 0", beforeWrite(func(r *convmem.WriteRequest) {
			if r.Metadata.Importance == nil {
				r.Metadata.Importance = new(0)
			}
		})},
		{"message/every value", "the order of relations is lost", beforeWrite(func(r *convmem.WriteRequest) {
			r.Metadata.Relations = slices.Clone(r.Metadata.Relations)
			slices.SortFunc(r.Metadata.Relations, func(a, b convmem.Relation) int { return strings.Compare(string(a.Type), string(b.Type)) })
		})},
		{"message/content byte for byte", "content is trimmed", beforeWrite(func(r *convmem.WriteRequest) {
			if trimmed := strings.TrimSpace(r.Content); trimmed != "" {
				r.Content = trimmed
			}
		})},
		{"message/content byte for byte", "NUL ends content", beforeWrite(func(r *convmem.WriteRequest) {
			if before, _, found := strings.Cut(r.Content, "\x00"); found && before != "" {
				r.Content = before
			}
		})},
		{"message/repetitions fold", "tags are sorted", beforeWrite(func(r *convmem.WriteRequest) {
			if r.Metadata.Tags != nil {
				r.Metadata.Tags = slices.Sorted(slices.Values(r.Metadata.Tags))
			}
		})},
		{"message/repetitions fold", "relations fold by target", beforeWrite(func(r *convmem.WriteRequest) {
			seen := map[string]bool{}
			r.Metadata.Relations = slices.DeleteFunc(slices.Clone(r.Metadata.Relations), func(relation convmem.Relation) bool {
				again := seen[relation.MessageID]
				seen[relation.MessageID] = true
				return again
			})
		})},
		{"message/times", "times are local", afterWrite(func(_ *twisted, _ convmem.WriteRequest, result *convmem.WriteResult) {
			result.Message.Timestamp = result.Message.Timestamp.In(time.FixedZone("somewhere", 3600))
		})},
		{"message/times", "updated at has nanoseconds", afterUpdate(func(s *twisted, _ convmem.UpdateRequest, result *convmem.UpdateResult) {
			result.Message.UpdatedAt = s.now().UTC()
		})},
		{"message/id order", "ids of one millisecond are random", func(s *twisted) {
			s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
				s.locked(func() { s.lastID = ulid.Zero })
				return s.Model.Write(ctx, r)
			}
		}},
		{"message/clock steps back", "timestamps are the clock's", afterWrite(func(s *twisted, _ convmem.WriteRequest, result *convmem.WriteResult) {
			result.Message.Timestamp = s.now()
		})},
		{"message/clock steps back over a restart", "the last id is forgotten", func(s *twisted) { s.reopened = func() { s.lastID = ulid.Zero } }},
		{"message/ids of deleted messages stay used", "a rebuild forgets the last id", afterRebuild(func(s *twisted, _ *convmem.RebuildResult) {
			s.locked(func() { s.lastID = ulid.Zero })
		})},
		{"message/read after write", "search is one message late", afterSearch(func(s *twisted, _ convmem.SearchRequest, result *convmem.SearchResult) {
			result.Hits = slices.DeleteFunc(result.Hits, func(hit convmem.Hit) bool { return hit.ID == s.lastID.String() })
		})},
	}
}

func keyMutants() []mutant {
	forget := func(s *twisted) func() {
		return func() {
			for _, e := range s.entries {
				e.key = ""
			}
		}
	}
	return []mutant{
		{"idempotency/replay", "a replay is not marked", afterWrite(func(_ *twisted, _ convmem.WriteRequest, result *convmem.WriteResult) { result.Replayed = false })},
		{"idempotency/replay", "a replay is recorded", afterWrite(func(s *twisted, _ convmem.WriteRequest, result *convmem.WriteResult) {
			if result.Replayed {
				s.locked(func() { s.sequence++ })
			}
		})},
		{"idempotency/replay returns the message as it is now", "random: a replay returns what was written", afterWrite(func(_ *twisted, r convmem.WriteRequest, result *convmem.WriteResult) {
			result.Message.Content = r.Content
		})},
		{"idempotency/replay returns the message as it is now", "the key follows updates", afterUpdate(func(s *twisted, r convmem.UpdateRequest, result *convmem.UpdateResult) {
			s.locked(func() { s.must(r.MessageID).first.Content = result.Message.Content })
		})},
		{"idempotency/defaults say the same", "defaults are not filled in", func(s *twisted) {
			s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
				if r.IdempotencyKey != "" && r.Metadata.Importance != nil {
					r.IdempotencyKey += " with importance"
				}
				return s.Model.Write(ctx, r)
			}
		}},
		{"idempotency/conflict", "metadata does not count", beforeWrite(func(r *convmem.WriteRequest) {
			if r.IdempotencyKey != "" {
				r.Metadata = convmem.MetadataPatch{}
			}
		})},
		{"idempotency/scope", "random: a key is one for all sessions", func(s *twisted) {
			s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
				s.locked(func() {
					for _, e := range s.entries {
						if e.key == r.IdempotencyKey && e.key != "" && e.live() {
							r.SessionID = e.message.SessionID
						}
					}
				})
				return s.Model.Write(ctx, r)
			}
		}},
		{"idempotency/a key dies with its message", "a key outlives its message", func(s *twisted) {
			s.write = func(ctx context.Context, r convmem.WriteRequest) (result convmem.WriteResult, err error) {
				s.locked(func() {
					for _, e := range s.entries {
						if e.key == r.IdempotencyKey && e.key != "" {
							result = convmem.WriteResult{Message: clone(e.message), Replayed: true}
						}
					}
				})
				if result.Replayed {
					return result, nil
				}
				return s.Model.Write(ctx, r)
			}
		}},
		{"idempotency/a key outlives restart and rebuild", "a restart forgets keys", func(s *twisted) { s.reopened = forget(s) }},
		{"idempotency/a key outlives restart and rebuild", "a rebuild forgets keys", afterRebuild(func(s *twisted, _ *convmem.RebuildResult) { s.locked(forget(s)) })},
	}
}
