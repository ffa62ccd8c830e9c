package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/jsonrpc"
)

func request(c *jsonrpc.Conn, method string) *jsonrpc.Message {
	return jsonrpc.NewRequest(c.NextID(), method, nil)
}

// echo answers every request with its method.
func echo(c *jsonrpc.Conn, m *jsonrpc.Message) {
	if m.Kind() == jsonrpc.Request {
		c.TrySend(jsonrpc.NewResult(m.ID(), []byte(`"`+m.Method()+`"`)))
	}
}

// pair returns two connections, closed at the end of the test.
func pair(t *testing.T, near, far *jsonrpc.Options) (*jsonrpc.Conn, *jsonrpc.Conn) {
	a, b := jsonrpc.Pipe()
	x, y := jsonrpc.NewConn(a, near), jsonrpc.NewConn(b, far)
	t.Cleanup(func() { x.Close(); y.Close() })
	return x, y
}

// wire returns a connection and the bare other end of its stream.
func wire(t *testing.T, o *jsonrpc.Options) (*jsonrpc.Conn, jsonrpc.Stream) {
	a, b := jsonrpc.Pipe()
	c := jsonrpc.NewConn(a, o)
	t.Cleanup(func() { c.Close() })
	return c, b
}

func put(t *testing.T, s jsonrpc.Stream, frames ...string) {
	t.Helper()
	for _, f := range frames {
		if err := s.Write([]byte(f)); err != nil {
			t.Fatal(err)
		}
	}
}

func take(t *testing.T, s jsonrpc.Stream) string {
	t.Helper()
	f, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return string(f)
}

func TestConcurrentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := pair(t, &jsonrpc.Options{OnCall: echo}, &jsonrpc.Options{OnCall: echo})
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				c := x
				if i%2 == 1 {
					c = y // both sides use the same ids
				}
				method := fmt.Sprintf("m%d", i)
				r, err := c.Call(t.Context(), request(c, method))
				if err != nil || string(r.Result()) != `"`+method+`"` {
					t.Errorf("%s: %v %v", method, r, err)
				}
			})
		}
		all.Wait()
		if x.Waiting()+y.Waiting() != 0 {
			t.Errorf("%d and %d calls wait", x.Waiting(), y.Waiting())
		}
	})
}

func TestCancelledCallDropsLateResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := wire(t, nil)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := c.Call(ctx, jsonrpc.NewRequest(jsonrpc.IntID(1), "slow", nil))
			done <- err
		}()
		take(t, peer)
		cancel(cause)
		if err := <-done; err != cause {
			t.Errorf("error %v", err)
		}
		if c.Waiting() != 0 {
			t.Errorf("%d calls wait", c.Waiting())
		}
		put(t, peer, `{"jsonrpc":"2.0","id":1,"result":"late"}`, `{"jsonrpc":"2.0","id":99,"result":"never asked"}`)
		synctest.Wait() // they are read, and go nowhere
		go func() {
			take(t, peer)
			put(t, peer, `{"jsonrpc":"2.0","id":1,"result":"second"}`, `{"jsonrpc":"2.0","id":1,"result":"twice"}`)
		}()
		r, err := c.Call(t.Context(), jsonrpc.NewRequest(jsonrpc.IntID(1), "again", nil))
		if err != nil || string(r.Result()) != `"second"` {
			t.Errorf("got %v %v", r, err)
		}
	})
}

func TestEndedContextSendsNothing(t *testing.T) {
	c, _ := wire(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if err := c.Send(ctx, jsonrpc.NewNotification("n", nil)); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
	}
}

func TestIDsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := wire(t, nil)
		m := jsonrpc.NewRequest(jsonrpc.StringID("a"), "m", nil)
		first := make(chan string)
		go func() {
			r, err := c.Call(t.Context(), m)
			if err != nil {
				t.Error(err)
			}
			first <- string(r.Result())
		}()
		take(t, peer)
		if _, err := c.Call(t.Context(), m); err == nil {
			t.Error("an id was used twice")
		}
		if _, err := c.Call(t.Context(), jsonrpc.NewNotification("n", nil)); err == nil {
			t.Error("a call without id")
		}
		put(t, peer, `{"jsonrpc":"2.0","id":"\u0061","result":1}`)
		if got := <-first; got != "1" {
			t.Errorf("the first call got %s", got)
		}
	})
}

// stuck is a stream whose peer never reads and never sends.
type stuck struct {
	closed chan struct{}
	once   sync.Once
}

