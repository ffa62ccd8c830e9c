package revision_test

import (
	"testing"

	"mcpv/revision"
)

var examples20251125 = []example{
	{
		name: "tools", kind: revision.Result, method: "tools/list",
		here: `{"tools":[{"name":"w","icons":[{"src":"https://example.com/i.png","sizes":["48x48"]}],"inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`,
		base: `{"tools":[{"name":"w","inputSchema":{"type":"object"}}]}`,
		lost: []string{"tool execution", "icons"},
	},
	{
		name: "prompts", kind: revision.Result, method: "prompts/list",
		here: `{"prompts":[{"name":"p","icons":[]}]}`,
		base: `{"prompts":[{"name":"p"}]}`,
		lost: []string{"icons"},
	},
	{
		name: "resources", kind: revision.Result, method: "resources/list",
		here: `{"resources":[{"uri":"a:b","name":"p","icons":[]}]}`,
		base: `{"resources":[{"uri":"a:b","name":"p"}]}`,
		lost: []string{"icons"},
	},
	{
		name: "resource link", kind: revision.Result, method: "tools/call",
		here: `{"content":[{"type":"resource_link","uri":"a:b","name":"p","icons":[]},{"type":"text","text":"icons"}]}`,
		base: `{"content":[{"type":"resource_link","uri":"a:b","name":"p"},{"type":"text","text":"icons"}]}`,
		lost: []string{"icons"},
	},
	{
		name: "task", kind: revision.Request, method: "tools/call",
		here: `{"name":"w","arguments":{"task":1},"task":{"ttl":60000}}`,
		base: `{"name":"w","arguments":{"task":1}}`,
		lost: []string{"task augmentation"},
	},
	{
		name: "form", kind: revision.Request, method: "elicitation/create", oneWay: true, // no mode means form
		here: `{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","default":"x"}},"required":["name"]}}`,
		base: `{"message":"Name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","default":"x"}},"required":["name"]}}`,
	},
	{
		name: "titled enum", kind: revision.Request, method: "elicitation/create", oneWay: true, // enumNames is legal still
		here: `{"message":"Colour?","requestedSchema":{"type":"object","properties":{"c":{"type":"string","title":"C","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}],"default":"#f00"}}}}`,
		base: `{"message":"Colour?","requestedSchema":{"type":"object","properties":{"c":{"type":"string","title":"C","default":"#f00","enum":["#f00","#0f0"],"enumNames":["Red","Green"]}}}}`,
	},
	{
		name: "multi-select", kind: revision.Request, method: "elicitation/create",
		here: `{"message":"Colours?","task":{},"requestedSchema":{"type":"object","properties":{"c":{"type":"array","items":{"type":"string","enum":["r","g"]}},"d":{"type":"boolean"}},"required":["d"]}}`,
		base: `{"message":"Colours?","requestedSchema":{"type":"object","properties":{"d":{"type":"boolean"}},"required":["d"]}}`,
		lost: []string{"task augmentation", "multi-select enum"},
	},
	{
		name: "elicitation result", kind: revision.Result, method: "elicitation/create",
		here: `{"action":"accept","content":{"name":"octocat","icons":1}}`,
		base: `{"action":"accept","content":{"name":"octocat","icons":1}}`,
	},
	{
		name: "sampling with tools", kind: revision.Request, method: "sampling/createMessage",
		here: `{"messages":[{"role":"user","content":{"type":"text","text":"Weather?"}}],"tools":[{"name":"w","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"},"maxTokens":1000}`,
		base: `{"messages":[{"role":"user","content":{"type":"text","text":"Weather?"}}],"maxTokens":1000}`,
		lost: []string{"sampling tools"},
	},
	{
		name: "sampling with several blocks", kind: revision.Request, method: "sampling/createMessage",
		here: `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}]},{"role":"assistant","content":[{"type":"text","text":"b"}]}],"maxTokens":1}`,
		base: `{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"image","data":"","mimeType":"image/png"}},{"role":"assistant","content":{"type":"text","text":"b"}}],"maxTokens":1}`,
		lost: []string{"sampling content blocks"},
	},
	{
		name: "sampling result in one block", kind: revision.Result, method: "sampling/createMessage", oneWay: true, // a single block needs no array
		here: `{"role":"assistant","content":[{"type":"text","text":"a"}],"model":"m"}`,
		base: `{"role":"assistant","content":{"type":"text","text":"a"},"model":"m"}`,
	},
	{
		name: "sampling result in several blocks", kind: revision.Result, method: "sampling/createMessage",
		here: `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"model":"m"}`,
		base: `{"role":"assistant","content":{"type":"text","text":"a\nb"},"model":"m"}`,
		lost: []string{"sampling content blocks"},
	},
	{
		name: "url elicitation required", kind: revision.Error, method: "tools/call",
		here: `{"code":-32042,"message":"authorize first","data":{"elicitations":[{"mode":"url","url":"https://example.com","elicitationId":"1","message":"m"}]}}`,
		base: `{"code":-32042,"message":"authorize first","data":{"elicitations":[{"mode":"url","url":"https://example.com","elicitationId":"1","message":"m"}]}}`,
	},
	{
		name: "initialize", kind: revision.Request, method: "initialize",
		here: `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}},"sampling":{}},"clientInfo":{"name":"c","title":"C","version":"1"}}`,
		base: `{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"c","title":"C","version":"1"}}`,
	},
	{
		name: "initialize result", kind: revision.Result, method: "initialize",
		here: `{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"list":{}},"tools":{}},"serverInfo":{"name":"s","icons":[],"description":"d","websiteUrl":"https://example.com","version":"1"}}`,
		base: `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
		lost: []string{"icons", "implementation details"},
	},
}

func Test20251125(t *testing.T) {
	from, to := revision.V2025_11_25, revision.V2025_06_18
	runExamples(t, from, to, nil, examples20251125)
	refuses(t, revision.Request, "elicitation/create", `{"mode":"url","elicitationId":"1","url":"https://example.com","message":"m"}`, from, to)
	refuses(t, revision.Request, "elicitation/create",
		`{"message":"m","requestedSchema":{"type":"object","properties":{"c":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}},"required":["c"]}}`, from, to)
	refuses(t, revision.Request, "sampling/createMessage",
		`{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]}]}],"maxTokens":1}`, from, to)
	refuses(t, revision.Result, "sampling/createMessage",
		`{"role":"assistant","model":"m","stopReason":"toolUse","content":{"type":"tool_use","id":"1","name":"w","input":{}}}`, from, to)
	refuses(t, revision.Result, "sampling/createMessage",
		`{"role":"assistant","model":"m","content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}]}`, from, to)
	refuses(t, revision.Result, "tools/call",
		`{"task":{"taskId":"1","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":60000}}`, from, to)
}
