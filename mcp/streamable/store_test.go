package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mcpv/mcp/streamable"
)

func withCancel(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

func add(t *testing.T, s streamable.EventStore, session, stream string, from, to int64, size int) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		if err := s.Append(session, stream, seq, []byte(fmt.Sprintf("%-*d", size, seq))); err != nil {
			t.Fatal(err)
		}
	}
}

func after(t *testing.T, s streamable.EventStore, session, stream string, seq int64) string {
	t.Helper()
	frames, first, err := s.After(session, stream, seq)
	if err != nil {
		return err.Error()
	}
	got := fmt.Sprint(first, ":")
	for _, f := range frames {
		got += " " + strings.TrimSpace(string(f))
	}
	return got
}

func TestMemoryStore(t *testing.T) {
	s := streamable.NewMemoryStore(1000, 2500) // 6 events of 100 bytes a session, 15 in all
	add(t, s, "s", "a", 1, 3, 100)
	add(t, s, "s", "b", 1, 2, 100)
	add(t, s, "t", "a", 1, 1, 100)
	check := func(session, stream string, seq int64, want string) {
		t.Helper()
		if got := after(t, s, session, stream, seq); got != want {
			t.Errorf("%s/%s after %d: %q, want %q", session, stream, seq, got, want)
		}
	}
	check("s", "a", 0, "1: 1 2 3")
	check("s", "a", 2, "3: 3")
	check("s", "a", 3, "4:")
	check("s", "a", 99, "4:")
	check("t", "a", 0, "1: 1")
	check("t", "b", 0, streamable.ErrNoStream.Error())
	add(t, s, "s", "b", 3, 5, 100)
	check("s", "a", 0, "3: 3") // the oldest of the session went
	check("s", "b", 0, "1: 1 2 3 4 5")
	check("t", "a", 0, "1: 1")
	s.Forget("s")
	check("s", "b", 0, streamable.ErrNoStream.Error())
	for _, session := range []string{"u", "v", "w"} {
		add(t, s, session, "a", 1, 6, 100)
	}
	check("t", "a", 0, "1: 1")
	check("u", "a", 0, "1: 1 2 3 4 5 6")
	check("w", "a", 0, "5: 5 6") // all together have too much
	add(t, s, "x", "big", 1, 1, 5000)
	check("x", "big", 0, "2:") // fits nowhere, but is known
	for i := range 2000 {
		add(t, s, "u", fmt.Sprint("many", i), 1, 1, 1)
	}
	if _, _, err := s.After("u", "many0", 0); !errors.Is(err, streamable.ErrNoStream) {
		t.Errorf("streams are not bounded: %v", err)
	}
}

// A session that makes streams without end keeps what the store remembers of
// them bounded, and not their traces either.
func TestStoreForgetsStreams(t *testing.T) {
	s := streamable.NewMemoryStore(0, 0)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	frame := []byte("x")
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			if err := s.Append("session", fmt.Sprint("stream", i), 1, frame); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(0, 5_000)
	before := heap()
	fill(5_000, 200_000)
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the store has grown by %d bytes", grown)
	}
	if got := after(t, s, "session", "stream199999", 0); got != "1: x" {
		t.Errorf("the newest stream has %q", got)
	}
	runtime.KeepAlive(s)
}
