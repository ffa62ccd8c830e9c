package mcptest_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"mcpv/mcp"
	"mcpv/mcp/mcptest"
	"mcpv/mcp/sse"
	"mcpv/mcp/stdio"
	"mcpv/mcp/streamable"
	"mcpv/mcp/websocket"
	"mcpv/revision"
)

// transports leads to a server that speaks one revision, in every way there is.
var transports = []struct {
	name string
	dial func(t *testing.T, r *revision.Revision) mcp.Transport
}{
	{"memory", func(t *testing.T, r *revision.Revision) mcp.Transport {
		return mcp.InProcess(newServer(t, r))
	}},
	{"stdio lines", func(t *testing.T, r *revision.Revision) mcp.Transport {
		return subprocess(t, r, stdio.Lines)
	}},
	{"stdio Content-Length", func(t *testing.T, r *revision.Revision) mcp.Transport {
		return subprocess(t, r, stdio.ContentLength)
	}},
	{"Streamable HTTP", func(t *testing.T, r *revision.Revision) mcp.Transport {
		h := streamable.NewHandler(newServer(t, r), nil)
		t.Cleanup(func() { _ = h.Close() })
		return &streamable.Transport{URL: listen(t, h)}
	}},
	{"HTTP+SSE", func(t *testing.T, r *revision.Revision) mcp.Transport {
		h := sse.NewHandler(newServer(t, r))
		t.Cleanup(func() { _ = h.Close() })
		return &sse.Transport{URL: listen(t, h)}
	}},
	{"WebSocket", func(t *testing.T, r *revision.Revision) mcp.Transport {
		h := websocket.NewHandler(newServer(t, r), nil)
		t.Cleanup(func() { _ = h.Close() })
		return &websocket.Transport{URL: strings.Replace(listen(t, h), "http:", "ws:", 1)}
	}},
}

func newServer(t *testing.T, r *revision.Revision) *mcptest.Server {
	s := mcptest.NewServer(r)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func listen(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return s.URL
}

// subprocess runs this test binary as the server.
func subprocess(t *testing.T, r *revision.Revision, f stdio.Framing) mcp.Transport {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &stdio.Command{Path: self, Env: map[string]string{
		serveEnv: r.Name,
		"GORACE": "atexit_sleep_ms=0", // the race detector sleeps for a second at every exit otherwise
	}, Framing: f, Stderr: os.Stderr}
}

// TestTable runs every feature for every client dialect, server dialect and
// transport. The server speaks its dialect only; the client prefers its own and
// finds out what is spoken. A cell is green when the feature works, or is
// refused as it has to be in the dialect that the two end up with.
func TestTable(t *testing.T) {
	cells := 0
	for _, via := range transports {
		t.Run(via.name, func(t *testing.T) {
			for _, server := range revision.All() {
				for _, client := range revision.All() {
					t.Run(client.Name+" client, "+server.Name+" server", func(t *testing.T) {
						cells += mcptest.RunPair(t, via.dial(t, server), &mcp.ClientOptions{Prefer: client}, server)
					})
				}
			}
		})
	}
	t.Logf("%d cells: %d client dialects × %d server dialects × %d transports × features, each green or refused as documented",
		cells, len(revision.All()), len(revision.All()), len(transports))
}

// TestPinned shows that a client that insists on a dialect works with a server
// that has it among others, and refuses one that has not.
func TestPinned(t *testing.T) {
	for _, r := range revision.All() {
		t.Run(r.Name, func(t *testing.T) {
			all := mcptest.NewServer()
			t.Cleanup(func() { _ = all.Close() })
			mcptest.RunPair(t, mcp.InProcess(all), &mcp.ClientOptions{Revision: r}, r)
			for _, other := range revision.All() {
				if other == r {
					continue
				}
				if c, err := mcp.Connect(t.Context(), mcp.InProcess(newServer(t, other)), &mcp.ClientOptions{Revision: r}); err == nil {
					_ = c.Close()
					t.Errorf("a client of %s connected to a server of %s", r, other)
				}
			}
		})
	}
}
