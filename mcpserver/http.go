package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler serves the tools over the Streamable HTTP transport of every protocol
// revision that the SDK speaks: each POST carries one JSON-RPC message and gets
// one JSON answer, and no session is kept between them. Results are the same as
// over stdio, byte for byte. It answers on every path.
//
// A body that is no message gets the JSON-RPC error that a line of stdio gets,
// with status 400, and one that is too long with status 413. Requests have no
// order: a client that waits for an answer before it sends the next request has
// it. A call goes on when its client is gone, because what it changes is wanted
// all the same.
//
// Every response carries X-Request-Id: that of the request, or a new one.
//
// The store stays the caller's: nothing here closes it. Handler panics over
// options that contradict each other.
func Handler(store convmem.Store, o *HTTPOptions) http.Handler {
	h, err := newHandler(store, o)
	if err != nil {
		panic(err)
	}
	return h
}

func newHandler(store convmem.Store, given *HTTPOptions) (http.Handler, error) {
	var o HTTPOptions
	if given != nil {
		o = *given
	}
	o.TrustedOrigins = slices.Clone(o.TrustedOrigins)
	o.Logger = numbered(loggerOf(&o.Options))
	find, problem := o.resolve(store)
	server, unknownTool := newServer(find, &o.Options)
	metadata, noURL := o.metadataURL()
	protection, noOrigin := o.protection()
	if err := errors.Join(o.check(), problem, unknownTool, noURL, noOrigin); err != nil {
		return nil, err
	}
	h := http.Handler(&receiver{limit: o.bodyLimit(), large: make(chan struct{}, maxLargeBodies), next: mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, Logger: quiet(o.Logger),
			DisableLocalhostProtection: true, // ownName looks before a body is read
			MaxRequestBodyBytes:        o.bodyLimit(),
		})})
	h = guard(h, &o, metadata)
	if !o.DisableLocalhostProtection {
		h = ownName(h)
	}
	h = allowOrigins(protection.Handler(h), o.TrustedOrigins)
	if o.ResourceMetadata != nil {
		h = describe(h, auth.ProtectedResourceMetadataHandler(o.ResourceMetadata))
	}
	return identify(h, o.Logger), nil
}

func (o *HTTPOptions) bodyLimit() int64 {
	if o.MaxBodyBytes > 0 {
		return o.MaxBodyBytes
	}
	return DefaultMaxBodyBytes
}

// receiver looks at bodies before the SDK does, which forgives less and repeats
// more of what it refuses.
type receiver struct {
	limit int64
	next  http.Handler
	large chan struct{} // has room for every large body that is looked at
}

const (
	// largeBody is the length from which bodies are looked at a few at a time,
	// because looking at one takes several times its length.
	largeBody      = 256 << 10
	maxLargeBodies = 4
)

func (h *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		h.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.limit))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		answerRefusal(w, http.StatusRequestEntityTooLarge, refuse(nil, jsonrpc.CodeInvalidRequest, "invalid request: the body is longer than this server takes"))
		return
	}
	if err != nil {
		answerRefusal(w, http.StatusBadRequest, refuse(nil, jsonrpc.CodeParseError, "parse error: the body broke off"))
		return
	}
	if len(body) >= largeBody {
		select {
		case h.large <- struct{}{}:
			defer func() { <-h.large }()
		case <-r.Context().Done():
			return
		}
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte(byteOrderMark)))
	message, refusal := decodeFrame(body)
	if refusal != nil {
		answerRefusal(w, statusOf(refusal), refusal)
		return
	}
	if notice, ok := message.(*jsonrpc.Request); ok && !notice.IsCall() && !notifications[notice.Method] {
		w.WriteHeader(http.StatusAccepted) // as over stdio: what nobody knows is ignored
		return
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	h.next.ServeHTTP(w, r)
}

// notifications are those that the SDK knows. It refuses others over HTTP.
var notifications = map[string]bool{
	"notifications/initialized": true, "notifications/cancelled": true,
	"notifications/progress": true, "notifications/roots/list_changed": true,
}

// statusOf is the status that goes with a refusal: the newest protocol wants 404
// for an unknown method.
func statusOf(refusal []byte) int {
	var answer struct{ Error jsonrpc.Error }
	if json.Unmarshal(refusal, &answer) == nil && answer.Error.Code == jsonrpc.CodeMethodNotFound {
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

func answerRefusal(w http.ResponseWriter, status int, refusal []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(refusal)
}

// ownName refuses requests that arrive on a loopback address under another name,
// before anything else of them is looked at: a web page may have rebound its own.
func ownName(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if at != nil && loopback(at.String()) && !loopback(r.Host) {
			http.Error(w, "Forbidden: this address is reached under a foreign name", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopback reports whether an address, with a port or without, is this machine's.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// describe serves the metadata of the resource to everybody.
func describe(next, metadata http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == wellKnown || strings.HasPrefix(r.URL.Path, wellKnown+"/") {
			metadata.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowOrigins tells browsers that pages of these origins may call and read the
// answers.
func allowOrigins(next http.Handler, origins []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if !slices.Contains(origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", requestIDHeader+", WWW-Authenticate")
		if r.Method != http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		header.Set("Access-Control-Allow-Methods", http.MethodPost)
		header.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		w.WriteHeader(http.StatusNoContent)
	})
}
