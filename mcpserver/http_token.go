package mcpserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// guard asks for a bearer token, if the options have any.
func guard(next http.Handler, o *HTTPOptions, metadataURL string) http.Handler {
	verify := careful(o.Verifier, o.Logger)
	if o.Tokens != nil {
		verify = newTokenList(o.Tokens).verify
	}
	if verify == nil {
		return next
	}
	const challenge = "WWW-Authenticate"
	accepted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Del(challenge)
		next.ServeHTTP(w, r)
	})
	checked := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: metadataURL, AllowMissingExpiration: o.Tokens != nil,
	})(accepted)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if metadataURL == "" { // the SDK sends a challenge only where there is a URL to put into it
			w.Header().Set(challenge, "Bearer")
		}
		checked.ServeHTTP(w, r)
	})
}

// careful keeps what a verifier says about a token from whoever sent it.
func careful(verify auth.TokenVerifier, logger *slog.Logger) auth.TokenVerifier {
	if verify == nil {
		return nil
	}
	return func(ctx context.Context, token string, r *http.Request) (info *auth.TokenInfo, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				logger.ErrorContext(ctx, "the verifier of tokens panicked", "reason", reasonOf(cause), "stack", string(debug.Stack()))
				info, err = nil, errUnverified
			}
		}()
		info, err = verify(ctx, token, r)
		if info == nil && err == nil {
			err = errors.New("the verifier returned neither a token nor an error")
		}
		switch {
		case err == nil:
			return info, nil
		case errors.Is(err, auth.ErrInvalidToken):
			return nil, auth.ErrInvalidToken
		case errors.Is(err, auth.ErrOAuth):
			return nil, auth.ErrOAuth
		}
		logger.ErrorContext(ctx, "a token could not be verified", "error", err)
		return nil, errUnverified
	}
}

var errUnverified = errors.New("the token could not be verified")

// tokenList holds digests, so that comparing takes as long whatever is sent.
type tokenList []struct {
	digest [sha256.Size]byte
	user   string
}

func newTokenList(tokens map[string]string) tokenList {
	l := make(tokenList, 0, len(tokens))
	for token, user := range tokens {
		l = append(l, struct {
			digest [sha256.Size]byte
			user   string
		}{sha256.Sum256([]byte(token)), user})
	}
	return l
}

// verify implements auth.TokenVerifier. It looks at every token, also behind
// the one that was sent.
func (l tokenList) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	sent := sha256.Sum256([]byte(token))
	var info *auth.TokenInfo
	for _, known := range l {
		if subtle.ConstantTimeCompare(sent[:], known.digest[:]) == 1 {
			info = &auth.TokenInfo{UserID: known.user}
		}
	}
	if info == nil {
		return nil, auth.ErrInvalidToken
	}
	return info, nil
}
