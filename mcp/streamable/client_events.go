package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"mcpv/internal/eventstream"
	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// ErrStreamBroken says that the event stream of a request ended before its
// response and could not be resumed. The server may have done what was asked.
var ErrStreamBroken = errors.New("stream ended before the response")

var (
	errNoResponse = errors.New("answer holds no response")
	errForeign    = errors.New("answer is a response to another request")
	errElsewhere  = errors.New("answered on another stream")
)

const (
	clientRetry      = time.Second            // before reconnecting, when the server does not say
	clientMinRetry   = 100 * time.Millisecond // so that no server can make us spin
	clientMaxRetry   = time.Hour              // what a server may ask for
	clientMaxBackoff = 30 * time.Second
	clientMaxResumes = 3 // in a row that bring no event

	// clientSteady is how long a connection has to last to count as a good one.
	clientSteady = 10 * time.Second

	// clientRest is how long a server may take to end a stream after the
	// response before the connection is given up.
	clientRest = 250 * time.Millisecond
)

// clientCursor is a place in a stream.
type clientCursor struct {
	last     string        // id of the last event, "" if there was none
	retry    time.Duration // as the server wishes, 0 if it does not
	failures int           // connections in a row that brought no event
}

func (k *clientCursor) note(e eventstream.Event) {
	k.failures = 0
	if e.HasID {
		k.last = e.ID
	}
	if e.HasRetry {
		k.retry = min(max(e.Retry, clientMinRetry), clientMaxRetry)
	}
}

// lasted is told when a connection that began then has ended: a long one is no
// failure even if it brought no event.
func (k *clientCursor) lasted(began time.Time) {
	if time.Since(began) > clientSteady {
		k.failures = 0
	}
}

// delay returns how long to wait before the next connection: what the server
// wishes and little more, or a time that doubles with every failure.
func (k *clientCursor) delay() time.Duration {
	base, spread := k.retry, time.Duration(10)
	if base == 0 {
		base = clientRetry
	}
	d := base
	if k.failures > 1 {
		d, spread = max(base, min(base<<min(k.failures-1, 8), clientMaxBackoff)), 2
	}
	return d + rand.N(d/spread+1)
}

