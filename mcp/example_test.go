package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// The smallest server: one tool. Package stdio serves it on standard input and
// output, package streamable over HTTP; here a client in the same process calls
// it.
func Example() {
	type in struct {
		Name string `json:"name"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "says hello"},
		func(ctx context.Context, r *mcp.ToolRequest, in in) (string, error) {
			return "Hello, " + in.Name + "!", nil
		})

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.InProcess(s), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	text, err := mcp.CallTool[string](ctx, c, "greet", map[string]string{"name": "Ada"})
	fmt.Println(text, err)
	// Output: Hello, Ada! <nil>
}

// The schema comes from the types: tags say what the types cannot. What does
// not fit never reaches the tool.
func ExampleAddTool() {
	type in struct {
		City string `json:"city" jsonschema:"description=where to look"`
		Unit string `json:"unit,omitzero" jsonschema:"enum=celsius|fahrenheit,default=celsius"`
		Days int    `json:"days,omitzero" jsonschema:"minimum=1,maximum=7,default=1"`
	}
	type out struct {
		Summary string `json:"summary"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "forecast"}, func(ctx context.Context, r *mcp.ToolRequest, in in) (out, error) {
		return out{fmt.Sprintf("%s: sunny for %d day(s) in %s", in.City, in.Days, in.Unit)}, nil
	})

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.InProcess(s), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	got, err := mcp.CallTool[out](ctx, c, "forecast", map[string]any{"city": "Rome"})
	fmt.Println(got.Summary, err)
	_, err = mcp.CallTool[out](ctx, c, "forecast", map[string]any{"city": "Rome", "days": 30})
	fmt.Println(err)
	// Output:
	// Rome: sunny for 1 day(s) in celsius <nil>
	// tool failed: invalid arguments for forecast: /days: expected number ≤ 7, got number 30
}

// A template serves all URIs that match; what its variables matched reaches the
// handler.
func ExampleServer_AddTemplate() {
	s := mcp.NewServer(mcp.Implementation{Name: "users", Version: "1.0.0"}, nil)
	s.AddTemplate(&mcp.ResourceTemplate{URITemplate: "users://{id}/name", Name: "user's name"},
		func(ctx context.Context, r *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			if r.Vars["id"] != "7" {
				return nil, mcp.ResourceNotFound(r.URI)
			}
			return []mcp.ResourceContents{mcp.TextContents(r.URI, "text/plain", "Ada")}, nil
		}, mcp.Choices("7"))

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.InProcess(s), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	contents, err := c.ReadResource(ctx, "users://7/name")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*contents[0].Text)
	_, err = c.ReadResource(ctx, "users://8/name")
	fmt.Println(err)
	// Output:
	// Ada
	// resource not found: users://8/name (-32602)
}

