package websocket

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"mcpv/mcp"
)

// DialOptions are the options of a client. The zero value works.
type DialOptions struct {
	// HTTPClient makes the handshake; nil means http.DefaultClient. Redirects
	// are not followed unless it has a CheckRedirect of its own.
	HTTPClient *http.Client

	// Header is sent with the handshake.
	Header http.Header

	// ReadLimit is the largest message in bytes; 0 means 16 MiB.
	ReadLimit int64

	// WriteTimeout and PingInterval are as in AcceptOptions.
	WriteTimeout time.Duration
	PingInterval time.Duration
}

// Dial connects to a ws, wss, http or https URL. ctx bounds the handshake, not
// the stream. An answer other than 101 is a *mcp.HTTPError. opts may be nil.
func Dial(ctx context.Context, url string, opts *DialOptions) (*Stream, error) {
	if opts == nil {
		opts = &DialOptions{}
	}
	client := http.Client{}
	if opts.HTTPClient != nil {
		client = *opts.HTTPClient
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	wire := &wireTransport{base: client.Transport}
	client.Transport = wire
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{ //nolint:bodyclose // the package replaces the body by what it has read of it
		HTTPClient:   &client,
		HTTPHeader:   opts.Header,
		Subprotocols: []string{Subprotocol},
	})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, statusError(resp)
		}
		return nil, err
	}
	if conn.Subprotocol() != Subprotocol {
		_ = conn.CloseNow()
		return nil, fmt.Errorf("websocket: server chose subprotocol %q, not %q", conn.Subprotocol(), Subprotocol)
	}
	set := settings{readLimit: opts.ReadLimit, writeTimeout: opts.WriteTimeout, pingInterval: opts.PingInterval}
	return newStream(ctx, conn, wire.body, set.withDefaults(clientReadLimit)), nil
}

func statusError(resp *http.Response) error {
	e := &mcp.HTTPError{Status: resp.StatusCode, Header: resp.Header}
	if resp.Body != nil {
		e.Body, _ = io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	}
	return fmt.Errorf("websocket: handshake: %w", e)
}

// wireTransport remembers the connection behind the answer to a handshake.
type wireTransport struct {
	base http.RoundTripper
	body io.Closer
}

func (t *wireTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(r)
	if err == nil {
		t.body = resp.Body
	}
	return resp, err
}
