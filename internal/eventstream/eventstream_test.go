package eventstream_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpv/internal/eventstream"
)

func readAll(t testing.TB, src io.Reader, limit int) ([]eventstream.Event, error) {
	t.Helper()
	r := eventstream.NewReader(src, limit)
	var all []eventstream.Event
	for {
		e, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func data(s string) eventstream.Event { return eventstream.Event{Data: []byte(s)} }

func TestRead(t *testing.T) {
	type events = []eventstream.Event
	tests := []struct {
		name, in string
		want     events
		err      error
	}{
		{"empty", "", nil, io.EOF},
		{"one", "data: a\n\n", events{data("a")}, io.EOF},
		{"no space", "data:a\n\n", events{data("a")}, io.EOF},
		{"two spaces", "data:  a\n\n", events{data(" a")}, io.EOF},
		{"line ends", "data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\r", events{data("a\nb\nc"), data("d")}, io.EOF},
		{"CRLF is one end", "data: a\r\n\r\ndata: b\r\n\r\n", events{data("a"), data("b")}, io.EOF},
		{"byte order mark", "\xEF\xBB\xBFdata: a\n\n", events{data("a")}, io.EOF},
		{"second mark is a name", "\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n", nil, io.EOF},
		{"comments", ": hello\n:\n\n: x\ndata: a\n: y\n\n", events{data("a")}, io.EOF},
		{"no colon", "data\n\n", events{data("")}, io.EOF},
		{"two without colon", "data\ndata\n\n", events{data("\n")}, io.EOF},
		{"name without data", "event: x\n\ndata: a\n\n", events{data("a")}, io.EOF},
		{"name", "event: endpoint\ndata: /x\n\n", events{{Name: "endpoint", Data: []byte("/x")}}, io.EOF},
		{"priming", "id: 7\ndata:\n\n", events{{ID: "7", HasID: true, Data: []byte{}}}, io.EOF},
		{"id alone", "id: 7\n\n", events{{ID: "7", HasID: true}}, io.EOF},
		{"id reset", "id\n\n", events{{HasID: true}}, io.EOF},
		{"id with NUL", "id: a\x00b\ndata: x\n\n", events{data("x")}, io.EOF},
		{"retry", "retry: 1500\n\n", events{{Retry: 1500 * time.Millisecond, HasRetry: true}}, io.EOF},
		{"retry not digits", "retry: 1.5\n\nretry: -1\n\nretry:\n\nretry: +2\n\n", nil, io.EOF},
		{"unknown fields", "datum: x\nDATA: y\ndata : z\n\n", nil, io.EOF},
		{"last wins", "event: a\nevent: b\nid: 1\nid: 2\ndata: x\n\n", events{{Name: "b", ID: "2", HasID: true, Data: []byte("x")}}, io.EOF},
		{"colon in value", "data: a:b\n\n", events{data("a:b")}, io.EOF},
		{"cut after data", "data: a\n\ndata: b\n", events{data("a")}, io.ErrUnexpectedEOF},
		{"cut in data", "data: b", nil, io.ErrUnexpectedEOF},
		{"cut in name", "da", nil, io.ErrUnexpectedEOF},
		{"cut in comment", "data: a\n\n: b", events{data("a")}, io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for kind, src := range map[string]io.Reader{
				"whole":     strings.NewReader(tt.in),
				"bytewise":  iotest.OneByteReader(strings.NewReader(tt.in)),
				"data+EOF":  iotest.DataErrReader(strings.NewReader(tt.in)),
				"half read": iotest.HalfReader(strings.NewReader(tt.in)),
			} {
				got, err := readAll(t, src, 0)
				if !errors.Is(err, tt.err) {
					t.Errorf("%s: error %v, want %v", kind, err, tt.err)
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("%s: (-want +got)\n%s", kind, d)
				}
			}
		})
	}
}

func TestRetryIsCutToTheRangeOfDuration(t *testing.T) {
	got, _ := readAll(t, strings.NewReader("retry: "+strings.Repeat("9", 60)+"\n\n"), 0)
	if len(got) != 1 || got[0].Retry < 100*365*24*time.Hour {
		t.Errorf("got %v", got)
	}
}

// A line that ends with CR is complete: the reader must not wait to see whether
// LF follows.
func TestReadDoesNotWaitBehindCR(t *testing.T) {
	pr, pw := io.Pipe()
	go pw.Write([]byte("data: a\r\r"))
	e, err := eventstream.NewReader(pr, 0).Next()
	if err != nil || string(e.Data) != "a" {
		t.Errorf("got %q, %v", e.Data, err)
	}
	pw.Close()
}

func TestLimits(t *testing.T) {
	tests := []struct{ name, bad, part string }{
		{"one line", "data: " + strings.Repeat("x", 1001) + "\n", "data"},
		{"many lines", strings.Repeat("data: x\n", 501), "data"},
		{"empty lines", strings.Repeat("data\n", 2000), "data"},
		{"id", "data: x\nid: " + strings.Repeat("x", eventstream.MaxField) + "\n", "field"},
		{"unknown", strings.Repeat("x", eventstream.MaxField+1) + "\ndata: x\n", "field"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := "data: before\n\n" + tt.bad + "event: tail\n: c\ndata: tail\n\ndata: after\n\n"
			r := eventstream.NewReader(strings.NewReader(in), 1000)
			if e, err := r.Next(); err != nil || string(e.Data) != "before" {
				t.Fatalf("before: %q, %v", e.Data, err)
			}
			var limit *eventstream.LimitError
			if _, err := r.Next(); !errors.As(err, &limit) || limit.Part != tt.part {
				t.Fatalf("error %v, want a LimitError of %s", err, tt.part)
			}
			if e, err := r.Next(); err != nil || string(e.Data) != "after" || e.Name != "" {
				t.Fatalf("after: %+v, %v", e, err)
			}
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Fatalf("end: %v", err)
			}
		})
	}
	t.Run("exactly", func(t *testing.T) {
		want := strings.Repeat("x", 1000)
		got, err := readAll(t, strings.NewReader("data: "+want+"\n\n"), 1000)
		if !errors.Is(err, io.EOF) || len(got) != 1 || string(got[0].Data) != want {
			t.Errorf("got %d events, %v", len(got), err)
		}
	})
	t.Run("cut while dropping", func(t *testing.T) {
		r := eventstream.NewReader(strings.NewReader("data: "+strings.Repeat("x", 5000)), 1000)
		r.Next()
		if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
	})
}

