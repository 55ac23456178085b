package storetest

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/convmem"
)

// mutant is a Model with one fault, and the check that must notice it.
type mutant struct {
	caught string // name of the check
	name   string
	twist  func(*twisted)
}

// twisted is a Model of which some methods are replaced. A replacement calls
// the Model's own method and falsifies what goes in or what comes out.
type twisted struct {
	*Model
	write       func(context.Context, convmem.WriteRequest) (convmem.WriteResult, error)
	update      func(context.Context, convmem.UpdateRequest) (convmem.UpdateResult, error)
	read        func(context.Context, convmem.ReadRequest) (convmem.ReadResult, error)
	search      func(context.Context, convmem.SearchRequest) (convmem.SearchResult, error)
	delete      func(context.Context, convmem.DeleteRequest) (convmem.DeleteResult, error)
	rebuild     func(context.Context, convmem.RebuildRequest) (convmem.RebuildResult, error)
	health      func(context.Context, convmem.HealthRequest) (convmem.HealthResult, error)
	batch       func(context.Context, convmem.WriteBatchRequest) (convmem.WriteBatchResult, error)
	dropSession func(context.Context, convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error)
	reopened    func() // runs while the Model is locked
}

func (s *twisted) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	return s.write(ctx, r)
}

func (s *twisted) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	return s.update(ctx, r)
}

func (s *twisted) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return s.read(ctx, r)
}

func (s *twisted) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	return s.search(ctx, r)
}

func (s *twisted) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return s.delete(ctx, r)
}

func (s *twisted) Rebuild(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
	return s.rebuild(ctx, r)
}

func (s *twisted) Health(ctx context.Context, r convmem.HealthRequest) (convmem.HealthResult, error) {
	return s.health(ctx, r)
}

func (s *twisted) WriteBatch(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
	return s.batch(ctx, r)
}

func (s *twisted) DeleteSession(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
	return s.dropSession(ctx, r)
}

// locked runs do while nobody else uses the Model.
func (s *twisted) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// twistedFactory makes Models with a fault.
func twistedFactory(twist func(*twisted)) Factory {
	return func(_ testing.TB, c Config) Subject {
		m := NewModel(c)
		s := &twisted{
			Model: m, write: m.Write, update: m.Update, read: m.Read, search: m.Search,
			delete: m.Delete, rebuild: m.Rebuild, health: m.Health, batch: m.WriteBatch, dropSession: m.DeleteSession, reopened: func() {},
		}
		twist(s)
		return Subject{Store: s, Reopen: func() convmem.Store { s.locked(s.reopened); return s }}
	}
}

// beforeWrite changes requests. The others are alike.
func beforeWrite(change func(*convmem.WriteRequest)) func(*twisted) {
	return func(s *twisted) {
		s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
			change(&r)
			return s.Model.Write(ctx, r)
		}
	}
}

func beforeUpdate(change func(*convmem.UpdateRequest)) func(*twisted) {
	return func(s *twisted) {
		s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
			if r.Metadata != nil {
				r.Metadata = new(*r.Metadata)
			}
			change(&r)
			return s.Model.Update(ctx, r)
		}
	}
}

func beforeSearch(change func(*convmem.SearchRequest)) func(*twisted) {
	return func(s *twisted) {
		s.search = func(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
			change(&r)
			return s.Model.Search(ctx, r)
		}
	}
}

// beforeHistory changes requests for history.
func beforeHistory(change func(*convmem.HistoryRequest)) func(*twisted) {
	return func(s *twisted) {
		s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
			if r.History != nil {
				r.History = new(*r.History)
				change(r.History)
			}
			return s.Model.Read(ctx, r)
		}
	}
}

// afterWrite changes results of writes that succeed.
func afterWrite(change func(s *twisted, r convmem.WriteRequest, result *convmem.WriteResult)) func(*twisted) {
	return func(s *twisted) {
		s.write = func(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
			result, err := s.Model.Write(ctx, r)
			if err == nil {
				change(s, r, &result)
			}
			return result, err
		}
	}
}

func afterUpdate(change func(s *twisted, r convmem.UpdateRequest, result *convmem.UpdateResult)) func(*twisted) {
	return func(s *twisted) {
		s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
			result, err := s.Model.Update(ctx, r)
			if err == nil {
				change(s, r, &result)
			}
			return result, err
		}
	}
}

// afterRead changes results of reads that succeed; one view of r and of result
// is set.
func afterRead(change func(s *twisted, r convmem.ReadRequest, result convmem.ReadResult)) func(*twisted) {
	return func(s *twisted) {
		s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
			result, err := s.Model.Read(ctx, r)
			if err == nil {
				change(s, r, result)
			}
			return result, err
		}
	}
}

func afterHistory(change func(s *twisted, r convmem.HistoryRequest, page *convmem.HistoryResult)) func(*twisted) {
	return afterRead(func(s *twisted, r convmem.ReadRequest, result convmem.ReadResult) {
		if r.History != nil {
			change(s, *r.History, result.History)
		}
	})
}

