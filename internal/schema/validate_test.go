package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcpv/internal/schema"
)

func compile(t testing.TB, raw string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(raw), schema.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", clip(raw), err)
	}
	return s
}

func clip(s string) string { return s[:min(len(s), 200)] }

// slow is a member that asserts nothing and is outside the common subset, so
// that the same table runs through both validators.
const slow = `"$defs":{"unused":{}},`

func TestValidate(t *testing.T) {
	const obj = `"type":"object","properties":{"count":{"type":"integer"},"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`
	tests := []struct {
		schema, instance, want string // want "" is valid
	}{
		{obj, `{"name":"n","count":3}`, ""},
		{obj, ` { "name" : "n" } `, ""},
		{obj, `{"n\u0061me":"n"}`, ""},
		{obj, `{"name":"n","count":"x"}`, `/count: expected integer, got string "x"`},
		{obj, `{"count":1.5}`, `/count: expected integer, got number 1.5; /name: required property is missing`},
		{obj, `{"name":null,"a/b~":1}`, `/a~1b~0: unknown property; /name: expected string, got null`},
		{obj, `[]`, `expected object, got array`},
		{obj, `"s"`, `expected object, got string "s"`},
		{obj, `true`, `expected object, got boolean true`},
		{`"type":"integer"}`, `1.0`, ""},
		{`"type":"integer"}`, `1.5e1`, ""},
		{`"type":"integer"}`, `-0`, ""},
		{`"type":"integer"}`, `12345678901234567890`, ""},
		{`"type":"integer"}`, `12345678901234567890.5`, `expected integer, got number 12345678901234567890.5`},
		{`"type":"integer"}`, `1e-1`, `expected integer, got number 1e-1`},
		{`"type":["string","null"]}`, `null`, ""},
		{`"type":["string","null"]}`, `{}`, `expected null or string, got object|expected string or null, got object`},
		{`"maximum":9007199254740992}`, `9007199254740992`, ""},
		{`"maximum":9007199254740992}`, `9007199254740993`, `expected number ≤ 9007199254740992, got number 9007199254740993`},
		{`"minimum":12345678901234567890}`, `12345678901234567889`, `expected number ≥ 12345678901234567890, got number 12345678901234567889`},
		{`"exclusiveMinimum":0}`, `0.0`, `expected number > 0, got number 0.0`},
		{`"exclusiveMinimum":-5,"exclusiveMaximum":5}`, `-4.999`, ""},
		{`"exclusiveMaximum":5}`, `5e0`, `expected number < 5, got number 5e0`},
		{`"minimum":-10}`, `-9`, ""},
		{`"minimum":-10}`, `-10.01`, `expected number ≥ -10, got number -10.01`},
		{`"const":9007199254740993}`, `9007199254740992`, `expected 9007199254740993, got number 9007199254740992`},
		{`"const":9007199254740993}`, `9007199254740993.0`, ""},
		{`"enum":["a",1,null,true]}`, `10e-1`, ""},
		{`"enum":["a",1,null,true]}`, `"\u0061"`, ""},
		{`"enum":["a",1,null,true]}`, `false`, `expected one of "a", 1, null, true, got boolean false`},
		{`"enum":["a",1,null,true]}`, `[]`, `expected one of "a", 1, null, true, got array`},
		{`"minLength":2,"maxLength":3}`, `"é😀"`, ""},
		{`"minLength":2}`, `"\ud83d\ude00"`, `expected at least 2 characters, got 1`},
		{`"maxLength":1}`, `"ab"`, `expected at most 1 character, got 2`},
		{`"pattern":"^a+$"}`, `"aaa"`, ""},
		{`"pattern":"^a+$"}`, `"b"`, `expected string matching ^a+$, got string "b"`},
		{`"items":{"type":"string"},"minItems":1,"maxItems":2}`, `["a","b"]`, ""},
		{`"items":{"type":"string"},"minItems":1}`, `[]`, `expected at least 1 item, got 0`},
		{`"items":{"type":"string"},"maxItems":1}`, `["a",2]`, `/1: expected string, got number 2|expected at most 1 item, got 2; /1: expected string, got number 2`},
		{`"additionalProperties":{"type":"integer"}}`, `{"a":1,"b":"x"}`, `/b: expected integer, got string "x"`},
		{`"properties":{"a":false}}`, `{"a":1}`, `/a: no value is allowed here`},
		{`"required":["a"],"additionalProperties":false}`, `{"a":1}`, `/a: unknown property`},
		{`"x-own":{"type":3},"format":"email","default":4}`, `"not an email"`, ""},
	}
	for _, tt := range tests {
		for _, prefix := range []string{"{", "{" + slow} {
			s := compile(t, prefix+tt.schema)
			err := s.Validate([]byte(tt.instance))
			got := ""
			if err != nil {
				got = err.Error()
				if ve := new(schema.ValidationError); !errors.As(err, &ve) {
					t.Errorf("%s: %T", tt.instance, err)
				}
			}
			ok := false
			for want := range strings.SplitSeq(tt.want, "|") {
				ok = ok || got == want
			}
			if !ok {
				t.Errorf("%s%s\n%s\ngot  %s\nwant %s", prefix, tt.schema, tt.instance, got, tt.want)
			}
		}
	}
}

