package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// addTasks adds the tools of the tasks scenarios.
func addTasks(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Greets at once"},
		func(_ context.Context, _ *mcp.ToolRequest, in struct {
			Name string `json:"name"`
		}) (string, error) {
			return "Hello, " + in.Name + "!", nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "slow_compute", Description: "Takes its time", Task: mcp.TaskOptional},
		func(ctx context.Context, _ *mcp.ToolRequest, in struct {
			Seconds float64 `json:"seconds"`
			Label   string  `json:"label,omitzero"`
		}) (string, error) {
			return fmt.Sprintf("computed %s", in.Label), pause(ctx, time.Duration(in.Seconds*float64(time.Second)))
		})
	mcp.AddTool(s, &mcp.Tool{Name: "failing_job", Description: "Fails after a while", Task: mcp.TaskRequired},
		func(ctx context.Context, _ *mcp.ToolRequest, _ none) (string, error) {
			if err := pause(ctx, time.Second); err != nil {
				return "", err
			}
			return "", errors.New("the job failed")
		})
	mcp.AddTool(s, &mcp.Tool{Name: "protocol_error_job", Description: "Ends in a protocol error", Task: mcp.TaskOptional},
		func(context.Context, *mcp.ToolRequest, none) (string, error) {
			return "", jsonrpc.NewError(jsonrpc.CodeInternal, "the job broke")
		})
	mcp.AddTool(s, &mcp.Tool{Name: "confirm_delete", Description: "Asks before it deletes", Task: mcp.TaskOptional},
		func(ctx context.Context, r *mcp.ToolRequest, in struct {
			Filename string `json:"filename"`
		}) (string, error) {
			q := form("", "Delete "+in.Filename+"?", "confirm", "boolean")
			if err := r.Ask(ctx, q); err != nil {
				return "", err
			}
			return "deleted " + in.Filename, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "multi_input", Description: "Asks two things at once", Task: mcp.TaskOptional},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
			err := r.Ask(ctx, form("", "Your name?", "name", "string"), form("", "Sure?", "confirm", "boolean"))
			return "both answered", err
		})
	mcp.AddTool(s, &mcp.Tool{Name: "test_tool_with_task", Description: "Asks, then runs as a task", Task: mcp.TaskRequired, TaskLate: true},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
			q := form("user_name", "Your name?", "name", "string")
			if err := r.Ask(ctx, q); err != nil {
				return "", err
			}
			if err := r.Detach(ctx); err != nil {
				return "", err
			}
			return "Done for " + string(q.Result.Content), nil
		})
}
