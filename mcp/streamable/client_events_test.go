package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/streamable"
	"mcpv/revision"
)

const clientDone = "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"done\":true}}\n\n"

func clientNote(n string) string {
	return "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/" + n + "\"}\n\n"
}

// clientEvents serves a stream; ID in it becomes the request's.
func clientEvents(text string) http.HandlerFunc {
	return clientReply(200, "text/event-stream; charset=utf-8", text)
}

// clientLegacy runs a test in a session of 2025-11-25 without standalone stream:
// get answers other GETs.
func clientLegacy(t *testing.T, tool, get http.HandlerFunc, test func(w *clientWorld)) {
	t.Helper()
	rpc := clientRPC(tool)
	clientTest(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && get != nil {
			get(w, r)
			return
		}
		rpc(w, r)
	}, func(tr *streamable.Transport) { tr.NoStream = true }, func(w *clientWorld) {
		w.handshake(revision.V2025_11_25)
		test(w)
	})
}

func TestClientStream(t *testing.T) {
	text := ": hello\n\n" + clientNote("a") + "event: ping\ndata: {}\n\n" + clientNote("b") +
		"data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\n" + "data: garbage\n\n" + clientDone + clientNote("late")
	clientLegacy(t, clientEvents(text), nil, func(w *clientWorld) {
		if got := w.result("tools/call", ""); got != `{"done":true}` {
			t.Errorf("result %s", got)
		}
		id := jsonrpc.IntID(2)
		want := []clientTaken{{"notifications/a", id}, {"notifications/b", id}, {"roots/list", id}}
		if got := w.received(); !slices.Equal(got, want) {
			t.Errorf("received %v, want %v", got, want)
		}
	})
}

// TestClientModernStream: servers of the modern era send no requests.
func TestClientModernStream(t *testing.T) {
	text := clientNote("a") + "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\n" + clientDone
	clientTest(t, clientEvents(text), nil, func(w *clientWorld) {
		w.link.Agree(revision.V2026_07_28)
		w.result("tools/call", "")
		if got, want := w.received(), []clientTaken{{"notifications/a", jsonrpc.IntID(1)}}; !slices.Equal(got, want) {
			t.Errorf("received %v", got)
		}
	})
}

func TestClientAnswers(t *testing.T) {
	const (
		js  = "application/json; charset=utf-8"
		sse = "text/event-stream"
	)
	for _, c := range []struct {
		name, contentType, body string
		want                    string // the frame, or what the error contains
	}{
		{"json", js, ` {"jsonrpc":"2.0","id":ID,"result":{"n":1.50}} `, `{"jsonrpc":"2.0","id":2,"result":{"n":1.50}}`},
		{"error", js, `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"m"}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m"}}`},
		{"error without id", js, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m"}}`},
		{"error without id on a stream", sse, "data: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":1}}\n\n", `{"jsonrpc":"2.0","id":2,"error":{"code":1}}`},
		{"foreign id", js, `{"jsonrpc":"2.0","id":"ID","result":{}}`, "another request"},
		{"foreign id on a stream", sse, "data: {\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n\n" + clientDone, "another request"},
		{"batch", js, `[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":77,"result":{}},{"jsonrpc":"2.0","id":ID,"result":{}}]`, `{"jsonrpc":"2.0","id":2,"result":{}}`},
		{"batch on a stream", sse, "data: [{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}]\n\n", `{"jsonrpc":"2.0","id":2,"result":{}}`},
		{"batch without it", js, `[{"jsonrpc":"2.0","id":77,"result":{}}]`, "no response"},
		{"empty batch", js, `[]`, "no response"},
		{"call", js, `{"jsonrpc":"2.0","method":"notifications/x"}`, "no response"},
		{"no message", js, `{"error":"unknown"}`, `jsonrpc must be`},
		{"no json", js, `oops`, "parse error"},
		{"duplicate member", js, `{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}`, "parse error"},
		{"empty", js, ``, "parse error"},
		{"bad response on a stream", sse, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{},\"error\":{}}\n\n", "response is no message"},
		{"html", "text/html", `<html>`, "content type"},
		{"no type", "", `x`, "content type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clientLegacy(t, clientReply(200, c.contentType, c.body), nil, func(w *clientWorld) {
				m, err := w.call("tools/call", "")
				if err != nil {
					if c.want[0] == '{' || !strings.Contains(err.Error(), c.want) {
						t.Errorf("error %v, want %s", err, c.want)
					}
					if e := (*jsonrpc.Error)(nil); errors.As(err, &e) {
						t.Errorf("our own error poses as the server's: %v", e)
					}
					return
				}
				if got := string(m.Bytes()); strings.TrimSpace(got) != c.want {
					t.Errorf("answer %s, want %s", got, c.want)
				}
				if strings.Contains(c.name, "batch") && len(w.received()) != 1 {
					t.Errorf("received %v", w.received())
				}
			})
		})
	}
}

