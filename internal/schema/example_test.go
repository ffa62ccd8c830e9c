package schema_test

import (
	"fmt"
	"reflect"

	"mcpv/internal/schema"
)

func Example() {
	type Search struct {
		Query string   `json:"query" jsonschema:"minLength=1,description=what to look for, e.g. lang=go"`
		Limit int      `json:"limit" jsonschema:"minimum=1,maximum=100,default=10,description=how many, at most"`
		Sort  string   `json:"sort,omitempty" jsonschema:"enum=date|score"`
		Tags  []string `json:"tags,omitempty" jsonschema:"pattern=^[a-z]{1,20}$,maxItems=5"`
		Zone  string   `json:"zone,omitempty" jsonschema:"x-mcp-header=Zone,description=the region that answers"`
		Note  *string  `json:"note" jsonschema:"free text; a tag without keys is the description"`
	}
	raw, err := schema.For(reflect.TypeFor[Search](), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(raw))

	s, err := schema.Compile(raw, schema.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Validate([]byte(`{"limit":"x","sort":"name","page":2}`)))
	fmt.Println(string(s.ApplyDefaults([]byte(`{"query":"q"}`))))
	// Output:
	// {"type":"object","properties":{"query":{"type":"string","description":"what to look for, e.g. lang=go","minLength":1},"limit":{"type":"integer","description":"how many, at most","default":10,"minimum":1,"maximum":100},"sort":{"type":"string","enum":["date","score"]},"tags":{"type":"array","maxItems":5,"items":{"type":"string","pattern":"^[a-z]{1,20}$"}},"zone":{"type":"string","description":"the region that answers","x-mcp-header":"Zone"},"note":{"type":"string","description":"free text; a tag without keys is the description"}},"required":["query"],"additionalProperties":false}
	// /limit: expected integer, got string "x"; /page: unknown property; /query: required property is missing; /sort: expected one of "date", "score", got string "name"
	// {"query":"q","limit":10}
}
