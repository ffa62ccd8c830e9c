package mcp_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// TestCancelledAtOnce holds that a cancellation finds its request even when it
// is sent right behind it: nobody would ever end the call otherwise.
func TestCancelledAtOnce(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
	ended := make(chan error, 1)
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.ToolRequest, _ struct{}) (string, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", context.Cause(ctx)
	})
	client, server := jsonrpc.Pipe()
	served := make(chan error, 1)
	go func() { served <- mcp.ServeStream(t.Context(), s, server, nil) }()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for {
			if _, err := client.Read(); err != nil {
				return
			}
		}
	}()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for i := range 500 {
		err := client.Write(
			fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait","arguments":{},%s}}`, i, meta),
			fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,%s}}`, i, meta),
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != mcp.ErrCancelled {
			t.Fatalf("call %d ended with %v, want %v", i, err, mcp.ErrCancelled)
		}
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	<-drained
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestListeningEndsWithTheClient holds that a server on a pipe does not linger
// for a subscription, which has no end of its own, when its client has gone.
func TestListeningEndsWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
		near, far := jsonrpc.Pipe()
		stream := &halfPipe{Stream: far, end: make(chan struct{}), fail: io.EOF}
		served := make(chan error)
		go func() { served <- mcp.ServeStream(t.Context(), s, stream, &mcp.StreamOptions{Linger: time.Hour}) }()
		p := &peer{t, near}
		p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		p.want("notifications/subscriptions/acknowledged")
		start := time.Now()
		close(stream.end)
		p.want("notifications/cancelled")
		if m := p.next(); m.ID() != jsonrpc.IntID(1) || m.Err() != nil {
			t.Errorf("got %s, want the result", m.Bytes())
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("lingered for %v", d)
		}
	})
}
