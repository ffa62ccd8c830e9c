package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mcpv/mcp"
)

// pause keeps progress apart from the result: the TypeScript clients drop progress that arrives in one chunk with it.
const pause = 20 * time.Millisecond

type (
	none      struct{}
	messageIn struct {
		Message string `json:"message"`
	}
	addIn struct {
		A int64 `json:"a"`
		B int64 `json:"b"`
	}
	addOut struct {
		Sum int64 `json:"sum"`
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
	nameForm struct {
		Name string `json:"name"`
	}
)

func newServer() *mcp.Server {
	server := mcp.NewServer(mcp.Implementation{Name: "interop-ours", Version: "1"}, &mcp.ServerOptions{Instructions: "interop peer"})
	addPlainTools(server)
	addLongTools(server)
	addAskingTools(server)
	addResources(server)
	server.AddPrompt(&mcp.Prompt{Name: "greet", Description: "greets", Arguments: []mcp.PromptArgument{
		{Name: "name", Required: true}, {Name: "style", Complete: mcp.Choices("formal", "casual")},
	}}, func(_ context.Context, r *mcp.PromptRequest) (*mcp.PromptResult, error) {
		return &mcp.PromptResult{Messages: []mcp.PromptMessage{mcp.UserMessage("Greet " + r.Arguments["name"])}}, nil
	})
	return server
}

// wait returns after d, or with the reason why ctx ended before.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func addPlainTools(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "says it back"},
		func(_ context.Context, _ *mcp.ToolRequest, in messageIn) (string, error) { return in.Message, nil })
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "adds"},
		func(_ context.Context, _ *mcp.ToolRequest, in addIn) (addOut, error) { return addOut{in.A + in.B}, nil })
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "fails"},
		func(context.Context, *mcp.ToolRequest, none) (string, error) { return "", errors.New("as asked") })
	mcp.AddTool(server, &mcp.Tool{Name: "log", Description: "logs"},
		func(ctx context.Context, r *mcp.ToolRequest, in messageIn) (string, error) {
			r.Log(ctx, mcp.LogInfo, "interop", in.Message)
			return "logged", nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "touch", Description: "announces test://watched as updated"},
		func(context.Context, *mcp.ToolRequest, none) (string, error) {
			server.ResourceUpdated("test://watched")
			return "touched", nil
		})
}

func addLongTools(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "progress", Description: "reports progress"},
		func(ctx context.Context, r *mcp.ToolRequest, in progressIn) (string, error) {
			for i := range in.Steps {
				r.Progress(ctx, float64(i+1), float64(in.Steps), "")
				if err := wait(ctx, pause); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
	cancelled := new(atomic.Int64)
	mcp.AddTool(server, &mcp.Tool{Name: "slow", Description: "waits, unless cancelled"},
		func(ctx context.Context, _ *mcp.ToolRequest, in slowIn) (string, error) {
			if err := wait(ctx, time.Duration(in.MS)*time.Millisecond); err != nil {
				cancelled.Add(1)
				return "", err
			}
			return "waited", nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "cancelled", Description: "counts cancelled calls of slow"},
		func(context.Context, *mcp.ToolRequest, none) (string, error) {
			return strconv.FormatInt(cancelled.Load(), 10), nil
		})
}

// addAskingTools is written once for both eras: see mcp.Request.Ask.
func addAskingTools(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "sample", Description: "asks the model"},
		func(ctx context.Context, r *mcp.ToolRequest, in promptIn) (string, error) {
			answer, err := r.Sample(ctx, mcp.SamplingParams{Messages: []mcp.SamplingMessage{mcp.UserText(in.Prompt)}, MaxTokens: 20})
			if err != nil {
				return "", err
			}
			return answer.Text(), nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "elicit", Description: "asks the user's name"},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
			answer, ok, err := mcp.Elicit[nameForm](ctx, r, "Your name?")
			if err != nil || !ok {
				return mcp.ActionDecline, err
			}
			return mcp.ActionAccept + " " + answer.Name, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "roots", Description: "lists the client's roots"},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
			roots, err := r.Roots(ctx)
			uris := make([]string, len(roots))
			for i, root := range roots {
				uris[i] = root.URI
			}
			return strings.Join(uris, " "), err
		})
}

func addResources(server *mcp.Server) {
	read := func(_ context.Context, r *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextContents(r.URI, "text/plain", "text of "+r.URI)}, nil
	}
	server.AddResource(&mcp.Resource{URI: "test://text", Name: "text"}, read)
	server.AddResource(&mcp.Resource{URI: "test://blob", Name: "blob"},
		func(_ context.Context, r *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobContents(r.URI, "application/octet-stream", []byte{0, 1, 2, 255})}, nil
		})
	server.AddResource(&mcp.Resource{URI: "test://watched", Name: "watched"}, read)
	server.AddTemplate(&mcp.ResourceTemplate{URITemplate: "test://item/{id}", Name: "item"}, read, mcp.Choices("1", "12", "2"))
}
