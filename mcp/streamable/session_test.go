package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/mcp"
	"mcpv/mcp/streamable"
	"mcpv/revision"
)

const listTools = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`

func TestSessionRules(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	id := l["Mcp-Session-Id"]
	if len(id) < 22 || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		t.Errorf("session id %q", id)
	}
	tests := []struct {
		name, body   string
		header       headers
		status, code int
	}{
		{"fine", listTools, l, 200, 0},
		{"no version header", listTools, l.with("MCP-Protocol-Version", "\x00"), 200, 0},
		{"other version header", listTools, l.with("MCP-Protocol-Version", "2025-06-18"), 400, -32600},
		{"unknown version header", listTools, l.with("MCP-Protocol-Version", "2099-01-01"), 400, -32600},
		{"unknown version header on a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, l.with("MCP-Protocol-Version", "bad"), 400, -32600},
		{"no session", listTools, base.with("MCP-Protocol-Version", legacy), 400, -32600},
		{"no session, no version", listTools, base, 400, -32020},
		{"unknown session", listTools, l.with("Mcp-Session-Id", "unknown"), 404, -32600},
		{"two sessions", listTools, l.with("Mcp-Session-Id", id+"\x01"+id), 400, -32600},
		{"initialize twice", initialize(legacy), l, 400, -32600},
		{"initialize in an unknown session", initialize(legacy), l.with("Mcp-Session-Id", "unknown"), 404, -32600},
		{"initialize without version", `{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}`, base, 400, -32602},
		{"unknown method", `{"jsonrpc":"2.0","id":3,"method":"no/such"}`, l, 200, -32601},
		{"ping", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, l, 200, 0},
		{"late response", `{"jsonrpc":"2.0","id":99,"result":{}}`, l, 202, 0},
		{"response without session", `{"jsonrpc":"2.0","id":99,"result":{}}`, base, 400, -32020},
		{"panic", legacyCall(3, "panic", `{}`), l, 200, -32603},
		{"modern request in a session", `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{` + meta + `}}`, l, 400, -32020},
	}
	for _, tt := range tests {
		if a := s.post(tt.body, tt.header); a.status != tt.status || a.code() != tt.code {
			t.Errorf("%s: %d %s", tt.name, a.status, a.body)
		}
	}
	a := s.post(initialize(modern), base) // not negotiable in this way
	if v, _ := rawjson.String(rawjson.Get([]byte(a.body), "result", "protocolVersion")); a.status != 200 || v != legacy {
		t.Errorf("initialize for %s: %d %s", modern, a.status, a.body)
	}
}

func TestSessionlessMakesNoSession(t *testing.T) {
	s := serve(t, nil)
	for i := range 1000 {
		h := base
		if i%2 == 0 {
			h = base.with("MCP-Protocol-Version", legacy)
		}
		if a := s.post(listTools, h); a.status != 400 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if n := s.handler.Sessions(); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

func TestDelete(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	if n := s.fixture.listening(); n != 1 {
		t.Fatalf("%d listeners", n)
	}
	answered := make(chan answer, 1)
	go func() { answered <- s.post(legacyCall(1, "wait", `{}`), l) }()
	receive(t, s.fixture.started)
	if a := s.do(http.MethodDelete, "", l); a.status/100 != 2 {
		t.Fatalf("DELETE: %d %s", a.status, a.body)
	}
	if err := receive(t, s.fixture.ended); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("open request ended with %v", err)
	}
	if a := receive(t, answered); a.code() != -32603 {
		t.Errorf("open request: %d %s", a.status, a.body)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if a := s.do(method, listTools, l); a.status != 404 {
			t.Errorf("%s after DELETE: %d %s", method, a.status, a.body)
		}
	}
	if a := s.do(http.MethodDelete, "", headers{}); a.status != 405 || a.header.Get("Allow") == "" {
		t.Errorf("DELETE without session: %d", a.status)
	}
	if n, m := s.fixture.listening(), s.handler.Sessions(); n != 0 || m != 0 {
		t.Errorf("%d listeners, %d sessions left", n, m)
	}
}

// byToken makes a principal of the Authorization header, as a middleware does.
func byToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := r.Header.Get("Authorization"); who != "" {
			r = r.WithContext(mcp.WithPrincipal(r.Context(), &mcp.Principal{Issuer: "i", Subject: who}))
		}
		next.ServeHTTP(w, r)
	})
}

func TestForeignSession(t *testing.T) {
	f := newFixture()
	s := &server{t: t, fixture: f, handler: streamable.NewHandler(f, nil)}
	s.start(byToken(s.handler))
	alice := s.session(legacy, "Authorization", "alice")
	for _, who := range []string{"bob", "\x00"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if a := s.do(method, listTools, alice.with("Authorization", who)); a.status != 404 {
				t.Errorf("%s by %q: %d %s", method, who, a.status, a.body)
			}
		}
	}
	if a := s.post(listTools, alice); a.status != 200 {
		t.Errorf("alice: %d %s", a.status, a.body)
	}
	nobody := s.session(legacy)
	if a := s.post(listTools, nobody.with("Authorization", "bob")); a.status != 404 {
		t.Errorf("session of nobody by bob: %d %s", a.status, a.body)
	}
}

func TestBatch(t *testing.T) {
	s := serve(t, nil)
	l := s.session("2025-03-26")
	a := s.post(`[`+legacyCall(1, "echo", `{"a":1}`)+`,{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"ping"},{"id":3},`+
		`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{`+meta+`}}]`, l)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	ids := map[string]string{}
	for c := rawjson.Array([]byte(a.body)); c.Next(); {
		ids[string(rawjson.Get(c.Value(), "id"))] = string(c.Value())
	}
	if len(ids) != 4 || !strings.Contains(ids["1"], `{"a":1}`) || !strings.Contains(ids["2"], "result") ||
		!strings.Contains(ids["3"], "-32600") || !strings.Contains(ids["4"], "-32600") {
		t.Errorf("%s", a.body)
	}
	if a := s.post(`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":9,"result":{}}]`, l); a.status != 202 || a.body != "" {
		t.Errorf("notifications: %d %s", a.status, a.body)
	}
	if a := s.post(`[]`, l); a.status != 400 || a.code() != -32600 {
		t.Errorf("empty: %d %s", a.status, a.body)
	}
	if a := s.post(strings.Repeat("[", 4<<20), l); a.status != 400 || a.code() != -32700 {
		t.Errorf("deep: %d %s", a.status, a.body)
	}
	got := s.stream(http.MethodPost, `[`+legacyCall(1, "say", `{"count":2}`)+`,{"jsonrpc":"2.0","id":2,"method":"ping"}]`, l).rest()
	if len(got) != 4 || methodOf([]byte(got[0])) != "notifications/progress" {
		t.Errorf("as events: %q", got)
	}
	if a := s.post(`[`+initialize("2025-03-26")+`]`, base); a.status != 400 {
		t.Errorf("initialize: %d %s", a.status, a.body)
	}
}

