package sse

import (
	"context"
	"crypto/rand"
	"net/http"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// NewHandler serves h: a session for every stream. The fields of the Handler
// may be set until it is used. The caller that an HTTP middleware has
// authenticated is the principal of the session, and posts of others are
// refused.
func NewHandler(h mcp.Handler) *Handler {
	e := mcp.NewEndpoint(h, nil)
	return &Handler{
		Serve: func(ctx context.Context, s jsonrpc.Stream, _ *http.Request) error {
			return mcp.ServeStream(ctx, h, s, &mcp.StreamOptions{Endpoint: e, SessionID: rand.Text()})
		},
		Owner: func(r *http.Request) string { return mcp.PrincipalFrom(r.Context()).Key() },
	}
}

// A Transport reaches a server by HTTP+SSE.
type Transport struct {
	URL     string
	Options DialOptions
}

// Connect opens the event stream.
func (t *Transport) Connect(ctx context.Context, in mcp.Receiver) (mcp.Link, error) {
	s, err := Dial(ctx, t.URL, &t.Options)
	if err != nil {
		return nil, err
	}
	return mcp.NewStreamLink(s, in), nil
}

var _ mcp.Transport = (*Transport)(nil)
