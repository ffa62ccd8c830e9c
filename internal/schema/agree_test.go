package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcpv/internal/schema"
)

var (
	names   = []string{"a", "b", "c", "é", "a/b"}
	numbers = []string{"0", "-0", "1", "1.0", "10e-1", "2", "-1", "-1.5", "1.5", "15e-1", "0.15E1", "9007199254740992", "9007199254740993",
		"9007199254740993.0", "12345678901234567890", "1234567890123456789e1", "-12345678901234567890", "1e20", "1e-20", "0e5", "100000000000000000000", "0.00000000000000000001"}
	strs     = []string{`""`, `"a"`, `"\u0061"`, `"ab"`, `"é"`, `"\ud83d\ude00"`, `"a\nb"`, `"1"`, `"true"`}
	words    = []string{"true", "false", "null"}
	patterns = []string{`"^a"`, `"b$"`, `"^.$"`, `"^[a-z]*$"`, `"\\d+"`, `""`}
)

func pick(t *rapid.T, list []string) string { return rapid.SampledFrom(list).Draw(t, "pick") }

func scalarText(t *rapid.T) string {
	return pick(t, [][]string{numbers, strs, words}[rapid.IntRange(0, 2).Draw(t, "kind")])
}

// instanceText draws a value, biased to what the schemas below look at.
func instanceText(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 4).Draw(t, "instance")
	if depth == 0 || kind < 2 {
		return scalarText(t)
	}
	n := rapid.IntRange(0, 4).Draw(t, "size")
	var parts []string
	if kind == 2 {
		for range n {
			parts = append(parts, instanceText(t, depth-1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for _, name := range names[:n] {
		if rapid.Bool().Draw(t, "present") {
			parts = append(parts, fmt.Sprintf("%q: %s", name, instanceText(t, depth-1)))
		}
	}
	return "{" + strings.Join(parts, " , ") + "}"
}

// schemaText draws a schema of the common subset.
func schemaText(t *rapid.T, depth int) string {
	if rapid.IntRange(0, 19).Draw(t, "boolean") == 0 {
		return pick(t, []string{"true", "false"})
	}
	count := func() string { return fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "count")) }
	sub := func() string {
		if depth == 0 {
			return "{}"
		}
		return schemaText(t, depth-1)
	}
	keywords := map[string]func() string{
		"type": func() string {
			return pick(t, []string{`"null"`, `"boolean"`, `"integer"`, `"number"`, `"string"`, `"array"`, `"object"`, `"object"`,
				`["integer","string"]`, `["null","object"]`, `["array","number"]`})
		},
		"enum":                 func() string { return "[" + scalarText(t) + "," + scalarText(t) + "," + scalarText(t) + "]" },
		"const":                func() string { return scalarText(t) },
		"minimum":              func() string { return pick(t, numbers) },
		"maximum":              func() string { return pick(t, numbers) },
		"exclusiveMinimum":     func() string { return pick(t, numbers) },
		"exclusiveMaximum":     func() string { return pick(t, numbers) },
		"minLength":            count,
		"maxLength":            count,
		"minItems":             count,
		"maxItems":             count,
		"uniqueItems":          func() string { return "false" },
		"pattern":              func() string { return pick(t, patterns) },
		"items":                sub,
		"additionalProperties": sub,
		"required":             func() string { return fmt.Sprintf("[%q]", pick(t, names)) },
		"format":               func() string { return `"date-time"` },
		"default":              func() string { return "{}" },
		"x-y":                  func() string { return "1" },
		"properties": func() string {
			var parts []string
			for _, name := range names[:rapid.IntRange(0, len(names)).Draw(t, "props")] {
				parts = append(parts, fmt.Sprintf("%q:%s", name, sub()))
			}
			return "{" + strings.Join(parts, ",") + "}"
		},
	}
	order := []string{"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems",
		"maxItems", "uniqueItems", "pattern", "items", "additionalProperties", "required", "format", "default", "x-y", "properties", "properties", "items", "type"}
	var parts []string
	used := map[string]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "keywords") {
		key := pick(t, order)
		if !used[key] {
			used[key] = true
			parts = append(parts, fmt.Sprintf("%q:%s", key, keywords[key]()))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// verdict is valid, invalid, or neither.
func verdict(err error) string {
	ve := new(schema.ValidationError)
	switch {
	case err == nil:
		return "valid"
	case errors.As(err, &ve):
		return "invalid"
	}
	return "refused"
}

// pair compiles a schema of the subset for each of the two validators.
func pair(raw string) (fast, full *schema.Schema, err error) {
	if fast, err = schema.Compile([]byte(raw), schema.Limits{}); err != nil {
		return nil, nil, err
	}
	wrapped := `{` + slow + `"allOf":[` + raw + `]}`
	if dialect := `{"$schema":"http://json-schema.org/draft-07/schema#"`; strings.HasPrefix(raw, dialect) {
		wrapped = dialect + `,` + strings.TrimPrefix(wrapped, "{")
	}
	full, err = schema.Compile([]byte(wrapped), schema.Limits{})
	return fast, full, err
}

func TestValidatorsAgree(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		raw := schemaText(t, 2)
		fast, full, err := pair(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if !fast.Fast() || full.Fast() {
			t.Fatalf("%s: in the subset %v, wrapped %v", raw, fast.Fast(), full.Fast())
		}
		for range 5 {
			in := instanceText(t, 3)
			got, want := fast.Validate([]byte(in)), full.Validate([]byte(in))
			seen[verdict(got)]++
			if verdict(got) != verdict(want) {
				t.Fatalf("schema   %s\ninstance %s\nbytes    %v\nfull     %v", raw, in, got, want)
			}
		}
	})
	t.Log(seen)
	if seen["valid"] == 0 || seen["invalid"] == 0 {
		t.Errorf("the verdicts are too uniform to compare: %v", seen)
	}
}
