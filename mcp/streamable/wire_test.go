package streamable_test

import (
	"net/http"
	"strings"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/mcp/streamable"
)

func TestBadBodies(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	tests := []struct {
		name, modern, legacy string
		status, code         int
		id                   string
	}{
		{"truncated", `{`, `{`, 400, -32700, ""},
		{"empty", ``, ``, 400, -32700, ""},
		{"empty batch", `[]`, `[]`, 400, -32600, ""},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}]`, `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`, 400, -32600, ""},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":1,"method":"tools/list","params":{` + meta + `}}`, `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, 400, -32600, "1"},
		{"no jsonrpc", `{"id":1,"method":"tools/list","params":{` + meta + `}}`, `{"id":1,"method":"tools/list"}`, 400, -32600, "1"},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"tools/list","params":{` + meta + `}}`, `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, 400, -32600, ""},
		{"id fraction", `{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":{` + meta + `}}`, `{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, 400, -32600, ""},
		{"id object", `{"jsonrpc":"2.0","id":{},"method":"tools/list","params":{` + meta + `}}`, `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, 400, -32600, ""},
		{"id array", `{"jsonrpc":"2.0","id":[],"method":"tools/list","params":{` + meta + `}}`, `{"jsonrpc":"2.0","id":[],"method":"tools/list"}`, 400, -32600, ""},
		{"id bool", `{"jsonrpc":"2.0","id":true,"method":"tools/list","params":{` + meta + `}}`, `{"jsonrpc":"2.0","id":true,"method":"tools/list"}`, 400, -32600, ""},
		{"case of method", `{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"echo",` + meta + `}}`, `{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"echo"}}`, 400, -32600, "1"},
		{"method twice", `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"echo",` + meta + `}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"echo"}}`, 400, -32700, ""},
		{"argument twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":2},` + meta + `}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":2}}}`, 400, -32700, ""},
		{"two messages", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}{}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}{}`, 400, -32700, ""},
		{"huge number", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1e400},` + meta + `}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1e400}}}`, 400, -32700, ""},
		{"invalid utf-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"a\":\"\xff\"," + meta + "}}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"a\":\"\xff\"}}", 400, -32700, ""},
		{"params array", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}`, 400, -32602, "1"},
		{"deep", strings.Repeat("[", 4<<20), strings.Repeat("[", 4<<20), 400, -32600, ""},
		{"deep arguments", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":` + strings.Repeat("[", 2<<20), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":` + strings.Repeat("[", 2<<20), 400, -32700, ""},
	}
	for _, tt := range tests {
		for era, a := range map[string]answer{
			"modern": s.post(tt.modern, modernHeaders("tools/list", "")), "legacy": s.post(tt.legacy, l),
		} {
			if a.status != tt.status || a.code() != tt.code || a.id() != tt.id || a.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s, %s: %d %s", tt.name, era, a.status, a.body)
			}
		}
	}
	if ran := s.fixture.ran(); len(ran) != 0 {
		t.Errorf("bad requests ran: %q", ran)
	}
}

func TestHTTPRules(t *testing.T) {
	s := serve(t, nil)
	body, h := modernCall("echo", `{}`)
	l := s.session(legacy)
	tests := []struct {
		name   string
		more   []string
		status int
	}{
		{"as it should be", nil, 200},
		{"foreign origin", []string{"Origin", "https://evil.example"}, 403},
		{"null origin", []string{"Origin", "null"}, 403},
		{"own origin", []string{"Origin", "http://localhost:1"}, 200},
		{"foreign host", []string{"Host", "evil.example"}, 403},
		{"foreign host and origin", []string{"Host", "evil.example", "Origin", "http://evil.example"}, 403},
		{"plain text", []string{"Content-Type", "text/plain"}, 415},
		{"no content type", []string{"Content-Type", "\x00"}, 415},
		{"charset", []string{"Content-Type", "application/json; charset=utf-8"}, 200},
		{"gzip", []string{"Content-Encoding", "gzip"}, 415},
		{"identity", []string{"Content-Encoding", "identity"}, 200},
		{"only json", []string{"Accept", "application/json"}, 406},
		{"only events", []string{"Accept", "text/event-stream"}, 406},
		{"neither", []string{"Accept", "text/html"}, 406},
		{"anything", []string{"Accept", "*/*"}, 200},
		{"other order, weights", []string{"Accept", "text/event-stream;q=0.5,application/json;q=0.9"}, 200},
		{"two lines", []string{"Accept", "text/event-stream\x01application/json"}, 200},
		{"ranges", []string{"Accept", "text/*, application/*"}, 200},
		{"refused by weight", []string{"Accept", "text/event-stream;q=0, application/json, */*;q=0.1"}, 406},
	}
	for _, tt := range tests {
		before := len(s.fixture.ran())
		for era, a := range map[string]answer{
			"modern": s.post(body, h.with(tt.more...)), "legacy": s.post(legacyCall(1, "echo", "{}"), l.with(tt.more...)),
		} {
			if a.status != tt.status || a.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s, %s: %d %s", tt.name, era, a.status, a.body)
			}
			if a.status >= 400 && a.code() != -32600 {
				t.Errorf("%s, %s: no error in %q", tt.name, era, a.body)
			}
		}
		if ran := len(s.fixture.ran()) - before; tt.status == 200 && ran != 2 || tt.status != 200 && ran != 0 {
			t.Errorf("%s: %d calls ran", tt.name, ran)
		}
	}
}

