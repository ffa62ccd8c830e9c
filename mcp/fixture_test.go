package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mcpv/mcp"
	"mcpv/revision"
)

// A fixture is a server for transcripts, and what can be done to it from outside.
type fixture struct {
	server *mcp.Server
	events map[string]func(arg string)
}

var fixtures = map[string]func() *fixture{
	"bare":        func() *fixture { return newFixture(nil) },
	"tools":       func() *fixture { return newFixture(nil, addTools) },
	"paged":       func() *fixture { return newFixture(&mcp.ServerOptions{PageSize: 2}, addPages) },
	"resources":   func() *fixture { return newFixture(nil, addResources) },
	"prompts":     func() *fixture { return newFixture(&mcp.ServerOptions{Instructions: "Use the prompts."}, addPrompts) },
	"slow":        func() *fixture { return newFixture(nil, addSlow) },
	"asking":      func() *fixture { return newFixture(nil, addAsking) },
	"secrets":     func() *fixture { return newFixture(&mcp.ServerOptions{Visible: onlyAlice}, addSecrets) },
	"legacy only": func() *fixture { return newFixture(&mcp.ServerOptions{Revisions: revision.All()[1:5]}, addPages) },
	"modern only": func() *fixture { return newFixture(&mcp.ServerOptions{Revisions: revision.All()[:1]}, addPages) },
	"cached": func() *fixture {
		return newFixture(&mcp.ServerOptions{CacheTTL: time.Minute, CachePublic: true}, addPages)
	},
}

func newFixture(o *mcp.ServerOptions, add ...func(*fixture)) *fixture {
	f := &fixture{server: mcp.NewServer(mcp.Implementation{Name: "fixture", Version: "1"}, o), events: map[string]func(string){}}
	for _, a := range add {
		a(f)
	}
	f.events["add"] = func(name string) { addEcho(f.server, name) }
	f.events["remove"] = func(name string) { f.server.RemoveTool(name) }
	f.events["add prompt"] = func(name string) {
		f.server.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.PromptRequest) (*mcp.PromptResult, error) { return nil, nil })
	}
	f.events["updated"] = f.server.ResourceUpdated
	return f
}

// must panics: a fixture that cannot be built is a bug of the test.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// addEcho adds a tool that answers with its arguments, byte for byte.
func addEcho(s *mcp.Server, name string) {
	must(s.AddTool(&mcp.Tool{Name: name}, func(_ context.Context, r *mcp.ToolRequest) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(string(r.Arguments))}}, nil
	}))
}

func addTools(f *fixture) {
	s := f.server
	addEcho(s, "echo")
	mcp.AddTool(s, &mcp.Tool{Name: "add", Title: "Adder", Description: "adds"}, func(_ context.Context, _ *mcp.ToolRequest, in addIn) (addOut, error) {
		return addOut{in.A + in.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.ToolRequest, struct{}) (string, error) {
		return "", errors.New("the disk is full")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "panic"}, func(context.Context, *mcp.ToolRequest, struct{}) (string, error) {
		panic("secret: do not tell")
	})
	must(s.AddTool(&mcp.Tool{Name: "liar", OutputSchema: mcp.JSON(`{"type":"object","required":["n"]}`)}, func(context.Context, *mcp.ToolRequest) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{Structured: mcp.JSON(`{"m":1}`)}, nil
	}))
	must(s.AddTool(&mcp.Tool{Name: "mute", OutputSchema: mcp.JSON(`{"type":"object"}`)}, func(context.Context, *mcp.ToolRequest) (*mcp.ToolResult, error) {
		return nil, nil
	}))
	mcp.AddTool(s, &mcp.Tool{Name: "media"}, func(context.Context, *mcp.ToolRequest, struct{}) ([]mcp.Content, error) {
		return []mcp.Content{mcp.Audio([]byte("la"), "audio/wav"), mcp.ResourceLink("file:///a", "a"), {Type: "hologram", Extra: mcp.JSON(`{"depth":3}`)}}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "chatty"}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
		r.Log(ctx, mcp.LogDebug, "", "details")
		r.Log(ctx, mcp.LogWarning, "disk", map[string]any{"free": 1})
		r.Progress(ctx, 1, 2, "half")
		r.Progress(ctx, 2, 2, "")
		return "done", nil
	})
}

func addPages(f *fixture) {
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		addEcho(f.server, name)
	}
}

