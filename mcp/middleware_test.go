package mcp_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// Middleware sees frames of every method and revision, the first outermost, and
// may change what goes in and what comes out.
func TestMiddleware(t *testing.T) {
	for _, r := range revision.All() {
		t.Run(r.Name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			note := func(name string) mcp.Middleware {
				return func(next mcp.Handler) mcp.Handler {
					return mcp.HandlerFunc(func(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
						mu.Lock()
						seen = append(seen, name+" "+x.Request.Method())
						mu.Unlock()
						return next.Handle(ctx, x)
					})
				}
			}
			rename := func(next mcp.Handler) mcp.Handler {
				return mcp.HandlerFunc(func(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
					if x.Request.Method() != "tools/call" {
						return next.Handle(ctx, x)
					}
					c := *x
					c.Request = x.Request.WithBody(rawjson.Set(x.Request.Params(), []byte(`"echo"`), "name"))
					answer, err := next.Handle(ctx, &c)
					if err != nil {
						return nil, err
					}
					return answer.WithBody(rawjson.Set(answer.Result(), []byte(`"1"`), "_meta", "cost")), nil
				})
			}
			s := mcp.NewServer(mcp.Implementation{Name: "m", Version: "1"}, &mcp.ServerOptions{Middleware: []mcp.Middleware{note("outer"), note("inner"), rename}})
			addEcho(s, "echo")
			c := connect(t, s, &mcp.ClientOptions{Revision: r})
			got, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "alias", Arguments: mcp.JSON(`{"a":1}`)})
			if err != nil || got.Text() != `{"a":1}` {
				t.Fatalf("%+v %v", got, err)
			}
			if r != revision.Classic && string(rawjson.Get(got.Meta, "cost")) != `"1"` {
				t.Errorf("meta %s", got.Meta)
			}
			mu.Lock()
			defer mu.Unlock()
			seen = slices.DeleteFunc(seen, func(s string) bool { return strings.Contains(s, "notifications/") })
			want := []string{"outer server/discover", "inner server/discover", "outer tools/call", "inner tools/call"}
			if !slices.Equal(seen, want) {
				t.Errorf("seen %q", seen)
			}
		})
	}
}

func TestMiddlewareThatFails(t *testing.T) {
	broken := func(mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(_ context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
			switch x.Request.Method() {
			case "tools/call":
				panic("secret")
			case "tools/list":
				return nil, nil
			case "prompts/list":
				return nil, jsonrpc.NewError(-32000, "over quota").WithData([]byte(`{"left":0}`))
			case "prompts/get":
				return jsonrpc.NewRawErrorResponse(x.Request.ID(), []byte(`{"code":-7,"message":"theirs","x":1}`)), nil
			case "resources/list":
				return nil, errors.New("plain")
			}
			return jsonrpc.NewResult(x.Request.ID(), []byte(`{"capabilities":{},"supportedVersions":["2026-07-28"]}`)), nil
		})
	}
	c := connect(t, mcp.NewServer(mcp.Implementation{}, &mcp.ServerOptions{Middleware: []mcp.Middleware{broken}}), nil)
	for method, code := range map[string]int{"tools/call": -32603, "tools/list": -32603, "prompts/list": -32000, "prompts/get": -7, "resources/list": -32603} {
		var e *jsonrpc.Error
		if _, err := c.Request(t.Context(), method, nil); !errors.As(err, &e) || e.Code != code || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestToolMiddleware(t *testing.T) {
	wrap := func(name string) func(mcp.ToolHandler) mcp.ToolHandler {
		return func(next mcp.ToolHandler) mcp.ToolHandler {
			return func(ctx context.Context, r *mcp.ToolRequest) (*mcp.ToolResult, error) {
				if name == "outer" && string(r.Arguments) == `{"deny":true}` {
					return mcp.ErrorResult("denied"), nil
				}
				result, err := next(ctx, r)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				result.Content = append(result.Content, mcp.Text(name+" "+r.Name))
				return result, nil
			}
		}
	}
	s := mcp.NewServer(mcp.Implementation{}, &mcp.ServerOptions{ToolMiddleware: []func(mcp.ToolHandler) mcp.ToolHandler{wrap("outer"), wrap("inner")}})
	addEcho(s, "echo")
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.ToolRequest, struct{}) (string, error) { return "", errors.New("full") })
	c := connect(t, s, nil)
	for _, k := range []struct {
		tool, args, want string
		failed           bool
	}{
		{"echo", `{}`, "{}\ninner echo\nouter echo", false},
		{"echo", `{"deny":true}`, "denied", true},
		{"fail", `{}`, "outer: inner: full", true},
	} {
		r, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: k.tool, Arguments: mcp.JSON(k.args)})
		if err != nil || r.Text() != k.want || r.IsError != k.failed {
			t.Errorf("%s %s: %+v %v", k.tool, k.args, r, err)
		}
	}
}

