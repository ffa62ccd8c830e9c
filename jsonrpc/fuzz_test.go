package jsonrpc_test

import (
	"bytes"
	"errors"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
)

func addFrames(f *testing.F) {
	for _, c := range parseCases {
		if len(c.frame) < 1<<10 {
			f.Add([]byte(c.frame))
		}
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"name":"x"},"name":"a__b","_meta":{"name":1}}}`))
	f.Add([]byte(`{"params":{ "n\u0061me" : "a" },"method":"m","id":"\"","jsonrpc":"2.0"}`))
}

// A frame that is accepted is kept as it is, is strict JSON, and what is read of
// it is what its members say.
func FuzzParse(f *testing.F) {
	addFrames(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		original := bytes.Clone(frame)
		m, err := jsonrpc.Parse(frame)
		if err != nil {
			var fe *jsonrpc.FrameError
			if !errors.As(err, &fe) {
				t.Fatalf("error %v", err)
			}
			sameAsParsed(t, fe.Answer())
			return
		}
		if !bytes.Equal(m.Bytes(), original) {
			t.Fatal("bytes changed")
		}
		if err := rawjson.Check(original); err != nil {
			t.Fatalf("accepted what is not strict: %v", err)
		}
		sameAsParsed(t, m)
		method, isCall := rawjson.String(rawjson.Get(original, "method"))
		if m.Method() != method || isCall == (m.Kind() == jsonrpc.Response) {
			t.Fatalf("method %q kind %d", m.Method(), m.Kind())
		}
		if (m.Kind() == jsonrpc.Request) != (isCall && rawjson.Get(original, "id") != nil) {
			t.Fatalf("kind %d of %s", m.Kind(), original)
		}
	})
}

// What is an id is a JSON string or integer, byte for byte unless it was written
// with escapes, and reads back as itself.
func FuzzID(f *testing.F) {
	for _, s := range []string{`1`, `-1`, `0`, `-0`, `01`, `1.0`, `1e3`, `""`, `"a"`, `"\u0061"`, `"é"`, `"\ud83d\ude00"`, `"`, `"a`, `"a"b"`, "\"\x01\"", "\"\xff\"", ` 7 `, `null`, `true`, `{}`, `-`, `9007199254740993`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		id, ok := jsonrpc.ParseID(raw)
		if !ok {
			if rawjson.Check(raw) == nil && rawjson.KindOf(raw) == '"' {
				t.Fatalf("refused the string %s", raw)
			}
			return
		}
		if err := rawjson.Check(raw); err != nil {
			t.Fatalf("accepted %q: %v", raw, err)
		}
		trimmed := rawjson.Trim(raw)
		if !bytes.ContainsRune(trimmed, '\\') && id.Raw() != string(trimmed) {
			t.Fatalf("%q became %q", trimmed, id.Raw())
		}
		if again, ok := jsonrpc.ParseID([]byte(id.Raw())); !ok || again != id {
			t.Fatalf("%q reads back as %q", id.Raw(), again.Raw())
		}
		if !rawjson.Equal(trimmed, []byte(id.Raw())) {
			t.Fatalf("%q is not the value %q", id.Raw(), trimmed)
		}
	})
}

// A frame forwarded under another id and with another params.name differs from
// the one received in these two spans alone.
func FuzzSplice(f *testing.F) {
	addFrames(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := jsonrpc.Parse(frame)
		if err != nil || m.Kind() == jsonrpc.Notification {
			return
		}
		id := jsonrpc.StringID("upstream-17")
		moved := m.WithID(id)
		sameAsParsed(t, moved)
		if token := rawjson.Get(frame, "id"); token != nil {
			changedOnly(t, frame, moved.Bytes(), token, []byte(id.Raw()))
		}
		name := rawjson.Get(m.Params(), "name")
		if name == nil {
			return
		}
		renamed := m.WithBody(rawjson.Set(m.Params(), []byte(`"server__tool"`), "name"))
		sameAsParsed(t, renamed)
		changedOnly(t, frame, renamed.Bytes(), name, []byte(`"server__tool"`))
		if a, b := renamed.WithID(id).Bytes(), moved.WithBody(renamed.Params()).Bytes(); !bytes.Equal(a, b) {
			t.Fatalf("the order of edits matters:\n%s\n%s", a, b)
		}
	})
}

// changedOnly checks that after is before with old, which is a part of before
// and not a copy of one, replaced by with.
func changedOnly(t *testing.T, before, after, old, with []byte) {
	t.Helper()
	start := 0
	for &before[start] != &old[0] {
		start++
	}
	want := append(append(append([]byte(nil), before[:start]...), with...), before[start+len(old):]...)
	if !bytes.Equal(after, want) {
		t.Fatalf("more than one span changed:\n%s\n%s", before, after)
	}
}
