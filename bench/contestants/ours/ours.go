// Package ours is this repository's library as a contestant.
package ours

import (
	"context"
	"errors"
	"net/http"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/stdio"
	"mcpv/mcp/streamable"
	"mcpv/revision"

	"mcpv/bench/contest"
)

// Contestant takes part in every scenario, with the library's defaults: it
// validates what goes into a tool and what comes out of it.
type Contestant struct{}

func (Contestant) Name() string    { return "ours" }
func (Contestant) Version() string { return "this tree" }

var info = mcp.Implementation{Name: "bench", Version: "1"}

func newServer(tools contest.ToolSet) *mcp.Server {
	s := mcp.NewServer(info, nil)
	if tools == contest.Hundred {
		addHundred(s)
		return s
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "send the message back"},
		func(_ context.Context, _ *mcp.ToolRequest, in contest.EchoIn) (string, error) {
			return in.Message, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "measure", Description: "measure a text"},
		func(_ context.Context, _ *mcp.ToolRequest, in contest.MeasureIn) (contest.MeasureOut, error) {
			return contest.MeasureOut{Text: in.Text, Length: len(in.Text)}, nil
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
		func(context.Context, *mcp.ToolRequest, contest.Args[M]) (string, error) { return "", nil })
}

// Build implements [contest.Builder].
func (Contestant) Build() (any, error) { return newServer(contest.Hundred), nil }

// DialPipe implements [contest.Piper].
func (Contestant) DialPipe(ctx context.Context, s contest.Setup) (contest.Client, error) {
	se, ce := contest.Pipe()
	done := make(chan error, 1)
	go func() { done <- mcp.ServeStream(ctx, newServer(s.Tools), stdio.NewStream(se.R, se.W, se, nil), nil) }()
	c, err := dial(ctx, s.Era, mcp.StreamTransport(func(context.Context) (jsonrpc.Stream, error) {
		return stdio.NewStream(ce.R, ce.W, ce, nil), nil
	}))
	if err != nil {
		return nil, errors.Join(err, ce.Close(), <-done)
	}
	c.wait = func() error { return <-done }
	return c, nil
}

// DialMemory implements [contest.MemoryDialer].
func (Contestant) DialMemory(ctx context.Context, s contest.Setup) (contest.Client, error) {
	return dial(ctx, s.Era, mcp.InProcess(newServer(s.Tools)))
}

// ServeStdio implements [contest.Stdio].
func (Contestant) ServeStdio(ctx context.Context, s contest.Setup) error {
	return stdio.Serve(ctx, newServer(s.Tools), nil)
}

// DialStdio implements [contest.Stdio].
func (Contestant) DialStdio(ctx context.Context, s contest.Setup, argv []string) (contest.Client, error) {
	return dial(ctx, s.Era, &stdio.Command{Path: argv[0], Args: argv[1:]})
}

// Handler implements [contest.HTTPServer].
func (Contestant) Handler(s contest.Setup) (http.Handler, error) {
	return streamable.NewHandler(newServer(s.Tools), &streamable.Options{Stateless: s.Stateless}), nil
}

// DialHTTP implements [contest.HTTPDialer].
func (Contestant) DialHTTP(ctx context.Context, s contest.Setup, url string, hc *http.Client) (contest.Client, error) {
	return dial(ctx, s.Era, &streamable.Transport{URL: url, Client: hc, NoStream: true})
}

func dial(ctx context.Context, era contest.Era, t mcp.Transport) (*client, error) {
	r, ok := revision.Lookup(era.Version())
	if !ok {
		return nil, errors.New("unknown revision " + era.Version())
	}
	c, err := mcp.Connect(ctx, t, &mcp.ClientOptions{Info: info, Revision: r})
	if err != nil {
		return nil, err
	}
	return &client{c: c}, nil
}

type client struct {
	c    *mcp.Client
	wait func() error // nil unless the server runs in this process
}

func (c *client) Echo(ctx context.Context, message string) (string, error) {
	r, err := c.c.CallTool(ctx, &mcp.ToolCall{Name: "echo", Arguments: contest.EchoIn{Message: message}})
	if err != nil {
		return "", err
	}
	if len(r.Content) == 1 && !r.IsError && r.Content[0].Type == "text" {
		return r.Content[0].String(), nil
	}
	return "", errors.New("echo: unexpected result")
}

func (c *client) Measure(ctx context.Context, text string) (int, error) {
	out, err := mcp.CallTool[contest.MeasureOut](ctx, c.c, "measure", contest.MeasureIn{Text: text})
	return out.Length, err
}

func (c *client) ListTools(ctx context.Context) (int, error) {
	n := 0
	for _, err := range c.c.Tools(ctx) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (c *client) Close() error {
	err := c.c.Close()
	if c.wait != nil {
		err = errors.Join(err, c.wait())
	}
	return err
}
