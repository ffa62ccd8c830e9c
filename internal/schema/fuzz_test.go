package schema_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpv/internal/schema"
)

var fuzzSchemas = []string{
	`true`, `false`, `{}`,
	`{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":["integer","null"],"minimum":1}},"required":["a"],"additionalProperties":false}`,
	`{"items":{"enum":["a",1,null]},"minItems":1,"maxItems":3}`,
	`{"const":1e2,"exclusiveMaximum":5}`,
	`{"pattern":"^a+$","minLength":1,"maxLength":9}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$ref":"#"}},"items":[{"$ref":"#/definitions/a"}]}`,
	`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","minimum":1,"exclusiveMinimum":true}`,
	`{"$defs":{"t":{"$dynamicAnchor":"n","anyOf":[{"$dynamicRef":"#n"},{"type":"array"}]}},"$ref":"#/$defs/t"}`,
	`{"$id":"https://example.com/a","$anchor":"x","allOf":[{"$ref":"#x"}],"unevaluatedProperties":false}`,
	`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}`,
	`{"if":{"required":["a"]},"then":{"uniqueItems":true},"multipleOf":0.1,"propertyNames":{"pattern":"^."}}`,
	`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
	`{"$ref":"http://example.com/"}`, `{"type":1}`, `{"maximum":1e999}`, `[]`, `{"a`,
}

var fuzzInstances = []string{`{"a":"x","b":2}`, `{"a":{"b":[1,2.50,-0,1e5]},"c":null}`, `["a",1,null]`, `"\u0061\ud83d\ude00"`, `100`, `1e-1`, ` [ ] `, `{`, `[1e1001]`, "\"\xff\"", `{"a":1,"a":2}`}

// Small limits keep one round short; the defaults are for real schemas.
var fuzzLimits = schema.Limits{Bytes: 4096, Subschemas: 100, Steps: 50_000}

func FuzzSchemaCompile(f *testing.F) {
	for _, s := range fuzzSchemas {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := schema.Compile(raw, fuzzLimits)
		if err != nil {
			if s != nil || err.Error() == "" {
				t.Fatalf("%v with %v", s, err)
			}
			return
		}
		if !bytes.Equal(s.Raw(), raw) || !jsontext.Value(raw).IsValid() {
			t.Fatalf("compiled %q", raw)
		}
		for _, in := range fuzzInstances {
			first, second := s.Validate([]byte(in)), s.Validate([]byte(in))
			if verdict(first) != verdict(second) {
				t.Fatalf("%s: %v, then %v", in, first, second)
			}
		}
	})
}

func FuzzValidate(f *testing.F) {
	for i, s := range fuzzSchemas {
		for _, in := range fuzzInstances {
			f.Add([]byte(s), []byte(in))
		}
		f.Add([]byte(s), []byte(fuzzSchemas[len(fuzzSchemas)-1-i]))
	}
	f.Fuzz(func(t *testing.T, raw, in []byte) {
		s, err := schema.Compile(raw, fuzzLimits)
		if err != nil {
			return
		}
		before := bytes.Clone(in)
		got := verdict(s.Validate(in))
		filled := s.ApplyDefaults(in)
		if !bytes.Equal(in, before) {
			t.Fatalf("%q was changed to %q", before, in)
		}
		if !jsontext.Value(in).IsValid() {
			return // the contract asks for strict JSON
		}
		if !jsontext.Value(filled).IsValid() {
			t.Fatalf("defaults made %q of %q", filled, in)
		}
		if again := s.ApplyDefaults(filled); !bytes.Equal(again, filled) {
			t.Fatalf("defaults twice made %q of %q", again, filled)
		}
		_, full, err := pair(string(raw))
		if err != nil {
			return // outside the subset, an $id or a "#" means something else when it is wrapped
		}
		if want := verdict(full.Validate(in)); got != want && got != "refused" && want != "refused" && !bytes.Contains(raw, []byte("$")) {
			t.Fatalf("schema %s\ninstance %s\ngot %s, want %s", raw, in, got, want)
		}
	})
}

// FuzzTag feeds any tag to every kind of field.
func FuzzTag(f *testing.F) {
	for _, tag := range []string{"text", "enum=a|b,default=a,description=x, y=z", "minimum=1,maximum=2", "pattern=^a{1,2}$,minLength=1",
		`default=["a"],minItems=1`, "deprecated,uniqueItems", "x-mcp-header=A", "=", ",", "enum=", "examples=[1,2]", "example=1e999", "multipleOf=0"} {
		f.Add(tag)
	}
	kinds := []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int8](), reflect.TypeFor[float64](), reflect.TypeFor[bool](),
		reflect.TypeFor[[]string](), reflect.TypeFor[map[string]int](), reflect.TypeFor[any]()}
	f.Fuzz(func(t *testing.T, tag string) {
		for _, k := range kinds {
			typ := reflect.StructOf([]reflect.StructField{{Name: "A", Type: k, Tag: reflect.StructTag("jsonschema:" + quoteTag(tag))}})
			raw, err := schema.For(typ, nil)
			if err != nil {
				continue
			}
			if _, err := schema.Compile(raw, schema.Limits{}); err != nil {
				t.Fatalf("%q on %s gives %s: %v", tag, k, raw, err)
			}
		}
	})
}