func newStuck() *stuck { return &stuck{closed: make(chan struct{})} }

func (s *stuck) Read() ([]byte, error) { <-s.closed; return nil, io.ErrClosedPipe }
func (s *stuck) Write(...[]byte) error { <-s.closed; return io.ErrClosedPipe }
func (s *stuck) Close() error          { s.once.Do(func() { close(s.closed) }); return nil }

func TestBoundedQueueAndPeerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := jsonrpc.NewConn(newStuck(), &jsonrpc.Options{Queue: 3})
		n := jsonrpc.NewNotification("n", nil)
		if err := c.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the writer has taken the first
		for range 3 {
			if !c.TrySend(n) {
				t.Fatal("the queue is full early")
			}
		}
		if c.TrySend(n) {
			t.Error("the queue has no bound")
		}
		waiting := make(chan error)
		go func() { waiting <- c.Send(context.Background(), n) }()
		synctest.Wait()
		if err := c.Close(); err != nil { // bounded by its grace, in the bubble's time
			t.Error(err)
		}
		if err := <-waiting; !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("the waiting send: %v", err)
		}
		if c.TrySend(n) || !errors.Is(c.Send(t.Context(), n), jsonrpc.ErrClosed) {
			t.Error("a closed connection takes frames")
		}
	})
}

func TestCloseWritesWhatIsQueued(t *testing.T) {
	a, b := jsonrpc.Pipe()
	c := jsonrpc.NewConn(a, nil)
	for i := range 10 {
		if err := c.Send(t.Context(), jsonrpc.NewNotification(fmt.Sprint("n", i), nil)); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	for i := range 10 {
		if got, want := take(t, b), fmt.Sprintf(`{"jsonrpc":"2.0","method":"n%d"}`, i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, err := b.Read(); err != io.EOF {
		t.Errorf("then %v", err)
	}
	if _, err := c.Call(t.Context(), request(c, "m")); !errors.Is(err, jsonrpc.ErrClosed) {
		t.Errorf("call after close: %v", err)
	}
	if err := c.Err(); err != jsonrpc.ErrClosed {
		t.Errorf("reason %v", err)
	}
}

// scripted is a stream that reads from a list, then says why it ends.
type scripted struct {
	stuck
	frames chan []byte
	end    error
	wrote  chan []byte
}

func newScripted(end error) *scripted {
	return &scripted{stuck: stuck{closed: make(chan struct{})}, frames: make(chan []byte), wrote: make(chan []byte, 64), end: end}
}

func (s *scripted) Read() ([]byte, error) {
	select {
	case f, ok := <-s.frames:
		if ok && string(f) == "skip" {
			return nil, fmt.Errorf("line too long: %w", jsonrpc.ErrSkipped)
		}
		if ok {
			return f, nil
		}
		return nil, s.end
	case <-s.closed:
		return nil, io.ErrClosedPipe
	}
}

func (s *scripted) Write(frames ...[]byte) error {
	for _, f := range frames {
		s.wrote <- f
	}
	return nil
}

func TestHalfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(io.EOF)
		ended := make(chan struct{})
		c := jsonrpc.NewConn(s, &jsonrpc.Options{OnEnd: func() { close(ended) }})
		failed := make(chan error)
		go func() { _, err := c.Call(t.Context(), request(c, "m")); failed <- err }()
		<-s.wrote
		close(s.frames)
		<-ended
		if err := <-failed; !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("the waiting call: %v", err)
		}
		if err := c.Err(); err != nil {
			t.Errorf("the sending side ended: %v", err)
		}
		if err := c.Send(t.Context(), jsonrpc.NewNotification("last", nil)); err != nil {
			t.Error(err)
		}
		if got := string(<-s.wrote); got != `{"jsonrpc":"2.0","method":"last"}` {
			t.Errorf("wrote %s", got)
		}
		if _, err := c.Call(t.Context(), request(c, "m")); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("a new call: %v", err)
		}
		c.Close()
	})
}

func TestReasonsOfTheEnd(t *testing.T) {
	broken := errors.New("cable cut")
	for _, c := range []struct {
		end  error
		want error
	}{{io.EOF, jsonrpc.ErrEnded}, {broken, broken}} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted(c.end)
			conn := jsonrpc.NewConn(s, nil)
			failed := make(chan error)
			go func() { _, err := conn.Call(t.Context(), request(conn, "m")); failed <- err }()
			<-s.wrote
			close(s.frames)
			if err := <-failed; !errors.Is(err, c.want) || !errors.Is(err, jsonrpc.ErrClosed) {
				t.Errorf("the call: %v", err)
			}
			<-conn.Failed()
			<-conn.Done()
			if err := conn.Err(); !errors.Is(err, c.want) || !errors.Is(err, jsonrpc.ErrClosed) {
				t.Errorf("reason: %v", err)
			}
		})
	}
}

func TestBadFramesSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(io.EOF)
		c := jsonrpc.NewConn(s, &jsonrpc.Options{OnCall: echo})
		for _, step := range []struct{ in, out string }{
			{`garbage`, `"error":{"code":-32700`},
			{`{"jsonrpc":"2.0","id":5,"method":7}`, `"id":5,"error":{"code":-32600`},
			{`[]`, `"error":{"code":-32600,"message":"empty batch"`},
			{`[1`, `"error":{"code":-32700`},
			{`[` + strings.Repeat(`1,`, 5000) + `1]`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"the batch is too long"}}`},
			{`skip`, `"error":{"code":-32600,"message":"line too long: frame skipped"`},
			{`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, `"error":{"code":-32600,"message":"batches are not accepted here"`},
			{`{"jsonrpc":"2.0","id":6,"method":"m"}`, `{"jsonrpc":"2.0","id":6,"result":"m"}`},
		} {
			s.frames <- []byte(step.in)
			if got := string(<-s.wrote); !strings.Contains(got, step.out) {
				t.Errorf("%s: answered %s", step.in, got)
			}
		}
		c.Close()
	})
}

func TestBadFrameDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(io.EOF)
		fatal := errors.New("no more of this")
		seen := 0
		c := jsonrpc.NewConn(s, &jsonrpc.Options{OnBadFrame: func(frame []byte, err error) (*jsonrpc.Message, error) {
			var fe *jsonrpc.FrameError
			if !errors.As(err, &fe) || (frame == nil) != (seen == 1) {
				t.Errorf("frame %q, error %v", frame, err)
			}
			if seen++; seen == 3 {
				return nil, fatal
			}
			return nil, nil
		}})
		s.frames <- []byte(`x`)
		s.frames <- []byte(`skip`)
		s.frames <- []byte(`y`)
		<-c.Done()
		if !errors.Is(c.Err(), fatal) || len(s.wrote) != 0 {
			t.Errorf("reason %v, %d answers", c.Err(), len(s.wrote))
		}
	})
}

func TestUnhandledCalls(t *testing.T) {
	_, peer := wire(t, nil)
	put(t, peer, `{"jsonrpc":"2.0","method":"n"}`, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
	if got, want := take(t, peer), `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: m"}}`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type got struct{ calls, answers []*jsonrpc.Message }
		batches := make(chan got, 1)
		c, peer := wire(t, &jsonrpc.Options{OnBatch: func(_ *jsonrpc.Conn, calls, answers []*jsonrpc.Message) { batches <- got{calls, answers} }})
		result := make(chan string)
		go func() {
			r, err := c.Call(t.Context(), jsonrpc.NewRequest(jsonrpc.IntID(1), "m", nil))
			if err != nil {
				t.Error(err)
			}
			result <- string(r.Result())
		}()
		take(t, peer)
		put(t, peer, ` [{"jsonrpc":"2.0","id":1,"result":"in a batch"},{"jsonrpc":"2.0","method":"n"},7,{"jsonrpc":"2.0","id":2,"method":"q"},{"jsonrpc":"2.0","id":3,"method":1}]`)
		if r := <-result; r != `"in a batch"` {
			t.Errorf("result %s", r)
		}
		b := <-batches
		if len(b.calls) != 2 || b.calls[0].Method() != "n" || b.calls[1].Method() != "q" {
			t.Errorf("calls %v", b.calls)
		}
		if len(b.answers) != 2 || b.answers[0].Err().Code != invalid || b.answers[1].ID() != jsonrpc.IntID(3) {
			t.Errorf("answers %v", b.answers)
		}
		put(t, peer, `[{"jsonrpc":"2.0","id":8,"result":1}]`) // responses alone ask for nothing
		synctest.Wait()
		if len(batches) != 0 {
			t.Error("a batch of responses was taken for calls")
		}
	})
}

func TestHeldResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan *jsonrpc.Message, 1)
		c, peer := wire(t, &jsonrpc.Options{OnResponse: func(_ *jsonrpc.Conn, m *jsonrpc.Message) bool { held <- m; return true }})
		done := make(chan string)
		go func() {
			r, err := c.Call(t.Context(), request(c, "m"))
			if err != nil {
				t.Error(err)
			}
			done <- string(r.Result())
		}()
		take(t, peer)
		put(t, peer, `{"jsonrpc":"2.0","id":1,"result":7}`)
		m := <-held
		synctest.Wait()
		if c.Waiting() != 1 {
			t.Error("the call did not wait")
		}
		if !c.Resolve(m) || c.Resolve(m) {
			t.Error("a response is taken once")
		}
		if got := <-done; got != "7" {
			t.Errorf("got %s", got)
		}
	})
}

// Calls that race with Close end, every one of them, with an answer or ErrClosed.
func TestCallsRaceWithClose(t *testing.T) {
	for _, closer := range []string{"near", "far", "both"} {
		t.Run(closer, func(t *testing.T) {
			a, b := jsonrpc.Pipe()
			x := jsonrpc.NewConn(a, &jsonrpc.Options{Queue: 8})
			y := jsonrpc.NewConn(b, &jsonrpc.Options{OnCall: func(c *jsonrpc.Conn, m *jsonrpc.Message) { echo(c, m) }, Queue: 2000})
			start := make(chan struct{})
			var all sync.WaitGroup
			for range 1000 {
				all.Go(func() {
					<-start
					r, err := x.Call(context.Background(), request(x, "m"))
					if err == nil && string(r.Result()) != `"m"` || err != nil && !errors.Is(err, jsonrpc.ErrClosed) {
						t.Errorf("%v %v", r, err)
					}
				})
			}
			all.Go(func() {
				<-start
				if _, err := x.Call(context.Background(), request(x, "m")); err != nil && !errors.Is(err, jsonrpc.ErrClosed) {
					t.Error(err)
				}
				if closer != "far" {
					x.Close()
				}
				if closer != "near" {
					y.Close()
				}
			})
			close(start)
			all.Wait()
			x.Close()
			y.Close()
			if x.Waiting() != 0 {
				t.Errorf("%d calls wait", x.Waiting())
			}
		})
	}
}

func TestPipe(t *testing.T) {
	a, b := jsonrpc.Pipe()
	frame := []byte("one")
	if err := a.Write(frame, []byte("two")); err != nil {
		t.Fatal(err)
	}
	frame[0] = 'X' // the writer's again
	a.Close()
	a.Close()
	if got := take(t, b) + take(t, b); got != "onetwo" {
		t.Errorf("got %s", got)
	}
	if _, err := b.Read(); err != io.EOF {
		t.Errorf("read: %v", err)
	}
	if err := b.Write(frame); err != io.ErrClosedPipe {
		t.Errorf("write: %v", err)
	}
}

// A response that is malformed fails the call it names, and no other.
func TestMalformedResponseFailsItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := wire(t, nil)
		got := make(chan *jsonrpc.Message, 1)
		go func() {
			r, err := c.Call(t.Context(), jsonrpc.NewRequest(jsonrpc.IntID(1), "m", nil))
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		take(t, peer)
		put(t, peer, `{"jsonrpc":"2.0","id":1,"method":7}`) // theirs: no answer to ours
		put(t, peer, `{"jsonrpc":"2.0","id":2,"error":null}`)
		synctest.Wait()
		if len(got) != 0 {
			t.Fatal("the call ended too early")
		}
		put(t, peer, `{"jsonrpc":"2.0","id":1,"error":null}`)
		if r := <-got; r == nil || r.Err() == nil || r.ID() != jsonrpc.IntID(1) || r.Err().Code != jsonrpc.CodeInternal {
			t.Errorf("got %v", r)
		}
	})
}

// A stuckStream does not write, and takes its time to close.
type stuckStream struct {
	closing chan struct{}
	once    sync.Once
	ended   atomic.Bool
}

func (s *stuckStream) Read() ([]byte, error)        { <-s.closing; return nil, io.EOF }
func (s *stuckStream) Write(frames ...[]byte) error { <-s.closing; return io.ErrClosedPipe }
func (s *stuckStream) Close() error {
	s.once.Do(func() {
		close(s.closing)
		<-time.After(5 * time.Second)
		s.ended.Store(true)
	})
	return nil
}

// Close waits for the stream's Close, which may have a process to end.
func TestCloseWaitsForTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuckStream{closing: make(chan struct{})}
		c := jsonrpc.NewConn(s, nil)
		if err := c.Send(t.Context(), jsonrpc.NewNotification("n", nil)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.Close()
		if !s.ended.Load() {
			t.Error("the stream is still being closed")
		}
	})
}