// Comments of any length cost no memory and are no error.
func TestLongComment(t *testing.T) {
	in := io.MultiReader(strings.NewReader(":"), io.LimitReader(zeros{}, 4<<20), strings.NewReader("\ndata: a\n\n"))
	got, err := readAll(t, in, 0)
	if d := cmp.Diff([]eventstream.Event{data("a")}, got); d != "" || !errors.Is(err, io.EOF) {
		t.Errorf("%v %s", err, d)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestSourceError(t *testing.T) {
	boom := errors.New("boom")
	got, err := readAll(t, io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(boom)), 0)
	if err != boom || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestDataBelongToTheCaller(t *testing.T) {
	big := strings.Repeat("b", 200<<10)
	got, _ := readAll(t, strings.NewReader("data: a\n\ndata: "+big+"\n\ndata: c\n\ndata: "+strings.ToUpper(big)+"\n\n"), 0)
	want := []eventstream.Event{data("a"), data(big), data("c"), data(strings.ToUpper(big))}
	if !reflect.DeepEqual(want, got) {
		t.Error("data changed after they were returned")
	}
}

func TestAppend(t *testing.T) {
	tests := []struct {
		e    eventstream.Event
		want string
	}{
		{data(`{"a":1}`), "data: {\"a\":1}\n\n"},
		{eventstream.Event{Name: "message", ID: "4", HasID: true, Data: []byte("x")}, "event: message\nid: 4\ndata: x\n\n"},
		{eventstream.Event{ID: "4", HasID: true, Data: []byte{}}, "id: 4\ndata: \n\n"},
		{eventstream.Event{Retry: 2500 * time.Millisecond, HasRetry: true}, "retry: 2500\n\n"},
		{eventstream.Event{Retry: -time.Second, HasRetry: true}, "retry: 0\n\n"},
		{data("a\nb\rc\r\nd\n\re"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: e\n\n"},
		{data("a\n"), "data: a\ndata: \n\n"},
		{data("a\r\n"), "data: a\ndata: \n\n"},
		{data("x\n\nevent: evil\ndata: y"), "data: x\ndata: \ndata: event: evil\ndata: data: y\n\n"},
		{eventstream.Event{Name: "a\ndata: evil\r\n\n", ID: "1\x00\r\ndata: evil", HasID: true, Data: []byte("x")},
			"event: adata: evil\nid: 1data: evil\ndata: x\n\n"},
	}
	for _, tt := range tests {
		if got := string(eventstream.Append([]byte("<"), tt.e)); got != "<"+tt.want {
			t.Errorf("%+v:\n got %q\nwant %q", tt.e, got, tt.want)
		}
	}
}

func TestAppendComment(t *testing.T) {
	for in, want := range map[string]string{
		"":               ": \n\n",
		"ping":           ": ping\n\n",
		"a\r\ndata: x\n": ": a\n: \n: data: x\n: \n\n",
	} {
		got := eventstream.AppendComment(nil, in)
		if string(got) != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if all, err := readAll(t, bytes.NewReader(got), 0); len(all) != 0 || err != io.EOF {
			t.Errorf("%q: read as %v, %v", in, all, err)
		}
	}
}

func TestAllocations(t *testing.T) {
	e := eventstream.Event{Name: "message", ID: "12", HasID: true, Data: bytes.Repeat([]byte("x"), 1000)}
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { buf = eventstream.Append(buf[:0], e) }); n != 0 {
		t.Errorf("append: %v allocations", n)
	}
	e.HasID = false
	wire := eventstream.Append(nil, e)
	r := eventstream.NewReader(&repeat{b: wire}, 0)
	r.Next()
	if n := testing.AllocsPerRun(1000, func() { r.Next() }); n > 1 {
		t.Errorf("read: %v allocations", n)
	}
}

// repeat reads b again and again.
type repeat struct {
	b []byte
	i int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.b[r.i:])
	r.i = (r.i + n) % len(r.b)
	return n, nil
}

func BenchmarkRead(b *testing.B) {
	for name, size := range map[string]int{"100B": 100, "10KB": 10 << 10, "1MB": 1 << 20} {
		wire := eventstream.Append(nil, eventstream.Event{Name: "message", Data: bytes.Repeat([]byte("x"), size)})
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			r := eventstream.NewReader(&repeat{b: wire}, 0)
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Lines of no length ended by CR are the worst case of a search for line ends.
func BenchmarkReadCR(b *testing.B) {
	src := &repeat{b: append(bytes.Repeat([]byte("\r"), 1<<20), "data: x\r\r"...)}
	b.SetBytes(1 << 20)
	r := eventstream.NewReader(src, 0)
	for b.Loop() {
		r.Next()
	}
}
