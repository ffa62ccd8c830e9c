package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcpv/internal/eventstream"
	"mcpv/jsonrpc"
	"mcpv/mcp"
)

const (
	maxStatusBody      = 8 << 10
	defaultPostTimeout = 60 * time.Second
	maxRedirects       = 3
)

// ErrEndpoint is wrapped by the errors about the URI that a server wants
// messages posted to.
var ErrEndpoint = errors.New("sse: bad endpoint")

// DialOptions are the options of a client. The zero value works.
type DialOptions struct {
	// HTTPClient makes the requests; nil means http.DefaultClient. Its Timeout
	// applies to posts only. Redirects are followed within the origin and if
	// they keep the method, unless it has a CheckRedirect of its own.
	HTTPClient *http.Client

	// Header is sent with every request.
	Header http.Header

	// MaxEvent is the largest message in bytes; 0 means 16 MiB. A larger one is
	// skipped.
	MaxEvent int
}

// A Stream is the client's side. It implements jsonrpc.Stream.
type Stream struct {
	client   *http.Client
	timeout  time.Duration
	header   http.Header
	endpoint string

	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.Closer
	events *eventstream.Reader
}

var _ jsonrpc.Stream = (*Stream)(nil)

// Dial opens the stream at rawURL and waits for the endpoint event. ctx bounds
// that, not the stream. A status other than 200 is a *mcp.HTTPError. opts may be
// nil.
func Dial(ctx context.Context, rawURL string, opts *DialOptions) (*Stream, error) {
	if opts == nil {
		opts = &DialOptions{}
	}
	s := newStream(ctx, opts)
	stop := context.AfterFunc(ctx, func() { s.cancel(context.Cause(ctx)) })
	err := s.connect(rawURL, opts.MaxEvent)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func newStream(ctx context.Context, opts *DialOptions) *Stream {
	client := http.Client{}
	if opts.HTTPClient != nil {
		client = *opts.HTTPClient
	}
	s := &Stream{client: &client, timeout: client.Timeout, header: opts.Header.Clone()}
	if s.header == nil {
		s.header = make(http.Header)
	}
	if s.timeout <= 0 {
		s.timeout = defaultPostTimeout
	}
	client.Timeout = 0 // it would end the stream
	if client.CheckRedirect == nil {
		client.CheckRedirect = checkRedirect
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return s
}

// checkRedirect keeps headers that may hold secrets, and messages, within the
// origin they were meant for.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || req.Method != first.Method || !sameOrigin(req.URL, first.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

func (s *Stream) connect(rawURL string, maxEvent int) error {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, rawURL, nil)
	if err != nil {
		return err
	}
	req.Header = s.header.Clone()
	req.Header.Set("Accept", eventstream.ContentType)
	req.Header.Set("Cache-Control", "no-cache")
	resp, err := s.client.Do(req) //nolint:bodyclose // the stream is the body, and closes it
	if err != nil {
		return s.cause(err)
	}
	s.body = resp.Body
	if resp.StatusCode != http.StatusOK {
		return statusError(resp)
	}
	if t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || t != eventstream.ContentType {
		return fmt.Errorf("sse: content type %q is not an event stream", resp.Header.Get("Content-Type"))
	}
	s.events = eventstream.NewReader(resp.Body, maxEvent)
	return s.awaitEndpoint(resp.Request.URL)
}

// awaitEndpoint reads up to the endpoint event, which has to come first.
func (s *Stream) awaitEndpoint(base *url.URL) error {
	for {
		e, err := s.events.Next()
		switch {
		case err == io.EOF:
			return fmt.Errorf("%w: stream ended without one", ErrEndpoint)
		case err != nil:
			return s.cause(err)
		case e.Name == "endpoint":
			s.endpoint, err = resolve(base, string(e.Data))
			return err
		case e.Data != nil:
			return fmt.Errorf("%w: %q event comes first", ErrEndpoint, e.Name)
		}
	}
}

// resolve returns the absolute URI of the endpoint. Another origin is refused:
// a server could make its clients post, with their credentials, anywhere.
func resolve(base *url.URL, ref string) (string, error) {
	u, err := base.Parse(strings.TrimSpace(ref))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrEndpoint, err)
	}
	if u.User != nil || !sameOrigin(base, u) {
		return "", fmt.Errorf("%w: %s://%s is another origin than %s://%s", ErrEndpoint, u.Scheme, u.Host, base.Scheme, base.Host)
	}
	u.Fragment = ""
	return u.String(), nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	switch u.Scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return ""
}

// Read implements jsonrpc.Stream. Events other than messages are passed over.
func (s *Stream) Read() ([]byte, error) {
	for {
		e, err := s.events.Next()
		var limit *eventstream.LimitError
		switch {
		case errors.As(err, &limit):
			return nil, fmt.Errorf("%w: %w", jsonrpc.ErrSkipped, err)
		case err == io.EOF:
			return nil, io.EOF
		case err != nil:
			return nil, s.cause(err)
		case e.Data != nil && (e.Name == "" || e.Name == "message"):
			return e.Data, nil
		}
	}
}

// Write implements jsonrpc.Stream: one POST a frame, each after the answer to
// the one before. A refusal is a *mcp.HTTPError, after which the stream can still
// be used; the frames behind the refused one are not sent.
func (s *Stream) Write(frames ...[]byte) error {
	for _, f := range frames {
		if err := s.post(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stream) post(frame []byte) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
	defer cancel()
	// The transport may still read the body when Do has returned, and the frame
	// is the caller's then.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(bytes.Clone(frame)))
	if err != nil {
		return err
	}
	req.Header = s.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return s.cause(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return statusError(resp)
	}
	// The body says nothing; reading it lets the connection be used again.
	_, _ = io.CopyN(io.Discard, resp.Body, maxStatusBody)
	return nil
}

// Close implements jsonrpc.Stream. The server sees the end of the stream.
func (s *Stream) Close() error {
	s.cancel(net.ErrClosed)
	if s.body != nil {
		_ = s.body.Close()
	}
	return nil
}

// cause returns why the stream was ended on this side, or else err.
func (s *Stream) cause(err error) error {
	if c := context.Cause(s.ctx); c != nil {
		return c
	}
	return fmt.Errorf("sse: %w", err)
}

func statusError(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatusBody))
	return fmt.Errorf("sse: %w", &mcp.HTTPError{Status: resp.StatusCode, Header: resp.Header, Body: body})
}
