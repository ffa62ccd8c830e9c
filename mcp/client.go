package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Client speaks to one server, in whatever revision the server speaks. It is
// safe for concurrent use.
type Client struct {
	opts      ClientOptions
	transport Transport
	context   context.Context // ends with Close
	cancel    context.CancelCauseFunc
	running   sync.WaitGroup

	mu    sync.Mutex // guards the following
	conn  *agreed    // never nil after Connect
	joint chan struct{}
	calls map[jsonrpc.ID]*call // with a progress callback, by token
	inbox []func()             // notifications waiting to be handled, in order

	asking   map[jsonrpc.ID]context.CancelCauseFunc // requests of the server being answered
	replying int                                    // answers to the server on their way
	level    *LogLevel                              // asked for by SetLogLevel

	answering atomic.Int32 // questions of the server that are being answered
	answered  atomic.Int64 // when the last of them was, in nanoseconds since 1970

	cache  cache
	mirror mirror
	visits urlVisits
	subs   subscriptions
}

// agreed is a link and what has been agreed on over it. It does not change.
type agreed struct {
	link     Link
	revision *revision.Revision
	server   ServerInfo
	meta     []byte // the members every modern request has in its _meta
}

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	Implementation
	Revision     *revision.Revision
	Capabilities JSON // raw ServerCapabilities, in the shape of Revision
	Instructions string
}

// Can reports whether the server declared the capability at the path, as in
// Can("resources", "subscribe").
func (s *ServerInfo) Can(path ...string) bool { return rawjson.Get(s.Capabilities, path...) != nil }

// ClientOptions configures a Client. The zero value works.
type ClientOptions struct {
	// Info is how the client calls itself; a name is filled in.
	Info Implementation

	// Revision pins the dialect: a server that does not speak it is refused.
	// Nil takes the newest both speak, of either era.
	Revision *revision.Revision

	// Prefer is tried first, and the others when the server does not speak it.
	Prefer *revision.Revision

	// Timeout bounds every request; progress on a request starts it anew, up to
	// ten times over, and it does not run out while the server's questions are
	// being answered. 0 means 60 s, below 0 none.
	Timeout time.Duration

	// ProbeTimeout bounds the wait for an answer to the first message, which
	// some old servers on pipes do not give. 0 means 3 s.
	ProbeTimeout time.Duration

	// Elicit answers questions to the user. URL mode is declared only with
	// ElicitURL, which shows the full URL and asks before it is opened.
	Elicit    func(ctx context.Context, q *ElicitRequest) (*ElicitResult, error)
	ElicitURL func(ctx context.Context, q *ElicitRequest) (*ElicitResult, error)

	// Sample asks the user's model. Tools are offered to it with SampleTools.
	Sample      func(ctx context.Context, p *SamplingParams) (*SamplingResult, error)
	SampleTools bool

	// Roots lists where the server may work.
	Roots func(ctx context.Context) ([]Root, error)

	// Notifications. They are called one at a time, in order of arrival.
	OnLog              func(m *LogMessage)
	OnToolsChanged     func()
	OnPromptsChanged   func()
	OnResourcesChanged func()
	OnResourceUpdated  func(uri string)
	OnTask             func(t *Task)
	OnNotification     func(n *jsonrpc.Message) // all others

	// Extensions are declared to the server: identifier to settings.
	Extensions map[string]JSON
	// Experimental capabilities are declared as they are.
	Experimental map[string]JSON

	// Tasks declares the tasks extension: tools may answer with a task.
	Tasks bool

	// MaxRounds, MaxRoundBytes and MaxRoundTime bound how often, how much and
	// how long a server may ask back during one request. 0 means 10, 16 MiB and
	// 10 minutes.
	MaxRounds     int
	MaxRoundBytes int
	MaxRoundTime  time.Duration

	// Reconnect opens a new link when the old one has ended, at the next
	// request. What was in flight still fails.
	Reconnect bool

	// NoCache asks the server every time, whatever its hints say.
	NoCache bool

	// Logger takes what has no other place to go. Nil discards.
	Logger *slog.Logger
}

func (o *ClientOptions) fill() {
	if o.Info.Name == "" {
		o.Info.Name = "mcpv"
	}
	if o.Info.Version == "" {
		o.Info.Version = "0"
	}
	o.Timeout = or(o.Timeout, 60*time.Second)
	o.ProbeTimeout = or(o.ProbeTimeout, 3*time.Second)
	o.MaxRounds = or(o.MaxRounds, 10)
	o.MaxRoundBytes = or(o.MaxRoundBytes, 16<<20)
	o.MaxRoundTime = or(o.MaxRoundTime, 10*time.Minute)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Connect reaches a server and agrees with it on a revision. Close the client
// when done. Package dial finds the transport for a URL or a command.
func Connect(ctx context.Context, t Transport, o *ClientOptions) (*Client, error) {
	if o == nil {
		o = &ClientOptions{}
	}
	c := &Client{opts: *o, transport: t, calls: map[jsonrpc.ID]*call{}, asking: map[jsonrpc.ID]context.CancelCauseFunc{}}
	c.opts.fill()
	c.context, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	a, err := c.open(ctx)
	if err != nil {
		c.cancel(ErrClosed)
		c.running.Wait()
		return nil, err
	}
	c.mu.Lock() // the link may be receiving already
	c.conn = a
	c.mu.Unlock()
	c.startListening()
	return c, nil
}

// open makes a link and agrees on a revision over it.
func (c *Client) open(ctx context.Context) (*agreed, error) {
	link, err := c.transport.Connect(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := c.agree(ctx, link)
	if err != nil {
		_ = link.Close() // the first error is the one to tell
		return nil, err
	}
	return a, nil
}

// Server returns what the server says of itself.
func (c *Client) Server() ServerInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn.server
}

// Revision returns the revision in use.
func (c *Client) Revision() *revision.Revision { return c.current().revision }

// Done is closed when the connection has ended. With ClientOptions.Reconnect it
// is that of the connection in use now: ask again for the next.
func (c *Client) Done() <-chan struct{} { return c.current().link.Done() }

// Err tells why the connection ended, nil while it stands.
func (c *Client) Err() error { return c.current().link.Err() }

func (c *Client) current() *agreed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn
}

