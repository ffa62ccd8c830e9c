package streamable_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/streamable"
	"mcpv/revision"
)

// TestClientRefusals: what a status that is no success becomes in each era.
func TestClientRefusals(t *testing.T) {
	const (
		js      = "application/json"
		mine    = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"bad"}}`
		nobodys = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"bad"}}`
		other   = `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"bad"}}`
		unknown = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"bad"}}`
	)
	const answer, plain, framed, gone = "answer", "HTTPError", "HTTPError with message", "session gone"
	for _, c := range []struct {
		status         int
		content, body  string
		legacy, modern string
	}{
		{400, js, mine, framed, answer},
		{400, js, nobodys, framed, answer},
		{400, js, other, framed, framed},
		{400, "text/plain", "Bad Request: Mcp-Session-Id header is required\n", plain, plain},
		{400, js, `{"error":"bad"}`, plain, plain},
		{404, js, mine, gone, answer},
		{404, js, unknown, framed, answer},
		{404, js, nobodys, gone, answer},
		{404, "text/html", "<html>", gone, plain},
		{405, "", "", plain, plain},
		{406, js, nobodys, framed, answer},
		{401, js, mine, framed, framed},
		{403, js, mine, framed, framed},
		{500, js, mine, framed, framed},
		{503, "text/event-stream", "data: x\n\n", plain, plain},
		{302, "", "", plain, plain},
		{202, "", "", plain, plain},
	} {
		check := func(era, want string, w *clientWorld) {
			m, err := w.call("tools/call", "")
			var e *mcp.HTTPError
			is := errors.As(err, &e)
			if is && (e.Status != c.status || e.Header["X-Test"] == nil || !strings.HasPrefix(c.body, string(e.Body)) && e.Message == nil) {
				t.Errorf("%s, %d %s: %+v", era, c.status, c.body, e)
			}
			got := "other"
			switch {
			case err == nil && m.Err() != nil && m.ID() != (jsonrpc.ID{}):
				got = answer
			case errors.Is(err, mcp.ErrSessionGone) && is:
				got = gone
			case is && e.Message != nil:
				got = framed
			case is:
				got = plain
			}
			if got != want {
				t.Errorf("%s, %d %s: %s (%v), want %s", era, c.status, c.body, got, err, want)
			}
		}
		tool := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Test", "1")
			clientReply(c.status, c.content, c.body)(w, r)
		}
		clientLegacy(t, tool, nil, func(w *clientWorld) { check("legacy", c.legacy, w) })
		clientTest(t, tool, nil, func(w *clientWorld) {
			w.link.Agree(revision.V2026_07_28)
			check("modern", c.modern, w)
		})
	}
}

// TestClientGoneSession: it is not ended again, and initialize makes another.
func TestClientGoneSession(t *testing.T) {
	clientLegacy(t, clientReply(404, "", ""), nil, func(w *clientWorld) {
		for range 2 { // each call finds out for itself
			if _, err := w.call("tools/call", ""); !errors.Is(err, mcp.ErrSessionGone) {
				t.Errorf("error %v", err)
			}
		}
		if err := w.link.Send(w.t.Context(), jsonrpc.NewNotification("n", nil)); err != nil {
			t.Error(err)
		}
		_ = w.link.Close()
		if got := w.requests(); slices.Contains(got, "DELETE") {
			t.Errorf("sent %v", got)
		}
	})
	// Without a session 404 says nothing about one, and never for initialize.
	clientTest(t, clientReply(404, "", ""), nil, func(w *clientWorld) {
		if _, err := w.call("initialize", ""); errors.Is(err, mcp.ErrSessionGone) || err == nil {
			t.Errorf("error %v", err)
		}
	})
}

// clientFlood writes a piece again and again until the client hangs up.
func clientFlood(contentType, head, piece string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, err := io.WriteString(w, head)
		for err == nil {
			_, err = io.WriteString(w, piece)
		}
	}
}

func TestClientLimits(t *testing.T) {
	x := strings.Repeat("x", 1<<12)
	limited := func(tr *streamable.Transport) { tr.MaxEvent, tr.MaxBody = 1<<16, 1<<16 }
	for name, tool := range map[string]http.HandlerFunc{
		"endless line":  clientFlood("text/event-stream", "id: 1\ndata: \n\ndata: ", x),
		"endless lines": clientFlood("text/event-stream", "", "data: "+x+"\n"),
		"endless field": clientFlood("text/event-stream", "id: ", x),
		"endless body":  clientFlood("application/json", `{"jsonrpc":"2.0","a":"`, x),
		"announced body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000000")
			clientFlood("application/json", "", x)(w, nil)
		},
	} {
		clientTest(t, tool, limited, func(w *clientWorld) {
			w.link.Agree(revision.V2025_11_25)
			if _, err := w.call("tools/call", ""); err == nil || !strings.Contains(err.Error(), "longer than") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	// The beginning of an endless refusal is enough.
	clientTest(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		clientFlood("text/plain", "", x)(w, r)
	}, nil, func(w *clientWorld) {
		var e *mcp.HTTPError
		if _, err := w.call("tools/call", ""); !errors.As(err, &e) || len(e.Body) != 64<<10 {
			t.Errorf("refusal of %d bytes: %.200v", len(e.Body), err)
		}
	})
	// Neither does the standalone stream end by an event that is too long.
	clientTest(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			clientRPC(nil)(w, r)
			return
		}
		clientEvents("data: "+strings.Repeat("x", 1<<17)+"\n\n"+clientNote("a"))(w, r)
		clientHang(w, r)
	}, limited, func(w *clientWorld) {
		w.handshake(revision.V2025_11_25)
		if got := w.received(); len(got) != 1 {
			t.Errorf("received %v", got)
		}
	})
}

