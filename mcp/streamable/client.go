package streamable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpv/internal/eventstream"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// A Transport reaches one server over Streamable HTTP, in every revision that
// has it. Only URL is needed. It may be used for any number of links.
type Transport struct {
	// URL is the endpoint: http or https.
	URL string

	// Client sends the requests; authentication is the business of its
	// RoundTripper. Nil means one of its own for each link, with the proxy of
	// the environment. Its Timeout has to be 0, or it cuts streams.
	//
	// A client without CheckRedirect follows redirects only within the origin
	// of URL and only those that keep method and body (307 and 308), so that no
	// session id and no argument goes to another host. Other redirects fail
	// with *mcp.HTTPError.
	Client *http.Client

	// Header goes with every request. Headers of the protocol (Mcp-*,
	// Last-Event-ID), of content (Accept, Content-*) and Host are left out.
	Header http.Header

	// MaxEvent bounds one event of a stream, MaxBody a JSON response, in bytes.
	// 0 means 16 MiB and 64 MiB.
	MaxEvent int
	MaxBody  int64

	// NoStream opens no stream for what a legacy server sends on its own:
	// changes of lists then go unnoticed.
	NoStream bool

	// Logger takes what no caller is told: lost streams, frames that are no
	// messages. Nil discards.
	Logger *slog.Logger
}

// Connect returns a link. It sends nothing; ctx is for its values only.
func (t *Transport) Connect(ctx context.Context, in mcp.Receiver) (mcp.Link, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, errors.New("endpoint is not a URL") // the parser's error would quote it, secrets and all
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("endpoint has to be an absolute http or https URL, not one of %q", u.Scheme)
	}
	u.Fragment, u.RawFragment = "", ""
	l := &clientLink{
		in: in, origin: u.Scheme + "://" + u.Host,
		posts: clientRequest(http.MethodPost, u), gets: clientRequest(http.MethodGet, u), deletes: clientRequest(http.MethodDelete, u),
		fixed: clientFixedHeader(t.Header), maxEvent: t.MaxEvent, maxBody: t.MaxBody, log: t.Logger,
		done: make(chan struct{}), waiting: map[jsonrpc.ID]*clientCall{}, noStream: t.NoStream,
	}
	l.http, l.owned = clientHTTP(t.Client)
	if l.maxEvent == 0 {
		l.maxEvent = eventstream.MaxEvent
	}
	if l.maxBody == 0 {
		l.maxBody = clientMaxBody
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.context, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	l.state.Store((&clientState{}).with(l.fixed))
	return l, nil
}

const (
	clientMaxBody    = 64 << 20
	clientMaxSession = 8 << 10 // bytes of a session id; some are tokens

	// clientFarewell bounds each message that nobody waits for: the
	// cancellation of a request, the end of a session.
	clientFarewell = 2 * time.Second
)

// clientLink is the Link of a Transport. There is no connection to lose: it
// ends when it is closed.
type clientLink struct {
	in                   mcp.Receiver
	http                 *http.Client
	owned                *http.Transport // nil when the caller's client is used
	posts, gets, deletes *http.Request   // templates; never sent themselves
	fixed                http.Header     // what every request has, by the options
	origin               string          // for errors: paths and queries hold secrets
	maxEvent             int
	maxBody              int64
	log                  *slog.Logger

	ids     atomic.Int64
	context context.Context // ends with Close
	cancel  context.CancelCauseFunc
	state   atomic.Pointer[clientState] // written under mu
	running sync.WaitGroup              // calls and goroutines; added to under mu
	done    chan struct{}

	mu         sync.Mutex // guards the following
	closed     bool
	noStream   bool                       // not wanted, or the server has none
	stopStream context.CancelFunc         // of the standalone stream; nil when there is none
	waiting    map[jsonrpc.ID]*clientCall // legacy calls that read an event stream
}

// clientState is what a link has agreed on with the server. It does not change;
// a new one takes its place.
type clientState struct {
	revision *revision.Revision // nil before Agree
	session  *clientSession     // nil when there is none

	posts, gets http.Header // the headers that are equal for all messages
}

