package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// site is an HTTP server under test.
type site struct {
	testing.TB
	url string
}

func newSite(t testing.TB, h http.Handler) site {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		if t.Failed() {
			go server.Close() // a call may be without end
			return
		}
		server.Close()
	})
	return site{t, server.URL}
}

// response is what the server answered. reply is its body, if that is JSON-RPC.
type response struct {
	status int
	header http.Header
	body   string
	reply  reply
}

// post sends a JSON-RPC message as a host does. header holds names and values in
// turn; the value "" leaves out one that is sent otherwise.
func (s site) post(body string, header ...string) response {
	s.Helper()
	return s.do(http.MethodPost, strings.NewReader(body), header...)
}

func (s site) do(method string, body io.Reader, header ...string) response {
	s.Helper()
	r, err := http.NewRequest(method, s.url, body)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		switch name, value := header[i], header[i+1]; {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	got := response{status: answer.StatusCode, header: answer.Header, body: string(text)}
	_ = json.Unmarshal(text, &got.reply)
	return got
}

// call calls a tool in a dialect.
func (s site) call(d dialect, tool, args string, header ...string) response {
	s.Helper()
	header = append([]string{"Mcp-Protocol-Version", d.name, "Mcp-Method", "tools/call", "Mcp-Name", tool}, header...)
	return s.post(d.call(1, tool, args), header...)
}

// logBuffer collects what is logged, from many goroutines.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// question is a call that any server answers, in some dialect.
func question(d dialect) (body string, header []string) {
	return d.call(1, "search_messages", searching), []string{"Mcp-Protocol-Version", d.name, "Mcp-Method", "tools/call", "Mcp-Name", "search_messages"}
}

// TestWhoMayAsk sends one question from everywhere.
func TestWhoMayAsk(t *testing.T) {
	trusting := &HTTPOptions{TrustedOrigins: []string{"https://app.example"}}
	behindProxy := &HTTPOptions{DisableLocalhostProtection: true, TrustedOrigins: []string{"https://app.example"}}
	for _, c := range []struct {
		name   string
		o      *HTTPOptions
		header []string
		status int
	}{
		{"a program", nil, nil, 200},
		{"localhost", nil, []string{"Host", "localhost:1"}, 200},
		{"IPv6", nil, []string{"Host", "[::1]:1"}, 200},
		{"a name that was rebound", nil, []string{"Host", "evil.example"}, 403},
		{"a name that was rebound, from its own page", nil, []string{"Host", "evil.example", "Origin", "http://evil.example", "Sec-Fetch-Site", "same-origin"}, 403},
		{"a name like localhost", nil, []string{"Host", "localhost.evil.example"}, 403},
		{"an address like a loopback one", nil, []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"a proxy, protected", trusting, []string{"Host", "memory.example"}, 403},
		{"a proxy", behindProxy, []string{"Host", "memory.example"}, 200},
		{"a proxy, a page of its own", behindProxy, []string{"Host", "memory.example", "Origin", "https://memory.example", "Sec-Fetch-Site", "same-origin"}, 200},
		{"a proxy, another page", behindProxy, []string{"Host", "memory.example", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"another page", nil, []string{"Origin", "https://evil.example"}, 403},
		{"another page, an old browser", nil, []string{"Origin", "http://localhost.evil.example"}, 403},
		{"another page of the machine", nil, []string{"Origin", "http://localhost:9"}, 403},
		{"a file", nil, []string{"Origin", "null"}, 403},
		{"cross site", nil, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"same site", nil, []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"same origin", nil, []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"the address bar", nil, []string{"Sec-Fetch-Site", "none"}, 200},
		{"a trusted page", trusting, []string{"Origin", "https://app.example", "Sec-Fetch-Site", "cross-site"}, 200},
		{"a trusted page by http", trusting, []string{"Origin", "http://app.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"a trusted page on another port", trusting, []string{"Origin", "https://app.example:8443"}, 403},
		{"a page like a trusted one", trusting, []string{"Origin", "https://app.example.evil.example"}, 403},
		{"a page that is not trusted", trusting, []string{"Origin", "https://evil.example"}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &fake{}
			s := newSite(t, Handler(store, c.o))
			for _, d := range dialects {
				body, header := question(d)
				r := s.post(body, append(header, c.header...)...)
				asked := store.request != nil
				if r.status != c.status || (r.reply.text() == `{"results":[]}`) != (c.status == 200) || asked != (c.status == 200) {
					t.Errorf("%s: status %d, want %d, the store was asked: %t, %s", d.name, r.status, c.status, asked, r.body)
				}
				origin := r.header.Get("Access-Control-Allow-Origin")
				if trusted := origin == "https://app.example"; origin != "" && !trusted || trusted != (strings.HasPrefix(c.name, "a trusted page") && c.status == 200) {
					t.Errorf("%s: the page of %q may read the answer", d.name, origin)
				}
				if !strings.Contains(strings.Join(r.header.Values("Vary"), ","), "Origin") || r.header.Get("X-Request-Id") == "" {
					t.Errorf("%s: header %v", d.name, r.header)
				}
			}
		})
	}
}

// TestPreflight asks as a browser does before a page of another origin may call.
func TestPreflight(t *testing.T) {
	o := &HTTPOptions{TrustedOrigins: []string{"https://app.example", "http://localhost:5173"}, Tokens: map[string]string{"token": ""}}
	s := newSite(t, Handler(&fake{}, o))
	const wanted = "authorization,content-type,mcp-protocol-version"
	for origin, allowed := range map[string]bool{
		"https://app.example": true, "http://localhost:5173": true,
		"https://evil.example": false, "http://app.example": false, "null": false, "": false, "*": false, "https://APP.example": false,
	} {
		r := s.do(http.MethodOptions, nil, "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", wanted)
		if !allowed {
			if r.status < 400 || r.header.Get("Access-Control-Allow-Origin") != "" || r.header.Get("Access-Control-Allow-Headers") != "" {
				t.Errorf("%q: status %d, %v", origin, r.status, r.header)
			}
			continue
		}
		if r.status != 204 || r.body != "" || r.header.Get("Access-Control-Allow-Origin") != origin || r.header.Get("Access-Control-Allow-Headers") != wanted ||
			!strings.Contains(r.header.Get("Access-Control-Allow-Methods"), "POST") || r.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%q: status %d, %v", origin, r.status, r.header)
		}
		body, header := question(dialects[0])
		refused := s.post(body, append(header, "Origin", origin, "Sec-Fetch-Site", "cross-site")...)
		if exposed := refused.header.Get("Access-Control-Expose-Headers"); refused.status != 401 || refused.header.Get("Access-Control-Allow-Origin") != origin ||
			!strings.Contains(exposed, "WWW-Authenticate") || !strings.Contains(exposed, "X-Request-Id") {
			t.Errorf("%q without a token: status %d, %v", origin, refused.status, refused.header)
		}
	}
}

var metadata9728 = &oauthex.ProtectedResourceMetadata{
	Resource: "https://memory.example/mcp", AuthorizationServers: []string{"https://login.example"}, ScopesSupported: []string{"memory"},
}

const metadataAddress = "https://memory.example/.well-known/oauth-protected-resource/mcp"

// verifier accepts tokens by their names.
func verifier(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	switch token {
	case "good":
		return &auth.TokenInfo{UserID: "ann", Expiration: time.Now().Add(time.Hour)}, nil
	case "expired":
		return &auth.TokenInfo{UserID: "ann", Expiration: time.Unix(1, 0)}, nil
	case "endless":
		return &auth.TokenInfo{UserID: "ann"}, nil
	case "wrong":
		return nil, fmt.Errorf("%s: %w", secret, auth.ErrInvalidToken)
	case "odd":
		return nil, fmt.Errorf("%s: %w", secret, auth.ErrOAuth)
	case "nothing":
		return nil, nil
	case "cancelled":
		return nil, context.Canceled
	}
	return nil, leaky()
}

// TestTokens asks with every sort of token.
func TestTokens(t *testing.T) {
	static := HTTPOptions{Tokens: map[string]string{"good": "ann", "~!#$%&'*+-.^_`|": "ben"}}
	verified := HTTPOptions{Verifier: verifier}
	for _, c := range []struct {
		name          string
		o             HTTPOptions
		authorization string
		status        int
	}{
		{"a good token", static, "Bearer good", 200},
		{"another", static, "bearer ~!#$%&'*+-.^_`|", 200},
		{"none", static, "", 401},
		{"a wrong one", static, "Bearer bad", 401},
		{"the start of a good one", static, "Bearer goo", 401},
		{"a good one and more", static, "Bearer good1", 401},
		{"in capitals", static, "Bearer GOOD", 401},
		{"two", static, "Bearer good good", 401},
		{"an empty one", static, "Bearer ", 401},
		{"another scheme", static, "Basic Z29vZDpnb29k", 401},
		{"no scheme", static, "good", 401},
		{"a user for a token", static, "Bearer ann", 401},
		{"verified", verified, "Bearer good", 200},
		{"verified, none", verified, "", 401},
		{"verified, wrong", verified, "Bearer wrong", 401},
		{"verified, expired", verified, "Bearer expired", 401},
		{"verified, without an end", verified, "Bearer endless", 401},
		{"verified, no OAuth", verified, "Bearer odd", 400},
		{"verified, no information", verified, "Bearer nothing", 500},
		{"the verifier fails", verified, "Bearer failing", 500},
		{"the verifier is cancelled", verified, "Bearer cancelled", 500},
	} {
		for _, described := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/described %t", c.name, described), func(t *testing.T) {
				store, o := &fake{}, c.o
				var log logBuffer
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				if described {
					o.ResourceMetadata = metadata9728
				}
				s := newSite(t, Handler(store, &o))
				body, header := question(dialects[1])
				r := s.post(body, append(header, "Authorization", c.authorization)...)
				if r.status != c.status || (store.request != nil) != (c.status == 200) || (r.reply.text() == `{"results":[]}`) != (c.status == 200) {
					t.Errorf("status %d, want %d: %s", r.status, c.status, r.body)
				}
				challenge := r.header.Get("WWW-Authenticate")
				switch {
				case c.status == 200 && challenge != "",
					c.status == 401 && !strings.HasPrefix(challenge, "Bearer"),
					c.status == 401 && described != strings.Contains(challenge, `resource_metadata="`+metadataAddress+`"`),
					len(r.header.Values("WWW-Authenticate")) > 1:
					t.Errorf("the challenge is %q", r.header.Values("WWW-Authenticate"))
				}
				for _, word := range []string{secret, "somebody", "mcpserver.", "good", "bad"} {
					if strings.Contains(r.body+challenge, word) {
						t.Errorf("the answer says %q: %s", word, r.body)
					}
				}
				if id := r.header.Get("X-Request-Id"); c.status >= 401 && c.status != 404 && !strings.Contains(log.String(), "request="+id) {
					t.Errorf("the log does not name request %s: %s", id, log.String())
				}
			})
		}
	}
}

