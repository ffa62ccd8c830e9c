package eventstream_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpv/internal/eventstream"
)

// naive reads a stream as the specification's text does, without limits.
func naive(in string) (all []eventstream.Event) {
	in = strings.TrimPrefix(in, "\xEF\xBB\xBF")
	in = strings.ReplaceAll(in, "\r\n", "\n")
	in = strings.ReplaceAll(in, "\r", "\n")
	lines := strings.Split(in, "\n")
	var e eventstream.Event
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if e.Data != nil || e.HasID || e.HasRetry {
				e.Data = bytes.TrimSuffix(e.Data, []byte("\n"))
				all = append(all, e)
			}
			e = eventstream.Event{}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			e.Name = value
		case "data":
			e.Data = append(append(e.Data, value...), '\n')
		case "id":
			if !strings.Contains(value, "\x00") {
				e.ID, e.HasID = value, true
			}
		case "retry":
			if value != "" && strings.Trim(value, "0123456789") == "" && len(value) < 12 {
				var ms int64
				for _, c := range value {
					ms = ms*10 + int64(c-'0')
				}
				e.Retry, e.HasRetry = time.Duration(ms)*time.Millisecond, true
			}
		}
	}
	return all
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"", "data: a\n\n", "\xEF\xBB\xBFdata:a\r\rid: 1\r\n\r\n", ": c\n\nretry: 10\nevent: x\ndata\n\n",
		"id: a\x00\ndata: \ndata:\n\n", "data: a", "data: " + strings.Repeat("x", 5000) + "\n\n",
		"dat\ndatas: x\ndata\r\r\n\n", strings.Repeat("\r", 100), "event: endpoint\ndata: /m?s=1\n\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 60<<10 {
			t.Skip("fields may pass the limit")
		}
		got, err := readAll(t, strings.NewReader(in), 0)
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		slow, slowErr := readAll(t, iotest.OneByteReader(strings.NewReader(in)), 0)
		if d := cmp.Diff(got, slow); d != "" || err != slowErr {
			t.Errorf("differs when read in pieces: %v %v %s", err, slowErr, d)
		}
		if digits(in) {
			return
		}
		if d := cmp.Diff(naive(in), got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

// digits says whether in has a number too long for the oracle's retry field.
func digits(in string) bool {
	run := 0
	for i := range len(in) {
		if run++; in[i] < '0' || in[i] > '9' {
			run = 0
		}
		if run >= 12 {
			return true
		}
	}
	return false
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("message", "1", true, []byte(`{"jsonrpc":"2.0"}`), int64(3))
	f.Add("a\nb", "x\x00", true, []byte("a\r\nb\rc\nd"), int64(-1))
	f.Add("", "", false, []byte(" \n\n"), int64(0))
	f.Add("\xEF\xBB\xBF", " ", true, []byte("\r\r\n\n"), int64(1)<<40)
	f.Fuzz(func(t *testing.T, name, id string, hasID bool, payload []byte, ms int64) {
		if len(name) > 1<<10 || len(id) > 1<<10 || ms > 1<<40 {
			t.Skip("over the limits")
		}
		if payload == nil {
			payload = []byte{}
		}
		in := eventstream.Event{Name: name, ID: id, HasID: hasID, Data: payload, HasRetry: ms > 0, Retry: time.Duration(max(ms, 0)) * time.Millisecond}
		wire := eventstream.AppendComment(nil, name)
		wire = eventstream.Append(wire, in)
		wire = eventstream.Append(wire, in)

		strip := strings.NewReplacer("\r", "", "\n", "", "\x00", "")
		want := in
		want.Name, want.ID = strip.Replace(name), ""
		if hasID {
			want.ID = strip.Replace(id)
		}
		want.Data = []byte(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(payload)))
		got, err := readAll(t, bytes.NewReader(wire), 0)
		if err != io.EOF {
			t.Errorf("error %v", err)
		}
		if d := cmp.Diff([]eventstream.Event{want, want}, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}
