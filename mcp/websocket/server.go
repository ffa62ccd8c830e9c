package websocket

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"mcpv/internal/httpguard"
	"mcpv/jsonrpc"
)

// AcceptOptions are the options of a server. The zero value serves loopback
// clients.
type AcceptOptions struct {
	// Hosts and Origins are the allowlists for the headers of these names:
	// "name" or "name:port", and "scheme://name[:port]". Without Hosts the
	// loopback names are allowed; without Origins, pages from Hosts.
	Hosts, Origins []string

	// AllowAnyHost and AllowAnyOrigin switch the checks off, which exposes the
	// server to every page its user visits unless a proxy does them.
	AllowAnyHost, AllowAnyOrigin bool

	// ReadLimit is the largest message in bytes; 0 means 4 MiB.
	ReadLimit int64

	// WriteTimeout is how long the peer may take to accept a message; 0 means
	// 10 s.
	WriteTimeout time.Duration

	// PingInterval is the time between pings, and how long a pong may take; 0
	// means 30 s, and less than 0 means none.
	PingInterval time.Duration
}

func (o *AcceptOptions) guard() *httpguard.Guard {
	return &httpguard.Guard{Hosts: o.Hosts, Origins: o.Origins, AllowAnyHost: o.AllowAnyHost, AllowAnyOrigin: o.AllowAnyOrigin}
}

// Accept turns a request into a Stream, which keeps the values of the request's
// context and not its end. A bad Host or Origin is answered with 403, and a
// request that does not offer the subprotocol with 400. On error the answer is
// written. opts may be nil.
func Accept(w http.ResponseWriter, r *http.Request, opts *AcceptOptions) (*Stream, error) {
	if opts == nil {
		opts = &AcceptOptions{}
	}
	if err := opts.guard().Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return nil, err
	}
	if isUpgrade(r) && !offers(r.Header, Subprotocol) {
		err := errors.New(`websocket: subprotocol "mcp" is not offered`)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, err
	}
	hw := &hijackWriter{ResponseWriter: w}
	conn, err := websocket.Accept(hw, r, &websocket.AcceptOptions{
		Subprotocols:       []string{Subprotocol},
		InsecureSkipVerify: true, // the guard has checked the origin, and more strictly
	})
	if err != nil {
		return nil, err
	}
	set := settings{readLimit: opts.ReadLimit, writeTimeout: opts.WriteTimeout, pingInterval: opts.PingInterval}
	return newStream(r.Context(), conn, hw.wire, set.withDefaults(serverReadLimit)), nil
}

// hijackWriter remembers the connection that is taken out of the server.
type hijackWriter struct {
	http.ResponseWriter
	wire net.Conn
}

func (w *hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.wire = c
	return c, rw, err
}

func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

func offers(h http.Header, protocol string) bool {
	for _, line := range h["Sec-Websocket-Protocol"] {
		for p := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(p) == protocol {
				return true
			}
		}
	}
	return false
}

const defaultMaxSessions = 10_000

var errGoingAway = errors.New("websocket: handler is closed")

// A Handler serves every connection made to it. Its fields must not change once
// it is in use.
type Handler struct {
	// Serve runs for one connection until it is done with it; then the stream
	// is closed. The context has the values of the request's and ends when the
	// handler is closed.
	Serve func(ctx context.Context, s jsonrpc.Stream) error

	// Options are the options of Accept.
	Options AcceptOptions

	// MaxSessions is how many connections may be open at a time; 0 means
	// 10 000. Beyond, a handshake gets 503.
	MaxSessions int

	mu      sync.Mutex
	closed  bool
	open    int // handshakes and connections
	streams map[*Stream]context.CancelCauseFunc
	running sync.WaitGroup
}

// ServeHTTP implements http.Handler. It returns when Serve has, whose error
// decides the status of the close frame: 1000 without, else 1011; 1001 once the
// handler is closed.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	limit := h.MaxSessions
	if limit == 0 {
		limit = defaultMaxSessions
	}
	if full := h.open >= limit; h.closed || full {
		h.mu.Unlock()
		w.Header().Set("Retry-After", "1")
		http.Error(w, "shutting down, or too many connections", http.StatusServiceUnavailable)
		return
	}
	h.open++
	h.running.Add(1)
	h.mu.Unlock()
	defer h.running.Done()
	defer func() {
		h.mu.Lock()
		h.open--
		h.mu.Unlock()
	}()

	s, err := Accept(w, r, &h.Options)
	if err != nil {
		return
	}
	code := websocket.StatusInternalError
	defer func() { s.closeWith(code, "") }()
	ctx, ok := h.add(s)
	if !ok {
		code = websocket.StatusGoingAway
		return
	}
	defer h.remove(s)
	err = h.Serve(ctx, s)
	switch {
	case context.Cause(ctx) == errGoingAway:
		code = websocket.StatusGoingAway
	case err == nil:
		code = websocket.StatusNormalClosure
	}
}

func (h *Handler) add(s *Stream) (context.Context, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	if h.streams == nil {
		h.streams = make(map[*Stream]context.CancelCauseFunc)
	}
	h.streams[s] = cancel
	return ctx, true
}

func (h *Handler) remove(s *Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams[s](nil)
	delete(h.streams, s)
}

// Close refuses new connections, tells the peers of the others that the server
// goes away (status 1001), ends their contexts, and waits until every call of
// Serve has returned. It must not be called by Serve.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closed = true
	for s, cancel := range h.streams {
		cancel(errGoingAway)
		h.running.Go(func() { s.closeWith(websocket.StatusGoingAway, "") })
	}
	h.mu.Unlock()
	h.running.Wait()
	return nil
}
