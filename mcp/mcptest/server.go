// Package mcptest tests MCP transports and servers.
//
// [Run] is the suite that every transport of this module passes, in every
// revision; a transport of your own passes it too when it is right. [NewServer]
// is the server it runs against, which shows every feature.
package mcptest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcpv/mcp"
	"mcpv/revision"
)

// EchoIn and EchoOut are the types of the tool echo.
type (
	EchoIn struct {
		Message string `json:"message" jsonschema:"what to say"`
	}
	EchoOut struct {
		Echo  string `json:"echo"`
		Bytes int64  `json:"bytes"`
	}
)

// A Server has every feature, and hooks by which tests see and cause things.
type Server struct {
	*mcp.Server

	mu      sync.Mutex
	waiting map[string]chan error // calls of the tool wait, by name, and how they ended
}

// NewServer returns a server that speaks the revisions given, all when none is.
func NewServer(revisions ...*revision.Revision) *Server {
	s := &Server{waiting: map[string]chan error{}}
	s.Server = mcp.NewServer(mcp.Implementation{Name: "mcptest", Version: "1", Title: "Everything"}, &mcp.ServerOptions{
		Instructions: "Use echo.",
		Revisions:    revisions,
		PageSize:     20,
		Tasks:        &mcp.TaskOptions{PollInterval: 10 * time.Millisecond},
	})
	s.addTools()
	s.addQuestions()
	s.addRest()
	return s
}

func (s *Server) addTools() {
	mcp.AddTool(s.Server, &mcp.Tool{Name: "echo", Title: "Echo", Description: "says what it is told"},
		func(_ context.Context, _ *mcp.ToolRequest, in EchoIn) (EchoOut, error) {
			return EchoOut{in.Message, int64(len(in.Message))}, nil
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "contents", Description: "one block of each type"},
		func(_ context.Context, r *mcp.ToolRequest, _ struct{}) ([]mcp.Content, error) {
			return []mcp.Content{
				mcp.Text("hello"), mcp.Image([]byte("png"), "image/png"), mcp.Audio([]byte("wav"), "audio/wav"),
				mcp.Embedded(mcp.TextContents("test://text", "text/plain", "text")), mcp.ResourceLink("test://text", "text"),
			}, nil
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "progress", Description: "tells how far it is"},
		func(ctx context.Context, r *mcp.ToolRequest, in struct {
			Steps int `json:"steps" jsonschema:"minimum=1,maximum=100,default=3"`
		}) (string, error) {
			for i := range in.Steps {
				r.Progress(ctx, float64(i+1), float64(in.Steps), fmt.Sprintf("step %d", i+1))
			}
			return "done", nil
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "log", Description: "logs one message of each level"},
		func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
			for l := mcp.LogDebug; l <= mcp.LogEmergency; l++ {
				r.Log(ctx, l, "mcptest", map[string]string{"level": l.String()})
			}
			return "logged", nil
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "fail", Description: "fails"},
		func(context.Context, *mcp.ToolRequest, struct{}) (string, error) { return "", errors.New("it failed") })
	mcp.AddTool(s.Server, &mcp.Tool{Name: "panic", Description: "panics"},
		func(context.Context, *mcp.ToolRequest, struct{}) (string, error) { panic("on purpose") })
	mcp.AddTool(s.Server, &mcp.Tool{Name: "wait", Description: "waits until it is cancelled"},
		func(ctx context.Context, r *mcp.ToolRequest, in struct {
			Name string `json:"name"`
		}) (string, error) {
			r.Progress(ctx, 1, 0, "waiting")
			<-ctx.Done()
			s.ended(in.Name) <- context.Cause(ctx)
			return "", context.Cause(ctx)
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "add_tool", Description: "adds a tool"},
		func(_ context.Context, _ *mcp.ToolRequest, in struct {
			Name string `json:"name"`
		}) (string, error) {
			return "added", s.AddTool(&mcp.Tool{Name: in.Name, Description: "added"}, func(context.Context, *mcp.ToolRequest) (*mcp.ToolResult, error) {
				return &mcp.ToolResult{}, nil
			})
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "touch", Description: "changes a resource"},
		func(_ context.Context, _ *mcp.ToolRequest, in struct {
			URI string `json:"uri"`
		}) (string, error) {
			s.ResourceUpdated(in.URI)
			return "touched", nil
		})
}

