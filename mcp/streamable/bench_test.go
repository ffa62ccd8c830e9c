package streamable_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/streamable"
)

var fixedResult = []byte(`{"content":[{"type":"text","text":"hello"}],"resultType":"complete"}`)

// quick answers every call alike.
var quick = mcp.HandlerFunc(func(_ context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
	return jsonrpc.NewResult(x.Request.ID(), fixedResult), nil
})

// floor is what the least handler of the same call costs: it reads, parses,
// answers and checks nothing.
var floor = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return
	}
	m, err := jsonrpc.Parse(body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(jsonrpc.NewResult(m.ID(), fixedResult).Bytes())
})

// BenchmarkCall compares a modern call with the floor, over real connections and
// without them.
func BenchmarkCall(b *testing.B) {
	ours := streamable.NewHandler(quick, nil)
	defer ours.Close()
	body, head := modernCall("echo", `{"message":"hello"}`)
	w := handle(ours, "POST", initialize(legacy), base)
	legacyHead := base.with("Mcp-Session-Id", w.Header().Get("Mcp-Session-Id"), "MCP-Protocol-Version", legacy)
	_ = w
	for _, c := range []struct {
		name    string
		handler http.Handler
		body    string
		head    headers
	}{
		{"floor", floor, body, head},
		{"modern", ours, body, head},
		{"legacy", ours, legacyCall(1, "echo", `{"message":"hello"}`), legacyHead},
	} {
		b.Run("wire/"+c.name, func(b *testing.B) { overTheWire(b, c.handler, c.body, c.head) })
		b.Run("bare/"+c.name, func(b *testing.B) { withoutWire(b, c.handler, c.body, c.head) })
	}
}

func overTheWire(b *testing.B, h http.Handler, body string, head headers) {
	hs := httptest.NewServer(h)
	defer hs.Close()
	s := &server{t: b, url: hs.URL, client: hs.Client()}
	b.ReportAllocs()
	for b.Loop() {
		resp, err := s.client.Do(s.request(context.Background(), "POST", body, head))
		if err != nil || resp.StatusCode != 200 {
			b.Fatal(err, resp.Status)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int) {
	if status != 200 {
		panic(status)
	}
}

func withoutWire(b *testing.B, h http.Handler, body string, head headers) {
	r := httptest.NewRequest("POST", "http://localhost/mcp", nil)
	for k, v := range head {
		r.Header.Set(k, v)
	}
	r.ContentLength = int64(len(body))
	from := strings.NewReader("")
	r.Body = io.NopCloser(from)
	w := &discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		from.Reset(body)
		h.ServeHTTP(w, r)
	}
}

// BenchmarkIdleSession reports what a session costs that nobody uses.
func BenchmarkIdleSession(b *testing.B) {
	f := newFixture()
	h := streamable.NewHandler(f, &streamable.Options{MaxSessions: 1 << 30})
	defer h.Close()
	size := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before, goroutines := size(), runtime.NumGoroutine()
	n := 0
	for b.Loop() {
		w := handle(h, "POST", initialize(legacy), base)
		l := base.with("Mcp-Session-Id", w.Header().Get("Mcp-Session-Id"))
		handle(h, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, l)
		handle(h, "POST", listTools, l)
		n++
	}
	b.ReportMetric(float64(size()-before)/float64(n), "B/session")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
}

// The cost of a session is a promise, so it is a test too.
func TestIdleSessionIsSmall(t *testing.T) {
	r := testing.Benchmark(BenchmarkIdleSession)
	if got := r.Extra["B/session"]; got > 4096 || r.Extra["goroutines"] > 0 {
		t.Errorf("an idle session costs %.0f bytes and %v goroutines", got, r.Extra["goroutines"])
	}
	t.Log(fmt.Sprint(r.Extra))
}
