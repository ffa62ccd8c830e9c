package stdio_test

import (
	"bytes"
	"io"
	"testing"

	"mcpv/mcp/stdio"
)

// endless repeats its bytes for ever.
type endless struct {
	b   []byte
	off int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.b[e.off:])
	e.off = (e.off + n) % len(e.b)
	return n, nil
}

func benchFrame(size int) []byte {
	return append(append([]byte(`{"x":"`), bytes.Repeat([]byte("y"), size-8)...), `"}`...)
}

func benchmarkRead(b *testing.B, size int, framing stdio.Framing) {
	var wire bytes.Buffer
	w := stdio.NewStream(nil, &wire, nil, &stdio.StreamOptions{Framing: framing})
	for wire.Len() < 1<<20 {
		if err := w.Write(benchFrame(size)); err != nil {
			b.Fatal(err)
		}
	}
	s := stdio.NewStream(&endless{b: wire.Bytes()}, io.Discard, nil, nil)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if f, err := s.Read(); err != nil || len(f) != size {
			b.Fatal(len(f), err)
		}
	}
}

func benchmarkWrite(b *testing.B, size int, framing stdio.Framing) {
	s := stdio.NewStream(nil, io.Discard, nil, &stdio.StreamOptions{Framing: framing})
	frame := benchFrame(size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Write(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadLine300(b *testing.B)   { benchmarkRead(b, 300, stdio.Lines) }
func BenchmarkReadBlock300(b *testing.B)  { benchmarkRead(b, 300, stdio.ContentLength) }
func BenchmarkReadLine1M(b *testing.B)    { benchmarkRead(b, 1<<20, stdio.Lines) }
func BenchmarkReadBlock1M(b *testing.B)   { benchmarkRead(b, 1<<20, stdio.ContentLength) }
func BenchmarkWriteLine300(b *testing.B)  { benchmarkWrite(b, 300, stdio.Lines) }
func BenchmarkWriteBlock300(b *testing.B) { benchmarkWrite(b, 300, stdio.ContentLength) }
func BenchmarkWriteLine1M(b *testing.B)   { benchmarkWrite(b, 1<<20, stdio.Lines) }
