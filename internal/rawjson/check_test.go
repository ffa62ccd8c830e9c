package rawjson_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpv/internal/rawjson"
)

var good = []string{
	`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `10`, `0.5`, `-0.0`, `1e5`, `1E+5`, `1e-5`, `1.25e3`, `0e400`, `0.0e999999999999999999999`,
	`12345678901234567890`, `9007199254740993`, `1e308`, `1.7976931348623157e308`, `-1.7976931348623157e308`, `1e-400`, `1e-99999999999999999999`, `1e0000000000000000000000000001`,
	`""`, `"a"`, `"\"\\\/\b\f\n\r\t"`, `"\u0000"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"😀"`, `"é\u00e9"`, "\"\x7f\"", "\"\u2028\ufeff\uffff\"", `"\uffff"`,
	`"seven77"`, `"eight888"`, `"nine99999"`, `"exactly sixteen."`, `"more than sixteen bytes with \" inside"`,
	`[]`, `[ ]`, `{}`, "{\t\r\n }", ` [1 , 2] `, `[[],[[]],{}]`, `{"a":1}`, `{"a":{"a":{"a":1}},"b":{"a":1}}`, `[{"a":1},{"a":1}]`,
	` { "a" : [ true , false , null ] , "" : "" } `, "\n1\r\t ", `{"a":1,"A":2,"\u0000":3,"a\u0000":4}`,
	`{"abcdefgh":1,"abcdefgi":2,"abcdefghabcdefgh":3,"abcdefgh-abcdefgh":4}`, `{"abc":1,"acc":2,"ab":3,"a":4,"aa":5,"aaa":6}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`, callFrame,
	strings.Repeat("[", 256) + strings.Repeat("]", 256),
	strings.Repeat(`{"a":`, 255) + "{}" + strings.Repeat("}", 255),
	strings.Repeat("9", 308), "[" + strings.Repeat("1,", 200_000) + "1]", `0.` + strings.Repeat("0", 20_000) + `1e20001`,
}

var bad = []string{
	``, ` `, "\n", `nul`, `nulll`, `True`, `tru`, `truE`, `fals`, `falsy`, `n`, `t`, `f`, `NaN`, `Infinity`, `-Infinity`, `'a'`, `//`, `/**/1`,
	`-`, `+1`, `01`, `-01`, `00`, `.5`, `1.`, `-.5`, `1e`, `1e+`, `1.e5`, `0x10`, `1_000`, `1 2`, `--1`, `1e5.5`, `1-`, `1a`, `- 1`, `0e`,
	`1e309`, `1e400`, `-1e400`, `1.7976931348623159e308`, `1e99999999999999999999`, `[1e400]`, `{"a":1e400}`, strings.Repeat("9", 309), strings.Repeat("9", 400), `0.` + strings.Repeat("0", 20_000) + `1e20311`,
	`"`, `"a`, `"\"`, `"\`, `"\a"`, `"\u"`, `"\u12"`, `"\u123g"`, `"\U0041"`, `"\x41"`, `"\'"`, `"\u00`, "\"\x00\"", "\"\n\"", "\"\t\"", "\"\x1f\"", `"long enough\q"`,
	`"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800a"`, `"\ud800\n"`, `"\udc00\ud800"`, `"\ud83d\u"`, `"\ud83d\ude0"`, `{"\ud800":1}`,
	"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\"\xe2\x82", "\"\x80\"", "{\"\xff\":1}", "\"abcdefg\xc3\"",
	`[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[,]`, `[1 2]`, `[1}`, `[1,,2]`, `[1:2]`, `[1]]`, `[1],`, `[]x`, `[[]`,
	`{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{,"a":1}`, `{a:1}`, `{1:1}`, `{"a" 1}`, `{"a"::1}`, `{"a":1 "b":2}`, `{"a":1]`, `{"a":}`, `{"a"}`, `{"a":1}}`, `{"a",1}`,
	`{}{}`, `{} {}`, "{}\n{}", `{}x`, `nullx`, "\ufeff{}", "\u00a0{}", "{}\u00a0", "\x00", "{}\x00", "[1\x00]", "\v1", "\f1",
	`{"a":1,"a":1}`, `{"a":1,"b":2,"a":3}`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"\u0061":1,"\u0061":2}`, `[[{"x":{"":1,"":2}}]]`, `{"é":1,"\u00e9":2}`, `{"😀":1,"\ud83d\ude00":2}`, `{"/":1,"\/":2}`,
	`{"abcdefgh":1,"abcdefgh":2}`, `{"abcdefghabcdefgh":1,"x":{},"abcdefghabcdefgh":2}`, `{"a":{"b":1,"c":2},"b":{"b":1,"c":1,"b":2}}`, `{"a":{"b":1},"a":2}`,
	strings.Repeat("[", 257) + strings.Repeat("]", 257), strings.Repeat("[", 4<<20), strings.Repeat(`{"a":`, 1<<20),
	strings.Repeat(`{"a":`, 256) + "{}" + strings.Repeat("}", 256),
}

func short(s string) string { return fmt.Sprintf("%.60q (%d bytes)", s, len(s)) }

// exact returns s in a buffer with nothing behind it, so that a read beyond
// the end cannot go unnoticed.
func exact(s string) []byte {
	b := make([]byte, len(s))
	copy(b, s)
	return b[:len(b):len(b)]
}

func TestCheck(t *testing.T) {
	for _, s := range good {
		if err := rawjson.Check(exact(s)); err != nil {
			t.Errorf("%s: %v", short(s), err)
		}
	}
	for _, s := range bad {
		err := rawjson.Check(exact(s))
		var e *rawjson.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an *Error", short(s), err)
		} else if e.Offset < 0 || e.Offset > len(s) || e.Reason == "" {
			t.Errorf("%s: offset %d, reason %q", short(s), e.Offset, e.Reason)
		}
	}
}

func TestErrorOffset(t *testing.T) {
	for _, c := range []struct {
		text   string
		offset int
		reason string
	}{
		{``, 0, "unexpected end"},
		{`{"a":1`, 6, "unexpected end"},
		{`"\u12`, 5, "unexpected end"},
		{`tru`, 0, "expected a value"},
		{`[1,]`, 3, "expected a value"},
		{`[1}`, 2, "expected a comma or the end of the container"},
		{`{"a":1,"\u0061":2}`, 7, "duplicate member name"},
		{`{"a" 1}`, 5, "expected a colon"},
		{`{1:2}`, 1, "expected a member name"},
		{"\"abcdefghij\xff\"", 11, "invalid UTF-8"},
		{"\"abcdefghij\n\"", 11, "control character in a string"},
		{`"\ud800"`, 1, "lone surrogate"},
		{`[1e400]`, 1, "number out of range"},
		{`{} x`, 3, "data after the value"},
		{strings.Repeat("[", 4<<20), 256, "nested too deeply"},
	} {
		var e *rawjson.Error
		if err := rawjson.Check([]byte(c.text)); !errors.As(err, &e) || e.Offset != c.offset || e.Reason != c.reason {
			t.Errorf("%s: %v, want %d %q", short(c.text), err, c.offset, c.reason)
		}
	}
}

func TestLimits(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for _, n := range []int{1, 2, 255, 256, 257, 1000, 100_000} {
		l := rawjson.Limits{Depth: n}
		if err := l.Check(nested(n)); err != nil {
			t.Errorf("depth %d within limit %d: %v", n, n, err)
		}
		if err := l.Check(nested(n + 1)); err == nil {
			t.Errorf("depth %d accepted with limit %d", n+1, n)
		}
	}
	if err := (rawjson.Limits{Depth: 1}).Check([]byte(`[1]`)); err != nil {
		t.Error(err)
	}
	l := rawjson.Limits{Members: 3}
	if err := l.Check([]byte(`[{"a":1},{"a":{"b":2}}]`)); err != nil {
		t.Error(err)
	}
	if err := l.Check([]byte(`[{"a":1},{"a":{"b":2}},{"a":1}]`)); err == nil {
		t.Error("a fourth member was accepted")
	}
	if _, err := l.SplitArray([]byte(`[1,2,3,4]`), nil); err == nil {
		t.Error("a fourth element was accepted")
	}
	if err := rawjson.Check([]byte(object(rawjson.DefaultMembers, ""))); err != nil {
		t.Error(err)
	}
	if err := rawjson.Check([]byte(object(rawjson.DefaultMembers+1, ""))); err == nil {
		t.Error("too many members were accepted")
	}
}

// object writes an object of n members k0, k1 and so on, and then extra.
func object(n int, extra string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":%d`, i, i)
	}
	return b.String() + extra + "}"
}

// TestDuplicates crosses every border between comparing and hashing names.
func TestDuplicates(t *testing.T) {
	for _, n := range []int{1, 2, 10, 23, 24, 25, 26, 63, 64, 65, 95, 96, 97, 130, 400, 5000} {
		if err := rawjson.Check([]byte(object(n, ""))); err != nil {
			t.Errorf("%d names: %v", n, err)
		}
		for _, dup := range []int{0, n / 2, n - 1} {
			for _, form := range []string{`,"k%d":0`, `,"\u006b%d":0`, `,"x":{"k%[1]d":1,"z":[{"k%[1]d":2}]},"\u006B%[1]d":0`} {
				text := object(n, fmt.Sprintf(form, dup))
				if err := rawjson.Check([]byte(text)); err == nil {
					t.Errorf("%d names and again %d as %s: accepted", n, dup, form)
				}
				if _, err := rawjson.Split([]byte(text), nil); err == nil {
					t.Errorf("Split, %d names and again %d as %s: accepted", n, dup, form)
				}
			}
		}
	}
}

// TestLargeNested nests large objects in large ones, names repeating between
// them, and goes on in the outer one after the inner one has closed.
func TestLargeNested(t *testing.T) {
	inner := object(200, "")
	for range 4 {
		inner = object(40, `,"inner":`+inner+`,"later":1`)
	}
	list := "[" + inner + "," + inner + "]"
	if err := rawjson.Check([]byte(list)); err != nil {
		t.Fatal(err)
	}
	again := strings.TrimSuffix(inner, "}") + `,"k7":0}`
	if err := rawjson.Check([]byte("[" + inner + "," + again + "]")); err == nil {
		t.Error("a duplicate after a nested large object was accepted")
	}
	deep := strings.Repeat(`{"a":1,"b":`, 200) + `{"a":1,"a":2}` + strings.Repeat("}", 200)
	if err := rawjson.Check([]byte(deep)); err == nil {
		t.Error("a duplicate below 200 open objects was accepted")
	}
	fine := strings.Repeat(`{"a":1,"b":`, 200) + `{}` + strings.Repeat(`,"c":1}`, 200)
	if err := rawjson.Check([]byte(fine)); err != nil {
		t.Error(err)
	}
}

func TestSplit(t *testing.T) {
	text := []byte(` { "a" : 1 , "\u0062" : [ {} , "x" ] , "":null } `)
	members, err := rawjson.Split(text, make([]rawjson.Member, 1, 8))
	if err != nil || len(members) != 4 {
		t.Fatal(members, err)
	}
	for i, want := range [][2]string{{"a", "1"}, {"b", `[ {} , "x" ]`}, {"", "null"}} {
		m := members[i+1]
		if string(m.Key) != want[0] || string(text[m.Start:m.End]) != want[1] {
			t.Errorf("member %d: %q %q, want %q", i, m.Key, text[m.Start:m.End], want)
		}
	}
	if &members[1].Key[0] != &text[4] {
		t.Error("an unescaped key is not part of the text")
	}
	for _, s := range []string{`[]`, ` 1 `, `"{}"`, `null`} {
		if _, err := rawjson.Split([]byte(s), nil); err != rawjson.ErrNotObject {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{`{}`, ` 1 `, `"[]"`, `null`} {
		if _, err := rawjson.SplitArray([]byte(s), nil); err != rawjson.ErrNotArray {
			t.Errorf("%s: %v", s, err)
		}
	}
	text = []byte(` [ 1 , {"a":[2]} ,"x"] `)
	spans, err := rawjson.SplitArray(text, nil)
	if err != nil || len(spans) != 3 {
		t.Fatal(spans, err)
	}
	for i, want := range []string{`1`, `{"a":[2]}`, `"x"`} {
		if got := string(text[spans[i].Start:spans[i].End]); got != want {
			t.Errorf("element %d: %q, want %q", i, got, want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	frame, list, array := []byte(callFrame), listFrame(), []byte(`[1,2]`)
	for name, f := range map[string]func() bool{
		"check": func() bool { return rawjson.Check(frame) == nil && rawjson.Check(list) == nil },
		"split": func() bool {
			var buf [8]rawjson.Member
			m, err := rawjson.Split(frame, buf[:0])
			return err == nil && len(m) == 4
		},
		"split array": func() bool {
			var buf [8]rawjson.Span
			m, err := rawjson.SplitArray(array, buf[:0])
			return err == nil && len(m) == 2
		},
		"get": func() bool { return rawjson.Get(frame, "params", "_meta", "progressToken") != nil },
		"int": func() bool { n, ok := rawjson.Int(rawjson.Get(frame, "id")); return ok && n == 42 },
	} {
		if n := testing.AllocsPerRun(100, func() {
			if !f() {
				t.Error(name, "failed")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// finite mirrors the one rule about numbers that jsontext does not have.
func finite(v jsontext.Value) bool {
	d := jsontext.NewDecoder(strings.NewReader(string(v)))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return true
		}
		if tok.Kind() == '0' {
			f, _ := strconv.ParseFloat(tok.String(), 64)
			if math.IsInf(f, 0) {
				return false
			}
		}
	}
}

// FuzzCheck compares with jsontext's strict defaults. Their differences are the
// depth (set alike here, 10 000) and numbers that are infinite as a double.
func FuzzCheck(f *testing.F) {
	for _, s := range append(good, bad...) {
		if len(s) < 4096 {
			f.Add([]byte(s))
		}
	}
	f.Add([]byte(object(30, `,"k3":1`)))
	limits := rawjson.Limits{Depth: 10_000, Members: math.MaxInt}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = exact(string(data))
		err := limits.Check(data)
		valid := jsontext.Value(data).IsValid()
		if valid && err != nil && finite(data) || !valid && err == nil {
			t.Fatalf("jsontext says %v, Check says %v", valid, err)
		}
		if valid && err == nil && !finite(data) {
			t.Fatal("an infinite number was accepted")
		}
		members, splitErr := limits.Split(data, nil)
		if (splitErr == nil || splitErr == rawjson.ErrNotObject) != (err == nil) {
			t.Fatalf("Check says %v, Split says %v", err, splitErr)
		}
		_, arrayErr := limits.SplitArray(data, nil)
		if (arrayErr == nil || arrayErr == rawjson.ErrNotArray) != (err == nil) {
			t.Fatalf("Check says %v, SplitArray says %v", err, arrayErr)
		}
		n := 0
		for c := rawjson.Object(data); splitErr == nil && c.Next(); n++ {
			m := members[n]
			if c.Key() != string(m.Key) || c.Span() != (rawjson.Span{Start: m.Start, End: m.End}) {
				t.Fatalf("member %d: Cursor has %q %v, Split %q %v", n, c.Key(), c.Span(), m.Key, m)
			}
		}
		if splitErr == nil && n != len(members) {
			t.Fatalf("Cursor sees %d members, Split %d", n, len(members))
		}
	})
}
