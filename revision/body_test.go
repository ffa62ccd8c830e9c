package revision_test

import (
	"testing"

	"mcpv/revision"
)

// TestUpCompletesLists holds what a list of a legacy server becomes: members
// that are missing come last, together; those that are there keep their place.
func TestUpCompletesLists(t *testing.T) {
	for _, c := range []struct{ name, method, from, want string }{
		{"nothing said", "tools/list", `{"tools":[]}`, `{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`},
		{"nothing at all", "tools/list", `{}`, `{"resultType":"complete","ttlMs":0,"cacheScope":"private"}`},
		{"space at the end", "tools/list", `{"tools":[] } `, `{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private" } `},
		{"in place", "tools/list", `{"resultType":"x","cacheScope":7,"tools":[]}`, `{"resultType":"complete","cacheScope":"private","tools":[],"ttlMs":0}`},
		{"all said", "tools/list", `{"tools":[],"ttlMs":5,"cacheScope":"public","resultType":"complete"}`, `{"tools":[],"ttlMs":5,"cacheScope":"public","resultType":"complete"}`},
		{"execution", "tools/list", `{"tools":[{"name":"a","execution":{}},{"name":"execution"}]}`,
			`{"tools":[{"name":"a"},{"name":"execution"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`},
		{"execution with escapes", "tools/list", `{"tools":[{"\u0065xecution":{},"name":"a"}]}`,
			`{"tools":[{"name":"a"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`},
		{"not cacheable", "tools/call", `{"content":[]}`, `{"content":[],"resultType":"complete"}`},
		{"no object", "tools/call", `[1]`, `[1]`},
	} {
		f := revision.Frame{Kind: revision.Result, Method: c.method, Body: []byte(c.from)}
		if err := revision.Translate(&f, revision.V2025_11_25, revision.V2026_07_28); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := string(f.Body); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
