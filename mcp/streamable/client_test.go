package streamable_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/streamable"
	"mcpv/revision"
)

// A clientWorld is a link and a server written by hand, joined by pipes within a
// synctest bubble: time is fake, and a goroutine that stays fails the test.
type clientWorld struct {
	t    *testing.T
	link mcp.Link

	mu    sync.Mutex
	seen  []clientSeen
	taken []clientTaken
	dials int

	conns sync.WaitGroup // time stands still when the test has returned
}

// clientSeen is a request as the server got it.
type clientSeen struct {
	verb, rpc string // HTTP method; JSON-RPC method, "" if none
	header    http.Header
	body      []byte
	at        time.Time
}

// clientTaken is a message as the Receiver got it.
type clientTaken struct {
	method string
	during jsonrpc.ID
}

func (w *clientWorld) Receive(_ mcp.Link, m *jsonrpc.Message, during jsonrpc.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken = append(w.taken, clientTaken{m.Method(), during})
}

// clientPipes is a listener whose connections are pipes.
type clientPipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *clientPipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *clientPipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *clientPipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *clientPipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// clientTest runs a test against a server. edit may change the transport.
func clientTest(t *testing.T, serve http.HandlerFunc, edit func(*streamable.Transport), test func(w *clientWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &clientWorld{t: t}
		pipes := &clientPipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: w.record(serve), ConnState: w.count}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(pipes) }()
		rt := &http.Transport{MaxIdleConnsPerHost: 8, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			w.mu.Lock()
			w.dials++
			w.mu.Unlock()
			return pipes.dial(ctx)
		}}
		tr := &streamable.Transport{URL: "http://server.test/mcp", Client: &http.Client{Transport: rt}}
		if edit != nil {
			edit(tr)
		}
		link, err := tr.Connect(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		w.link = link
		defer func() {
			_ = link.Close()
			_ = server.Close()
			<-served
			w.conns.Wait()
			rt.CloseIdleConnections()
		}()
		test(w)
	})
}

// count has conns wait for the goroutines of the server.
func (w *clientWorld) count(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		w.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		w.conns.Done()
	}
}

func (w *clientWorld) record(serve http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rpc, _ := rawjson.String(rawjson.Get(body, "method"))
		w.mu.Lock()
		w.seen = append(w.seen, clientSeen{r.Method, rpc, r.Header.Clone(), body, time.Now()})
		w.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		serve(rw, r)
	})
}

// requests returns what the server has seen, as "POST tools/call" and "GET".
func (w *clientWorld) requests() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, s := range w.seen {
		list = append(list, strings.TrimSpace(s.verb+" "+s.rpc))
	}
	return list
}

// last returns the last request that requests lists as name.
func (w *clientWorld) last(name string) clientSeen {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range slices.Backward(w.seen) {
		if strings.TrimSpace(s.verb+" "+s.rpc) == name {
			return s
		}
	}
	w.t.Fatalf("no %s among %v", name, len(w.seen))
	return clientSeen{}
}

func (w *clientWorld) received() []clientTaken {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.taken)
}

func (w *clientWorld) call(method, params string) (*jsonrpc.Message, error) {
	return w.callWith(w.t.Context(), method, params)
}

func (w *clientWorld) callWith(ctx context.Context, method, params string) (*jsonrpc.Message, error) {
	return w.link.Call(ctx, jsonrpc.NewRequest(w.link.NextID(), method, []byte(cmp.Or(params, "{}"))), nil)
}

// result is call for answers that have to be results.
func (w *clientWorld) result(method, params string) string {
	w.t.Helper()
	m, err := w.call(method, params)
	if err != nil {
		w.t.Fatalf("%s: %v", method, err)
	}
	return string(m.Result())
}

// handshake is what a Client does before anything else.
func (w *clientWorld) handshake(r *revision.Revision) {
	w.t.Helper()
	w.result("initialize", `{"protocolVersion":"`+r.Name+`"}`)
	w.link.Agree(r)
	if err := w.link.Send(w.t.Context(), jsonrpc.NewNotification("notifications/initialized", nil)); err != nil {
		w.t.Fatal(err)
	}
}

