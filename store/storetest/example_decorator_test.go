package storetest_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
)

// logged is a Store that says what its changes were and how they ended, and nothing
// of what they said. Methods that it does not mention are those of the Store within.
type logged struct {
	convmem.Store
	log *slog.Logger
}

func (l logged) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	result, err := l.Store.Write(ctx, r)
	l.log.Info("write", "bytes", len(r.Content), "replayed", result.Replayed, "code", convmem.CodeOf(err))
	return result, err
}

func (l logged) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	result, err := l.Store.Delete(ctx, r)
	l.log.Info("delete", "deleted", result.Deleted, "code", convmem.CodeOf(err))
	return result, err
}

// TestLogged is all that an author of a Store writes: the suite, and the same random
// sequences that the Model goes through.
func TestLogged(t *testing.T) {
	factory := func(_ testing.TB, c storetest.Config) storetest.Subject {
		return storetest.Subject{Store: logged{storetest.NewModel(c), slog.New(slog.DiscardHandler)}}
	}
	storetest.Run(t, factory)
	storetest.RunRandom(t, factory)
}

// A decorator embeds the Store within and keeps what it does not change. Run and
// RunRandom say whether it still is a Store.
func Example() {
	store := logged{
		storetest.NewModel(storetest.Config{Now: func() time.Time { return time.UnixMilli(0) }}),
		slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})),
	}
	ctx := context.Background()
	written, err := store.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "secret"})
	if err != nil {
		return
	}
	store.Delete(ctx, convmem.DeleteRequest{MessageID: written.Message.ID})
	store.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: "nobody", Content: "secret"})
	// Output:
	// level=INFO msg=write bytes=6 replayed=false code=""
	// level=INFO msg=delete deleted=true code=""
	// level=INFO msg=write bytes=6 replayed=false code=VALIDATION_ERROR
}