func TestTooLarge(t *testing.T) {
	s := serve(t, &streamable.Options{MaxBody: 1 << 20})
	_, h := modernCall("echo", `{}`)
	fill := func(n int) string {
		body, _ := modernCall("echo", `{"a":""}`)
		return strings.Replace(body, `""`, `"`+strings.Repeat("x", n-len(body))+`"`, 1)
	}
	if a := s.post(fill(1<<20), h); a.status != 200 || !strings.Contains(a.body, "xxx") {
		t.Errorf("at the limit: %d %.80q", a.status, a.body)
	}
	if a := s.post(fill(1<<20+1), h); a.status != 413 {
		t.Errorf("above the limit: %d %.80q", a.status, a.body)
	}
	for n, want := range map[int]int{1 << 20: 200, 1<<20 + 1: 413} {
		r := s.request(t.Context(), http.MethodPost, fill(n), h)
		r.ContentLength = -1 // chunked
		resp, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes in chunks: %d", n, resp.StatusCode)
		}
	}
}

func TestModernValidation(t *testing.T) {
	s := serve(t, nil)
	body, h := modernCall("echo", `{}`)
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + meta + `}}`
	read := `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///ü","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	with := func(method string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + meta + `}}`
	}
	future := strings.ReplaceAll(list, modern, "2099-01-01")
	tests := []struct {
		name, body   string
		header       headers
		status, code int
	}{
		{"fine", body, h, 200, 0},
		{"name in base64", body, h.with("Mcp-Name", "=?base64?ZWNobw==?="), 200, 0},
		{"uri in base64", read, modernHeaders("resources/read", "=?base64?ZmlsZTovLy/DvA==?="), 200, 0},
		{"uri not encoded", read, modernHeaders("resources/read", "file:///ü"), 400, -32020},
		{"no method header", body, h.with("Mcp-Method", "\x00"), 400, -32020},
		{"other method header", body, h.with("Mcp-Method", "tools/list"), 400, -32020},
		{"method header in capitals", body, h.with("Mcp-Method", "TOOLS/CALL"), 400, -32020},
		{"method header twice", body, h.with("Mcp-Method", "tools/call\x01tools/call"), 400, -32020},
		{"no name", body, h.with("Mcp-Name", "\x00"), 400, -32020},
		{"other name", body, h.with("Mcp-Name", "other"), 400, -32020},
		{"name in another case", body, h.with("Mcp-Name", "Echo"), 400, -32020},
		{"name twice", body, h.with("Mcp-Name", "echo\x01echo"), 400, -32020},
		{"name in bad base64", body, h.with("Mcp-Name", "=?base64?ZWNobw?="), 400, -32020},
		{"orphan name", list, modernHeaders("tools/list", "echo"), 400, -32020},
		{"no version header", body, h.with("MCP-Protocol-Version", "\x00"), 400, -32020},
		{"legacy version header", body, h.with("MCP-Protocol-Version", legacy), 400, -32020},
		{"version header twice", body, h.with("MCP-Protocol-Version", modern+"\x01"+modern), 400, -32020},
		{"future version", future, modernHeaders("tools/list", "").with("MCP-Protocol-Version", "2099-01-01"), 400, -32022},
		{"future version, other header", future, modernHeaders("tools/list", ""), 400, -32020},
		{"no _meta", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, modernHeaders("tools/list", ""), 400, -32602},
		{"no capabilities", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, modernHeaders("tools/list", ""), 400, -32602},
		{"no capabilities, no headers", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, base, 400, -32602},
		{"unknown version without _meta", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, modernHeaders("tools/list", "").with("MCP-Protocol-Version", "2099-01-01"), 400, -32602},
		{"unknown method", with("no/such"), modernHeaders("no/such", ""), 404, -32601},
		{"initialize", with("initialize"), modernHeaders("initialize", ""), 404, -32601},
		{"ping", with("ping"), modernHeaders("ping", ""), 404, -32601},
		{"setLevel", with("logging/setLevel"), modernHeaders("logging/setLevel", ""), 404, -32601},
		{"subscribe", with("resources/subscribe"), modernHeaders("resources/subscribe", ""), 404, -32601},
		{"unsubscribe", with("resources/unsubscribe"), modernHeaders("resources/unsubscribe", ""), 404, -32601},
		{"classic method", with("mcp/listTools"), modernHeaders("mcp/listTools", ""), 404, -32601},
	}
	for _, tt := range tests {
		a := s.post(tt.body, tt.header)
		if a.status != tt.status || a.code() != tt.code || a.id() != "7" || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", tt.name, a.status, a.body)
		}
		if tt.code == -32022 && string(rawjson.Get([]byte(a.body), "error", "data")) != `{"supported":["2026-07-28"],"requested":"2099-01-01"}` {
			t.Errorf("%s: %s", tt.name, a.body)
		}
	}
}

func TestModernAnswers(t *testing.T) {
	s := serve(t, nil)
	for code, status := range map[string]int{
		"-32021": 400, "-32020": 400, "-32022": 400, "-32601": 404, "-32602": 200, "-32603": 200, "-32000": 200,
	} {
		body, h := modernCall("fail", `{"code":`+code+`}`)
		if a := s.post(body, h); a.status != status || string(rawjson.Get([]byte(a.body), "error", "code")) != code {
			t.Errorf("%s: %d %s", code, a.status, a.body)
		}
	}
	body, h := modernCall("panic", `{}`)
	if a := s.post(body, h); a.status != 200 || a.code() != -32603 || a.id() != "7" {
		t.Errorf("panic: %d %s", a.status, a.body)
	}
	body, h = modernCall("echo", `{"n":12345678901234567890, "x":[1.50]}`)
	body = strings.Replace(body, `"id":7`, `"id":9007199254740993`, 1)
	h = h.with("Mcp-Session-Id", "whatever", "Last-Event-ID", "whatever")
	a := s.post(body, h)
	if a.status != 200 || !strings.Contains(a.body, `{"n":12345678901234567890, "x":[1.50]}`) || a.id() != "9007199254740993" {
		t.Errorf("echo: %d %s", a.status, a.body)
	}
	if a.header.Get("Mcp-Session-Id") != "" || a.header.Get("Content-Length") == "" {
		t.Errorf("echo: headers %v", a.header)
	}
	body, h = modernCall("echo", `{"a":"`+strings.Repeat("x", 5000)+`"}`)
	if a := s.post(body, h); a.header.Get("Content-Length") == "" || len(a.body) < 5000 {
		t.Errorf("long answer: %v", a.header)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":7,"result":{}}`, base.with("MCP-Protocol-Version", modern)); a.status != 400 || a.code() != -32600 {
		t.Errorf("posted response: %d %s", a.status, a.body)
	}
	n := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,` + meta + `}}`
	if a := s.post(n, base.with("MCP-Protocol-Version", modern)); a.status != 202 || a.body != "" {
		t.Errorf("notification: %d %s", a.status, a.body)
	}
	if a := s.post(n, base.with("MCP-Protocol-Version", legacy)); a.status != 400 || a.code() != -32020 {
		t.Errorf("notification with another version: %d %s", a.status, a.body)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		a := s.do(method, "", headers{"MCP-Protocol-Version": modern, "Accept": "text/event-stream", "Mcp-Session-Id": "x"})
		if a.status != 405 || !strings.Contains(a.header.Get("Allow"), "POST") {
			t.Errorf("%s: %d %v", method, a.status, a.header)
		}
	}
	if n := s.handler.Sessions(); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

func TestClassic(t *testing.T) {
	s := serve(t, nil)
	body := `{"jsonrpc":"2.0","id":"c","method":"mcp/listTools"}`
	for _, accept := range []string{"*/*", "application/json", "application/json, text/event-stream", "\x00"} {
		a := s.post(body, base.with("Accept", accept))
		if a.status != 200 || a.body != `{"jsonrpc":"2.0","id":"c","result":[]}` {
			t.Errorf("%q: %d %s", accept, a.status, a.body)
		}
	}
	e := s.stream(http.MethodPost, body, base.with("Accept", "text/event-stream"))
	if got := e.rest(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","id":"c","result":[]}` {
		t.Errorf("events: %q", got)
	}
	a := s.post(`{"jsonrpc":"2.0","id":1,"method":"mcp/initialize"}`, base)
	if a.status != 200 || !strings.Contains(a.body, `"classic"`) {
		t.Errorf("initialize: %d %s", a.status, a.body)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"mcp/nothing"}`, base); a.code() != -32601 {
		t.Errorf("unknown: %d %s", a.status, a.body)
	}
}
