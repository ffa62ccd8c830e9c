package host_test

import (
	"context"
	"fmt"

	"mcpv/mcp"
	"mcpv/mcp/host"
)

// An application holds several servers and uses them by name. Targets may also
// be URLs, commands and configuration entries.
func Example() {
	server := func(name string) *mcp.Server {
		s := mcp.NewServer(mcp.Implementation{Name: name, Version: "1.0.0"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "whoami"}, func(context.Context, *mcp.ToolRequest, struct{}) (string, error) {
			return "I am " + name, nil
		})
		return s
	}
	h := host.New(nil)
	defer h.Close()
	for _, name := range []string{"calendar", "mail"} {
		if err := h.Add(name, server(name)); err != nil {
			fmt.Println(err)
			return
		}
	}
	ctx := context.Background()
	for _, name := range []string{"calendar", "mail"} {
		c, err := h.Client(ctx, name)
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := mcp.CallTool[string](ctx, c, "whoami", nil)
		fmt.Println(text, err)
	}
	for _, s := range h.Status() {
		fmt.Println(s.Name, s.State)
	}
	// Output:
	// I am calendar <nil>
	// I am mail <nil>
	// calendar ready
	// mail ready
}