// TestMetadata reads what tells clients where to get a token.
func TestMetadata(t *testing.T) {
	s := newSite(t, Handler(&fake{}, &HTTPOptions{Verifier: verifier, ResourceMetadata: metadata9728}))
	for path, described := range map[string]bool{
		"/.well-known/oauth-protected-resource": true, "/.well-known/oauth-protected-resource/mcp": true,
		"/.well-known/oauth-protected-resources": false, "/": false, "/mcp": false, "/.well-known/": false,
	} {
		at := site{t, s.url + path}
		r := at.do(http.MethodGet, nil, "Origin", "https://anywhere.example")
		var got oauthex.ProtectedResourceMetadata
		if !described {
			if r.status != 401 || strings.Contains(r.body, "login.example") {
				t.Errorf("%s: status %d: %s", path, r.status, r.body)
			}
			continue
		}
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != 200 || r.header.Get("Content-Type") != "application/json" || r.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: status %d, %v: %s", path, r.status, err, r.body)
		}
		if diff := cmp.Diff(metadata9728, &got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		body, header := question(dialects[0])
		if r := at.post(body, header...); r.status == 200 || r.reply.text() != "" {
			t.Errorf("%s answers calls: %s", path, r.body)
		}
	}
}

// TestContradictions makes handlers of options that cannot be meant.
func TestContradictions(t *testing.T) {
	model := newModel()
	find := func(context.Context) (convmem.Store, error) { return model, nil }
	tokens := map[string]string{"token": "ann"}
	described := func(resource string) *oauthex.ProtectedResourceMetadata {
		return &oauthex.ProtectedResourceMetadata{Resource: resource}
	}
	for _, c := range []struct {
		name  string
		store convmem.Store
		o     *HTTPOptions
		says  string
	}{
		{"no store, no options", nil, nil, "StoreFor"},
		{"no store", nil, &HTTPOptions{}, "StoreFor"},
		{"two stores", model, &HTTPOptions{StoreFor: find}, "StoreFor"},
		{"tokens and a verifier", model, &HTTPOptions{Tokens: tokens, Verifier: verifier}, "Verifier"},
		{"a list without tokens", model, &HTTPOptions{Tokens: map[string]string{}}, "Tokens"},
		{"an empty token", model, &HTTPOptions{Tokens: map[string]string{"": "ann"}}, "Tokens"},
		{"a token with a space", model, &HTTPOptions{Tokens: map[string]string{"secret token": "ann"}}, "Tokens"},
		{"a token that is no ASCII", model, &HTTPOptions{Tokens: map[string]string{"secrét": "ann"}}, "Tokens"},
		{"a token with a newline", model, &HTTPOptions{Tokens: map[string]string{"secret\n": "ann"}}, "Tokens"},
		{"metadata without tokens", model, &HTTPOptions{ResourceMetadata: metadata9728}, "ResourceMetadata"},
		{"metadata of nothing", model, &HTTPOptions{Tokens: tokens, ResourceMetadata: described("")}, "Resource"},
		{"metadata of a path", model, &HTTPOptions{Tokens: tokens, ResourceMetadata: described("/mcp")}, "Resource"},
		{"metadata of no URL", model, &HTTPOptions{Tokens: tokens, ResourceMetadata: described("https://[")}, "Resource"},
		{"an origin without a scheme", model, &HTTPOptions{TrustedOrigins: []string{"app.example"}}, "TrustedOrigins"},
		{"an origin with a path", model, &HTTPOptions{TrustedOrigins: []string{"https://app.example/"}}, "TrustedOrigins"},
		{"every origin", model, &HTTPOptions{TrustedOrigins: []string{"*"}}, "TrustedOrigins"},
		{"no tool", model, &HTTPOptions{Options: Options{Tools: []string{"no_such_tool"}}}, "no_such_tool"},
	} {
		cause := panicOf(func() { Handler(c.store, c.o) })
		if cause == nil || !strings.Contains(fmt.Sprint(cause), c.says) || strings.Contains(fmt.Sprint(cause), "secret") || strings.Contains(fmt.Sprint(cause), "nil pointer") {
			t.Errorf("%s: %v", c.name, cause)
		}
	}
}

// slowBody is a body of no known length: it is sent in chunks.
type slowBody struct{ io.Reader }
