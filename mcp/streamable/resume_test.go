package streamable_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/mcp"
	"mcpv/mcp/streamable"
)

func TestEventsBeforeTheAnswer(t *testing.T) {
	s := serve(t, nil)
	body, h := modernCall("say", `{"count":3}`)
	e := s.stream(http.MethodPost, body, h)
	if e.resp.Header.Get("X-Accel-Buffering") != "no" || e.resp.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("headers %v", e.resp.Header)
	}
	for i := range 3 {
		ev := e.next()
		if ev.HasID || string(ev.Data) != string(progress(i).Bytes()) {
			t.Errorf("event %d: %+v", i, ev)
		}
	}
	if got := e.rest(); len(got) != 1 || string(rawjson.Get([]byte(got[0]), "id")) != "7" {
		t.Errorf("answer: %q", got)
	}
	// An error after the first event cannot have a status any more.
	l := s.session(legacy)
	ids := map[string]bool{}
	e = s.stream(http.MethodPost, legacyCall(1, "say", `{"count":3}`), l)
	if ev := e.next(); len(ev.Data) != 0 || ev.Data == nil || ev.ID == "" {
		t.Errorf("priming event: %+v", ev)
	}
	for range 4 {
		ev := e.next()
		if ev.ID == "" || ids[ev.ID] || len(ev.Data) == 0 {
			t.Errorf("event %+v", ev)
		}
		ids[ev.ID] = true
	}
	if got := e.rest(); len(got) != 0 {
		t.Errorf("after the answer: %q", got)
	}
	old := s.session("2025-06-18")
	if ev := s.stream(http.MethodPost, legacyCall(1, "say", `{"count":1}`), old).next(); len(ev.Data) == 0 || ev.ID == "" {
		t.Errorf("first event of an older revision: %+v", ev)
	}
}

func TestDisconnectCancelsModern(t *testing.T) {
	s := serve(t, nil)
	for _, args := range []string{`{"say":1}`, `{}`} {
		body, h := modernCall("wait", args)
		if args != `{}` {
			e := s.stream(http.MethodPost, body, h)
			receive(t, s.fixture.started)
			e.drop()
		} else {
			ctx, cancel := withCancel(t)
			done := make(chan error, 1)
			go func() {
				_, err := s.client.Do(s.request(ctx, http.MethodPost, body, h))
				done <- err
			}()
			receive(t, s.fixture.started)
			cancel()
			receive(t, done)
		}
		if err := receive(t, s.fixture.ended); err == nil {
			t.Errorf("%s: not cancelled", args)
		}
	}
}

