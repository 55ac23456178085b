package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

// neighbourSessions and neighbourKeys are names that the suite and the random
// sequences use themselves.
var (
	neighbourSessions = []string{"s", "other", "kept", "gone", "a", "b", "session 1", "session 2"}
	neighbourKeys     = []string{"", "key", "key 1", "used"}
)

// populate gives a store messages under the names and keys that others use, with
// the words that they look for. They say something else: a replay would be seen.
func populate(t testing.TB, s *convmem.Namespace) {
	var batch convmem.WriteBatchRequest
	for _, session := range neighbourSessions {
		for _, key := range neighbourKeys {
			r := convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: "quartz topaz obsidian granite of a neighbour", IdempotencyKey: key}
			r.Metadata.Tags = []string{"stone", "tag1", "red"}
			r.Payload = convmem.Payload{Type: "neighbour", Data: []byte("data")}
			batch.Messages = append(batch.Messages, r)
		}
	}
	result, err := s.WriteBatch(context.Background(), batch)
	if err != nil {
		t.Fatalf("write by a neighbour: %v", err)
	}
	first := []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: result.Results[0].Message.ID}}
	r := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "marker", Metadata: convmem.MetadataPatch{Relations: first}}
	if _, err := s.Write(context.Background(), r); err != nil {
		t.Fatalf("write by a neighbour: %v", err)
	}
}

// portrait is what a neighbour sees of itself.
func portrait(t testing.TB, s convmem.Store) (seen []any) {
	ctx := context.Background()
	keep := func(result any, err error) {
		if err != nil {
			t.Errorf("a neighbour: %v", err)
		}
		seen = append(seen, result)
	}
	for _, session := range neighbourSessions {
		keep(convmem.History(ctx, s, convmem.HistoryRequest{SessionID: session}))
	}
	sessions, err := convmem.Sessions(ctx, s, convmem.SessionsRequest{})
	sessions.NextCursor = ""
	keep(sessions, err)
	keep(s.Search(ctx, convmem.SearchRequest{Query: "quartz granite", Limit: 100}))
	return seen
}

// views returns a factory of views of one namespace of a store in memory, in which
// two others hold data. What those see must not change by whatever is done in the
// view, restarts and rebuilds included.
func views(name string, neighbours ...string) storetest.Factory {
	return func(t testing.TB, c storetest.Config) storetest.Subject {
		options := &convmem.Options{FS: vfs.NewMem(0), Now: c.Now}
		var db *convmem.DB
		open := func() convmem.Store {
			if db != nil {
				if err := db.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
			var err error
			if db, err = convmem.Open(context.Background(), "", options); err != nil {
				t.Fatalf("open: %v", err)
			}
			return db.Namespace(name)
		}
		view := open()
		before := map[string][]any{}
		for _, neighbour := range neighbours {
			populate(t, db.Namespace(neighbour))
			before[neighbour] = portrait(t, db.Namespace(neighbour))
		}
		t.Cleanup(func() {
			for _, neighbour := range neighbours {
				if after := portrait(t, db.Namespace(neighbour)); !reflect.DeepEqual(after, before[neighbour]) {
					t.Errorf("namespace %q has changed (-before +after):\n%s", neighbour, cmp.Diff(before[neighbour], after))
				}
			}
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return storetest.Subject{Store: view, Reopen: open}
	}
}

// The suite passes through a view beside neighbours, and through the DB itself
// when namespaces are beside it.
func TestNamespace(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	storetest.Run(t, views("tenant", "", "neighbour"))
}
func TestNamespaceBeside(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	storetest.Run(t, views("", "tenant", "neighbour"))
}
func TestNamespaceRandom(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	storetest.RunRandom(t, views("tenant", "", "t"))
}
func TestNamespaceBesideRandom(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	storetest.RunRandom(t, views("", "tenant"))
}

// batcher is a Store whose writes are batches of one.
type batcher struct{ *convmem.DB }

func (b batcher) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	result, err := b.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: []convmem.WriteRequest{r}})
	if err != nil {
		return convmem.WriteResult{}, ofWrite(err)
	}
	if len(result.Results) != 1 {
		return convmem.WriteResult{}, fmt.Errorf("%d results for one message", len(result.Results))
	}
	return result.Results[0], nil
}

// ofWrite names what an error of the batch is about as a write does.
func ofWrite(err error) error {
	var fault *convmem.Error
	if !errors.As(err, &fault) {
		return err
	}
	named := *fault
	named.Op, named.Field = "write", strings.TrimPrefix(named.Field, "messages[0].")
	return &named
}

func batchers(t testing.TB, c storetest.Config) storetest.Subject {
	inner := databases(inMemory)(t, c)
	return storetest.Subject{
		Store:  batcher{inner.Store.(*convmem.DB)},
		Reopen: func() convmem.Store { return batcher{inner.Reopen().(*convmem.DB)} },
	}
}

func TestBatchOfOne(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	storetest.Run(t, batchers)
}
func TestBatchOfOneRandom(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	storetest.RunRandom(t, batchers)
}
