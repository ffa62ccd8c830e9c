package dial_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"mcpv/mcp"
	"mcpv/mcp/dial"
	"mcpv/mcp/mcptest"
	"mcpv/mcp/sse"
	"mcpv/mcp/stdio"
	"mcpv/mcp/streamable"
	"mcpv/mcp/websocket"
	"mcpv/revision"
)

const serveEnv = "DIAL_TEST_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) != "" {
		if err := stdio.Serve(context.Background(), mcptest.NewServer(), nil); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func serve(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return s.URL
}

// use connects to the target and calls a tool.
func use(t *testing.T, target any) *revision.Revision {
	t.Helper()
	c, err := dial.Server(t.Context(), target, nil)
	if err != nil {
		t.Fatalf("%v: %v", target, err)
	}
	defer c.Close()
	got, err := mcp.CallTool[string](t.Context(), c, "filler_07", nil)
	if err != nil || got != "filler_07" {
		t.Errorf("%v: got %q %v", target, got, err)
	}
	return c.Revision()
}

func TestEveryKindOfTarget(t *testing.T) {
	s := mcptest.NewServer()
	t.Cleanup(func() { _ = s.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := streamable.NewHandler(s, nil)
	t.Cleanup(func() { _ = h.Close() })
	old := sse.NewHandler(s)
	t.Cleanup(func() { _ = old.Close() })
	ws := websocket.NewHandler(s, nil)
	t.Cleanup(func() { _ = ws.Close() })
	web, events, socket := serve(t, h), serve(t, old), strings.Replace(serve(t, ws), "http:", "ws:", 1)
	t.Setenv(serveEnv, "") // so that only what is given reaches the child
	command := dial.Entry{Command: self, Env: map[string]string{serveEnv: "1", "GORACE": "atexit_sleep_ms=0"}}
	classic := command
	classic.Type = "classic"
	for name, target := range map[string]any{
		"handler": s, "transport": mcp.InProcess(s), "URL": web, "ws URL": socket, "entry with a command": command, "entry, classic": &classic, "entry with a URL, classic": dial.Entry{URL: web, Type: "classic"},
		"entry with a URL": dial.Entry{URL: web, Headers: map[string]string{"X-Test": "1"}}, "entry, http": dial.Entry{URL: web, Type: "http"},
		"entry, sse": dial.Entry{URL: events, Type: "sse"}, "entry, ws": dial.Entry{URL: socket, Type: "ws"},
		"URL of HTTP+SSE": events, // which refuses to be posted to
	} {
		t.Run(name, func(t *testing.T) {
			want := revision.Latest()
			if strings.HasSuffix(name, "classic") {
				want = revision.Classic
			}
			if r := use(t, target); r != want {
				t.Errorf("agreed on %s, want %s", r, want)
			}
		})
	}
}

func TestBadTargets(t *testing.T) {
	for what, tc := range map[string]struct {
		target any
		says   string
	}{
		"number":        {1, "no server"},
		"no URL":        {"everything", "no URL"},
		"scheme":        {"ftp://example.com", "scheme"},
		"empty command": {[]string{}, "empty"},
		"empty entry":   {dial.Entry{}, "needs"},
		"both":          {dial.Entry{Command: "a", URL: "http://b"}, "not both"},
		"type":          {dial.Entry{URL: "http://b", Type: "carrier-pigeon"}, "carrier-pigeon"},
		"command line":  {dial.Entry{Command: "npx -y thing"}, "args"},
	} {
		if _, err := dial.Server(t.Context(), tc.target, nil); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if _, err := dial.Server(t.Context(), []string{"no-such-program-anywhere"}, nil); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("missing program: %v", err)
	}
	refusing := serve(t, http.NotFoundHandler())
	var status *mcp.HTTPError
	if _, err := dial.Server(t.Context(), refusing, nil); !errors.As(err, &status) || status.Status != http.StatusNotFound {
		t.Errorf("not an endpoint: %v", err)
	}
}