func TestDisconnectAndResumeLegacy(t *testing.T) {
	s := serve(t, nil)
	l, other := s.session(legacy), s.session(legacy)
	e := s.stream(http.MethodPost, legacyCall(5, "wait", `{"say":1}`), l)
	prime := e.next().ID
	first := e.next()
	receive(t, s.fixture.started)
	e.drop()
	s.fixture.released <- struct{}{}
	if err := receive(t, s.fixture.ended); err != nil {
		t.Fatalf("a dropped connection cancelled: %v", err)
	}
	for i, want := range map[string]int{prime: 2, first.ID: 1} {
		got := s.stream(http.MethodGet, "", get(l, "Last-Event-ID", i)).rest()
		if len(got) != want || string(rawjson.Get([]byte(got[want-1]), "id")) != "5" {
			t.Errorf("after %s: %q", i, got)
		}
	}
	stream, _, _ := strings.Cut(prime, "-")
	for name, h := range map[string]headers{
		"another session's stream": get(other, "Last-Event-ID", prime),
		"unknown stream":           get(l, "Last-Event-ID", "aUNKNOWN-1"),
		"garbage":                  get(l, "Last-Event-ID", "garbage"),
		"negative":                 get(l, "Last-Event-ID", stream+"--1"),
	} {
		if a := s.do(http.MethodGet, "", h); a.status != 404 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

func TestResumeWhileRunning(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	e := s.stream(http.MethodPost, legacyCall(5, "wait", `{"say":1}`), l)
	id := e.next().ID
	receive(t, s.fixture.started)
	// The first connection still stands: it must not get what the second gets.
	e2 := s.stream(http.MethodGet, "", get(l, "Last-Event-ID", id))
	missed := e2.next()
	if methodOf(missed.Data) != "notifications/progress" {
		t.Errorf("missed: %s", missed.Data)
	}
	e3 := s.stream(http.MethodGet, "", get(l, "Last-Event-ID", missed.ID))
	if got := e2.rest(); len(got) != 0 {
		t.Errorf("replaced connection: %q", got)
	}
	s.fixture.released <- struct{}{}
	if got := e3.rest(); len(got) != 1 || string(rawjson.Get([]byte(got[0]), "id")) != "5" {
		t.Errorf("answer: %q", got)
	}
	if got := e.rest(); len(got) != 1 || methodOf([]byte(got[0])) != "notifications/progress" {
		t.Errorf("first connection: %q", got)
	}
	if n := s.do(http.MethodGet, "", get(l, "Last-Event-ID", strings.TrimRight(id, "0123456789")+"99")); n.status != 200 || n.body != "" {
		t.Errorf("resumed after the end: %d %q", n.status, n.body)
	}
}

func TestPolling(t *testing.T) {
	f := newFixture()
	handler := streamable.NewHandler(f, nil)
	tests := map[string]func(*server){
		"HTTP/1.1": func(s *server) { s.start(handler) },
		"HTTP/2": func(s *server) {
			hs := httptest.NewUnstartedServer(handler)
			hs.EnableHTTP2 = true
			hs.StartTLS()
			s.url, s.client = hs.URL+"/mcp", hs.Client()
			t.Cleanup(func() { handler.Close(); hs.CloseClientConnections(); hs.Close() })
		},
	}
	for name, start := range tests {
		s := &server{t: t, fixture: f, handler: handler}
		start(s)
		l := s.session(legacy)
		e := s.stream(http.MethodPost, legacyCall(5, "poll", `{}`), l)
		if !strings.HasPrefix(e.resp.Proto, name) {
			t.Fatalf("%s spoken, want %s", e.resp.Proto, name)
		}
		prime := e.next()
		if prime.ID == "" || prime.Data == nil || len(prime.Data) != 0 {
			t.Errorf("%s: priming event %+v", name, prime)
		}
		if ev := e.next(); !ev.HasRetry || ev.Retry != 100*time.Millisecond {
			t.Errorf("%s: retry event %+v", name, ev)
		}
		if ev, err := e.events.Next(); err == nil {
			t.Errorf("%s: connection goes on with %+v", name, ev)
		}
		if !receive(t, f.closed) {
			t.Errorf("%s: not closed", name)
		}
		receive(t, f.started)
		e = s.stream(http.MethodGet, "", get(l, "Last-Event-ID", prime.ID))
		f.released <- struct{}{}
		if got := e.rest(); len(got) != 1 || string(rawjson.Get([]byte(got[0]), "id")) != "5" {
			t.Errorf("%s: answer %q", name, got)
		}
		receive(t, f.ended)
	}
}

func TestPollingAgain(t *testing.T) {
	s := serve(t, &streamable.Options{RetryInterval: 20 * time.Millisecond})
	l := s.session(legacy)
	e := s.stream(http.MethodPost, legacyCall(5, "poll", `{"again":1,"say":1}`), l)
	prime := e.next()
	if prime.Retry != 20*time.Millisecond {
		t.Errorf("priming event %+v", prime)
	}
	e.rest()
	receive(t, s.fixture.closed)
	e = s.stream(http.MethodGet, "", get(l, "Last-Event-ID", prime.ID))
	s.fixture.released <- struct{}{}
	if ev := e.next(); ev.Retry != 20*time.Millisecond {
		t.Errorf("end of the second connection: %+v", ev)
	}
	if got := e.rest(); len(got) != 0 || !receive(t, s.fixture.closed) {
		t.Errorf("second connection goes on: %q", got)
	}
	receive(t, s.fixture.started)
	s.fixture.released <- struct{}{}
	receive(t, s.fixture.ended)
	got := s.stream(http.MethodGet, "", get(l, "Last-Event-ID", prime.ID)).rest()
	if len(got) != 2 || methodOf([]byte(got[0])) != "notifications/progress" || !strings.Contains(got[1], "released") {
		t.Errorf("third connection: %q", got)
	}
}

func TestNoPolling(t *testing.T) {
	s := serve(t, nil)
	old := s.session("2025-06-18")
	s.fixture.released <- struct{}{}
	if a := s.post(legacyCall(5, "poll", `{}`), old); a.status != 200 || !strings.Contains(a.body, "released") {
		t.Errorf("older revision: %d %s", a.status, a.body)
	}
	s.fixture.released <- struct{}{}
	body, h := modernCall("poll", `{}`)
	if a := s.post(body, h); a.status != 200 || !strings.Contains(a.body, "released") {
		t.Errorf("modern: %d %s", a.status, a.body)
	}
	for range 2 {
		if receive(t, s.fixture.closed) {
			t.Error("closed a stream that nobody resumes")
		}
	}
	// Behind a middleware that hides the connection the call goes on.
	f := newFixture()
	s = &server{t: t, fixture: f, handler: streamable.NewHandler(f, nil)}
	s.start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(struct{ http.ResponseWriter }{w}, r) }))
	l := s.session(legacy)
	f.released <- struct{}{}
	got := s.stream(http.MethodPost, legacyCall(5, "poll", `{}`), l).rest()
	if receive(t, f.closed) || len(got) == 0 || !strings.Contains(got[len(got)-1], "released") {
		t.Errorf("hidden connection: %q", got)
	}
}