// Each argument of a prompt completes itself.
func ExampleServer_AddPrompt() {
	s := mcp.NewServer(mcp.Implementation{Name: "reviewer", Version: "1.0.0"}, nil)
	s.AddPrompt(&mcp.Prompt{
		Name: "review", Description: "reviews code",
		Arguments: []mcp.PromptArgument{{Name: "language", Required: true, Complete: mcp.Choices("go", "gleam", "rust")}},
	}, func(ctx context.Context, r *mcp.PromptRequest) (*mcp.PromptResult, error) {
		return &mcp.PromptResult{Messages: []mcp.PromptMessage{mcp.UserMessage("Review this " + r.Arguments["language"] + " code.")}}, nil
	})

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.InProcess(s), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	values, err := c.CompletePrompt(ctx, "review", "language", "g", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(values.Values)
	p, err := c.GetPrompt(ctx, "review", map[string]string{"language": "go"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Messages[0].Content)
	// Output:
	// [go gleam]
	// Review this go code.
}

// A tool asks the user in the middle of its work. The same code serves clients
// of both eras: an old one is sent a request, a new one gets the question as the
// answer and comes back with the user's.
func ExampleElicit() {
	type confirmation struct {
		Sure bool `json:"sure" jsonschema:"description=really delete it?"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "delete"}, func(ctx context.Context, r *mcp.ToolRequest, in struct {
		Path string `json:"path"`
	}) (string, error) {
		answer, ok, err := mcp.Elicit[confirmation](ctx, r, "Delete "+in.Path+"?")
		if err != nil {
			return "", err
		}
		if !ok || !answer.Sure {
			return "kept " + in.Path, nil
		}
		return "deleted " + in.Path, nil
	})

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.InProcess(s), &mcp.ClientOptions{
		Elicit: func(ctx context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked:", q.Message)
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: mcp.JSON(`{"sure":true}`)}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	text, err := mcp.CallTool[string](ctx, c, "delete", map[string]string{"path": "old.txt"})
	fmt.Println(text, err)
	// Output:
	// asked: Delete old.txt?
	// deleted old.txt <nil>
}

// A tool that takes long runs as a task: the client gets a handle, asks how it
// stands and fetches the result, in 2025-11-25 and with the extension of
// 2026-07-28 alike. Clients that know no tasks wait for the answer.
func ExampleClient_CallToolTask() {
	s := mcp.NewServer(mcp.Implementation{Name: "builder", Version: "1.0.0"}, &mcp.ServerOptions{
		Tasks: &mcp.TaskOptions{PollInterval: time.Millisecond},
	})
	defer s.Close()
	mcp.AddTool(s, &mcp.Tool{Name: "build", Task: mcp.TaskOptional}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
		r.Status("compiling")
		return "built", nil
	})

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.InProcess(s), &mcp.ClientOptions{Tasks: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	task, err := c.CallToolTask(ctx, &mcp.ToolCall{Name: "build"})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := c.TaskResult(ctx, task.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: built
}

// A middleware sees every exchange as frames, whatever the method and revision.
func ExampleMiddleware() {
	timing := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
			answer, err := next.Handle(ctx, x)
			slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})).Info("served", "method", x.Request.Method(), "revision", x.Session.Revision.Name, "failed", err != nil)
			return answer, err
		})
	}
	s := mcp.NewServer(mcp.Implementation{Name: "x", Version: "1"}, &mcp.ServerOptions{Middleware: []mcp.Middleware{timing}})
	mcp.AddTool(s, &mcp.Tool{Name: "noop"}, func(context.Context, *mcp.ToolRequest, struct{}) (string, error) { return "ok", nil })

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.InProcess(s), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := c.CallTool(ctx, &mcp.ToolCall{Name: "noop"}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// level=INFO msg=served method=server/discover revision=2026-07-28 failed=false
	// level=INFO msg=served method=tools/call revision=2026-07-28 failed=false
}

// A middleware that changes a frame changes the bytes in question and no others.
func ExampleChain() {
	redact := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
			answer, err := next.Handle(ctx, x)
			if err == nil && answer.Get("structuredContent", "secret") != nil {
				answer = answer.With([]byte(`"…"`), "structuredContent", "secret").With([]byte(`[]`), "content")
			}
			return answer, err
		})
	}
	type account struct {
		Secret string `json:"secret"`
		Number int64  `json:"number"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "x", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "account"}, func(context.Context, *mcp.ToolRequest, struct{}) (account, error) {
		return account{Secret: "hunter2", Number: 9007199254740993}, nil
	})

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.InProcess(mcp.Chain(s, redact)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	a, err := mcp.CallTool[account](ctx, c, "account", nil)
	fmt.Println(a.Secret, a.Number, err)
	// Output: … 9007199254740993 <nil>
}

// The smallest client: it finds out which revision the server speaks.
func ExampleConnect() {
	s := mcp.NewServer(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.ToolRequest, struct{}) (string, error) { return "hello", nil })

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.InProcess(s), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(c.Server().Name, "speaks", c.Revision())
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(tool.Name)
	}
	// Output:
	// greeter speaks 2026-07-28
	// greet
}

// semicolons carries frames separated by semicolons and newlines: any way to
// carry whole frames is a transport.
type semicolons struct {
	r *bufio.Reader
	w io.Writer
	c io.Closer
}

func (s *semicolons) Read() ([]byte, error) {
	line, err := s.r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return line[:len(line)-2], nil
}

func (s *semicolons) Write(frames ...[]byte) error {
	for _, f := range frames {
		if _, err := fmt.Fprintf(s.w, "%s;\n", f); err != nil {
			return err
		}
	}
	return nil
}

func (s *semicolons) Close() error { return s.c.Close() }

type closers []io.Closer

func (all closers) Close() error {
	for _, c := range all {
		c.Close()
	}
	return nil
}

// A transport of your own carries frames: that is all.
func ExampleStreamTransport() {
	s := mcp.NewServer(mcp.Implementation{Name: "far", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "shout"}, func(_ context.Context, _ *mcp.ToolRequest, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return strings.ToUpper(in.Text), nil
	})

	ctx := context.Background()
	served := make(chan error, 1)
	c, err := mcp.Connect(ctx, mcp.StreamTransport(func(context.Context) (jsonrpc.Stream, error) {
		toServer, fromClient := io.Pipe()
		toClient, fromServer := io.Pipe()
		far := &semicolons{bufio.NewReader(toServer), fromServer, closers{toServer, fromServer}}
		near := &semicolons{bufio.NewReader(toClient), fromClient, closers{toClient, fromClient}}
		go func() { served <- mcp.ServeStream(ctx, s, far, nil) }()
		return near, nil
	}), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := mcp.CallTool[string](ctx, c, "shout", map[string]string{"text": "hello"})
	fmt.Println(text, err)
	c.Close()
	<-served
	// Output: HELLO <nil>
}
