// Command server is the go-sdk peer: the tools, resources and prompts of interop/README.md on stdio, or on
// Streamable HTTP with --http, where the first line of stdout is the URL. --modern serves 2026-07-28 on HTTP,
// which the SDK does in its stateless mode only; without it the older revisions are served with sessions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const modern = "2026-07-28"

// pause keeps progress apart from the result: the TypeScript clients drop progress that arrives in one chunk with it.
const pause = 20 * time.Millisecond

func main() {
	useHTTP := flag.Bool("http", false, "serve Streamable HTTP on a free port of localhost")
	stateless := flag.Bool("modern", false, "with --http: serve 2026-07-28")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := newServer()
	if !*useHTTP {
		if err := server.Run(ctx, &mcp.StdioTransport{}); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
		return
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: *stateless, EventStore: mcp.NewMemoryEventStore(nil), PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	web := &http.Server{Handler: mux}
	go func() { <-ctx.Done(); _ = web.Close() }()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "interop-go-sdk", Version: "1.8.0"}, &mcp.ServerOptions{
		Instructions:       "interop peer",
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addPlainTools(server)
	addAskingTools(server)
	addResources(server)
	server.AddPrompt(&mcp.Prompt{Name: "greet", Description: "greets", Arguments: []*mcp.PromptArgument{
		{Name: "name", Required: true}, {Name: "style"},
	}}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "Greet " + req.Params.Arguments["name"]}},
		}}, nil
	})
	return server
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	options := []string{"formal", "casual"}
	if req.Params.Ref.Type == "ref/resource" {
		options = []string{"1", "12", "2"}
	}
	for _, o := range options {
		if strings.HasPrefix(o, req.Params.Argument.Value) {
			values = append(values, o)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}

type (
	messageIn struct {
		Message string `json:"message"`
	}
	addOut struct {
		Sum int `json:"sum"`
	}
	progressIn struct {
		Steps int `json:"steps"`
	}
	slowIn struct {
		MS int `json:"ms"`
	}
	promptIn struct {
		Prompt string `json:"prompt"`
	}
)

func addPlainTools(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "says it back"},
		func(_ context.Context, _ *mcp.CallToolRequest, in messageIn) (*mcp.CallToolResult, any, error) {
			return text("%s", in.Message), nil, nil
		})
	integers := &jsonschema.Schema{Type: "object", Required: []string{"a", "b"}, Properties: map[string]*jsonschema.Schema{
		"a": {Type: "integer"}, "b": {Type: "integer"},
	}}
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "adds", InputSchema: integers},
		func(_ context.Context, _ *mcp.CallToolRequest, in map[string]int) (*mcp.CallToolResult, addOut, error) {
			return nil, addOut{in["a"] + in["b"]}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "fails"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("as asked")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "progress", Description: "reports progress"},
		func(ctx context.Context, req *mcp.CallToolRequest, in progressIn) (*mcp.CallToolResult, any, error) {
			for i := range in.Steps {
				err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.Steps),
				})
				if err != nil {
					return nil, nil, err
				}
				time.Sleep(pause)
			}
			return text("done"), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "log", Description: "logs"},
		func(ctx context.Context, req *mcp.CallToolRequest, in messageIn) (*mcp.CallToolResult, any, error) {
			err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "interop", Data: in.Message})
			return text("logged"), nil, err
		})
	var cancelled atomic.Int64
	mcp.AddTool(server, &mcp.Tool{Name: "slow", Description: "waits, unless cancelled"},
		func(ctx context.Context, _ *mcp.CallToolRequest, in slowIn) (*mcp.CallToolResult, any, error) {
			select {
			case <-ctx.Done():
				cancelled.Add(1)
				return nil, nil, ctx.Err()
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
				return text("waited"), nil, nil
			}
		})
	mcp.AddTool(server, &mcp.Tool{Name: "cancelled", Description: "counts cancelled calls of slow"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text("%d", cancelled.Load()), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "touch", Description: "announces test://watched as updated"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			err := server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "test://watched"})
			return text("touched"), nil, err
		})
}

// addAskingTools answers a modern request with what it needs to know, and asks a legacy client outright.
func addAskingTools(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "elicit", Description: "asks the user's name"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			params := &mcp.ElicitParams{Message: "Your name?", RequestedSchema: &jsonschema.Schema{
				Type: "object", Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}, Required: []string{"name"},
			}}
			if req.ProtocolVersion() < modern {
				answer, err := req.Session.Elicit(ctx, params)
				if err != nil {
					return nil, nil, err
				}
				return text("%s %v", answer.Action, answer.Content["name"]), nil, nil
			}
			answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult)
			if !ok {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": params}}, nil, nil
			}
			return text("%s %v", answer.Action, answer.Content["name"]), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "sample", Description: "asks the model"},
		func(ctx context.Context, req *mcp.CallToolRequest, in promptIn) (*mcp.CallToolResult, any, error) {
			params := &mcp.CreateMessageParams{MaxTokens: 20, Messages: []*mcp.SamplingMessage{
				{Role: "user", Content: &mcp.TextContent{Text: in.Prompt}},
			}}
			if req.ProtocolVersion() < modern {
				answer, err := req.Session.CreateMessage(ctx, params)
				if err != nil {
					return nil, nil, err
				}
				return text("%s", answer.Content.(*mcp.TextContent).Text), nil, nil
			}
			answer, ok := req.Params.InputResponses["answer"].(*mcp.CreateMessageWithToolsResult)
			if !ok {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"answer": params}}, nil, nil
			}
			return text("%s", answer.Content[0].(*mcp.TextContent).Text), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "roots", Description: "lists the client's roots"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			var answer *mcp.ListRootsResult
			if req.ProtocolVersion() < modern {
				var err error
				if answer, err = req.Session.ListRoots(ctx, nil); err != nil {
					return nil, nil, err
				}
			} else {
				var ok bool
				if answer, ok = req.Params.InputResponses["roots"].(*mcp.ListRootsResult); !ok {
					return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil, nil
				}
			}
			var uris []string
			for _, root := range answer.Roots {
				uris = append(uris, root.URI)
			}
			return text("%s", strings.Join(uris, " ")), nil, nil
		})
}

func addResources(server *mcp.Server) {
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		contents := &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "text of " + uri}
		if uri == "test://blob" {
			contents = &mcp.ResourceContents{URI: uri, MIMEType: "application/octet-stream", Blob: []byte{0, 1, 2, 255}}
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
	}
	for _, name := range []string{"text", "blob", "watched"} {
		server.AddResource(&mcp.Resource{Name: name, URI: "test://" + name}, read)
	}
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "item", URITemplate: "test://item/{id}"}, read)
}
