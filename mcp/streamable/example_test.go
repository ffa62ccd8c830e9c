package streamable_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"mcpv/mcp"
	"mcpv/mcp/streamable"
)

// A server joins the routes of an existing mux. One endpoint speaks every
// revision of both eras.
func ExampleNewHandler() {
	s := mcp.NewServer(mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "stock"}, func(context.Context, *mcp.ToolRequest, struct{}) (string, error) { return "42 left", nil })

	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	handler := streamable.NewHandler(s, nil)
	mux.Handle("/mcp", handler)
	web := httptest.NewServer(mux)
	defer web.Close()
	defer handler.Close()

	ctx := context.Background()
	c, err := mcp.Connect(ctx, &streamable.Transport{URL: web.URL + "/mcp"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	text, err := mcp.CallTool[string](ctx, c, "stock", nil)
	fmt.Println(text, err)
	// Output: 42 left <nil>
}
