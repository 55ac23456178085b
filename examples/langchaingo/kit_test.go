package langchaingo_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/langchaingo"
	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"
)

var ctx = context.Background()

var errNoNetwork = errors.New("no network in tests")

type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNoNetwork }

// TestMain keeps the framework's token counter from loading its vocabulary: without
// it the counter takes four characters for a token, and says so in the log.
func TestMain(m *testing.M) {
	if dir := os.Getenv(replacerVariable); dir != "" {
		log.Print(replaceForever(dir))
		os.Exit(replacerFailed)
	}
	os.Exit(func() int {
		cache, err := os.MkdirTemp("", "no-vocabulary-")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(cache)
		os.Setenv("TIKTOKEN_CACHE_DIR", cache)
		http.DefaultTransport = noNetwork{}
		log.SetOutput(io.Discard)
		return m.Run()
	}())
}

func ok(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// fails checks the code, that convmem's own error can be got at, and the text.
func fails(t testing.TB, what string, err error, code convmem.Code, parts ...string) {
	t.Helper()
	var e *convmem.Error
	if !errors.As(err, &e) || convmem.CodeOf(err) != code || !errors.Is(err, &convmem.Error{Code: code}) {
		t.Fatalf("%s: got %v, want %s", what, err, code)
	}
	for _, part := range append(parts, "langchaingo: ") {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("%s: the error does not say %q: %v", what, part, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Fatalf("%s: the error holds text of a message: %v", what, err)
	}
}

func open(t testing.TB, dir string) *convmem.DB {
	t.Helper()
	db, err := convmem.Open(ctx, dir, nil)
	ok(t, "open", err)
	t.Cleanup(func() { db.Close() })
	return db
}

func messages(t testing.TB, h *langchaingo.History) []llms.ChatMessage {
	t.Helper()
	all, err := h.Messages(ctx)
	ok(t, "messages", err)
	return all
}

// texts are the contents of a history.
func texts(t testing.TB, h *langchaingo.History) string {
	t.Helper()
	var all []string
	for _, m := range messages(t, h) {
		all = append(all, m.GetContent())
	}
	return strings.Join(all, " ")
}

// humans is a list of human messages, one for each word.
func humans(words string) []llms.ChatMessage {
	list := []llms.ChatMessage{}
	for _, word := range strings.Fields(words) {
		list = append(list, llms.HumanChatMessage{Content: word})
	}
	return list
}

// raw are the messages of a session as the store has them.
func raw(t testing.TB, s convmem.Store, session string) []convmem.Message {
	t.Helper()
	var all []convmem.Message
	for m, err := range convmem.AllMessages(ctx, s, convmem.HistoryRequest{SessionID: session}) {
		ok(t, "read", err)
		all = append(all, m)
	}
	return all
}

// calls is a store that counts its changes and reads, and that can fail one, or do
// something before one.
type calls struct {
	langchaingo.Store
	reads, writes, batches, updates, deletes, clears atomic.Int64
	// before is asked before each call, which fails where it returns an error.
	before func(method string) error
}

func (c *calls) changes() int64 {
	return c.writes.Load() + c.batches.Load() + c.updates.Load() + c.deletes.Load() + c.clears.Load()
}

func (c *calls) count(n *atomic.Int64, method string) error {
	n.Add(1)
	if c.before == nil {
		return nil
	}
	return c.before(method)
}

func counted[Request, Result any](
	ctx context.Context, c *calls, n *atomic.Int64, method string, r Request, call func(context.Context, Request) (Result, error),
) (result Result, err error) {
	if err := c.count(n, method); err != nil {
		return result, err
	}
	return call(ctx, r)
}

func (c *calls) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return counted(ctx, c, &c.reads, "read", r, c.Store.Read)
}

func (c *calls) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	return counted(ctx, c, &c.writes, "write", r, c.Store.Write)
}

func (c *calls) WriteBatch(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
	return counted(ctx, c, &c.batches, "batch", r, c.Store.WriteBatch)
}

func (c *calls) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	return counted(ctx, c, &c.updates, "update", r, c.Store.Update)
}

func (c *calls) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return counted(ctx, c, &c.deletes, "delete", r, c.Store.Delete)
}

func (c *calls) DeleteSession(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
	return counted(ctx, c, &c.clears, "clear", r, c.Store.DeleteSession)
}

// errDisk is what a failing store fails with.
var errDisk = errors.New("the disk is gone")

// failFrom makes every call from the n-th on fail, as if the process had died
// there; failAt the n-th alone.
func (c *calls) failFrom(n int) { c.failWhen(func(call int) bool { return call >= n }) }
func (c *calls) failAt(n int)   { c.failWhen(func(call int) bool { return call == n }) }

func (c *calls) failWhen(fails func(call int) bool) {
	call := 0
	c.before = func(method string) error {
		call++
		if fails(call) {
			return &convmem.Error{Op: method, Code: convmem.CodeIO, Message: "failed", Err: errDisk}
		}
		return nil
	}
}
