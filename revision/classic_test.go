package revision_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpv/revision"
)

// examplesClassic go from classic to 2025-11-25 and back.
var examplesClassic = []example{
	{
		name: "execute", kind: revision.Request, method: "mcp/tool/execute",
		here: `{"toolId":"filesystem/readFile","inputs":{"path":"/path/to/file.txt"}}`,
		base: `{"name":"filesystem/readFile","arguments":{"path":"/path/to/file.txt"}}`,
	},
	{
		name: "read", kind: revision.Request, method: "mcp/resource/read",
		here: `{"resourceId":"file:///a"}`,
		base: `{"uri":"file:///a"}`,
	},
	{
		name: "read with a query", kind: revision.Request, method: "mcp/resource/read", oneWay: true, // the query is in the uri now
		here: `{"resourceId":"db://users?x=1#f","query":{"name":"a b&c","limit":10,"skip":null}}`,
		base: `{"uri":"db://users?x=1&name=a+b%26c&limit=10#f"}`,
	},
	{
		name: "read of a template", kind: revision.Request, method: "mcp/resource/read", oneWay: true,
		here: `{"resourceId":"db://{table}/{+path}{?limit,page}","query":{"table":"a/b","path":"c/d e","limit":3,"other":"x"}}`,
		base: `{"uri":"db://a%2Fb/c/d%20e?limit=3&other=x"}`,
	},
	{
		name: "read by uri", kind: revision.Request, method: "mcp/resource/read", oneWay: true, // up renames it
		here: `{"uri":"file:///a"}`,
		base: `{"uri":"file:///a"}`,
	},
	{
		name: "list tools", kind: revision.Request, method: "mcp/listTools",
		here: `{}`,
		base: `{}`,
	},
	{
		name: "tools", kind: revision.Result, method: "mcp/listTools",
		here: `[{"toolId":"a","description":"d","inputSchema":{"type":"object"}}]`,
		base: `{"tools":[{"name":"a","description":"d","inputSchema":{"type":"object"}}]}`,
	},
	{
		name: "tool without a schema", kind: revision.Result, method: "mcp/listTools", oneWay: true, // the schema is mandatory
		here: `[{"toolId":"a"}]`,
		base: `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`,
	},
	{
		name: "resources", kind: revision.Result, method: "mcp/listResources",
		here: `[{"resourceId":"file:///a","name":"a","description":"d","querySchema":{"type":"object"}}]`,
		base: `{"resources":[{"uri":"file:///a","name":"a","description":"d","querySchema":{"type":"object"}}]}`,
	},
	{
		name: "resource without a name", kind: revision.Result, method: "mcp/listResources", oneWay: true, // the name is mandatory
		here: `[{"resourceId":"file:///a"}]`,
		base: `{"resources":[{"uri":"file:///a","name":"file:///a"}]}`,
	},
	{
		name: "text answer", kind: revision.Result, method: "mcp/tool/execute",
		here: `"hello \"you\""`,
		base: `{"content":[{"type":"text","text":"hello \"you\""}]}`,
	},
	{
		name: "object answer", kind: revision.Result, method: "mcp/tool/execute",
		here:   `{"a":[1,2]}`,
		base:   `{"content":[{"type":"text","text":"{\"a\":[1,2]}"}],"structuredContent":{"a":[1,2]}}`,
		oneWay: true, // up loses the text, which repeats the object
	},
	{
		name: "number answer", kind: revision.Result, method: "mcp/tool/execute", oneWay: true, // a text from now on
		here: `1.50`,
		base: `{"content":[{"type":"text","text":"1.50"}]}`,
	},
	{
		name: "failed tool", kind: revision.Error, method: "mcp/tool/execute",
		here: `{"code":-32000,"message":"boom","data":[{"type":"text","text":"boom"}]}`,
		base: `{"content":[{"type":"text","text":"boom"}],"isError":true}`,
	},
	{
		name: "other error", kind: revision.Error, method: "mcp/tool/execute",
		here: `{"code":-32602,"message":"no such tool"}`,
		base: `{"code":-32602,"message":"no such tool"}`,
	},
	{
		name: "initialize", kind: revision.Request, method: "mcp/initialize",
		here: `{"capabilities":{"transports":["stdio"]},"clientInfo":{"name":"c","version":"1"}}`,
		base: `{"capabilities":{},"clientInfo":{"name":"c","version":"1"},"protocolVersion":"2025-11-25"}`,
		lost: []string{"client capabilities"},
	},
	{
		name: "initialize without anything", kind: revision.Request, method: "mcp/initialize", oneWay: true, // all of it is made up
		here: `null`,
		base: `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"unknown","version":"unknown"}}`,
	},
	{
		name: "initialize result", kind: revision.Result, method: "mcp/initialize",
		here: `{"name":"s","version":"1","protocolVersion":"classic","methods":["mcp/initialize","mcp/listTools","mcp/tool/execute","mcp/listResources","mcp/resource/read"],"capabilities":{"tools":{},"resources":{}}}`,
		base: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}`,
	},
	{
		name: "initialize result with more", kind: revision.Result, method: "mcp/initialize",
		here: `{"name":"s","version":"1","capabilities":{"x":true},"vendor":1}`,
		base: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}`,
		lost: []string{"server fields"},
	},
}

