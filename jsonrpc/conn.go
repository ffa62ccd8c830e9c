package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is wrapped by everything that fails because the connection ended.
var ErrClosed = errors.New("connection closed")

// ErrEnded is ErrClosed where it was the peer who ended it, in an orderly way.
var ErrEnded = fmt.Errorf("%w by the peer", ErrClosed)

// Options says what a Conn does with what arrives. All callbacks run on the
// reading goroutine, in order of arrival: they must not block and must not
// call Close.
type Options struct {
	// OnCall takes requests and notifications. Nil drops notifications and
	// answers requests with -32601.
	OnCall func(c *Conn, m *Message)

	// OnBatch takes the calls of a batch that was valid JSON, and the answers
	// already owed for its malformed elements. Nil refuses batches that hold
	// calls with -32600; batched responses are always taken.
	OnBatch func(c *Conn, calls []*Message, answers []*Message)

	// OnBadFrame decides about a frame that is no message, or was skipped by
	// the stream (frame is nil then): a nil answer sends nothing, an error ends
	// the connection. Nil answers with the error's own response.
	OnBadFrame func(frame []byte, err error) (answer *Message, fatal error)

	// OnResponse sees responses before the waiting call does; it may hold one
	// back by returning true and hand it to Conn.Resolve later.
	OnResponse func(c *Conn, m *Message) (held bool)

	// OnEnd is told that the peer ended its side in an orderly way. The
	// connection then stays open for sending until Close; calls that wait fail.
	// Nil ends the connection at once.
	OnEnd func()

	// Queue bounds the frames waiting to be written. 0 means 256.
	Queue int
}

// A Conn runs calls in both directions over one Stream. Its methods are safe
// for concurrent use.
type Conn struct {
	stream Stream
	opts   Options
	out    chan []byte
	nextID atomic.Int64

	closing chan struct{} // no more sends are taken
	failed  chan struct{} // the stream is gone
	closed  chan struct{} // stream.Close has returned
	done    chan struct{} // both goroutines have ended, and closed
	once    sync.Once

	mu      sync.Mutex           // guards the following
	waiting map[ID]chan *Message // each gets one message or is closed, by who takes it out
	ended   bool                 // the peer sends no more
	cause   error                // why the stream is gone; set before failed is closed
}

// NewConn starts reading and writing. The Conn owns the stream: it closes it
// when it ends, for whatever reason.
func NewConn(s Stream, o *Options) *Conn {
	c := NewConnPaused(s, o)
	c.Start()
	return c
}

// NewConnPaused is NewConn for callbacks that need the Conn itself: nothing is
// read before Start, which must be called once.
func NewConnPaused(s Stream, o *Options) *Conn {
	c := &Conn{
		stream: s, waiting: map[ID]chan *Message{},
		closing: make(chan struct{}), failed: make(chan struct{}), closed: make(chan struct{}), done: make(chan struct{}),
	}
	if o != nil {
		c.opts = *o
	}
	if c.opts.Queue == 0 {
		c.opts.Queue = 256
	}
	c.out = make(chan []byte, c.opts.Queue)
	return c
}

// Start begins to read and write.
func (c *Conn) Start() {
	var both sync.WaitGroup
	both.Go(c.read)
	both.Go(c.write)
	go func() {
		both.Wait()
		<-c.closed // Close may be at it on yet another goroutine
		close(c.done)
	}()
}

// NextID returns an id that this side of the connection has not used yet.
func (c *Conn) NextID() ID { return IntID(c.nextID.Add(1)) }

// Call sends a request under its own id (take it from NextID) and waits for the
// response, which may be the peer's error frame. A Go error means that there
// is no response: the context ended (its cause is returned and a late response
// is dropped), or the connection did (ErrClosed).
func (c *Conn) Call(ctx context.Context, m *Message) (*Message, error) {
	answer := make(chan *Message, 1)
	if err := c.expect(m.id, answer); err != nil {
		return nil, err
	}
	if err := c.Send(ctx, m); err != nil {
		c.forget(m.id)
		return nil, err
	}
	select {
	case r, ok := <-answer:
		if !ok {
			return nil, c.errClosed()
		}
		return r, nil
	case <-ctx.Done():
		c.forget(m.id)
		return nil, context.Cause(ctx)
	}
}

