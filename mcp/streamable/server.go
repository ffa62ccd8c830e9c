// Package streamable is Streamable HTTP: the transport of every dated revision
// since 2025-03-26, and the plain POST of the classic dialect, on one endpoint.
//
// A [Handler] is the server's side. It decides for each request which era it
// speaks: modern requests stand alone and end with their connection; legacy ones
// belong to a session, whose streams survive their connections and can be
// resumed.
package streamable

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"mcpv/internal/httpguard"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// Options configures a Handler. The zero value works: loopback only, every
// revision, sessions for legacy clients, resumable streams.
type Options struct {
	// Endpoint holds revisions, logger and the bound of open requests a session.
	Endpoint mcp.EndpointOptions

	// MaxBody bounds the body of a request, in bytes. 0 means 4 MiB.
	MaxBody int64

	// Hosts and Origins are the Host names the endpoint is known by and the
	// origins whose web pages may use it; empty means loopback names, and
	// origins of those hosts. AllowAnyHost and AllowAnyOrigin switch the checks
	// off, and with them the protection against DNS rebinding and cross-site
	// requests: something in front has to do them then.
	Hosts, Origins               []string
	AllowAnyHost, AllowAnyOrigin bool

	// SessionTTL ends legacy sessions that had no request and no open
	// connection for so long. 0 means 30 minutes, less than 0 never.
	SessionTTL time.Duration

	// MaxSessions bounds the legacy sessions; further ones are refused with
	// 503. 0 means 65536.
	MaxSessions int

	// Events keeps what was sent on the streams of legacy sessions, so that
	// they can be resumed. Nil means NewMemoryStore(0, 0).
	Events EventStore

	// AllowSessionless serves legacy requests without a session, in the
	// revision of their version header, or the one before there was such a
	// header. They can notify but not ask back. Stateless implies it and makes
	// no sessions at all.
	AllowSessionless, Stateless bool

	// KeepAlive is the interval of comments on streams that have nothing else
	// to say. 0 means 15 seconds, less than 0 none.
	KeepAlive time.Duration

	// RetryInterval is how long clients that poll are told to wait before they
	// reconnect. 0 tells nothing, except in CloseStream: there it means one
	// second.
	RetryInterval time.Duration
}

// A Handler serves an mcp.Handler over Streamable HTTP. Authentication is the
// business of a middleware that puts the caller into the request's context with
// mcp.WithPrincipal; sessions are bound to that caller.
type Handler struct {
	endpoint *mcp.Endpoint
	opts     Options // with defaults filled in
	guard    httpguard.Guard
	assumed  *revision.Revision // of legacy requests without session and version header; nil if not spoken
	sessions sessionTable

	life    context.Context // ends when Shutdown begins
	endLife context.CancelFunc
	open    atomic.Int64  // calls of ServeHTTP that have not returned
	drained chan struct{} // closed when open was 0 after Shutdown began
	drain   sync.Once
}

// NewHandler returns a handler for h; o may be nil. Shut it down after use.
func NewHandler(h mcp.Handler, o *Options) *Handler {
	v := &Handler{drained: make(chan struct{})}
	if o != nil {
		v.opts = *o
	}
	v.fillOptions()
	v.endpoint = mcp.NewEndpoint(h, &v.opts.Endpoint)
	v.guard = httpguard.Guard{
		Hosts: v.opts.Hosts, Origins: v.opts.Origins,
		AllowAnyHost: v.opts.AllowAnyHost, AllowAnyOrigin: v.opts.AllowAnyOrigin,
	}
	if v.opts.AllowAnyHost || v.opts.AllowAnyOrigin {
		v.log().Warn("host or origin checks are off; web pages may reach this endpoint")
	}
	for _, r := range v.endpoint.Revisions() {
		if r.Era == revision.Legacy && r.Rules.Streamable && r.Rules.Handshake && !r.Rules.VersionHeader {
			v.assumed = r
			break
		}
	}
	v.sessions = sessionTable{ttl: v.opts.SessionTTL, max: v.opts.MaxSessions}
	v.life, v.endLife = context.WithCancel(context.Background())
	return v
}

func (h *Handler) fillOptions() {
	o := &h.opts
	if o.MaxBody == 0 {
		o.MaxBody = 4 << 20
	}
	if o.SessionTTL == 0 {
		o.SessionTTL = 30 * time.Minute
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = 1 << 16
	}
	if o.Events == nil {
		o.Events = NewMemoryStore(0, 0)
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 15 * time.Second
	}
	o.AllowSessionless = o.AllowSessionless || o.Stateless
}

func (h *Handler) log() *slog.Logger { return h.endpoint.Logger() }

// Sessions returns how many legacy sessions there are.
func (h *Handler) Sessions() int { return h.sessions.len() }

// ServeHTTP answers POST for every era, and GET and DELETE for legacy sessions.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.open.Add(1)
	defer h.leave(r)
	boundBody(w, r)
	if err := h.guard.Check(r); err != nil {
		refuse(w, http.StatusForbidden, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, err.Error()))
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		refuseMethod(w, "GET, POST, DELETE")
	}
}

// leave ends one call of ServeHTTP. What panicked here is not the handler of a
// request, which the endpoint recovers: the connection is given up, the process
// lives.
func (h *Handler) leave(r *http.Request) {
	p := recover()
	if h.open.Add(-1) == 0 && h.closing() {
		h.drain.Do(func() { close(h.drained) })
	}
	if p == nil {
		return
	}
	if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		h.log().Error("serving a request panicked", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
	}
	panic(http.ErrAbortHandler)
}

func (h *Handler) closing() bool { return h.life.Err() != nil }

// Shutdown refuses new requests with 503, ends subscriptions with their result
// and the streams of GET, and waits until all open requests have been answered.
// Meanwhile answers to questions and cancellations are still taken. When ctx
// ends first, what is open in legacy sessions is cancelled and the error of ctx
// returned; modern requests end with their connections, which are the
// http.Server's. The sessions are gone in any case.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.endLife()
	if h.open.Load() == 0 {
		h.drain.Do(func() { close(h.drained) })
	}
	var err error
	select {
	case <-h.drained:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	h.sessions.close()
	return err
}

// Close is Shutdown that does not wait.
func (h *Handler) Close() error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.Shutdown(now) // it was told not to wait
	return nil
}
