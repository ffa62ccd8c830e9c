package mcptest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// A Dial returns a transport that leads to the server. It may register
// clean-ups with t.
type Dial func(t *testing.T, s *Server) mcp.Transport

// Run runs every feature over a transport, in every revision it can carry. It
// returns the number of checks that were run, of which each is green or was
// refused as it has to be.
func Run(t *testing.T, dial Dial) int {
	cells := 0
	for _, r := range revision.All() {
		t.Run(r.Name, func(t *testing.T) {
			s := NewServer(r)
			t.Cleanup(func() { _ = s.Close() })
			cells += RunPair(t, dial(t, s), &mcp.ClientOptions{Revision: r}, r)
		})
	}
	return cells
}

// RunPair connects once and runs every feature. The server has to be one of
// NewServer, in this process or another. The options say how to connect;
// handlers are added to them. r is the revision that has to be agreed on.
func RunPair(t *testing.T, transport mcp.Transport, o *mcp.ClientOptions, r *revision.Revision) int {
	t.Helper()
	e := &env{changed: make(chan string, 64)}
	opts := e.options(o)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c, err := mcp.Connect(ctx, transport, opts)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	e.Client, e.rules = c, c.Revision().Rules
	if c.Revision() != r {
		t.Errorf("agreed on %s, want %s", c.Revision(), r)
	}
	for _, f := range features {
		name := f.name
		if !f.has(e.rules) {
			name += "/refused"
		}
		t.Run(name, func(t *testing.T) {
			if f.has(e.rules) {
				f.run(t, e)
			} else {
				f.refused(t, e)
			}
		})
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	return len(features)
}

// An env is a connected client and what its handlers saw.
type env struct {
	*mcp.Client
	rules   revision.Rules
	changed chan string // notifications of changes
	calls   atomic.Int64

	mu   sync.Mutex
	logs []string
}

func (e *env) options(o *mcp.ClientOptions) *mcp.ClientOptions {
	c := *o
	c.Tasks = true
	c.Elicit = func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		content := mcp.JSON(`{"name":"Ada"}`)
		if strings.Contains(q.Message, "colour") {
			content = mcp.JSON(`{"colour":"green"}`)
		}
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: content}, nil
	}
	c.ElicitURL = func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}
	c.Sample = func(_ context.Context, p *mcp.SamplingParams) (*mcp.SamplingResult, error) {
		return &mcp.SamplingResult{Content: mcp.SamplingBlock{mcp.Text("four")}, Model: "m"}, nil
	}
	c.Roots = func(context.Context) ([]mcp.Root, error) {
		return []mcp.Root{{URI: "file:///a"}, {URI: "file:///b"}}, nil
	}
	c.OnLog = func(m *mcp.LogMessage) {
		e.mu.Lock()
		e.logs = append(e.logs, m.Level)
		e.mu.Unlock()
		if m.Level == "emergency" {
			e.changed <- "log"
		}
	}
	c.OnToolsChanged = func() { e.changed <- "tools" }
	c.OnResourceUpdated = func(uri string) { e.changed <- uri }
	return &c
}

// await waits until the change is told of.
func (e *env) await(t *testing.T, want string) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case got := <-e.changed:
			if got == want {
				return
			}
		case <-timeout:
			t.Fatalf("was not told of %q", want)
		}
	}
}

func (e *env) text(t *testing.T, tool string, args any) string {
	t.Helper()
	r, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if r.IsError {
		t.Fatalf("%s failed: %s", tool, r.Text())
	}
	return r.Text()
}

// A feature is run where the revision has it, and refused where it has not.
type feature struct {
	name    string
	has     func(revision.Rules) bool
	run     func(*testing.T, *env)
	refused func(*testing.T, *env)
}

func always(revision.Rules) bool { return true }

// asks reports whether the server has a way to ask back.
func asks(r revision.Rules) bool { return r.ServerRequests || r.InputRequired }

// failsWith refuses a feature by the tool that needs it.
func failsWith(tool string) func(*testing.T, *env) {
	return func(t *testing.T, e *env) {
		r, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: tool})
		if err == nil && !r.IsError {
			t.Errorf("%s answered %q where it cannot be asked", tool, r.Text())
		}
	}
}

// unsupported refuses a feature by the client's own method.
func unsupported(call func(context.Context, *env) error) func(*testing.T, *env) {
	return func(t *testing.T, e *env) {
		err := call(t.Context(), e)
		var rpc *jsonrpc.Error
		if !errors.Is(err, mcp.ErrUnsupported) && !(errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeMethodNotFound) {
			t.Errorf("got %v, want a refusal", err)
		}
	}
}

func names[T any](t *testing.T, seq func(func(*T, error) bool), name func(*T) string) []string {
	t.Helper()
	var got []string
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name(v))
	}
	return got
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func big(n int) string { return strings.Repeat("0123456789ü\n", n/12) }

func unique(e *env, what string) string { return fmt.Sprintf("%s_%d", what, e.calls.Add(1)) }
