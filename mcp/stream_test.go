package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

func call(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id, tool)
}

// ServeStream returns when all handlers have, whatever ended it.
func TestServeStreamWaitsForHandlers(t *testing.T) {
	for name, end := range map[string]func(near jsonrpc.Stream, stop func()){
		"the client goes":   func(near jsonrpc.Stream, _ func()) { near.Close() },
		"the context stops": func(_ jsonrpc.Stream, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running atomic.Int32
				s := mcp.NewServer(mcp.Implementation{}, nil)
				mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.ToolRequest, _ struct{}) (string, error) {
					running.Add(1)
					defer running.Add(-1)
					<-ctx.Done()
					<-time.After(time.Second) // cleaning up
					return "", context.Cause(ctx)
				})
				ctx, stop := contextWithStop(t)
				near, far := jsonrpc.Pipe()
				served := make(chan error)
				go func() { served <- mcp.ServeStream(ctx, s, far, nil) }()
				p := &peer{t, near}
				for i := range 10 {
					p.send(call(i, "slow"))
				}
				synctest.Wait()
				if running.Load() != 10 {
					t.Errorf("%d run", running.Load())
				}
				end(near, stop)
				if err := <-served; err != nil {
					t.Error(err)
				}
				if running.Load() != 0 {
					t.Errorf("%d still run", running.Load())
				}
			})
		})
	}
}

// Requests that come while the serving stops are served or not, but none outlives
// it. The race detector watches the rest.
func TestServeStreamStopsUnderLoad(t *testing.T) {
	for range 50 {
		s := mcp.NewServer(mcp.Implementation{}, nil)
		addEcho(s, "echo")
		ctx, stop := context.WithCancel(t.Context())
		near, far := jsonrpc.Pipe()
		served := make(chan error)
		go func() { served <- mcp.ServeStream(ctx, s, far, nil) }()
		var both sync.WaitGroup
		both.Go(func() {
			for i := 0; near.Write([]byte(call(i, "echo"))) == nil; i++ {
				if i == 20 {
					stop()
				}
			}
		})
		both.Go(func() {
			for {
				if _, err := near.Read(); err != nil {
					return
				}
			}
		})
		if err := <-served; err != nil {
			t.Error(err)
		}
		both.Wait()
		stop()
	}
}

// A client that sends and never reads is not read from any more after a while.
func TestClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer(mcp.Implementation{}, nil)
		addEcho(s, "echo")
		ctx, stop := contextWithStop(t)
		near, far := jsonrpc.Pipe()
		served := make(chan error)
		go func() {
			served <- mcp.ServeStream(ctx, s, far, &mcp.StreamOptions{Endpoint: mcp.NewEndpoint(s, &mcp.EndpointOptions{MaxInFlight: 4})})
		}()
		var sent atomic.Int32
		writing := make(chan struct{})
		go func() {
			defer close(writing)
			for i := 0; ctx.Err() == nil && near.Write([]byte(call(i, "echo"))) == nil; i++ {
				sent.Add(1)
			}
		}()
		synctest.Wait()
		if n := sent.Load(); n > 2000 {
			t.Errorf("%d requests were taken", n)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		<-writing
	})
}

func TestInFlightIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fixtures["slow"]()
		near, far := jsonrpc.Pipe()
		served := make(chan error)
		go func() {
			served <- mcp.ServeStream(context.Background(), f.server, far, &mcp.StreamOptions{Endpoint: mcp.NewEndpoint(f.server, &mcp.EndpointOptions{MaxInFlight: 2})})
		}()
		p := &peer{t, near}
		p.send(call(1, "wait"), call(2, "wait"))
		synctest.Wait()
		p.send(call(3, "wait"))
		if m := p.next(); m.ID() != jsonrpc.IntID(3) || m.Err() == nil || !strings.Contains(m.Err().Message, "too many") {
			t.Errorf("got %s", m.Bytes())
		}
		f.events["release"]("a")
		f.events["release"]("b")
		if a, b := p.next(), p.next(); a.Err() != nil || b.Err() != nil {
			t.Errorf("got %s %s", a.Bytes(), b.Bytes())
		}
		near.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// halfPipe is a stream whose sending side the client may close alone.
type halfPipe struct {
	jsonrpc.Stream
	end  chan struct{}
	fail error
}

func (h *halfPipe) Read() ([]byte, error) {
	type read struct {
		frame []byte
		err   error
	}
	got := make(chan read, 1)
	go func() {
		f, err := h.Stream.Read()
		got <- read{f, err}
	}()
	select {
	case r := <-got:
		return r.frame, r.err
	case <-h.end:
		return nil, h.fail
	}
}

// A client that has sent its last may still read: what runs may end, for a while.
func TestLinger(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			f := fixtures["slow"]()
			near, far := jsonrpc.Pipe()
			h := &halfPipe{Stream: far, end: make(chan struct{}), fail: io.EOF}
			served := make(chan error)
			go func() {
				served <- mcp.ServeStream(context.Background(), f.server, h, &mcp.StreamOptions{Linger: linger})
			}()
			p := &peer{t, near}
			p.send(call(1, "wait"), call(2, "wait"))
			synctest.Wait()
			close(h.end)
			synctest.Wait()
			if linger > 0 {
				f.events["release"]("done")
				if m := p.next(); m == nil || !strings.Contains(string(m.Result()), "done") {
					t.Errorf("got %v", m)
				}
			}
			start := time.Now()
			go p.calls() // the rest
			if err := <-served; err != nil {
				t.Error(err)
			}
			if d := time.Since(start); d > linger {
				t.Errorf("lingered for %v", d)
			}
			near.Close()
		})
	}
}

func TestStreamFailureIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := jsonrpc.Pipe()
		cut := errors.New("cable cut")
		h := &halfPipe{Stream: far, end: make(chan struct{}), fail: cut}
		served := make(chan error)
		go func() { served <- mcp.ServeStream(context.Background(), fixtures["bare"]().server, h, nil) }()
		close(h.end)
		if err := <-served; !errors.Is(err, cut) {
			t.Errorf("error %v", err)
		}
		near.Close()
	})
}

// Subscriptions that are asked for at once are all kept.
func TestConcurrentLegacySubscriptions(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{}, nil)
	const n = 50
	for i := range n {
		s.AddResource(&mcp.Resource{URI: fmt.Sprint("u:", i), Name: "r"}, nil)
	}
	heard := make(chan string, n)
	o := legacy()
	o.OnResourceUpdated = func(uri string) { heard <- uri }
	c := connect(t, s, o)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := c.Subscribe(t.Context(), fmt.Sprint("u:", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := map[string]bool{}
	for i := range n {
		s.ResourceUpdated(fmt.Sprint("u:", i))
		got[<-heard] = true
	}
	if len(got) != n {
		t.Errorf("heard of %d", len(got))
	}
}
