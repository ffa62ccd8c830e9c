package stdio_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"mcpv/jsonrpc"
	"mcpv/mcp/stdio"
)

// FuzzFraming reads arbitrary bytes, which must not panic and must give the
// same however the bytes arrive, and sends the frames through a writer and a
// reader of either framing.
func FuzzFraming(f *testing.F) {
	for _, tt := range readTests {
		if len(tt.in) < 4096 {
			f.Add([]byte(tt.in), uint16(tt.max))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, limit uint16) {
		o := &stdio.StreamOptions{MaxFrame: int(limit)}
		frames, err := readAll(stdio.NewStream(bytes.NewReader(in), io.Discard, nil, o))
		slow, slowErr := readAll(stdio.NewStream(iotest.OneByteReader(bytes.NewReader(in)), io.Discard, nil, o))
		if len(frames) != len(slow) || err.Error() != slowErr.Error() {
			t.Fatalf("%q: %v, byte by byte %q: %v", frames, err, slow, slowErr)
		}
		for i, frame := range frames {
			if frame != slow[i] {
				t.Fatalf("frame %d is %q, byte by byte %q", i, frame, slow[i])
			}
			if len(frame) > 1 && limit > 0 && len(frame) > int(limit) {
				t.Fatalf("frame %d of %d bytes above the limit %d", i, len(frame), limit)
			}
		}
		roundTrip(t, frames, stdio.Lines)
		roundTrip(t, frames, stdio.ContentLength)
	})
}

// roundTrip wraps the frames in brackets, since only JSON has to survive.
func roundTrip(t *testing.T, frames []string, framing stdio.Framing) {
	var wire bytes.Buffer
	w := stdio.NewStream(nil, &wire, nil, &stdio.StreamOptions{Framing: framing})
	r := stdio.NewStream(&wire, io.Discard, nil, nil)
	var sent [][]byte
	for _, f := range frames {
		sent = append(sent, []byte("["+f+"]"))
	}
	if err := w.Write(sent...); err != nil {
		t.Fatal(err)
	}
	for i, want := range sent {
		if framing == stdio.Lines {
			want = bytes.ReplaceAll(bytes.ReplaceAll(want, []byte("\r"), nil), []byte("\n"), nil)
		}
		got, err := r.Read()
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v: frame %d came as %q, %v, want %q", framing, i, got, err, want)
		}
	}
	if _, err := r.Read(); err != io.EOF || errors.Is(err, jsonrpc.ErrSkipped) {
		t.Fatalf("%v: after the last frame: %v", framing, err)
	}
}
