package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// replicas serves the calls of one client by turns, as a load balancer does.
func replicas(servers ...*mcp.Server) mcp.Handler {
	var turn atomic.Int64
	return mcp.HandlerFunc(func(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
		if x.Request.Method() != "tools/call" {
			return servers[0].Handle(ctx, x)
		}
		return servers[int(turn.Add(1)-1)%len(servers)].Handle(ctx, x)
	})
}

// Replicas that share a key serve each other's rounds; a new key may be put in
// front of an old one; without a common key the state is refused.
func TestStateKeys(t *testing.T) {
	a, b := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	server := func(keys ...[]byte) *mcp.Server {
		return newFixture(&mcp.ServerOptions{StateKeys: keys}, addAsking).server
	}
	o := &mcp.ClientOptions{
		Revision: revision.Latest(), Elicit: accept(`{"name":"Ada"}`),
		Sample: func(context.Context, *mcp.SamplingParams) (*mcp.SamplingResult, error) {
			return &mcp.SamplingResult{Content: mcp.SamplingBlock{mcp.Text("fine")}}, nil
		},
	}
	for name, c := range map[string]struct {
		handler mcp.Handler
		want    error
	}{
		"the same key":     {replicas(server(a), server(a)), nil},
		"a new key first":  {replicas(server(a, b), server(b, a)), nil},
		"no key in common": {replicas(server(a), server(b)), jsonrpc.NewError(jsonrpc.CodeInvalidParams, "")},
		"random keys":      {replicas(server(), server()), jsonrpc.NewError(jsonrpc.CodeInvalidParams, "")},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := mcp.Connect(t.Context(), mcp.InProcess(c.handler), o)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			got, err := mcp.CallTool[string](t.Context(), client, "ask", map[string]string{"topic": "go"})
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if c.want == nil && got != `{"name":"Ada"} fine` {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestStateKeysOfAnotherSize(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a short key was taken")
		}
	}()
	mcp.NewServer(mcp.Implementation{}, &mcp.ServerOptions{StateKeys: [][]byte{{1, 2, 3}}})
}
