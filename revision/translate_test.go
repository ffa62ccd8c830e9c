package revision_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpv/internal/rawjson"
	"mcpv/revision"
)

// An example is one frame in a revision and in its base. Down is always checked. Up is checked to give the very bytes
// back unless something was lost or oneWay says why not.
type example struct {
	name   string
	kind   revision.Kind
	method string
	here   string // the body in the revision
	base   string // the body in its base
	lost   []string
	meta   string // Frame.Meta on the way up
	ui     bool   // Frame.KeepStructured
	oneWay bool   // the base's frame is what up starts from, or up makes no attempt to restore what is implied
}

// runExamples checks the examples of one revision and that they lose exactly what the revision says may be lost. The
// values of upLost are proven by tests of their own.
func runExamples(t *testing.T, r, base *revision.Revision, upLost []string, examples []example) {
	t.Helper()
	lost := slices.Clone(upLost)
	for _, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			f := &revision.Frame{Kind: x.kind, Method: x.method, Body: []byte(x.here), KeepStructured: x.ui}
			translate(t, f, r, base)
			if string(f.Body) != x.base {
				t.Errorf("down\n got %s\nwant %s", f.Body, x.base)
			}
			if diff := cmp.Diff(x.lost, f.Lost); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
			lost = append(lost, f.Lost...)
			if len(f.Lost) > 0 || x.oneWay {
				return
			}
			f.Meta = []byte(x.meta)
			translate(t, f, base, r)
			if string(f.Body) != x.here || f.Kind != x.kind || f.Method != x.method {
				t.Errorf("up again\n got %s %s %s\nwant %s %s %s", f.Kind, f.Method, f.Body, x.kind, x.method, x.here)
			}
		})
	}
	slices.Sort(lost)
	if diff := cmp.Diff(r.Losses(), slices.Compact(lost)); diff != "" {
		t.Errorf("Losses of %s (-listed +seen):\n%s", r, diff)
	}
}

func translate(t *testing.T, f *revision.Frame, from, to *revision.Revision) {
	t.Helper()
	before := slices.Clone(f.Body)
	given := f.Body
	if err := revision.Translate(f, from, to); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, given) {
		t.Errorf("the given body was written into: %s", given)
	}
	if f.Body != nil && !json.Valid(f.Body) {
		t.Errorf("not JSON: %s", f.Body)
	}
}

// upTo translates a body up and returns the frame, checking the body.
func upTo(t *testing.T, f *revision.Frame, from, to *revision.Revision, want string) {
	t.Helper()
	translate(t, f, from, to)
	if string(f.Body) != want {
		t.Errorf("%s %s\n got %s\nwant %s", f.Method, f.Kind, f.Body, want)
	}
}

func refuses(t *testing.T, kind revision.Kind, method, body string, from, to *revision.Revision) {
	t.Helper()
	f := &revision.Frame{Kind: kind, Method: method, Body: []byte(body)}
	if err := revision.Translate(f, from, to); !errors.Is(err, revision.ErrNoCounterpart) {
		t.Errorf("%s %s %s: %v, want ErrNoCounterpart", method, kind, body, err)
	}
}

