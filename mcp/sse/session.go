package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"mcpv/internal/eventstream"
	"mcpv/jsonrpc"
)

var (
	errFull  = errors.New("too many messages wait to be read")
	errEnded = errors.New("sse: session has ended")
)

// maxBuffer is the size above which the buffer of a write is not kept.
const maxBuffer = 64 << 10

// A session is the server's side of a stream. Its memory is bounded: what is
// written goes to the client before Write returns, and what is posted counts
// against the queue from before it is read until Read hands it on.
type session struct {
	owner        string
	bodyLimit    int64
	queueBytes   int64
	keepAlive    time.Duration
	writeTimeout time.Duration

	// ctx ends with the stream. Its cause is why.
	ctx     context.Context
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	in chan []byte // posted and not read; its capacity is the limit of slots

	mu    sync.Mutex // guards what follows
	bytes int64      // reserved of queueBytes
	slots int        // reserved of in

	out sync.Mutex // held while something is written
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf []byte

	deadline sync.Mutex // guards the deadline of writes, and what follows
	finished bool       // the handler may have returned: w and rc are gone
}

var _ jsonrpc.Stream = (*session)(nil)

func newSession(w http.ResponseWriter, r *http.Request, h *Handler) *session {
	s := &session{
		owner:        h.owner(r),
		bodyLimit:    orDefault(h.BodyLimit, defaultBodyLimit),
		queueBytes:   orDefault(h.QueueBytes, defaultQueueBytes),
		keepAlive:    orDefault(h.KeepAlive, defaultKeepAlive),
		writeTimeout: orDefault(h.WriteTimeout, defaultWriteTimeout),
		in:           make(chan []byte, orDefault(h.QueueLength, defaultQueueLength)),
		w:            w,
		rc:           http.NewResponseController(w),
	}
	s.ctx, s.cancel = context.WithCancelCause(r.Context())
	return s
}

// start sends the first event. The server's own timeouts are for short answers,
// not for this one.
func (s *session) start(endpoint string) error {
	_ = s.rc.SetReadDeadline(time.Time{})
	if err := s.send(eventstream.Append(nil, eventstream.Event{Name: "endpoint", Data: []byte(endpoint)})); err != nil {
		return err
	}
	if s.keepAlive > 0 {
		s.running.Go(s.beat)
	}
	return nil
}

// finish ends the session for good: once it returns nobody uses the
// ResponseWriter but the server, which has the time of one write to end the
// response.
func (s *session) finish() {
	s.Close()
	s.running.Wait()
	s.out.Lock()
	defer s.out.Unlock()
	s.deadline.Lock()
	defer s.deadline.Unlock()
	s.finished = true
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.writeTimeout))
}

func (s *session) beat() {
	tick := time.NewTicker(s.keepAlive)
	defer tick.Stop()
	comment := eventstream.AppendComment(nil, "")
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		s.out.Lock()
		err := s.send(comment)
		s.out.Unlock()
		if err != nil {
			return
		}
	}
}

// receive reads a body of length n, or unknown if n < 0, and queues it.
func (s *session) receive(body io.Reader, n int64) error {
	if n > s.bodyLimit {
		return &http.MaxBytesError{Limit: s.bodyLimit}
	}
	reserved := n
	if n < 0 {
		reserved = s.bodyLimit
	}
	if !s.reserve(reserved) {
		return errFull
	}
	b, err := readBody(body, n)
	if err != nil {
		s.release(reserved, 1)
		return err
	}
	s.release(reserved-int64(len(b)), 0)
	if s.ctx.Err() != nil {
		s.release(int64(len(b)), 1)
		return errEnded
	}
	s.in <- b // has room: the slot is reserved
	return nil
}

// reserve takes a slot and n bytes of the queue. A message is let in whatever
// its size when the queue is empty, so that the limits cannot exclude each
// other.
func (s *session) reserve(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots == cap(s.in) || s.bytes > 0 && s.bytes+n > s.queueBytes {
		return false
	}
	s.slots++
	s.bytes += n
	return true
}

func (s *session) release(bytes int64, slots int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= bytes
	s.slots -= slots
}

// Read implements jsonrpc.Stream: io.EOF when the client is gone.
func (s *session) Read() ([]byte, error) {
	if s.ctx.Err() == nil {
		select {
		case b := <-s.in:
			s.release(int64(len(b)), 1)
			return b, nil
		case <-s.ctx.Done():
		}
	}
	return nil, s.ended(io.EOF)
}

// Write implements jsonrpc.Stream.
func (s *session) Write(frames ...[]byte) error {
	s.out.Lock()
	defer s.out.Unlock()
	buf := s.buf[:0]
	for _, f := range frames {
		buf = eventstream.Append(buf, eventstream.Event{Name: "message", Data: orEmpty(f)})
	}
	if cap(buf) <= maxBuffer {
		s.buf = buf
	}
	return s.send(buf)
}

// orEmpty makes an empty frame an event with data all the same.
func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// send writes and flushes; the caller holds out, or is alone. A client that
// does not take the bytes in time loses the stream, since they end in the
// middle of an event.
func (s *session) send(b []byte) error {
	if !s.limitWrite() {
		return s.ended(errEnded)
	}
	_, err := s.w.Write(b)
	if err == nil {
		err = s.rc.Flush()
	}
	if err != nil {
		err = fmt.Errorf("sse: write: %w", err)
		s.cancel(err)
		return s.ended(err)
	}
	return nil
}

// limitWrite sets the deadline for a write unless the session is over. Close
// cancels first and then shortens the deadline, so one of the two is seen.
func (s *session) limitWrite() bool {
	s.deadline.Lock()
	defer s.deadline.Unlock()
	if s.finished || s.ctx.Err() != nil {
		return false
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.writeTimeout))
	return true
}

// ended returns why this side ended the session, and otherwise err: that the
// request's context is cancelled says only that the client is gone.
func (s *session) ended(err error) error {
	if c := context.Cause(s.ctx); c != nil && c != context.Canceled {
		return c
	}
	return err
}

// Close implements jsonrpc.Stream. It does not wait for the response to end,
// which needs Serve to return.
func (s *session) Close() error {
	s.end(net.ErrClosed)
	return nil
}

// end cancels the session and whatever write is under way.
func (s *session) end(cause error) {
	s.cancel(cause)
	if s.out.TryLock() {
		s.out.Unlock()
		return
	}
	s.deadline.Lock()
	defer s.deadline.Unlock()
	if !s.finished {
		_ = s.rc.SetWriteDeadline(time.Now())
	}
}
