package mcp_test

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"

	"mcpv/internal/rawjson"
	"mcpv/mcp"
)

// What is read by hand has to be what reflection reads, unknown members and
// failures included.
func sameAsReflection[T any](t *testing.T, raw string, got *T, err error) {
	t.Helper()
	want := new(T)
	wantErr := json.Unmarshal([]byte(raw), want)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: error %v, want %v", raw, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\n got %+v\nwant %+v", raw, got, want)
	}
}

var toolTexts = []string{
	`{}`, `null`, `[]`, `7`, ``,
	`{"name":"a","inputSchema":{"type":"object"}}`,
	` { "name" : "a\u0062\n", "title":"", "description":"d", "inputSchema" : { "type" : "object" } } `,
	`{"name":"a","inputSchema":{},"outputSchema":{"type":"object"},"_meta":{"k":[1,2]}}`,
	`{"name":"a","inputSchema":null,"outputSchema":null,"_meta":null}`,
	`{"name":"a","inputSchema":{},"annotations":{"title":"t","readOnlyHint":true,"x":1}}`,
	`{"name":"a","inputSchema":{},"annotations":null,"icons":null}`,
	`{"name":"a","inputSchema":{},"icons":[{"src":"s","sizes":["1x1"],"y":2}]}`,
	`{"name":"a","inputSchema":{},"icons":[]}`,
	`{"name":"a","inputSchema":{},"execution":{"taskSupport":"optional"}}`,
	`{"name":"a","inputSchema":{},"vendor":{"x":[1.0,1e2]},"Name":"b"}`,
	`{"n\u0061me":"a","inputSchem\u0061":{}}`,
	`{"name":7}`, `{"name":null}`, `{"title":[]}`, `{"annotations":[]}`, `{"icons":{}}`, `{"description":true}`,
}

func checkTool(t *testing.T, raw string) {
	got := &mcp.Tool{}
	err := mcp.DecodeTool([]byte(raw), got)
	if raw == "" { // nothing is read from nothing
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	sameAsReflection(t, raw, got, err)
}

func TestDecodeTool(t *testing.T) {
	for _, raw := range toolTexts {
		checkTool(t, raw)
	}
}

var resultTexts = []string{
	`{}`, `null`, `[]`, `"x"`,
	`{"content":[]}`, `{"content":null}`, `{"content":{}}`, `{"content":[null]}`, `{"content":[7]}`,
	`{"content":[{"type":"text","text":"hello"}],"resultType":"complete"}`,
	`{"content":[{"text":"a\"\u00e9\ud83d\ude00","type":"text"},{"type":"text","text":""}],"isError":true}`,
	`{"content":[{"type":"text"}]}`, `{"content":[{"type":"text","text":null}]}`, `{"content":[{"type":"text","text":7}]}`,
	`{"content":[{}]}`, `{"content":[{"text":"no type"}]}`, `{"content":[{"type":null,"text":"a"}]}`,
	`{"content":[{"type":"te\u0078t","text":"a"}]}`,
	`{"content":[{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.5}}]}`,
	`{"content":[{"type":"text","text":"a","_meta":{"k":1}}]}`,
	`{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"text","text":"b"}]}`,
	`{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"x","q":1}}]}`,
	`{"content":[{"type":"odd","deep":{"a":[1,{"b":2}]},"text":"t"}]}`,
	`{"content":[],"structuredContent":{"a":1.50,"b":[ 1 ]},"_meta":{"x":null}}`,
	`{"content":[],"structuredContent":null,"isError":false,"_meta":null,"resultType":null}`,
	`{"content":[],"isError":null}`, `{"content":[],"isError":"true"}`, `{"content":[],"resultType":1}`,
	`{"content":[],"extra":{"a":1},"more":[1,2]}`,
}

func checkResult(t *testing.T, raw string) {
	got, err := mcp.DecodeToolResult([]byte(raw))
	sameAsReflection(t, raw, got, err)
}

func TestDecodeToolResult(t *testing.T) {
	for _, raw := range resultTexts {
		checkResult(t, raw)
	}
}

func FuzzDecode(f *testing.F) {
	for _, raw := range append(toolTexts[:len(toolTexts):len(toolTexts)], resultTexts...) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if rawjson.Check([]byte(raw)) != nil {
			t.Skip("frames are checked before they are decoded")
		}
		checkTool(t, raw)
		checkResult(t, raw)
	})
}

// TestDecodedSharesNothing: results may be cached, and what they were decoded
// into is the caller's.
func TestDecodedSharesNothing(t *testing.T) {
	raw := []byte(`{"name":"a","description":"d","inputSchema":{"type":"object"},"outputSchema":{},"_meta":{"k":1}}`)
	got := &mcp.Tool{}
	if err := mcp.DecodeTool(raw, got); err != nil {
		t.Fatal(err)
	}
	clear(raw)
	if got.Name != "a" || got.Description != "d" || string(got.InputSchema) != `{"type":"object"}` ||
		string(got.OutputSchema) != `{}` || string(got.Meta) != `{"k":1}` {
		t.Errorf("got %+v", got)
	}
}
