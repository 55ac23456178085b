package convmem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
)

// failing is a Store whose n-th call fails.
type failing struct {
	convmem.Store
	n, calls int
}

var errCall = &convmem.Error{Op: "test", Code: convmem.CodeIO}

// attempt counts a call, which fails instead of do when it is the n-th.
func attempt[R any](f *failing, do func() (R, error)) (R, error) {
	if f.calls++; f.calls == f.n {
		var none R
		return none, errCall
	}
	return do()
}

func (f *failing) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	return attempt(f, func() (convmem.WriteResult, error) { return f.Store.Write(ctx, r) })
}

func (f *failing) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return attempt(f, func() (convmem.ReadResult, error) { return f.Store.Read(ctx, r) })
}

func (f *failing) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	return attempt(f, func() (convmem.SearchResult, error) { return f.Store.Search(ctx, r) })
}

func (f *failing) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return attempt(f, func() (convmem.DeleteResult, error) { return f.Store.Delete(ctx, r) })
}

func (f *failing) Rebuild(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
	return attempt(f, func() (convmem.RebuildResult, error) { return f.Store.Rebuild(ctx, r) })
}

// Whichever call fails, its error comes back, nothing is claimed that was not done,
// and the same request made again finishes.
func TestEveryCallFails(t *testing.T) {
	const messages = 5
	retain := convmem.RetainRequest{Now: time.UnixMilli(1).AddDate(200, 0, 0), MaxAge: map[convmem.MemoryTier]time.Duration{convmem.TierShort: 0}}
	for _, c := range []struct {
		name string
		// run returns how many messages it says it deleted.
		run   func(s convmem.Store, first string) (deleted int, err error)
		calls int // of a run in which none fails
	}{
		{"window", func(s convmem.Store, _ string) (int, error) {
			_, err := convmem.Window(ctx, s, convmem.WindowRequest{SessionID: "s", MaxMessages: 3, KeepSystem: true})
			return 0, err
		}, 2},
		{"feedback", func(s convmem.Store, first string) (int, error) {
			_, err := convmem.Feedback(ctx, s, s, convmem.FeedbackRequest{MessageID: first, Note: "n"})
			return 0, err
		}, 2},
		{"retain", func(s convmem.Store, _ string) (int, error) {
			got, err := convmem.Retain(ctx, s, retain)
			return len(got.Deleted), err
		}, 1 + 1 + 2*messages},
		{"forget", func(s convmem.Store, _ string) (int, error) {
			got, err := convmem.Forget(ctx, s, convmem.ForgetRequest{SessionID: "s"})
			if got.Proven != (err == nil) {
				t.Errorf("proven %v with %v", got.Proven, err)
			}
			return got.Deleted, err
		}, 2 + messages + 1 + 1 + messages},
		{"forget all", func(s convmem.Store, _ string) (int, error) {
			got, err := convmem.Forget(ctx, s, convmem.ForgetRequest{AllSessions: true})
			return got.Deleted, err
		}, 1 + 2 + messages + 1 + 2 + messages},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; ; n++ {
				model := storetest.NewModel(storetest.Config{})
				first := play(t, model, "s", "s u a u u")[0].ID
				f := &failing{Store: model, n: n}
				deleted, err := c.run(f, first)
				if left := live(t, model); c.name != "feedback" && left != messages-deleted {
					t.Errorf("call %d: %d deleted, %d left", n, deleted, left)
				}
				if n > c.calls {
					if err != nil || f.calls != c.calls {
						t.Errorf("%v after %d calls, want %d", err, f.calls, c.calls)
					}
					return
				}
				if !errors.Is(err, errCall) {
					t.Errorf("call %d: %v", n, err)
				}
				if _, err := c.run(model, first); err != nil {
					t.Errorf("again after call %d: %v", n, err)
				}
			}
		})
	}
}

func live(t *testing.T, s convmem.Store) int {
	t.Helper()
	health, err := s.Health(ctx, convmem.HealthRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return int(health.ActiveMessages)
}
