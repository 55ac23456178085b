package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"example.com/convmem"
	"example.com/convmem/mcpserver"
	"example.com/convmem/store/vfs"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer sends a token with every request.
type bearer string

func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// callAs calls a tool of the server at url with a user's token.
func callAs(ctx context.Context, url, token, tool string, arguments map[string]any) (string, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", err
	}
	return result.Content[0].(*mcp.TextContent).Text, nil
}

// One server with a store for each user. Who calls is known from the token and
// from nothing that the model says.
func ExampleHandler_tenants() {
	ctx := context.Background()
	stores := map[string]convmem.Store{}
	for _, user := range []string{"ann", "ben"} {
		db, err := convmem.Open(ctx, "", &convmem.Options{FS: vfs.NewMem(0)}) // on disk: a directory for each user
		if err != nil {
			fmt.Println(err)
			return
		}
		defer db.Close()
		stores[user] = db
	}
	server := httptest.NewServer(mcpserver.Handler(nil, &mcpserver.HTTPOptions{
		Tokens: map[string]string{"token-of-ann": "ann", "token-of-ben": "ben"},
		StoreFor: func(ctx context.Context) (convmem.Store, error) {
			if store, ok := stores[auth.TokenInfoFromContext(ctx).UserID]; ok {
				return store, nil
			}
			return nil, errors.New("a token without a store")
		},
	}))
	defer server.Close()

	note := map[string]any{"session_id": "monday", "role": "user", "content": "The launch is on Friday."}
	if _, err := callAs(ctx, server.URL, "token-of-ann", "write_message", note); err != nil {
		fmt.Println(err)
		return
	}
	for _, token := range []string{"token-of-ann", "token-of-ben", "guessed"} {
		text, err := callAs(ctx, server.URL, token, "read_messages", map[string]any{"view": "sessions"})
		switch {
		case err != nil:
			fmt.Println(token, "may not call")
		case text == `{"sessions":[]}`:
			fmt.Println(token, "sees nothing")
		default:
			fmt.Println(token, "sees a session")
		}
	}
	// Output:
	// token-of-ann sees a session
	// token-of-ben sees nothing
	// guessed may not call
}
