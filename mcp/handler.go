// Package mcp is the Model Context Protocol: servers, clients and everything
// between them, in every revision.
//
// One interface holds it together. A [Handler] answers one request; a [Server],
// a connection to another server, a middleware and a gateway are all Handlers.
// A request goes down one call stack and its answer comes back up the same one.
// Frames stay bytes: what a piece of code does not decide on, it does not decode.
//
// Writing a server starts at [NewServer] and [AddTool], using one at [Connect].
// The transports live in the packages below this one.
package mcp

import (
	"context"
	"fmt"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Handler answers one exchange. It is called concurrently.
//
// The message returned is the response to x.Request, under its id and in the
// revision of x.Session; Exchange.Answer makes one. It may be a peer's own error frame, verbatim. A Go
// error is ours: a *jsonrpc.Error is answered as it is, any other as -32603.
// For a notification the message is ignored and nil is fine.
type Handler interface {
	Handle(ctx context.Context, x *Exchange) (*jsonrpc.Message, error)
}

// A HandlerFunc is a Handler.
type HandlerFunc func(ctx context.Context, x *Exchange) (*jsonrpc.Message, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	return f(ctx, x)
}

// A Middleware wraps a Handler. It sees frames, not types, so it works for
// every method and every revision.
type Middleware func(next Handler) Handler

// Chain wraps h so that the first middleware is the outermost. What h is
// besides a Handler (a Listener, a Server with its revisions and its logger)
// endpoints still find; it is not wrapped.
func Chain(h Handler, wrap ...Middleware) Handler {
	if len(wrap) == 0 {
		return h
	}
	c := &chained{Handler: h, base: h}
	for i := len(wrap) - 1; i >= 0; i-- {
		c.Handler = wrap[i](c.Handler)
	}
	return c
}

// chained is a handler and what it was before it was wrapped.
type chained struct {
	Handler
	base Handler
}

// facet returns what h is besides a Handler: h itself, or what Chain wrapped.
func facet[T any](h Handler) (t T, ok bool) {
	for {
		if t, ok = h.(T); ok {
			return t, true
		}
		c, wrapped := h.(*chained)
		if !wrapped {
			return t, false
		}
		if t, ok = c.Handler.(T); ok {
			return t, true
		}
		h = c.base
	}
}

// An Exchange is one request (or notification) and what belongs to it. It must
// not be changed; a middleware that edits passes a copy on.
type Exchange struct {
	Request *jsonrpc.Message // the frame, in the revision of Session
	Session *Session         // who asks; one per request in the modern era
	Peer    Peer             // the way back while this exchange is open

	// Header holds the HTTP headers the request came with, by canonical name;
	// nil on other transports.
	Header map[string][]string
}

// Answer returns the response to the request: the result, an object in the shape
// of the newest revision (a *ToolResult, say, or raw JSON), in that of the
// session. It is for middleware and handlers that answer by themselves. Nil
// means an empty object.
func (x *Exchange) Answer(result any) (*jsonrpc.Message, error) {
	body, err := encodeValue(result)
	if err != nil {
		return nil, fmt.Errorf("result of %s: %w", x.Request.Method(), err)
	}
	if body == nil {
		body = emptyObject
	}
	if rawjson.KindOf(body) != '{' {
		return nil, fmt.Errorf("result of %s: it has to be an object", x.Request.Method())
	}
	if rawjson.Get(body, "resultType") == nil {
		body = rawjson.Set(body, []byte(`"complete"`), "resultType")
	}
	f := revision.Frame{Kind: revision.Result, Method: x.Request.Method(), Body: body}
	if err := revision.Translate(&f, revision.Latest(), x.Session.Revision); err != nil {
		return nil, err
	}
	return jsonrpc.NewResult(x.Request.ID(), f.Body), nil
}

// A Peer is the way back to whoever sent a request, while it is open.
type Peer interface {
	// Call asks the other side and waits for its response, which may be an
	// error frame. The id is chosen by the Peer. It fails with ErrNoRequests
	// where the revision lets servers send none.
	Call(ctx context.Context, method string, params []byte) (*jsonrpc.Message, error)

	// Notify sends a notification. An error means that it cannot arrive any
	// more; nil does not mean that it has.
	Notify(ctx context.Context, n *jsonrpc.Message) error
}

// A Listener is a Handler that tells what changes. Endpoints turn it into
// subscriptions/listen for modern clients, and into resources/subscribe and
// list_changed notifications for legacy ones.
type Listener interface {
	// Listen delivers the notifications that f asks for until stop is called,
	// in the shape of the newest revision and without subscription id. deliver
	// does not block and may be called from any goroutine, though not before
	// Listen returns. granted is the part of f that will be served.
	Listen(ctx context.Context, s *Session, f Filter, deliver func(n *jsonrpc.Message)) (granted Filter, stop func(), err error)
}