// clientRPC answers as a server that knows sessions; tool answers tools/call.
func clientRPC(tool http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, _ := io.ReadAll(r.Body)
		m, err := jsonrpc.Parse(body)
		switch {
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
		case m.Kind() != jsonrpc.Request:
			w.WriteHeader(http.StatusAccepted)
		case m.Method() == "initialize":
			w.Header().Set("Mcp-Session-Id", "session-"+m.ID().String())
			clientAnswer(w, m, `{}`)
		case m.Method() == "tools/call" && tool != nil:
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			tool(w, r)
		default:
			clientAnswer(w, m, `{"ok":true}`)
		}
	}
}

func clientAnswer(w http.ResponseWriter, m *jsonrpc.Message, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(jsonrpc.NewResult(m.ID(), []byte(result)).Bytes())
}

// clientReply writes a body of the given type; ID in it becomes the request's.
func clientReply(status int, contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "ID", string(rawjson.Get(body, "id"))))
	}
}

func TestClientConnectSendsNothing(t *testing.T) {
	clientTest(t, clientRPC(nil), nil, func(w *clientWorld) {
		if got := w.requests(); len(got) != 0 {
			t.Errorf("connect sent %v", got)
		}
		if m, ok := w.link.(mcp.HTTPLink); !ok || !m.MirrorsHeaders() {
			t.Error("the link does not say that it mirrors headers")
		}
	})
	for _, u := range []string{"", "mcp", "ftp://host/", "http://", "http://h/%zz?secret"} {
		_, err := (&streamable.Transport{URL: u}).Connect(t.Context(), nil)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Connect to %q: %v", u, err)
		}
	}
}

func TestClientLegacyLifecycle(t *testing.T) {
	clientTest(t, clientRPC(nil), nil, func(w *clientWorld) {
		w.link.Agree(revision.Latest()) // as a Client does that probed the newest era first
		w.handshake(revision.V2025_11_25)
		if got := w.result("tools/list", ""); got != `{"ok":true}` {
			t.Errorf("result %s", got)
		}
		synctest.Wait() // for the stream
		_ = w.link.Close()
		want := []string{"POST initialize", "POST notifications/initialized", "GET", "POST tools/list", "DELETE"}
		got := w.requests()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
		first := w.last("POST initialize").header
		for _, k := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
			if v := first.Get(k); v != "" {
				t.Errorf("initialize has %s: %s", k, v)
			}
		}
		if a := first.Get("Accept"); a != "application/json, text/event-stream" {
			t.Errorf("Accept: %s", a)
		}
		for _, name := range []string{"POST notifications/initialized", "POST tools/list", "GET", "DELETE"} {
			h := w.last(name).header
			if h.Get("Mcp-Session-Id") != "session-1" || h.Get("Mcp-Protocol-Version") != "2025-11-25" || h.Get("Mcp-Method") != "" {
				t.Errorf("%s has %v", name, h)
			}
		}
		if a := w.last("GET").header.Get("Accept"); a != "text/event-stream" {
			t.Errorf("GET has Accept: %s", a)
		}
	})
}

func TestClientRevisionWithoutVersionHeader(t *testing.T) {
	clientTest(t, clientRPC(nil), nil, func(w *clientWorld) {
		w.handshake(revision.V2025_03_26)
		w.result("tools/list", "")
		h := w.last("POST tools/list").header
		if h.Get("Mcp-Protocol-Version") != "" || h.Get("Mcp-Session-Id") == "" {
			t.Errorf("headers %v", h)
		}
	})
}