// TestClientClassicStream: every event is a response and the last one counts.
func TestClientClassicStream(t *testing.T) {
	text := "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":1}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":2}\n\n"
	clientTest(t, clientEvents(text), nil, func(w *clientWorld) {
		w.link.Agree(revision.Classic)
		if got := w.result("mcp/tool/execute", ""); got != "2" {
			t.Errorf("result %s", got)
		}
	})
}

// TestClientRetry: the server closes after the priming event and asks for 500 ms.
func TestClientRetry(t *testing.T) {
	var closed time.Time
	tool := func(w http.ResponseWriter, r *http.Request) {
		clientEvents("id: e1\nretry: 500\ndata: \n\n")(w, r)
		closed = time.Now()
	}
	gets := 0
	get := func(w http.ResponseWriter, r *http.Request) {
		if gets++; gets == 1 {
			clientEvents("id: e2\n"+clientNote("x"))(w, r)
			return
		}
		clientEvents(strings.ReplaceAll(clientDone, "ID", "2"))(w, r)
	}
	clientLegacy(t, tool, get, func(w *clientWorld) {
		if got := w.result("tools/call", ""); got != `{"done":true}` {
			t.Errorf("result %s", got)
		}
		var resumed []clientSeen
		for _, s := range w.seen {
			if s.verb == http.MethodGet {
				resumed = append(resumed, s)
			}
		}
		if len(resumed) != 2 {
			t.Fatalf("sent %v", w.requests())
		}
		if d := resumed[0].at.Sub(closed); d < 500*time.Millisecond || d > 600*time.Millisecond {
			t.Errorf("reconnected after %v", d)
		}
		for i, s := range resumed {
			h := s.header
			if h.Get("Last-Event-Id") != fmt.Sprint("e", i+1) || h.Get("Accept") != "text/event-stream" || h.Get("Mcp-Session-Id") != "session-1" || h.Get("Mcp-Protocol-Version") != "2025-11-25" {
				t.Errorf("GET %d has %v", i, h)
			}
		}
		if got, want := w.received(), []clientTaken{{"notifications/x", jsonrpc.IntID(2)}}; !slices.Equal(got, want) {
			t.Errorf("received %v", got)
		}
	})
}

// clientAbort sends text and breaks the connection.
func clientAbort(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		clientEvents(text)(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestClientResumeFails(t *testing.T) {
	for _, c := range []struct {
		name      string
		tool, get http.HandlerFunc
		gets      int
		is        error
		says      string
	}{
		{"no event id", clientEvents(clientNote("x")), nil, 0, streamable.ErrStreamBroken, ""},
		{"within an event", clientAbort("data: {\"jsonrpc\""), nil, 0, streamable.ErrStreamBroken, "unexpected EOF"},
		{"id was taken back", clientEvents("id: 1\ndata:\n\nid:\ndata:\n\n"), nil, 0, streamable.ErrStreamBroken, ""},
		{"not offered", clientAbort("id: 1\ndata:\n\n"), clientReply(405, "", ""), 1, streamable.ErrStreamBroken, "405"},
		{"no stream", clientEvents("id: 1\ndata:\n\n"), clientReply(200, "text/html", ""), 1, streamable.ErrStreamBroken, "200"},
		{"session gone", clientEvents("id: 1\ndata:\n\n"), clientReply(404, "", ""), 1, mcp.ErrSessionGone, "404"},
		{"server down", clientEvents("id: 1\ndata:\n\n"), clientReply(503, "", ""), 3, streamable.ErrStreamBroken, "503"},
		{"nothing comes", clientEvents("id: 1\ndata:\n\n"), clientEvents(": hello\n\n"), 3, streamable.ErrStreamBroken, "gave up"},
		{"bad frame", clientEvents("id: 1\ndata: garbage\n\n"), nil, 0, streamable.ErrStreamBroken, "no message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clientLegacy(t, c.tool, c.get, func(w *clientWorld) {
				_, err := w.call("tools/call", "")
				if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v", err)
				}
				gets := 0
				for _, s := range w.requests() {
					if s == "GET" {
						gets++
					}
				}
				if gets != c.gets {
					t.Errorf("%d tries to resume, want %d", gets, c.gets)
				}
			})
		})
	}
}

