// Package gosdk is the official Go SDK as a contestant.
package gosdk

import (
	"context"
	"errors"
	"net/http"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpv/bench/contest"
)

// Contestant is go-sdk with its defaults; HTTP answers are JSON, which is the
// faster of the two forms it offers.
type Contestant struct{}

func (Contestant) Name() string    { return "go-sdk" }
func (Contestant) Version() string { return "v1.8.0" }

var impl = &mcp.Implementation{Name: "bench", Version: "1"}

func newServer(tools contest.ToolSet) *mcp.Server {
	s := mcp.NewServer(impl, nil)
	if tools == contest.Hundred {
		addHundred(s)
		return s
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "send the message back"},
		func(_ context.Context, _ *mcp.CallToolRequest, in contest.EchoIn) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "measure", Description: "measure a text"},
		func(_ context.Context, _ *mcp.CallToolRequest, in contest.MeasureIn) (*mcp.CallToolResult, contest.MeasureOut, error) {
			return nil, contest.MeasureOut{Text: in.Text, Length: len(in.Text)}, nil
		})
	return s
}

func addHundred(s *mcp.Server) {
	add := [...]func(*mcp.Server, int){
		search[contest.M0], search[contest.M1], search[contest.M2], search[contest.M3], search[contest.M4],
		search[contest.M5], search[contest.M6], search[contest.M7], search[contest.M8], search[contest.M9],
	}
	for i := range contest.Tools {
		add[i%len(add)](s, i)
	}
}

func search[M any](s *mcp.Server, i int) {
	mcp.AddTool(s, &mcp.Tool{Name: contest.ToolName(i), Description: contest.ToolDescription},
		func(context.Context, *mcp.CallToolRequest, contest.Args[M]) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
}

// Build implements [contest.Builder].
func (Contestant) Build() (any, error) { return newServer(contest.Hundred), nil }

// DialPipe implements [contest.Piper].
func (Contestant) DialPipe(ctx context.Context, s contest.Setup) (contest.Client, error) {
	se, ce := contest.Pipe()
	return connect(ctx, s, &mcp.IOTransport{Reader: se.R, Writer: se.W}, &mcp.IOTransport{Reader: ce.R, Writer: ce.W})
}

// DialMemory implements [contest.MemoryDialer].
func (Contestant) DialMemory(ctx context.Context, s contest.Setup) (contest.Client, error) {
	st, ct := mcp.NewInMemoryTransports()
	return connect(ctx, s, st, ct)
}

func connect(ctx context.Context, s contest.Setup, st, ct mcp.Transport) (contest.Client, error) {
	ss, err := newServer(s.Tools).Connect(ctx, st, nil)
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, s.Era, ct)
	if err != nil {
		return nil, err
	}
	c.wait = ss.Wait
	return c, nil
}

// ServeStdio implements [contest.Stdio].
func (Contestant) ServeStdio(ctx context.Context, s contest.Setup) error {
	return newServer(s.Tools).Run(ctx, &mcp.StdioTransport{})
}

// DialStdio implements [contest.Stdio].
func (Contestant) DialStdio(ctx context.Context, s contest.Setup, argv []string) (contest.Client, error) {
	return dial(ctx, s.Era, &mcp.CommandTransport{Command: exec.CommandContext(ctx, argv[0], argv[1:]...)})
}

// Handler implements [contest.HTTPServer].
func (Contestant) Handler(s contest.Setup) (http.Handler, error) {
	server := newServer(s.Tools)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: s.Stateless, JSONResponse: true}), nil
}

// DialHTTP implements [contest.HTTPDialer].
func (Contestant) DialHTTP(ctx context.Context, s contest.Setup, url string, hc *http.Client) (contest.Client, error) {
	return dial(ctx, s.Era, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: hc, DisableStandaloneSSE: true})
}

func dial(ctx context.Context, era contest.Era, t mcp.Transport) (*client, error) {
	cs, err := mcp.NewClient(impl, nil).Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: era.Version()})
	if err != nil {
		return nil, err
	}
	if got := cs.InitializeResult().ProtocolVersion; got != era.Version() {
		return nil, errors.Join(errors.New("negotiated "+got), cs.Close())
	}
	return &client{cs: cs}, nil
}

type client struct {
	cs   *mcp.ClientSession
	wait func() error // nil unless the server runs in this process
}

func (c *client) Echo(ctx context.Context, message string) (string, error) {
	res, err := c.cs.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: contest.EchoIn{Message: message}})
	if err != nil {
		return "", err
	}
	if len(res.Content) == 1 && !res.IsError {
		if t, ok := res.Content[0].(*mcp.TextContent); ok {
			return t.Text, nil
		}
	}
	return "", errors.New("echo: unexpected result")
}

func (c *client) Measure(ctx context.Context, text string) (int, error) {
	res, err := c.cs.CallTool(ctx, &mcp.CallToolParams{Name: "measure", Arguments: contest.MeasureIn{Text: text}})
	if err != nil {
		return 0, err
	}
	if m, ok := res.StructuredContent.(map[string]any); ok {
		if n, ok := m["length"].(float64); ok {
			return int(n), nil
		}
	}
	return 0, errors.New("measure: unexpected result")
}

func (c *client) ListTools(ctx context.Context) (int, error) {
	n := 0
	for _, err := range c.cs.Tools(ctx, nil) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (c *client) Close() error {
	err := c.cs.Close()
	if c.wait != nil {
		_ = c.wait() // reports how the connection ended, which Close caused
	}
	return err
}