func TestSessionlessAllowed(t *testing.T) {
	s := serve(t, &streamable.Options{Stateless: true})
	a := s.post(initialize(legacy), base)
	if a.status != 200 || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("initialize: %d %v", a.status, a.header)
	}
	if a := s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, base); a.status != 202 {
		t.Errorf("notification: %d", a.status)
	}
	for _, version := range []string{"\x00", "2025-06-18", legacy} {
		if a := s.post(legacyCall(1, "echo", `{}`), base.with("MCP-Protocol-Version", version)); a.status != 200 || a.code() != 0 {
			t.Errorf("%q: %d %s", version, a.status, a.body)
		}
	}
	if a := s.post(legacyCall(1, "ask", `{"method":"roots/list"}`), base); a.code() != -32603 || !strings.Contains(a.body, "no requests") {
		t.Errorf("ask: %d %s", a.status, a.body)
	}
	got := s.stream(http.MethodPost, legacyCall(1, "say", `{"count":2}`), base).rest()
	if len(got) != 3 {
		t.Errorf("say: %q", got)
	}
	if a := s.do(http.MethodGet, "", get(base)); a.status != 405 {
		t.Errorf("GET: %d", a.status)
	}
	if n := s.handler.Sessions(); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

func TestModernOnlyAndLegacyOnly(t *testing.T) {
	s := serve(t, &streamable.Options{Endpoint: mcp.EndpointOptions{Revisions: []*revision.Revision{revision.Latest()}}})
	if a := s.post(initialize(legacy), base); a.status != 400 || a.code() != -32022 {
		t.Errorf("initialize: %d %s", a.status, a.body)
	}
	s = serve(t, &streamable.Options{Endpoint: mcp.EndpointOptions{Revisions: []*revision.Revision{revision.LatestLegacy()}}})
	body, h := modernCall("echo", `{}`)
	if a := s.post(body, h); a.status != 400 || a.code() != -32022 {
		t.Errorf("modern: %d %s", a.status, a.body)
	}
	s.session(legacy)
}

func TestMaxSessions(t *testing.T) {
	s := serve(t, &streamable.Options{MaxSessions: 2})
	l := s.session(legacy)
	s.session(legacy)
	if a := s.post(initialize(legacy), base); a.status != 503 || a.header.Get("Retry-After") == "" || a.id() != "0" {
		t.Errorf("third: %d %s", a.status, a.body)
	}
	s.do(http.MethodDelete, "", l)
	s.session(legacy)
}

