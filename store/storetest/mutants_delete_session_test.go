package storetest

import (
	"context"
	"slices"
	"strings"

	"example.com/convmem"
	"github.com/oklog/ulid/v2"
)

// deleteSessionMutants are wrong about deleting sessions.
func deleteSessionMutants() []mutant {
	around := func(change func(s *twisted, r convmem.DeleteSessionRequest, dead []*entry, result *convmem.DeleteSessionResult)) func(*twisted) {
		return func(s *twisted) {
			s.dropSession = func(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
				var dead []*entry
				s.locked(func() { dead = s.session(r.SessionID) })
				result, err := s.Model.DeleteSession(ctx, r)
				if err == nil {
					s.locked(func() { change(s, r, dead, &result) })
				}
				return result, err
			}
		}
	}
	keep := func(dead []*entry) {
		for _, e := range dead {
			e.deletedAt = 0
		}
	}
	return []mutant{
		{"delete session/gone at once", "random: names that begin alike go too", around(func(s *twisted, r convmem.DeleteSessionRequest, _ []*entry, _ *convmem.DeleteSessionResult) {
			for _, e := range s.live() {
				if strings.HasPrefix(e.message.SessionID, r.SessionID[:min(len(r.SessionID), 4)]) {
					s.sequence++
					e.deletedAt = s.sequence
					s.account.remove(e)
				}
			}
		})},
		{"delete session/gone at once", "random: the first message stays", around(func(_ *twisted, _ convmem.DeleteSessionRequest, dead []*entry, _ *convmem.DeleteSessionResult) {
			keep(dead[:min(1, len(dead))])
		})},
		{"delete session/gone at once", "what relates to it goes too", around(func(s *twisted, _ convmem.DeleteSessionRequest, dead []*entry, _ *convmem.DeleteSessionResult) {
			for _, e := range s.live() {
				for _, gone := range dead {
					e.message.Metadata.Relations = slices.DeleteFunc(e.message.Metadata.Relations, func(r convmem.Relation) bool { return r.MessageID == gone.message.ID })
				}
			}
		})},
		{"delete session/nothing to delete", "an unknown session is an error", func(s *twisted) {
			s.dropSession = func(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
				result, err := s.Model.DeleteSession(ctx, r)
				if err == nil && result.Deleted == 0 {
					err = problem(convmem.CodeNotFound, "session_id", "not there")
				}
				return result, err
			}
		}},
		{"delete session/nothing to delete", "nothing has a number", around(func(s *twisted, _ convmem.DeleteSessionRequest, _ []*entry, _ *convmem.DeleteSessionResult) {
			s.sequence++
		})},
		{"delete session/values", "a long name is cut", func(s *twisted) {
			s.dropSession = func(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
				r.SessionID = prefix(r.SessionID, 256)
				return s.Model.DeleteSession(ctx, r)
			}
		}},
		{"delete session/cursors go on", "a run over a deleted session fails", func(s *twisted) {
			s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
				result, err := s.Model.Read(ctx, r)
				if err == nil && r.History != nil && r.History.Cursor != "" && len(result.History.Messages) == 0 {
					err = invalid("cursor", "its session is gone")
				}
				return result, err
			}
		}},
		{"delete session/cursors go on", "runs over sessions begin again", func(s *twisted) {
			gone := false
			around(func(*twisted, convmem.DeleteSessionRequest, []*entry, *convmem.DeleteSessionResult) { gone = true })(s)
			s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
				if r.Sessions != nil && gone {
					r.Sessions, gone = &convmem.SessionsRequest{Limit: r.Sessions.Limit}, false
				}
				return s.Model.Read(ctx, r)
			}
		}},
		{"delete session/keys are free", "keys outlive their session", func(s *twisted) {
			s.write = func(ctx context.Context, r convmem.WriteRequest) (result convmem.WriteResult, err error) {
				s.locked(func() {
					for _, e := range s.entries {
						if e.key == r.IdempotencyKey && e.key != "" && !e.live() {
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
		{"delete session/the name again", "the ids begin again", around(func(s *twisted, _ convmem.DeleteSessionRequest, _ []*entry, _ *convmem.DeleteSessionResult) {
			s.lastID = ulid.Zero
		})},
		{"delete session/the name again", "a name cannot be used again", func(s *twisted) {
			var gone []string
			around(func(_ *twisted, r convmem.DeleteSessionRequest, _ []*entry, _ *convmem.DeleteSessionResult) {
				gone = append(gone, r.SessionID)
			})(s)
			beforeHistory(func(r *convmem.HistoryRequest) {
				if slices.Contains(gone, r.SessionID) {
					r.SessionID = "nowhere"
				}
			})(s)
		}},
		{"delete session/survives restart and rebuild", "a restart brings it back", func(s *twisted) {
			s.reopened = func() { keep(s.entries) }
		}},
		{"delete session/cancelled", "it cannot be cancelled", func(s *twisted) {
			s.dropSession = func(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
				return s.Model.DeleteSession(context.WithoutCancel(ctx), r)
			}
		}},
		{"delete session/all of it or nothing", "a call deletes a half", around(func(s *twisted, _ convmem.DeleteSessionRequest, dead []*entry, result *convmem.DeleteSessionResult) {
			keep(dead[:len(dead)/2])
			result.Deleted = len(dead) - len(dead)/2
		})},
	}
}
