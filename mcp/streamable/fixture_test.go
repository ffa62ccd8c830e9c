package streamable_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpv/internal/eventstream"
	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/streamable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
	meta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// A fixture is a server written by hand on the waist alone. Its tools:
//
//	echo     answers with its arguments
//	say      sends count notifications, then answers
//	ask      asks the client by the method given, and answers with the answer
//	wait     tells started, waits until it is released or cancelled, tells ended
//	poll     closes its connection, again when it is released if told so, then is wait
//	panic    panics
//	fail     fails with the code given
type fixture struct {
	started  chan struct{}
	released chan struct{}
	ended    chan error
	closed   chan bool // what CloseStream returned

	mu        sync.Mutex
	calls     []string // frames of tools/call
	listeners map[int]func(*jsonrpc.Message)
	next      int
	filters   []mcp.Filter
}

func newFixture() *fixture {
	return &fixture{
		started: make(chan struct{}, 16), released: make(chan struct{}, 16), ended: make(chan error, 16),
		closed: make(chan bool, 16), listeners: map[int]func(*jsonrpc.Message){},
	}
}

func (f *fixture) ran() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func (f *fixture) Handle(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
	id := x.Request.ID()
	result := func(s string) (*jsonrpc.Message, error) { return jsonrpc.NewResult(id, []byte(s)), nil }
	switch x.Request.Method() {
	case "server/discover":
		return result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fixture","version":"1"}},"resultType":"complete"}`)
	case "tools/list":
		return result(`{"tools":[],"resultType":"complete"}`)
	case "resources/read", "prompts/get", "logging/setLevel":
		return result(`{}`)
	case "notifications/roots/list_changed":
		if err := x.Peer.Notify(ctx, progress(1)); err != nil {
			return nil, err
		}
		_, err := x.Peer.Call(ctx, "roots/list", []byte(`{}`))
		f.ended <- err
		return nil, nil
	case "tools/call":
		f.mu.Lock()
		f.calls = append(f.calls, string(x.Request.Bytes()))
		f.mu.Unlock()
		return f.tool(ctx, x)
	}
	return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "method not found")
}

func (f *fixture) tool(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
	args := rawjson.Get(x.Request.Params(), "arguments")
	result := func(s []byte) (*jsonrpc.Message, error) {
		return jsonrpc.NewResult(x.Request.ID(), append(append([]byte(`{"resultType":"complete","got":`), s...), '}')), nil
	}
	name, _ := rawjson.String(rawjson.Get(x.Request.Params(), "name"))
	switch name {
	case "say":
		n, _ := rawjson.Int(rawjson.Get(args, "count"))
		for i := range n {
			if err := x.Peer.Notify(ctx, progress(int(i))); err != nil {
				return nil, err
			}
		}
	case "ask":
		method, _ := rawjson.String(rawjson.Get(args, "method"))
		answer, err := x.Peer.Call(ctx, method, []byte(`{}`))
		if err != nil {
			return nil, err
		}
		if e := answer.Err(); e != nil {
			return nil, e
		}
		return result(answer.Result())
	case "poll":
		f.closed <- streamable.CloseStream(ctx, 100*time.Millisecond)
		if rawjson.Get(args, "again") != nil {
			<-f.released
			f.closed <- streamable.CloseStream(ctx, 0)
		}
		return f.wait(ctx, x, result)
	case "wait":
		return f.wait(ctx, x, result)
	case "panic":
		panic("as asked")
	case "fail":
		code, _ := rawjson.Int(rawjson.Get(args, "code"))
		return nil, jsonrpc.NewError(int(code), "as asked")
	}
	if args == nil {
		args = []byte(`{}`)
	}
	return result(args)
}

func (f *fixture) wait(ctx context.Context, x *mcp.Exchange, result func([]byte) (*jsonrpc.Message, error)) (*jsonrpc.Message, error) {
	if rawjson.Get(x.Request.Params(), "arguments", "say") != nil {
		if err := x.Peer.Notify(ctx, progress(0)); err != nil {
			return nil, err
		}
	}
	f.started <- struct{}{}
	select {
	case <-f.released:
		f.ended <- nil
		return result([]byte(`"released"`))
	case <-ctx.Done():
		f.ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
}

func progress(i int) *jsonrpc.Message {
	return jsonrpc.NewNotification("notifications/progress", fmt.Appendf(nil, `{"progressToken":1,"progress":%d}`, i))
}

func (f *fixture) Listen(_ context.Context, _ *mcp.Session, filter mcp.Filter, deliver func(*jsonrpc.Message)) (mcp.Filter, func(), error) {
	if slices.Contains(filter.URIs, "test://panic") {
		panic("as asked")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	n := f.next
	f.listeners[n] = deliver
	f.filters = append(f.filters, filter)
	return filter, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, n)
	}, nil
}

