package mcp_test

import (
	"context"
	"testing"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// connect serves s in memory and connects a client to it.
func connect(t *testing.T, s *mcp.Server, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	ctx := t.Context()
	served := make(chan error, 1)
	c, err := mcp.Connect(ctx, mcp.StreamTransport(func(context.Context) (jsonrpc.Stream, error) {
		a, b := jsonrpc.Pipe()
		go func() { served <- mcp.ServeStream(context.WithoutCancel(ctx), s, b, nil) }()
		return a, nil
	}), o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return c
}

type addIn struct {
	A int64 `json:"a" jsonschema:"the first number"`
	B int64 `json:"b" jsonschema:"the second number"`
}

type addOut struct {
	Sum int64 `json:"sum"`
}

func TestEveryRevisionCallsATool(t *testing.T) {
	for _, r := range revision.All() {
		t.Run(r.Name, func(t *testing.T) {
			s := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1"}, nil)
			mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "adds"}, func(_ context.Context, _ *mcp.ToolRequest, in addIn) (addOut, error) {
				return addOut{in.A + in.B}, nil
			})
			c := connect(t, s, &mcp.ClientOptions{Revision: r})
			if c.Revision() != r {
				t.Fatalf("revision %s, want %s", c.Revision(), r)
			}
			got, err := mcp.CallTool[addOut](t.Context(), c, "add", addIn{9007199254740993, 4})
			if err != nil {
				t.Fatal(err)
			}
			if want := (addOut{9007199254740997}); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			tools, err := mcp.Collect(c.Tools(t.Context()))
			if err != nil || len(tools) != 1 || tools[0].Name != "add" {
				t.Errorf("tools: %v %v", tools, err)
			}
		})
	}
}

func TestOneHandlerAsksInBothEras(t *testing.T) {
	for _, r := range revision.All() {
		if !r.Rules.Elicitation {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			s := mcp.NewServer(mcp.Implementation{Name: "asker", Version: "1"}, nil)
			mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.ToolRequest, _ struct{}) (string, error) {
				first, err := req.Elicit(ctx, "Who are you?", mcp.JSON(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`))
				if err != nil {
					return "", err
				}
				roots, err := req.Roots(ctx)
				if err != nil {
					return "", err
				}
				var who struct {
					Name string `json:"name"`
				}
				if err := first.Decode(&who); err != nil {
					return "", err
				}
				return who.Name + " in " + roots[0].URI, nil
			})
			c := connect(t, s, &mcp.ClientOptions{
				Revision: r,
				Elicit: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: mcp.JSON(`{"name":"Ada"}`)}, nil
				},
				Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///home"}}, nil },
			})
			got, err := mcp.CallTool[string](t.Context(), c, "ask", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got != "Ada in file:///home" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestDefaultIsModern(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "x", Version: "1"}, nil)
	c := connect(t, s, nil)
	if c.Revision() != revision.Latest() || c.Server().Name != "x" {
		t.Errorf("got %s %q", c.Revision(), c.Server().Name)
	}
}
