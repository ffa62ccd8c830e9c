package main

import (
	"context"

	"mcpv/mcp"
)

// form returns a question for one string or boolean.
func form(key, message, field, kind string) *mcp.Elicitation {
	return &mcp.Elicitation{Key: key, Message: message,
		Schema: mcp.JSON(`{"type":"object","properties":{"` + field + `":{"type":"` + kind + `"}},"required":["` + field + `"]}`)}
}

func sample(key string) *mcp.Sampling {
	return &mcp.Sampling{Key: key, Params: mcp.SamplingParams{
		Messages: []mcp.SamplingMessage{mcp.UserText("What is the capital of France?")}, MaxTokens: 100}}
}

// rounds adds a tool that asks and then answers.
func rounds(s *mcp.Server, name string, ask func(ctx context.Context, r *mcp.ToolRequest) (string, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: "test_input_required_result_" + name, Description: "Asks in rounds: " + name},
		func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) { return ask(ctx, r) })
}

// addRounds adds the tools of the multi-round-trip scenarios.
func addRounds(s *mcp.Server) {
	once := func(answer string, questions ...func() mcp.Question) func(context.Context, *mcp.ToolRequest) (string, error) {
		return func(ctx context.Context, r *mcp.ToolRequest) (string, error) {
			var ask []mcp.Question
			for _, q := range questions {
				ask = append(ask, q())
			}
			return answer, r.Ask(ctx, ask...)
		}
	}
	name := func() mcp.Question { return form("user_name", "What is your name?", "name", "string") }
	confirm := func() mcp.Question { return form("confirm", "Please confirm", "ok", "boolean") }
	roots := func() mcp.Question { return &mcp.RootsQuestion{Key: "client_roots"} }
	rounds(s, "elicitation", once("hello", name))
	rounds(s, "sampling", once("sampled", func() mcp.Question { return sample("capital_question") }))
	rounds(s, "list_roots", once("listed", roots))
	rounds(s, "request_state", once("state-ok", confirm))
	rounds(s, "tampered_state", once("state-ok", confirm))
	rounds(s, "multiple_inputs", once("all answered", name, func() mcp.Question { return sample("greeting") }, roots))
	rounds(s, "multi_round", func(ctx context.Context, r *mcp.ToolRequest) (string, error) {
		if err := r.Ask(ctx, form("step1", "What is your name?", "name", "string")); err != nil {
			return "", err
		}
		if err := r.Ask(ctx, form("step2", "What is your colour?", "color", "string")); err != nil {
			return "", err
		}
		return "two rounds done", nil
	})
	rounds(s, "capabilities", func(ctx context.Context, r *mcp.ToolRequest) (string, error) {
		var ask []mcp.Question
		if r.Session().CanElicit("form") {
			ask = append(ask, name())
		}
		if r.Session().Can("sampling") {
			ask = append(ask, sample("capital_question"))
		}
		return "answered", r.Ask(ctx, ask...)
	})
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks before it answers"},
		func(ctx context.Context, r *mcp.PromptRequest) (*mcp.PromptResult, error) {
			q := form("user_context", "What is the context?", "context", "string")
			if err := r.Ask(ctx, q); err != nil {
				return nil, err
			}
			return &mcp.PromptResult{Messages: []mcp.PromptMessage{mcp.UserMessage("Context: " + string(q.Result.Content))}}, nil
		})
}
