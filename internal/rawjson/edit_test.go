package rawjson_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpv/internal/rawjson"
)

func path(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ".")
}

func TestGet(t *testing.T) {
	text := []byte(` { "a" : { "b\"\u0063" : [1, {"x":2}] , "s":"}\\" }, "n":null, "" : {"":7} } `)
	for _, c := range []struct {
		path []string
		want string
	}{
		{nil, strings.TrimSpace(string(text))},
		{[]string{"a", `b"c`}, `[1, {"x":2}]`},
		{[]string{"a", "s"}, `"}\\"`},
		{[]string{"n"}, `null`},
		{[]string{"", ""}, `7`},
	} {
		got := rawjson.Get(text, c.path...)
		if string(got) != c.want || cap(got) != len(got) {
			t.Errorf("%q: %q (cap %d), want %q", c.path, got, cap(got), c.want)
		}
	}
	for _, p := range [][]string{{"b"}, {"A"}, {"n", "x"}, {"a", `b"c`, "0"}, {"a", "s", "x"}} {
		if got := rawjson.Get(text, p...); got != nil {
			t.Errorf("%q: %q, want nil", p, got)
		}
	}
}

func TestSetDeleteRename(t *testing.T) {
	set := func(v, value, p string) string { return string(rawjson.Set([]byte(v), []byte(value), path(p)...)) }
	del := func(v, p string) string { return string(rawjson.Delete([]byte(v), path(p)...)) }
	ren := func(v, key, p string) string { return string(rawjson.Rename([]byte(v), key, path(p)...)) }
	for _, c := range [][2]string{
		{set(` {"a" : 1 , "b":2} `, `[3]`, "a"), ` {"a" : [3] , "b":2} `},
		{set(`{"a":{"b": 1 }}`, `2`, "a.b"), `{"a":{"b": 2 }}`},
		{set(`{"a":1 }`, `2`, "b"), `{"a":1,"b":2 }`},
		{set(`{ }`, `2`, "b"), `{"b":2 }`},
		{set(`{"a":{}}`, `2`, "a.b.c"), `{"a":{"b":{"c":2}}}`},
		{set(`{"a":1}`, `2`, "a.b"), `{"a":{"b":2}}`},
		{set(` 7 `, `2`, "a"), ` {"a":2} `},
		{set(``, `2`, "a"), `{"a":2}`},
		{set(` 7 `, `2`, ""), ` 2 `},
		{set(`{}`, `2`, "\""), `{"\"":2}`},
		{del(`{"a":1}`, "a"), `{}`},
		{del(`{"a":1,"b":2,"c":3}`, "a"), `{"b":2,"c":3}`},
		{del(`{"a":1,"b":2,"c":3}`, "b"), `{"a":1,"c":3}`},
		{del(`{"a":1,"b":2,"c":3}`, "c"), `{"a":1,"b":2}`},
		{del(`{ "a" : 1 , "b" : 2 }`, "a"), `{   "b" : 2 }`},
		{del(`{ "a" : 1 , "b" : 2 }`, "b"), `{ "a" : 1   }`},
		{del(`{"p":{"a":1,"b":2},"a":3}`, "p.b"), `{"p":{"a":1},"a":3}`},
		{del(`{"a":1}`, "b"), `{"a":1}`},
		{del(`{"a":1}`, ""), `{"a":1}`},
		{ren(` {"p":{"a" : 1}} `, "b\n", "p.a"), ` {"p":{"b\n" : 1}} `},
		{ren(`{"a":1}`, "b", "c"), `{"a":1}`},
	} {
		if c[0] != c[1] {
			t.Errorf("got  %s\nwant %s", c[0], c[1])
		}
	}
}