func TestClassic(t *testing.T) {
	var lost []string
	for _, x := range []struct {
		kind           revision.Kind
		method, from   string
		toKind         revision.Kind
		toMethod, want string
		lost           []string
	}{
		{revision.Request, "tools/call", `{"name":"a"}`, revision.Request, "mcp/tool/execute", `{"toolId":"a","inputs":{}}`, nil},
		{revision.Request, "tools/list", `{"cursor":"x"}`, revision.Request, "mcp/listTools", `{}`, []string{"cursor"}},
		{revision.Request, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`, revision.Request, "mcp/initialize", `{"protocolVersion":"classic","capabilities":{}}`, nil},
		{revision.Result, "tools/list", `{"tools":[{"name":"a","title":"A","inputSchema":{}}],"nextCursor":"n","_meta":{}}`, revision.Result, "mcp/listTools",
			`[{"toolId":"a","title":"A","inputSchema":{}}]`, []string{"further pages", "result fields"}},
		{revision.Result, "resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"db://{table}{?limit}","name":"t"}]}`, revision.Result, "mcp/listResources",
			`[{"resourceId":"db://{table}{?limit}","name":"t","querySchema":{"type":"object","properties":{"table":{"type":"string"},"limit":{"type":"string"}}}}]`, nil},
		{revision.Result, "tools/call", `{"content":[{"type":"text","text":"{}"}],"structuredContent":{"a":1}}`, revision.Result, "mcp/tool/execute", `{"a":1}`, []string{"tool content"}},
		{revision.Result, "tools/call", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isError":false}`, revision.Result, "mcp/tool/execute",
			`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, nil},
		{revision.Result, "tools/call", `{"content":[]}`, revision.Result, "mcp/tool/execute", `[]`, nil},
		{revision.Result, "tools/call", `{"content":[],"isError":true}`, revision.Error, "mcp/tool/execute", `{"code":-32000,"message":"tool failed","data":[]}`, nil},
		{revision.Result, "resources/read", `{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"x"}]}`, revision.Result, "mcp/resource/read", `"x"`, []string{"resource content fields"}},
		{revision.Result, "resources/read", `{"contents":[{"uri":"a:b","blob":""}]}`, revision.Result, "mcp/resource/read", `[{"uri":"a:b","blob":""}]`, nil},
		{revision.Result, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","title":"S","version":"1"},"instructions":"i"}`,
			revision.Result, "mcp/initialize", `{"name":"s","version":"1","protocolVersion":"classic","methods":["mcp/initialize","mcp/listTools","mcp/tool/execute"],"capabilities":{"tools":{}}}`,
			[]string{"instructions", "server fields"}},
		{revision.Error, "resources/read", `{"code":-32002,"message":"m"}`, revision.Error, "mcp/resource/read", `{"code":-32002,"message":"m"}`, nil},
		{revision.Request, "prompts/list", `{}`, revision.Request, "prompts/list", `{}`, nil},
	} {
		f := &revision.Frame{Kind: x.kind, Method: x.method, Body: []byte(x.from)}
		upTo(t, f, revision.V2025_11_25, revision.Classic, x.want)
		if f.Kind != x.toKind || f.Method != x.toMethod {
			t.Errorf("%s became %s %s", x.from, f.Method, f.Kind)
		}
		if diff := cmp.Diff(x.lost, f.Lost); diff != "" {
			t.Errorf("%s: %s", x.from, diff)
		}
		lost = append(lost, f.Lost...)
	}
	runExamples(t, revision.Classic, revision.V2025_11_25, lost, examplesClassic)
}

// TestClassicRead: a classic server does not name the resource that it answers for.
func TestClassicRead(t *testing.T) {
	for value, want := range map[string]string{
		`"text"`:  `{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"text"}]}`,
		`{"a":1}`: `{"contents":[{"uri":"a:b","mimeType":"application/json","text":"{\"a\":1}"}]}`,
		`null`:    `{"contents":[{"uri":"a:b","mimeType":"application/json","text":"null"}]}`,
	} {
		f := &revision.Frame{Kind: revision.Result, Method: "mcp/resource/read", Body: []byte(value), URI: "a:b"}
		upTo(t, f, revision.Classic, revision.V2025_11_25, want)
		if f.Method != "resources/read" {
			t.Error(f.Method)
		}
	}
}