type clientSession struct {
	id   string
	gone atomic.Bool // the server has said so
}

// with returns s with its headers made anew.
func (s *clientState) with(fixed http.Header) *clientState {
	s.posts = make(http.Header, len(fixed)+4)
	for k, v := range fixed {
		s.posts[k] = v
	}
	modern := s.revision != nil && s.revision.Rules.StandardHeaders
	if s.session != nil && !modern {
		s.posts[headerSession] = []string{s.session.id}
	}
	if s.revision != nil && s.revision.Rules.VersionHeader && !modern {
		s.posts[headerVersion] = []string{s.revision.Name}
	}
	s.gets = s.posts.Clone()
	s.posts["Accept"] = []string{jsonType + ", " + eventsType}
	s.posts["Content-Type"] = []string{jsonType}
	s.gets["Accept"] = []string{eventsType}
	return s
}

// ahead reports whether the transport is newer than the revision spoken over it:
// a server that gives out a session id has what came with sessions, streams and
// their resumption, even if it speaks 2024-11-05, which had neither.
func (s *clientState) ahead() bool {
	return s.session != nil && s.revision.Rules.ServerRequests && !s.revision.Rules.Streamable
}

// NextID returns an id that this link has not used yet.
func (l *clientLink) NextID() jsonrpc.ID { return jsonrpc.IntID(l.ids.Add(1)) }

// MirrorsHeaders tells the Client that arguments are mirrored in headers.
func (l *clientLink) MirrorsHeaders() bool { return true }

// Agree sets the revision whose rules are followed from now on.
func (l *clientLink) Agree(r *revision.Revision) {
	l.change(func(s *clientState) { s.revision = r })
}

func (l *clientLink) change(edit func(*clientState)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.state.Load()
	s := &clientState{revision: old.revision, session: old.session}
	edit(s)
	l.state.Store(s.with(l.fixed))
}

// dropSession forgets the session and ends its stream: initialize makes a new
// one.
func (l *clientLink) dropSession() {
	l.mu.Lock()
	stop := l.stopStream
	l.stopStream = nil
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
	l.change(func(s *clientState) { s.session = nil })
}

// adopt takes the session id of an answer to initialize, if there is one.
func (l *clientLink) adopt(h http.Header) error {
	v := h[headerSession]
	if len(v) == 0 {
		return nil
	}
	if id := v[0]; len(v) > 1 || id == "" || len(id) > clientMaxSession || strings.ContainsFunc(id, invisible) {
		return errors.New("the server's session id is not one value of visible ASCII characters")
	}
	l.change(func(s *clientState) { s.session = &clientSession{id: v[0]} })
	return nil
}

func invisible(r rune) bool { return r < 0x21 || r > 0x7e }

// enter counts a call or goroutine in; running.Done counts it out.
func (l *clientLink) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return mcp.ErrClosed
	}
	l.running.Add(1)
	return nil
}

// Done is closed when Close has ended.
func (l *clientLink) Done() <-chan struct{} { return l.done }

// Err returns nil until Done is closed.
func (l *clientLink) Err() error {
	select {
	case <-l.done:
		return mcp.ErrClosed
	default:
		return nil
	}
}

// Close fails what is in flight with ErrClosed, ends the session and waits for
// everything the link has started, a little over two seconds at most.
func (l *clientLink) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if !first {
		<-l.done
		return nil
	}
	l.cancel(mcp.ErrClosed)
	l.endSession()
	l.running.Wait()
	if l.owned != nil {
		l.owned.CloseIdleConnections()
	}
	close(l.done)
	return nil
}

// endSession tells the server that the session is not needed any more. A server
// that does not let clients do that answers 405.
func (l *clientLink) endSession() {
	s := l.state.Load()
	if s.session == nil || s.session.gone.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.context), clientFarewell)
	defer cancel()
	h := s.gets.Clone()
	delete(h, "Accept")
	h[headerSession] = []string{s.session.id}
	resp, err := l.do(ctx, l.deletes, h, nil)
	if err != nil {
		l.log.Debug("session was not ended", "error", err)
		return
	}
	clientDiscard(resp)
}
