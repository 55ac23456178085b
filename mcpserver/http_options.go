package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// DefaultMaxBodyBytes is the length of the longest request body when
// [HTTPOptions.MaxBodyBytes] does not say otherwise. Content of 1 MiB takes at
// most 6 MiB and a bit, however it is escaped.
const DefaultMaxBodyBytes = 8 << 20

// HTTPOptions are the choices of a [Handler]. nil and the zero value mean the
// defaults: one store, no token, browsers of the same origin only.
type HTTPOptions struct {
	// Options are those of every server. Records in the Logger carry the id of
	// their request as "request".
	Options

	// StoreFor finds the store of the caller, in a server with tenants; Handler
	// then gets no store of its own. It is called once for each call, from many
	// goroutines at once, with the context of the HTTP request: who calls is
	// known from [auth.TokenInfoFromContext] or from what the host's own
	// middleware put there, never from an argument of a tool. Its error is the
	// answer of the call: one of [convmem.Error] as it is, any other as
	// INTERNAL_ERROR.
	StoreFor func(context.Context) (convmem.Store, error)

	// Tokens are the bearer tokens that are accepted, each with the user that it
	// stands for, who may be "". They do not expire and are compared in constant
	// time. nil asks for no token.
	Tokens map[string]string

	// Verifier checks bearer tokens in place of Tokens, such as those of an
	// OAuth authorization server. A token for which it names no expiration is
	// refused. It returns [auth.ErrInvalidToken] for a token that is wrong; any
	// other error is logged and answered with status 500.
	Verifier auth.TokenVerifier

	// ResourceMetadata tells clients where to get a token (RFC 9728). It is
	// served without one below /.well-known/oauth-protected-resource, which the
	// host must route to the handler too, and answers with status 401 name it.
	// Its Resource is the public URL of the handler.
	ResourceMetadata *oauthex.ProtectedResourceMetadata

	// TrustedOrigins are the origins of web pages that may call, beside that of
	// the server itself, as in https://app.example. Others are refused.
	TrustedOrigins []string

	// DisableLocalhostProtection accepts requests that arrive on a loopback
	// address under another name. That is what a reverse proxy on the same
	// machine sends, and also what a web page sends that has rebound its name.
	DisableLocalhostProtection bool

	// MaxBodyBytes bounds the body of a request. 0 or less means
	// DefaultMaxBodyBytes.
	MaxBodyBytes int64
}

// resolve returns what finds the store of a call.
func (o *HTTPOptions) resolve(store convmem.Store) (storeFor, error) {
	switch {
	case store == nil && o.StoreFor == nil:
		return nil, errors.New("mcpserver: Handler needs a store or HTTPOptions.StoreFor")
	case store != nil && o.StoreFor != nil:
		return nil, errors.New("mcpserver: Handler was given a store and HTTPOptions.StoreFor, want one of them")
	case store != nil:
		return oneStore(store), nil
	}
	return o.StoreFor, nil
}

// check looks for choices that contradict each other.
func (o *HTTPOptions) check() error {
	guarded := o.Tokens != nil || o.Verifier != nil
	switch {
	case o.Tokens != nil && o.Verifier != nil:
		return errors.New("mcpserver: HTTPOptions has Tokens and a Verifier, want one of them")
	case o.Tokens != nil && len(o.Tokens) == 0:
		return errors.New("mcpserver: HTTPOptions.Tokens is empty, nobody could call: leave it nil to ask for no token")
	case o.ResourceMetadata != nil && !guarded:
		return errors.New("mcpserver: HTTPOptions has ResourceMetadata, but neither Tokens nor a Verifier")
	}
	for token := range o.Tokens {
		if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("mcpserver: HTTPOptions.Tokens has a token that no client can send: want visible ASCII characters without spaces")
		}
	}
	return nil
}

// wellKnown is where clients look for the metadata of a resource: before the
// path of the resource.
const wellKnown = "/.well-known/oauth-protected-resource"

// metadataURL is the address of the metadata, "" when there is none.
func (o *HTTPOptions) metadataURL() (string, error) {
	if o.ResourceMetadata == nil {
		return "", nil
	}
	u, err := url.Parse(o.ResourceMetadata.Resource)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return "", fmt.Errorf("mcpserver: HTTPOptions.ResourceMetadata.Resource is %q, want an absolute URL", o.ResourceMetadata.Resource)
	}
	return u.Scheme + "://" + u.Host + wellKnown + strings.TrimSuffix(u.EscapedPath(), "/"), nil
}

// protection refuses pages of other origins.
func (o *HTTPOptions) protection() (*http.CrossOriginProtection, error) {
	p := http.NewCrossOriginProtection()
	for _, origin := range o.TrustedOrigins {
		if err := p.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("mcpserver: HTTPOptions.TrustedOrigins: %w", err)
		}
	}
	return p, nil
}