func TestCancelLegacy(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	answered := make(chan answer, 1)
	go func() { answered <- s.post(legacyCall(5, "wait", `{}`), l) }()
	receive(t, s.fixture.started)
	if a := s.post(legacyCall(5, "echo", `{}`), l); a.status != 400 || a.code() != -32600 {
		t.Errorf("id in use: %d %s", a.status, a.body)
	}
	s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, s.session(legacy)) // somebody else's 5
	s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, l)
	if err := receive(t, s.fixture.ended); !errors.Is(err, mcp.ErrCancelled) {
		t.Errorf("ended with %v", err)
	}
	if a := receive(t, answered); a.status != 202 || a.body != "" {
		t.Errorf("cancelled request was answered: %d %s", a.status, a.body)
	}
}

func TestStreamOfGet(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	change := func() { s.fixture.change("notifications/tools/list_changed", "") }
	for range 5 { // joined while nobody looks
		change()
	}
	e := s.stream(http.MethodGet, "", get(l))
	prime := e.next()
	if prime.ID == "" || len(prime.Data) != 0 {
		t.Errorf("priming event %+v", prime)
	}
	if ev := e.next(); methodOf(ev.Data) != "notifications/tools/list_changed" {
		t.Errorf("%s", ev.Data)
	}
	if a := s.do(http.MethodGet, "", get(l)); a.status != 409 {
		t.Errorf("second stream: %d %s", a.status, a.body)
	}
	s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://a"}}`, l)
	s.fixture.change("notifications/resources/updated", `{"uri":"test://b"}`)
	s.fixture.change("notifications/resources/updated", `{"uri":"test://a"}`)
	last := e.next()
	if !strings.Contains(string(last.Data), "test://a") {
		t.Errorf("%s", last.Data)
	}
	// Resumed: everything after the event named, once, then what is new.
	e2 := s.stream(http.MethodGet, "", get(l, "Last-Event-ID", prime.ID))
	if got := e.rest(); len(got) != 0 {
		t.Errorf("replaced stream: %q", got)
	}
	e2.next()
	if ev := e2.next(); string(ev.Data) != string(last.Data) || ev.ID != last.ID {
		t.Errorf("replayed %+v, want %+v", ev, last)
	}
	change()
	if ev := e2.next(); methodOf(ev.Data) != "notifications/tools/list_changed" {
		t.Errorf("%s", ev.Data)
	}
	for name, h := range map[string]headers{"no session": get(base), "modern": get(l, "MCP-Protocol-Version", modern)} {
		if a := s.do(http.MethodGet, "", h); a.status != 405 || a.header.Get("Allow") == "" {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	if a := s.do(http.MethodGet, "", get(l, "Accept", "application/json")); a.status != 406 {
		t.Errorf("json: %d", a.status)
	}
	if s.do(http.MethodDelete, "", l); len(e2.rest()) != 0 {
		t.Error("events after DELETE")
	}
}

// A client that does not read holds up nobody; it is cut off and may come back.
func TestSlowReader(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	e := s.stream(http.MethodGet, "", get(l))
	last := e.next().ID
	pad := strings.Repeat("x", 100<<10)
	for i := range 200 {
		s.fixture.change("notifications/tools/list_changed", fmt.Sprintf(`{"n":%d,"pad":"%s"}`, i, pad))
	}
	seen := 0
	for {
		ev, err := e.events.Next()
		if err != nil {
			break
		}
		last, seen = ev.ID, seen+1
	}
	if seen == 200 {
		t.Error("the queue has no bound")
	}
	s.fixture.change("notifications/tools/list_changed", `{"n":"last"}`)
	for e = s.stream(http.MethodGet, "", get(l, "Last-Event-ID", last)); ; {
		if ev := e.next(); strings.Contains(string(ev.Data), `"last"`) {
			break
		}
	}
}

func TestLostEventsAreTold(t *testing.T) {
	s := serve(t, &streamable.Options{Events: streamable.NewMemoryStore(1000, 0)})
	l := s.session(legacy)
	e := s.stream(http.MethodPost, legacyCall(5, "say", `{"count":50}`), l)
	id := e.next().ID
	if got := e.rest(); len(got) != 51 {
		t.Fatalf("%d events", len(got))
	}
	e = s.stream(http.MethodGet, "", get(l, "Last-Event-ID", id))
	if ev := e.next(); ev.Name != "error" || !strings.Contains(string(ev.Data), "no longer kept") {
		t.Errorf("%+v", ev)
	}
	if got := e.rest(); len(got) == 0 || len(got) > 20 || string(rawjson.Get([]byte(got[len(got)-1]), "id")) != "5" {
		t.Errorf("%q", got)
	}
}

const listenBody = `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`

func TestListen(t *testing.T) {
	s := serve(t, nil)
	e := s.stream(http.MethodPost, listenBody, modernHeaders("subscriptions/listen", ""))
	check := func(method string) {
		t.Helper()
		ev := e.next()
		if methodOf(ev.Data) != method || string(rawjson.Get(ev.Data, "params", "_meta", "io.modelcontextprotocol/subscriptionId")) != `"sub"` {
			t.Errorf("want %s: %s", method, ev.Data)
		}
	}
	check("notifications/subscriptions/acknowledged")
	s.fixture.change("notifications/resources/list_changed", "")
	s.fixture.change("notifications/tools/list_changed", "")
	check("notifications/tools/list_changed")
	if err := s.handler.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := e.rest(); len(got) != 1 || string(rawjson.Get([]byte(got[0]), "id")) != `"sub"` || rawjson.Get([]byte(got[0]), "result") == nil {
		t.Errorf("at the end: %q", got)
	}
	if n := s.fixture.listening(); n != 0 {
		t.Errorf("%d listeners left", n)
	}
}

func TestShutdown(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	alone := s.stream(http.MethodGet, "", get(l))
	ask := s.stream(http.MethodPost, legacyCall(5, "ask", `{"method":"roots/list"}`), l)
	ask.next()
	id := string(rawjson.Get(ask.next().Data, "id"))
	body, h := modernCall("wait", `{}`)
	waited := make(chan answer, 1)
	go func() { waited <- s.post(body, h) }()
	receive(t, s.fixture.started)
	down := make(chan error, 1)
	go func() { down <- s.handler.Shutdown(t.Context()) }()
	alone.rest() // the stream of GET ends at once
	for name, a := range map[string]answer{"modern": s.post(body, h), "legacy": s.post(listTools, l), "initialize": s.post(initialize(legacy), base), "GET": s.do(http.MethodGet, "", get(l))} {
		if a.status != 503 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := s.post(`{"jsonrpc":"2.0","id":`+id+`,"result":{"roots":[]}}`, l); a.status != 202 {
		t.Errorf("answer to a question: %d %s", a.status, a.body)
	}
	if got := ask.rest(); len(got) != 1 || !strings.Contains(got[0], "roots") {
		t.Errorf("question: %q", got)
	}
	s.fixture.released <- struct{}{}
	if a := receive(t, waited); a.status != 200 || !strings.Contains(a.body, "released") {
		t.Errorf("open request: %d %s", a.status, a.body)
	}
	if err := receive(t, down); err != nil {
		t.Error(err)
	}
	if n := s.handler.Sessions(); n != 0 {
		t.Errorf("%d sessions left", n)
	}
}

func TestShutdownInAHurry(t *testing.T) {
	s := serve(t, nil)
	l := s.session(legacy)
	e := s.stream(http.MethodPost, legacyCall(5, "wait", `{"say":1}`), l)
	receive(t, s.fixture.started)
	ctx, cancel := withCancel(t)
	cancel()
	if err := s.handler.Shutdown(ctx); err == nil {
		t.Error("no error")
	}
	if err := receive(t, s.fixture.ended); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("open request ended with %v", err)
	}
	if got := e.rest(); len(got) != 3 || !strings.Contains(got[2], "error") {
		t.Errorf("%q", got)
	}
}

func TestKeepAlive(t *testing.T) {
	s := serve(t, &streamable.Options{KeepAlive: 5 * time.Millisecond})
	l := s.session(legacy)
	body, h := modernCall("wait", `{"say":1}`)
	for name, e := range map[string]*sse{
		"modern": s.stream(http.MethodPost, body, h),
		"legacy": s.stream(http.MethodPost, legacyCall(5, "wait", `{"say":1}`), l),
		"GET":    s.stream(http.MethodGet, "", get(l)),
	} {
		var read []byte
		for buf := make([]byte, 100); strings.Count(string(read), ": \n\n") < 3; {
			n, err := e.resp.Body.Read(buf)
			if read = append(read, buf[:n]...); err != nil {
				t.Fatalf("%s: %v after %q", name, err, read)
			}
		}
	}
	s.fixture.released <- struct{}{}
	s.fixture.released <- struct{}{}
	receive(t, s.fixture.ended)
	receive(t, s.fixture.ended)
}
