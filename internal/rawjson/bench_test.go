package rawjson_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpv/internal/rawjson"
)

const callFrame = `{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"files__search_text",` +
	`"arguments":{"query":"func (s *Server) Handle","path":"/src/project/internal","limit":50,"regexp":false,"case":null},` +
	`"_meta":{"progressToken":"tok-7f3a","io.example/trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}}`

// listFrame is a tools/list answer of about 100 KB.
func listFrame() []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"tools":[`)
	for i := 0; b.Len() < 100_000; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","title":"Tool number %d","description":"Searches the index for documents that match the query \"q\".\nReturns at most limit hits, best first; a cursor continues. Größe in bytes.",`+
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"what to look for"},`+
			`"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},"tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]}}},`+
			`"required":["query"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`, i, i)
	}
	b.WriteString(`],"nextCursor":null}}`)
	return b.Bytes()
}

func forFrames(b *testing.B, f func(b *testing.B, frame []byte)) {
	for _, c := range []struct {
		name  string
		frame []byte
	}{{"call", []byte(callFrame)}, {"list", listFrame()}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.frame)))
			b.ReportAllocs()
			f(b, c.frame)
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	forFrames(b, func(b *testing.B, frame []byte) {
		for b.Loop() {
			if err := rawjson.Check(frame); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	forFrames(b, func(b *testing.B, frame []byte) {
		for b.Loop() {
			var buf [8]rawjson.Member
			if m, err := rawjson.Split(frame, buf[:0]); err != nil || len(m) < 3 {
				b.Fatal(len(m), err)
			}
		}
	})
}

// BenchmarkIsValid is the yardstick: the same check by jsontext.
func BenchmarkIsValid(b *testing.B) {
	forFrames(b, func(b *testing.B, frame []byte) {
		for b.Loop() {
			if !jsontext.Value(frame).IsValid() {
				b.Fatal("invalid")
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	frame := []byte(callFrame)
	b.ReportAllocs()
	for b.Loop() {
		if rawjson.Get(frame, "params", "_meta", "progressToken") == nil {
			b.Fatal("absent")
		}
	}
}

func BenchmarkSkip(b *testing.B) {
	frame := listFrame()
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for c := rawjson.Object(frame); c.Next(); {
			n++
		}
		if n != 3 {
			b.Fatal(n)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	frame, name := []byte(callFrame), []byte(`"search_text"`)
	b.ReportAllocs()
	for b.Loop() {
		if rawjson.Set(frame, name, "params", "name") == nil {
			b.Fatal("nothing")
		}
	}
}
