package mcpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Of many large bodies few are looked at at once; small ones do not wait.
func TestLargeBodiesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var entered atomic.Int32
		release := make(chan struct{})
		h := &receiver{limit: DefaultMaxBodyBytes, large: make(chan struct{}, 4), next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			entered.Add(1)
			<-release
		})}
		var all sync.WaitGroup
		send := func(size int) {
			body := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", size) + `"}}`
			all.Go(func() {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
			})
		}
		for range 10 {
			send(largeBody)
		}
		synctest.Wait()
		if entered.Load() != 4 {
			t.Errorf("%d large bodies were taken up, want 4", entered.Load())
		}
		send(1)
		synctest.Wait()
		if entered.Load() != 5 {
			t.Errorf("%d bodies were taken up, want 5", entered.Load())
		}
		close(release)
		all.Wait()
	})
}
