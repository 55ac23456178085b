package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A script that is piped in is read only as fast as it is answered.
func TestUnansweredCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var script strings.Builder
		for i := range maxUnanswered + 1 {
			fmt.Fprintf(&script, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i)
		}
		s := newStdio(context.Background(), slog.New(slog.DiscardHandler), new(bytes.Buffer), standardPatience)
		go s.receive(newFrames(strings.NewReader(script.String())))
		var read atomic.Int32
		ended := make(chan error, 1)
		ids := make(chan jsonrpc.ID, maxUnanswered+1)
		go func() {
			for {
				m, err := s.Read(context.Background())
				if err != nil {
					ended <- err
					return
				}
				read.Add(1)
				ids <- m.(*jsonrpc.Request).ID
			}
		}()
		synctest.Wait()
		if read.Load() != maxUnanswered {
			t.Errorf("%d calls were read, want %d before an answer", read.Load(), maxUnanswered)
		}
		for range maxUnanswered + 1 {
			if err := s.Write(context.Background(), &jsonrpc.Response{ID: <-ids, Result: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; err != io.EOF || read.Load() != maxUnanswered+1 {
			t.Errorf("%d calls were read, and then %v, want %d and io.EOF", read.Load(), err, maxUnanswered+1)
		}
	})
}