// Send queues a frame for writing, in order. It waits only while the queue is
// full. A nil error does not mean that the peer has it.
func (c *Conn) Send(ctx context.Context, m *Message) error { return c.SendRaw(ctx, m.raw) }

// SendRaw is Send for a frame that is no single message: a batch.
func (c *Conn) SendRaw(ctx context.Context, frame []byte) error {
	select {
	case <-c.closing:
		return c.errClosed()
	default:
	}
	if ctx.Err() != nil { // a queue with room must not win over it
		return context.Cause(ctx)
	}
	select {
	case c.out <- frame:
		return nil
	default: // it is full
	}
	select {
	case c.out <- frame:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closing:
		return c.errClosed()
	}
}

// Resolve hands a response to the call that waits for it and reports whether
// one did.
func (c *Conn) Resolve(m *Message) bool {
	c.mu.Lock()
	answer, ok := c.waiting[m.id]
	delete(c.waiting, m.id)
	c.mu.Unlock()
	if ok {
		answer <- m // buffered, and only the one who removed it sends
	}
	return ok
}

// Waiting returns how many calls have no answer yet.
func (c *Conn) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

func (c *Conn) expect(id ID, answer chan *Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cause != nil:
		return c.errLocked()
	case c.ended:
		return ErrClosed
	}
	if _, taken := c.waiting[id]; taken || id.IsZero() {
		return fmt.Errorf("request id %q is already waiting or missing", id.Raw())
	}
	c.waiting[id] = answer
	return nil
}

func (c *Conn) forget(id ID) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
}

// dismissLocked fails the calls that wait: no response can come any more.
func (c *Conn) dismissLocked() {
	for id, answer := range c.waiting {
		delete(c.waiting, id)
		close(answer)
	}
}

// Done is closed when the connection has ended and its goroutines with it.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Failed is closed as soon as the stream is gone; Done follows.
func (c *Conn) Failed() <-chan struct{} { return c.failed }

// Err returns nil while the connection stands, then why it ended, wrapping
// ErrClosed.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errLocked()
}

func (c *Conn) errLocked() error {
	switch {
	case c.cause == nil:
		return nil
	case errors.Is(c.cause, ErrClosed):
		return c.cause
	case errors.Is(c.cause, io.EOF):
		return ErrEnded
	}
	return fmt.Errorf("%w: %w", ErrClosed, c.cause)
}