func afterContext(change func(s *twisted, r convmem.ContextRequest, c *convmem.ContextResult)) func(*twisted) {
	return afterRead(func(s *twisted, r convmem.ReadRequest, result convmem.ReadResult) {
		if r.Context != nil {
			change(s, *r.Context, result.Context)
		}
	})
}

func afterSessions(change func(s *twisted, page *convmem.SessionsResult)) func(*twisted) {
	return afterRead(func(s *twisted, r convmem.ReadRequest, result convmem.ReadResult) {
		if r.Sessions != nil {
			change(s, result.Sessions)
		}
	})
}

func afterSearch(change func(s *twisted, r convmem.SearchRequest, result *convmem.SearchResult)) func(*twisted) {
	return func(s *twisted) {
		s.search = func(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
			result, err := s.Model.Search(ctx, r)
			if err == nil {
				change(s, r, &result)
			}
			return result, err
		}
	}
}

func afterDelete(change func(s *twisted, r convmem.DeleteRequest, result *convmem.DeleteResult)) func(*twisted) {
	return func(s *twisted) {
		s.delete = func(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
			result, err := s.Model.Delete(ctx, r)
			if err == nil {
				change(s, r, &result)
			}
			return result, err
		}
	}
}

func afterRebuild(change func(s *twisted, result *convmem.RebuildResult)) func(*twisted) {
	return func(s *twisted) {
		s.rebuild = func(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
			result, err := s.Model.Rebuild(ctx, r)
			if err == nil {
				change(s, &result)
			}
			return result, err
		}
	}
}

func afterHealth(change func(s *twisted, h *convmem.HealthResult)) func(*twisted) {
	return func(s *twisted) {
		s.health = func(ctx context.Context, r convmem.HealthRequest) (convmem.HealthResult, error) {
			result, err := s.Model.Health(ctx, r)
			if err == nil {
				change(s, &result)
			}
			return result, err
		}
	}
}

// recorder is a testing.TB that notes failures instead of reporting them.
type recorder struct {
	testing.TB
	mu  sync.Mutex
	log []string
}

func (r *recorder) record(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, text)
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.log) > 0
}

func (r *recorder) Helper()                   {}
func (r *recorder) Log(...any)                {}
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Fail()                     { r.record("failed") }
func (r *recorder) FailNow()                  { r.Fail(); runtime.Goexit() }
func (r *recorder) Error(args ...any)         { r.record(fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.record(fmt.Sprintf(f, a...)) }
func (r *recorder) Fatal(args ...any)         { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); runtime.Goexit() }

// watch runs part of the suite under a recorder, in a goroutine of its own that
// a fatal failure may end, and returns the recorder.
func watch(t *testing.T, part func(testing.TB)) *recorder {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		part(r)
	}()
	<-done
	return r
}

func mutants() []mutant {
	return slices.Concat(changeMutants(), readMutants(), searchMutants(), payloadMutants(), batchMutants(), deleteSessionMutants())
}

// TestMutants proves that the suite can fail: every fault is noticed by the
// check that is there for it, and every check notices at least one.
func TestMutants(t *testing.T) {
	withoutRaceDetector(t)
	byName := map[string]check{}
	for _, c := range checks() {
		byName[c.name] = c
	}
	catches := map[string]int{}
	for _, m := range mutants() {
		t.Run(m.caught+"/"+m.name, func(t *testing.T) {
			c, ok := byName[m.caught]
			if !ok {
				t.Fatalf("there is no check %q", m.caught)
			}
			r := watch(t, func(tb testing.TB) { c.run(&kit{TB: tb, factory: twistedFactory(m.twist)}) })
			if !r.Failed() {
				t.Fatalf("check %q does not notice", m.caught)
			}
			t.Logf("%.300s", strings.Join(r.log, "\n"))
			catches[m.caught]++
		})
	}
	for name := range byName {
		if catches[name] == 0 {
			t.Errorf("no mutant shows that check %q can fail", name)
		}
	}
	t.Logf("%d mutants, %d checks", len(mutants()), len(byName))
}

// quietly sets flags of package rapid for one test: no search for the shortest
// sequence and no file, for failures that are expected.
func quietly(t *testing.T) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s", "rapid.checks": "2000"} {
		before := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { flag.Set(name, before) })
	}
}

// TestMutantsRandom proves the same of random sequences, for faults that the
// suite could have missed by its choice of examples.
func TestMutantsRandom(t *testing.T) {
	withoutRaceDetector(t)
	quietly(t)
	for _, m := range mutants() {
		if !strings.HasPrefix(m.name, "random: ") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			r := watch(t, func(tb testing.TB) { runRandom(tb, twistedFactory(m.twist)) })
			if !r.Failed() {
				t.Fatal("no random sequence notices")
			}
			t.Logf("%.300s", strings.Join(r.log, "\n"))
		})
	}
}
