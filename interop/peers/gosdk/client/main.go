// Command client is the go-sdk peer client: it tries every feature of interop/README.md against a server and
// prints one JSON line for each.
//
//	client [--protocol VERSION] URL
//	client [--protocol VERSION] COMMAND ARGS...
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpv/interop/peers/feature"
)

const modern = "2026-07-28"

// peer is a connection with what the server sent on its own.
type peer struct {
	*mcp.ClientSession
	version  string
	progress chan float64
	logs     chan string
	updates  chan string
}

func main() {
	protocol := flag.String("protocol", "", "protocol version to ask for; empty for the newest")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("usage: client [--protocol VERSION] URL | COMMAND ARGS...")
	}
	ctx := context.Background()
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: flag.Arg(0)}
	if !strings.HasPrefix(flag.Arg(0), "http") {
		cmd := exec.Command(flag.Arg(0), flag.Args()[1:]...)
		cmd.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: cmd}
	}
	var report feature.Reporter
	p := &peer{progress: make(chan float64, 64), logs: make(chan string, 64), updates: make(chan string, 64)}
	report.Try(ctx, "initialize", func(context.Context) (string, error) { return p.connect(ctx, transport, *protocol) })
	if p.ClientSession == nil {
		os.Exit(1)
	}
	p.basics(ctx, &report)
	p.notifications(ctx, &report)
	p.questions(ctx, &report)
	report.Try(ctx, "close", func(context.Context) (string, error) { return "", p.Close() })
	if report.Failed() {
		os.Exit(1)
	}
}

func (p *peer) connect(ctx context.Context, transport mcp.Transport, protocol string) (string, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go-sdk-client", Version: "1.8.0"}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			asked := req.Params.Messages[0].Content.(*mcp.TextContent).Text
			return &mcp.CreateMessageResult{Role: "assistant", Model: "interop", Content: &mcp.TextContent{Text: "model says " + asked}}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			p.progress <- req.Params.Progress
		},
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			p.logs <- fmt.Sprint(req.Params.Data)
		},
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			p.updates <- req.Params.URI
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///interop", Name: "interop"})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		return "", err
	}
	p.ClientSession = session
	p.version = session.InitializeResult().ProtocolVersion
	return p.version, nil
}

// call returns the first text of a tool's answer.
func (p *peer) call(ctx context.Context, name string, args any, meta mcp.Meta) (string, error) {
	res, err := p.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args, Meta: meta})
	if err != nil {
		return "", err
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok || res.IsError {
		return "", fmt.Errorf("%s answered %+v (error: %v)", name, res.Content[0], res.IsError)
	}
	return text.Text, nil
}

func (p *peer) basics(ctx context.Context, report *feature.Reporter) {
	report.Try(ctx, "ping", func(ctx context.Context) (string, error) {
		if p.version >= modern {
			return "", feature.Skip("removed in " + modern)
		}
		return "", p.Ping(ctx, nil)
	})
	report.Try(ctx, "tools", p.tools)
	report.Try(ctx, "tool-error", func(ctx context.Context) (string, error) {
		res, err := p.CallTool(ctx, &mcp.CallToolParams{Name: "fail", Arguments: map[string]any{}})
		if err != nil {
			return "", err
		}
		return "", feature.Want("isError", res.IsError, true)
	})
	report.Try(ctx, "resources", p.resources)
	report.Try(ctx, "resource-templates", func(ctx context.Context) (string, error) {
		list, err := p.ListResourceTemplates(ctx, nil)
		if err != nil {
			return "", err
		}
		if err := feature.Want("template", list.ResourceTemplates[0].URITemplate, "test://item/{id}"); err != nil {
			return "", err
		}
		res, err := p.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://item/7"})
		if err != nil {
			return "", err
		}
		return "", feature.Want("uri", res.Contents[0].URI, "test://item/7")
	})
	report.Try(ctx, "prompts", func(ctx context.Context) (string, error) {
		if _, err := p.ListPrompts(ctx, nil); err != nil {
			return "", err
		}
		res, err := p.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
		if err != nil {
			return "", err
		}
		return "", feature.Want("prompt", res.Messages[0].Content.(*mcp.TextContent).Text, "Greet Ada")
	})
	report.Try(ctx, "completion", p.completion)
}

func (p *peer) tools(ctx context.Context) (string, error) {
	list, err := p.ListTools(ctx, nil)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == "echo" }) {
		return "", errors.New("no tool echo")
	}
	got, err := p.call(ctx, "echo", map[string]any{"message": "grüße 🎈"}, nil)
	if err != nil {
		return "", err
	}
	if err := feature.Want("echo", got, "grüße 🎈"); err != nil {
		return "", err
	}
	res, err := p.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"a": 2, "b": 3}})
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d tools", len(list.Tools)), feature.Want("add", string(data), `{"sum":5}`)
}

