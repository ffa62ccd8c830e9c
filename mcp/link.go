package mcp

import (
	"context"
	"sync/atomic"

	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Transport opens links to one server. Packages stdio, streamable, sse and
// websocket have one each; StreamTransport makes one of any jsonrpc.Stream.
type Transport interface {
	// Connect opens a link. What the server sends on its own goes to in.
	Connect(ctx context.Context, in Receiver) (Link, error)
}

// A Receiver takes what a server sends: requests of the legacy era and
// notifications.
type Receiver interface {
	// Receive takes one message. It is called in the order of arrival on each
	// stream, and does not block. during is the id of the request on whose
	// response stream the message came; zero where the transport cannot tell.
	Receive(l Link, m *jsonrpc.Message, during jsonrpc.ID)
}

// A Link carries messages to one server and back. It knows framing, headers
// and sessions of its transport; the conversation is the Client's. Its methods
// are safe for concurrent use.
type Link interface {
	// NextID returns an id for the next request on this link.
	NextID() jsonrpc.ID

	// Call sends a request and waits for its response, which may be an error
	// frame. When ctx ends first, it tells the server in the way of transport
	// and revision and returns the cause. *HTTPError, ErrSessionGone and
	// ErrClosed are the errors of the way itself. header holds Mcp-Param-*
	// values by header name, already encoded; nil is fine.
	Call(ctx context.Context, m *jsonrpc.Message, header map[string]string) (*jsonrpc.Message, error)

	// Send sends a notification, or a response to a request of the server.
	Send(ctx context.Context, m *jsonrpc.Message) error

	// Agree tells which revision has been agreed on: from now on the link
	// follows its rules.
	Agree(r *revision.Revision)

	// Done is closed when the link has ended, and Err then tells why.
	Done() <-chan struct{}
	Err() error

	// Close ends the link and waits for what it started, within bounds.
	Close() error
}

// An HTTPLink is a Link that sends every request by HTTP: none goes unanswered,
// and arguments that a tool's schema marks with x-mcp-header are to be mirrored
// in headers if MirrorsHeaders says so.
type HTTPLink interface {
	Link
	MirrorsHeaders() bool
}

// StreamTransport makes a Transport of a function that opens a stream: all a
// custom transport needs on the client's side.
type StreamTransport func(ctx context.Context) (jsonrpc.Stream, error)

// Connect opens the stream.
func (t StreamTransport) Connect(ctx context.Context, in Receiver) (Link, error) {
	s, err := t(ctx)
	if err != nil {
		return nil, err
	}
	return NewStreamLink(s, in), nil
}

// NewStreamLink returns a link over a stream, which it owns.
func NewStreamLink(s jsonrpc.Stream, in Receiver) Link {
	l := &streamLink{}
	l.Conn = jsonrpc.NewConnPaused(s, &jsonrpc.Options{
		OnCall: func(_ *jsonrpc.Conn, m *jsonrpc.Message) {
			l.garbage.Store(0)
			in.Receive(l, m, jsonrpc.ID{})
		},
		OnResponse: func(*jsonrpc.Conn, *jsonrpc.Message) bool {
			l.garbage.Store(0)
			return false
		},
		OnBatch:    func(_ *jsonrpc.Conn, calls, _ []*jsonrpc.Message) { l.batch(in, calls) },
		OnBadFrame: l.bad,
	})
	l.Start()
	return l
}

type streamLink struct {
	*jsonrpc.Conn
	garbage atomic.Int32 // frames in a row that were no messages
}

// maxGarbage is how many frames in a row may be no messages before the server
// is taken not to speak MCP: some print a banner first.
const maxGarbage = 20

func (l *streamLink) bad(_ []byte, err error) (*jsonrpc.Message, error) {
	if l.garbage.Add(1) > maxGarbage {
		return nil, err
	}
	return nil, nil
}

// batch takes the calls of a batch one by one: 2025-03-26 servers may batch.
func (l *streamLink) batch(in Receiver, calls []*jsonrpc.Message) {
	for _, m := range calls {
		in.Receive(l, m, jsonrpc.ID{})
	}
}

func (l *streamLink) Call(ctx context.Context, m *jsonrpc.Message, _ map[string]string) (*jsonrpc.Message, error) {
	switch m.Method() {
	case "initialize", "server/discover": // the one must not be cancelled, the other may not be understood
		return l.Conn.Call(ctx, m)
	}
	return callCancelling(ctx, l.Conn, m)
}

func (l *streamLink) Agree(*revision.Revision) {}
