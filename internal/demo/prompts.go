package demo

import (
	"context"

	"mcpv/mcp"
)

func addPrompts(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{
		Name: "explain", Title: "Explain a topic", Description: "Has the model explain something to somebody.", Icons: []mcp.Icon{icon()},
		Arguments: []mcp.PromptArgument{
			{Name: "topic", Description: "what to explain", Required: true,
				Complete: mcp.Choices("elicitation", "progress", "prompts", "resources", "roots", "sampling", "tasks", "tools")},
			{Name: "audience", Description: "to whom", Complete: mcp.Choices("a child", "a colleague", "an expert")},
		},
	}, explain)
	s.AddPrompt(&mcp.Prompt{
		Name: "translate", Title: "Translate a text", Description: "Has the model translate something.",
		Arguments: []mcp.PromptArgument{
			{Name: "text", Description: "what to translate", Required: true},
			{Name: "language", Description: "into which language", Required: true, Complete: mcp.Choices(languages()...)},
		},
	}, translate)
}

func explain(_ context.Context, r *mcp.PromptRequest) (*mcp.PromptResult, error) {
	audience := r.Arguments["audience"]
	if audience == "" {
		audience = "a colleague"
	}
	return &mcp.PromptResult{
		Description: "Explains " + r.Arguments["topic"] + ".",
		Messages: []mcp.PromptMessage{
			mcp.UserMessage("Explain " + r.Arguments["topic"] + " in the Model Context Protocol to " + audience + "."),
			{Role: "user", Content: mcp.Embedded(mcp.TextContents(aboutURI, "text/markdown", about))},
		},
	}, nil
}

func translate(_ context.Context, r *mcp.PromptRequest) (*mcp.PromptResult, error) {
	return &mcp.PromptResult{Messages: []mcp.PromptMessage{
		mcp.UserMessage("Translate into " + r.Arguments["language"] + ":\n\n" + r.Arguments["text"]),
	}}, nil
}
