// Command server is the mcp-go peer: the tools, resources and prompts of interop/README.md on stdio, or on
// Streamable HTTP with --http, where the first line of stdout is the URL. The library serves both eras at once.
package main

import (
	"context"
	"encoding/base64"
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

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// pause keeps progress apart from the result: the TypeScript clients drop progress that arrives in one chunk with it.
const pause = 20 * time.Millisecond

func main() {
	useHTTP := flag.Bool("http", false, "serve Streamable HTTP on a free port of localhost")
	flag.Bool("modern", false, "ignored: both eras are served")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s := newServer()
	if !*useHTTP {
		if err := server.ServeStdio(s); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
		return
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s, server.WithStateful(true)))
	web := &http.Server{Handler: mux}
	go func() { <-ctx.Done(); _ = web.Close() }()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

type completer struct{}

func pick(value string, options ...string) *mcp.Completion {
	values := []string{}
	for _, o := range options {
		if strings.HasPrefix(o, value) {
			values = append(values, o)
		}
	}
	return &mcp.Completion{Values: values, Total: len(values)}
}

func (completer) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return pick(a.Value, "formal", "casual"), nil
}

func (completer) CompleteResourceArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return pick(a.Value, "1", "12", "2"), nil
}

func newServer() *server.MCPServer {
	s := server.NewMCPServer("interop-mcp-go", "1.2.1",
		server.WithInstructions("interop peer"),
		server.WithToolCapabilities(true), server.WithPromptCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithLogging(), server.WithCompletions(), server.WithElicitation(), server.WithRoots(),
		server.WithPromptCompletionProvider(completer{}), server.WithResourceCompletionProvider(completer{}))
	s.EnableSampling()
	addPlainTools(s)
	addAskingTools(s)
	addResources(s)
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithPromptDescription("greets"),
		mcp.WithArgument("name", mcp.RequiredArgument()), mcp.WithArgument("style")),
		func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Greet "+req.Params.Arguments["name"])),
			}), nil
		})
	return s
}

func addPlainTools(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("says it back"), mcp.WithString("message", mcp.Required())),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(req.GetString("message", "")), nil
		})
	s.AddTool(mcp.NewTool("add", mcp.WithDescription("adds"),
		mcp.WithInteger("a", mcp.Required()), mcp.WithInteger("b", mcp.Required()),
		mcp.WithOutputSchema[struct {
			Sum int `json:"sum"`
		}]()),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			sum := req.GetInt("a", 0) + req.GetInt("b", 0)
			return mcp.NewToolResultStructured(map[string]int{"sum": sum}, fmt.Sprint(sum)), nil
		})
	s.AddTool(mcp.NewTool("fail", mcp.WithDescription("fails")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultError("as asked"), nil
		})
	s.AddTool(mcp.NewTool("progress", mcp.WithDescription("reports progress"), mcp.WithInteger("steps", mcp.Required())),
		func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			steps := req.GetInt("steps", 0)
			for i := range steps {
				if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
					break
				}
				err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
					"progressToken": req.Params.Meta.ProgressToken, "progress": i + 1, "total": steps,
				})
				if err != nil {
					return nil, err
				}
				time.Sleep(pause)
			}
			return mcp.NewToolResultText("done"), nil
		})
	s.AddTool(mcp.NewTool("log", mcp.WithDescription("logs"), mcp.WithString("message", mcp.Required())),
		func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			note := mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "interop", req.GetString("message", ""))
			err := s.SendLogMessageToClient(ctx, note)
			time.Sleep(pause) // over HTTP the library loses some of what comes right before a result
			return mcp.NewToolResultText("logged"), err
		})
	var cancelled atomic.Int64
	s.AddTool(mcp.NewTool("slow", mcp.WithDescription("waits, unless cancelled"), mcp.WithInteger("ms", mcp.Required())),
		func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case <-ctx.Done():
				cancelled.Add(1)
				return nil, ctx.Err()
			case <-time.After(time.Duration(req.GetInt("ms", 0)) * time.Millisecond):
				return mcp.NewToolResultText("waited"), nil
			}
		})
	s.AddTool(mcp.NewTool("cancelled", mcp.WithDescription("counts cancelled calls of slow")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(fmt.Sprint(cancelled.Load())), nil
		})
	s.AddTool(mcp.NewTool("touch", mcp.WithDescription("announces test://watched as updated")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": "test://watched"})
			return mcp.NewToolResultText("touched"), nil
		})
}

// addAskingTools uses the library's own bridge: one handler serves both eras.
func addAskingTools(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("elicit", mcp.WithDescription("asks the user's name")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := server.ElicitationResponse(req.Params.InputResponses, "name")
			if answer == nil {
				return server.NewInputRequestBuilder("").Elicit("name", mcp.ElicitationParams{
					Message: "Your name?",
					RequestedSchema: map[string]any{
						"type": "object", "required": []string{"name"},
						"properties": map[string]any{"name": map[string]any{"type": "string"}},
					},
				}).ToolResult(), nil
			}
			content, _ := answer.Content.(map[string]any)
			return mcp.NewToolResultText(fmt.Sprintf("%s %v", answer.Action, content["name"])), nil
		})
	s.AddTool(mcp.NewTool("sample", mcp.WithDescription("asks the model"), mcp.WithString("prompt", mcp.Required())),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := server.SamplingResponse(req.Params.InputResponses, "answer")
			if answer == nil {
				return server.NewInputRequestBuilder("").Sample("answer", mcp.CreateMessageParams{
					MaxTokens: 20,
					Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(req.GetString("prompt", ""))}},
				}).ToolResult(), nil
			}
			if t, ok := answer.Content.(mcp.TextContent); ok {
				return mcp.NewToolResultText(t.Text), nil
			}
			content, _ := answer.Content.(map[string]any)
			return mcp.NewToolResultText(fmt.Sprint(content["text"])), nil
		})
	s.AddTool(mcp.NewTool("roots", mcp.WithDescription("lists the client's roots")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := server.RootsResponse(req.Params.InputResponses, "roots")
			if answer == nil {
				return server.NewInputRequestBuilder("").Roots("roots").ToolResult(), nil
			}
			var uris []string
			for _, root := range answer.Roots {
				uris = append(uris, root.URI)
			}
			return mcp.NewToolResultText(strings.Join(uris, " ")), nil
		})
}

func addResources(s *server.MCPServer) {
	read := func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		uri := req.Params.URI
		if uri == "test://blob" {
			blob := base64.StdEncoding.EncodeToString([]byte{0, 1, 2, 255})
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: uri, MIMEType: "application/octet-stream", Blob: blob}}, nil
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: "text of " + uri}}, nil
	}
	for _, name := range []string{"text", "blob", "watched"} {
		s.AddResource(mcp.NewResource("test://"+name, name), read)
	}
	s.AddResourceTemplate(mcp.NewResourceTemplate("test://item/{id}", "item"), read)
}
