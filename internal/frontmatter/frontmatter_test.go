package frontmatter_test

import (
	"bytes"
	"strings"
	"testing"

	"mcpv/internal/frontmatter"
	"mcpv/internal/rawjson"
)

var frontmatters = []struct{ yaml, json string }{
	{"name: a\ndescription: b", `{"name":"a","description":"b"}`},
	{"a: 1\nb: -0.50\nc: +7\nd: 0x1F\ne: 0o17\nf: 1e3\ng: .5\nh: 5.\ni: 007\nj: 1_000", `{"a":1,"b":-0.5,"c":7,"d":31,"e":15,"f":1000,"g":0.5,"h":5,"i":7,"j":"1_000"}`},
	{"a: true\nb: False\nc: yes\nd: ~\ne:\nf: null\ng: 2025-01-01\nh: 1.2.3\ni: e5\nj: .", `{"a":true,"b":false,"c":"yes","d":null,"e":null,"f":null,"g":"2025-01-01","h":"1.2.3","i":"e5","j":"."}`},
	{"a: 'it''s'\nb: \"x\\ty\\u00fc\\n\"\n\"c d\": 'true'\n'e:f': g", `{"a":"it's","b":"x\tyü\n","c d":"true","e:f":"g"}`},
	{"# c\na: b # d\n\nc: d#e\nf: http://x/y", `{"a":"b","c":"d#e","f":"http://x/y"}`},
	{"a:\n  b:\n    c: 1\n  d: 2\ne: 3", `{"a":{"b":{"c":1},"d":2},"e":3}`},
	{"a:\n- 1\n- b: 2\n  c: 3\n-\n  d\n- - x\n  - y\nz: 1", `{"a":[1,{"b":2,"c":3},"d",["x","y"]],"z":1}`},
	{"a:\n  - x\n  - 'y'\n", `{"a":["x","y"]}`},
	{"a: [1, b c, \"d, e\", [f], {g: h, 'i': [ ]}]\nb: {}\nc: [a, ]", `{"a":[1,"b c","d, e",["f"],{"g":"h","i":[]}],"b":{},"c":["a"]}`},
	{"a: one\n  two\n\n  three\nb: c", `{"a":"one two\nthree","b":"c"}`},
	{"a:\n  one\n  two", `{"a":"one two"}`},
	{"a: |\n  one\n    two\n\n  three\nb: c", `{"a":"one\n  two\n\nthree\n","b":"c"}`},
	{"a: >-\n  one\n  two\n\n  three\n    four\n  five\n\nb: c", `{"a":"one two\nthree\n  four\nfive","b":"c"}`},
	{"a: |+\n  x\n\nb: |2-\n    y\nc: >\n\n  z", `{"a":"x\n\n","b":"  y","c":"\nz\n"}`},
	{"a: \"one\n  two\n\n  three \\\n  four\"\nb: 'x\n  y'", `{"a":"one two\nthree four","b":"x y"}`},
	{"a: -1\nb: -x\nc: ?x\nd: :x", `{"a":-1,"b":"-x","c":"?x","d":":x"}`},
}

func TestParse(t *testing.T) {
	for _, tc := range frontmatters {
		for _, newline := range []string{"\n", "\r\n"} {
			file := strings.ReplaceAll("---\n"+tc.yaml+"\n---\nbody\n", "\n", newline)
			got, err := frontmatter.Parse([]byte(file))
			if err != nil || !rawjson.Equal(got, []byte(tc.json)) {
				t.Errorf("%q:\ngot  %s, %v\nwant %s", tc.yaml, got, err, tc.json)
			}
		}
	}
	for _, bad := range []string{
		"", "a", "- a", "a: b: c", "a: &x b", "a: *x", "a: !!str b", "a: [b", "a: {b: c", "a: 'b", "a: \"b", "a: b\n c: d", "\ta: b", "a:\n\tb: c",
		"a: b\na: c", "a: {b: c, b: d}", "<<: a", "? a", "1: a", "a: .inf", "a: @b", "a: `b`", "a: %b", "a: \"\\q\"", "a: |x\n  b", "a: ]", "a: b\n- c",
		"a: \"b\" c", "a: [b] c", "a: - b", "a:\n  b: c\n d: e", "a: \xff", "a: \"\\ud800\"", "a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40),
		"a: " + strings.Repeat("x", 70_000),
	} {
		if got, err := frontmatter.Parse([]byte("---\n" + bad + "\n---\n")); err == nil {
			t.Errorf("%.40q was read as %s", bad, got)
		}
	}
	for _, file := range []string{"", "---", "---\na: b", "a: b\n---\n", " ---\na: b\n---\n"} {
		if got, err := frontmatter.Parse([]byte(file)); err == nil {
			t.Errorf("%q was read as %s", file, got)
		}
	}
	if _, err := frontmatter.Parse([]byte("\ufeff---\na: b\n--- \t\nmore")); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, tc := range frontmatters {
		f.Add(tc.yaml)
	}
	f.Add("a: |1-\n b\n\n  c")
	f.Add("a:\n- - - b\n  -\n   c: 'd''e\n\n  f'")
	f.Fuzz(func(t *testing.T, yaml string) {
		got, err := frontmatter.Parse([]byte("---\n" + yaml + "\n---\n"))
		if err != nil {
			return
		}
		if rawjson.KindOf(got) != '{' {
			t.Fatalf("%q is no object: %s", yaml, got)
		}
		if err := rawjson.Check(got); err != nil {
			t.Fatalf("%q became %s: %v", yaml, got, err)
		}
		again, err := frontmatter.Parse([]byte("---\r\n" + strings.ReplaceAll(strings.ReplaceAll(yaml, "\r", ""), "\n", "\r\n") + "\r\n---"))
		if !strings.Contains(yaml, "\r") && (err != nil || !bytes.Equal(got, again)) {
			t.Fatalf("%q: %s, but with other line ends %s, %v", yaml, got, again, err)
		}
	})
}