func TestClientUnlimitedWithinLimits(t *testing.T) {
	big := strings.Repeat("x", 3<<20)
	for _, length := range []string{"", "known"} {
		tool := func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			answer := jsonrpc.NewResult(mustID(body), []byte(`"`+big+`"`)).Bytes()
			w.Header().Set("Content-Type", "application/json")
			if length == "" {
				w.(http.Flusher).Flush()
			}
			_, _ = w.Write(answer)
		}
		clientTest(t, tool, nil, func(w *clientWorld) {
			if got := w.result("tools/call", ""); len(got) != len(big)+2 {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

func mustID(body []byte) jsonrpc.ID {
	id, _ := jsonrpc.ParseID(rawjson.Get(body, "id"))
	return id
}

func TestClientCompressed(t *testing.T) {
	tool := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(jsonrpc.NewResult(mustID(body), []byte(`{}`)).Bytes())
		_ = z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(b.Bytes())
	}
	clientTest(t, tool, nil, func(w *clientWorld) {
		if got := w.result("tools/call", ""); got != `{}` {
			t.Errorf("result %s", got)
		}
	})
}

// TestClientSlow: a server that trickles does not outlast the context.
func TestClientSlow(t *testing.T) {
	for _, contentType := range []string{"application/json", "text/event-stream", "text/html"} {
		clientTest(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, ":")
				w.(http.Flusher).Flush()
				time.Sleep(time.Second) // fake
			}
		}, nil, func(w *clientWorld) {
			w.link.Agree(revision.V2026_07_28)
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			if _, err := w.callWith(ctx, "tools/call", ""); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
				t.Errorf("%s: %v after %v", contentType, err, time.Since(began))
			}
		})
	}
}

// TestClientStreamLeftOpen: a server that never ends a stream after the response
// holds up neither the call nor Close.
func TestClientStreamLeftOpen(t *testing.T) {
	tool := func(w http.ResponseWriter, r *http.Request) {
		clientEvents(clientDone)(w, r)
		clientHang(w, r)
	}
	clientLegacy(t, tool, nil, func(w *clientWorld) {
		began := time.Now()
		w.result("tools/call", "")
		if d := time.Since(began); d != 0 {
			t.Errorf("call took %v", d)
		}
		_ = w.link.Close()
		if d := time.Since(began); d != 0 {
			t.Errorf("close took %v", d)
		}
	})
}

