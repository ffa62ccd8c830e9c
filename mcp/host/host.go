// Package host holds the connections of an application that uses several MCP
// servers: it connects, watches, reconnects and closes them together. What was
// asked of a connection, its subscriptions and its log level, is asked of the one
// that replaces it.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"mcpv/mcp"
	"mcpv/mcp/dial"
)

// A State is where a connection is in its life.
type State string

// The states of a connection.
const (
	Connecting State = "connecting"
	Ready      State = "ready"
	Waiting    State = "waiting" // for the next try after a failure
	Closed     State = "closed"
)

// A Status tells of one server.
type Status struct {
	Name   string
	State  State
	Err    error     // why the last try failed, or the last connection ended
	Tries  int       // failed tries in a row
	Since  time.Time // of the state
	Server mcp.ServerInfo
}

// Options configures a Host. The zero value works.
type Options struct {
	// Client is used for every connection. Reconnect is the Host's business.
	Client mcp.ClientOptions

	// ClientFor changes the options for one server, when not nil.
	ClientFor func(name string, o *mcp.ClientOptions)

	// OnChange is told of every change of state, from the goroutine of the
	// server concerned. It must not call Close.
	OnChange func(Status)

	// Health is how often a connection is pinged; 0 means 30 s, below 0 never.
	// HealthTimeout is how long an answer may take; 0 means 10 s.
	Health, HealthTimeout time.Duration

	// Backoff is the first wait after a failure; it doubles up to MaxBackoff.
	// 0 means 1 s and 30 s. Waits vary by a fifth.
	Backoff, MaxBackoff time.Duration

	// Logger is told what happens. Nil discards.
	Logger *slog.Logger
}

// A Host holds connections by name. It is safe for concurrent use.
type Host struct {
	opts    Options
	context context.Context
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*server
	closed  bool
}

type server struct {
	host   *Host
	name   string
	target any
	cancel context.CancelCauseFunc
	done   chan struct{}

	mu     sync.Mutex
	status Status
	client *mcp.Client   // nil unless ready
	change chan struct{} // closed and replaced at every change
}

// New returns a host without servers. Nil options are fine.
func New(o *Options) *Host {
	if o == nil {
		o = &Options{}
	}
	h := &Host{opts: *o, servers: map[string]*server{}}
	setDefault(&h.opts.Health, 30*time.Second)
	setDefault(&h.opts.HealthTimeout, 10*time.Second)
	setDefault(&h.opts.Backoff, time.Second)
	setDefault(&h.opts.MaxBackoff, 30*time.Second)
	if h.opts.Logger == nil {
		h.opts.Logger = slog.New(slog.DiscardHandler)
	}
	h.context, h.cancel = context.WithCancelCause(context.Background())
	return h
}

func setDefault(d *time.Duration, otherwise time.Duration) {
	if *d == 0 {
		*d = otherwise
	}
}

// ErrUnknown says that the host has no server of that name.
var ErrUnknown = errors.New("no such server")

// Add begins to hold a connection to the target, which is one of dial.Server's.
// It does not wait for it. A name can be used once.
func (h *Host) Add(name string, target any) error {
	if _, err := dial.Transport(target); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch _, taken := h.servers[name]; {
	case h.closed:
		return mcp.ErrClosed
	case taken:
		return fmt.Errorf("host: there is a server %q already", name)
	}
	ctx, cancel := context.WithCancelCause(h.context)
	s := &server{host: h, name: name, target: target, cancel: cancel, done: make(chan struct{}), change: make(chan struct{})}
	s.status = Status{Name: name, State: Connecting, Since: time.Now()}
	h.servers[name] = s
	h.running.Go(func() { s.run(ctx) })
	return nil
}

// Remove closes a connection and forgets the server.
func (h *Host) Remove(name string) error {
	h.mu.Lock()
	s, ok := h.servers[name]
	delete(h.servers, name)
	h.mu.Unlock()
	if !ok {
		return fmt.Errorf("host: %w: %s", ErrUnknown, name)
	}
	s.cancel(mcp.ErrClosed)
	<-s.done
	return nil
}

