package mcpserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/modelcontextprotocol/go-sdk/auth"
)

// A tenant whose store cannot be found for a long time does not stop others.
func TestSlowTenantStopsNobody(t *testing.T) {
	store, asked, release := storetest.Open(t), make(chan struct{}), make(chan struct{})
	handler := Handler(nil, &HTTPOptions{
		Options: Options{MaxConcurrentCalls: 1},
		Tokens:  map[string]string{"fast": "fast", "slow": "slow"},
		StoreFor: func(ctx context.Context) (convmem.Store, error) {
			if auth.TokenInfoFromContext(ctx).UserID == "slow" {
				asked <- struct{}{}
				<-release
			}
			return store, nil
		},
	})
	call := func(ctx context.Context, token string) string {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_system_health"}}`))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Body.String()
	}
	slow, fast := make(chan string, 1), make(chan string, 1)
	go func() { slow <- call(t.Context(), "slow") }()
	<-asked
	go func() { fast <- call(t.Context(), "fast") }()
	select {
	case answer := <-fast:
		if !strings.Contains(answer, `\"status\":\"OK\"`) {
			t.Error(answer)
		}
	case answer := <-slow:
		t.Fatal("answered although nobody let it: ", answer)
	}
	close(release)
	<-slow
}