// addQuestions adds the tools that ask back.
func (s *Server) addQuestions() {
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask", Description: "asks for a name, then for a colour"},
		func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
			type name struct {
				Name string `json:"name"`
			}
			type colour struct {
				Colour string `json:"colour" jsonschema:"enum=red|green"`
			}
			n, ok, err := mcp.Elicit[name](ctx, r, "Your name?")
			if err != nil || !ok {
				return "declined", err
			}
			c, ok, err := mcp.Elicit[colour](ctx, r, "Your colour?")
			if err != nil || !ok {
				return "declined", err
			}
			return n.Name + " likes " + c.Colour, nil
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "work", Description: "runs as a task and asks meanwhile", Task: mcp.TaskOptional},
		func(ctx context.Context, r *mcp.ToolRequest, in struct {
			Quietly bool `json:"quietly,omitzero"`
		}) (string, error) {
			if in.Quietly {
				return "worked", nil
			}
			roots, err := r.Roots(ctx)
			return fmt.Sprintf("worked in %d roots", len(roots)), err
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "ask_url", Description: "asks to visit a page"},
		func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
			a, err := r.ElicitURL(ctx, "Please sign in", "https://example.com/sign-in")
			if err != nil {
				return "", err
			}
			return a.Action, nil
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "think", Description: "asks the model"},
		func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
			a, err := r.Sample(ctx, mcp.SamplingParams{Messages: []mcp.SamplingMessage{mcp.UserText("2+2?")}, MaxTokens: 10})
			if err != nil {
				return "", err
			}
			return a.Text(), nil
		})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "roots", Description: "lists the roots"},
		func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
			roots, err := r.Roots(ctx)
			var uris []string
			for _, root := range roots {
				uris = append(uris, root.URI)
			}
			return strings.Join(uris, " "), err
		})
}

func (s *Server) addRest() {
	for i := range 25 { // more than a page
		name := fmt.Sprintf("filler_%02d", i)
		_ = s.AddTool(&mcp.Tool{Name: name, Description: "fills the list"}, func(context.Context, *mcp.ToolRequest) (*mcp.ToolResult, error) {
			return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(name)}}, nil
		})
	}
	s.AddResource(&mcp.Resource{URI: "test://text", Name: "text", MIMEType: "text/plain"},
		func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextContents("", "text/plain", "some text")}, nil
		})
	s.AddResource(&mcp.Resource{URI: "test://blob", Name: "blob", MIMEType: "application/octet-stream"},
		func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobContents("", "application/octet-stream", []byte{0, 1, 255})}, nil
		})
	s.AddTemplate(&mcp.ResourceTemplate{URITemplate: "test://user/{id}/name", Name: "user"},
		func(_ context.Context, r *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			if r.Vars["id"] == "0" {
				return nil, mcp.ResourceNotFound(r.URI)
			}
			return []mcp.ResourceContents{mcp.TextContents("", "text/plain", "user "+r.Vars["id"])}, nil
		}, mcp.Choices("1", "12", "2"))
	s.AddPrompt(&mcp.Prompt{Name: "greet", Description: "greets", Arguments: []mcp.PromptArgument{
		{Name: "who", Required: true, Complete: mcp.Choices("Ada", "Alan", "Grace")},
	}}, func(_ context.Context, r *mcp.PromptRequest) (*mcp.PromptResult, error) {
		return &mcp.PromptResult{Messages: []mcp.PromptMessage{mcp.UserMessage("Greet " + r.Arguments["who"])}}, nil
	})
}

// ended is where the call of the tool wait with the name says how it ended.
func (s *Server) ended(name string) chan error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[name] == nil {
		s.waiting[name] = make(chan error, 1)
	}
	return s.waiting[name]
}
