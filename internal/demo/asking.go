package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mcpv/mcp"
)

// guest is the form that ask has filled in: a flat struct of fields with
// constraints that the client checks too.
type guest struct {
	Name   string `json:"name" jsonschema:"minLength=1,maxLength=80,description=how to address you"`
	Drink  string `json:"drink" jsonschema:"enum=coffee|tea|water,default=tea,description=what to serve"`
	Spoons int    `json:"spoons,omitempty" jsonschema:"minimum=0,maximum=9,description=spoons of sugar"`
}

type thinkIn struct {
	Prompt string `json:"prompt" jsonschema:"what to ask your model"`
}

type askURLIn struct {
	URL string `json:"url" jsonschema:"format=uri,default=https://example.com/,description=where to send the user"`
}

// addAskingTools adds the tools that ask the client something. Their code is
// the same for clients of all revisions: a legacy client is sent a request, a
// modern one is answered input_required and calls again.
func addAskingTools(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Title: "Ask", Description: "Asks the user to fill in a form (elicitation)."}, ask)
	mcp.AddTool(s, &mcp.Tool{Name: "ask_url", Title: "Ask by URL", Description: "Asks the user to visit a page (elicitation by URL)."}, askURL)
	mcp.AddTool(s, &mcp.Tool{Name: "think", Title: "Think", Description: "Asks the client's model (sampling)."}, think)
	mcp.AddTool(s, &mcp.Tool{Name: "list_roots", Title: "List roots", Description: "Lists where the client lets servers work.", Annotations: readOnly()}, listRoots)
}

func ask(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
	g, ok, err := mcp.Elicit[guest](ctx, r, "Who are you, and what may I bring you?")
	if err != nil {
		return "", err
	}
	if !ok {
		return "The user would rather not say.", nil
	}
	if g.Drink == "" {
		g.Drink = "tea"
	}
	return fmt.Sprintf("Welcome, %s. One %s with %d spoons of sugar.", g.Name, g.Drink, g.Spoons), nil
}

func askURL(ctx context.Context, r *mcp.ToolRequest, in askURLIn) (string, error) {
	if !strings.HasPrefix(in.URL, "https://") && !strings.HasPrefix(in.URL, "http://") {
		return "", errors.New("the URL has to start with https:// or http://")
	}
	answer, err := r.ElicitURL(ctx, "Please look at this page.", in.URL)
	if err != nil {
		return "", err
	}
	return "The user's answer: " + answer.Action + ".", nil
}

func think(ctx context.Context, r *mcp.ToolRequest, in thinkIn) (string, error) {
	answer, err := r.Sample(ctx, mcp.SamplingParams{
		Messages:  []mcp.SamplingMessage{mcp.UserText(in.Prompt)},
		MaxTokens: 200,
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s says: %s", answer.Model, answer.Text()), nil
}

func listRoots(ctx context.Context, r *mcp.ToolRequest, _ struct{}) ([]mcp.Content, error) {
	roots, err := r.Roots(ctx)
	if err != nil {
		return nil, err
	}
	lines := []mcp.Content{mcp.Text(fmt.Sprintf("%d roots", len(roots)))}
	for _, root := range roots {
		lines = append(lines, mcp.Text(strings.TrimSpace(root.URI+" "+root.Name)))
	}
	return lines, nil
}