func TestValidateComplete(t *testing.T) {
	tests := []struct {
		schema, instance, want string
	}{
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `true`, `expected one of integer, string, got boolean true`},
		{`{"anyOf":[{"const":"a"},{"enum":["b",1]},{"type":"null"}]}`, `"c"`, `expected one of "a", "b", 1, null, got string "c"`},
		{`{"oneOf":[{"type":"string"},{"properties":{"a":{"type":"string"}},"required":["a"]}]}`, `{"a":1}`,
			`expected string, got object; matches none of the 2 alternatives; /a: expected string, got number 1`},
		{`{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1`, `matches more than one of the alternatives`},
		{`{"allOf":[{"minimum":1},{"multipleOf":0.5}]}`, `0.7`, `expected a multiple of 0.5, got number 0.7; expected number ≥ 1, got number 0.7`},
		{`{"multipleOf":0.1}`, `0.3`, ``},
		{`{"multipleOf":3}`, `9007199254740993`, ``},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, `expected unique items, but items 0 and 2 are equal`},
		{`{"not":{"type":"null"}}`, `null`, `matches what the schema excludes`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: required when "a" is present`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `/ab: property name is not allowed`},
		{`{"minProperties":2}`, `{}`, `expected at least 2 properties, got 0`},
		{`{"contains":{"type":"null"}}`, `[1]`, `does not satisfy contains; /0: expected null, got number 1`},
		{`{"enum":[[1],{"a":2}]}`, `[1.0]`, ``},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"additionalProperties":false}}}`,
			`{"next":{"next":{"x":1}}}`, `/next/next/x: unknown property`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, `/b: required property is missing`},
		{`{"properties":{"a":{"type":"string"}},"unevaluatedProperties":false}`, `{"a":"","b":1}`, `/b: no value is allowed here`},
		{`{"$ref":"#"}`, `1`, `cannot be decided: the schema's references form a cycle`},
		// draft-07: definitions, tuples, $ref hides its siblings, format is an annotation
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"s":{"type":"string"}},"items":[{"$ref":"#/definitions/s","maxLength":1}],"additionalItems":false}`,
			`["long",1]`, `does not satisfy additionalItems`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`, `/b: required when "a" is present`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"format":"date"}]}`, `"x"`, ``},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[{"type":"string"}]}`, `[1]`, `/0: expected string, got number 1`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":5,"exclusiveMinimum":true}`, `5`, `expected number > 5, got number 5`},
		{`{"$schema":"http://json-schema.org/draft-06/schema#","const":1}`, `2`, `expected 1, got number 2`},
	}
	for _, tt := range tests {
		got := ""
		if err := compile(t, tt.schema).Validate([]byte(tt.instance)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s\n%s\ngot  %s\nwant %s", tt.schema, tt.instance, got, tt.want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"not json", `{`, "not strict JSON"},
		{"duplicate", `{"type":"string","type":"string"}`, "not strict JSON"},
		{"trailing", `{} {}`, "not strict JSON"},
		{"array", `[]`, "must be an object or a boolean"},
		{"null", `null`, "must be an object or a boolean"},
		{"dialect", `{"$schema":"https://example.com/my"}`, `unsupported dialect "https://example.com/my"`},
		{"dialect type", `{"$schema":3}`, `unsupported dialect 3`},
		{"draft-03", `{"$schema":"http://json-schema.org/draft-03/schema#"}`, `unsupported dialect "http://json-schema.org/draft-03/schema#"`},
		{"network ref", `{"$ref":"https://example.com/s.json"}`, "https://example.com/s.json"},
		{"network ref is refused", `{"properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, "reference to another document is refused"},
		{"file ref", `{"$ref":"file:///etc/passwd"}`, "reference to another document is refused"},
		{"relative ref", `{"$ref":"other.json"}`, "reference to another document is refused"},
		{"ref by id", `{"$id":"https://example.com/a","$ref":"b"}`, "reference to another document is refused"},
		{"dangling ref", `{"$ref":"#/$defs/x"}`, "not found"},
		{"bad type", `{"type":"strin"}`, "/type"},
		{"bad keyword", `{"properties":{"a":{"minLength":"x"}}}`, `/properties/a/minLength: expected integer`},
		{"bad annotation", `{"title":3}`, "/title: expected string"},
		{"lookahead", `{"pattern":"^(?!a)"}`, "/pattern"},
		{"number", `{"maximum":1e99999999}`, "number is out of range"},
		{"depth", strings.Repeat(`{"items":`, 65) + "{}" + strings.Repeat("}", 65), "nested deeper than 64"},
		{"depth of a value", `{"default":` + strings.Repeat(`[`, 64) + strings.Repeat("]", 64) + "}", "nested deeper than 64"},
		{"subschemas", `{"anyOf":[{}` + strings.Repeat(`,{}`, 10_000) + `]}`, "more than 10000 subschemas"},
		{"bytes", `{"title":"` + strings.Repeat("x", 1<<20) + `"}`, "more than 1048576"},
		{"links", `{"anyOf":[{}` + strings.Repeat(`,{"$ref":"#/x/y"}`, 5000) + `]}`, "are too many"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schema.Compile([]byte(tt.schema), schema.Limits{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	compile(t, strings.Repeat(`{"items":`, 63)+"{}"+strings.Repeat("}", 63))
	compile(t, `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`)
	compile(t, `true`)
}

// Every instance here is refused with an error that is no verdict.
func TestValidateMalformed(t *testing.T) {
	deep := strings.Repeat("[", 257) + strings.Repeat("]", 257)
	for _, raw := range []string{`{"type":"array"}`, `{` + slow + `"type":"array"}`, `{"items":{"items":{}}}`, `true`} {
		s := compile(t, raw)
		for _, in := range []string{``, `[`, `[1,]`, `[1 2]`, `[01]`, `[1.]`, `[1e]`, `[-]`, `["a]`, "[\"\n\"]", `[tru]`, `[] []`, `[1e1001]`, `[` + strings.Repeat("1", 1001) + `]`, deep} {
			err := s.Validate([]byte(in))
			if ve := new(schema.ValidationError); err == nil || errors.As(err, &ve) {
				t.Errorf("%s under %s: %v", clip(in), raw, err)
			}
		}
		if err := s.Validate([]byte(deep[1 : len(deep)-1])); err != nil {
			t.Errorf("256 levels under %s: %v", raw, err)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	for _, prefix := range []string{"{", "{" + slow} {
		err := compile(t, prefix+`"items":{"type":"string"}}`).Validate([]byte("[" + strings.Repeat("1,", 1000) + "1]"))
		ve := new(schema.ValidationError)
		if !errors.As(err, &ve) || len(ve.Problems) != 20 || !ve.More || !strings.HasSuffix(ve.Error(), "; and more") {
			t.Errorf("%s: %v", prefix, err)
		}
	}
}

// bomb is n levels that apply the next one twice to the same value.
func bomb(n int, level, last string) string {
	var sb strings.Builder
	sb.WriteString(`{"$ref":"#/$defs/l0","$defs":{`)
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/l%d"}`, i+1)
		fmt.Fprintf(&sb, `"l%d":%s,`, i, strings.ReplaceAll(level, "NEXT", next))
	}
	fmt.Fprintf(&sb, `"l%d":%s}}`, n, last)
	return sb.String()
}

func TestBudget(t *testing.T) {
	wide := `[` + strings.Repeat("1,", 50_000) + `1]`
	numbers := strings.TrimSuffix(strings.Repeat("0,", 9_000), ",")
	tests := []struct{ name, schema, instance string }{
		{"anyOf", bomb(60, `{"anyOf":[NEXT,NEXT]}`, `false`), `1`},
		{"allOf", bomb(60, `{"allOf":[NEXT,NEXT]}`, `{"type":"integer"}`), `1`},
		{"oneOf", bomb(60, `{"oneOf":[NEXT,NEXT]}`, `{"type":"string"}`), `1`},
		{"not", bomb(60, `{"not":{"anyOf":[NEXT,NEXT]}}`, `{"type":"string"}`), `1`},
		{"dependentSchemas", `{"not":` + `{"$ref":"#/$defs/r"},"$defs":{"r":` + bomb(60, `{"dependentSchemas":{"a":NEXT,"b":NEXT}}`, `false`)[len(`{"$ref":"#/$defs/l0","$defs":{"l0":`):], `{"a":1,"b":2}`},
		{"draft-07 dependencies", strings.Replace(bomb(60, `{"dependencies":{"a":NEXT,"b":NEXT}}`, `false`), "{", `{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"$ref":"#/$defs/l0"}],"x":0,`, 1), `{"a":1,"b":2}`},
		{"nested", `{"$defs":{"t":{"anyOf":[{"items":{"$ref":"#/$defs/t"},"maxItems":0},{"items":{"$ref":"#/$defs/t"},"maxItems":0},{"items":{"$ref":"#/$defs/t"}}]}},"$ref":"#/$defs/t"}`,
			strings.Repeat("[", 200) + "1" + strings.Repeat("]", 200)},
		{"dynamic", `{"$dynamicRef":"#n","$defs":{"x":{"$dynamicAnchor":"n","items":{"anyOf":[{"$dynamicRef":"#n"},{"$dynamicRef":"#n"}],"maxItems":0}}}}`,
			strings.Repeat("[", 200) + "[1]" + strings.Repeat("]", 200)},
		{"unique items", bomb(12, `{"allOf":[NEXT,NEXT]}`, `{"uniqueItems":true}`), strings.ReplaceAll(wide, "1,1]", "1,2]")},
		{"enum in bytes", `{"items":{"enum":[` + numbers + `]}}`, wide},
		{"enum", `{"$defs":{"e":{"enum":[` + numbers + `]}},"items":{"$ref":"#/$defs/e"}}`, wide},
		{"pattern", `{"items":{"pattern":"` + strings.Repeat("(a|b|ab)*", 100) + `c$"}}`, `["` + strings.Repeat("ab", 1_000_000) + `"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schema.Compile([]byte(tt.schema), schema.Limits{Steps: 400_000})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate([]byte(tt.instance)); !errors.Is(err, schema.ErrBudget) {
				t.Errorf("got %v", err)
			}
		})
	}
	s, err := schema.Compile([]byte(`{"items":{"type":"integer"}}`), schema.Limits{Steps: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate([]byte(`[1,2]`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate([]byte(`[1,2,3]`)); !errors.Is(err, schema.ErrBudget) {
		t.Error(err)
	}
}

// A validation that runs out of budget leaves nothing behind for the others.
func TestValidateConcurrently(t *testing.T) {
	s := compile(t, bomb(40, `{"properties":{"x":{}},"if":{"required":["bomb"]},"then":{"anyOf":[NEXT,NEXT]}}`, `false`))
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			if i%8 == 0 {
				errs[i] = s.Validate([]byte(`{"bomb":1}`))
			} else {
				errs[i] = s.Validate([]byte(`{"x":1}`))
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if (i%8 == 0) != errors.Is(err, schema.ErrBudget) || i%8 != 0 && err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestApplyDefaults(t *testing.T) {
	s := compile(t, `{"properties":{
		"a":{"default": 1},
		"b":{"type":"object","properties":{"c":{"default":[1, 2]},"d":{}}},
		"e":{"default":{"k": "v"},"properties":{"k":{"default":"w"}}},
		"q\"":{"default":null}}}`)
	tests := []struct{ in, want string }{
		{`{}`, `{"a":1,"e":{"k":"v"},"q\"":null}`},
		{` { } `, ` { "a":1,"e":{"k":"v"},"q\"":null} `},
		{`{"a":2,"e":{"k":0},"q\"":3}`, ""},
		{`{"b":{},"a":9007199254740993,"e":{},"q\u0022":0}`, `{"b":{"c":[1,2]},"a":9007199254740993,"e":{"k":"w"},"q\u0022":0}`},
		{`{"b":{"d":{"c":1}},"z":[{}]}`, `{"b":{"d":{"c":1},"c":[1,2]},"z":[{}],"a":1,"e":{"k":"v"},"q\"":null}`},
		{`{"b":7,"a":0,"e":1,"q\"":2}`, ""},
		{`[]`, ""}, {`null`, ""}, {`{"b":`, ""}, {``, ""}, {`{} x`, ""},
	}
	for _, tt := range tests {
		in := []byte(tt.in)
		got := s.ApplyDefaults(in)
		if want := tt.want; want == "" {
			if string(got) != tt.in || len(got) > 0 && &got[0] != &in[0] {
				t.Errorf("%s: got %s, want the same bytes", tt.in, got)
			}
		} else if string(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.in, got, want)
		}
		if string(in) != tt.in {
			t.Errorf("%s was changed to %s", tt.in, in)
		}
	}
	in := []byte(`{}`)
	if got := compile(t, `{"properties":{"a":{}}}`).ApplyDefaults(in); &got[0] != &in[0] {
		t.Error("a copy without need")
	}
}

func TestRaw(t *testing.T) {
	in := []byte(` {"type":"string" } `)
	s, err := schema.Compile(in, schema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	in[2] = 'x'
	if string(s.Raw()) != ` {"type":"string" } ` {
		t.Errorf("got %s", s.Raw())
	}
}
