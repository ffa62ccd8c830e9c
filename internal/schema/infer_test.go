package schema_test

import (
	stdjson "encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpv/internal/schema"
)

type (
	inner struct {
		X int `json:"x"`
	}
	tree struct {
		Value    string `json:"value"`
		Children []tree `json:"children,omitempty"`
	}
	forest struct {
		First *tree           `json:"first" jsonschema:"the first one"`
		All   map[string]tree `json:"all"`
	}
	ping struct {
		Pong *pong `json:"pong"`
	}
	pong struct {
		Ping *ping `json:"ping"`
	}
	nest  map[string]nest
	Base  struct{ ID, Name string }
	outer struct {
		Base
		*inner
		Name int      `json:"Name"`
		Skip string   `json:"-"`
		Dash string   `json:"dash"`
		Fn   struct{} `json:"fn"`
		priv int
	}
	left  struct{ Both, L int }
	right struct{ Both, R int }
	clash struct {
		left
		right
	}
	catchAll struct {
		A    int            `json:"a"`
		Rest map[string]int `json:",embed"`
	}
	level  int
	custom struct{}
)

func (l level) MarshalText() ([]byte, error)   { return []byte("lvl"), nil }
func (c *custom) MarshalJSON() ([]byte, error) { return []byte("null"), nil }
func (o outer) use() int                       { return o.priv }
func props(s, required string) string          { return object(s, required, `,"additionalProperties":false`) }
func object(s, required, tail string) string {
	if required != "" {
		required = `,"required":[` + required + `]`
	}
	return `{"type":"object","properties":{` + s + `}` + required + tail + `}`
}

