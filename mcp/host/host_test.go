package host_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/dial"
	"mcpv/mcp/host"
	"mcpv/mcp/stdio"
	"mcpv/revision"
)

const serveEnv = "HOST_TEST_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) != "" {
		s := mcp.NewServer(mcp.Implementation{Name: "child", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "pid"}, func(context.Context, *mcp.ToolRequest, struct{}) (string, error) {
			return strconv.Itoa(os.Getpid()), nil
		})
		if err := stdio.Serve(context.Background(), s, nil); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// A recorder notes the states that servers go through.
type recorder struct {
	mu     sync.Mutex
	states []host.State
}

func (r *recorder) note(s host.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states = append(r.states, s.State)
}

func (r *recorder) seen() []host.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states
}

func pid(t *testing.T, h *host.Host) int {
	t.Helper()
	c, err := h.Client(t.Context(), "child")
	if err != nil {
		t.Fatal(err)
	}
	text, err := mcp.CallTool[string](t.Context(), c, "pid", nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKilledServerComesBack(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{}, 8)
	h := host.New(&host.Options{Backoff: time.Millisecond, OnChange: func(s host.Status) {
		if s.State == host.Ready {
			ready <- struct{}{}
		}
	}})
	defer h.Close()
	if err := h.Add("child", dial.Entry{Command: self, Env: map[string]string{serveEnv: "1", "GORACE": "atexit_sleep_ms=0"}}); err != nil {
		t.Fatal(err)
	}
	<-ready
	first := pid(t, h)
	child, err := os.FindProcess(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ready
	if second := pid(t, h); second == first {
		t.Errorf("still process %d", second)
	}
	if err := h.Remove("child"); err != nil {
		t.Error(err)
	}
	if _, err := h.Client(t.Context(), "child"); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("removed: %v", err)
	}
}

// flaky is a transport that fails a number of times.
type flaky struct {
	mcp.Transport
	failures int
}

func (f *flaky) Connect(ctx context.Context, in mcp.Receiver) (mcp.Link, error) {
	if f.failures--; f.failures >= 0 {
		return nil, errors.New("not yet")
	}
	return f.Transport.Connect(ctx, in)
}

func TestBackoffAndStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer(mcp.Implementation{Name: "late", Version: "1"}, nil)
		var r recorder
		h := host.New(&host.Options{OnChange: r.note, Health: -1})
		defer h.Close()
		start := time.Now()
		if err := h.Add("late", &flaky{mcp.InProcess(s), 4}); err != nil {
			t.Fatal(err)
		}
		if err := h.Add("late", s); err == nil {
			t.Error("a name was taken twice")
		}
		c, err := h.Client(t.Context(), "late")
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < 12*time.Second || waited > 18*time.Second { // 1+2+4+8 s, each by a fifth more or less
			t.Errorf("waited %v", waited)
		}
		if c.Server().Name != "late" {
			t.Errorf("connected to %q", c.Server().Name)
		}
		status := h.Status()[0]
		if status.State != host.Ready || status.Tries != 0 || status.Server.Name != "late" {
			t.Errorf("status %+v", status)
		}
		if states := r.seen(); len(states) < 9 || states[len(states)-1] != host.Ready {
			t.Errorf("states %v", states)
		}
	})
}

func TestWaitingForAServerThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := host.New(nil)
		defer h.Close()
		if err := h.Add("down", &flaky{failures: 1 << 30}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := h.Client(ctx, "down")
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() == "" {
			t.Errorf("got %v", err)
		}
	})
}

// mute answers nothing after it has been told to.
func mute(after <-chan struct{}) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
			select {
			case <-after:
				<-ctx.Done()
				return nil, context.Cause(ctx)
			default:
				return next.Handle(ctx, x)
			}
		})
	}
}

func TestSilentServerIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := make(chan struct{})
		s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Middleware: []mcp.Middleware{mute(silent)}})
		down := make(chan error, 8)
		h := host.New(&host.Options{OnChange: func(s host.Status) {
			if s.State == host.Waiting {
				down <- s.Err
			}
		}})
		defer h.Close()
		if err := h.Add("s", s); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Client(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		close(silent)
		if err := <-down; err == nil {
			t.Error("no reason was given")
		}
		if d := time.Since(start); d != 40*time.Second { // the next health check and its timeout
			t.Errorf("noticed after %v", d)
		}
	})
}

// dropping is a transport whose links a test can end.
type dropping struct {
	mcp.Transport
	links chan mcp.Link
}

func (d *dropping) Connect(ctx context.Context, in mcp.Receiver) (mcp.Link, error) {
	l, err := d.Transport.Connect(ctx, in)
	if err == nil {
		d.links <- l
	}
	return l, err
}

// Subscriptions and the log level belong to the server, not to one connection to
// it, in both eras.
func TestWishesSurviveReconnects(t *testing.T) {
	for _, r := range []*revision.Revision{revision.Latest(), revision.LatestLegacy()} {
		synctest.Test(t, func(t *testing.T) {
			s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Revisions: []*revision.Revision{r}})
			s.AddResource(&mcp.Resource{URI: "x://y", Name: "y"}, func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
				return nil, nil
			})
			mcp.AddTool(s, &mcp.Tool{Name: "log"}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
				r.Log(ctx, mcp.LogInfo, "", "too much")
				r.Log(ctx, mcp.LogError, "", "enough")
				return "", nil
			})
			updated, logged := make(chan string, 8), make(chan *mcp.LogMessage, 8)
			h := host.New(&host.Options{Health: -1, Client: mcp.ClientOptions{
				OnResourceUpdated: func(uri string) { updated <- uri },
				OnLog:             func(m *mcp.LogMessage) { logged <- m },
			}})
			defer h.Close()
			target := &dropping{mcp.InProcess(s), make(chan mcp.Link, 8)}
			if err := h.Add("s", target); err != nil {
				t.Fatal(err)
			}
			first, err := h.Client(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(first.Subscribe(t.Context(), "x://y"), first.SetLogLevel(t.Context(), mcp.LogError)); err != nil {
				t.Fatal(err)
			}
			if err := (<-target.links).Close(); err != nil {
				t.Fatal(err)
			}
			<-first.Done()
			synctest.Wait()
			second, err := h.Client(t.Context(), "s")
			if err != nil || second == first {
				t.Fatalf("%v, the same client: %t", err, second == first)
			}
			s.ResourceUpdated("x://y")
			if got := <-updated; got != "x://y" {
				t.Errorf("%s: updated %s", r, got)
			}
			if _, err := second.CallTool(t.Context(), &mcp.ToolCall{Name: "log"}); err != nil {
				t.Error(err)
			}
			if m := <-logged; string(m.Data) != `"enough"` {
				t.Errorf("%s: logged %s", r, m.Data)
			}
		})
	}
}
