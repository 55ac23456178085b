package mcpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/convmem/store/storetest"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// A web page that has rebound its name learns nothing, whatever it sends.
func TestForeignNameWithAnyBody(t *testing.T) {
	server := httptest.NewServer(Handler(storetest.Open(t), nil))
	defer server.Close()
	for name, body := range map[string]string{
		"no JSON":           `x`,
		"an unknown method": `{"jsonrpc":"2.0","id":1,"method":"nope"}`,
		"too long":          strings.Repeat("x", DefaultMaxBodyBytes+1),
		"a call":            `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "rebound.example"
			r.Header.Set("Content-Type", "application/json")
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusForbidden {
				t.Errorf("status %d, want 403", response.StatusCode)
			}
		})
	}
}

func TestMetadataURLIsEscaped(t *testing.T) {
	o := &HTTPOptions{ResourceMetadata: &oauthex.ProtectedResourceMetadata{Resource: "https://h.example/a%20b/c%2Fd"}}
	got, err := o.metadataURL()
	if want := "https://h.example" + wellKnown + "/a%20b/c%2Fd"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestTrustedOriginsAreCopied(t *testing.T) {
	origins := []string{"https://app.example"}
	handler := Handler(storetest.Open(t), &HTTPOptions{TrustedOrigins: origins})
	origins[0] = "https://evil.example"
	r := httptest.NewRequest(http.MethodOptions, "/", nil)
	r.Header.Set("Origin", "https://evil.example")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if got := w.Header().Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("%q is allowed, which was put in later", got)
	}
}
