package mcpheader_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mcpv/internal/mcpheader"
)

func b64(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }

func TestEncode(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "",
		"search":           "search",
		"a b\tc":           "a b\tc",
		"file:///x?y=%20":  "file:///x?y=%20",
		" a":               b64(" a"),
		"a\t":              b64("a\t"),
		"a\nb":             b64("a\nb"),
		"\x7f":             b64("\x7f"),
		"Hello, 世界":        "=?base64?SGVsbG8sIOS4lueVjA==?=",
		"=?base64?SGk=?=":  b64("=?base64?SGk=?="),
		"=?base64??=":      b64("=?base64??="),
		"=?base64?=":       "=?base64?=",
		"=?BASE64?SGk=?=":  "=?BASE64?SGk=?=",
		"=?base64?no end=": "=?base64?no end=",
	} {
		if got := mcpheader.Encode(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if back, err := mcpheader.Decode(want); back != in || err != nil {
			t.Errorf("decode %q: got %q, %v", want, back, err)
		}
	}
}

func TestDecode(t *testing.T) {
	for in, want := range map[string]string{
		"  a b \t":                  "a b",
		" =?base64?SGk=?= ":         "Hi",
		"=?base64??=":               "",
		"=?base64?" + "AAo=" + "?=": "\x00\n",
	} {
		if got, err := mcpheader.Decode(in); got != want || err != nil {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]error{
		"a\nb":                mcpheader.ErrCharacter,
		"a\x00":               mcpheader.ErrCharacter,
		"é":                   mcpheader.ErrCharacter,
		"\xff":                mcpheader.ErrCharacter,
		"=?base64?SGk\n=?=":   mcpheader.ErrCharacter,
		"=?base64?SGk?=":      mcpheader.ErrBase64,
		"=?base64?SGl=?=":     mcpheader.ErrBase64,
		"=?base64?S Gk=?=":    mcpheader.ErrBase64,
		"=?base64?!!!!?=":     mcpheader.ErrBase64,
		"=?base64?_-8=?=":     mcpheader.ErrBase64,
		"=?base64?//79/w==?=": mcpheader.ErrUTF8,
	} {
		if got, err := mcpheader.Decode(in); !errors.Is(err, want) || got != "" {
			t.Errorf("%q: got %q, %v, want %v", in, got, err, want)
		}
	}
}

// What Encode returns has to survive a real request.
func TestOverHTTP(t *testing.T) {
	value := " \tHello\r\n世界\x00 =?base64? "
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := mcpheader.Decode(r.Header.Get(mcpheader.Param("greeting")))
		fmt.Fprintf(w, "%q %v", got, err)
	}))
	defer srv.Close()
	req, err := http.NewRequest("POST", srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(mcpheader.Param("Greeting"), mcpheader.Encode(value))
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if want := fmt.Sprintf("%q <nil>", value); string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestValidateAnnotation(t *testing.T) {
	for _, ok := range []string{"Region", "x-1", "!#$%&'*+-.^_`|~"} {
		if err := mcpheader.ValidateAnnotation(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{"", "a b", "a:b", "a\n", "é", "a/b", "\x00", "a\"", "(x)"} {
		if mcpheader.ValidateAnnotation(bad) == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestCompare(t *testing.T) {
	tests := []struct {
		header, body string
		want         bool
	}{
		{"a", `"a"`, true},
		{" a ", `"a"`, true},
		{"A", `"a"`, false},
		{"a", `"\u0061"`, true},
		{b64("世界"), `"世界"`, true},
		{b64("世界"), `"\u4e16\u754c"`, true},
		{b64("a"), `"a"`, true},
		{"", `""`, true},
		{"=?base64?SGk?=", `"Hi"`, false},
		{"=?base64?SGk=?=", `"=?base64?SGk=?="`, false},
		{"42", `42`, true},
		{"42", `42.0`, true},
		{"42.0", `42`, true},
		{"42", `4.2e1`, true},
		{"42", `420E-1`, true},
		{"42", `4.2e+1`, true},
		{"42", `4.2e+-1`, false},
		{"42", `"42"`, true}, // both are the string 42 to a schema of strings
		{"42", `42.5`, false},
		{"42.5", `42.5`, false},
		{"042", `42`, false},
		{"+42", `42`, false},
		{"0x2a", `42`, false},
		{"-0", `0`, true},
		{"-7", `-7`, true},
		{"7", `-7`, false},
		{"9007199254740991", `9007199254740991`, true},
		{"-9007199254740991", `-9007199254740991`, true},
		{"9007199254740992", `9007199254740992`, false},
		{"9007199254740991", `9007199254740990.9`, false},
		{"1e400", `1e400`, false},
		{"1e99999999999999999999", `1e99999999999999999999`, false},
		{"0", `0e99999999999999999999`, true},
		{"1", `10e-99999999999999999999`, false},
		{"true", `true`, true},
		{"false", `false`, true},
		{"True", `true`, false},
		{"1", `true`, false},
		{"true", `"true"`, true},
		{"null", `null`, false},
		{"", `null`, false},
		{"", ``, false},
		{"{}", `{}`, false},
		{"[]", `[]`, false},
		{"a", `"a`, false},
	}
	for _, tt := range tests {
		if got := mcpheader.Compare(tt.header, []byte(tt.body)); got != tt.want {
			t.Errorf("%q with %s: %v", tt.header, tt.body, got)
		}
	}
}

func TestValue(t *testing.T) {
	for raw, want := range map[string]string{
		`"us-west1"`: "us-west1", `"é"`: b64("é"), `42`: "42", `42.0`: "42", `-1e2`: "-100",
		`true`: "true", `false`: "false", ` "x" `: "x", `""`: "",
	} {
		if got, ok, err := mcpheader.Value([]byte(raw)); got != want || !ok || err != nil {
			t.Errorf("%s: got %q, %v, %v", raw, got, ok, err)
		}
	}
	if got, ok, err := mcpheader.Value([]byte("null")); got != "" || ok || err != nil {
		t.Errorf("null: got %q, %v, %v", got, ok, err)
	}
	for _, raw := range []string{``, `1.5`, `9007199254740993`, `{}`, `[]`, `"a`, `nul`, `1e400`} {
		if _, ok, err := mcpheader.Value([]byte(raw)); ok || !errors.Is(err, mcpheader.ErrValue) {
			t.Errorf("%s: %v, %v", raw, ok, err)
		}
	}
}

func TestBindings(t *testing.T) {
	schema := `{
		"type": "object",
		"properties": {
			"region": {"type": "string", "x-mcp-header": "Region"},
			"opt": {"type": "object", "properties": {
				"limit": {"x-mcp-header": "Limit", "type": "integer", "minimum": 1},
				"properties": {"type": "boolean", "x-mcp-header": "Deep"}
			}},
			"x-mcp-header": {"type": "string"},
			"plain": {"type": "array", "items": {"type": "string"}, "default": {"x-mcp-header": "no annotation"}},
			"any": true
		},
		"examples": [{"properties": {"a": {"x-mcp-header": ""}}}],
		"required": ["region"]
	}`
	got, err := mcpheader.Bindings([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	want := []mcpheader.Binding{
		{Header: "Region", Path: []string{"region"}, Type: "string"},
		{Header: "Limit", Path: []string{"opt", "limit"}, Type: "integer"},
		{Header: "Deep", Path: []string{"opt", "properties"}, Type: "boolean"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if got, err := mcpheader.Bindings([]byte(`{"type":"object"}`)); len(got) != 0 || err != nil {
		t.Errorf("no annotation: %v, %v", got, err)
	}
}

func TestBindingsRefuses(t *testing.T) {
	in := func(s string) string { return `{"type":"object",` + s + `}` }
	a := `{"type":"string","x-mcp-header":"A"}`
	tests := map[string]string{
		"number":          in(`"properties":{"a":{"type":"number","x-mcp-header":"A"}}`),
		"object":          in(`"properties":{"a":{"type":"object","x-mcp-header":"A"}}`),
		"array":           in(`"properties":{"a":{"type":"array","x-mcp-header":"A"}}`),
		"null":            in(`"properties":{"a":{"type":"null","x-mcp-header":"A"}}`),
		"union":           in(`"properties":{"a":{"type":["string","integer"],"x-mcp-header":"A"}}`),
		"no type":         in(`"properties":{"a":{"x-mcp-header":"A"}}`),
		"empty":           in(`"properties":{"a":{"type":"string","x-mcp-header":""}}`),
		"not a string":    in(`"properties":{"a":{"type":"string","x-mcp-header":1}}`),
		"not a token":     in(`"properties":{"a":{"type":"string","x-mcp-header":"A B"}}`),
		"control":         in(`"properties":{"a":{"type":"string","x-mcp-header":"A\u000a"}}`),
		"twice":           in(`"properties":{"a":` + a + `,"b":{"type":"string","x-mcp-header":"a"}}`),
		"twice, nested":   in(`"properties":{"a":` + a + `,"b":{"properties":{"c":` + a + `}}}`),
		"root":            in(`"x-mcp-header":"A"`),
		"escaped keyword": in(`"properties":{"a":{"type":"number","x-mcp-heade\u0072":"A"}}`),
		"malformed":       in(`"properties":{"a":` + a),
		"duplicate name":  in(`"properties":{"a":` + a + `,"a":` + a + `}`),
		"deep":            strings.Repeat(`{"not":`, 300) + a + strings.Repeat(`}`, 300),
	}
	for _, k := range []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems"} {
		tests[k] = in(`"properties":{"x":{"` + k + `":` + a + `}}`)
		tests[k+" then properties"] = in(`"` + k + `":{"properties":{"a":` + a + `}}`)
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"} {
		tests[k+" list"] = in(`"` + k + `":[true,` + a + `]`)
	}
	for _, k := range []string{"patternProperties", "$defs", "definitions", "dependentSchemas"} {
		tests[k] = in(`"` + k + `":{"a":` + a + `}`)
	}
	for name, schema := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := mcpheader.Bindings([]byte(schema)); err == nil {
				t.Errorf("accepted: %v", got)
			}
		})
	}
}

func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "a", " a", "a\r\nX: y", "世界", "=?base64??=", "=?base64?SGk=?=", "\t", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := mcpheader.Decode(s); err == nil {
			if !utf8.ValidString(v) {
				t.Errorf("%q decodes to invalid utf-8", s)
			}
			if back, err := mcpheader.Decode(mcpheader.Encode(v)); back != v || err != nil {
				t.Errorf("%q: %q does not come back: %q, %v", s, v, back, err)
			}
		}
		if !utf8.ValidString(s) {
			return
		}
		enc := mcpheader.Encode(s)
		if strings.ContainsFunc(enc, func(c rune) bool { return c != '\t' && (c < ' ' || c > '~') }) || strings.Trim(enc, " \t") != enc {
			t.Errorf("%q: unsafe header %q", s, enc)
		}
		if back, err := mcpheader.Decode(enc); back != s || err != nil {
			t.Errorf("%q became %q, then %q, %v", s, enc, back, err)
		}
		raw, _ := json.Marshal(s)
		if !mcpheader.Compare(enc, raw) || mcpheader.Compare(mcpheader.Encode(s+"x"), raw) {
			t.Errorf("%q: compare with %s", enc, raw)
		}
	})
}

// Numbers agree exactly when they are the same integer within the range.
func FuzzCompareNumber(f *testing.F) {
	for _, s := range []string{"0", "-0.0", "42", "4.2e1", "9007199254740993", "1e15", "100e-2", "0.1", "1E+2", "01", "1.", "--1"} {
		f.Add(s)
	}
	limit := new(big.Rat).SetInt64(1<<53 - 1)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 40 || strings.ContainsAny(s, " \t\r\n") || strings.Contains(strings.ToLower(s), "e") && len(s) > 6 {
			return
		}
		got, ok, err := mcpheader.Value([]byte(s))
		var n json.Number
		if s == "" || s[0] == '"' || json.Unmarshal([]byte(s), &n) != nil || s == "null" || s == "true" || s == "false" {
			return
		}
		r, _ := new(big.Rat).SetString(s)
		want := r.IsInt() && new(big.Rat).Abs(r).Cmp(limit) <= 0
		if ok != want || (err == nil) != want {
			t.Fatalf("%s: %q, %v, %v", s, got, ok, err)
		}
		if ok && (got != r.Num().String() || !mcpheader.Compare(got, []byte(s))) {
			t.Errorf("%s became %s", s, got)
		}
	})
}

func FuzzBindings(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`))
	f.Add([]byte(`{"items":[{"x-mcp-header":"A"}],"properties":true}`))
	f.Add([]byte(`{"x-mcp-header":`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		got, err := mcpheader.Bindings(schema)
		if err != nil && got != nil {
			t.Error("bindings beside an error")
		}
		for _, b := range got {
			if len(b.Path) == 0 || mcpheader.ValidateAnnotation(b.Header) != nil {
				t.Errorf("bad binding %+v", b)
			}
		}
	})
}
