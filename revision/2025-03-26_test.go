package revision_test

import (
	"testing"

	"mcpv/revision"
)

var examples20250326 = []example{
	{
		name: "tool annotations", kind: revision.Result, method: "tools/list",
		here: `{"tools":[{"name":"rm","inputSchema":{"type":"object"},"annotations":{"title":"Remove","destructiveHint":true}},{"name":"ls","inputSchema":{"type":"object"}}]}`,
		base: `{"tools":[{"name":"rm","inputSchema":{"type":"object"}},{"name":"ls","inputSchema":{"type":"object"}}]}`,
		lost: []string{"tool annotations"},
	},
	{
		name: "audio of a tool", kind: revision.Result, method: "tools/call",
		here: `{"content":[{"type":"text","text":"a"},{"type":"audio","data":"UklGRg==","mimeType":"audio/wav","annotations":{"audience":["user"]}}]}`,
		base: `{"content":[{"type":"text","text":"a"},{"type":"text","text":"[audio: audio/wav]","annotations":{"audience":["user"]}}]}`,
		lost: []string{"audio"},
	},
	{
		name: "audio of a prompt", kind: revision.Result, method: "prompts/get",
		here: `{"description":"d","messages":[{"role":"user","content":{"type":"audio","data":"","mimeType":"audio/mp3"}}]}`,
		base: `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"[audio: audio/mp3]"}}]}`,
		lost: []string{"audio"},
	},
	{
		name: "audio for a model", kind: revision.Request, method: "sampling/createMessage",
		here: `{"messages":[{"role":"user","content":{"type":"audio","data":"","mimeType":"audio/mp3"}}],"maxTokens":1}`,
		base: `{"messages":[{"role":"user","content":{"type":"text","text":"[audio: audio/mp3]"}}],"maxTokens":1}`,
		lost: []string{"audio"},
	},
	{
		name: "audio of a model", kind: revision.Result, method: "sampling/createMessage",
		here: `{"role":"assistant","model":"m","content":{"type":"audio","data":"","mimeType":"audio/mp3"}}`,
		base: `{"role":"assistant","model":"m","content":{"type":"text","text":"[audio: audio/mp3]"}}`,
		lost: []string{"audio"},
	},
	{
		name: "progress message", kind: revision.Notification, method: "notifications/progress",
		here: `{"progressToken":"abc","progress":50,"total":100,"message":"Reticulating splines..."}`,
		base: `{"progressToken":"abc","progress":50,"total":100}`,
		lost: []string{"progress message"},
	},
	{
		name: "initialize", kind: revision.Request, method: "initialize",
		here: `{"protocolVersion":"2025-03-26","capabilities":{"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}`,
		base: `{"protocolVersion":"2024-11-05","capabilities":{"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}`,
	},
	{
		name: "initialize result", kind: revision.Result, method: "initialize",
		here: `{"protocolVersion":"2025-03-26","capabilities":{"logging":{},"tools":{},"completions":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"i"}`,
		base: `{"protocolVersion":"2024-11-05","capabilities":{"logging":{},"tools":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"i"}`,
	},
	{
		name: "initialize refused", kind: revision.Error, method: "initialize",
		here: `{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-03-26"]}}`,
		base: `{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-03-26"]}}`,
	},
}

func Test20250326(t *testing.T) {
	runExamples(t, revision.V2025_03_26, revision.V2024_11_05, nil, examples20250326)
}