// handle runs one request without a network.
func handle(h http.Handler, method, body string, head headers) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost/mcp", strings.NewReader(body))
	for k, v := range head {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		h := streamable.NewHandler(f, &streamable.Options{SessionTTL: time.Minute})
		defer h.Close()
		w := handle(h, "POST", initialize(legacy), base)
		l := base.with("Mcp-Session-Id", w.Header().Get("Mcp-Session-Id"))
		for range 5 {
			time.Sleep(45 * time.Second)
			if w := handle(h, "POST", listTools, l); w.Code != 200 {
				t.Fatalf("in use: %d %s", w.Code, w.Body)
			}
		}
		// A request whose client stays keeps it alive, one whose client went does not.
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(legacyCall(1, "wait", `{}`))).WithContext(ctx)
			for k, v := range l {
				r.Header.Set(k, v)
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
		}()
		<-f.started
		time.Sleep(time.Hour)
		if h.Sessions() != 1 {
			t.Fatal("ended while a request was open")
		}
		leave()
		time.Sleep(10 * time.Minute)
		if err := <-f.ended; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("request ended with %v", err)
		}
		if w := handle(h, "POST", listTools, l); w.Code != 404 || h.Sessions() != 0 {
			t.Errorf("after idling: %d, %d sessions", w.Code, h.Sessions())
		}
		w = handle(h, "POST", initialize(legacy), base) // the timer starts again
		time.Sleep(2 * time.Minute)
		if w.Code != 200 || h.Sessions() != 0 {
			t.Errorf("second session: %d, %d left", w.Code, h.Sessions())
		}
	})
}

func TestAskingBack(t *testing.T) {
	s := serve(t, nil)
	l, other := s.session(legacy), s.session(legacy)
	e := s.stream(http.MethodPost, legacyCall(1, "ask", `{"method":"elicitation/create"}`), l)
	if ev := e.next(); len(ev.Data) != 0 || ev.ID == "" {
		t.Errorf("priming event: %+v", ev)
	}
	q := e.next()
	id := string(rawjson.Get(q.Data, "id"))
	if methodOf(q.Data) != "elicitation/create" || id == "" {
		t.Fatalf("question: %s", q.Data)
	}
	reply := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, id)
	if a := s.post(reply, other); a.status != 202 {
		t.Errorf("another session's reply: %d", a.status)
	}
	if a := s.post(reply, l); a.status != 202 || a.body != "" {
		t.Errorf("reply: %d %s", a.status, a.body)
	}
	if got := e.rest(); len(got) != 1 || !strings.Contains(got[0], `{"action":"decline"}`) {
		t.Errorf("answer: %q", got)
	}
	body, h := modernCall("ask", `{"method":"elicitation/create"}`)
	if a := s.post(body, h); a.code() != -32603 {
		t.Errorf("in the modern era: %d %s", a.status, a.body)
	}
	if a := s.post(legacyCall(2, "ask", `{"method":"tools/list"}`), l); a.code() != -32603 {
		t.Errorf("a request of clients: %d %s", a.status, a.body)
	}
}

func TestAskingIsCancelled(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	e := s.stream(http.MethodPost, legacyCall(1, "ask", `{"method":"roots/list"}`), l)
	e.next()
	id := string(rawjson.Get(e.next().Data, "id"))
	s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, l)
	got := e.rest()
	if len(got) != 1 || methodOf([]byte(got[0])) != "notifications/cancelled" || string(rawjson.Get([]byte(got[0]), "params", "requestId")) != id {
		t.Errorf("%q", got)
	}
}

func TestNotificationLeadsBack(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	e := s.stream(http.MethodGet, "", get(l))
	e.next()
	taken := make(chan answer, 1)
	go func() { taken <- s.post(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, l) }()
	if ev := e.next(); methodOf(ev.Data) != "notifications/progress" {
		t.Errorf("%s", ev.Data)
	}
	q := e.next()
	if methodOf(q.Data) != "roots/list" {
		t.Errorf("%s", q.Data)
	}
	s.post(`{"jsonrpc":"2.0","id":`+string(rawjson.Get(q.Data, "id"))+`,"result":{"roots":[]}}`, l)
	if err := receive(t, s.fixture.ended); err != nil {
		t.Error(err)
	}
	if a := receive(t, taken); a.status != 202 || a.body != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestPanicOfAListener(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	subscribe := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://panic"}}`
	resp, err := s.client.Do(s.request(t.Context(), http.MethodPost, subscribe, l))
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode == 200 && resp.ContentLength == 0 {
			t.Error("answered with nothing")
		}
	}
	if a := s.post(listTools, l); a.status != 200 {
		t.Errorf("afterwards: %d %s", a.status, a.body)
	}
}

func TestLifecyclesLeaveNothing(t *testing.T) {
	f := newFixture()
	h := streamable.NewHandler(f, nil)
	defer h.Close()
	for range 2000 {
		w := handle(h, "POST", initialize(legacy), base)
		l := base.with("Mcp-Session-Id", w.Header().Get("Mcp-Session-Id"))
		handle(h, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, l)
		if w := handle(h, "POST", legacyCall(1, "say", `{"count":2}`), l); !strings.Contains(w.Body.String(), "complete") {
			t.Fatalf("call: %d %s", w.Code, w.Body)
		}
		if w := handle(h, "DELETE", "", l); w.Code != 204 {
			t.Fatalf("DELETE: %d", w.Code)
		}
	}
	if n, m := h.Sessions(), f.listening(); n != 0 || m != 0 {
		t.Errorf("%d sessions, %d listeners left", n, m)
	}
}
