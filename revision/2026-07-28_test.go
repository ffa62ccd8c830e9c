package revision_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpv/revision"
)

const requestMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}`

var examples20260728 = []example{
	{
		name: "call", kind: revision.Request, method: "tools/call", meta: `{` + requestMeta + `}`,
		here: `{"name":"w","arguments":{"a":1},"_meta":{"progressToken":"t","traceparent":"00-0af7-b7ad-01",` + requestMeta + `}}`,
		base: `{"name":"w","arguments":{"a":1},"_meta":{"progressToken":"t","traceparent":"00-0af7-b7ad-01"}}`,
	},
	{
		name: "list", kind: revision.Request, method: "tools/list", meta: `{` + requestMeta + `}`,
		here: `{"_meta":{` + requestMeta + `}}`,
		base: `{}`,
	},
	{
		name: "retry", kind: revision.Request, method: "tools/call",
		here: `{"name":"w","inputResponses":{"a":{"action":"accept"}},"requestState":"x","_meta":{"io.modelcontextprotocol/logLevel":"info"}}`,
		base: `{"name":"w"}`,
		lost: []string{"input responses"},
	},
	{
		name: "call result", kind: revision.Result, method: "tools/call",
		here: `{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1},"resultType":"complete"}`,
		base: `{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1}}`,
	},
	{
		name: "result with identity", kind: revision.Result, method: "prompts/get",
		meta: `{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}`,
		here: `{"messages":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`,
		base: `{"messages":[]}`,
	},
	{
		name: "structured array", kind: revision.Result, method: "tools/call",
		here: `{"resultType":"complete","content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}`,
		base: `{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}`,
		lost: []string{"non-object structuredContent"},
	},
	{
		name: "structured null", kind: revision.Result, method: "tools/call",
		here: `{"resultType":"complete","content":[],"structuredContent":null}`,
		base: `{"content":[],"structuredContent":{"result":null}}`,
		lost: []string{"non-object structuredContent"},
	},
	{
		name: "cacheable list", kind: revision.Result, method: "resources/list",
		here: `{"resources":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`,
		base: `{"resources":[]}`,
	},
	{
		name: "space and escapes", kind: revision.Result, method: "resources/list", oneWay: true, // space moves
		here: `{ "result\u0054ype" : "complete" , "resources" : [] , "ttlMs" : 0 , "v" : 1 , "cacheScope" : "private" }`,
		base: `{   "resources" : [] ,   "v" : 1   }`,
	},
	{
		name: "schema with an id", kind: revision.Result, method: "tools/list",
		here: `{"tools":[{"name":"a","outputSchema":{"$id":"urn:x","type":"array","items":{"$ref":"#"}}}]}`,
		base: `{"tools":[{"name":"a","outputSchema":{"type":"object","properties":{"result":{"$id":"urn:x","type":"array","items":{"$ref":"#"}}},"required":["result"]}}]}`,
		lost: []string{"non-object outputSchema"},
	},
	{
		name: "cached read", kind: revision.Result, method: "resources/read",
		here: `{"contents":[],"resultType":"complete","ttlMs":60000,"cacheScope":"public"}`,
		base: `{"contents":[]}`,
		lost: []string{"cache hints"},
	},
	{
		name: "tools with output schemas", kind: revision.Result, method: "tools/list",
		here: `{"tools":[{"name":"o","outputSchema":{"type":"object"}},` +
			`{"name":"a","outputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array","items":{"$ref":"#/$defs/X"},"$defs":{"X":{"type":"string"}}}},` +
			`{"name":"r","outputSchema":{"type":"array","items":{"$ref":"#"}}},` +
			`{"name":"u","outputSchema":{"type":["object","null"]}},{"name":"any","outputSchema":{}}],"resultType":"complete"}`,
		base: `{"tools":[{"name":"o","outputSchema":{"type":"object"}},` +
			`{"name":"a","outputSchema":{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"X":{"type":"string"}},"properties":{"result":{"type":"array","items":{"$ref":"#/$defs/X"}}},"required":["result"]}},` +
			`{"name":"r"},{"name":"u"},{"name":"any"}]}`,
		lost: []string{"non-object outputSchema"},
	},
	{
		name: "notification", kind: revision.Notification, method: "notifications/resources/updated",
		meta: `{"io.modelcontextprotocol/subscriptionId":7}`,
		here: `{"uri":"file:///a","_meta":{"io.modelcontextprotocol/subscriptionId":7}}`,
		base: `{"uri":"file:///a"}`,
	},
	{
		name: "resource not found", kind: revision.Error, method: "resources/read",
		here: `{"code":-32602,"message":"Invalid uri","data":{"uri":"file:///a"}}`,
		base: `{"code":-32002,"message":"Invalid uri","data":{"uri":"file:///a"}}`,
	},
	{
		name: "resource not found in words", kind: revision.Error, method: "resources/read",
		here: `{"code":-32602,"message":"Resource Not Found"}`,
		base: `{"code":-32002,"message":"Resource Not Found"}`,
	},
	{
		name: "invalid read", kind: revision.Error, method: "resources/read",
		here: `{"code":-32602,"message":"uri must be a string"}`,
		base: `{"code":-32602,"message":"uri must be a string"}`,
	},
	{
		name: "not found elsewhere", kind: revision.Error, method: "tools/call",
		here: `{"code":-32602,"message":"tool not found"}`,
		base: `{"code":-32602,"message":"tool not found"}`,
	},
	{
		name: "missing capability", kind: revision.Error, method: "tools/call",
		here: `{"code":-32021,"message":"needs elicitation","data":{"requiredCapabilities":{"elicitation":{}}}}`,
		base: `{"code":-32602,"message":"needs elicitation","data":{"requiredCapabilities":{"elicitation":{}}}}`,
		lost: []string{"error code"},
	},
	{
		name: "header mismatch", kind: revision.Error, method: "tools/call",
		here: `{"code":-32020,"message":"m"}`,
		base: `{"code":-32603,"message":"m"}`,
		lost: []string{"error code"},
	},
	{
		name: "url question", kind: revision.Request, method: "elicitation/create", oneWay: true, // the id is dropped again
		here: `{"mode":"url","url":"https://example.com/a","message":"m"}`,
		base: `{"mode":"url","url":"https://example.com/a","message":"m","elicitationId":"2dce0a4c50441bfccfa9caf4b58c3cba"}`,
	},
	{
		name: "answer", kind: revision.Result, method: "elicitation/create",
		here: `{"action":"accept","content":{"a":["x"]}}`,
		base: `{"action":"accept","content":{"a":["x"]}}`,
	},
}

