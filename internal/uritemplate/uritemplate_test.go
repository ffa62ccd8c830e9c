package uritemplate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mcpv/internal/uritemplate"
)

func parse(t testing.TB, s string) *uritemplate.Template {
	t.Helper()
	tmpl, err := uritemplate.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func TestMatch(t *testing.T) {
	type v = uritemplate.Values
	one := func(kv ...string) v {
		m := v{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = []string{kv[i+1]}
		}
		return m
	}
	tests := []struct {
		template, uri string
		want          v // nil: no match
	}{
		{"test://static", "test://static", v{}},
		{"test://static", "test://static/", nil},
		{"test://static", "xtest://static", nil},
		{"a.c", "abc", nil},
		{"test://{id}/data", "test://1/data", one("id", "1")},
		{"test://{id}/data", "test://1/2/data", nil},
		{"test://{id}/data", "test:///data", nil},
		{"test://{id}/data", "test://1/data?x", nil},
		{"test://{id}", "test://a%20b%2Fc", one("id", "a b/c")},
		{"test://{id}", "test://a@b:c", one("id", "a@b:c")},
		{"test://{id}", "test://a,b", one("id", "a,b")},
		{"test://{id}", "test://世界", one("id", "世界")},
		{"test://{id}", "test://%E4%B8%96%E7%95%8C", one("id", "世界")},
		{"test://世/{id}", "test://%E4%B8%96/1", one("id", "1")},
		{"test://世/{id}", "test://世/1", one("id", "1")},
		{"test://{id}", "test://a%2", nil},
		{"test://{id}", "test://a%zz", nil},
		{"test://{id}", "test://%ff", nil},
		{"test://{id}", "test://a b", nil},
		{"test://{id}", "test://a\nb", nil},
		{"test://{id}", "test://a\xff", nil},
		{"{a}-{b}", "1-2", one("a", "1", "b", "2")},
		{"{a,b}", "1,2", one("a", "1", "b", "2")},
		{"{a,b}", "1", one("a", "1")},
		{"{a*}", "1,2", v{"a": {"1", "2"}}},
		{"file:///{+path}", "file:///a/b.txt", one("path", "a/b.txt")},
		{"file:///{+path}", "file:///", nil},
		{"file:///{+path}", "file:///a?b#c", one("path", "a?b#c")},
		{"file:///{path}", "file:///a/b.txt", nil},
		{"{+x,y}", "1024,768", one("x", "1024", "y", "768")},
		{"x{#f}", "x#a/b", one("f", "a/b")},
		{"x{#f}", "x", v{}},
		{"x{#f,g}", "x#a,b", one("f", "a", "g", "b")},
		{"x{.ext}", "x.tar.gz", one("ext", "tar.gz")},
		{"x{.a,b}", "x.tar.gz", one("a", "tar", "b", "gz")},
		{"www{.d*}", "www.example.com", v{"d": {"example", "com"}}},
		{"x{/a,b}", "x/1/2", one("a", "1", "b", "2")},
		{"x{/a,b}", "x/1", one("a", "1")},
		{"x{/a,b}", "x", v{}},
		{"x{/a,b}", "x/1/2/3", nil},
		{"x{/p*}", "x/1/2%2F3", v{"p": {"1", "2/3"}}},
		{"x{/p*}/end", "x/1/2/end", v{"p": {"1", "2"}}},
		{"x{;a,b}", "x;a=1;b", one("a", "1", "b", "")},
		{"x{;a}{;b}", "x;b=2;a=1", one("a", "1", "b", "2")},
		{"x{;a}", "x;c=1", nil},
		{"x{?q,lang}", "x?q=a%20b&lang=de", one("q", "a b", "lang", "de")},
		{"x{?q,lang}", "x?lang=de&q=a/b", one("q", "a/b", "lang", "de")},
		{"x{?q,lang}", "x?lang=de", one("lang", "de")},
		{"x{?q,lang}", "x", v{}},
		{"x{?q,lang}", "x?", v{}},
		{"x{?q,lang}", "x?q=", one("q", "")},
		{"x{?q,lang}", "x?q=1&evil=2", nil},
		{"x{?q,lang}", "x?q=1&q=2", nil},
		{"x{?q,lang}", "x?q=1&&lang=2", nil},
		{"x{?q,lang}", "x?q=1#f", nil},
		{"x?fixed=1{&q}", "x?fixed=1&q=2", one("q", "2")},
		{"x?fixed=1{&q}", "x?fixed=1", v{}},
		{"x{?a}{&b}", "x?a=1&b=2", one("a", "1", "b", "2")},
		{"x{?t*}", "x?t=1&t=2&u=3", v{"t": {"1", "2", "u=3"}}},
		{"x{?a,t*}", "x?b=2&a=1", v{"a": {"1"}, "t": {"b=2"}}},
		{"{x:1}/{x}", "a/abc", one("x", "abc")},
		{"{x:1}/{x}", "b/abc", nil},
		{"{x:2}", "ab", one("x", "ab")},
		{"{x:2}", "abc", nil},
		{"{x:2}", "世界", one("x", "世界")},
		{"{x}/{x}", "a/a", one("x", "a")},
		{"{x}/{x}", "a/b", nil},
		{"{semi.dot_9}", "a", one("semi.dot_9", "a")},
		{"", "", v{}},
		{"", "x", nil},
	}
	for _, tt := range tests {
		got, ok := parse(t, tt.template).Match(tt.uri)
		if ok != (tt.want != nil) {
			t.Errorf("%s with %q: %v, %v", tt.template, tt.uri, got, ok)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s with %q (-want +got)\n%s", tt.template, tt.uri, d)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, s := range map[string]string{
		"open":      "x{a",
		"empty":     "x{}",
		"reserved":  "x{=a}",
		"bad name":  "x{a~b}",
		"bad pct":   "x%2",
		"close":     "x}",
		"space":     "a b",
		"zero":      "{a:0}",
		"not utf-8": "x\xff",
		"long":      strings.Repeat("x", uritemplate.MaxTemplate+1),
		"many":      strings.Repeat("/{a}", uritemplate.MaxVariables+1),
		"wild":      strings.Repeat("/{+a}", uritemplate.MaxWild+1),
		"wild in 1": "{+a" + strings.Repeat(",a", uritemplate.MaxWild) + "}",
		"adjacent":  strings.Repeat("{a}", uritemplate.MaxWild+2),
		"long dots": "{a..b}",
		"prefix":    "{a:10000}",
		"prefix 0":  "{a:01}",
		"no prefix": "{a:}",
		"both":      "{a:3*}",
		"nested":    "{a{b}}",
		"many in 1": "{a" + strings.Repeat(",a", uritemplate.MaxVariables) + "}",
	} {
		if _, err := uritemplate.Parse(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	parse(t, strings.Repeat("/{a}", uritemplate.MaxVariables))
	parse(t, strings.Repeat("/{+a}", uritemplate.MaxWild))
	parse(t, "it's/{user-id}")
}

func TestLongURIMatchesNothing(t *testing.T) {
	tmpl := parse(t, "{+x}")
	if v, ok := tmpl.Match(strings.Repeat("x", uritemplate.MaxURI)); !ok || len(v.Get("x")) != uritemplate.MaxURI {
		t.Error("the longest does not match")
	}
	if _, ok := tmpl.Match(strings.Repeat("x", uritemplate.MaxURI+1)); ok {
		t.Error("a longer one matches")
	}
}

func TestExpand(t *testing.T) {
	tmpl := parse(t, "test://{id}{/p*}{?q,none}{&l*}")
	got := tmpl.Expand(uritemplate.Values{"id": {"a b"}, "p": {"x", "y"}, "q": {"ü"}, "l": {"1", "2"}, "none": nil})
	if want := "test://a%20b/x/y?q=%C3%BC&l=1&l=2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []string{"id", "p", "q", "none", "l"}; !slices.Equal(tmpl.Names(), want) {
		t.Errorf("names %v", tmpl.Names())
	}
	if tmpl.String() != "test://{id}{/p*}{?q,none}{&l*}" {
		t.Errorf("string %s", tmpl)
	}
}

// The examples of RFC 6570, section 3.2, as far as they have no associative
// arrays.
func TestExpandExamples(t *testing.T) {
	vars := uritemplate.Values{
		"count": {"one", "two", "three"}, "dom": {"example", "com"}, "dub": {"me/too"}, "hello": {"Hello World!"},
		"half": {"50%"}, "var": {"value"}, "who": {"fred"}, "base": {"http://example.com/home/"}, "path": {"/foo/bar"},
		"list": {"red", "green", "blue"}, "v": {"6"}, "x": {"1024"}, "y": {"768"}, "empty": {""}, "undef": nil,
	}
	for template, want := range map[string]string{
		"{count}": "one,two,three", "{count*}": "one,two,three", "{/count}": "/one,two,three", "{/count*}": "/one/two/three",
		"{;count}": ";count=one,two,three", "{;count*}": ";count=one;count=two;count=three",
		"{?count}": "?count=one,two,three", "{?count*}": "?count=one&count=two&count=three", "{&count*}": "&count=one&count=two&count=three",
		"{var}": "value", "{hello}": "Hello%20World%21", "{half}": "50%25", "O{empty}X": "OX", "O{undef}X": "OX",
		"{x,y}": "1024,768", "{x,hello,y}": "1024,Hello%20World%21,768", "?{x,empty}": "?1024,", "?{x,undef}": "?1024",
		"?{undef,y}": "?768", "{var:3}": "val", "{var:30}": "value", "{list}": "red,green,blue",
		"{+hello}": "Hello%20World!", "{+half}": "50%25", "{base}index": "http%3A%2F%2Fexample.com%2Fhome%2Findex",
		"{+base}index": "http://example.com/home/index", "{+path:6}/here": "/foo/b/here", "{+x,hello,y}": "1024,Hello%20World!,768",
		"{#hello}": "#Hello%20World!", "foo{#empty}": "foo#", "foo{#undef}": "foo", "{#path,x}/here": "#/foo/bar,1024/here",
		"{.who,who}": ".fred.fred", "www{.dom*}": "www.example.com", "X{.empty}": "X.", "X{.undef}": "X", "X{.list*}": "X.red.green.blue",
		"{/var,x}/here": "/value/1024/here", "{/var,empty}": "/value/", "{/var,undef}": "/value", "{/var:1,var}": "/v/value",
		"{;x,y,empty}": ";x=1024;y=768;empty", "{;v,empty,who}": ";v=6;empty;who=fred", "{;hello:5}": ";hello=Hello",
		"{?x,y,empty}": "?x=1024&y=768&empty=", "{?x,y,undef}": "?x=1024&y=768", "{?var:3}": "?var=val",
		"?fixed=yes{&x}": "?fixed=yes&x=1024", "{&x,y,empty}": "&x=1024&y=768&empty=",
	} {
		if got := parse(t, template).Expand(vars); got != want {
			t.Errorf("%s: got %s, want %s", template, got, want)
		}
	}
}

func TestOrder(t *testing.T) {
	want := []string{
		"file:///docs/{name}",
		"file:///{a}/x",
		"file:///{a}/{b}",
		"file:///{a}",
		"file:///{b}",
		"file:///{a,b}",
		"file:///{+a}",
		"{+uri}",
	}
	var ts []*uritemplate.Template
	for _, s := range want {
		ts = append(ts, parse(t, s))
	}
	for i, a := range ts {
		for j, b := range ts {
			if a.Less(b) != (i < j) || (a.Compare(b) == 0) != (i == j) {
				t.Errorf("%s, %s: %d", a, b, a.Compare(b))
			}
		}
	}
}

// What is expanded from values that are not empty is matched with the same
// values.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringN(1, 10, -1).Filter(utf8.ValidString)
		template, want := "test://h", uritemplate.Values{}
		for i := range rapid.IntRange(1, 5).Draw(t, "n") {
			name := fmt.Sprint("v", i)
			op := rapid.SampledFrom([]string{"", ";", "/", ".", "+"}).Draw(t, "op")
			explode := op == "/" && rapid.Bool().Draw(t, "explode")
			vs := []string{value.Draw(t, "value")}
			if op == "+" {
				vs[0] = "a/b"
			}
			if explode {
				vs = append(vs, value.Draw(t, "second"))
				name += "*"
			}
			template += "/lit/{" + op + name + "}"
			want[strings.TrimSuffix(name, "*")] = vs
		}
		template += "/end{?q}"
		want["q"] = []string{value.Draw(t, "q")}
		tmpl, err := uritemplate.Parse(template)
		if err != nil {
			t.Fatal(err)
		}
		uri := tmpl.Expand(want)
		got, ok := tmpl.Match(uri)
		if d := cmp.Diff(want, got); d != "" || !ok {
			t.Errorf("%s with %s: %v (-want +got)\n%s", template, uri, ok, d)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("test://{id}/data", "test://1/data")
	f.Add("x{/id*}{?t*}", "x/a/b?t=1&u=2")
	f.Add("{+a,b}{#c}{.d}{;e,f*}{&g:3}", "1,2#x.y;e=1&g=abc")
	f.Add("{x:1}/{x}", "%61/a%20")
	f.Add("世{a}", "%E4%B8%96\xff")
	f.Fuzz(func(t *testing.T, template, uri string) {
		tmpl, err := uritemplate.Parse(template)
		if err != nil {
			return
		}
		if tmpl.Compare(tmpl) != 0 {
			t.Error("not equal to itself")
		}
		got, ok := tmpl.Match(uri)
		if !ok {
			if got != nil {
				t.Errorf("values without a match: %v", got)
			}
			return
		}
		for name, vs := range got {
			if !slices.Contains(tmpl.Names(), name) || len(vs) == 0 {
				t.Errorf("bad value %q: %q", name, vs)
			}
			for _, v := range vs {
				if !utf8.ValidString(v) {
					t.Errorf("%q is not utf-8: %q", name, v)
				}
			}
		}
		if again := tmpl.Expand(got); len(tmpl.Names()) == 0 && again != tmpl.Expand(nil) {
			t.Errorf("%q expands to %q", template, again)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	long := func(unit string) string { return strings.Repeat(unit, uritemplate.MaxURI/len(unit)-1) }
	for _, bm := range []struct{ name, template, uri string }{
		{"short", "test://template/{id}/data", "test://template/123/data"},
		{"path", "{/id*}{?t*}", long("/a")},
		{"query", "{/id*}{?t*}", "/a?" + long("t=a&") + "t"},
		{"mixed", "{/id*}{?t*}", strings.Repeat("/a", 16<<10) + "?" + strings.Repeat("t=a&", 8<<10-4) + "t=a"},
		{"slashes", "{/id*}{?t*}", long("/")},
		{"no match", "{/id*}{?t*}", long("/a") + " "},
		{"ambiguous", "{a}{b}{c}{d}{/e*}{/f*}{/g*}!", long("/a")},
		{"worst", strings.Repeat("{+a}", 4) + strings.Repeat("{/a}", 28), long("a")},
	} {
		b.Run(bm.name, func(b *testing.B) {
			t := parse(b, bm.template)
			b.ReportAllocs()
			for b.Loop() {
				t.Match(bm.uri)
			}
		})
	}
}
