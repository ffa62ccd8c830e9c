package sse_test

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

	"go.uber.org/goleak"

	"mcpv/internal/eventstream"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers every message with itself until the stream ends.
func echo(_ context.Context, s jsonrpc.Stream, _ *http.Request) error {
	for {
		b, err := s.Read()
		if err != nil {
			return err
		}
		if err := s.Write(b); err != nil {
			return err
		}
	}
}

// serve runs h on a server of its own, whose client it returns too.
func serve(t *testing.T, h *sse.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		srv.Close()
	})
	return srv
}

func dial(t *testing.T, srv *httptest.Server, header ...string) *sse.Stream {
	t.Helper()
	opts := &sse.DialOptions{HTTPClient: srv.Client(), Header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		opts.Header.Set(header[i], header[i+1])
	}
	s, err := sse.Dial(t.Context(), srv.URL, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// open makes a stream by hand and returns the URL for messages and the events.
func open(t *testing.T, srv *httptest.Server, header ...string) (string, *eventstream.Reader) {
	t.Helper()
	resp := do(t, srv, "GET", srv.URL, nil, header...)
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %s, %v", resp.Status, resp.Header)
	}
	events := eventstream.NewReader(resp.Body, 0)
	e, err := events.Next()
	if err != nil || e.Name != "endpoint" || !strings.HasPrefix(string(e.Data), "/") {
		t.Fatalf("first event %+v, %v", e, err)
	}
	return srv.URL + string(e.Data), events
}

func do(t *testing.T, srv *httptest.Server, method, url string, body io.Reader, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if method == "POST" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// post returns the status of a posted message and its Retry-After.
func post(t *testing.T, srv *httptest.Server, url string, body io.Reader, header ...string) (int, string) {
	t.Helper()
	resp := do(t, srv, "POST", url, body, header...)
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Retry-After")
}

func text(s string) io.Reader { return strings.NewReader(s) }

// chunked hides the length of a body.
func chunked(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }

func read(t *testing.T, s jsonrpc.Stream) []byte {
	t.Helper()
	b, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMessagesCrossInOrder(t *testing.T) {
	s := dial(t, serve(t, &sse.Handler{Serve: echo}))
	frames := [][]byte{[]byte(`{"id":1}`), bytes.Repeat([]byte("x"), 1<<20), []byte("{\n}"), []byte("not json"), {}}
	for _, f := range frames {
		if err := s.Write(f); err != nil {
			t.Fatal(err)
		}
		if got := read(t, s); !bytes.Equal(got, f) {
			t.Errorf("got %d bytes, want %d", len(got), len(f))
		}
	}
	if err := s.Write(frames[0], frames[3]); err != nil {
		t.Fatal(err)
	}
	if a, b := read(t, s), read(t, s); !bytes.Equal(a, frames[0]) || !bytes.Equal(b, frames[3]) {
		t.Errorf("got %s, %s", a, b)
	}
}

func TestHTTP2(t *testing.T) {
	h := &sse.Handler{Serve: echo}
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	defer h.Close()
	s := dial(t, srv)
	for _, f := range []string{"a", strings.Repeat("b", 1<<20)} {
		if err := s.Write([]byte(f)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, s); string(got) != f {
			t.Errorf("got %d bytes", len(got))
		}
	}
	h.Close()
	if _, err := s.Read(); err != io.EOF {
		t.Errorf("end: %v", err)
	}
}

func TestTokensAreLongAndDiffer(t *testing.T) {
	srv := serve(t, &sse.Handler{Serve: echo, Endpoint: "/messages?x=1"})
	a, _ := open(t, srv)
	b, _ := open(t, srv)
	_, token, _ := strings.Cut(a, "session=")
	if a == b || len(token) < 26 || !strings.HasPrefix(a, srv.URL+"/messages?") || !strings.Contains(a, "x=1") {
		t.Errorf("%s, %s", a, b)
	}
}

func TestEndpointKeepsStrippedPrefix(t *testing.T) {
	h := &sse.Handler{Serve: echo}
	srv := httptest.NewServer(http.StripPrefix("/prefix", h))
	defer srv.Close()
	defer h.Close()
	s, err := sse.Dial(t.Context(), srv.URL+"/prefix/sse?q=1", &sse.DialOptions{HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s); string(got) != "x" {
		t.Errorf("got %q", got)
	}
}

func TestEndpointNamesNoOtherHost(t *testing.T) {
	srv := serve(t, &sse.Handler{Serve: echo})
	resp := do(t, srv, "GET", srv.URL+"//evil.example/x", nil)
	defer resp.Body.Close()
	e, err := eventstream.NewReader(resp.Body, 0).Next()
	if err != nil || strings.HasPrefix(string(e.Data), "//") {
		t.Errorf("got %s, %v", e.Data, err)
	}
}

func TestEndOfStreamEndsSession(t *testing.T) {
	ended := make(chan error, 1)
	srv := serve(t, &sse.Handler{Serve: func(ctx context.Context, s jsonrpc.Stream, r *http.Request) error {
		_, err := s.Read()
		<-ctx.Done()
		ended <- err
		return nil
	}})
	s := dial(t, srv)
	s.Close()
	if err := <-ended; err != io.EOF {
		t.Errorf("server: %v", err)
	}
	if _, err := s.Read(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if err := s.Write([]byte("{}")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write: %v", err)
	}
}

func TestServeEndsStream(t *testing.T) {
	streams := make(chan jsonrpc.Stream, 1)
	srv := serve(t, &sse.Handler{Serve: func(_ context.Context, s jsonrpc.Stream, _ *http.Request) error {
		streams <- s
		return s.Write([]byte("bye"))
	}})
	url, events := open(t, srv)
	if e, err := events.Next(); string(e.Data) != "bye" || err != nil {
		t.Errorf("got %q, %v", e.Data, err)
	}
	if _, err := events.Next(); err != io.EOF {
		t.Errorf("client: %v", err)
	}
	if status, _ := post(t, srv, url, text("{}")); status != 404 {
		t.Errorf("post after the end: %d", status)
	}
	stream := <-streams
	if err := stream.Write([]byte("x")); err == nil {
		t.Error("write after the end succeeded")
	}
	if _, err := stream.Read(); err == nil {
		t.Error("read after the end succeeded")
	}
	stream.Close()
}

func TestCloseByServer(t *testing.T) {
	srv := serve(t, &sse.Handler{Serve: func(_ context.Context, s jsonrpc.Stream, _ *http.Request) error {
		s.Close()
		_, err := s.Read()
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("read: %v", err)
		}
		return err
	}})
	if _, err := dial(t, srv).Read(); err != io.EOF {
		t.Errorf("client: %v", err)
	}
}

func TestOwner(t *testing.T) {
	srv := serve(t, &sse.Handler{Serve: echo, Owner: func(r *http.Request) string { return r.Header.Get("User") }})
	url, events := open(t, srv, "User", "alice")
	for _, other := range []string{"bob", ""} {
		if status, _ := post(t, srv, url, text(`"bad"`), "User", other); status != 404 {
			t.Errorf("%q: %d", other, status)
		}
	}
	if status, _ := post(t, srv, url, text(`"good"`), "User", "alice"); status != 202 {
		t.Errorf("alice: %d", status)
	}
	if e, err := events.Next(); string(e.Data) != `"good"` || e.Name != "message" || err != nil {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestRefusedRequests(t *testing.T) {
	srv := serve(t, &sse.Handler{Serve: echo, BodyLimit: 100})
	url, events := open(t, srv)
	long := strings.Repeat("x", 101)
	tests := []struct {
		name, method, url string
		body              io.Reader
		header            []string
		status            int
	}{
		{"unknown session", "POST", srv.URL + "/?session=x", text("{}"), nil, 404},
		{"no session", "POST", srv.URL, text("{}"), nil, 404},
		{"text", "POST", url, text("{}"), []string{"Content-Type", "text/plain"}, 415},
		{"no type", "POST", url, text("{}"), []string{"Content-Type", ""}, 415},
		{"gzip", "POST", url, text("{}"), []string{"Content-Encoding", "gzip"}, 415},
		{"parameters", "POST", url, text("{}"), []string{"Content-Type", "application/json; charset=utf-8"}, 202},
		{"too long", "POST", url, text(long), nil, 413},
		{"too long, chunked", "POST", url, chunked(long), nil, 413},
		{"exactly", "POST", url, text(long[1:]), nil, 202},
		{"exactly, chunked", "POST", url, chunked(long[1:]), nil, 202},
		{"origin, post", "POST", url, text("{}"), []string{"Origin", "https://evil.example"}, 403},
		{"null, post", "POST", url, text("{}"), []string{"Origin", "null"}, 403},
		{"host, post", "POST", url, text("{}"), []string{"Host", "evil.example"}, 403},
		{"origin, get", "GET", srv.URL, nil, []string{"Origin", "https://evil.example"}, 403},
		{"rebinding, get", "GET", srv.URL, nil, []string{"Origin", "http://evil.example", "Host", "evil.example"}, 403},
		{"accept", "GET", srv.URL, nil, []string{"Accept", "application/json"}, 406},
		{"put", "PUT", url, text("{}"), nil, 405},
		{"delete", "DELETE", url, nil, nil, 405},
	}
	accepted := 0
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := do(t, srv, tt.method, tt.url, tt.body, tt.header...)
			resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Errorf("got %d, want %d", resp.StatusCode, tt.status)
			}
			if tt.status == 405 && resp.Header.Get("Allow") != "GET, POST" {
				t.Errorf("allow %q", resp.Header.Get("Allow"))
			}
			if resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("opens up to other origins")
			}
		})
		if tt.status == 202 {
			accepted++
		}
	}
	for range accepted {
		if e, err := events.Next(); err != nil || e.Name != "message" {
			t.Fatalf("got %+v, %v", e, err)
		}
	}
}

// A session that does not read gets what its queue holds, then 429; what it has
// read makes room.
func TestQueueIsBounded(t *testing.T) {
	for name, h := range map[string]*sse.Handler{
		"length": {QueueLength: 2},
		"bytes":  {QueueBytes: 10, BodyLimit: 10},
	} {
		t.Run(name, func(t *testing.T) {
			allow := make(chan struct{})
			h.Serve = func(ctx context.Context, s jsonrpc.Stream, _ *http.Request) error {
				for {
					select {
					case <-allow:
					case <-ctx.Done():
						return nil
					}
					b, err := s.Read()
					if err != nil {
						return err
					}
					s.Write(b)
				}
			}
			srv := serve(t, h)
			url, events := open(t, srv)
			for i, want := range []int{202, 202, 429, 429} {
				status, retry := post(t, srv, url, text("12345"))
				if status != want || (status == 429) != (retry != "") {
					t.Errorf("post %d: %d, retry after %q", i, status, retry)
				}
			}
			allow <- struct{}{}
			if e, err := events.Next(); string(e.Data) != "12345" || err != nil {
				t.Fatalf("got %q, %v", e.Data, err)
			}
			if status, _ := post(t, srv, url, text("12345")); status != 202 {
				t.Errorf("after a read: %d", status)
			}
			if status, _ := post(t, srv, url, chunked("12345")); status != 429 {
				t.Errorf("chunked: %d", status)
			}
		})
	}
}

func TestMaxSessions(t *testing.T) {
	srv := serve(t, &sse.Handler{Serve: echo, MaxSessions: 1})
	open(t, srv)
	resp := do(t, srv, "GET", srv.URL, nil)
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %s", resp.Status)
	}
}

func TestHandlerClose(t *testing.T) {
	h := &sse.Handler{Serve: func(ctx context.Context, s jsonrpc.Stream, _ *http.Request) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	srv := serve(t, h)
	a, b := dial(t, srv), dial(t, srv)
	h.Close()
	for _, s := range []*sse.Stream{a, b} {
		if _, err := s.Read(); err != io.EOF {
			t.Errorf("client: %v", err)
		}
	}
	var status *mcp.HTTPError
	if _, err := sse.Dial(t.Context(), srv.URL, nil); !errors.As(err, &status) || status.Status != 503 {
		t.Errorf("after close: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}
