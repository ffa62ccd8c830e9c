package streamable_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp/streamable"
)

// FuzzPost sends anything: the answer is always one of the statuses of the
// transport, and every refusal is an error response.
func FuzzPost(f *testing.F) {
	h := streamable.NewHandler(quick, &streamable.Options{AllowSessionless: true})
	f.Cleanup(func() { h.Close() })
	body, _ := modernCall("echo", `{}`)
	accept := base["Accept"]
	f.Add(body, accept, modern, "tools/call", "echo", "")
	f.Add(body, accept, modern, "tools/call", "=?base64?ZWNobw==?=", "")
	f.Add(body, "*/*;q=0, text/event-stream ; q=1.0", legacy, "tools/call", "echo", "x")
	f.Add(initialize(legacy), accept, "", "", "", "")
	f.Add(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, accept, "2025-03-26", "", "", "x")
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{}}`, "*/*", modern, "", "", "")
	f.Add(`{"jsonrpc":"2.0","id":"c","method":"mcp/listTools","params":null}`, "text/event-stream", "", "", "", "")
	f.Add(`{"jsonrpc":"2.0","method":"notifications/x","params":{`+meta+`}}`, "", "2099-01-01", "notifications/x", "\x80", "")
	f.Fuzz(func(t *testing.T, body, accept, version, method, name, session string) {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body))
		r.Header["Content-Type"] = []string{"application/json"}
		for k, v := range map[string]string{"Accept": accept, "Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name, "Mcp-Session-Id": session} {
			if v != "" {
				r.Header[k] = []string{v}
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200, 202:
		case 400, 404, 406, 503:
			m, err := jsonrpc.Parse(w.Body.Bytes())
			if err != nil || m.Err() == nil {
				t.Errorf("%d with %q", w.Code, w.Body)
			}
		default:
			t.Errorf("status %d", w.Code)
		}
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			if got := handle(h, "DELETE", "", headers{"Mcp-Session-Id": id}); got.Code != 204 {
				t.Errorf("DELETE: %d", got.Code)
			}
		}
	})
}

// FuzzLastEventID never replays what was not asked for.
func FuzzLastEventID(f *testing.F) {
	fix := newFixture()
	h := streamable.NewHandler(fix, nil)
	f.Cleanup(func() { h.Close() })
	w := handle(h, "POST", initialize(legacy), base)
	l := base.with("Mcp-Session-Id", w.Header().Get("Mcp-Session-Id"))
	events := handle(h, "POST", legacyCall(1, "say", `{"count":3}`), l).Body.String()
	_, rest, _ := strings.Cut(events, "id: ")
	id, _, _ := strings.Cut(rest, "\n")
	stream, _, _ := strings.Cut(id, "-")
	for _, seed := range []string{id, stream + "-1", stream + "-4", stream + "-99", stream + "--1", stream + "-9223372036854775808", stream, "-", "-1", "a-1", " " + id, id + " "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, last string) {
		if last == "" || last[0] == 'g' {
			return // opens a stream that does not end by itself
		}
		r := httptest.NewRequest("GET", "http://localhost/mcp", nil)
		r.Header["Mcp-Session-Id"] = []string{l["Mcp-Session-Id"]}
		r.Header["Last-Event-Id"] = []string{last}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch {
		case w.Code == 404 && rawjson.Get(w.Body.Bytes(), "error") != nil:
		case w.Code == 200 && strings.HasPrefix(last, stream+"-") && strings.HasSuffix(events, w.Body.String()):
		default:
			t.Errorf("%q: %d %q", last, w.Code, w.Body)
		}
	})
}