func TestClientModernNeverResumes(t *testing.T) {
	clientTest(t, clientEvents("id: 1\nretry: 1\ndata:\n\n"), nil, func(w *clientWorld) {
		w.link.Agree(revision.V2026_07_28)
		if _, err := w.call("tools/call", ""); !errors.Is(err, streamable.ErrStreamBroken) || len(w.requests()) != 1 {
			t.Errorf("error %v after %v", err, w.requests())
		}
	})
}

// TestClientCancelWhileWaiting: the context ends while the client waits to resume.
func TestClientCancelWhileWaiting(t *testing.T) {
	clientLegacy(t, clientEvents("id: 1\nretry: 3600000\ndata:\n\n"), nil, func(w *clientWorld) {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		if _, err := w.callWith(ctx, "tools/call", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		w.last("POST notifications/cancelled")
	})
}

// clientListening runs a test with a standalone stream served by get, which is
// told how many GETs came before.
func clientListening(t *testing.T, tool http.HandlerFunc, get func(n int, w http.ResponseWriter, r *http.Request), test func(w *clientWorld)) {
	t.Helper()
	rpc := clientRPC(tool)
	gets := 0
	clientTest(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			gets++
			get(gets-1, w, r)
			return
		}
		rpc(w, r)
	}, nil, func(w *clientWorld) {
		w.handshake(revision.V2025_11_25)
		synctest.Wait()
		test(w)
	})
}

func clientHang(w http.ResponseWriter, r *http.Request) {
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestClientStandaloneStream(t *testing.T) {
	get := func(n int, w http.ResponseWriter, r *http.Request) {
		switch n {
		case 0:
			clientEvents("id: s1\nretry: 2000\n"+clientNote("a")+"data: garbage\n\n")(w, r)
		case 1:
			clientAbort("")(w, r)
		default:
			clientEvents("data: [{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}]\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n\n")(w, r)
			clientHang(w, r)
		}
	}
	clientListening(t, nil, get, func(w *clientWorld) {
		began := time.Now()
		time.Sleep(time.Minute) // fake
		if got, want := w.received(), []clientTaken{{"notifications/a", jsonrpc.ID{}}, {"ping", jsonrpc.ID{}}}; !slices.Equal(got, want) {
			t.Errorf("received %v", got)
		}
		last := w.last("GET")
		if id := last.header.Get("Last-Event-Id"); id != "s1" {
			t.Errorf("Last-Event-ID: %q", id)
		}
		if d := last.at.Sub(began); d < 6*time.Second || d > 9*time.Second { // 2 s, then 4 s and up to half more
			t.Errorf("the third stream came after %v", d)
		}
	})
}

func TestClientStreamRefused(t *testing.T) {
	for status, again := range map[int]int{405: 0, 400: 1, 404: 1, 403: 1} {
		get := func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
		clientListening(t, nil, get, func(w *clientWorld) {
			time.Sleep(time.Hour) // fake
			before := len(w.requests())
			w.handshake(revision.V2025_11_25)
			got := w.requests()[before:]
			if slices.Index(w.requests()[:before], "GET") < 0 || len(got)-2 != again {
				t.Errorf("%d: sent %v, then %v", status, w.requests()[:before], got)
			}
		})
	}
}

// TestClientNewSessionEndsStream: the stream of the old session is closed.
func TestClientNewSessionEndsStream(t *testing.T) {
	ended := 0
	get := func(_ int, w http.ResponseWriter, r *http.Request) {
		clientEvents("")(w, r)
		clientHang(w, r)
		ended++
	}
	clientListening(t, nil, get, func(w *clientWorld) {
		w.handshake(revision.V2025_11_25)
		if id := w.last("GET").header.Get("Mcp-Session-Id"); id != "session-2" || ended != 1 {
			t.Errorf("stream of %s, %d ended", id, ended)
		}
	})
}

// TestClientAnswerOnStandaloneStream: some servers resume on any stream there is.
func TestClientAnswerOnStandaloneStream(t *testing.T) {
	var called atomic.Value // the id of the call; a channel would have to be made in the bubble
	tool := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		clientEvents("id: 1\nretry: 600000\ndata:\n\n")(w, r)
		called.Store(string(rawjson.Get(body, "id")))
	}
	get := func(_ int, w http.ResponseWriter, r *http.Request) {
		clientEvents("")(w, r)
		w.(http.Flusher).Flush()
		for called.Load() == nil && r.Context().Err() == nil {
			time.Sleep(time.Second) // fake
		}
		time.Sleep(time.Second) // fake: after the POST has been read
		_, _ = io.WriteString(w, strings.ReplaceAll(clientDone, "ID", called.Load().(string)))
		clientHang(w, r)
	}
	clientListening(t, tool, get, func(w *clientWorld) {
		if got := w.result("tools/call", ""); got != `{"done":true}` {
			t.Errorf("result %s", got)
		}
	})
}
