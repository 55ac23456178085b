package mcpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/convmem/store/storetest"
)

func TestNotificationsAreAccepted(t *testing.T) {
	handler := Handler(storetest.Open(t), nil)
	for _, method := range []string{"notifications/initialized", "notifications/whatever", "tools/call"} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"jsonrpc":"2.0","method":"`+method+`","params":{"name":"rebuild_index"}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusAccepted || w.Body.Len() > 0 {
			t.Errorf("%s: status %d, %s", method, w.Code, w.Body)
		}
	}
}
