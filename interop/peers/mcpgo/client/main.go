// Command client is the mcp-go peer client: it tries every feature of interop/README.md against a server and
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
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcpv/interop/peers/feature"
)

const modern = "2026-07-28"

// peer is a connection with what the server sent on its own.
type peer struct {
	*client.Client
	version string
	notes   map[string]chan map[string]any // params by method
}

// user answers what a server asks.
type user struct{}

func (user) CreateMessage(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	asked := ""
	switch c := req.Messages[0].Content.(type) {
	case mcp.TextContent:
		asked = c.Text
	case map[string]any:
		asked, _ = c["text"].(string)
	}
	return &mcp.CreateMessageResult{Model: "interop", SamplingMessage: mcp.SamplingMessage{
		Role: mcp.RoleAssistant, Content: mcp.NewTextContent("model says " + asked),
	}}, nil
}

func (user) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ada"},
	}}, nil
}

func (user) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///interop", Name: "interop"}}}, nil
}

func main() {
	protocol := flag.String("protocol", "", "protocol version to ask for; empty for the newest")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("usage: client [--protocol VERSION] URL | COMMAND ARGS...")
	}
	ctx := context.Background()
	var report feature.Reporter
	p := &peer{notes: map[string]chan map[string]any{}}
	for _, method := range []string{"notifications/message", "notifications/progress", "notifications/resources/updated"} {
		p.notes[method] = make(chan map[string]any, 64)
	}
	report.Try(ctx, "initialize", func(context.Context) (string, error) { return p.connect(ctx, *protocol) })
	if report.Failed() {
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

func (p *peer) connect(ctx context.Context, protocol string) (string, error) {
	options := []client.ClientOption{
		client.WithSamplingHandler(user{}), client.WithElicitationHandler(user{}), client.WithRootsHandler(user{}),
	}
	if protocol != "" {
		options = append(options, client.WithProtocolVersion(protocol))
	}
	var wire transport.Interface
	if strings.HasPrefix(flag.Arg(0), "http") {
		// Listening on a GET stream keeps the library on the older revisions, and they need it for updates.
		var options []transport.StreamableHTTPCOption
		if protocol != "" && protocol < modern {
			options = append(options, transport.WithContinuousListening())
		}
		http, err := transport.NewStreamableHTTP(flag.Arg(0), options...)
		if err != nil {
			return "", err
		}
		wire = http
	} else {
		wire = transport.NewStdio(flag.Arg(0), nil, flag.Args()[1:]...)
	}
	p.Client = client.NewClient(wire, options...)
	if err := p.Start(ctx); err != nil {
		return "", err
	}
	p.OnNotification(func(n mcp.JSONRPCNotification) {
		if ch, ok := p.notes[n.Method]; ok {
			ch <- n.Params.AdditionalFields
		}
	})
	var req mcp.InitializeRequest
	req.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	if protocol != "" {
		req.Params.ProtocolVersion = protocol
	}
	req.Params.ClientInfo = mcp.Implementation{Name: "interop-mcp-go-client", Version: "1.2.1"}
	res, err := p.Initialize(ctx, req)
	if err != nil {
		return "", err
	}
	p.version = res.ProtocolVersion
	return p.version, nil
}

// call returns the first text of a tool's answer.
func (p *peer) call(ctx context.Context, name string, args any, meta *mcp.Meta) (string, error) {
	res, err := p.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name, Arguments: args, Meta: meta}})
	if err != nil {
		return "", err
	}
	text, ok := res.Content[0].(mcp.TextContent)
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
		return "", p.Ping(ctx)
	})
	report.Try(ctx, "tools", p.tools)
	report.Try(ctx, "tool-error", func(ctx context.Context) (string, error) {
		res, err := p.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "fail", Arguments: map[string]any{}}})
		if err != nil {
			return "", err
		}
		return "", feature.Want("isError", res.IsError, true)
	})
	report.Try(ctx, "resources", p.resources)
	report.Try(ctx, "resource-templates", func(ctx context.Context) (string, error) {
		list, err := p.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
		if err != nil {
			return "", err
		}
		if err := feature.Want("template", list.ResourceTemplates[0].URITemplate.Raw(), "test://item/{id}"); err != nil {
			return "", err
		}
		got, err := p.read(ctx, "test://item/7")
		if err != nil {
			return "", err
		}
		return "", feature.Want("uri", got.(mcp.TextResourceContents).URI, "test://item/7")
	})
	report.Try(ctx, "prompts", func(ctx context.Context) (string, error) {
		if _, err := p.ListPrompts(ctx, mcp.ListPromptsRequest{}); err != nil {
			return "", err
		}
		var req mcp.GetPromptRequest
		req.Params.Name, req.Params.Arguments = "greet", map[string]string{"name": "Ada"}
		res, err := p.GetPrompt(ctx, req)
		if err != nil {
			return "", err
		}
		return "", feature.Want("prompt", res.Messages[0].Content.(mcp.TextContent).Text, "Greet Ada")
	})
	report.Try(ctx, "completion", p.completion)
}