func TestForTypes(t *testing.T) {
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"string", "", `{"type":"string"}`},
		{"bool", true, `{"type":"boolean"}`},
		{"int", 0, `{"type":"integer"}`},
		{"int8", int8(0), `{"type":"integer","minimum":-128,"maximum":127}`},
		{"uint64", uint64(0), `{"type":"integer","minimum":0}`},
		{"uint32", uint32(0), `{"type":"integer","minimum":0,"maximum":4294967295}`},
		{"float", 1.5, `{"type":"number"}`},
		{"pointer", new(int), `{"type":"integer"}`},
		{"slice is never null", []string{}, `{"type":"array","items":{"type":"string"}}`},
		{"slice of any", []any{}, `{"type":"array","items":{}}`},
		{"array", [2]bool{}, `{"type":"array","minItems":2,"maxItems":2,"items":{"type":"boolean"}}`},
		{"bytes", []byte{}, `{"type":"string","contentEncoding":"base64"}`},
		{"byte array", [4]byte{}, `{"type":"string","contentEncoding":"base64"}`},
		{"map", map[string]int{}, `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"map of any", map[int]any{}, `{"type":"object"}`},
		{"time", time.Time{}, `{"type":"string","format":"date-time"}`},
		{"number", stdjson.Number(""), `{"type":"number"}`},
		{"big", &big.Int{}, `{"type":"integer"}`},
		{"raw", jsontext.Value{}, `{}`},
		{"raw v1", stdjson.RawMessage{}, `{}`},
		{"text marshaler", netip.Addr{}, `{"type":"string"}`},
		{"own text", level(0), `{"type":"string"}`},
		{"own json", custom{}, `{}`},
		{"empty struct", struct{}{}, props("", "")},
		{"embedded", outer{}, props(`"ID":{"type":"string"},"x":{"type":"integer"},"Name":{"type":"integer"},"dash":{"type":"string"},"fn":`+props("", ""),
			`"ID","x","Name","dash","fn"`)},
		{"same name at the same depth", clash{}, props(`"L":{"type":"integer"},"R":{"type":"integer"}`, `"L","R"`)},
		{"embedded map", catchAll{}, object(`"a":{"type":"integer"}`, `"a"`, `,"additionalProperties":{"type":"integer"}`)},
		{"optional fields", struct {
			A int    `json:"a,omitempty"`
			B int    `json:"b,omitzero"`
			C *int   `json:"c"`
			D int    `json:"d" jsonschema:"default=3"`
			E []int  `json:"e"`
			F int64  `json:"f,string"`
			G string `json:",omitempty"`
		}{}, props(`"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"},"d":{"type":"integer","default":3},`+
			`"e":{"type":"array","items":{"type":"integer"}},"f":{"type":"string"},"G":{"type":"string"}`, `"e","f"`)},
		{"recursive root", tree{}, props(`"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}`, `"value"`)},
		{"recursive below", forest{}, object(`"first":{"$ref":"#/$defs/tree","description":"the first one"},"all":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}}`,
			`"all"`, `,"additionalProperties":false,"$defs":{"tree":`+
				props(`"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}`, `"value"`)+`}`)},
		{"mutually recursive", ping{}, props(`"pong":`+props(`"ping":{"$ref":"#"}`, ""), "")},
		{"recursive map", nest{}, `{"type":"object","additionalProperties":{"$ref":"#"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := schema.For(reflect.TypeOf(tt.v), nil)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if _, err := schema.Compile(got, schema.Limits{}); err != nil {
				t.Errorf("own schema does not compile: %v", err)
			}
		})
	}
}

func TestForTags(t *testing.T) {
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"bare description", struct {
			A string `json:"a" jsonschema:"a name, e.g. x=1"`
		}{}, `{"type":"string","description":"a name, e.g. x=1"}`},
		{"all of a string", struct {
			A string `json:"a" jsonschema:"title=T,minLength=1,maxLength=3,pattern=^[a-z]{1,3}$,format=word,example=abc,deprecated,description=d, minimum=1, x"`
		}{}, `{"type":"string","title":"T","description":"d, minimum=1, x","deprecated":true,"examples":["abc"],"minLength":1,"maxLength":3,"pattern":"^[a-z]{1,3}$","format":"word"}`},
		{"enum", struct {
			A string `json:"a" jsonschema:"enum=low|mid, or so|high,default=low"`
		}{}, `{"type":"string","enum":["low","mid, or so","high"],"default":"low"}`},
		{"enum as json", struct {
			A string `json:"a" jsonschema:"enum=[\"a|b\",\"c\"]"`
		}{}, `{"type":"string","enum":["a|b","c"]}`},
		{"numbers", struct {
			A uint8 `json:"a" jsonschema:"minimum=1,maximum=100,enum=1|2|3,examples=1|2"`
		}{}, `{"type":"integer","enum":[1,2,3],"examples":[1,2],"minimum":1,"maximum":100}`},
		{"float", struct {
			A float64 `json:"a" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1e3,multipleOf=0.5"`
		}{}, `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1e3,"multipleOf":0.5}`},
		{"huge", struct {
			A uint64 `json:"a" jsonschema:"maximum=18446744073709551615"`
		}{}, `{"type":"integer","minimum":0,"maximum":18446744073709551615}`},
		{"bool", struct {
			A bool `json:"a" jsonschema:"default=true"`
		}{}, `{"type":"boolean","default":true}`},
		{"slice and its elements", struct {
			A []string `json:"a" jsonschema:"enum=x|y,minItems=1,maxItems=4,uniqueItems,default=[\"x\", \"y\"],description=some"`
		}{}, `{"type":"array","description":"some","default":["x","y"],"minItems":1,"maxItems":4,"uniqueItems":true,"items":{"type":"string","enum":["x","y"]}}`},
		{"map", struct {
			A map[string]int `json:"a" jsonschema:"minProperties=1,maxProperties=2"`
		}{}, `{"type":"object","minProperties":1,"maxProperties":2,"additionalProperties":{"type":"integer"}}`},
		{"header", struct {
			A string `json:"a" jsonschema:"x-mcp-header=Region,description=where"`
		}{}, `{"type":"string","description":"where","x-mcp-header":"Region"}`},
		{"flag word in prose", struct {
			A string `json:"a" jsonschema:"deprecated, use b"`
		}{}, `{"type":"string","description":"deprecated, use b"}`},
		{"default on any", struct {
			A any `json:"a" jsonschema:"default={\"k\": null}"`
		}{}, `{"default":{"k":null}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := schema.For(reflect.TypeOf(tt.v), &schema.Options{Open: true})
			if err != nil {
				t.Fatal(err)
			}
			want := `{"type":"object","properties":{"a":` + tt.want + `}`
			if !strings.Contains(tt.want, `"default"`) {
				want += `,"required":["a"]`
			}
			if want += "}"; string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestForErrors(t *testing.T) {
	type deep struct {
		Region string `json:"region" jsonschema:"x-mcp-header=R"`
	}
	tests := []struct {
		v    any
		want string
	}{
		{struct {
			A string `jsonschema:"minimum=1"`
		}{}, "A: minimum does not fit string"},
		{struct {
			A int `jsonschema:"enum=1|x"`
		}{}, `A: enum: "x" is not JSON for integer`},
		{struct {
			A int `jsonschema:"enum=1|1.5"`
		}{}, `A: enum: "1.5" is not integer`},
		{struct {
			A string `jsonschema:"pattern=(?!x)"`
		}{}, "A: pattern: error parsing regexp"},
		{struct {
			A string `jsonschema:"minimun=1"`
		}{}, `A: unknown key "minimun"`},
		{struct {
			A string `jsonschema:""`
		}{}, "A: empty jsonschema tag"},
		{struct {
			A string `jsonschema:"title=a,title=b"`
		}{}, "A: title is given twice"},
		{struct {
			A int8 `jsonschema:"maximum=300"`
		}{}, "A: maximum=300 is out of the type's range"},
		{struct {
			A int8 `jsonschema:"default=300"`
		}{}, "A: default 300: expected number ≤ 127, got number 300"},
		{struct {
			A string `jsonschema:"enum=a|b,default=c"`
		}{}, `A: default "c": expected one of "a", "b", got string "c"`},
		{struct {
			A string `jsonschema:"minLength=-1"`
		}{}, `A: minLength: "-1" is not a natural number`},
		{struct {
			A float64 `jsonschema:"multipleOf=0"`
		}{}, "A: multipleOf: must be greater than 0"},
		{struct {
			A []int `jsonschema:"default=3"`
		}{}, `A: default: "3" is not array`},
		{struct {
			A float64 `jsonschema:"x-mcp-header=X"`
		}{}, "A: x-mcp-header does not fit number"},
		{struct {
			A string `jsonschema:"x-mcp-header=a b"`
		}{}, `A: x-mcp-header: "a b" is not a header token`},
		{struct {
			A, B string `jsonschema:"x-mcp-header=X"`
		}{}, "is used twice"},
		{struct{ A []deep }{}, "deep.Region: x-mcp-header must be reachable"},
		{struct {
			A string `json:",string"`
		}{}, "A: the json option string needs a number"},
		{struct{ A chan int }{}, "A: chan int has no JSON form"},
		{struct{ A time.Duration }{}, "A: time.Duration has no JSON form"},
		{struct{ A map[float64]int }{}, "A: map[float64]int: a key must be"},
	}
	for _, tt := range tests {
		_, err := schema.For(reflect.TypeOf(tt.v), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T\ngot  %v\nwant %s", tt.v, err, tt.want)
		}
	}
	if _, err := schema.For(nil, nil); err == nil {
		t.Error("no error for the nil type")
	}
}

// Types that contain each other twice at every level must not multiply without end.
func TestForBounded(t *testing.T) {
	typ := reflect.TypeFor[string]()
	for range 20 {
		typ = reflect.StructOf([]reflect.StructField{{Name: "A", Type: typ}, {Name: "B", Type: typ}})
	}
	if _, err := schema.For(typ, nil); err == nil || !strings.Contains(err.Error(), "subschemas") {
		t.Errorf("got %v", err)
	}
}

func TestForGivenTypes(t *testing.T) {
	type in struct {
		C custom `json:"c" jsonschema:"a colour"`
	}
	o := &schema.Options{Types: map[reflect.Type]jsontext.Value{
		reflect.TypeFor[custom](): jsontext.Value(`{"oneOf": [{"const":"red"},{"type":"integer"}]}`),
	}}
	got, err := schema.For(reflect.TypeFor[in](), o)
	if err != nil {
		t.Fatal(err)
	}
	want := props(`"c":{"description":"a colour","oneOf":[{"const":"red"},{"type":"integer"}]}`, `"c"`)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCache(t *testing.T) {
	c := schema.NewCache(nil)
	var wg sync.WaitGroup
	results := make([][]byte, 8)
	for i := range results {
		wg.Go(func() { results[i], _ = c.For(reflect.TypeFor[forest]()) })
	}
	wg.Wait()
	for _, r := range results {
		if string(r) != string(results[0]) || len(r) == 0 {
			t.Fatalf("got %s and %s", r, results[0])
		}
	}
	if _, err := c.For(reflect.TypeFor[chan int]()); err == nil {
		t.Error("no error for a channel")
	}
}

// What the encoder writes is valid under the schema of its type.
func TestForMatchesEncoder(t *testing.T) {
	n := 7
	values := []any{
		tree{"a", []tree{{"b", nil}}},
		forest{First: &tree{Value: "x"}, All: map[string]tree{"k": {Value: "v"}}},
		outer{Base: Base{ID: "1"}, inner: &inner{3}, Name: (outer{}).use()},
		catchAll{1, map[string]int{"z": 2}},
		struct {
			T time.Time
			B []byte
			A [3]byte
			S []string
			M map[int]bool
			P *int
			N netip.Addr
			I int64 `json:",string"`
			U uint64
			J stdjson.Number `json:",omitempty"`
			V jsontext.Value
			X any
		}{T: time.Unix(0, 0), P: &n, N: netip.MustParseAddr("::1"), U: 1<<64 - 1, V: jsontext.Value(`[1]`), M: map[int]bool{1: true}},
	}
	for _, v := range values {
		raw, err := schema.For(reflect.TypeOf(v), nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema.Compile(raw, schema.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(data); err != nil {
			t.Errorf("%s\nunder %s\n%v", data, raw, err)
		}
	}
}