func TestClientInitializeDropsSession(t *testing.T) {
	clientTest(t, clientRPC(nil), nil, func(w *clientWorld) {
		w.handshake(revision.V2025_11_25)
		w.handshake(revision.V2025_11_25)
		h := w.last("POST initialize").header
		if h.Get("Mcp-Session-Id") != "" || h.Get("Mcp-Protocol-Version") != "" {
			t.Errorf("second initialize has %v", h)
		}
		w.result("tools/list", "")
		if id := w.last("POST tools/list").header.Get("Mcp-Session-Id"); id != "session-2" {
			t.Errorf("session %q", id)
		}
	})
}

func TestClientSessionIDIsChecked(t *testing.T) {
	for _, id := range []string{"a b", "ä", strings.Repeat("x", 9000)} {
		clientTest(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Mcp-Session-Id"] = []string{id}
			clientReply(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{}}`)(w, r)
		}, nil, func(w *clientWorld) {
			if _, err := w.call("initialize", ""); err == nil || !strings.Contains(err.Error(), "session id") {
				t.Errorf("%.20q: %v", id, err)
			}
		})
	}
}

func TestClientModernHeaders(t *testing.T) {
	const m = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	extra := func(tr *streamable.Transport) {
		tr.Header = http.Header{"authorization": {"Bearer x"}, "Mcp-Method": {"forged"}, "mcp-param-a": {"forged"}, "Accept": {"forged"},
			"Content-Type": {"forged"}, "Host": {"forged"}, "Last-Event-ID": {"forged"}, "X-Two": {"1", "2"}}
	}
	clientTest(t, clientRPC(nil), extra, func(w *clientWorld) {
		w.link.Agree(revision.V2026_07_28)
		for _, c := range []struct{ method, params, name string }{
			{"server/discover", `{` + m + `}`, ""},
			{"tools/call", `{"name":"add",` + m + `}`, "add"},
			{"tools/call", `{"name":"größe",` + m + `}`, "=?base64?Z3LDtsOfZQ==?="},
			{"prompts/get", `{"name":" edge",` + m + `}`, "=?base64?IGVkZ2U=?="},
			{"resources/read", `{"uri":"file:///a b",` + m + `}`, "file:///a b"},
			{"tasks/get", `{"taskId":"t1",` + m + `}`, "t1"},
			{"tools/list", `{"name":"no",` + m + `}`, ""},
		} {
			req := jsonrpc.NewRequest(w.link.NextID(), c.method, []byte(c.params))
			if _, err := w.link.Call(w.t.Context(), req, map[string]string{"Mcp-Param-userID": "7", "Cookie": "no"}); err != nil {
				t.Fatal(err)
			}
			h := w.last("POST " + c.method).header
			got := []string{h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Param-Userid"), h.Get("Mcp-Session-Id"), h.Get("Cookie"), h.Get("Mcp-Param-A")}
			if want := []string{"2026-07-28", c.method, c.name, "7", "", "", ""}; !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", c.method, got, want)
			}
			if h.Get("Authorization") != "Bearer x" || len(h["X-Two"]) != 2 || h.Get("Content-Type") != "application/json" || h.Get("Last-Event-Id") != "" {
				t.Errorf("%s: fixed headers %v", c.method, h)
			}
		}
		// The version is that of the body, whatever was agreed on.
		w.result("tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}`)
		if v := w.last("POST tools/list").header.Get("Mcp-Protocol-Version"); v != "2099-01-01" {
			t.Errorf("version header %s", v)
		}
		_ = w.link.Close()
		if got := w.requests(); slices.Contains(got, "GET") || slices.Contains(got, "DELETE") {
			t.Errorf("a stateless link sent %v", got)
		}
	})
}

func TestClientSend(t *testing.T) {
	status := 202
	clientTest(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, nil, func(w *clientWorld) {
		n := jsonrpc.NewNotification("notifications/progress", nil)
		for _, status = range []int{202, 200, 204} {
			if err := w.link.Send(w.t.Context(), n); err != nil {
				t.Errorf("%d: %v", status, err)
			}
		}
		var e *mcp.HTTPError
		for _, status = range []int{400, 500, 302} {
			if err := w.link.Send(w.t.Context(), jsonrpc.NewResult(jsonrpc.IntID(5), []byte(`{}`))); !errors.As(err, &e) || e.Status != status {
				t.Errorf("%d: %v", status, err)
			}
		}
	})
}

