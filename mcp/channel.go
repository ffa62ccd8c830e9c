package mcp

import (
	"context"
	"errors"
	"strings"
	"sync"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Channel is one client as a transport sees it: the other end of a pipe, a
// legacy HTTP session. It remembers which requests are open, so that they can
// be cancelled, and the session that initialize made. Modern requests may share
// a pipe with a legacy session. It is safe for concurrent use.
type Channel struct {
	endpoint  *Endpoint
	principal *Principal
	id        string
	push      func(n *jsonrpc.Message)

	mu      sync.Mutex // guards the following
	session *Session   // nil until initialize
	open    map[jsonrpc.ID]context.CancelCauseFunc
	uris    []string // subscribed by resources/subscribe
	stop    func()   // ends listening; nil when not listening
	closed  bool

	subscribing sync.Mutex // held while uris and stop change together; taken before mu
}

// ChannelOptions says whose channel it is.
type ChannelOptions struct {
	Principal *Principal
	SessionID string // for the session that initialize makes; may be ""

	// Push takes notifications that belong to no open request: list changes,
	// resource updates. It must not block. Nil drops them.
	Push func(n *jsonrpc.Message)
}

// NewChannel returns a channel. Close it when the client is gone.
func (e *Endpoint) NewChannel(o ChannelOptions) *Channel {
	return &Channel{endpoint: e, principal: o.Principal, id: o.SessionID, push: o.Push}
}

// Session returns the legacy session, nil before initialize.
func (c *Channel) Session() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Serve answers one request or takes one notification; peer leads back to the
// client while it runs. A nil answer means that nothing is to be sent: it was a
// notification, or the client cancelled the request.
func (c *Channel) Serve(ctx context.Context, m *jsonrpc.Message, peer Peer, header map[string][]string) *jsonrpc.Message {
	if m.Kind() == jsonrpc.Notification {
		c.notified(ctx, m, peer, header)
		return nil
	}
	ctx, err := c.begin(ctx, m.ID())
	return c.serveBegun(ctx, err, m, peer, header)
}

// serveBegun is Serve for a request that begin has registered, or refused with
// err.
func (c *Channel) serveBegun(ctx context.Context, err error, m *jsonrpc.Message, peer Peer, header map[string][]string) *jsonrpc.Message {
	if err != nil {
		return answerError(m.ID(), err)
	}
	answer := c.serve(ctx, m, peer, header)
	if c.end(m.ID()); errors.Is(context.Cause(ctx), ErrCancelled) {
		return nil
	}
	return answer
}

func (c *Channel) serve(ctx context.Context, m *jsonrpc.Message, peer Peer, header map[string][]string) *jsonrpc.Message {
	switch method := m.Method(); {
	case IsModern(m), method == "server/discover", method == "subscriptions/listen":
		s, err := ModernSession(m, c.principal, c.endpoint.revisions)
		if err != nil {
			return answerError(m.ID(), err)
		}
		return c.endpoint.Answer(ctx, &Exchange{Request: m, Session: s, Peer: modernPeer{peer}, Header: header})
	case strings.HasPrefix(method, classicPrefix):
		return c.endpoint.AnswerClassic(ctx, m, c.principal)
	case method == "initialize":
		return c.initialize(ctx, m, peer)
	}
	s := c.Session()
	if s == nil && !isProtocolMethod(m.Method()) {
		return answerError(m.ID(), methodNotFound(m.Method()))
	}
	if s == nil && revision.Negotiate("", c.endpoint.revisions) == nil {
		_, err := ModernSession(m, c.principal, c.endpoint.revisions) // which it lacks
		return answerError(m.ID(), err)
	}
	if s == nil {
		if m.Method() == "ping" {
			return jsonrpc.NewResult(m.ID(), emptyObject)
		}
		return jsonrpc.NewErrorResponse(m.ID(), jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "not initialized: send initialize first"))
	}
	x := &Exchange{Request: m, Session: s, Peer: peer, Header: header}
	switch m.Method() {
	case "resources/subscribe", "resources/unsubscribe":
		if s.Revision.Rules.Subscribe {
			return c.subscribe(ctx, x)
		}
	}
	return c.endpoint.Answer(ctx, x)
}

// begin registers an open request.
func (c *Channel) begin(ctx context.Context, id jsonrpc.ID) (context.Context, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if _, taken := c.open[id]; taken {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "id is in use by a request that is still open")
	}
	if len(c.open) >= c.endpoint.inFlight {
		return nil, errTooMany
	}
	if c.open == nil {
		c.open = map[jsonrpc.ID]context.CancelCauseFunc{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.open[id] = cancel
	return ctx, nil
}

func (c *Channel) end(id jsonrpc.ID) {
	c.mu.Lock()
	cancel := c.open[id]
	delete(c.open, id)
	c.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
}

// Open returns how many requests have no answer yet.
func (c *Channel) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *Channel) notified(ctx context.Context, m *jsonrpc.Message, peer Peer, header map[string][]string) {
	switch m.Method() {
	case "notifications/cancelled":
		if id, ok := jsonrpc.ParseID(rawjson.Get(m.Params(), "requestId")); ok {
			c.cancel(id)
		}
		return
	case "notifications/initialized":
		c.initialized(ctx)
		return
	}
	s := c.Session()
	if IsModern(m) {
		s, _ = ModernSession(m, c.principal, c.endpoint.revisions)
	}
	if s != nil {
		c.endpoint.Answer(ctx, &Exchange{Request: m, Session: s, Peer: peer, Header: header})
	}
}

// cancel ends an open request whose answer nobody wants; initialize is exempt
// by being answered before anything else is read.
func (c *Channel) cancel(id jsonrpc.ID) {
	c.mu.Lock()
	cancel := c.open[id]
	c.mu.Unlock()
	if cancel != nil {
		cancel(ErrCancelled)
	}
}

// Close cancels what is open and stops listening. It does not wait for handlers.
func (c *Channel) Close() {
	c.mu.Lock()
	c.closed = true
	stop := c.stop
	c.stop = nil
	for _, cancel := range c.open {
		cancel(ErrClosed)
	}
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// modernPeer lets notifications through and no requests.
type modernPeer struct{ Peer }

func (modernPeer) Call(context.Context, string, []byte) (*jsonrpc.Message, error) {
	return nil, ErrNoRequests
}