func (p *peer) resources(ctx context.Context) (string, error) {
	list, err := p.ListResources(ctx, nil)
	if err != nil {
		return "", err
	}
	res, err := p.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://text"})
	if err != nil {
		return "", err
	}
	if err := feature.Want("text", res.Contents[0].Text, "text of test://text"); err != nil {
		return "", err
	}
	res, err = p.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://blob"})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d resources", len(list.Resources)), feature.Want("blob", string(res.Contents[0].Blob), "\x00\x01\x02\xff")
}

func (p *peer) completion(ctx context.Context) (string, error) {
	for _, tc := range []struct {
		ref         *mcp.CompleteReference
		name, value string
		want        string
	}{
		{&mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, "style", "f", "formal"},
		{&mcp.CompleteReference{Type: "ref/resource", URI: "test://item/{id}"}, "id", "1", "1,12"},
	} {
		res, err := p.Complete(ctx, &mcp.CompleteParams{Ref: tc.ref, Argument: mcp.CompleteParamsArgument{Name: tc.name, Value: tc.value}})
		if err != nil {
			return "", err
		}
		if err := feature.Want(tc.ref.Type, strings.Join(res.Completion.Values, ","), tc.want); err != nil {
			return "", err
		}
	}
	return "", nil
}

func receive[T any](ctx context.Context, what string, ch chan T) (T, error) {
	select {
	case v := <-ch:
		return v, nil
	case <-ctx.Done():
		var zero T
		return zero, fmt.Errorf("no %s: %w", what, ctx.Err())
	}
}

func (p *peer) notifications(ctx context.Context, report *feature.Reporter) {
	report.Try(ctx, "logging", func(ctx context.Context) (string, error) {
		var meta mcp.Meta
		if p.version >= modern {
			meta = mcp.Meta{mcp.MetaKeyLogLevel: "debug"}
		} else if err := p.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
			return "", err
		}
		if _, err := p.call(ctx, "log", map[string]any{"message": "hello log"}, meta); err != nil {
			return "", err
		}
		got, err := receive(ctx, "log message", p.logs)
		if err != nil {
			return "", err
		}
		return "", feature.Want("log", got, "hello log")
	})
	report.Try(ctx, "progress", func(ctx context.Context) (string, error) {
		if _, err := p.call(ctx, "progress", map[string]any{"steps": 3}, mcp.Meta{"progressToken": "p1"}); err != nil {
			return "", err
		}
		for i := range 3 {
			got, err := receive(ctx, "progress", p.progress)
			if err != nil {
				return "", err
			}
			if err := feature.Want("progress", got, float64(i+1)); err != nil {
				return "", err
			}
		}
		return "3 notifications", nil
	})
	report.Try(ctx, "cancellation", p.cancellation)
	report.Try(ctx, "subscriptions", p.subscriptions)
}

func (p *peer) subscriptions(ctx context.Context) (string, error) {
	if err := p.Subscribe(ctx, &mcp.SubscribeParams{URI: "test://watched"}); err != nil {
		return "", err
	}
	patience := feature.Limit
	if p.version >= modern {
		patience = 200 * time.Millisecond
	}
	// On 2026-07-28 the library does not wait for the acknowledgement, so the touch is repeated until it is heard of.
	err := feature.Until(ctx, func() (bool, error) {
		if _, err := p.call(ctx, "touch", map[string]any{}, nil); err != nil {
			return false, err
		}
		short, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		got, err := receive(short, "update", p.updates)
		if err != nil {
			return false, nil
		}
		return true, feature.Want("uri", got, "test://watched")
	})
	if err != nil {
		return "", err
	}
	return "", p.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "test://watched"})
}

// cancellation holds that the server's handler, not only our wait, ended.
func (p *peer) cancellation(ctx context.Context) (string, error) {
	before, err := p.call(ctx, "cancelled", map[string]any{}, nil)
	if err != nil {
		return "", err
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := p.call(short, "slow", map[string]any{"ms": 60000}, nil); !errors.Is(err, context.DeadlineExceeded) {
		return "", fmt.Errorf("a cancelled call answered %w", err)
	}
	return "", feature.Until(ctx, func() (bool, error) {
		now, err := p.call(ctx, "cancelled", map[string]any{}, nil)
		return now != before, err
	})
}

func (p *peer) questions(ctx context.Context, report *feature.Reporter) {
	for _, q := range []struct {
		feature, tool string
		args          map[string]any
		want          string
	}{
		{"sampling", "sample", map[string]any{"prompt": "hi"}, "model says hi"},
		{"elicitation", "elicit", map[string]any{}, "accept Ada"},
		{"roots", "roots", map[string]any{}, "file:///interop"},
	} {
		report.Try(ctx, q.feature, func(ctx context.Context) (string, error) {
			got, err := p.call(ctx, q.tool, q.args, nil)
			if err != nil {
				return "", err
			}
			return "", feature.Want(q.tool, got, q.want)
		})
	}
}
