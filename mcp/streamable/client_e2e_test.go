package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/mcptest"
	"mcpv/mcp/streamable"
	"mcpv/revision"
)

// TestClientServer runs the suite of all transports over this one.
func TestClientServer(t *testing.T) {
	mcptest.Run(t, func(t *testing.T, s *mcptest.Server) mcp.Transport {
		return &streamable.Transport{URL: clientServe(t, s, nil)}
	})
}

func clientServe(t *testing.T, s mcp.Handler, o *streamable.Options) string {
	h := streamable.NewHandler(s, o)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	t.Cleanup(func() { _ = h.Close() })
	return web.URL
}

// clientTools is a server whose tools need what the transport does.
func clientTools(ended chan<- error) *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "count"}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
		for i := range 3 {
			r.Progress(ctx, float64(i+1), 3, "")
		}
		return "counted", nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
		a, err := r.Elicit(ctx, "who?", mcp.JSON(`{"type":"object","properties":{"name":{"type":"string"}}}`))
		if err != nil {
			return "", err
		}
		return string(a.Content), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
		r.Progress(ctx, 1, 0, "") // tells that it has begun
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "poll"}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
		closed := streamable.CloseStream(ctx, 100*time.Millisecond)
		r.Progress(ctx, 1, 1, "") // waits for the client to come back
		return fmt.Sprint(closed), nil
	})
	s.AddResource(&mcp.Resource{URI: "test://r", Name: "r"}, func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) { return nil, nil })
	return s
}

func TestClientServerConversations(t *testing.T) {
	for _, r := range []*revision.Revision{revision.V2026_07_28, revision.V2025_11_25, revision.V2025_03_26} {
		t.Run(r.Name, func(t *testing.T) {
			ended, changed := make(chan error, 1), make(chan string, 16)
			s := clientTools(ended)
			defer s.Close()
			c, err := mcp.Connect(t.Context(), &streamable.Transport{URL: clientServe(t, s, nil)}, &mcp.ClientOptions{
				Revision: r,
				Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: mcp.JSON(`{"name":"Ada"}`)}, nil
				},
				OnResourceUpdated: func(uri string) { changed <- uri },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			clientProgress(t, c)
			if got, err := mcp.CallTool[string](t.Context(), c, "ask", nil); r.Rules.Elicitation && (err != nil || got != `{"name":"Ada"}`) {
				t.Errorf("ask: %q, %v", got, err)
			}
			clientCancel(t, c, ended)
			if closed, err := mcp.CallTool[string](t.Context(), c, "poll", nil); err != nil || closed != fmt.Sprint(r.Rules.Polling) {
				t.Errorf("poll: %v, %v", closed, err)
			}
			if err := c.Subscribe(t.Context(), "test://r"); err != nil {
				t.Fatal(err)
			}
			s.ResourceUpdated("test://r")
			if got := <-changed; got != "test://r" {
				t.Errorf("updated %s", got)
			}
		})
	}
}

func clientProgress(t *testing.T, c *mcp.Client) {
	t.Helper()
	var seen []float64
	r, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "count", Progress: func(p mcp.Progress) { seen = append(seen, p.Progress) }})
	if err != nil || r.Text() != "counted" || !slices.Equal(seen, []float64{1, 2, 3}) {
		t.Errorf("count: %v, %v, %v", r, err, seen)
	}
}

// clientCancel cancels a call once it runs; the server's handler has to see it.
func clientCancel(t *testing.T, c *mcp.Client, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := c.CallTool(ctx, &mcp.ToolCall{Name: "wait", Progress: func(mcp.Progress) { cancel() }}); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	if cause := <-ended; !errors.Is(cause, context.Canceled) {
		t.Errorf("the tool ended by %v", cause)
	}
}

// TestClientServerForgetsSession: a server that is started anew knows no session;
// the next call makes another and goes through.
func TestClientServerForgetsSession(t *testing.T) {
	s := clientTools(nil)
	defer s.Close()
	var current atomic.Pointer[streamable.Handler]
	renew := func() {
		if old := current.Swap(streamable.NewHandler(s, nil)); old != nil {
			_ = old.Close()
		}
	}
	renew()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
	defer web.Close()
	defer func() { _ = current.Load().Close() }()
	c, err := mcp.Connect(t.Context(), &streamable.Transport{URL: web.URL}, &mcp.ClientOptions{Revision: revision.V2025_11_25})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	clientProgress(t, c)
	renew()
	clientProgress(t, c)
}

// BenchmarkClientCall is one small call over loopback with a JSON answer.
func BenchmarkClientCall(b *testing.B) {
	for _, r := range []*revision.Revision{revision.V2026_07_28, revision.V2025_11_25} {
		b.Run(r.Name, func(b *testing.B) {
			web := httptest.NewServer(clientRPC(nil))
			defer web.Close()
			link, err := (&streamable.Transport{URL: web.URL, NoStream: true}).Connect(b.Context(), clientSink{})
			if err != nil {
				b.Fatal(err)
			}
			defer link.Close()
			link.Agree(r)
			params := []byte(`{"name":"echo","arguments":{"text":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := link.Call(b.Context(), jsonrpc.NewRequest(link.NextID(), "prompts/get", params), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
