package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"example.com/convmem"
)

// oneByOne writes a batch as single messages, until one fails.
func oneByOne(s *twisted) {
	s.batch = func(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
		if _, err := batchDrafts(r); err != nil {
			return s.Model.WriteBatch(ctx, r)
		}
		var result convmem.WriteBatchResult
		for i, one := range r.Messages {
			written, err := s.Model.Write(ctx, one)
			if err != nil {
				return convmem.WriteBatchResult{}, ofMessage(i, err)
			}
			result.Results = append(result.Results, written)
		}
		return result, nil
	}
}

// interrupted lets another write come between the messages of a batch.
func interrupted(s *twisted) {
	oneByOne(s)
	batch := s.batch
	s.batch = func(ctx context.Context, r convmem.WriteBatchRequest) (all convmem.WriteBatchResult, err error) {
		for i := range r.Messages {
			one, err := batch(ctx, convmem.WriteBatchRequest{Messages: r.Messages[i : i+1]})
			if err == nil {
				_, err = s.Model.Write(ctx, plain("beside", "between", ""))
			}
			if err != nil {
				return convmem.WriteBatchResult{}, err
			}
			all.Results = append(all.Results, one.Results...)
		}
		return all, nil
	}
}

func beforeBatch(change func(*convmem.WriteBatchRequest)) func(*twisted) {
	return func(s *twisted) {
		s.batch = func(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
			r.Messages = slices.Clone(r.Messages)
			change(&r)
			return s.Model.WriteBatch(ctx, r)
		}
	}
}

func afterBatch(change func(s *twisted, r convmem.WriteBatchRequest, result *convmem.WriteBatchResult, err *convmem.Error)) func(*twisted) {
	return func(s *twisted) {
		s.batch = func(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
			result, err := s.Model.WriteBatch(ctx, r)
			var coded *convmem.Error
			errors.As(err, &coded)
			change(s, r, &result, coded)
			return result, err
		}
	}
}

// batchMutants are wrong about batches.
func batchMutants() []mutant {
	results := func(change func(*twisted, []convmem.WriteResult)) func(*twisted) {
		return afterBatch(func(s *twisted, _ convmem.WriteBatchRequest, result *convmem.WriteBatchResult, _ *convmem.Error) {
			change(s, result.Results)
		})
	}
	return []mutant{
		{"batch/results", "the last message comes first", results(func(_ *twisted, all []convmem.WriteResult) { slices.Reverse(all) })},
		{"batch/results", "all ids are one", results(func(_ *twisted, all []convmem.WriteResult) {
			for i := range all {
				all[i].Message.ID = all[0].Message.ID
			}
		})},
		{"batch/results", "a batch is of one session", beforeBatch(func(r *convmem.WriteBatchRequest) {
			for i := range r.Messages {
				r.Messages[i].SessionID = r.Messages[0].SessionID
			}
		})},
		{"batch/number of messages", "what is too much is dropped", beforeBatch(func(r *convmem.WriteBatchRequest) {
			r.Messages = r.Messages[:min(len(r.Messages), 1000)]
		})},
		{"batch/number of messages", "no message is a batch", func(s *twisted) {
			s.batch = func(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
				if len(r.Messages) == 0 {
					return convmem.WriteBatchResult{}, nil
				}
				return s.Model.WriteBatch(ctx, r)
			}
		}},
		{"batch/one refused message", "the field is that of a write", afterBatch(func(_ *twisted, _ convmem.WriteBatchRequest, _ *convmem.WriteBatchResult, e *convmem.Error) {
			if e != nil {
				_, e.Field, _ = strings.Cut(e.Field, ".")
			}
		})},
		{"batch/one refused message", "messages are counted from one", afterBatch(func(_ *twisted, r convmem.WriteBatchRequest, _ *convmem.WriteBatchResult, e *convmem.Error) {
			if e != nil {
				e.Field = strings.NewReplacer("[0]", "[1]", "[1]", "[2]", "[2]", "[3]", "[3]", "[4]", "[4]", "[5]").Replace(e.Field)
			}
		})},
		{"batch/one refused message", "what comes before it is stored", func(s *twisted) {
			s.batch = func(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
				result, err := s.Model.WriteBatch(ctx, r)
				for _, one := range r.Messages {
					if _, failed := draft(one); err == nil || failed != nil {
						break
					}
					_, _ = s.Model.Write(ctx, one)
				}
				return result, err
			}
		}},
		{"batch/a key twice within it", "random: keys within a batch are unknown", func(s *twisted) {
			s.batch = func(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
				r.Messages = slices.Clone(r.Messages)
				seen := map[string]bool{}
				for i := range r.Messages {
					one := &r.Messages[i]
					name := one.SessionID + "/" + one.IdempotencyKey
					if s.keyed(one.SessionID, one.IdempotencyKey) == nil && seen[name] {
						one.IdempotencyKey = ""
					}
					seen[name] = true
				}
				return s.Model.WriteBatch(ctx, r)
			}
		}},
		{"batch/a key from before", "a replay is not marked", results(func(_ *twisted, all []convmem.WriteResult) {
			for i := range all {
				all[i].Replayed = false
			}
		})},
		{"batch/a key from before", "a batch of replays has a number", results(func(s *twisted, _ []convmem.WriteResult) {
			s.locked(func() { s.sequence++ })
		})},
		{"batch/a conflict", "random: what comes before it is stored", oneByOne},
		{"batch/a conflict", "a conflict names no message", afterBatch(func(_ *twisted, _ convmem.WriteBatchRequest, _ *convmem.WriteBatchResult, e *convmem.Error) {
			if e != nil {
				e.Field = "idempotency_key"
			}
		})},
		{"batch/results are copies", "a replay shares the lists of the first", results(func(_ *twisted, all []convmem.WriteResult) {
			for i := range all {
				if all[i].Replayed {
					all[i].Message = all[0].Message
				}
			}
		})},
		{"batch/results are copies", "results share with the store", results(func(s *twisted, all []convmem.WriteResult) {
			s.locked(func() {
				for i := range all {
					all[i].Message = s.must(all[i].Message.ID).message
				}
			})
		})},
		{"batch/survives restart and rebuild", "a restart loses the end of a batch", func(s *twisted) {
			s.reopened = func() {
				s.entries = s.entries[:len(s.entries)-1]
			}
		}},
		{"batch/cancelled", "batches cannot be cancelled", func(s *twisted) {
			s.batch = func(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
				return s.Model.WriteBatch(context.WithoutCancel(ctx), r)
			}
		}},
		{"batch/nothing between", "others come between", interrupted},
	}
}
