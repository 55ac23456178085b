package storetest

import (
	"context"
	"slices"

	"example.com/convmem"
)

func updateMutants() []mutant {
	metadata := func(change func(*convmem.MetadataPatch)) func(*twisted) {
		return beforeUpdate(func(r *convmem.UpdateRequest) {
			if r.Metadata != nil {
				change(r.Metadata)
			}
		})
	}
	return []mutant{
		{"update/merge by field", "tags left out are cleared", metadata(func(p *convmem.MetadataPatch) { p.Tags = append([]string{}, p.Tags...) })},
		{"update/merge by field", "random: tags are added", func(s *twisted) {
			s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
				s.locked(func() {
					if e, err := s.find(r.MessageID); err == nil && r.Metadata != nil && r.Metadata.Tags != nil {
						r.Metadata = new(*r.Metadata)
						r.Metadata.Tags = append(slices.Clone(e.message.Metadata.Tags), r.Metadata.Tags...)
					}
				})
				return s.Model.Update(ctx, r)
			}
		}},
		{"update/clear", "empty lists do not clear", metadata(func(p *convmem.MetadataPatch) {
			if len(p.SourceMessageIDs) == 0 {
				p.SourceMessageIDs = nil
			}
		})},
		{"update/identity stays", "an update is a new message in time", afterUpdate(func(s *twisted, r convmem.UpdateRequest, result *convmem.UpdateResult) {
			s.locked(func() { s.must(r.MessageID).message.Timestamp = result.Message.UpdatedAt })
			result.Message.Timestamp = result.Message.UpdatedAt
		})},
		{"update/no-op", "random: a no-op bumps the revision", afterUpdate(func(s *twisted, r convmem.UpdateRequest, result *convmem.UpdateResult) {
			if !result.Changed {
				s.locked(func() { s.must(r.MessageID).message.Revision++ })
			}
		})},
		{"update/no-op", "a no-op is recorded", afterUpdate(func(s *twisted, _ convmem.UpdateRequest, result *convmem.UpdateResult) {
			if !result.Changed {
				s.locked(func() { s.account.updates++ })
			}
		})},
		{"update/order of checks", "the revision is looked at first", func(s *twisted) {
			s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
				result, err := s.Model.Update(ctx, r)
				if convmem.CodeOf(err) == convmem.CodeNotFound && r.ExpectedRevision > 1 {
					err = problem(convmem.CodeConflict, "", "")
				}
				return result, err
			}
		}},
		{"update/order of checks", "existence is looked at before content", func(s *twisted) {
			s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
				result, err := s.Model.Update(ctx, r)
				if convmem.CodeOf(err) == convmem.CodeValidation {
					s.locked(func() {
						if _, missing := s.find(r.MessageID); missing != nil {
							err = missing
						}
					})
				}
				return result, err
			}
		}},
		{"update/expected revision", "a conflict does not say the revision", func(s *twisted) {
			s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
				result, err := s.Model.Update(ctx, r)
				if convmem.CodeOf(err) == convmem.CodeConflict {
					err = problem(convmem.CodeConflict, "expected_revision", "not the current one")
				}
				return result, err
			}
		}},
		{"update/updated at never goes back", "updated at is the clock's", afterUpdate(func(s *twisted, r convmem.UpdateRequest, result *convmem.UpdateResult) {
			s.locked(func() { s.must(r.MessageID).message.UpdatedAt = s.now() })
			result.Message.UpdatedAt = s.now()
		})},
		{"update/survives restart and rebuild", "a restart starts revisions anew", func(s *twisted) {
			s.reopened = func() {
				for _, e := range s.entries {
					e.message.Revision = 1
				}
			}
		}},
	}
}

