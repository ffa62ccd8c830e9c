package demo

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"mcpv/mcp"
)

const (
	aboutURI = "demo://about"
	logoURI  = "demo://logo"
	clockURI = "demo://clock"
)

const about = `# The mcpv demo

- echo, add: plain tools, typed
- slow: progress and cancellation; count: a task
- ask, ask_url, think, list_roots: the server asks back
- image, audio: other content; log, fail: what else may happen
- demo://clock changes every second while somebody is subscribed
- demo://greeting/{language} is a template; its variable completes
- the prompts explain and translate complete their arguments
`

// greetings by language.
func greetings() map[string]string {
	return map[string]string{
		"english": "Good day!", "french": "Bonjour !", "german": "Guten Tag!",
		"greek": "Καλημέρα!", "japanese": "こんにちは", "spanish": "¡Buenos días!",
	}
}

func languages() []string { return slices.Sorted(maps.Keys(greetings())) }

func addResources(s *mcp.Server) {
	priority := 1.0
	s.AddResource(&mcp.Resource{
		URI: aboutURI, Name: "about", Title: "About this server", MIMEType: "text/markdown", Icons: []mcp.Icon{icon()},
		Annotations: &mcp.Annotations{Audience: []string{"user", "assistant"}, Priority: &priority},
	}, func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextContents(aboutURI, "text/markdown", about)}, nil
	})
	logo := drawing(64)
	size := int64(len(logo))
	s.AddResource(&mcp.Resource{URI: logoURI, Name: "logo", Title: "A picture", MIMEType: "image/png", Size: &size},
		func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobContents(logoURI, "image/png", logo)}, nil
		})
	s.AddResource(&mcp.Resource{URI: clockURI, Name: "clock", Title: "The time, in UTC", MIMEType: "text/plain", Description: "Subscribe to it: it changes every second."},
		func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			now := time.Now().UTC().Format(time.RFC3339)
			return []mcp.ResourceContents{mcp.TextContents(clockURI, "text/plain", now)}, nil
		})
	s.AddTemplate(&mcp.ResourceTemplate{URITemplate: "demo://greeting/{language}", Name: "greeting", Title: "A greeting", MIMEType: "text/plain"},
		greeting, mcp.Choices(languages()...))
}

func greeting(_ context.Context, r *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
	text, ok := greetings()[strings.ToLower(r.Vars["language"])]
	if !ok {
		return nil, mcp.ResourceNotFound(r.URI)
	}
	return []mcp.ResourceContents{mcp.TextContents(r.URI, "text/plain", text)}, nil
}