// plain are frames that look the same in every dated legacy revision.
var plain = []struct {
	kind         revision.Kind
	method, body string
}{
	{revision.Request, "tools/call", `{"name":"get_weather","arguments":{"location":"New York"},"_meta":{"progressToken":1}}`},
	{revision.Request, "tools/list", ``},
	{revision.Request, "tools/list", `{"cursor":"b3Bh"}`},
	{revision.Result, "tools/call", `{ "content" : [ {"type":"text","text":"72°F \u00b0"} ] , "isError":false, "vendor": 1e2}`},
	{revision.Result, "tools/list", `{"tools":[{"name":"a","description":"d","inputSchema":{"type":"object","title":"kept"}}],"nextCursor":""}`},
	{revision.Result, "resources/read", `{"contents":[{"uri":"file:///a","mimeType":"text/plain","text":"x"}]}`},
	{revision.Result, "prompts/get", `{"messages":[{"role":"user","content":{"type":"image","data":"","mimeType":"image/png"}}]}`},
	{revision.Error, "resources/read", `{"code":-32002,"message":"Resource not found","data":{"uri":"file:///a"}}`},
	{revision.Error, "tools/call", `{"code":-32602,"message":"Unknown tool: x"}`},
	{revision.Notification, "notifications/progress", `{"progressToken":"t","progress":1,"total":2}`},
	{revision.Notification, "notifications/message", `{"level":"info","data":{"a":1}}`},
	{revision.Request, "sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":100}`},
	{revision.Result, "sampling/createMessage", `{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m","stopReason":"endTurn"}`},
	{revision.Result, "roots/list", `{"roots":[{"uri":"file:///home","name":"home"}]}`},
	{revision.Request, "vendor/thing", `{"title":"t","task":{},"icons":[]}`},
	{revision.Result, "vendor/thing", `{"tools":[{"icons":[]}],"content":[{"type":"audio"}]}`},
}

// TestUnchanged: a frame without anything to change stays the very same slice, across all dated legacy revisions.
func TestUnchanged(t *testing.T) {
	for _, from := range revision.All()[1:5] {
		for _, to := range revision.All()[1:5] {
			for _, p := range plain {
				f := &revision.Frame{Kind: p.kind, Method: p.method}
				if p.body != "" {
					f.Body = []byte(p.body)
				}
				before := *f
				translate(t, f, from, to)
				same := f.Body == nil && before.Body == nil || &f.Body[0] == &before.Body[0]
				if !same || f.Method != p.method || f.Kind != p.kind || f.Lost != nil {
					t.Errorf("%s to %s: %s %s became %s %s, lost %v", from, to, p.method, p.body, f.Method, f.Body, f.Lost)
				}
			}
		}
	}
}

// TestCopies: a frame may be copied between translations, as a fan-out does, and the copies go their own ways.
func TestCopies(t *testing.T) {
	f := &revision.Frame{Kind: revision.Result, Method: "resources/read", Body: []byte(`{"contents":[],"a":1,"b":2}`)}
	translate(t, f, revision.V2025_11_25, revision.V2026_07_28)
	g, h := *f, *f
	upTo(t, &g, revision.V2026_07_28, revision.Classic, `[]`)
	upTo(t, &h, revision.V2026_07_28, revision.V2025_11_25, `{"contents":[],"a":1,"b":2}`)
	if want := `{"contents":[],"a":1,"b":2,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`; string(f.Body) != want {
		t.Errorf("the original became %s", f.Body)
	}
}

func TestTranslateFar(t *testing.T) {
	f := &revision.Frame{Kind: revision.Result, Method: "tools/list", Body: []byte(
		`{"tools":[{"name":"a","title":"A","icons":[],"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}],"resultType":"complete","ttlMs":5,"cacheScope":"public"}`)}
	upTo(t, f, revision.V2026_07_28, revision.V2024_11_05, `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)
	want := []string{"cache hints", "non-object outputSchema", "icons", "titles", "outputSchema", "tool annotations"}
	if diff := cmp.Diff(want, f.Lost); diff != "" {
		t.Error(diff)
	}
	f = &revision.Frame{Kind: revision.Request, Method: "mcp/tool/execute", Body: []byte(`{"toolId":"a","inputs":{}}`),
		Meta: []byte(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)}
	upTo(t, f, revision.Classic, revision.V2026_07_28,
		`{"name":"a","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`)
	if f.Method != "tools/call" {
		t.Error(f.Method)
	}
	f = &revision.Frame{Kind: revision.Result, Method: "mcp/tool/execute", Body: []byte(`{"a":1}`)}
	upTo(t, f, revision.Classic, revision.V2024_11_05, `{"content":[{"type":"text","text":"{\"a\":1}"}]}`)
}

func TestCapabilities(t *testing.T) {
	r1, r2, r3, r4, r5 := revision.V2024_11_05, revision.V2025_03_26, revision.V2025_06_18, revision.V2025_11_25, revision.V2026_07_28
	type fn = func([]byte, *revision.Revision, *revision.Revision) []byte
	for _, c := range []struct {
		name     string
		fn       fn
		from, to *revision.Revision
		in, want string
	}{
		{"equal", revision.ClientCapabilities, r4, r4, `{"tasks":{},"x":1}`, `{"tasks":{},"x":1}`},
		{"none", revision.ClientCapabilities, r5, r1, ``, ``},
		{"roots and tasks to modern", revision.ClientCapabilities, r4, r5,
			`{"roots":{"listChanged":true},"tasks":{"list":{}},"sampling":{"tools":{}},"experimental":{"a":{}},"vendor":{}}`,
			`{"roots":{},"sampling":{"tools":{}},"experimental":{"a":{}},"vendor":{}}`},
		{"form named", revision.ClientCapabilities, r3, r5, `{"elicitation":{}}`, `{"elicitation":{"form":{}}}`},
		{"form named in legacy", revision.ClientCapabilities, r3, r4, `{"elicitation":{}}`, `{"elicitation":{"form":{}}}`},
		{"modes forgotten", revision.ClientCapabilities, r4, r3, `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"tasks":{}}`, `{"elicitation":{},"sampling":{}}`},
		{"url only", revision.ClientCapabilities, r5, r3, `{"elicitation":{"url":{}},"roots":{}}`, `{"roots":{}}`},
		{"no elicitation", revision.ClientCapabilities, r5, r2, `{"elicitation":{"form":{}},"roots":{}}`, `{"roots":{}}`},
		{"extensions", revision.ClientCapabilities, r5, r1,
			`{"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}}}`,
			`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}}}`},
		{"only the tasks extension", revision.ClientCapabilities, r5, r4, `{"extensions":{"io.modelcontextprotocol/tasks":{}},"a":{}}`, `{"a":{}}`},
		{"classic client", revision.ClientCapabilities, revision.Classic, r4, `{"transports":["stdio"]}`, `{}`},

		{"server tasks", revision.ServerCapabilities, r4, r5, `{"tasks":{},"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}`,
			`{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}`},
		{"server tasks, legacy", revision.ServerCapabilities, r4, r3, `{"tasks":{},"tools":{}}`, `{"tools":{}}`},
		{"server extension", revision.ServerCapabilities, r5, r4, `{"extensions":{"io.modelcontextprotocol/tasks":{},"v/x":{}},"completions":{}}`,
			`{"extensions":{"v/x":{}},"completions":{}}`},
		{"completions", revision.ServerCapabilities, r5, r1, `{"completions":{},"logging":{}}`, `{"logging":{}}`},
		{"completions claimed", revision.ServerCapabilities, r1, r5, `{"logging":{}}`, `{"logging":{},"completions":{}}`},
		{"classic server", revision.ServerCapabilities, revision.Classic, r4, `{"tools":true,"x":{"y":1}}`, `{"x":{"y":1},"tools":{},"resources":{}}`},
		{"not an object", revision.ServerCapabilities, r5, r1, `[1]`, `[1]`},
	} {
		if got := c.fn([]byte(c.in), c.from, c.to); string(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

var fuzzMethods = func() []string {
	names := map[string]bool{"vendor/thing": true}
	for _, r := range revision.All() {
		for _, m := range r.Methods() {
			names[m.Name] = true
		}
	}
	var list []string
	for n := range names {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}()

// FuzzTranslate sends any checked JSON through every pair of revisions.
func FuzzTranslate(f *testing.F) {
	for _, p := range plain {
		f.Add(uint8(slices.Index(fuzzMethods, p.method)), uint8(p.kind), []byte(p.body))
	}
	for _, group := range [][]example{examples20260728, examples20251125, examples20250618, examples20250326, examplesClassic} {
		for _, x := range group {
			m := uint8(max(0, slices.Index(fuzzMethods, x.method)))
			f.Add(m, uint8(x.kind), []byte(x.here))
			f.Add(m, uint8(x.kind), []byte(x.base))
		}
	}
	f.Fuzz(func(t *testing.T, method, kind uint8, body []byte) {
		if rawjson.Check(body) != nil {
			return
		}
		for _, from := range revision.All() {
			for _, to := range revision.All() {
				checkPair(t, revision.Frame{
					Kind: revision.Kind(kind % 4), Method: fuzzMethods[int(method)%len(fuzzMethods)], Body: body,
					Meta: []byte(`{"io.modelcontextprotocol/protocolVersion":"x"}`),
				}, from, to)
			}
		}
	})
}

func checkPair(t *testing.T, f revision.Frame, from, to *revision.Revision) {
	before := f
	given := slices.Clone(f.Body)
	err := revision.Translate(&f, from, to)
	if err != nil && !errors.Is(err, revision.ErrNoCounterpart) {
		t.Fatalf("%s to %s: %v", from, to, err)
	}
	if !bytes.Equal(before.Body, given) {
		t.Fatalf("%s to %s wrote into the given body", from, to)
	}
	if err == nil && f.Body != nil {
		if err := rawjson.Check(f.Body); err != nil {
			t.Fatalf("%s to %s: %s %s: %q became %q: %v", from, to, before.Method, before.Kind, given, f.Body, err)
		}
	}
	if from == to && (err != nil || !bytes.Equal(f.Body, given) || f.Method != before.Method || f.Kind != before.Kind || f.Lost != nil) {
		t.Fatalf("%s to itself changed %q to %q", from, given, f.Body)
	}
	for _, caps := range [][]byte{
		revision.ClientCapabilities(given, from, to), revision.ServerCapabilities(given, from, to),
	} {
		if rawjson.Check(caps) != nil {
			t.Fatalf("%s to %s: capabilities %q became %q", from, to, given, caps)
		}
	}
}