func lifecycleMutants() []mutant {
	revive := func(s *twisted) func() {
		return func() {
			for _, e := range s.entries {
				e.deletedAt = 0
			}
		}
	}
	noGuard := func(s *twisted) {
		s.delete = func(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
			r.SessionID = ""
			return s.Model.Delete(ctx, r)
		}
	}
	return []mutant{
		{"delete/gone at once", "a deleted message is still a neighbour", afterContext(func(s *twisted, _ convmem.ContextRequest, c *convmem.ContextResult) {
			s.locked(func() {
				for _, e := range s.entries {
					if !e.live() && e.message.ID > c.Message.ID {
						c.After = []convmem.Message{clone(e.message)}
					}
				}
			})
		})},
		{"delete/guard", "random: the guard is ignored", noGuard},
		{"delete/guard", "a wrong guard deletes all the same", afterDelete(func(s *twisted, r convmem.DeleteRequest, _ *convmem.DeleteResult) {
			if _, err := s.Model.Delete(context.Background(), convmem.DeleteRequest{MessageID: r.MessageID}); err != nil {
				panic(err)
			}
		})},
		{"delete/nothing to delete", "a delete always deletes", afterDelete(func(_ *twisted, _ convmem.DeleteRequest, result *convmem.DeleteResult) { result.Deleted = true })},
		{"delete/nothing to delete", "nothing to delete is an error", func(s *twisted) {
			s.delete = func(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
				result, err := s.Model.Delete(ctx, r)
				if err == nil && !result.Deleted {
					err = problem(convmem.CodeNotFound, "message_id", "not there")
				}
				return result, err
			}
		}},
		{"delete/survives restart and rebuild", "random: a restart brings deleted messages back", func(s *twisted) { s.reopened = revive(s) }},
		{"rebuild/counts", "deleted messages are counted", afterRebuild(func(s *twisted, result *convmem.RebuildResult) { result.MessagesIndexed = int64(len(s.entries)) })},
		{"rebuild/counts", "nothing shrinks", afterRebuild(func(_ *twisted, result *convmem.RebuildResult) { result.BytesAfter = result.BytesBefore })},
		{"rebuild/an empty store", "a rebuild of nothing fails", func(s *twisted) {
			s.rebuild = func(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
				result, err := s.Model.Rebuild(ctx, r)
				if err == nil && result.MessagesIndexed == 0 {
					err = problem(convmem.CodeIO, "", "nothing to rebuild")
				}
				return result, err
			}
		}},
		{"rebuild/changes no answer", "a rebuild changes the last bits of scores", func(s *twisted) {
			factor := 1.0
			afterRebuild(func(*twisted, *convmem.RebuildResult) { factor = 1 + 1e-15 })(s)
			afterSearch(func(_ *twisted, _ convmem.SearchRequest, result *convmem.SearchResult) {
				for i := range result.Hits {
					result.Hits[i].Breakdown.Content *= factor
					b := result.Hits[i].Breakdown
					result.Hits[i].Score = b.Content + b.Summary + b.Tags
				}
			})(s)
		}},
		{"rebuild/changes no answer", "a rebuild loses relations", afterRebuild(func(s *twisted, _ *convmem.RebuildResult) {
			s.locked(func() { s.entries[3].message.Metadata.Relations = nil })
		})},
		{"rebuild/the store goes on", "a rebuild starts revisions anew", afterRebuild(func(s *twisted, _ *convmem.RebuildResult) {
			s.locked(func() {
				for _, e := range s.entries {
					e.message.Revision = 1
				}
			})
		})},
		{"health/a new store", "a new store has a valid snapshot", afterHealth(func(_ *twisted, h *convmem.HealthResult) { h.SnapshotValid, h.SnapshotSize = true, 1 })},
		{"health/counts", "random: deleted messages are active", afterHealth(func(_ *twisted, h *convmem.HealthResult) { h.ActiveMessages += h.DeletedMessages })},
		{"health/counts", "there is an error, but all is well", afterHealth(func(_ *twisted, h *convmem.HealthResult) { h.LastError = "disk full" })},
		{"health/after a rebuild", "a rebuild keeps counting updates", func(s *twisted) {
			before := int64(0)
			s.rebuild = func(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
				before = s.account.updates
				return s.Model.Rebuild(ctx, r)
			}
			afterHealth(func(_ *twisted, h *convmem.HealthResult) { h.UpdateRecords += before })(s)
		}},
		{"health/after a restart", "a restart forgets the log", func(s *twisted) { s.reopened = func() { s.account.deletes = 0 } }},
		{"health/last sequence never falls", "random: a rebuild starts the sequence anew", afterRebuild(func(s *twisted, _ *convmem.RebuildResult) {
			s.locked(func() { s.sequence = 0 })
		})},
		{"health/last sequence never falls", "deletes have no number", afterHealth(func(_ *twisted, h *convmem.HealthResult) { h.LastSequence -= h.DeletedMessages })},
		{"health/dead bytes", "only deletes count as dead", func(s *twisted) {
			s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
				before := s.account.dead
				result, err := s.Model.Update(ctx, r)
				s.account.dead = before
				return result, err
			}
		}},
	}
}

func sharingMutants() []mutant {
	uncancelled := func(s *twisted) {
		s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
			return s.Model.Write(context.WithoutCancel(ctx), r)
		}
	}
	return []mutant{
		{"sharing/what goes in is copied", "tags are shared with the request", afterWrite(func(s *twisted, r convmem.WriteRequest, result *convmem.WriteResult) {
			s.locked(func() { s.must(result.Message.ID).message.Metadata.Tags = r.Metadata.Tags })
		})},
		{"sharing/what comes out is a copy", "a result shares its tags", afterWrite(func(s *twisted, _ convmem.WriteRequest, result *convmem.WriteResult) {
			s.locked(func() { result.Message.Metadata.Tags = s.must(result.Message.ID).message.Metadata.Tags })
		})},
		{"sharing/what comes out is a copy", "hits share their relations", afterSearch(func(s *twisted, _ convmem.SearchRequest, result *convmem.SearchResult) {
			s.locked(func() {
				for i := range result.Hits {
					result.Hits[i].Metadata.Relations = s.must(result.Hits[i].ID).message.Metadata.Relations
				}
			})
		})},
		{"sharing/requests are left alone", "filters are sorted in place", beforeSearch(func(r *convmem.SearchRequest) { slices.Sort(r.Filters.Tags) })},
		{"cancelled/nothing is done", "writes cannot be cancelled", uncancelled},
		{"concurrency/writers, readers and rebuilds", "some writes are lost", afterWrite(func(s *twisted, _ convmem.WriteRequest, result *convmem.WriteResult) {
			s.locked(func() {
				if s.sequence%10 == 0 {
					s.must(result.Message.ID).deletedAt = s.sequence
				}
			})
		})},
		{"concurrency/one winner per revision", "the expected revision is ignored", beforeUpdate(func(r *convmem.UpdateRequest) { r.ExpectedRevision = 0 })},
		{"concurrency/one message per key", "keys are ignored", beforeWrite(func(r *convmem.WriteRequest) { r.IdempotencyKey = "" })},
		{"concurrency/one delete", "every delete deletes", afterDelete(func(_ *twisted, _ convmem.DeleteRequest, result *convmem.DeleteResult) { result.Deleted = true })},
		{"concurrency/paging beside writers", "pages begin with the last message of the page before", afterHistory(repeatFirst)},
	}
}
