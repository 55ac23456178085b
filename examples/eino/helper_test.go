package eino_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"example.com/convmem/store/storetest"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/google/go-cmp/cmp"
)

var (
	_ adk.CheckPointStore     = (*eino.CheckPoints)(nil)
	_ adk.CheckPointDeleter   = (*eino.CheckPoints)(nil)
	_ compose.CheckPointStore = (*eino.CheckPoints)(nil)
	_ eino.Store              = (*convmem.DB)(nil)
	_ eino.Store              = (*convmem.Namespace)(nil)
)

var ctx = context.Background()

// open opens a directory once more, as another process would.
func open(t *testing.T, dir string) *convmem.DB {
	t.Helper()
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// everywhere runs a test on each kind of store. The second store that the test gets
// is another way to the first: a second handle where there can be one.
func everywhere(t *testing.T, test func(t *testing.T, one, other eino.Store)) {
	t.Run("in memory", func(t *testing.T) {
		db := storetest.Open(t)
		test(t, db, db)
	})
	t.Run("on disk", func(t *testing.T) {
		dir := t.TempDir()
		test(t, open(t, dir), open(t, dir))
	})
	t.Run("namespace", func(t *testing.T) {
		dir := t.TempDir()
		test(t, open(t, dir).Namespace("agents"), open(t, dir).Namespace("agents"))
	})
}

// faulty is a store whose calls fail from the n-th on, for as many as it is told.
type faulty struct {
	eino.Store
	calls   atomic.Int64
	failAt  int64 // 0: never
	failFor int64
	onRead  func(call int64) // before each Read, if not nil
}

var errDisk = errors.New("the disk is on fire")

func (f *faulty) fails(op string) error {
	n := f.calls.Add(1)
	if f.failAt > 0 && n >= f.failAt && n < f.failAt+f.failFor {
		return &convmem.Error{Op: op, Code: convmem.CodeIO, Message: "injected", Err: errDisk}
	}
	return nil
}

func (f *faulty) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	if err := f.fails("read"); err != nil {
		return convmem.ReadResult{}, err
	}
	if f.onRead != nil {
		f.onRead(f.calls.Load())
	}
	return f.Store.Read(ctx, r)
}

func (f *faulty) WriteBatch(ctx context.Context, r convmem.WriteBatchRequest) (convmem.WriteBatchResult, error) {
	if err := f.fails("write batch"); err != nil {
		return convmem.WriteBatchResult{}, err
	}
	return f.Store.(convmem.BatchWriter).WriteBatch(ctx, r)
}

func (f *faulty) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	if err := f.fails("delete"); err != nil {
		return convmem.DeleteResult{}, err
	}
	return f.Store.Delete(ctx, r)
}

func (f *faulty) DeleteSession(ctx context.Context, r convmem.DeleteSessionRequest) (convmem.DeleteSessionResult, error) {
	if err := f.fails("delete session"); err != nil {
		return convmem.DeleteSessionResult{}, err
	}
	return f.Store.DeleteSession(ctx, r)
}

func (f *faulty) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	if err := f.fails("search"); err != nil {
		return convmem.SearchResult{}, err
	}
	return f.Store.Search(ctx, r)
}

// injected checks that an error is the injected one, still recognisable.
func injected(t *testing.T, err error) {
	t.Helper()
	var coded *convmem.Error
	if !errors.Is(err, errDisk) || !errors.Is(err, convmem.ErrIO) || !errors.As(err, &coded) || convmem.CodeOf(err) != convmem.CodeIO {
		t.Errorf("the cause is lost in %v", err)
	}
}

// stored returns the messages of a session as convmem has them.
func stored(t *testing.T, s convmem.Store, session string) []convmem.Message {
	t.Helper()
	var all []convmem.Message
	for message, err := range convmem.AllMessages(ctx, s, convmem.HistoryRequest{SessionID: session}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, message)
	}
	return all
}

// say writes a message as another program would.
func say(t *testing.T, s convmem.Store, r convmem.WriteRequest) convmem.Message {
	t.Helper()
	result, err := s.Write(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return result.Message
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	everything := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(want, got, everything); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// must fails the test at once.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused checks that an error has a code and begins as all of ours do.
func refused(t *testing.T, err error, code convmem.Code, says ...string) {
	t.Helper()
	if convmem.CodeOf(err) != code {
		t.Errorf("error %v, want %s", err, code)
		return
	}
	var coded *convmem.Error
	if !errors.As(err, &coded) {
		t.Errorf("%v is not of convmem", err)
	}
	for _, part := range append(says, "eino: ") {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}