// change tells every listener.
func (f *fixture) change(method, params string) {
	n := jsonrpc.NewNotification(method, nil)
	if params != "" {
		n = jsonrpc.NewNotification(method, []byte(params))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, deliver := range f.listeners {
		deliver(n)
	}
}

func (f *fixture) listening() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.listeners)
}

// A server is a handler behind a real HTTP server, and a client for it.
type server struct {
	t       testing.TB
	handler *streamable.Handler
	fixture *fixture
	url     string
	client  *http.Client
}

func serve(t testing.TB, o *streamable.Options) *server {
	f := newFixture()
	s := &server{t: t, fixture: f, handler: streamable.NewHandler(f, o)}
	return s.start(s.handler)
}

func (s *server) start(h http.Handler) *server {
	hs := httptest.NewServer(h)
	s.url, s.client = hs.URL+"/mcp", hs.Client()
	s.t.Cleanup(func() {
		_ = s.handler.Close()
		hs.CloseClientConnections()
		hs.Close()
	})
	return s
}

// An answer is a response that has been read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) code() int {
	n, _ := rawjson.Int(rawjson.Get([]byte(a.body), "error", "code"))
	return int(n)
}

func (a answer) id() string { return string(rawjson.Get([]byte(a.body), "id")) }

type headers map[string]string

func (h headers) with(more ...string) headers {
	h = maps.Clone(h)
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

// base is what every POST has.
var base = headers{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

// modernHeaders are those of a modern request.
func modernHeaders(method, name string) headers {
	h := base.with("MCP-Protocol-Version", modern, "Mcp-Method", method)
	if name != "" {
		h["Mcp-Name"] = name
	}
	return h
}

// request builds a request; a header value "\x00" means none, and one with
// "\x01" in it several.
func (s *server) request(ctx context.Context, method, body string, h headers) *http.Request {
	s.t.Helper()
	var from io.Reader
	if body != "" || method == http.MethodPost {
		from = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url, from)
	if err != nil {
		s.t.Fatal(err)
	}
	for k, v := range h {
		switch {
		case k == "Host":
			r.Host = v
		case v == "\x00":
		default:
			r.Header[http.CanonicalHeaderKey(k)] = strings.Split(v, "\x01")
		}
	}
	return r
}

func (s *server) open(ctx context.Context, method, body string, h headers) *http.Response {
	s.t.Helper()
	resp, err := s.client.Do(s.request(ctx, method, body, h))
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func (s *server) do(method, body string, h headers) answer {
	s.t.Helper()
	resp := s.open(context.Background(), method, body, h)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

func (s *server) post(body string, h headers) answer {
	s.t.Helper()
	return s.do(http.MethodPost, body, h)
}

// call is a modern tools/call.
func modernCall(name, args string) (string, headers) {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `,` + meta + `}}`, modernHeaders("tools/call", name)
}

func legacyCall(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

func initialize(version string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
}

// session initializes and returns the headers of later requests.
func (s *server) session(version string, more ...string) headers {
	s.t.Helper()
	h := base.with(more...)
	a := s.post(initialize(version), h)
	id := a.header.Get("Mcp-Session-Id")
	if a.status != 200 || id == "" {
		s.t.Fatalf("initialize: %d %q", a.status, a.body)
	}
	h = h.with("Mcp-Session-Id", id, "MCP-Protocol-Version", version)
	if a := s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, h); a.status != 202 || a.body != "" {
		s.t.Fatalf("initialized: %d %q", a.status, a.body)
	}
	return h
}

// A sse is a stream being read.
type sse struct {
	t      testing.TB
	resp   *http.Response
	events *eventstream.Reader
	cancel context.CancelFunc
}

func (s *server) stream(method, body string, h headers) *sse {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp := s.open(ctx, method, body, h)
	s.t.Cleanup(func() { cancel(); resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("no stream: %d %s %q", resp.StatusCode, resp.Header.Get("Content-Type"), b)
	}
	return &sse{s.t, resp, eventstream.NewReader(resp.Body, 0), cancel}
}

func (e *sse) next() eventstream.Event {
	e.t.Helper()
	ev, err := e.events.Next()
	if err != nil {
		e.t.Fatalf("next event: %v", err)
	}
	return ev
}

// end reads to the end and returns the data of the events.
func (e *sse) rest() []string {
	e.t.Helper()
	var all []string
	for {
		ev, err := e.events.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			e.t.Fatalf("rest of events: %v", err)
		}
		all = append(all, string(ev.Data))
	}
}

// drop breaks the connection.
func (e *sse) drop() { e.cancel(); e.resp.Body.Close() }

func methodOf(data []byte) string {
	m, _ := rawjson.String(rawjson.Get(data, "method"))
	return m
}

func get(h headers, more ...string) headers {
	h = h.with(append([]string{"Accept", "text/event-stream", "Content-Type", "\x00"}, more...)...)
	return h
}

func receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