// pause waits; it returns false when ctx ended first.
func (k *clientCursor) pause(ctx context.Context) bool {
	t := time.NewTimer(k.delay())
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// events reads the stream that answers the request, and those it is resumed on.
func (c *clientCall) events(body io.ReadCloser) (*jsonrpc.Message, error) {
	if !c.modern {
		c.link.await(c)
		defer c.link.forget(c)
	}
	var at clientCursor
	for {
		answer, err := c.follow(body, &at)
		if answer != nil {
			c.finish(body)
			return answer, nil
		}
		_ = body.Close() // nothing was written
		if !errors.Is(err, ErrStreamBroken) || !c.resumable(&at) {
			return nil, err
		}
		if body, err = c.resume(&at, err); err != nil {
			return nil, err
		}
	}
}

// follow reads one connection until the response. The error is ErrStreamBroken
// when there may be more by another one.
func (c *clientCall) follow(body io.Reader, at *clientCursor) (*jsonrpc.Message, error) {
	defer at.lasted(time.Now())
	r := eventstream.NewReader(body, c.link.maxEvent)
	var answer *jsonrpc.Message
	several := !c.first && c.state.revision == revision.Classic // the last response of a stream counts
	for {
		e, err := r.Next()
		if limit := (*eventstream.LimitError)(nil); errors.As(err, &limit) {
			return nil, err
		}
		if err == io.EOF && answer != nil {
			return answer, nil
		}
		if err != nil {
			return nil, c.broken(err)
		}
		at.note(e)
		m, err := c.event(e)
		if err != nil || m != nil && !several {
			return m, err
		}
		if m != nil {
			answer = m
		}
	}
}

func (c *clientCall) broken(cause error) error {
	if c.bad != nil {
		return fmt.Errorf("%w, and held a frame that is no message: %v", ErrStreamBroken, c.bad) //nolint:errorlint // an error of the parser, not of the server
	}
	if cause == io.EOF {
		return ErrStreamBroken
	}
	return fmt.Errorf("%w: %w", ErrStreamBroken, cause)
}

// resumable reports whether the server can be asked for the rest of the stream.
// A frame that could not be read may have been the response, and would be again.
func (c *clientCall) resumable(at *clientCursor) bool {
	r := c.state.revision
	return !c.modern && at.last != "" && c.bad == nil && (c.first || r == nil || r.Rules.Resumable || c.state.ahead())
}

// resume opens the stream again where it broke; a GET does that whatever opened
// the stream (2025-11-25 basic/transports: resumability).
func (c *clientCall) resume(at *clientCursor, broke error) (io.ReadCloser, error) {
	for {
		if at.failures++; at.failures > clientMaxResumes {
			return nil, fmt.Errorf("%w (gave up after %d tries to resume it)", broke, clientMaxResumes)
		}
		if !at.pause(c.context) {
			return nil, broke
		}
		body, err := c.link.openEvents(c.context, c.state, at.last)
		if err == nil {
			return body, nil
		}
		broke = fmt.Errorf("%w; resuming it: %w", ErrStreamBroken, err)
		if !clientTransient(err) {
			return nil, broke
		}
	}
}

// event takes one event of the request's stream and returns the response if it
// was that.
func (c *clientCall) event(e eventstream.Event) (*jsonrpc.Message, error) {
	switch {
	case len(e.Data) == 0, e.Name != "" && e.Name != "message":
		return nil, nil
	case jsonrpc.IsBatch(e.Data) && !c.modern:
		return c.batch(e.Data)
	}
	return c.frame(e.Data)
}

// batch takes the messages of a batch in order: 2025-03-26 servers may batch.
// Responses to other requests in it are passed over.
func (c *clientCall) batch(data []byte) (answer *jsonrpc.Message, err error) {
	elements, err := jsonrpc.SplitBatch(data)
	if err != nil {
		return nil, c.unreadable(data, err)
	}
	for _, e := range elements {
		m, err := c.frame(e)
		if err != nil && !errors.Is(err, errForeign) {
			return nil, err
		}
		if m != nil {
			answer = m
		}
	}
	return answer, nil
}

// frame takes one message: it returns the response and passes on all others.
func (c *clientCall) frame(data []byte) (*jsonrpc.Message, error) {
	m, err := jsonrpc.Parse(data)
	switch {
	case err != nil:
		return nil, c.unreadable(data, err)
	case m.Kind() == jsonrpc.Response:
		return c.match(m)
	case m.Kind() == jsonrpc.Request && c.modern:
		c.link.log.Warn("server sent a request, which its revision forbids", "method", m.Method())
	default:
		c.link.in.Receive(c.link, m, c.message.ID())
	}
	return nil, nil
}

func (c *clientCall) match(m *jsonrpc.Message) (*jsonrpc.Message, error) {
	if m.ID() == c.message.ID() || m.ID().IsZero() {
		return c.owned(m), nil
	}
	return nil, fmt.Errorf("%w: id %.100s", errForeign, m.ID().Raw())
}

// unreadable notes a frame that is no message. It fails the call only if it was
// the response: what else a server gets wrong is not the caller's loss.
func (c *clientCall) unreadable(frame []byte, err error) error {
	c.bad = err
	c.link.log.Warn("frame is no message", "error", err)
	if fe := (*jsonrpc.FrameError)(nil); !errors.As(err, &fe) || fe.Err.Code == jsonrpc.CodeParse {
		return nil
	}
	if id, ok := jsonrpc.ParseID(rawjson.Get(frame, "id")); !ok || id != c.message.ID() || rawjson.Get(frame, "method") != nil {
		return nil
	}
	return fmt.Errorf("response is no message: %v", err) //nolint:errorlint // an error of the parser, not of the server
}

// finish lets the server end the stream behind the caller's back, so that the
// connection can be used again, and then releases the call.
func (c *clientCall) finish(body io.ReadCloser) {
	c.handedOver = true
	hurry := time.AfterFunc(clientRest, func() { c.cancel(nil) })
	go func() {
		_, _ = io.CopyN(io.Discard, body, clientErrorBody) // what follows the response does not matter
		hurry.Stop()
		_ = body.Close() // nothing was written
		c.release()
	}()
}

// await registers a call whose answer might come on the standalone stream:
// servers that resume whatever stream is open do that.
func (l *clientLink) await(c *clientCall) {
	l.mu.Lock()
	l.waiting[c.message.ID()] = c
	l.mu.Unlock()
}

func (l *clientLink) forget(c *clientCall) {
	l.mu.Lock()
	delete(l.waiting, c.message.ID())
	l.mu.Unlock()
}

// resolve hands a response to the call that waits for it and reports whether
// one did.
func (l *clientLink) resolve(m *jsonrpc.Message) bool {
	l.mu.Lock()
	c, ok := l.waiting[m.ID()]
	if ok {
		delete(l.waiting, m.ID())
		c.elsewhere = m
	}
	l.mu.Unlock()
	if ok {
		c.cancel(errElsewhere)
	}
	return ok
}
