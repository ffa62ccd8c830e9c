package mcp_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// Clients of every revision use one server at once while its features come and
// go. Every answer is the caller's own.
func TestEverythingAtOnce(t *testing.T) {
	f := newFixture(nil, addTools, addResources, addPrompts)
	s := f.server
	var clients []*mcp.Client
	for _, r := range revision.All() {
		clients = append(clients, connect(t, s, &mcp.ClientOptions{Revision: r, OnToolsChanged: func() {}, OnResourceUpdated: func(string) {}, OnLog: func(*mcp.LogMessage) {}}))
	}
	done := make(chan struct{})
	var churning sync.WaitGroup
	churning.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			name := fmt.Sprint("extra", i%7)
			addEcho(s, name)
			f.events["add prompt"](name)
			s.ResourceUpdated("file:///a")
			s.RemoveTool(name)
			s.RemovePrompt(name)
		}
	})
	var users sync.WaitGroup
	for g := range 32 {
		users.Go(func() {
			c := clients[g%len(clients)]
			for i := range 25 {
				if err := useSomehow(t.Context(), c, fmt.Sprintf("%d/%d", g, i)); err != nil {
					t.Errorf("%s: %v", c.Revision(), err)
				}
			}
		})
	}
	users.Wait()
	close(done)
	churning.Wait()
}

// useSomehow does one thing with a client and checks the answer.
func useSomehow(ctx context.Context, c *mcp.Client, nonce string) error {
	classic := c.Revision() == revision.Classic
	switch n := rand.IntN(9); {
	case n == 0:
		_, err := mcp.Collect(c.Tools(ctx))
		return err
	case n == 1 && !classic:
		r, err := c.ReadResource(ctx, "user://ada/"+nonce[:1])
		if err == nil && len(r) != 1 {
			return fmt.Errorf("contents %v", r)
		}
		return err
	case n == 2 && !classic:
		r, err := c.GetPrompt(ctx, "greet", map[string]string{"who": nonce})
		if err == nil && r.Messages[0].Content.String() != "Greet "+nonce {
			return fmt.Errorf("prompt %v", r)
		}
		return err
	case n == 3:
		return c.Ping(ctx)
	case n == 4 && !classic:
		uri := "user://ada/" + strings.ReplaceAll(nonce, "/", "-")
		if err := c.Subscribe(ctx, uri); err != nil {
			return err
		}
		return c.Unsubscribe(ctx, uri)
	case n == 5:
		ctx, cancel := context.WithCancel(ctx)
		go cancel()
		_, _ = c.CallTool(ctx, &mcp.ToolCall{Name: "echo"}) // ends either way
		return nil
	case n == 6:
		_, err := c.CallTool(ctx, &mcp.ToolCall{Name: "chatty", Progress: func(mcp.Progress) {}})
		return err
	case n == 7:
		_, err := c.Request(ctx, "prompts/get", map[string]string{"name": "extra1"}) // may be there
		if e := (*jsonrpc.Error)(nil); err != nil && !asError(err, &e) && !classic {
			return err
		}
		return nil
	}
	r, err := c.CallTool(ctx, &mcp.ToolCall{Name: "echo", Arguments: map[string]string{"nonce": nonce}})
	if err == nil && r.Text() != fmt.Sprintf(`{"nonce":%q}`, nonce) {
		return fmt.Errorf("answer %q for %s", r.Text(), nonce)
	}
	return err
}
