// Package mcpgo is mark3labs/mcp-go as a contestant.
package mcpgo

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"mcpv/bench/contest"
)

// Contestant is mcp-go. Validating turns on the validation of inputs and
// outputs, which mcp-go leaves off by default.
type Contestant struct{ Validating bool }

func (c Contestant) Name() string {
	if c.Validating {
		return "mcp-go-v"
	}
	return "mcp-go"
}

func (Contestant) Version() string { return "v1.2.1" }

func (c Contestant) newServer(tools contest.ToolSet) *server.MCPServer {
	opts := []server.ServerOption{server.WithToolCapabilities(true), server.WithRecovery()}
	if c.Validating {
		opts = append(opts, server.WithInputSchemaValidation(), server.WithOutputSchemaValidation())
	}
	s := server.NewMCPServer("bench", "1", opts...)
	if tools == contest.Hundred {
		addHundred(s)
		return s
	}
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("send the message back"), mcp.WithInputSchema[contest.EchoIn]()),
		mcp.NewTypedToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in contest.EchoIn) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(in.Message), nil
		}))
	s.AddTool(mcp.NewTool("measure", mcp.WithDescription("measure a text"),
		mcp.WithInputSchema[contest.MeasureIn](), mcp.WithOutputSchema[contest.MeasureOut]()),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in contest.MeasureIn) (contest.MeasureOut, error) {
			return contest.MeasureOut{Text: in.Text, Length: len(in.Text)}, nil
		}))
	return s
}

func addHundred(s *server.MCPServer) {
	add := [...]func(*server.MCPServer, int){
		search[contest.M0], search[contest.M1], search[contest.M2], search[contest.M3], search[contest.M4],
		search[contest.M5], search[contest.M6], search[contest.M7], search[contest.M8], search[contest.M9],
	}
	for i := range contest.Tools {
		add[i%len(add)](s, i)
	}
}

func search[M any](s *server.MCPServer, i int) {
	s.AddTool(mcp.NewTool(contest.ToolName(i), mcp.WithDescription(contest.ToolDescription), mcp.WithInputSchema[contest.Args[M]]()),
		mcp.NewTypedToolHandler(func(context.Context, mcp.CallToolRequest, contest.Args[M]) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(""), nil
		}))
}

// Build implements [contest.Builder].
func (c Contestant) Build() (any, error) { return c.newServer(contest.Hundred), nil }

// DialPipe implements [contest.Piper].
func (c Contestant) DialPipe(ctx context.Context, s contest.Setup) (contest.Client, error) {
	se, ce := contest.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.NewStdioServer(c.newServer(s.Tools)).Listen(ctx, se.R, se.W)
	}()
	stop := func() { cancel(); se.Close(); ce.Close(); <-done }
	cl, err := dial(ctx, s.Era, transport.NewIO(ce.R, ce.W, io.NopCloser(strings.NewReader(""))))
	if err != nil {
		stop()
		return nil, err
	}
	cl.stop = stop
	return cl, nil
}

// DialMemory implements [contest.MemoryDialer].
func (c Contestant) DialMemory(ctx context.Context, s contest.Setup) (contest.Client, error) {
	return dial(ctx, s.Era, transport.NewInProcessTransport(c.newServer(s.Tools)))
}

// ServeStdio implements [contest.Stdio].
func (c Contestant) ServeStdio(ctx context.Context, s contest.Setup) error {
	return server.NewStdioServer(c.newServer(s.Tools)).Listen(ctx, os.Stdin, os.Stdout)
}

// DialStdio implements [contest.Stdio].
func (Contestant) DialStdio(ctx context.Context, s contest.Setup, argv []string) (contest.Client, error) {
	return dial(ctx, s.Era, transport.NewStdio(argv[0], nil, argv[1:]...))
}

// Handler implements [contest.HTTPServer].
func (c Contestant) Handler(s contest.Setup) (http.Handler, error) {
	return server.NewStreamableHTTPServer(c.newServer(s.Tools),
		server.WithStateLess(s.Stateless), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))), nil
}

// DialHTTP implements [contest.HTTPDialer].
func (Contestant) DialHTTP(ctx context.Context, s contest.Setup, url string, hc *http.Client) (contest.Client, error) {
	t, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(hc), transport.WithHTTPTimeout(30*time.Second))
	if err != nil {
		return nil, err
	}
	return dial(ctx, s.Era, t)
}

func dial(ctx context.Context, era contest.Era, t transport.Interface) (*session, error) {
	c := client.NewClient(t, client.WithProtocolVersion(era.Version()))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var init mcp.InitializeRequest
	init.Params.ClientInfo = mcp.Implementation{Name: "bench", Version: "1"}
	init.Params.ProtocolVersion = era.Version()
	if _, err := c.Initialize(ctx, init); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if got := c.ProtocolVersion(); got != era.Version() {
		return nil, errors.Join(errors.New("negotiated "+got), c.Close())
	}
	return &session{c: c}, nil
}

type session struct {
	c    *client.Client
	stop func() // nil unless the server runs in this process
}

func (s *session) call(ctx context.Context, name string, args any) (*mcp.CallToolResult, error) {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = name, args
	return s.c.CallTool(ctx, r)
}

func (s *session) Echo(ctx context.Context, message string) (string, error) {
	res, err := s.call(ctx, "echo", contest.EchoIn{Message: message})
	if err != nil {
		return "", err
	}
	if len(res.Content) == 1 && !res.IsError {
		if t, ok := res.Content[0].(mcp.TextContent); ok {
			return t.Text, nil
		}
	}
	return "", errors.New("echo: unexpected result")
}

func (s *session) Measure(ctx context.Context, text string) (int, error) {
	res, err := s.call(ctx, "measure", contest.MeasureIn{Text: text})
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

func (s *session) ListTools(ctx context.Context) (int, error) {
	res, err := s.c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return 0, err
	}
	return len(res.Tools), nil
}

func (s *session) Close() error {
	err := s.c.Close()
	if s.stop != nil {
		s.stop()
	}
	return err
}
