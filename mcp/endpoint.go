package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"mcpv/jsonrpc"
	"mcpv/revision"
)

// An Endpoint puts a Handler behind the wire: it decides which revision an
// exchange speaks, holds the conversations that differ between the eras
// (initialize, ping, log levels, subscriptions), and turns panics and errors
// into answers. Transports are built on it; others need it rarely.
type Endpoint struct {
	handler   Handler
	listener  Listener // nil when the handler tells of no changes
	revisions []*revision.Revision
	log       *slog.Logger
	inFlight  int
}

// EndpointOptions configures an Endpoint. The zero value works.
type EndpointOptions struct {
	// Revisions are the dialects spoken; empty means what the handler says
	// (Server has an option of the same name), else all.
	Revisions []*revision.Revision

	// Logger takes what no peer is told: panics with their stacks, dropped
	// frames. Nil means that of the handler when it is a Server, else it
	// discards.
	Logger *slog.Logger

	// MaxInFlight bounds the requests one client may have open at a time on one
	// channel. 0 means 1024.
	MaxInFlight int
}

// NewEndpoint returns an endpoint for h. If h is a Listener it is listened to.
func NewEndpoint(h Handler, o *EndpointOptions) *Endpoint {
	if o == nil {
		o = &EndpointOptions{}
	}
	e := &Endpoint{handler: h, revisions: o.Revisions, log: o.Logger, inFlight: o.MaxInFlight}
	e.listener, _ = facet[Listener](h)
	if r, ok := facet[interface{ Revisions() []*revision.Revision }](h); ok && len(e.revisions) == 0 {
		e.revisions = r.Revisions()
	}
	if len(e.revisions) == 0 {
		e.revisions = revision.All()
	}
	if s, ok := facet[*Server](h); ok && e.log == nil {
		e.log = s.opts.Logger
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.inFlight == 0 {
		e.inFlight = 1024
	}
	return e
}

// Revisions returns the dialects spoken, newest first.
func (e *Endpoint) Revisions() []*revision.Revision { return e.revisions }

// Speaks reports whether r is among the dialects spoken.
func (e *Endpoint) Speaks(r *revision.Revision) bool { return slices.Contains(e.revisions, r) }

// Logger returns the logger of the options, never nil.
func (e *Endpoint) Logger() *slog.Logger { return e.log }

// Answer serves one exchange whose session is settled and returns the response;
// nil for a notification. It never panics. Methods of the protocol that the
// session's revision does not have are refused here, before the handler.
func (e *Endpoint) Answer(ctx context.Context, x *Exchange) (answer *jsonrpc.Message) {
	id := x.Request.ID()
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("handler panicked", "method", x.Request.Method(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			answer = jsonrpc.NewErrorResponse(id, jsonrpc.NewError(jsonrpc.CodeInternal, "internal error"))
		}
		if x.Request.Kind() == jsonrpc.Notification {
			answer = nil
		}
	}()
	m, err := e.dispatch(ctx, x)
	if err != nil {
		return answerError(id, err)
	}
	if m == nil {
		return jsonrpc.NewErrorResponse(id, jsonrpc.NewError(jsonrpc.CodeInternal, "internal error: no answer"))
	}
	return m
}

func (e *Endpoint) dispatch(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	method, r := x.Request.Method(), x.Session.Revision
	if x.Request.Kind() == jsonrpc.Notification {
		return e.handler.Handle(ctx, x)
	}
	if !r.Request(method, revision.ClientToServer) && isProtocolMethod(method) {
		return nil, methodNotFound(method)
	}
	switch method {
	case "ping":
		return jsonrpc.NewResult(x.Request.ID(), emptyObject), nil
	case "logging/setLevel":
		return e.setLevel(ctx, x)
	case "subscriptions/listen":
		return e.listen(ctx, x)
	}
	return e.handler.Handle(ctx, x)
}

// isProtocolMethod reports whether some revision defines the method, so that a
// revision without it must refuse it. All others belong to vendors.
func isProtocolMethod(method string) bool {
	for _, r := range everyRevision {
		if _, ok := r.Method(method); ok {
			return true
		}
	}
	return false
}

var (
	everyRevision = revision.All()
	emptyObject   = []byte(`{}`)
)

// errTooMany answers a client that has too many requests open.
var errTooMany = errors.New("too many requests in flight; wait for answers first")
