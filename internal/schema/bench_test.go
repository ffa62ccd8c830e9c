package schema_test

import (
	"reflect"
	"strconv"
	"testing"

	"mcpv/internal/schema"
)

func quoteTag(s string) string { return strconv.Quote(s) }

const (
	oneString = `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"],"additionalProperties":false}`
	hello     = `{"message":"hello"}`
)

// The byte validator allocates nothing on the way to "valid".
func TestValidateAllocates(t *testing.T) {
	tests := []struct{ schema, instance string }{
		{oneString, hello},
		{`{"properties":{"a":{"enum":[1,2]},"b":{"items":{"type":"integer","minimum":0}},"c":{"pattern":"^x+$","maxLength":9}}}`,
			`{"a":2.0,"b":[1,2,12345678901234567890],"c":"xxx","d":{"e":[{}]}}`},
	}
	for _, tt := range tests {
		s, in := compile(t, tt.schema), []byte(tt.instance)
		if n := testing.AllocsPerRun(100, func() {
			if err := s.Validate(in); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", tt.instance, n)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, bm := range []struct{ name, schema string }{{"bytes", oneString}, {"full", `{` + slow + oneString[1:]}} {
		b.Run(bm.name, func(b *testing.B) {
			s, in := compile(b, bm.schema), []byte(hello)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Validate(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, bm := range []struct{ name, schema string }{{"bytes", oneString}, {"full", `{` + slow + oneString[1:]}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := schema.Compile([]byte(bm.schema), schema.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFor(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.For(reflect.TypeFor[forest](), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyDefaults(b *testing.B) {
	s, in := compile(b, `{"properties":{"message":{},"n":{"default":1}}}`), []byte(hello)
	b.ReportAllocs()
	for b.Loop() {
		if got := s.ApplyDefaults(in); len(got) == len(in) {
			b.Fatal("no default")
		}
	}
}
