// Package sse is the HTTP+SSE transport of revision 2024-11-05. A GET opens an
// event stream whose first event, "endpoint", names the URI to which the client
// posts its messages; everything the server has to say, answers included,
// travels on the stream as "message" events. The end of the stream is the end
// of the session.
//
// Posted bodies are checked for size and type, not for content: the answer to
// any message, well-formed or not, is 202, and whoever reads the stream parses
// it and reports errors on it.
package sse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mcpv/internal/eventstream"
	"mcpv/internal/httpguard"
	"mcpv/jsonrpc"
)

const (
	defaultBodyLimit    = 4 << 20
	defaultQueueBytes   = 16 << 20
	defaultQueueLength  = 256
	defaultMaxSessions  = 10_000
	defaultKeepAlive    = 15 * time.Second
	defaultWriteTimeout = 10 * time.Second

	// bodyTimeout is how long a client may take to send a body.
	bodyTimeout = 30 * time.Second

	sessionKey = "session"
)

// A Handler serves both requests of the transport: GET opens a stream, POST
// delivers a message. Mount it on one path, or on two and set Endpoint. The
// fields must not change once it is in use; those that are zero mean their
// defaults, and only Serve has to be set.
type Handler struct {
	// Serve runs for one stream until it is done with it; then the stream is
	// closed. The context has the values of the request's, and ends with the
	// stream and when the handler is closed. r is the GET.
	Serve func(ctx context.Context, s jsonrpc.Stream, r *http.Request) error

	// Owner returns who sends a request, as authenticated by someone before this
	// handler. A POST whose owner is not that of the stream's GET gets 404, as
	// if the session did not exist. nil means that all requests have one owner.
	Owner func(r *http.Request) string

	// Endpoint is the URI reference to which messages are to be posted, as
	// clients see it; the session is added to its query. Empty means the path of
	// the GET.
	Endpoint string

	// Hosts and Origins are the allowlists for the headers of these names:
	// "name" or "name:port", and "scheme://name[:port]". Without Hosts the
	// loopback names are allowed; without Origins, pages from Hosts.
	Hosts, Origins []string

	// AllowAnyHost and AllowAnyOrigin switch the checks off, which exposes the
	// server to every page its user visits unless a proxy does them.
	AllowAnyHost, AllowAnyOrigin bool

	MaxSessions  int           // streams open at a time: 10 000; above that a GET gets 503
	BodyLimit    int64         // bytes of a message: 4 MiB; above that a POST gets 413
	QueueBytes   int64         // bytes a session has posted and not read: 16 MiB; above that, 429
	QueueLength  int           // messages a session has posted and not read: 256; above that, 429
	KeepAlive    time.Duration // between comments on an idle stream: 15 s; less than 0 means none
	WriteTimeout time.Duration // for the client to take what is written: 10 s; then the stream ends

	mu       sync.Mutex
	closed   bool
	sessions map[string]*session
	running  sync.WaitGroup
}

func (h *Handler) guard() *httpguard.Guard {
	return &httpguard.Guard{Hosts: h.Hosts, Origins: h.Origins, AllowAnyHost: h.AllowAnyHost, AllowAnyOrigin: h.AllowAnyOrigin}
}

func (h *Handler) owner(r *http.Request) string {
	if h.Owner == nil {
		return ""
	}
	return h.Owner(r)
}

// ServeHTTP implements http.Handler. For a GET it returns when Serve has.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// Also for what is refused without a look at the body: net/http reads
		// the rest of it before it answers.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	if err := h.guard().Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodGet:
		h.open(w, r)
	case http.MethodPost:
		h.post(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// open serves one stream from its first event to its end.
func (h *Handler) open(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		http.Error(w, "a GET has no body", http.StatusBadRequest)
		return
	}
	if !acceptsStream(r.Header) {
		http.Error(w, "the answer is "+eventstream.ContentType, http.StatusNotAcceptable)
		return
	}
	token := rand.Text()
	endpoint, err := h.endpoint(r, token)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s := newSession(w, r, h)
	if err := h.add(token, s); err != nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer h.running.Done()
	defer s.finish()
	defer h.remove(token)

	header := w.Header()
	header.Set("Content-Type", eventstream.ContentType)
	header.Set("Cache-Control", "no-cache, no-store, no-transform")
	header.Set("X-Accel-Buffering", "no")
	if r.ProtoMajor == 1 {
		header.Set("Connection", "close") // it keeps the deadline of the last write
	}
	if err := s.start(endpoint); err != nil {
		return
	}
	// The stream is all there is to tell the client, and its end says it.
	_ = h.Serve(s.ctx, s, r)
}

// endpoint returns the URI reference for the messages of a session.
func (h *Handler) endpoint(r *http.Request, token string) (string, error) {
	u, err := url.Parse(h.Endpoint)
	if err != nil {
		return "", fmt.Errorf("bad endpoint: %w", err)
	}
	if h.Endpoint == "" {
		// RequestURI is what the client asked for; URL may have lost a prefix. Two
		// slashes in front would make the path the name of another host.
		if u, err = url.ParseRequestURI(r.RequestURI); err != nil {
			return "", fmt.Errorf("bad request uri: %w", err)
		}
		u = &url.URL{Path: u.Path, RawPath: u.RawPath}
		if strings.HasPrefix(u.Path, "//") {
			u = &url.URL{Path: "/" + strings.TrimLeft(u.Path, "/")}
		}
	}
	q := u.Query()
	q.Set(sessionKey, token)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// post queues the body of a request for the session it names.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	s := h.find(r.URL.Query().Get(sessionKey))
	if s == nil || s.owner != h.owner(r) {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		http.Error(w, "content type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		http.Error(w, "content encoding is not supported", http.StatusUnsupportedMediaType)
		return
	}
	err := s.receive(http.MaxBytesReader(w, r.Body, s.bodyLimit), r.ContentLength)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		w.WriteHeader(http.StatusAccepted)
	case errors.As(err, &tooLarge):
		http.Error(w, "message too large", http.StatusRequestEntityTooLarge)
	case errors.Is(err, errFull):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusTooManyRequests)
	case errors.Is(err, errEnded):
		http.Error(w, "session not found", http.StatusNotFound)
	default:
		http.Error(w, "cannot read the body", http.StatusBadRequest)
	}
}

// add makes the session known and counts it in running.
func (h *Handler) add(token string, s *session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errors.New("shutting down")
	}
	if len(h.sessions) >= orDefault(h.MaxSessions, defaultMaxSessions) {
		return errors.New("too many sessions")
	}
	if h.sessions == nil {
		h.sessions = make(map[string]*session)
	}
	h.sessions[token] = s
	h.running.Add(1)
	return nil
}

func (h *Handler) remove(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, token)
}

func (h *Handler) find(token string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[token]
}

// Close refuses new streams, ends those that are open, and waits until every
// call of Serve has returned. It must not be called by Serve.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closed = true
	for _, s := range h.sessions {
		s.end(errEnded)
	}
	h.mu.Unlock()
	h.running.Wait()
	return nil
}

// acceptsStream says whether a client that states its wishes takes an event
// stream.
func acceptsStream(header http.Header) bool {
	accept := header.Values("Accept")
	if len(accept) == 0 {
		return true
	}
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			t, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(t)) {
			case eventstream.ContentType, "text/*", "*/*":
				return true
			}
		}
	}
	return false
}

func orDefault[T int | int64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// readBody reads to the end of body, whose length is n, or unknown if n < 0.
func readBody(body io.Reader, n int64) ([]byte, error) {
	if n < 0 {
		return io.ReadAll(body)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(body, b)
	return b, err
}