// Cursors are easily made up; what they name is not kept for long.
func TestMadeUpCursorsCostNothing(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{}, nil)
	addEcho(s, "echo")
	c := connect(t, s, nil)
	for i := range 1000 {
		cursor := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "after:%d", i))
		if _, err := c.Request(t.Context(), "tools/list", map[string]string{"cursor": cursor}); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.CachedPages(); n > 64 {
		t.Errorf("%d pages are kept", n)
	}
}

// What is chained in front of a server leaves it a Listener, with its revisions
// and its logger.
func TestChainKeepsTheServer(t *testing.T) {
	pass := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
			return next.Handle(ctx, x)
		})
	}
	var log strings.Builder
	s := mcp.NewServer(mcp.Implementation{Name: "m", Version: "1"}, &mcp.ServerOptions{
		Revisions: []*revision.Revision{revision.V2025_11_25}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	s.AddResource(&mcp.Resource{URI: "x://y", Name: "y"}, func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
		return nil, nil
	})
	must(s.AddTool(&mcp.Tool{Name: "boom"}, func(context.Context, *mcp.ToolRequest) (*mcp.ToolResult, error) { panic("boom") }))
	updated := make(chan string, 1)
	c, err := mcp.Connect(t.Context(), mcp.InProcess(mcp.Chain(mcp.Chain(s, pass), pass, pass)), &mcp.ClientOptions{
		OnResourceUpdated: func(uri string) { updated <- uri },
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Revision() != revision.V2025_11_25 {
		t.Errorf("speaks %s", c.Revision())
	}
	if err := c.Subscribe(t.Context(), "x://y"); err != nil {
		t.Fatal(err)
	}
	s.ResourceUpdated("x://y")
	if got := <-updated; got != "x://y" {
		t.Errorf("updated %s", got)
	}
	if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "boom"}); !errors.Is(err, jsonrpc.NewError(jsonrpc.CodeInternal, "")) {
		t.Errorf("a panic was answered with %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "boom") {
		t.Errorf("the panic was not logged: %q", log.String())
	}
}

// A middleware that answers by itself is understood in every revision.
func TestMiddlewareAnswers(t *testing.T) {
	for _, r := range revision.All() {
		cached := func(next mcp.Handler) mcp.Handler {
			return mcp.HandlerFunc(func(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
				if x.Request.Method() != "tools/call" {
					return next.Handle(ctx, x)
				}
				answer, err := x.Answer(&mcp.ToolResult{Content: []mcp.Content{mcp.Text("cached")}})
				if err == nil && x.Session.Revision.Rules.ResultType != (answer.Get("resultType") != nil) {
					t.Errorf("%s: answered %s", x.Session.Revision, answer.Bytes())
				}
				return answer, err
			})
		}
		s := mcp.NewServer(mcp.Implementation{Name: "m", Version: "1"}, &mcp.ServerOptions{Middleware: []mcp.Middleware{cached}})
		addEcho(s, "echo")
		c := connect(t, s, &mcp.ClientOptions{Revision: r})
		got, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "echo"})
		if err != nil || got.Text() != "cached" {
			t.Errorf("%s: %+v %v", r, got, err)
		}
	}
	x := &mcp.Exchange{Request: jsonrpc.NewRequest(jsonrpc.IntID(1), "m", nil), Session: mcp.LegacySession(revision.LatestLegacy(), nil)}
	for _, bad := range []any{mcp.JSON(`{`), []int{1}, make(chan int)} {
		if m, err := x.Answer(bad); err == nil {
			t.Errorf("%v became %s", bad, m.Bytes())
		}
	}
	if m, err := x.Answer(nil); err != nil || string(m.Result()) != "{}" {
		t.Errorf("nil became %v, %v", m, err)
	}
}

// A question that the client cannot be asked is the same error in both eras.
func TestUnsupportedQuestions(t *testing.T) {
	for _, r := range []*revision.Revision{revision.Latest(), revision.LatestLegacy()} {
		s := mcp.NewServer(mcp.Implementation{Name: "m", Version: "1"}, nil)
		var asked [3]error
		must(s.AddTool(&mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.ToolRequest) (*mcp.ToolResult, error) {
			_, asked[0] = r.Elicit(ctx, "?", nil)
			_, asked[1] = r.Sample(ctx, mcp.SamplingParams{})
			_, asked[2] = r.Roots(ctx)
			return nil, nil
		}))
		c := connect(t, s, &mcp.ClientOptions{Revision: r})
		if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "ask"}); err != nil {
			t.Error(err)
		}
		for i, err := range asked {
			if !errors.Is(err, mcp.ErrUnsupported) {
				t.Errorf("%s: question %d: %v", r, i, err)
			}
		}
	}
}