func TestClientCancelLegacy(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	clientTest(t, clientRPC(hang), nil, func(w *clientWorld) {
		w.handshake(revision.V2025_11_25)
		cause := errors.New("nobody wants it")
		ctx, cancel := context.WithCancelCause(w.t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := w.callWith(ctx, "tools/call", ""); err != cause {
			t.Errorf("error %v", err)
		}
		if b := string(w.last("POST notifications/cancelled").body); !strings.Contains(b, `"requestId":2`) || !strings.Contains(b, cause.Error()) {
			t.Errorf("cancelled with %s", b)
		}
		n := len(w.requests())
		if _, err := w.callWith(ctx, "tools/call", ""); err != cause || len(w.requests()) != n {
			t.Errorf("a call after the end of its context: %v, %v", err, w.requests()[n:])
		}
	})
}

func TestClientCancelWithoutNotification(t *testing.T) {
	for _, c := range []struct {
		method string
		r      *revision.Revision
	}{{"initialize", revision.V2025_11_25}, {"tools/call", revision.V2026_07_28}, {"mcp/tool/execute", revision.Classic}} {
		ended := false
		hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); ended = true }
		clientTest(t, hang, nil, func(w *clientWorld) {
			w.link.Agree(c.r)
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
			defer cancel()
			if _, err := w.callWith(ctx, c.method, ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", c.method, err)
			}
			if got := w.requests(); len(got) != 1 || !ended { // hanging up is what tells the server
				t.Errorf("%s: sent %v, ended %v", c.method, got, ended)
			}
		})
	}
}

func TestClientClose(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	serve := clientRPC(hang)
	clientTest(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			hang(w, r)
			return
		}
		serve(w, r)
	}, nil, func(w *clientWorld) {
		w.handshake(revision.V2025_11_25)
		failed := make(chan error, 1)
		go func() { _, err := w.call("tools/call", ""); failed <- err }()
		synctest.Wait()
		if w.link.Err() != nil {
			t.Error("an open link has an error")
		}
		began := time.Now()
		go func() { _ = w.link.Close() }() // twice at once
		_ = w.link.Close()
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("close took %v", d)
		}
		<-w.link.Done()
		if err := <-failed; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("call in flight: %v", err)
		}
		if !errors.Is(w.link.Err(), mcp.ErrClosed) {
			t.Errorf("Err: %v", w.link.Err())
		}
		if _, err := w.call("tools/list", ""); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("call after close: %v", err)
		}
		if err := w.link.Send(w.t.Context(), jsonrpc.NewNotification("n", nil)); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("send after close: %v", err)
		}
	})
}

// TestClientReusesConnections makes calls of every kind, one after another: a
// body that is not read to its end would cost a connection.
func TestClientReusesConnections(t *testing.T) {
	n := 0
	tool := func(w http.ResponseWriter, r *http.Request) {
		switch n++; n % 4 {
		case 0:
			clientReply(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"a":"`+strings.Repeat("x", 1<<17)+`"}}`)(w, r)
		case 1:
			clientReply(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n\n")(w, r)
			w.(http.Flusher).Flush()
		case 2:
			clientReply(500, "text/plain", "no")(w, r)
		case 3:
			clientReply(400, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":""}}`)(w, r)
		}
	}
	clientTest(t, clientRPC(tool), func(tr *streamable.Transport) { tr.NoStream = true }, func(w *clientWorld) {
		w.handshake(revision.V2025_11_25)
		for range 12 {
			_, _ = w.call("tools/call", "") // a third of them fails on purpose
			synctest.Wait()
		}
		if w.dials != 1 {
			t.Errorf("%d connections", w.dials)
		}
	})
}
