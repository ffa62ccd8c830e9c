package main

import (
	"context"
	"sync"
	"time"

	"mcpv/mcp"
	"mcpv/mcp/streamable"
)

// pause waits a moment, as the suite wants notifications apart.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// addConversation adds the tools that tell or ask while they run.
func addConversation(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "test_tool_with_progress", Description: "Reports progress"},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
			for _, p := range []float64{0, 50, 100} {
				r.Progress(ctx, p, 100, "working")
				if err := pause(ctx, 50*time.Millisecond); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "test_tool_with_logging", Description: "Logs"},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
			for _, m := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				r.Log(ctx, mcp.LogInfo, "", m)
				if err := pause(ctx, 50*time.Millisecond); err != nil {
					return "", err
				}
			}
			return "logged", nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "test_logging_tool", Description: "Logs, if asked to"},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
			r.Log(ctx, mcp.LogInfo, "", "a message")
			return "logged", nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "test_sampling", Description: "Asks the model"},
		func(ctx context.Context, r *mcp.ToolRequest, in struct {
			Prompt string `json:"prompt"`
		}) (string, error) {
			a, err := r.Sample(ctx, mcp.SamplingParams{Messages: []mcp.SamplingMessage{mcp.UserText(in.Prompt)}, MaxTokens: 100})
			if err != nil {
				return "", err
			}
			return "LLM response: " + a.Text(), nil
		})
	elicit(s, "test_elicitation", `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`)
	elicit(s, "test_elicitation_sep1034_defaults", `{"type":"object","properties":{`+
		`"name":{"type":"string","description":"Name","default":"John Doe"},"age":{"type":"integer","description":"Age","default":30},`+
		`"score":{"type":"number","description":"Score","default":95.5},"status":{"type":"string","description":"Status","enum":["active","inactive","pending"],"default":"active"},`+
		`"verified":{"type":"boolean","description":"Verified","default":true}},"required":[]}`)
	elicit(s, "test_elicitation_sep1330_enums", `{"type":"object","properties":{`+
		`"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},`+
		`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"}]},`+
		`"legacyEnum":{"type":"string","enum":["opt1","opt2"],"enumNames":["Option One","Option Two"]},`+
		`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},`+
		`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"}]}}},"required":[]}`)
	mcp.AddTool(s, &mcp.Tool{Name: "test_reconnection", Description: "Closes its stream and answers on the next"},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
			streamable.CloseStream(ctx, 100*time.Millisecond)
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return "", err
			}
			return "reconnected", nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "test_missing_capability", Description: "Needs sampling"},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
			a, err := r.Sample(ctx, mcp.SamplingParams{Messages: []mcp.SamplingMessage{mcp.UserText("hello")}, MaxTokens: 10})
			if err != nil {
				return "", err
			}
			return a.Text(), nil
		})
	elicit(s, "test_streaming_elicitation", `{"type":"object","properties":{"ok":{"type":"boolean"}}}`)
	addTriggers(s)
}

// elicit adds a tool that shows a form.
func elicit(s *mcp.Server, name, form string) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Asks the user"},
		func(ctx context.Context, r *mcp.ToolRequest, in struct {
			Message string `json:"message,omitzero"`
		}) (string, error) {
			if in.Message == "" {
				in.Message = "Please fill in"
			}
			a, err := r.Elicit(ctx, in.Message, mcp.JSON(form))
			if err != nil {
				return "", err
			}
			return "User response: action=" + a.Action + ", content=" + string(a.Content), nil
		})
}

// addTriggers adds the tools that change the lists: each call really does.
func addTriggers(s *mcp.Server) {
	var mu sync.Mutex
	flip := map[string]bool{}
	turn := func(what string) bool {
		mu.Lock()
		defer mu.Unlock()
		flip[what] = !flip[what]
		return flip[what]
	}
	mcp.AddTool(s, &mcp.Tool{Name: "test_trigger_tool_change", Description: "Changes the list of tools"},
		func(context.Context, *mcp.ToolRequest, none) (string, error) {
			if turn("tool") {
				contents(s, "test_triggered_tool", "Comes and goes", mcp.Text("here"))
			} else {
				s.RemoveTool("test_triggered_tool")
			}
			return "changed", nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "test_trigger_prompt_change", Description: "Changes the list of prompts"},
		func(context.Context, *mcp.ToolRequest, none) (string, error) {
			if turn("prompt") {
				s.AddPrompt(&mcp.Prompt{Name: "test_triggered_prompt", Description: "Comes and goes"},
					func(context.Context, *mcp.PromptRequest) (*mcp.PromptResult, error) {
						return &mcp.PromptResult{Messages: []mcp.PromptMessage{mcp.UserMessage("here")}}, nil
					})
			} else {
				s.RemovePrompt("test_triggered_prompt")
			}
			return "changed", nil
		})
}