// Close ends the connection, cancels what is in flight and waits for all
// goroutines of the client: callbacks must not call it.
func (c *Client) Close() error {
	c.mu.Lock() // what is started under it is started before, or not at all
	c.cancel(ErrClosed)
	link := c.conn.link
	c.mu.Unlock()
	err := link.Close()
	c.running.Wait()
	return err
}

// Ping asks the server for a sign of life: ping, or server/discover in the
// modern era, which has no ping.
func (c *Client) Ping(ctx context.Context) error {
	method := "ping"
	switch r := c.Revision(); {
	case r.Rules.Discover:
		method = "server/discover"
	case !r.Rules.Ping:
		method = "tools/list"
	}
	_, err := c.do(ctx, &call{method: method})
	return err
}

// Request sends any request and returns the raw result, in the shape of the
// newest revision. params is an object or nil; it is encoded as JSON, raw JSON
// is taken as it is. Questions the server asks back are answered on the way.
func (c *Client) Request(ctx context.Context, method string, params any) (JSON, error) {
	raw, err := encodeValue(params)
	if err != nil {
		return nil, err
	}
	if raw != nil && rawjson.KindOf(raw) != '{' {
		return nil, fmt.Errorf("%s: params have to be an object", method)
	}
	return c.do(ctx, &call{method: method, params: raw})
}

// Notify sends any notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	raw, err := encodeValue(params)
	if err != nil {
		return err
	}
	a := c.current()
	if a.revision.Rules.RequestMeta {
		raw = addMeta(raw, a.meta)
	}
	return a.link.Send(ctx, jsonrpc.NewNotification(method, raw))
}

// RootsChanged tells the server that its roots are others now, in the revisions
// that can be told.
func (c *Client) RootsChanged(ctx context.Context) error {
	if !c.Revision().Rules.RootsChanged {
		return nil
	}
	return c.Notify(ctx, "notifications/roots/list_changed", nil)
}

// SetLogLevel asks for log messages of this level and above.
func (c *Client) SetLogLevel(ctx context.Context, l LogLevel) error {
	c.mu.Lock()
	c.level = &l
	a := c.conn
	c.mu.Unlock()
	if !a.revision.Rules.SetLevel {
		return nil // it goes with every request
	}
	_, err := c.do(ctx, &call{method: "logging/setLevel", params: encode(struct {
		Level string `json:"level"`
	}{l.String()})})
	return err
}

// LogLevel returns the level that SetLogLevel asked for last, and whether it did.
func (c *Client) LogLevel() (LogLevel, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.level == nil {
		return 0, false
	}
	return *c.level, true
}

// renew replaces a connection that is not good any more. Whoever comes first
// does it, the others wait for the outcome.
func (c *Client) renew(ctx context.Context, old *agreed, sameLink bool) (*agreed, error) {
	for {
		c.mu.Lock()
		if c.conn != old {
			defer c.mu.Unlock()
			return c.conn, nil
		}
		if c.joint == nil {
			c.joint = make(chan struct{})
			c.mu.Unlock()
			return c.renewAlone(ctx, old, sameLink)
		}
		joint := c.joint
		c.mu.Unlock()
		select {
		case <-joint:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *Client) renewAlone(ctx context.Context, old *agreed, sameLink bool) (a *agreed, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.context, func() { cancel(ErrClosed) })()
	if sameLink {
		a, err = c.agree(ctx, old.link)
	} else {
		_ = old.link.Close() // it has ended; this waits for what it started
		a, err = c.open(ctx)
	}
	c.mu.Lock()
	closed := err == nil && !sameLink && c.context.Err() != nil
	if err == nil && !closed {
		c.conn = a
	}
	close(c.joint)
	c.joint = nil
	level := c.level
	c.mu.Unlock()
	if closed {
		_ = a.link.Close() // nobody else knows of it
		err = ErrClosed
	}
	if err != nil {
		return nil, fmt.Errorf("reconnect: %w", err)
	}
	c.cache.clear()
	if level != nil && a.revision.Rules.SetLevel {
		if err := c.SetLogLevel(ctx, *level); err != nil {
			c.opts.Logger.Warn("log level was not restored", "error", err)
		}
	}
	c.resubscribe(ctx)
	return a, nil
}

// alive reports whether a connection can still be used, as far as is known.
func (a *agreed) alive() bool {
	select {
	case <-a.link.Done():
		return false
	default:
		return a.link.Err() == nil // it may be known to end before it has
	}
}

// usable returns the connection, renewed when that is allowed and needed.
func (c *Client) usable(ctx context.Context) (*agreed, error) {
	a := c.current()
	if a.alive() {
		return a, nil
	}
	if c.context.Err() != nil || !c.opts.Reconnect {
		if err := a.link.Err(); errors.Is(err, ErrClosed) {
			return nil, err
		} else if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrClosed, err)
		}
		return nil, ErrClosed
	}
	return c.renew(ctx, a, false)
}
