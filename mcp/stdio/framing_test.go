package stdio_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"mcpv/jsonrpc"
	"mcpv/mcp/stdio"
)

func block(s string) string {
	return "Content-Length: " + strconv.Itoa(len(s)) + "\r\n\r\n" + s
}

// readAll reads up to a fatal error. Skipped frames are noted as "!".
func readAll(s *stdio.Stream) (frames []string, err error) {
	for {
		f, err := s.Read()
		switch {
		case err == nil:
			frames = append(frames, string(f))
		case errors.Is(err, jsonrpc.ErrSkipped) && errors.Is(err, stdio.ErrTooLarge):
			frames = append(frames, "!")
		default:
			return frames, err
		}
	}
}

var readTests = []struct {
	name, in string
	max      int
	frames   []string
	framing  stdio.Framing
	err      string // io.EOF if empty
}{
	{name: "nothing"},
	{name: "blank", in: " \r\n\n \t\n"},
	{name: "lines", in: "{\"a\":1}\n[2]\r\n\n  \n{\"c\":\r3}\r\n", frames: []string{`{"a":1}`, `[2]`, "{\"c\":\r3}"}},
	{name: "leading space", in: "\r\n \t{}\n  {}\n", frames: []string{`{}`, `  {}`}},
	{name: "no newline at the end", in: "{}\n{}", frames: []string{`{}`, `{}`}},
	{name: "stray C", in: "Connecting\nc\n{}\nContent-Length: 2\n", frames: []string{"Connecting", "c", "{}", "Content-Length: 2"}},
	{name: "prefix only", in: "conten", frames: []string{"conten"}},
	{name: "long line fits", max: 5, in: "[123]\r\n[1234]\n[1]\n", frames: []string{"[123]", "!", "[1]"}},
	{name: "two CR, one of them too many", max: 5, in: "[123]\r\r\n[12]\r\r\n", frames: []string{"!", "[12]\r"}},
	{name: "long line at the end", max: 5, in: "[1]\n[12345]", frames: []string{"[1]", "!"}},
	{name: "line of several buffers", in: "[" + strings.Repeat("1", 200_000) + "]\r\n{}\n", frames: []string{"[" + strings.Repeat("1", 200_000) + "]", "{}"}},
	{name: "line far too long", max: 100_000, in: "{}\n" + strings.Repeat("1", 300_000) + "\n[]\n", frames: []string{"{}", "!", "[]"}},

	{name: "blocks", in: block(`{"a":1}`) + block("[\n2\n]"), frames: []string{`{"a":1}`, "[\n2\n]"}, framing: stdio.ContentLength},
	{name: "lower case, bare LF, other headers", in: "content-type: x; charset=utf-8\ncontent-length:  2 \n\n{}", frames: []string{"{}"}, framing: stdio.ContentLength},
	{name: "newline after the body", in: "\n" + block("{}") + "\r\n" + block("[]") + "\n", frames: []string{"{}", "[]"}, framing: stdio.ContentLength},
	{name: "banner, then blocks", in: "Starting\n" + block("{}"), frames: []string{"Starting", "{}"}, framing: stdio.ContentLength},
	{name: "empty body", in: block("") + block("1"), frames: []string{"1"}, framing: stdio.ContentLength},
	{name: "large body", in: block(strings.Repeat("1", 200_000)) + block("2"), frames: []string{strings.Repeat("1", 200_000), "2"}, framing: stdio.ContentLength},
	{name: "oversized body", max: 5, in: block(strings.Repeat("1", 200_000)) + block("2"), frames: []string{"!", "2"}, framing: stdio.ContentLength},
	{name: "same length twice", in: "Content-Length: 1\nContent-Length: 1\n\n7", frames: []string{"7"}, framing: stdio.ContentLength},

	{name: "two lengths", in: "Content-Length: 1\nContent-Length: 2\n\n77", framing: stdio.ContentLength, err: "both 1 and 2"},
	{name: "no length", in: "Content-Type: x\r\n\r\n{}", framing: stdio.ContentLength, err: "without Content-Length"},
	{name: "bad length", in: "Content-Length: +2\r\n\r\n{}", framing: stdio.ContentLength, err: `malformed Content-Length "+2"`},
	{name: "negative length", in: "Content-Length: -2\r\n\r\n{}", framing: stdio.ContentLength, err: "malformed Content-Length"},
	{name: "no colon", in: block("{}") + "oops\r\n\r\n", frames: []string{"{}"}, framing: stdio.ContentLength, err: `malformed header line "oops"`},
	{name: "endless header", in: "Content-X: " + strings.Repeat("x", 100_000), framing: stdio.ContentLength, err: "header block of more than"},
	{name: "endless headers", in: strings.Repeat("Content-X: x\n", 10_000), framing: stdio.ContentLength, err: "header block of more than"},
	{name: "cut header", in: "Content-Length: 2\r\n", framing: stdio.ContentLength, err: "inside a frame"},
	{name: "cut body", in: "Content-Length: 3\r\n\r\n{}", framing: stdio.ContentLength, err: "inside a frame"},
	{name: "cut oversized body", max: 1, in: "Content-Length: 3\r\n\r\n{}", frames: []string{"!"}, framing: stdio.ContentLength, err: "inside a frame"},
}

