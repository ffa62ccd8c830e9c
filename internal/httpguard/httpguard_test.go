package httpguard_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"mcpv/internal/httpguard"
)

func TestCheck(t *testing.T) {
	public := &httpguard.Guard{Hosts: []string{"mcp.example", "[2001:db8::1]", "alt.example:8443"}}
	listed := &httpguard.Guard{
		Hosts:   []string{"mcp.example"},
		Origins: []string{"https://app.example", "http://localhost:3000", "vscode-webview://abc"},
	}
	tests := []struct {
		name         string
		guard        *httpguard.Guard
		host, origin string
		refused      string
	}{
		{"nil guard", nil, "localhost:8080", "", ""},
		{"nil guard, evil", nil, "evil.example", "", "Host"},
		{"localhost", &httpguard.Guard{}, "localhost", "", ""},
		{"case", &httpguard.Guard{}, "LocalHost:1", "", ""},
		{"v4", &httpguard.Guard{}, "127.0.0.1:80", "", ""},
		{"v6", &httpguard.Guard{}, "[::1]:80", "", ""},
		{"v6 without port", &httpguard.Guard{}, "[::1]", "", ""},
		{"v6 without brackets", &httpguard.Guard{}, "::1", "", "Host"},
		{"empty host", &httpguard.Guard{}, "", "", "Host"},
		{"rebinding", &httpguard.Guard{}, "evil.example:80", "http://evil.example", "Host"},
		{"prefix twin", &httpguard.Guard{}, "localhost.evil.example", "", "Host"},
		{"suffix twin", &httpguard.Guard{}, "evil-localhost", "", "Host"},
		{"userinfo", &httpguard.Guard{}, "localhost@evil.example", "", "Host"},
		{"two ports", &httpguard.Guard{}, "localhost:80:90", "", "Host"},
		{"empty port", &httpguard.Guard{}, "localhost:", "", "Host"},
		{"bad port", &httpguard.Guard{}, "localhost:8x", "", "Host"},
		{"brackets twin", &httpguard.Guard{}, "[::1]evil.example", "", "Host"},
		{"before brackets", &httpguard.Guard{}, "x[::1]", "", "Host"},
		{"other loopback", &httpguard.Guard{}, "127.0.0.2", "", "Host"},

		{"loopback origin", &httpguard.Guard{}, "localhost:1", "http://127.0.0.1:3000", ""},
		{"v6 origin", &httpguard.Guard{}, "localhost:1", "http://[::1]:3000", ""},
		{"evil origin", &httpguard.Guard{}, "localhost:1", "https://evil.example", "Origin"},
		{"null origin", &httpguard.Guard{}, "localhost:1", "null", "Origin"},
		{"empty origin", &httpguard.Guard{}, "localhost:1", "\x00", "Origin"},
		{"origin twin", &httpguard.Guard{}, "localhost:1", "http://localhost.evil.example", "Origin"},
		{"origin with path", &httpguard.Guard{}, "localhost:1", "http://localhost/x", "Origin"},
		{"origin with user", &httpguard.Guard{}, "localhost:1", "http://localhost@evil.example", "Origin"},
		{"origin scheme", &httpguard.Guard{}, "localhost:1", "file://localhost", "Origin"},

		{"public", public, "mcp.example:443", "", ""},
		{"public, own origin", public, "mcp.example", "https://mcp.example", ""},
		{"public, v6", public, "[2001:db8::1]:99", "", ""},
		{"public, port", public, "alt.example:8443", "", ""},
		{"public, other port", public, "alt.example:8444", "", "Host"},
		{"public, no port", public, "alt.example", "", "Host"},
		{"public is not loopback", public, "localhost", "", "Host"},
		{"public, loopback origin", public, "mcp.example", "http://localhost", "Origin"},

		{"listed", listed, "mcp.example", "https://app.example", ""},
		{"listed, implied port", listed, "mcp.example", "https://app.example:443", ""},
		{"listed, other port", listed, "mcp.example", "https://app.example:444", "Origin"},
		{"listed, other scheme", listed, "mcp.example", "http://app.example", "Origin"},
		{"listed, port", listed, "mcp.example", "http://localhost:3000", ""},
		{"listed, own scheme", listed, "mcp.example", "vscode-webview://abc", ""},
		{"listed, not itself", listed, "mcp.example", "https://mcp.example", "Origin"},
		{"listed, null", listed, "mcp.example", "null", "Origin"},

		{"any host", &httpguard.Guard{AllowAnyHost: true}, "evil.example", "", ""},
		{"any host, origin", &httpguard.Guard{AllowAnyHost: true}, "evil.example", "http://evil.example", "Origin"},
		{"any origin", &httpguard.Guard{AllowAnyOrigin: true}, "localhost", "null", ""},
		{"any origin, host", &httpguard.Guard{AllowAnyOrigin: true}, "evil.example", "", "Host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &http.Request{Host: tt.host, Header: http.Header{}}
			switch tt.origin {
			case "":
			case "\x00":
				r.Header.Set("Origin", "")
			default:
				r.Header.Set("Origin", tt.origin)
			}
			err := tt.guard.Check(r)
			var refused *httpguard.Error
			if tt.refused == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if tt.refused != "" && (!errors.As(err, &refused) || refused.Header != tt.refused) {
				t.Errorf("got %v, want a refusal because of %s", err, tt.refused)
			}
		})
	}
}

func TestTwoOrigins(t *testing.T) {
	r := &http.Request{Host: "localhost", Header: http.Header{"Origin": {"http://localhost", "http://localhost"}}}
	if (&httpguard.Guard{}).Check(r) == nil {
		t.Error("accepted")
	}
}

func TestHandler(t *testing.T) {
	ran := 0
	var g *httpguard.Guard
	srv := httptest.NewServer(g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran++ })))
	defer srv.Close()
	for host, want := range map[string]int{"": 200, "evil.example": 403} {
		req, _ := http.NewRequest("POST", srv.URL, nil)
		req.Host = host
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("host %q: %d", host, resp.StatusCode)
		}
	}
	if ran != 1 {
		t.Errorf("handler ran %d times", ran)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("localhost:80", "http://localhost")
	f.Add("[::1]", "null")
	f.Add("]:", "://]")
	f.Fuzz(func(t *testing.T, host, origin string) {
		r := &http.Request{Host: host, Header: http.Header{"Origin": {origin}}}
		var g httpguard.Guard
		if g.Check(r) == nil && (len(host) < len("[::1]") || len(origin) < len("http://[::1]")) {
			t.Errorf("let in %q, %q", host, origin)
		}
	})
}
