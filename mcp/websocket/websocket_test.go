package websocket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	raw "github.com/coder/websocket"
	"go.uber.org/goleak"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/websocket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers every message with itself until the stream ends.
func echo(_ context.Context, s jsonrpc.Stream) error {
	for {
		b, err := s.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Write(b); err != nil {
			return err
		}
	}
}

// serve runs h on a server of its own and returns the server's URL.
func serve(t *testing.T, h *websocket.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		srv.Close()
	})
	return srv.URL
}

func dial(t *testing.T, url string, opts *websocket.DialOptions) *websocket.Stream {
	t.Helper()
	s, err := websocket.Dial(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func read(t *testing.T, s jsonrpc.Stream) []byte {
	t.Helper()
	b, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMessagesCrossInOrder(t *testing.T) {
	s := dial(t, serve(t, &websocket.Handler{Serve: echo}), nil)
	frames := [][]byte{[]byte(`{"id":1}`), bytes.Repeat([]byte("x"), 1<<20), {}, []byte(`{"id":2}`)}
	done := make(chan error, 1)
	go func() { done <- s.Write(frames...) }()
	var got [][]byte
	for range frames {
		got = append(got, read(t, s))
	}
	for i := range frames {
		if !bytes.Equal(got[i], frames[i]) {
			t.Errorf("frame %d differs: %d bytes, want %d", i, len(got[i]), len(frames[i]))
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestClientCloseIsEOF(t *testing.T) {
	ended := make(chan error, 1)
	url := serve(t, &websocket.Handler{Serve: func(_ context.Context, s jsonrpc.Stream) error {
		_, err := s.Read()
		ended <- err
		return nil
	}})
	s := dial(t, url, nil)
	s.Close()
	if err := <-ended; err != io.EOF {
		t.Errorf("server: %v", err)
	}
	if _, err := s.Read(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read after close: %v", err)
	}
	if err := s.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestCloseUnblocksRead(t *testing.T) {
	s := dial(t, serve(t, &websocket.Handler{Serve: echo}), nil)
	ended := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		_, err := s.Read()
		ended <- err
	}()
	<-started
	s.Close()
	if err := <-ended; err == nil {
		t.Error("read returned a message")
	}
}

func TestServeEndsStream(t *testing.T) {
	for name, err := range map[string]error{"orderly": nil, "with error": errors.New("boom")} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, &websocket.Handler{Serve: func(context.Context, jsonrpc.Stream) error { return err }})
			_, got := dial(t, url, nil).Read()
			if want := err == nil; (got == io.EOF) != want {
				t.Errorf("client: %v", got)
			}
			if err != nil && raw.CloseStatus(got) != raw.StatusInternalError {
				t.Errorf("client: %v", got)
			}
		})
	}
}

func TestLostConnectionIsNotEOF(t *testing.T) {
	ended := make(chan error, 1)
	url := serve(t, &websocket.Handler{Serve: func(_ context.Context, s jsonrpc.Stream) error {
		_, err := s.Read()
		ended <- err
		return err
	}})
	c, _, err := raw.Dial(t.Context(), url, &raw.DialOptions{Subprotocols: []string{"mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	c.CloseNow()
	if err := <-ended; err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

func TestBinaryFrameIsRefused(t *testing.T) {
	ended := make(chan error, 1)
	url := serve(t, &websocket.Handler{Serve: func(_ context.Context, s jsonrpc.Stream) error {
		_, err := s.Read()
		ended <- err
		return err
	}})
	c, _, err := raw.Dial(t.Context(), url, &raw.DialOptions{Subprotocols: []string{"mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(t.Context(), raw.MessageBinary, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(t.Context()); raw.CloseStatus(err) != raw.StatusUnsupportedData {
		t.Errorf("client: %v", err)
	}
	if err := <-ended; err != websocket.ErrBinary {
		t.Errorf("server: %v", err)
	}
}

func TestReadLimit(t *testing.T) {
	ended := make(chan error, 1)
	h := &websocket.Handler{
		Options: websocket.AcceptOptions{ReadLimit: 1000},
		Serve: func(ctx context.Context, s jsonrpc.Stream) error {
			err := echo(ctx, s)
			ended <- err
			return err
		},
	}
	s := dial(t, serve(t, h), nil)
	exact := bytes.Repeat([]byte("x"), 1000)
	if err := s.Write(exact); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s); !bytes.Equal(got, exact) {
		t.Errorf("got %d bytes", len(got))
	}
	s.Write(append(exact, 'x'))
	if _, err := s.Read(); raw.CloseStatus(err) != raw.StatusMessageTooBig {
		t.Errorf("client: %v", err)
	}
	if err := <-ended; !errors.Is(err, raw.ErrMessageTooBig) {
		t.Errorf("server: %v", err)
	}
}

func TestDefaultReadLimits(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 4<<20+1)
	url := serve(t, &websocket.Handler{Serve: func(_ context.Context, s jsonrpc.Stream) error {
		if err := s.Write(big); err != nil {
			return err
		}
		_, err := s.Read()
		return err
	}})
	s := dial(t, url, nil)
	if got := read(t, s); len(got) != len(big) {
		t.Errorf("client read %d bytes", len(got))
	}
	s.Write(big)
	if _, err := s.Read(); raw.CloseStatus(err) == raw.StatusNormalClosure || err == nil || err == io.EOF {
		t.Errorf("server took %d bytes: %v", len(big), err)
	}
}

func TestHandshakeIsRefused(t *testing.T) {
	h := &websocket.Handler{Serve: func(context.Context, jsonrpc.Stream) error {
		t.Error("served")
		return nil
	}}
	url := serve(t, h)
	tests := []struct {
		name, host, origin, protocol string
		status                       int
	}{
		{"host", "evil.example", "", "mcp", 403},
		{"rebinding", "evil.example", "http://evil.example", "mcp", 403},
		{"origin", "", "https://evil.example", "mcp", 403},
		{"null", "", "null", "mcp", 403},
		{"no subprotocol", "", "", "", 400},
		{"other subprotocol", "", "", "chat", 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := &raw.DialOptions{Host: tt.host, HTTPHeader: http.Header{}}
			if tt.protocol != "" {
				opts.Subprotocols = []string{tt.protocol}
			}
			if tt.origin != "" {
				opts.HTTPHeader.Set("Origin", tt.origin)
			}
			_, resp, err := raw.Dial(t.Context(), url, opts)
			if err == nil || resp == nil || resp.StatusCode != tt.status {
				t.Errorf("got %v, %v", resp, err)
			}
		})
	}
	t.Run("plain GET", func(t *testing.T) {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUpgradeRequired {
			t.Errorf("got %d", resp.StatusCode)
		}
	})
	http.DefaultClient.CloseIdleConnections()
}

func TestLoopbackOriginIsAllowed(t *testing.T) {
	url := serve(t, &websocket.Handler{Serve: echo})
	s := dial(t, url, &websocket.DialOptions{Header: http.Header{"Origin": {"http://localhost:3000"}}})
	s.Write([]byte("x"))
	if got := read(t, s); string(got) != "x" {
		t.Errorf("got %q", got)
	}
}

func TestDialErrors(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, strings.Repeat("no", 4000), http.StatusUnauthorized)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/other", func(w http.ResponseWriter, r *http.Request) {
		c, err := raw.Accept(w, r, nil)
		if err == nil {
			c.CloseNow()
		}
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for path, want := range map[string]int{"/auth": 401, "/loop": 302, "/none": 404} {
		_, err := websocket.Dial(t.Context(), srv.URL+path, nil)
		var status *mcp.HTTPError
		if !errors.As(err, &status) || status.Status != want || len(status.Body) > 1<<10 {
			t.Errorf("%s: got %v", path, err)
		}
		if path == "/auth" && status != nil && http.Header(status.Header).Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("headers lost: %v", status.Header)
		}
	}
	if _, err := websocket.Dial(t.Context(), srv.URL+"/other", nil); err == nil {
		t.Error("a server without the subprotocol was accepted")
	}
	http.DefaultClient.CloseIdleConnections()
}

type key struct{}

func TestHandlerClose(t *testing.T) {
	started := make(chan any, 2)
	h := &websocket.Handler{Serve: func(ctx context.Context, s jsonrpc.Stream) error {
		started <- ctx.Value(key{})
		<-ctx.Done()
		return ctx.Err()
	}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, "value")))
	}))
	defer srv.Close()
	a, b := dial(t, srv.URL, nil), dial(t, srv.URL, nil)
	for range 2 {
		if got := <-started; got != "value" {
			t.Errorf("context value %v", got)
		}
	}
	ended := make(chan error, 2)
	for _, s := range []*websocket.Stream{a, b} {
		go func() {
			_, err := s.Read()
			ended <- err
		}()
	}
	h.Close()
	for range 2 {
		if err := <-ended; err != io.EOF {
			t.Errorf("client: %v", err)
		}
	}
	var status *mcp.HTTPError
	if _, err := websocket.Dial(t.Context(), srv.URL, nil); !errors.As(err, &status) || status.Status != 503 {
		t.Errorf("after close: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestConnectionsAreBounded(t *testing.T) {
	h := &websocket.Handler{MaxSessions: 1, Serve: func(ctx context.Context, s jsonrpc.Stream) error {
		_, err := s.Read()
		return err
	}}
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer h.Close()
	first := dial(t, srv.URL, nil)
	var status *mcp.HTTPError
	if _, err := websocket.Dial(t.Context(), srv.URL, nil); !errors.As(err, &status) || status.Status != http.StatusServiceUnavailable {
		t.Errorf("one too many: %v", err)
	}
	if err := first.Write([]byte(`{}`)); err != nil { // others are unharmed
		t.Error(err)
	}
	if _, err := first.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("first: %v", err)
	}
	h.Close() // has to return: nothing counts as running any more
}
