package openaiagents_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/openaiagents"
	"example.com/convmem/store/storetest"
	"github.com/nlpodyssey/openai-agents-go/memory"
	"github.com/openai/openai-go/v2/packages/param"
	"github.com/openai/openai-go/v2/responses"
)

type item = memory.TResponseInputItem

func open(t testing.TB, dir string) *convmem.DB {
	t.Helper()
	db, err := convmem.Open(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// onBoth runs a test on a store on disk, one in memory and a namespace.
func onBoth(t *testing.T, test func(*testing.T, openaiagents.Store)) {
	t.Run("disk", func(t *testing.T) { test(t, open(t, t.TempDir())) })
	t.Run("memory", func(t *testing.T) { test(t, storetest.Open(t)) })
	t.Run("namespace", func(t *testing.T) { test(t, storetest.Open(t).Namespace("tenant")) })
}

func user(text string) item {
	return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
}

func raw(text string) item { return param.Override[item](json.RawMessage(text)) }

func raws(texts ...string) []item {
	var items []item
	for _, text := range texts {
		items = append(items, raw(text))
	}
	return items
}

func texts(items []item) []string {
	var texts []string
	for _, i := range items {
		data, err := i.MarshalJSON()
		if err != nil {
			texts = append(texts, err.Error())
		}
		texts = append(texts, string(data))
	}
	return texts
}

func get(t testing.TB, s *openaiagents.Session, limit int) []string {
	t.Helper()
	items, err := s.GetItems(context.Background(), limit)
	if err != nil {
		t.Fatal(err)
	}
	return texts(items)
}

func add(t testing.TB, s *openaiagents.Session, items ...item) {
	t.Helper()
	if err := s.AddItems(context.Background(), items); err != nil {
		t.Fatal(err)
	}
}

// pop returns the JSON of what is popped, "" when there is nothing.
func pop(t testing.TB, s *openaiagents.Session) string {
	t.Helper()
	popped, err := s.PopItem(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if popped == nil {
		return ""
	}
	return texts([]item{*popped})[0]
}

func history(t testing.TB, s convmem.Store, session string) []convmem.Message {
	t.Helper()
	page, err := convmem.History(context.Background(), s, convmem.HistoryRequest{SessionID: session, Limit: convmem.MaxReadLimit})
	if err != nil {
		t.Fatal(err)
	}
	return page.Messages
}

// failsWith checks that an error is the store's, in spite of the wrapping.
func failsWith(t testing.TB, err error, code convmem.Code) *convmem.Error {
	t.Helper()
	var e *convmem.Error
	if !errors.As(err, &e) || convmem.CodeOf(err) != code {
		t.Fatalf("%v, want %s", err, code)
	}
	return e
}

// hooked is a store that calls hook before each call and fails where it fails; after
// is called behind the call, with the same name.
type hooked struct {
	openaiagents.Store
	before, after func(call string) error
}

func around[R, V any](h *hooked, call string, ctx context.Context, r R, do func(context.Context, R) (V, error)) (V, error) {
	var none V
	if h.before != nil {
		if err := h.before(call); err != nil {
			return none, err
		}
	}
	result, err := do(ctx, r)
	if h.after != nil && err == nil {
		if err := h.after(call); err != nil {
			return none, err
		}
	}
	return result, err
}

func (h *hooked) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return around(h, "read", ctx, r, h.Store.Read)
}

func (h *hooked) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	return around(h, "update", ctx, r, h.Store.Update)
}

func (h *hooked) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return around(h, "delete", ctx, r, h.Store.Delete)
}

func (h *hooked) WriteBatch(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
	return around(h, "write batch", ctx, r, h.Store.WriteBatch)
}

func (h *hooked) DeleteSession(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
	return around(h, "delete session", ctx, r, h.Store.DeleteSession)
}
