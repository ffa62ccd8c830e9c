package websocket

import (
	"context"
	"crypto/rand"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// NewHandler serves h to every connection. It is an http.Handler; close it to
// end them. The caller that an HTTP middleware has authenticated is the
// principal of the session.
func NewHandler(h mcp.Handler, o *AcceptOptions) *Handler {
	e := mcp.NewEndpoint(h, nil)
	w := &Handler{Serve: func(ctx context.Context, s jsonrpc.Stream) error {
		return mcp.ServeStream(ctx, h, s, &mcp.StreamOptions{Endpoint: e, SessionID: rand.Text()})
	}}
	if o != nil {
		w.Options = *o
	}
	return w
}

// A Transport reaches a server by WebSocket.
type Transport struct {
	URL     string // ws:// or wss://
	Options DialOptions
}

// Connect makes the connection.
func (t *Transport) Connect(ctx context.Context, in mcp.Receiver) (mcp.Link, error) {
	s, err := Dial(ctx, t.URL, &t.Options)
	if err != nil {
		return nil, err
	}
	return mcp.NewStreamLink(s, in), nil
}

var _ mcp.Transport = (*Transport)(nil)
