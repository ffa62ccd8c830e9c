package streamable_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/mcp"
	"mcpv/mcp/streamable"
)

// realServer serves an mcp.Server, where the rest of the tests have a handler
// written by hand.
func realServer(t *testing.T) *server {
	m := mcp.NewServer(mcp.Implementation{Name: "real", Version: "1"}, nil)
	type in struct {
		Region string `json:"region,omitempty"`
	}
	mcp.AddTool(m, &mcp.Tool{Name: "greet", InputSchema: mcp.JSON(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(ctx context.Context, r *mcp.ToolRequest, i in) (string, error) {
			r.Progress(ctx, 1, 2, "half")
			return "hello " + i.Region, nil
		})
	t.Cleanup(func() { _ = m.Close() })
	s := &server{t: t, handler: streamable.NewHandler(m, nil)}
	return s.start(s.handler)
}

func TestRealServerBothEras(t *testing.T) {
	s := realServer(t)
	body, h := modernCall("greet", `{"region":"us"}`)
	if a := s.post(body, h.with("Mcp-Param-Region", "us")); a.status != 200 || !strings.Contains(a.body, "hello us") {
		t.Errorf("modern: %d %s", a.status, a.body)
	}
	for name, h := range map[string]headers{"other": h.with("Mcp-Param-Region", "eu"), "missing": h, "twice": h.with("Mcp-Param-Region", "us\x01us")} {
		if a := s.post(body, h); a.status != 400 || a.code() != -32020 || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s param header: %d %s", name, a.status, a.body)
		}
	}
	a := s.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`, modernHeaders("server/discover", ""))
	if a.status != 200 || rawjson.Get([]byte(a.body), "result", "supportedVersions") == nil {
		t.Errorf("discover: %d %s", a.status, a.body)
	}
	l := s.session(legacy)
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"region":"us"},"_meta":{"progressToken":"p"}}}`
	got := s.stream(http.MethodPost, call, l).rest()
	if len(got) != 3 || got[0] != "" || methodOf([]byte(got[1])) != "notifications/progress" || !strings.Contains(got[2], "hello us") {
		t.Errorf("legacy: %q", got)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":3,"method":"mcp/tool/execute","params":{"toolId":"greet","inputs":{}}}`, base); a.status != 200 || !strings.Contains(a.body, "hello") {
		t.Errorf("classic: %d %s", a.status, a.body)
	}
}