func (p *peer) tools(ctx context.Context) (string, error) {
	list, err := p.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(list.Tools, func(t mcp.Tool) bool { return t.Name == "echo" }) {
		return "", errors.New("no tool echo")
	}
	got, err := p.call(ctx, "echo", map[string]any{"message": "grüße 🎈"}, nil)
	if err != nil {
		return "", err
	}
	if err := feature.Want("echo", got, "grüße 🎈"); err != nil {
		return "", err
	}
	res, err := p.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "add", Arguments: map[string]any{"a": 2, "b": 3}}})
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d tools", len(list.Tools)), feature.Want("add", string(data), `{"sum":5}`)
}

func (p *peer) read(ctx context.Context, uri string) (mcp.ResourceContents, error) {
	var req mcp.ReadResourceRequest
	req.Params.URI = uri
	res, err := p.ReadResource(ctx, req)
	if err != nil {
		return nil, err
	}
	return res.Contents[0], nil
}

func (p *peer) resources(ctx context.Context) (string, error) {
	list, err := p.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return "", err
	}
	got, err := p.read(ctx, "test://text")
	if err != nil {
		return "", err
	}
	if err := feature.Want("text", got.(mcp.TextResourceContents).Text, "text of test://text"); err != nil {
		return "", err
	}
	if got, err = p.read(ctx, "test://blob"); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d resources", len(list.Resources)), feature.Want("blob", got.(mcp.BlobResourceContents).Blob, "AAEC/w==")
}

func (p *peer) completion(ctx context.Context) (string, error) {
	for _, tc := range []struct {
		ref               any
		name, value, want string
	}{
		{mcp.PromptReference{Type: "ref/prompt", Name: "greet"}, "style", "f", "formal"},
		{mcp.ResourceReference{Type: "ref/resource", URI: "test://item/{id}"}, "id", "1", "1,12"},
	} {
		var req mcp.CompleteRequest
		req.Params.Ref = tc.ref
		req.Params.Argument = mcp.CompleteArgument{Name: tc.name, Value: tc.value}
		res, err := p.Complete(ctx, req)
		if err != nil {
			return "", err
		}
		if err := feature.Want(tc.name, strings.Join(res.Completion.Values, ","), tc.want); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (p *peer) receive(ctx context.Context, method string) (map[string]any, error) {
	select {
	case v := <-p.notes[method]:
		return v, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no %s: %w", method, ctx.Err())
	}
}

func (p *peer) notifications(ctx context.Context, report *feature.Reporter) {
	report.Try(ctx, "logging", func(ctx context.Context) (string, error) {
		var level mcp.SetLevelRequest
		level.Params.Level = mcp.LoggingLevelDebug
		if err := p.SetLevel(ctx, level); err != nil {
			return "", err
		}
		if _, err := p.call(ctx, "log", map[string]any{"message": "hello log"}, nil); err != nil {
			return "", err
		}
		got, err := p.receive(ctx, "notifications/message")
		if err != nil {
			return "", err
		}
		return "", feature.Want("log", fmt.Sprint(got["data"]), "hello log")
	})
	report.Try(ctx, "progress", func(ctx context.Context) (string, error) {
		if _, err := p.call(ctx, "progress", map[string]any{"steps": 3}, &mcp.Meta{ProgressToken: "p1"}); err != nil {
			return "", err
		}
		// The library hands notifications over without keeping their order, so only their number is compared.
		for range 3 {
			if _, err := p.receive(ctx, "notifications/progress"); err != nil {
				return "", err
			}
		}
		return "3 notifications", nil
	})
	report.Try(ctx, "cancellation", p.cancellation)
	report.Try(ctx, "subscriptions", p.subscriptions)
}

func (p *peer) subscriptions(ctx context.Context) (string, error) {
	if p.version >= modern {
		stop, err := p.ListenAsync(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://watched"}}, func(error) {})
		if err != nil {
			return "", err
		}
		defer stop()
	} else {
		var req mcp.SubscribeRequest
		req.Params.URI = "test://watched"
		if err := p.Subscribe(ctx, req); err != nil {
			return "", err
		}
	}
	// Listening starts in the background, so the touch is repeated until it is heard of.
	err := feature.Until(ctx, func() (bool, error) {
		if _, err := p.call(ctx, "touch", map[string]any{}, nil); err != nil {
			return false, err
		}
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		got, err := p.receive(short, "notifications/resources/updated")
		if err != nil {
			return false, nil
		}
		return true, feature.Want("uri", fmt.Sprint(got["uri"]), "test://watched")
	})
	return "", err
}

// cancellation holds that the server's handler, not only our wait, ended.
func (p *peer) cancellation(ctx context.Context) (string, error) {
	before, err := p.call(ctx, "cancelled", map[string]any{}, nil)
	if err != nil {
		return "", err
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := p.call(short, "slow", map[string]any{"ms": 60000}, nil); err == nil {
		return "", errors.New("a cancelled call answered")
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
