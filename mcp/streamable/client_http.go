package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// clientHTTP returns the client to send with, and its transport if it was made
// for this link.
func clientHTTP(given *http.Client) (*http.Client, *http.Transport) {
	if given != nil {
		c := *given
		if c.CheckRedirect == nil {
			c.CheckRedirect = clientRedirect
		}
		return &c, nil
	}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64, // the default of 2 makes parallel calls dial anew
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	return &http.Client{Transport: t, CheckRedirect: clientRedirect}, t
}

// clientRedirect lets a redirect be followed that stays within the origin and
// repeats the request as it was. All others are answers.
func clientRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) >= 10 || req.Method != first.Method ||
		req.URL.Scheme != first.URL.Scheme || !strings.EqualFold(req.URL.Host, first.URL.Host) {
		return http.ErrUseLastResponse
	}
	return nil
}

// clientRequest returns a template. WithContext makes a request of it, which
// saves parsing the URL each time.
func clientRequest(method string, u *url.URL) *http.Request {
	return &http.Request{Method: method, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
}

// clientFixedHeader returns the caller's headers without those that are ours.
func clientFixedHeader(given http.Header) http.Header {
	h := make(http.Header, len(given))
	for k, v := range given {
		switch k = http.CanonicalHeaderKey(k); {
		case strings.HasPrefix(k, "Mcp-"), strings.HasPrefix(k, "Content-"):
		case k == headerLastEvent, k == "Accept", k == "Host", k == "Transfer-Encoding":
		default:
			h[k] = append(h[k], v...)
		}
	}
	return h
}

// clientBody is a request body that needs one allocation.
type clientBody struct{ bytes.Reader }

func (*clientBody) Close() error { return nil }

func newClientBody(b []byte) *clientBody {
	r := &clientBody{}
	r.Reset(b)
	return r
}

// do sends one request, which owns header. Errors name the origin only: the
// URL may hold secrets.
func (l *clientLink) do(ctx context.Context, template *http.Request, header http.Header, body []byte) (*http.Response, error) {
	req := template.WithContext(ctx)
	req.Header = header
	if body != nil {
		req.Body, req.ContentLength = newClientBody(body), int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return newClientBody(body), nil }
	}
	resp, err := l.http.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err
		}
		return nil, fmt.Errorf("%s %s: %w", template.Method, l.origin, err)
	}
	return resp, nil
}

// openEvents opens a stream by GET: the standalone one, or what follows the
// event last.
func (l *clientLink) openEvents(ctx context.Context, s *clientState, last string) (io.ReadCloser, error) {
	h := maps.Clone(s.gets)
	if last != "" {
		h[headerLastEvent] = []string{last}
	}
	resp, err := l.do(ctx, l.gets, h, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && clientContent(resp.Header, eventsType) {
		return resp.Body, nil
	}
	e := l.httpError(resp)
	if e.Status == http.StatusNotFound && s.session != nil {
		s.session.gone.Store(true)
		return nil, fmt.Errorf("%w: %w", mcp.ErrSessionGone, e)
	}
	return nil, e
}

// clientTransient reports whether a failure to open a stream may pass: that of
// the way, or of the server for the moment.
func clientTransient(err error) bool {
	var e *mcp.HTTPError
	return !errors.As(err, &e) || e.Status >= 500 && e.Status != http.StatusNotImplemented || e.Status == http.StatusTooManyRequests
}

// clientErrorBody bounds how much of a refusal is read.
const clientErrorBody = 64 << 10

// httpError makes an error of an answer that is none, and closes its body.
func (l *clientLink) httpError(resp *http.Response) *mcp.HTTPError {
	defer resp.Body.Close()
	e := &mcp.HTTPError{Status: resp.StatusCode, Header: resp.Header}
	if clientContent(resp.Header, eventsType) {
		return e // its end may never come
	}
	e.Body, _ = io.ReadAll(io.LimitReader(resp.Body, min(clientErrorBody, l.maxBody))) // what has come is all there is to tell
	if m, err := jsonrpc.Parse(e.Body); err == nil && m.RawError() != nil {
		e.Message = m
	}
	return e
}

// clientContent reports whether the body is declared to be of the type.
func clientContent(h http.Header, want string) bool {
	v := h["Content-Type"]
	if len(v) == 0 {
		return false
	}
	t, _, _ := strings.Cut(v[0], ";")
	return strings.EqualFold(strings.TrimSpace(t), want)
}

// readBody reads a body to its end, so that the connection can be used again,
// and closes it.
func (l *clientLink) readBody(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if resp.ContentLength > l.maxBody {
		return nil, l.tooLong()
	}
	size := resp.ContentLength + 1 // one to see the end with
	if size <= 0 {
		size = 1 << 10
	}
	b := make([]byte, 0, min(size, 1<<20)) // a promise of more has to be kept first
	for {
		n, err := resp.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > l.maxBody:
			return nil, l.tooLong()
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, fmt.Errorf("read response: %w", err)
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}

func (l *clientLink) tooLong() error {
	return fmt.Errorf("response is longer than %d bytes", l.maxBody)
}

// clientDiscard ends a response whose body does not matter. A short one is
// read, so that the connection can be used again.
func clientDiscard(resp *http.Response) {
	if !clientContent(resp.Header, eventsType) {
		_, _ = io.CopyN(io.Discard, resp.Body, clientErrorBody) // it does not matter
	}
	_ = resp.Body.Close() // nothing was written
}
