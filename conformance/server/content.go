package main

import (
	"context"
	"encoding/base64"
	"errors"

	"mcpv/mcp"
)

type none struct{}

// A red pixel and an empty sound: the suite looks at their types.
var (
	pixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	sound, _ = base64.StdEncoding.DecodeString("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")
)

func embedded() mcp.Content {
	return mcp.Embedded(mcp.TextContents("test://embedded-resource", "text/plain", "This is an embedded resource."))
}

// contents adds a tool without arguments that answers with the blocks.
func contents(s *mcp.Server, name, description string, blocks ...mcp.Content) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description},
		func(context.Context, *mcp.ToolRequest, none) ([]mcp.Content, error) { return blocks, nil })
}

// schema202012 has to reach clients as it is.
const schema202012 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},` +
	`"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

// addContent adds the tools that only answer. The first tool of the list has to
// be callable without arguments.
func addContent(s *mcp.Server) {
	contents(s, "test_simple_text", "Answers with text", mcp.Text("This is a simple text response for testing."))
	contents(s, "test_image_content", "Answers with an image", mcp.Image(pixel, "image/png"))
	contents(s, "test_audio_content", "Answers with audio", mcp.Audio(sound, "audio/wav"))
	contents(s, "test_embedded_resource", "Answers with a resource", embedded())
	contents(s, "test_multiple_content_types", "Answers with text, an image and a resource",
		mcp.Text("Multiple content types test:"), mcp.Image(pixel, "image/png"), embedded())
	mcp.AddTool(s, &mcp.Tool{Name: "test_error_handling", Description: "Fails"},
		func(context.Context, *mcp.ToolRequest, none) (string, error) {
			return "", errors.New("this tool intentionally returns an error for testing")
		})
	must(s.AddTool(&mcp.Tool{Name: "json_schema_2020_12_tool", Description: "Has a schema of 2020-12", InputSchema: mcp.JSON(schema202012)},
		func(context.Context, *mcp.ToolRequest) (*mcp.ToolResult, error) {
			return &mcp.ToolResult{Content: []mcp.Content{mcp.Text("valid")}}, nil
		}))
	mcp.AddTool(s, &mcp.Tool{Name: "test_x_mcp_header", Description: "Mirrors its argument in a header"},
		func(_ context.Context, _ *mcp.ToolRequest, in struct {
			Region string `json:"region" jsonschema:"x-mcp-header=Region,description=where to run"`
		}) (string, error) {
			return "region " + in.Region, nil
		})
}

func addResources(s *mcp.Server) {
	text := func(uri, text string) mcp.ResourceHandler {
		return func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextContents(uri, "text/plain", text)}, nil
		}
	}
	s.AddResource(&mcp.Resource{URI: "test://static-text", Name: "Static text", Description: "Text", MIMEType: "text/plain"},
		text("test://static-text", "This is the content of the static text resource."))
	s.AddResource(&mcp.Resource{URI: "test://static-binary", Name: "Static binary", Description: "An image", MIMEType: "image/png"},
		func(context.Context, *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobContents("test://static-binary", "image/png", pixel)}, nil
		})
	s.AddResource(&mcp.Resource{URI: "test://watched-resource", Name: "Watched", Description: "Can be subscribed to", MIMEType: "text/plain"},
		text("test://watched-resource", "Watched."))
	s.AddTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "Template", Description: "By id", MIMEType: "application/json"},
		func(_ context.Context, r *mcp.ResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextContents(r.URI, "application/json", `{"id":"`+r.Vars["id"]+`"}`)}, nil
		}, nil)
}

func addPrompts(s *mcp.Server) {
	add := func(name, description string, h func(*mcp.PromptRequest) []mcp.PromptMessage, args ...mcp.PromptArgument) {
		s.AddPrompt(&mcp.Prompt{Name: name, Description: description, Arguments: args},
			func(_ context.Context, r *mcp.PromptRequest) (*mcp.PromptResult, error) {
				return &mcp.PromptResult{Messages: h(r)}, nil
			})
	}
	add("test_simple_prompt", "A prompt without arguments", func(*mcp.PromptRequest) []mcp.PromptMessage {
		return []mcp.PromptMessage{mcp.UserMessage("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", "A prompt with arguments", func(r *mcp.PromptRequest) []mcp.PromptMessage {
		return []mcp.PromptMessage{mcp.UserMessage("arg1=" + r.Arguments["arg1"] + ", arg2=" + r.Arguments["arg2"])}
	},
		mcp.PromptArgument{Name: "arg1", Description: "The first", Required: true, Complete: mcp.Choices("test-1", "test-2", "other")},
		mcp.PromptArgument{Name: "arg2", Description: "The second", Required: true})
	add("test_prompt_with_embedded_resource", "A prompt with a resource", func(r *mcp.PromptRequest) []mcp.PromptMessage {
		return []mcp.PromptMessage{{Role: "user", Content: mcp.Embedded(mcp.TextContents(r.Arguments["resourceUri"], "text/plain", "Embedded."))}}
	}, mcp.PromptArgument{Name: "resourceUri", Description: "Which", Required: true})
	add("test_prompt_with_image", "A prompt with an image", func(*mcp.PromptRequest) []mcp.PromptMessage {
		return []mcp.PromptMessage{{Role: "user", Content: mcp.Image(pixel, "image/png")}, mcp.UserMessage("Analyse the image.")}
	})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