func addResources(f *fixture) {
	s := f.server
	s.AddResource(&mcp.Resource{URI: "file:///a", Name: "a", MIMEType: "text/plain"}, func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextContents("", "text/plain", "hello")}, nil
	})
	s.AddResource(&mcp.Resource{URI: "file:///empty", Name: "empty"}, func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
		return nil, nil
	})
	s.AddTemplate(&mcp.ResourceTemplate{URITemplate: "user://{name}/{file}", Name: "files"}, func(_ context.Context, r *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
		if r.Vars["file"] == "none" {
			return nil, mcp.ResourceNotFound(r.URI)
		}
		return []mcp.ResourceContents{mcp.BlobContents("", "application/octet-stream", []byte(r.Vars["name"]+" "+r.Vars["file"]))}, nil
	}, mcp.Choices("ada", "alan", "grace"))
}

func addPrompts(f *fixture) {
	p := &mcp.Prompt{Name: "greet", Description: "greets", Arguments: []mcp.PromptArgument{
		{Name: "who", Required: true, Complete: mcp.Choices("Ada", "Alan", "Grace")}, {Name: "how"},
	}}
	f.server.AddPrompt(p, func(_ context.Context, r *mcp.PromptRequest) (*mcp.PromptResult, error) {
		return &mcp.PromptResult{Messages: []mcp.PromptMessage{mcp.UserMessage("Greet " + r.Arguments["who"])}}, nil
	})
	f.server.AddPrompt(&mcp.Prompt{Name: "broken"}, func(context.Context, *mcp.PromptRequest) (*mcp.PromptResult, error) {
		return nil, errors.New("no template")
	})
}

// addSlow adds a tool that waits until it is cancelled or released, and then
// still talks.
func addSlow(f *fixture) {
	release := make(chan string)
	f.events["release"] = func(arg string) { release <- arg }
	mcp.AddTool(f.server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
		r.Progress(ctx, 1, 0, "waiting")
		select {
		case s := <-release:
			return s, nil
		case <-ctx.Done():
			r.Progress(ctx, 2, 0, "too late")
			r.Log(ctx, mcp.LogEmergency, "", "too late")
			return "", context.Cause(ctx)
		}
	})
	addEcho(f.server, "echo")
}

func addAsking(f *fixture) {
	s := f.server
	name := mcp.JSON(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.ToolRequest, in struct {
		Topic string `json:"topic"`
	}) (string, error) {
		who, err := r.Elicit(ctx, "Who are you?", name)
		if err != nil {
			return "", err
		}
		if !who.Accepted() {
			return "nobody", nil
		}
		answer, err := r.Sample(ctx, mcp.SamplingParams{Messages: []mcp.SamplingMessage{mcp.UserText(in.Topic)}, MaxTokens: 10})
		if err != nil {
			return "", err
		}
		return string(who.Content) + " " + answer.Text(), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "both"}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
		form, roots := &mcp.Elicitation{Key: "form", Message: "Sure?"}, &mcp.RootsQuestion{Key: "roots"}
		if err := r.Ask(ctx, form, roots); err != nil {
			return "", err
		}
		return form.Result.Action + " " + roots.Result[0].URI, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "ask"}, func(ctx context.Context, r *mcp.PromptRequest) (*mcp.PromptResult, error) {
		roots, err := r.Roots(ctx)
		if err != nil {
			return nil, err
		}
		return &mcp.PromptResult{Messages: []mcp.PromptMessage{mcp.UserMessage(roots[0].URI)}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "ask:it", Name: "ask"}, func(ctx context.Context, r *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
		a, err := r.ElicitURL(ctx, "Log in", "https://example.com/login")
		if err != nil {
			return nil, err
		}
		return []mcp.ResourceContents{mcp.TextContents("", "", a.Action)}, nil
	})
}

func onlyAlice(_ context.Context, s *mcp.Session, _, name string) bool {
	return !strings.Contains(name, "secret") || s.Principal != nil && s.Principal.Subject == "alice"
}

func addSecrets(f *fixture) {
	s := f.server
	addEcho(s, "open")
	addEcho(s, "secret")
	read := func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextContents("", "", "x")}, nil
	}
	s.AddResource(&mcp.Resource{URI: "file:///secret", Name: "s"}, read)
	s.AddResource(&mcp.Resource{URI: "file:///open", Name: "o"}, read)
	s.AddTemplate(&mcp.ResourceTemplate{URITemplate: "secret://{x}", Name: "t"}, read, mcp.Choices("one"))
	s.AddPrompt(&mcp.Prompt{Name: "secret", Arguments: []mcp.PromptArgument{{Name: "a", Complete: mcp.Choices("one")}}},
		func(context.Context, *mcp.PromptRequest) (*mcp.PromptResult, error) { return nil, nil })
}

func TestFixturesAreComplete(t *testing.T) {
	for name, build := range fixtures {
		if f := build(); f.server == nil || len(f.events) < 4 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