func TestRead(t *testing.T) {
	readers := map[string]func(io.Reader) io.Reader{
		"whole":    func(r io.Reader) io.Reader { return r },
		"one byte": iotest.OneByteReader,
		"halves":   iotest.HalfReader,
		"data+EOF": iotest.DataErrReader,
	}
	for _, tt := range readTests {
		for how, wrap := range readers {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				s := stdio.NewStream(wrap(strings.NewReader(tt.in)), io.Discard, nil, &stdio.StreamOptions{MaxFrame: tt.max})
				frames, err := readAll(s)
				if strings.Join(frames, "\x00") != strings.Join(tt.frames, "\x00") {
					t.Errorf("frames %.200q, want %.200q", frames, tt.frames)
				}
				if tt.err == "" && err != io.EOF || tt.err != "" && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("ended with %v, want %q", err, tt.err)
				}
				if s.Framing() != tt.framing {
					t.Errorf("framing %v, want %v", s.Framing(), tt.framing)
				}
				if _, again := s.Read(); again != err {
					t.Errorf("read after the end: %v, want %v", again, err)
				}
			})
		}
	}
}

func TestFramesAreExactAndOwned(t *testing.T) {
	s := stdio.NewStream(strings.NewReader("{\"a\":1}\n{\"b\":2}\n"), io.Discard, nil, nil)
	a := mustReadBytes(t, s)
	if cap(a) != len(a) {
		t.Errorf("frame of %d bytes has capacity %d", len(a), cap(a))
	}
	mustReadBytes(t, s)
	if string(a) != `{"a":1}` {
		t.Errorf("first frame became %q", a)
	}
}

func mustReadBytes(t *testing.T, s *stdio.Stream) []byte {
	t.Helper()
	f, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// An endless line is reported when it is known to be too long, not at its end.
func TestEndlessLineIsReportedAtOnce(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	s := stdio.NewStream(r, io.Discard, r, &stdio.StreamOptions{MaxFrame: 100})
	go w.Write(bytes.Repeat([]byte("1"), 200))
	if _, err := s.Read(); !errors.Is(err, stdio.ErrTooLarge) || !errors.Is(err, jsonrpc.ErrSkipped) {
		t.Fatalf("got %v", err)
	}
	go io.WriteString(w, "111\n{}\n")
	if f := mustRead(t, s); f != "{}" {
		t.Errorf("next frame is %q", f)
	}
}

// writes records each write on its own.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

func TestWrite(t *testing.T) {
	var w writes
	s := stdio.NewStream(strings.NewReader(block("{}")), &w, nil, nil)
	if err := s.Write([]byte("{\r\n\"a\":\n1}\n"), nil, []byte("[]")); err != nil {
		t.Fatal(err)
	}
	mustRead(t, s) // from here on as the peer does
	if err := s.Write([]byte("{\n}"), []byte("[]")); err != nil {
		t.Fatal(err)
	}
	want := writes{"{\"a\":1}\n[]\n", block("{\n}") + block("[]")}
	if strings.Join(w, "\x00") != strings.Join(want, "\x00") {
		t.Errorf("wrote %q, want %q", w, want)
	}
}

func TestWriteFirstInGivenFraming(t *testing.T) {
	var w writes
	s := stdio.NewStream(strings.NewReader("{}\n"), &w, nil, &stdio.StreamOptions{Framing: stdio.ContentLength})
	s.Write([]byte("1"))
	mustRead(t, s)
	s.Write([]byte("2"))
	if len(w) != 2 || w[0] != block("1") || w[1] != "2\n" {
		t.Errorf("wrote %q", w)
	}
}

func TestWriteLarge(t *testing.T) {
	var frames [][]byte
	for _, n := range []int{1, 70_000, 10, 65_535, 65_536, 65_537, 3, 1 << 20} {
		frames = append(frames, bytes.Repeat([]byte("7"), n))
	}
	for _, framing := range []stdio.Framing{stdio.Lines, stdio.ContentLength} {
		var wire bytes.Buffer
		s := stdio.NewStream(nil, &wire, nil, &stdio.StreamOptions{Framing: framing})
		if err := s.Write(frames...); err != nil {
			t.Fatal(err)
		}
		r := stdio.NewStream(&wire, io.Discard, nil, nil)
		for i, want := range frames {
			if got := mustRead(t, r); got != string(want) {
				t.Errorf("%v: frame %d of %d bytes came as %d bytes", framing, i, len(want), len(got))
			}
		}
	}
}

func TestWriteErrorIsFinal(t *testing.T) {
	broken := errors.New("broken")
	n := 0
	s := stdio.NewStream(nil, writerFunc(func(p []byte) (int, error) { n++; return len(p) / 2, broken }), nil, nil)
	for range 2 {
		if err := s.Write([]byte("{}")); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	if n != 1 {
		t.Errorf("wrote %d times after half a frame", n)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestCloseUnblocksAndIsIdempotent(t *testing.T) {
	r, _ := io.Pipe()
	s := stdio.NewStream(r, io.Discard, r, nil)
	read := make(chan error)
	go func() {
		_, err := s.Read()
		read <- err
	}()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-read; !errors.Is(err, os.ErrClosed) {
		t.Errorf("pending read: %v", err)
	}
	if err := s.Write([]byte("{}")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("later write: %v", err)
	}
}