func Test20260728(t *testing.T) {
	r, base := revision.V2026_07_28, revision.V2025_11_25
	var lost []string
	for _, x := range []struct {
		kind         revision.Kind
		method, from string
		want         string
		lost         []string
	}{
		{revision.Request, "tools/call", `{"name":"w","task":{"ttl":1}}`, `{"name":"w"}`, []string{"task augmentation"}},
		{revision.Request, "elicitation/create", `{"mode":"url","url":"u","elicitationId":"1","message":"m","task":{},"_meta":{"progressToken":1}}`,
			`{"mode":"url","url":"u","message":"m"}`, []string{"task augmentation", "elicitationId", "question _meta"}},
		{revision.Result, "tools/list", `{"tools":[{"name":"w","execution":{"taskSupport":"optional"}}]}`,
			`{"tools":[{"name":"w"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`, []string{"tool execution"}},
		{revision.Result, "completion/complete", `{"completion":{"values":[]},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"},"a":1}}`,
			`{"completion":{"values":[]},"_meta":{"a":1},"resultType":"complete"}`, []string{"related task"}},
		{revision.Result, "resources/read", `{"contents":[],"resultType":"input_required","ttlMs":-1,"cacheScope":"all"}`,
			`{"contents":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`, nil},
		{revision.Result, "vendor/thing", `{}`, `{"resultType":"complete"}`, nil},
		{revision.Error, "tools/call", `{"code":-32042,"message":"m"}`, `{"code":-32603,"message":"m"}`, []string{"error code"}},
		{revision.Error, "tools/call", `{"code":-32002,"message":"m"}`, `{"code":-32603,"message":"m"}`, []string{"error code"}},
		{revision.Error, "tools/call", `{"code":-32000,"message":"m"}`, `{"code":-32000,"message":"m"}`, nil},
		{revision.Error, "tools/call", `{"code":-32100,"message":"m"}`, `{"code":-32100,"message":"m"}`, nil},
	} {
		f := &revision.Frame{Kind: x.kind, Method: x.method, Body: []byte(x.from)}
		upTo(t, f, base, r, x.want)
		if diff := cmp.Diff(x.lost, f.Lost); diff != "" {
			t.Errorf("%s: %s", x.from, diff)
		}
		lost = append(lost, f.Lost...)
	}
	runExamples(t, r, base, lost, examples20260728)
}

func TestMeta20260728(t *testing.T) {
	f := &revision.Frame{Kind: revision.Request, Method: "tools/list", Meta: []byte(`{` + requestMeta + `}`)}
	upTo(t, f, revision.V2025_11_25, revision.V2026_07_28, `{"_meta":{`+requestMeta+`}}`)
	// What a legacy client puts there is not believed.
	f = &revision.Frame{
		Kind: revision.Request, Method: "tools/list", Meta: []byte(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`),
		Body: []byte(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"9999","b":2}}`),
	}
	upTo(t, f, revision.V2025_11_25, revision.V2026_07_28, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","b":2}}`)
}

func TestConversations20260728(t *testing.T) {
	r, base := revision.V2026_07_28, revision.V2025_11_25
	refuses(t, revision.Result, "tools/call", `{"resultType":"input_required","requestState":"x"}`, r, base)
	refuses(t, revision.Result, "tools/call", `{"resultType":"task","taskId":"1","status":"working"}`, r, base)
	refuses(t, revision.Result, "tools/call", `{"task":{"taskId":"1","status":"working"}}`, base, r)
}
