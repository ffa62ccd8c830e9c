package sse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/sse"
)

// stub answers a GET with a stream of the given text, which then ends.
func stub(t *testing.T, stream string) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, stream)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestDialRefusesEndpoints(t *testing.T) {
	for name, stream := range map[string]string{
		"other host":    "event: endpoint\ndata: http://evil.example/x\n\n",
		"network path":  "event: endpoint\ndata: //evil.example/x\n\n",
		"other port":    "event: endpoint\ndata: http://127.0.0.1:1/x\n\n",
		"other scheme":  "event: endpoint\ndata: https://127.0.0.1/x\n\n",
		"file":          "event: endpoint\ndata: file:///etc/passwd\n\n",
		"userinfo":      "event: endpoint\ndata: //u:p@HOST/x\n\n",
		"not a uri":     "event: endpoint\ndata: http://[::1\n\n",
		"message first": "data: {}\n\nevent: endpoint\ndata: /x\n\n",
		"none":          ": hello\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, strings.ReplaceAll(stream, "HOST", r.Host))
			}))
			defer srv.Close()
			if _, err := sse.Dial(t.Context(), srv.URL, &sse.DialOptions{HTTPClient: srv.Client()}); !errors.Is(err, sse.ErrEndpoint) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDialRefusesAnswers(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, strings.Repeat("no", 1<<20), http.StatusUnauthorized)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://evil.example/", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/html", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	opts := &sse.DialOptions{HTTPClient: srv.Client()}
	for path, want := range map[string]int{"/auth": 401, "/away": 307, "/loop": 302, "/none": 404} {
		_, err := sse.Dial(t.Context(), srv.URL+path, opts)
		var status *mcp.HTTPError
		if !errors.As(err, &status) || status.Status != want {
			t.Errorf("%s: got %v", path, err)
			continue
		}
		if len(status.Body) > 8<<10 {
			t.Errorf("%s: %d bytes of body", path, len(status.Body))
		}
		if path == "/auth" && http.Header(status.Header).Get("WWW-Authenticate") != "Bearer" {
			t.Error("headers lost")
		}
	}
	if _, err := sse.Dial(t.Context(), srv.URL+"/html", opts); err == nil {
		t.Error("html was accepted")
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	asked := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		close(asked)
		<-r.Context().Done()
	}))
	defer srv.Close()
	boom := errors.New("boom")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(boom)
	}()
	if _, err := sse.Dial(ctx, srv.URL, &sse.DialOptions{HTTPClient: srv.Client()}); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

func TestStreamOutlivesTheContextOfDial(t *testing.T) {
	srv := serve(t, &sse.Handler{Serve: echo})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := sse.Dial(ctx, srv.URL, &sse.DialOptions{HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	if err := s.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s); string(got) != "x" {
		t.Errorf("got %q", got)
	}
}

func TestReadSkips(t *testing.T) {
	srv := stub(t, "id: 1\n\nevent: endpoint\ndata: /x\n\nevent: ping\ndata: 1\n\n: c\n\nid: 2\n\ndata: a\n\n"+
		"data: "+strings.Repeat("x", 200)+"\n\nevent: message\ndata: b\n\nevent: endpoint\ndata: http://evil.example/\n\ndata: cut\n")
	s, err := sse.Dial(t.Context(), srv.URL, &sse.DialOptions{HTTPClient: srv.Client(), MaxEvent: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := read(t, s); string(got) != "a" {
		t.Errorf("got %q", got)
	}
	if _, err := s.Read(); !errors.Is(err, jsonrpc.ErrSkipped) {
		t.Errorf("oversized: %v", err)
	}
	if got := read(t, s); string(got) != "b" {
		t.Errorf("got %q", got)
	}
	if _, err := s.Read(); !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		t.Errorf("cut: %v", err)
	}
}

func TestPost(t *testing.T) {
	posts := make(chan string, 4)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: endpoint\ndata: messages?session=1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/messages/?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("POST /messages/", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		posts <- fmt.Sprint(r.URL.Query().Get("session"), r.Header.Get("Key"), r.Header.Get("Content-Type"), string(b))
		switch string(b) {
		case "bad":
			w.Header().Set("Retry-After", "7")
			http.Error(w, "busy", http.StatusTooManyRequests)
		case "moved":
			http.Redirect(w, r, "/sse", http.StatusSeeOther)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	s, err := sse.Dial(t.Context(), srv.URL+"/sse", &sse.DialOptions{HTTPClient: srv.Client(), Header: http.Header{"Key": {"k"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var status *mcp.HTTPError
	err = s.Write([]byte("a"), []byte("bad"), []byte("never"))
	if !errors.As(err, &status) || status.Status != 429 || http.Header(status.Header).Get("Retry-After") != "7" || string(status.Body) != "busy\n" {
		t.Errorf("got %v", err)
	}
	if err := s.Write([]byte("moved")); !errors.As(err, &status) || status.Status != 303 {
		t.Errorf("post turned into get: %v", err)
	}
	if err := s.Write([]byte("b")); err != nil {
		t.Error(err)
	}
	close(posts)
	for _, body := range []string{"a", "bad", "moved", "b"} {
		if got := <-posts; got != "1kapplication/json"+body {
			t.Errorf("got %s for %s", got, body)
		}
	}
}
