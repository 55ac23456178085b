package mcpserver

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file that only -update writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// fake is a Store that remembers the last request and answers what it was
// given.
type fake struct {
	request any
	fail    func(context.Context) error // nil: no failure

	write   convmem.WriteResult
	update  convmem.UpdateResult
	read    convmem.ReadResult
	search  convmem.SearchResult
	delete  convmem.DeleteResult
	rebuild convmem.RebuildResult
	health  convmem.HealthResult
}

func answer[Result any](ctx context.Context, f *fake, request any, result Result) (Result, error) {
	f.request = request
	if f.fail != nil {
		if err := f.fail(ctx); err != nil {
			var none Result
			return none, err
		}
	}
	return result, nil
}

func (f *fake) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	return answer(ctx, f, r, f.write)
}

func (f *fake) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	return answer(ctx, f, r, f.update)
}

func (f *fake) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return answer(ctx, f, r, f.read)
}

func (f *fake) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	return answer(ctx, f, r, f.search)
}

func (f *fake) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return answer(ctx, f, r, f.delete)
}

func (f *fake) Rebuild(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
	return answer(ctx, f, r, f.rebuild)
}

func (f *fake) Health(ctx context.Context, r convmem.HealthRequest) (convmem.HealthResult, error) {
	return answer(ctx, f, r, f.health)
}

// failing is a Store of which every call ends with err.
func failing(err error) *fake { return &fake{fail: func(context.Context) error { return err }} }

const (
	idA = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	idB = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
)

// plainMessage has nothing that may be left out.
func plainMessage() convmem.Message {
	at := time.UnixMilli(1720843200000)
	return convmem.Message{
		ID: idA, SessionID: "conversation-1", Timestamp: at, Role: convmem.RoleUser, Content: "Remember this", Revision: 1, UpdatedAt: at,
		Metadata: convmem.Metadata{Tier: convmem.TierShort, Kind: convmem.KindConversation, Importance: 50},
	}
}

// fullMessage has everything.
func fullMessage() convmem.Message {
	m := plainMessage()
	m.Content, m.ContentTruncated, m.ContentBytes = "<b> & \"q\" \\ \u2028\u2029 漢 \x00\x7f", true, 4711
	m.Metadata = convmem.Metadata{
		ToolCallID: "call-1", Tags: []string{"project"}, Tier: convmem.TierLong, Kind: convmem.KindSemantic, Importance: 0, Summary: "why",
		Relations:        []convmem.Relation{{Type: convmem.RelationDerivedFrom, MessageID: idB}},
		SourceMessageIDs: []string{idB}, OccurredAt: time.UnixMilli(0),
	}
	return m
}

// call runs a tool and returns what every result must have: one text that is
// JSON, an error exactly when its status says so.
func call(t testing.TB, store convmem.Store, o *Options, tool, args string) string {
	t.Helper()
	return check(t, Call(context.Background(), store, o, tool, json.RawMessage(args)))
}

func mustCaller(t testing.TB, store convmem.Store, o *Options) caller {
	t.Helper()
	c, err := newCaller(oneStore(store), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
