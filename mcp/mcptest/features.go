package mcptest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

var features = []feature{
	{"tools/list", always, func(t *testing.T, e *env) {
		got := names(t, e.Tools(t.Context()), func(t *mcp.Tool) string { return t.Name })
		if len(got) < 39 || got[0] != "echo" || !slices.Contains(got, "filler_24") {
			t.Errorf("tools: %v", got)
		}
	}, nil},
	{"tools/call", always, func(t *testing.T, e *env) {
		got, err := mcp.CallTool[EchoOut](t.Context(), e.Client, "echo", EchoIn{"héllo \u2028 ☃"})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "echo", got, EchoOut{"héllo \u2028 ☃", 14})
	}, nil},
	{"tools/call large", always, func(t *testing.T, e *env) {
		message := big(256 << 10)
		got, err := mcp.CallTool[EchoOut](t.Context(), e.Client, "echo", EchoIn{message})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "the same text", got.Echo == message, true)
	}, nil},
	{"tools/call concurrently", always, func(t *testing.T, e *env) {
		var running sync.WaitGroup
		for i := range 32 {
			running.Go(func() {
				message := fmt.Sprint("call ", i)
				got, err := mcp.CallTool[EchoOut](t.Context(), e.Client, "echo", EchoIn{message})
				if err != nil || got.Echo != message {
					t.Errorf("got %v %v, want %q", got, err, message)
				}
			})
		}
		running.Wait()
	}, nil},
	{"tools/call content", func(r revision.Rules) bool { return r.Pagination }, func(t *testing.T, e *env) {
		r, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: "contents"})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "blocks", len(r.Content), 5)
		want(t, "text", r.Content[0].String(), "hello")
		audio := "text"
		if e.rules.Audio {
			audio = "audio"
		}
		want(t, "audio", r.Content[2].Type, audio)
		link := "text"
		if e.rules.ResourceLinks {
			link = "resource_link"
		}
		want(t, "link", r.Content[4].Type, link)
	}, func(t *testing.T, e *env) { // the dialect has no content blocks: they come as a value
		r, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: "contents"})
		if err != nil || !strings.Contains(r.Text(), "hello") {
			t.Errorf("got %v %v", r, err)
		}
	}},
	{"tools/call failing", always, func(t *testing.T, e *env) {
		r, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: "fail"})
		if err != nil {
			t.Fatal(err)
		}
		if !r.IsError || !strings.Contains(r.Text(), "it failed") {
			t.Errorf("got %v %q", r.IsError, r.Text())
		}
	}, nil},
	{"tools/call invalid arguments", always, func(t *testing.T, e *env) {
		r, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: "echo", Arguments: map[string]any{"message": 1}})
		if err != nil {
			t.Fatal(err)
		}
		if !r.IsError || !strings.Contains(r.Text(), "message") {
			t.Errorf("got %v %q", r.IsError, r.Text())
		}
	}, nil},
	{"tools/call unknown", always, func(t *testing.T, e *env) {
		_, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: "nosuch"})
		var rpc *jsonrpc.Error
		if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("got %v", err)
		}
	}, nil},
	{"a panic", always, func(t *testing.T, e *env) {
		_, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: "panic"})
		var rpc *jsonrpc.Error
		if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInternal {
			t.Errorf("got %v", err)
		}
		e.text(t, "filler_00", nil) // others are unharmed
	}, nil},
	{"progress", func(r revision.Rules) bool { return r.Pagination }, func(t *testing.T, e *env) {
		var got []float64
		r, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: "progress", Arguments: map[string]int{"steps": 5},
			Progress: func(p mcp.Progress) {
				got = append(got, p.Progress)
				want(t, "total", p.Total, 5)
				want(t, "message", p.Message != "", e.rules.ProgressMessage)
			}})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "result", r.Text(), "done")
		want(t, "progress", fmt.Sprint(got), "[1 2 3 4 5]")
	}, func(t *testing.T, e *env) {
		r, err := e.CallTool(t.Context(), &mcp.ToolCall{Name: "progress", Progress: func(mcp.Progress) { t.Error("told of progress") }})
		if err != nil || r.Text() != "done" {
			t.Errorf("got %v %v", r, err)
		}
	}},
	{"cancellation", func(r revision.Rules) bool { return r.Pagination }, func(t *testing.T, e *env) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("changed my mind")
		name := unique(e, "wait")
		_, err := e.CallTool(ctx, &mcp.ToolCall{Name: "wait", Arguments: map[string]string{"name": name},
			Progress: func(mcp.Progress) { cancel(why) }})
		if !errors.Is(err, why) {
			t.Errorf("got %v, want %v", err, why)
		}
		want(t, "still there", e.text(t, "filler_01", nil), "filler_01")
	}, func(t *testing.T, e *env) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.CallTool(ctx, &mcp.ToolCall{Name: "wait", Arguments: map[string]string{"name": "x"}}); err == nil {
			t.Error("a cancelled call answered")
		}
	}},
	{"logging", func(r revision.Rules) bool { return r.Pagination }, func(t *testing.T, e *env) {
		if err := e.SetLogLevel(t.Context(), mcp.LogError); err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		e.logs = nil
		e.mu.Unlock()
		want(t, "result", e.text(t, "log", nil), "logged")
		e.await(t, "log")
		e.mu.Lock()
		defer e.mu.Unlock()
		want(t, "levels", fmt.Sprint(e.logs), "[error critical alert emergency]")
	}, func(t *testing.T, e *env) { want(t, "result", e.text(t, "log", nil), "logged") }},
	{"resources", always, func(t *testing.T, e *env) {
		got := names(t, e.Resources(t.Context()), func(r *mcp.Resource) string { return r.URI })
		if !slices.Contains(got, "test://text") || !slices.Contains(got, "test://blob") {
			t.Errorf("resources: %v", got)
		}
		c, err := e.ReadResource(t.Context(), "test://text")
		if err != nil || len(c) != 1 {
			t.Fatalf("read: %v %v", c, err)
		}
		b, err := c[0].Bytes()
		if err != nil || !strings.Contains(string(b), "some text") {
			t.Errorf("text: %q %v", b, err)
		}
	}, nil},
	{"resources unknown", always, func(t *testing.T, e *env) {
		_, err := e.ReadResource(t.Context(), "test://nosuch")
		var rpc *jsonrpc.Error
		if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams && rpc.Code != mcp.CodeResourceNotFound {
			t.Errorf("got %v", err)
		}
	}, nil},
	{"resource templates", always, func(t *testing.T, e *env) {
		c, err := e.ReadResource(t.Context(), "test://user/42/name")
		if err != nil || len(c) != 1 {
			t.Fatalf("read: %v %v", c, err)
		}
		b, _ := c[0].Bytes()
		if !strings.Contains(string(b), "user 42") {
			t.Errorf("got %q", b)
		}
	}, nil},
	{"subscriptions", func(r revision.Rules) bool { return r.Subscribe || r.Listen }, func(t *testing.T, e *env) {
		if err := e.Subscribe(t.Context(), "test://text"); err != nil {
			t.Fatal(err)
		}
		e.text(t, "touch", map[string]string{"uri": "test://text"})
		e.await(t, "test://text")
		if err := e.Unsubscribe(t.Context(), "test://text"); err != nil {
			t.Error(err)
		}
	}, unsupported(func(ctx context.Context, e *env) error { return e.Subscribe(ctx, "test://text") })},
	{"list changed", func(r revision.Rules) bool { return r.Pagination }, func(t *testing.T, e *env) {
		name := unique(e, "added")
		e.text(t, "add_tool", map[string]string{"name": name})
		e.await(t, "tools")
		got := names(t, e.Tools(t.Context()), func(t *mcp.Tool) string { return t.Name })
		want(t, "listed", slices.Contains(got, name), true)
	}, func(t *testing.T, e *env) {
		name := unique(e, "added")
		e.text(t, "add_tool", map[string]string{"name": name})
		got := names(t, e.Tools(t.Context()), func(t *mcp.Tool) string { return t.Name })
		want(t, "listed", slices.Contains(got, name), true)
	}},
	{"prompts", func(r revision.Rules) bool { return r.Pagination }, func(t *testing.T, e *env) {
		got := names(t, e.Prompts(t.Context()), func(p *mcp.Prompt) string { return p.Name })
		want(t, "prompts", fmt.Sprint(got), "[greet]")
		p, err := e.GetPrompt(t.Context(), "greet", map[string]string{"who": "Ada"})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "message", p.Messages[0].Content.String(), "Greet Ada")
		if _, err := e.GetPrompt(t.Context(), "greet", nil); err == nil {
			t.Error("a missing argument was accepted")
		}
	}, unsupported(func(ctx context.Context, e *env) error {
		_, err := e.GetPrompt(ctx, "greet", nil)
		return err
	})},
	{"completion", func(r revision.Rules) bool { return r.Pagination }, func(t *testing.T, e *env) {
		c, err := e.CompletePrompt(t.Context(), "greet", "who", "A", nil)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "prompt", fmt.Sprint(c.Values), "[Ada Alan]")
		c, err = e.CompleteTemplate(t.Context(), "test://user/{id}/name", "id", "1", nil)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "template", fmt.Sprint(c.Values), "[1 12]")
	}, unsupported(func(ctx context.Context, e *env) error {
		_, err := e.CompletePrompt(ctx, "greet", "who", "A", nil)
		return err
	})},
	{"elicitation", func(r revision.Rules) bool { return r.Elicitation && asks(r) }, func(t *testing.T, e *env) {
		want(t, "answer", e.text(t, "ask", nil), "Ada likes green")
	}, failsWith("ask")},
	{"elicitation url", func(r revision.Rules) bool { return r.URLElicitation && asks(r) }, func(t *testing.T, e *env) {
		want(t, "answer", e.text(t, "ask_url", nil), "accept")
	}, failsWith("ask_url")},
	{"sampling", asks, func(t *testing.T, e *env) {
		want(t, "answer", e.text(t, "think", nil), "four")
	}, failsWith("think")},
	{"roots", asks, func(t *testing.T, e *env) {
		want(t, "answer", e.text(t, "roots", nil), "file:///a file:///b")
	}, failsWith("roots")},
	{"tasks", func(r revision.Rules) bool { return r.CoreTasks || r.TasksExtension }, func(t *testing.T, e *env) {
		task, err := e.CallToolTask(t.Context(), &mcp.ToolCall{Name: "work"})
		if err != nil {
			t.Fatal(err)
		}
		if task.ID == "" {
			t.Fatalf("answered at once: %+v", task)
		}
		r, err := e.TaskResult(t.Context(), task.ID)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "result", r.Text(), "worked in 2 roots")
		if task, err = e.GetTask(t.Context(), task.ID); err != nil || task.Status != mcp.TaskCompleted {
			t.Errorf("afterwards: %+v %v", task, err)
		}
		if _, err := e.GetTask(t.Context(), "nosuch"); err == nil {
			t.Error("found a task that nobody made")
		}
	}, func(t *testing.T, e *env) { // known here or not, the work is done
		task, err := e.CallToolTask(t.Context(), &mcp.ToolCall{Name: "work", Arguments: map[string]bool{"quietly": true}})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "a task", task.ID, "")
		want(t, "result", task.Result.Text(), "worked")
		unsupported(func(ctx context.Context, e *env) error {
			_, err := e.GetTask(ctx, "nosuch")
			return err
		})(t, e)
	}},
	{"ping", always, func(t *testing.T, e *env) {
		if err := e.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}, nil},
	{"unknown method", always, func(t *testing.T, e *env) {
		_, err := e.Request(t.Context(), "vendor/nosuch", nil)
		var rpc *jsonrpc.Error
		if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeMethodNotFound && rpc.Code != mcp.CodeHeaderMismatch {
			t.Errorf("got %v", err) // over HTTP, classic has nothing but its methods to be known by
		}
	}, nil},
}