func TestClientRedirects(t *testing.T) {
	for _, c := range []struct {
		status   int
		location string
		followed bool
	}{
		{307, "/other", true},
		{308, "http://server.test/other", true},
		{302, "/other", false}, // would become a GET
		{307, "http://elsewhere.test/other", false},
		{308, "https://server.test/other", false},
		{307, "/mcp", false}, // round and round
	} {
		clientTest(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/other" {
				clientReply(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{}}`)(w, r)
				return
			}
			w.Header().Set("Location", c.location)
			w.WriteHeader(c.status)
		}, nil, func(w *clientWorld) {
			w.link.Agree(revision.V2025_11_25)
			_, err := w.call("tools/call", "")
			var e *mcp.HTTPError
			if c.followed && err != nil || !c.followed && (!errors.As(err, &e) || e.Status != c.status) {
				t.Errorf("%d to %s: %v", c.status, c.location, err)
			}
		})
	}
}

// TestClientErrorsHideTheURL: it may hold secrets.
func TestClientErrorsHideTheURL(t *testing.T) {
	failing := &http.Client{Transport: clientTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrClosedPipe })}
	tr := &streamable.Transport{URL: "http://user:secret1@h.test/secret2?key=secret3", Client: failing}
	link, err := tr.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	_, err = link.Call(t.Context(), jsonrpc.NewRequest(link.NextID(), "ping", nil), nil)
	if !errors.Is(err, io.ErrClosedPipe) || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

// TestClientOwnHTTP uses the client that a Transport makes for itself.
func TestClientOwnHTTP(t *testing.T) {
	tr := &streamable.Transport{URL: "http://127.0.0.1:1/"}
	link, err := tr.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := link.Call(t.Context(), jsonrpc.NewRequest(link.NextID(), "ping", nil), nil); err == nil {
		t.Error("port 1 answers")
	}
	if err := link.Close(); err != nil {
		t.Error(err)
	}
}

type clientTrip func(*http.Request) (*http.Response, error)

func (f clientTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type clientSink struct{}

func (clientSink) Receive(mcp.Link, *jsonrpc.Message, jsonrpc.ID) {}

// FuzzClientAnswer: whatever a server answers, a call ends, and an answer it
// returns is one to its request.
func FuzzClientAnswer(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","error":{}}`,
		`[{"jsonrpc":"2.0","id":1,"result":{}}]`, `[]`, `<html>`, "",
		"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", "id: 1\nretry: 5\ndata:\n\n",
		"event: x\ndata: {}\n\ndata: [{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}]\n\n", "data: {\"jsonrpc\":\"2.0\",\"id\":1}\r\r",
	} {
		for status := range 3 {
			f.Add(byte(status), byte(0), s)
			f.Add(byte(status), byte(1), s)
		}
	}
	f.Fuzz(func(t *testing.T, status, kind byte, body string) {
		tr := &streamable.Transport{URL: "http://h.test/", MaxBody: 1 << 16, MaxEvent: 1 << 16}
		tr.Client = &http.Client{Transport: clientTrip(func(*http.Request) (*http.Response, error) {
			h := http.Header{"Content-Type": {[]string{"application/json", "text/event-stream", "text/html"}[kind%3]}}
			code := []int{200, 400, 404, 500}[status%4]
			return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}, nil
		})}
		link, err := tr.Connect(t.Context(), clientSink{})
		if err != nil {
			t.Fatal(err)
		}
		defer link.Close()
		link.Agree([]*revision.Revision{revision.V2026_07_28, revision.Classic}[kind/3%2]) // those that do not resume
		m, err := link.Call(t.Context(), jsonrpc.NewRequest(jsonrpc.IntID(1), "tools/call", nil), nil)
		if (m == nil) == (err == nil) || m != nil && (m.ID() != jsonrpc.IntID(1) || m.Kind() != jsonrpc.Response) {
			t.Errorf("answer %v, error %v", m, err)
		}
	})
}