func (c *Conn) errClosed() error {
	if err := c.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// Close takes no more frames, writes those queued, closes the stream and waits
// until that and both goroutines have ended. Calls that wait fail with ErrClosed.
func (c *Conn) Close() error {
	c.once.Do(func() { close(c.closing) })
	hurry := time.AfterFunc(closeGrace, func() { c.fail(ErrClosed) })
	defer hurry.Stop()
	<-c.done
	return nil
}

// closeGrace is how long Close lets a peer that does not read hold up the
// frames that were queued.
const closeGrace = time.Second

// fail ends the connection with its first cause.
func (c *Conn) fail(cause error) {
	c.mu.Lock()
	first := c.cause == nil
	if first {
		c.cause = cause
		c.dismissLocked()
	}
	c.mu.Unlock()
	if !first {
		return
	}
	close(c.failed)
	c.once.Do(func() { close(c.closing) })
	_ = c.stream.Close() // unblocks the other goroutine
	close(c.closed)
}

func (c *Conn) write() {
	const most = 64
	batch := make([][]byte, 0, most)
	for {
		batch = batch[:0]
		select {
		case f := <-c.out:
			batch = append(batch, f)
		case <-c.closing:
			select {
			case <-c.failed:
				return
			default:
			}
			c.flush(batch)
			c.fail(ErrClosed)
			return
		}
	more:
		for len(batch) < most {
			select {
			case f := <-c.out:
				batch = append(batch, f)
			default:
				break more
			}
		}
		if err := c.stream.Write(batch...); err != nil {
			c.fail(err)
			return
		}
		clear(batch)
	}
}

// flush writes what was queued before closing.
func (c *Conn) flush(batch [][]byte) {
	for {
		select {
		case f := <-c.out:
			batch = append(batch, f)
		default:
			if len(batch) > 0 {
				_ = c.stream.Write(batch...) // the peer may be gone, and so are we
			}
			return
		}
	}
}

func (c *Conn) read() {
	for {
		frame, err := c.stream.Read()
		switch {
		case errors.Is(err, ErrSkipped):
			err = c.bad(nil, &FrameError{Err: NewError(CodeInvalidRequest, err.Error())})
		case err == nil && IsBatch(frame):
			err = c.batch(frame)
		case err == nil:
			err = c.one(frame)
		}
		if errors.Is(err, io.EOF) && c.opts.OnEnd != nil {
			c.mu.Lock()
			c.ended = true
			c.dismissLocked()
			c.mu.Unlock()
			c.opts.OnEnd()
			return
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// one handles a frame; an error ends the connection.
func (c *Conn) one(frame []byte) error {
	m, err := Parse(frame)
	if err != nil {
		return c.bad(frame, err)
	}
	c.take(m)
	return nil
}

func (c *Conn) take(m *Message) {
	switch {
	case m.kind == Response:
		if c.opts.OnResponse == nil || !c.opts.OnResponse(c, m) {
			c.Resolve(m)
		}
	case c.opts.OnCall != nil:
		c.opts.OnCall(c, m)
	case m.kind == Request:
		c.TrySend(NewErrorResponse(m.id, NewError(CodeMethodNotFound, "method not found: "+m.method)))
	}
}

// bad handles what is no message. A call that it was meant to answer fails at
// once: there will be no other response.
func (c *Conn) bad(frame []byte, err error) error {
	var fe *FrameError
	if errors.As(err, &fe) && !fe.To.IsZero() {
		c.Resolve(NewErrorResponse(fe.To, Errorf(CodeInternal, "malformed response: %s", fe.Err.Message)))
	}
	if c.opts.OnBadFrame == nil {
		if errors.As(err, &fe) {
			c.TrySend(fe.Answer())
		}
		return nil
	}
	answer, fatal := c.opts.OnBadFrame(frame, err)
	if answer != nil {
		c.TrySend(answer)
	}
	return fatal
}

// TrySend is Send that never waits: it drops the message and returns false when
// the queue is full or the connection closed. Callbacks use it.
func (c *Conn) TrySend(m *Message) bool {
	select {
	case <-c.closing:
		return false
	default:
	}
	select {
	case c.out <- m.raw:
		return true
	default:
		return false
	}
}

// maxBatch bounds the messages of a batch: what a few bytes of it ask for takes
// many more to answer.
const maxBatch = 1000

func (c *Conn) batch(frame []byte) error {
	elements, err := SplitBatch(frame)
	if err == nil && len(elements) > maxBatch {
		err = &FrameError{Err: NewError(CodeInvalidRequest, "the batch is too long")}
	}
	if err != nil {
		return c.bad(frame, err)
	}
	var calls, answers []*Message
	for _, e := range elements {
		m, err := Parse(e)
		var fe *FrameError
		switch {
		case errors.As(err, &fe):
			answers = append(answers, fe.Answer())
		case m.kind == Response:
			c.take(m)
		default:
			calls = append(calls, m)
		}
	}
	switch {
	case len(calls)+len(answers) == 0:
	case c.opts.OnBatch == nil:
		return c.bad(frame, &FrameError{Err: NewError(CodeInvalidRequest, "batches are not accepted here")})
	default:
		c.opts.OnBatch(c, calls, answers)
	}
	return nil
}
