package streamable_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"mcpv/mcp"
	"mcpv/mcp/streamable"
	"mcpv/revision"
)

// BenchmarkClient is a tool call from the client to the server and back, over a
// real connection.
func BenchmarkClient(b *testing.B) {
	s := mcp.NewServer(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	type in struct {
		Message string `json:"message"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.ToolRequest, in in) (string, error) {
		return in.Message, nil
	})
	h := streamable.NewHandler(s, nil)
	hs := httptest.NewServer(h)
	defer hs.Close()
	defer h.Close()
	for _, r := range []*revision.Revision{revision.LatestLegacy(), revision.Latest()} {
		b.Run(r.Era.String(), func(b *testing.B) {
			c, err := mcp.Connect(b.Context(), &streamable.Transport{URL: hs.URL, Client: hs.Client(), NoStream: true}, &mcp.ClientOptions{Revision: r})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			b.ReportAllocs()
			for b.Loop() {
				got, err := c.CallTool(b.Context(), &mcp.ToolCall{Name: "echo", Arguments: in{"hello"}})
				if err != nil || got.Text() != "hello" {
					b.Fatal(got, err)
				}
			}
		})
	}
}
