package revision_test

import (
	"testing"

	"mcpv/revision"
)

var examples20250618 = []example{
	{
		name: "tools", kind: revision.Result, method: "tools/list",
		here: `{"tools":[{"name":"w","title":"Weather","inputSchema":{"type":"object","title":"kept"},"outputSchema":{"type":"object"},"annotations":{"title":"kept"},"_meta":{"a":1}}]}`,
		base: `{"tools":[{"name":"w","inputSchema":{"type":"object","title":"kept"},"annotations":{"title":"kept"},"_meta":{"a":1}}]}`,
		lost: []string{"titles", "outputSchema"},
	},
	{
		name: "tools for a client with views", kind: revision.Result, method: "tools/list", ui: true,
		here: `{"tools":[{"name":"w","outputSchema":{"type":"object"},"inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://w"}}}]}`,
		base: `{"tools":[{"name":"w","outputSchema":{"type":"object"},"inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://w"}}}]}`,
	},
	{
		name: "prompts", kind: revision.Result, method: "prompts/list",
		here: `{"prompts":[{"name":"p","title":"P","arguments":[{"name":"a","title":"A","required":true}]}],"nextCursor":"x"}`,
		base: `{"prompts":[{"name":"p","arguments":[{"name":"a","required":true}]}],"nextCursor":"x"}`,
		lost: []string{"titles"},
	},
	{
		name: "resources", kind: revision.Result, method: "resources/list",
		here: `{"resources":[{"uri":"file:///a","name":"a","title":"A","annotations":{"priority":1,"lastModified":"2025-01-12T15:00:58Z"}}]}`,
		base: `{"resources":[{"uri":"file:///a","name":"a","annotations":{"priority":1}}]}`,
		lost: []string{"titles", "lastModified"},
	},
	{
		name: "templates", kind: revision.Result, method: "resources/templates/list",
		here: `{"resourceTemplates":[{"title":"T","uriTemplate":"file:///{path}","name":"t"}]}`,
		base: `{"resourceTemplates":[{"uriTemplate":"file:///{path}","name":"t"}]}`,
		lost: []string{"titles"},
	},
	{
		name: "structured content", kind: revision.Result, method: "tools/call",
		here: `{"content":[{"type":"text","text":"{\"t\":22.5}"}],"structuredContent":{"t":22.5}}`,
		base: `{"content":[{"type":"text","text":"{\"t\":22.5}"}]}`,
		lost: []string{"structuredContent"},
	},
	{
		name: "structured content alone", kind: revision.Result, method: "tools/call",
		here: `{"content":[],"structuredContent":{"t":22.5}}`,
		base: `{"content":[{"type":"text","text":"{\"t\":22.5}"}]}`,
		lost: []string{"structuredContent"},
	},
	{
		name: "structured content for a client with views", kind: revision.Result, method: "tools/call", ui: true,
		here: `{"content":[],"structuredContent":{"t":22.5},"_meta":{"ui":1}}`,
		base: `{"content":[],"structuredContent":{"t":22.5},"_meta":{"ui":1}}`,
	},
	{
		name: "resource link", kind: revision.Result, method: "tools/call",
		here: `{"content":[{"type":"resource_link","uri":"file:///a \"b\"","name":"a","mimeType":"text/x-rust","annotations":{"audience":["user"],"lastModified":"2025-05-03T14:30:00Z"},"_meta":{"k":1}}]}`,
		base: `{"content":[{"type":"text","text":"file:///a \"b\"","annotations":{"audience":["user"]},"_meta":{"k":1}}]}`,
		lost: []string{"lastModified", "resource links"},
	},
	{
		name: "resource link of a prompt", kind: revision.Result, method: "prompts/get",
		here: `{"messages":[{"role":"user","content":{"type":"resource_link","uri":"file:///a","name":"a"}}]}`,
		base: `{"messages":[{"role":"user","content":{"type":"text","text":"file:///a"}}]}`,
		lost: []string{"resource links"},
	},
	{
		name: "completion context", kind: revision.Request, method: "completion/complete",
		here: `{"ref":{"type":"ref/prompt","name":"code_review"},"argument":{"name":"framework","value":"fla"},"context":{"arguments":{"language":"python"}}}`,
		base: `{"ref":{"type":"ref/prompt","name":"code_review"},"argument":{"name":"framework","value":"fla"}}`,
		lost: []string{"completion context"},
	},
	{
		name: "initialize", kind: revision.Request, method: "initialize",
		here: `{"protocolVersion":"2025-06-18","capabilities":{"roots":{},"elicitation":{}},"clientInfo":{"name":"c","title":"C","version":"1"}}`,
		base: `{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`,
		lost: []string{"titles"},
	},
	{
		name: "initialize result", kind: revision.Result, method: "initialize",
		here: `{"protocolVersion":"2025-06-18","capabilities":{"completions":{}},"serverInfo":{"name":"s","version":"1"}}`,
		base: `{"protocolVersion":"2025-03-26","capabilities":{"completions":{}},"serverInfo":{"name":"s","version":"1"}}`,
	},
	{
		name: "initialize of another version", kind: revision.Request, method: "initialize",
		here: `{"protocolVersion":"1.0.0","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`,
		base: `{"protocolVersion":"1.0.0","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`,
	},
}

func Test20250618(t *testing.T) {
	runExamples(t, revision.V2025_06_18, revision.V2025_03_26, nil, examples20250618)
	refuses(t, revision.Request, "elicitation/create", `{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`,
		revision.V2025_06_18, revision.V2025_03_26)
}