func TestScalars(t *testing.T) {
	for text, want := range map[string]byte{`{}`: '{', ` []`: '[', `""`: '"', `-1`: '0', `9`: '0', `true`: 't', `false`: 'f', `null`: 'n', ``: 0, `x`: 0, ` `: 0} {
		if got := rawjson.KindOf([]byte(text)); got != want {
			t.Errorf("KindOf(%q) = %q", text, got)
		}
	}
	for text, want := range map[string]int64{`0`: 0, `-0`: 0, ` 42 `: 42, `-7`: -7, `9223372036854775807`: 1<<63 - 1, `-9223372036854775808`: -1 << 63} {
		if got, ok := rawjson.Int([]byte(text)); !ok || got != want {
			t.Errorf("Int(%q) = %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{``, `-`, `+1`, `1.0`, `1e2`, `"1"`, `null`, `9223372036854775808`, `1_000_000_000_000_000`, `10000000000000000000000`} {
		if got, ok := rawjson.Int([]byte(text)); ok {
			t.Errorf("Int(%q) = %d", text, got)
		}
	}
	for _, text := range []string{``, `"`, `1`, `null`, `["a"]`} {
		if got, ok := rawjson.String([]byte(text)); ok {
			t.Errorf("String(%q) = %q", text, got)
		}
	}
	if got, ok := rawjson.String([]byte(` "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00" `)); !ok || got != "a\"\\/\b\f\n\r\té😀" {
		t.Errorf("String = %q, %v", got, ok)
	}
	for text, want := range map[string][2]bool{` true`: {true, true}, `false `: {false, true}, `null`: {}, `"true"`: {}, `1`: {}} {
		if v, ok := rawjson.Bool([]byte(text)); v != want[0] || ok != want[1] {
			t.Errorf("Bool(%q) = %v, %v", text, v, ok)
		}
	}
	text := []byte("{\r\n  \"a\" : [ 1,\t2 ],\n \"b c\":\"\\n  x\\\"  \"\n}\n")
	if got := string(rawjson.AppendCompact([]byte("> "), text)); got != `> {"a":[1,2],"b c":"\n  x\"  "}` {
		t.Errorf("AppendCompact = %s", got)
	}
	if got := string(rawjson.AppendLine([]byte("> "), text)); got != "> {  \"a\" : [ 1,\t2 ], \"b c\":\"\\n  x\\\"  \"}" {
		t.Errorf("AppendLine = %q", got)
	}
}

func TestEqual(t *testing.T) {
	a := object(100, `,"x":[1,{"p":1.50,"q":"\u0041"}]`)
	for _, c := range [][2]string{
		{`1`, ` 1.0 `}, {`10`, `1e1`}, {`0`, `-0`}, {`0e5`, `0.000`}, {`1200e-2`, `12`}, {`0.0012`, `12E-4`}, {`100.10`, `1.001e+2`}, {`1e-99999999999999999999`, `1.0e-099999999999999999999`},
		{`"a\/"`, `"\u0061/"`}, {`{"a":1,"b":[2]}`, ` { "b" : [ 2.0 ] , "\u0061" : 1 } `}, {`{}`, `{ }`}, {`[]`, `[ ]`}, {`null`, ` null`},
		{a, `{"x":[1.0,{"q":"A","p":15e-1}],` + strings.TrimPrefix(object(100, ""), "{")},
	} {
		if !rawjson.Equal([]byte(c[0]), []byte(c[1])) || !rawjson.Equal([]byte(c[1]), []byte(c[0])) {
			t.Errorf("%s and %s differ", short(c[0]), short(c[1]))
		}
	}
	for _, c := range [][2]string{
		{`1`, `2`}, {`1`, `-1`}, {`1`, `10`}, {`12`, `1.2`}, {`9007199254740993`, `9007199254740992`}, {`0.1`, `0.10000000000000001`}, {`1`, `"1"`}, {`1e-99999999999999999999`, `1e-99999999999999999998`}, {`0`, `null`},
		{`"a"`, `"b"`}, {`"a"`, `"A"`}, {`""`, `null`}, {`true`, `false`}, {`[]`, `{}`}, {`[1]`, `[1,2]`}, {`[1,2]`, `[2,1]`}, {`[1,2]`, `[1]`},
		{`{"a":1}`, `{"a":2}`}, {`{"a":1}`, `{"b":1}`}, {`{"a":1}`, `{"a":1,"b":2}`}, {`{"a":1,"b":2}`, `{"b":2}`}, {`{"a":1,"b":2}`, `{"b":2,"c":1}`}, {`{"b":1,"a":1}`, `{"a":1}`},
	} {
		if rawjson.Equal([]byte(c[0]), []byte(c[1])) || rawjson.Equal([]byte(c[1]), []byte(c[0])) {
			t.Errorf("%s and %s are equal", c[0], c[1])
		}
	}
}

func addEdits(f *testing.F) {
	for _, s := range []string{callFrame, `{}`, ` { "a" : { "b" : 1 } , "c" : [ ] } `, `{"\u0061":{"b":"\""}}`, `{"a":{},"b":{"a":{"b":null}}}`, `[1,2]`, `7`, `{"a":1,"a"`, `{"a`, `{"a":{"b":[}`} {
		for _, p := range []string{"a", "a.b", "params.name", "params._meta.x", "b.a.b", ".", "c"} {
			f.Add([]byte(s), p, `{"v":[1]}`)
		}
	}
}

// spanOf finds a part of whole that Get returned, by identity.
func spanOf(t *testing.T, whole, part []byte) (int, int) {
	for i := range whole {
		if len(part) > 0 && &whole[i] == &part[0] {
			return i, i + len(part)
		}
	}
	t.Fatal("Get returned bytes from elsewhere")
	return 0, 0
}

// FuzzSet: what was set is got back, the result is strict I-JSON again, and all
// bytes before and after the one edited place are those of the input.
func FuzzSet(f *testing.F) {
	addEdits(f)
	f.Fuzz(func(t *testing.T, data []byte, p, value string) {
		keys := path(p)
		value = string(rawjson.Trim([]byte(value)))
		out := rawjson.Set(data, []byte(value), keys...)
		if !utf8.ValidString(p) || rawjson.Check(data) != nil || rawjson.Check([]byte(value)) != nil || len(keys) > 100 {
			return
		}
		if got := rawjson.Get(out, keys...); string(got) != value {
			t.Fatalf("set %q, got %q in %q", value, got, out)
		}
		if err := (rawjson.Limits{Depth: 1000}).Check(out); err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		if old := rawjson.Get(data, keys...); old != nil {
			start, end := spanOf(t, data, old)
			if want := string(data[:start]) + value + string(data[end:]); string(out) != want {
				t.Fatalf("got %q, want %q", out, want)
			}
			return
		}
		if rawjson.KindOf(rawjson.Get(data, keys[:len(keys)-1]...)) != '{' {
			return
		}
		start, end := spanOf(t, out, rawjson.Get(out, keys...))
		start -= len(rawjson.AppendString(nil, keys[len(keys)-1])) + len(":")
		if out[start-1] == ',' {
			start--
		}
		if rest := string(out[:start]) + string(out[end:]); rest != string(data) {
			t.Fatalf("beside the new member there is %q, was %q", rest, data)
		}
		if back := rawjson.Delete(out, keys...); string(back) != string(data) {
			t.Fatalf("added and deleted: %q, was %q", back, data)
		}
	})
}

// FuzzDelete: the member is gone, exactly its bytes and one comma are missing,
// and Rename changes the bytes of the name alone.
func FuzzDelete(f *testing.F) {
	addEdits(f)
	f.Fuzz(func(t *testing.T, data []byte, p, newKey string) {
		keys := path(p)
		out := rawjson.Delete(data, keys...)
		renamed := rawjson.Rename(data, newKey, keys...)
		if rawjson.Check(data) != nil {
			return
		}
		if len(keys) == 0 || rawjson.Get(data, keys...) == nil {
			if string(out) != string(data) || string(renamed) != string(data) {
				t.Fatalf("nothing to do, but got %q and %q", out, renamed)
			}
			return
		}
		if err := rawjson.Check(out); err != nil || rawjson.Get(out, keys...) != nil {
			t.Fatalf("%v in %q", err, out)
		}
		parent := rawjson.Get(data, keys[:len(keys)-1]...)
		base, _ := spanOf(t, data, parent)
		c, members := rawjson.Object(parent), 0
		var m rawjson.Span
		for ; c.Next(); members++ {
			if c.KeyIs(keys[len(keys)-1]) {
				m = c.MemberSpan()
			}
		}
		before, after := string(data[:base+m.Start]), string(data[base+m.End:])
		wants := []string{before + after}
		if members > 1 {
			wants = []string{before + strings.Replace(after, ",", "", 1)}
			if i := strings.LastIndex(before, ","); i >= 0 {
				wants = append(wants, before[:i]+before[i+1:]+after)
			}
		}
		if !slices.Contains(wants, string(out)) {
			t.Fatalf("got %q, want one of %q", out, wants)
		}
		key, err := jsontext.NewDecoder(bytes.NewReader(data[base+m.Start:])).ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		want := before + string(rawjson.AppendString(nil, newKey)) + string(data[base+m.Start+len(key):])
		if string(renamed) != want {
			t.Fatalf("renamed: got %q, want %q", renamed, want)
		}
	})
}

// FuzzCursor: readers never fail on anything, and on checked text they see what
// a decoder sees.
func FuzzCursor(f *testing.F) {
	for _, s := range append(good, bad...) {
		if len(s) < 4096 {
			f.Add([]byte(s), []byte(`{"b":1,"a":[1.0]}`))
		}
	}
	f.Fuzz(func(t *testing.T, data, other []byte) {
		data = exact(string(data))
		walk(data, 50)
		equal := rawjson.Equal(data, other)
		if rawjson.Check(data) != nil {
			return
		}
		if !rawjson.Equal(data, data) {
			t.Fatal("not equal to itself")
		}
		compact := rawjson.AppendCompact(nil, data)
		want := jsontext.Value(slices.Clone(data))
		if err := want.Compact(); err != nil || string(want) != string(compact) {
			t.Fatalf("compact %q, want %q", compact, want)
		}
		line := rawjson.AppendLine(nil, data)
		if bytes.ContainsAny(line, "\r\n") || !rawjson.Equal(line, data) || rawjson.Check(line) != nil {
			t.Fatalf("line %q", line)
		}
		got, decoded := tree(data), any(nil)
		if err := json.Unmarshal(data, &decoded); err != nil || !reflect.DeepEqual(got, decoded) {
			t.Fatalf("%v: read %#v, decoded %#v", err, got, decoded)
		}
		if rawjson.Check(other) == nil && equal && !reflect.DeepEqual(got, tree(other)) {
			t.Fatalf("equal, but %#v and %#v", got, tree(other))
		}
	})
}

// walk calls every reader on data and what is in it.
func walk(v []byte, depth int) {
	rawjson.KindOf(v)
	rawjson.String(v)
	rawjson.Int(v)
	rawjson.Bool(v)
	for c := rawjson.Array(v); depth > 0 && c.Next(); {
		walk(c.Value(), depth-1)
	}
	for c := rawjson.Object(v); depth > 0 && c.Next(); {
		rawjson.Get(v, c.Key())
		m := c.MemberSpan()
		walk(v[m.Start:m.End], depth-1)
		walk(c.Value(), depth-1)
	}
}

// tree decodes with this package's readers alone, numbers excepted.
func tree(v []byte) any {
	switch rawjson.KindOf(v) {
	case '{':
		m := map[string]any{}
		for c := rawjson.Object(v); c.Next(); {
			m[c.Key()] = tree(c.Value())
		}
		return m
	case '[':
		a := []any{}
		for c := rawjson.Array(v); c.Next(); {
			a = append(a, tree(c.Value()))
		}
		return a
	case '"':
		s, _ := rawjson.String(v)
		return s
	case '0':
		var n float64
		if json.Unmarshal(v, &n) != nil {
			return "bad number"
		}
		return n
	case 'n':
		return nil
	}
	b, _ := rawjson.Bool(v)
	return b
}

// FuzzString: every string survives, and what AppendString writes is what
// jsontext would.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a", "\x00\x1f\x7f\"\\/\b\f\n\r\t", "é😀\u2028", "\xff\xed\xa0\x80", "abcdefgh\"ijklmnop\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := rawjson.AppendString(nil, s)
		want, _ := jsontext.AppendQuote(nil, s) // replaces invalid UTF-8 beside its error
		if string(text) != string(want) {
			t.Fatalf("%s, want %s", text, want)
		}
		got, ok := rawjson.String(text)
		if err := rawjson.Check(text); err != nil || !ok || got != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Fatalf("%q became %q, %v", s, got, err)
		}
		if other := rawjson.AppendString(nil, s+"x"); rawjson.Equal(text, other) {
			t.Fatalf("%s equals %s", text, other)
		}
	})
}