// Client returns the connection to a server, waiting for it as long as ctx
// allows. The error wraps the cause of ctx and, when there was one, that of the
// last failure: a program that is missing or a server that refuses is tried
// again like any other. Ask for it anew for each use and do not close it: a
// client that a reconnection has replaced is closed.
func (h *Host) Client(ctx context.Context, name string) (*mcp.Client, error) {
	h.mu.Lock()
	s, ok := h.servers[name]
	h.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("host: %w: %s", ErrUnknown, name)
	}
	for {
		s.mu.Lock()
		c, status, change := s.client, s.status, s.change
		s.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case status.State == Closed:
			return nil, fmt.Errorf("host: %s: %w", name, mcp.ErrClosed)
		}
		select {
		case <-change:
		case <-ctx.Done():
			if status.Err == nil {
				return nil, fmt.Errorf("host: %s is %s: %w", name, status.State, context.Cause(ctx))
			}
			return nil, fmt.Errorf("host: %s is %s: %w: %w", name, status.State, context.Cause(ctx), status.Err)
		}
	}
}

// Status tells of all servers, by name.
func (h *Host) Status() []Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Status, 0, len(h.servers))
	for _, s := range h.servers {
		s.mu.Lock()
		all = append(all, s.status)
		s.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b Status) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// Close closes all connections and waits for them.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel(mcp.ErrClosed)
	h.running.Wait()
	return nil
}

// run holds the connection until ctx ends.
func (s *server) run(ctx context.Context) {
	defer close(s.done)
	defer s.set(Closed, nil, nil)
	var before wishes
	for ctx.Err() == nil {
		s.set(Connecting, nil, s.status.Err)
		c, err := s.connect(ctx)
		if err == nil {
			if s.restore(ctx, c, before) {
				s.set(Ready, c, nil)
				err = s.watch(ctx, c)
				before.learn(c)
			} else {
				err = c.Err()
			}
			s.set(Waiting, nil, err)
			_ = c.Close() // it is why we are here
		}
		if ctx.Err() != nil {
			return
		}
		s.fail(err)
		s.wait(ctx)
	}
}

func (s *server) connect(ctx context.Context) (*mcp.Client, error) {
	o := s.host.opts.Client
	o.Reconnect = false
	if f := s.host.opts.ClientFor; f != nil {
		f(s.name, &o)
	}
	return dial.Server(ctx, s.target, &o)
}

// wishes are what users of a connection have asked it for, and want of the next
// one too.
type wishes struct {
	level    mcp.LogLevel
	hasLevel bool
	uris     []string // subscribed to
}

// learn takes over the wishes of a connection that has served.
func (w *wishes) learn(c *mcp.Client) {
	w.level, w.hasLevel = c.LogLevel()
	w.uris = c.Subscriptions()
}

// restore asks a new connection for what was wanted of the one before, and
// reports whether it still stands.
func (s *server) restore(ctx context.Context, c *mcp.Client, w wishes) bool {
	if w.hasLevel {
		if err := c.SetLogLevel(ctx, w.level); err != nil {
			s.host.opts.Logger.Warn("log level was not restored", "server", s.name, "error", err)
		}
	}
	for _, uri := range w.uris {
		if err := c.Subscribe(ctx, uri); err != nil {
			s.host.opts.Logger.Warn("subscription was not restored", "server", s.name, "uri", uri, "error", err)
		}
	}
	return c.Err() == nil
}

// watch returns why the connection is not good any more.
func (s *server) watch(ctx context.Context, c *mcp.Client) error {
	var tick <-chan time.Time
	if d := s.host.opts.Health; d > 0 {
		ticker := time.NewTicker(d)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.Done():
			return c.Err()
		case <-tick:
			ping, cancel := context.WithTimeout(ctx, s.host.opts.HealthTimeout)
			err := c.Ping(ping)
			cancel()
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("no sign of life: %w", err)
			}
		}
	}
}

func (s *server) fail(err error) {
	s.mu.Lock()
	s.status.Tries++
	s.mu.Unlock()
	s.set(Waiting, nil, err)
	s.host.opts.Logger.Warn("server is not connected", "server", s.name, "error", err)
}

func (s *server) wait(ctx context.Context) {
	o := &s.host.opts
	s.mu.Lock()
	d := o.Backoff << min(s.status.Tries-1, 16)
	s.mu.Unlock()
	d = min(d, o.MaxBackoff)
	d += time.Duration((rand.Float64() - 0.5) * 0.4 * float64(d))
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// set changes the state and tells whoever waits for it.
func (s *server) set(state State, c *mcp.Client, err error) {
	s.mu.Lock()
	s.status.State, s.status.Err, s.status.Since, s.client = state, err, time.Now(), c
	if c != nil {
		s.status.Tries, s.status.Server = 0, c.Server()
	}
	status := s.status
	close(s.change)
	s.change = make(chan struct{})
	s.mu.Unlock()
	if f := s.host.opts.OnChange; f != nil {
		f(status)
	}
}
