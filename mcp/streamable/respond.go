package streamable

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mcpv/internal/eventstream"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// The values of headers that never change; net/http only reads them.
var (
	jsonTypeValue   = []string{jsonType}
	eventsTypeValue = []string{eventsType}
	noCache         = []string{"no-cache"}
	noBuffering     = []string{"no"}
)

// writeBody writes a JSON answer at once. net/http adds the length to what fits
// its buffer; longer answers get it here, so that none is chunked.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	const fits = 2000
	h := w.Header()
	h["Content-Type"] = jsonTypeValue
	if len(body) > fits {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
		setWriteDeadline(w, len(body)) // shorter ones fit into buffers, and nobody waits for the client
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
	_, _ = w.Write(body) // who is gone needs no answer
}

// refuse answers with an error response; a zero id is left out.
func refuse(w http.ResponseWriter, status int, id jsonrpc.ID, e *jsonrpc.Error) {
	writeBody(w, status, jsonrpc.NewErrorResponse(id, e).Bytes())
}

func refuseText(w http.ResponseWriter, status int, text string) {
	refuse(w, status, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, text))
}

// refuseFrame answers what jsonrpc.Parse refused.
func refuseFrame(w http.ResponseWriter, err error) {
	var fe *jsonrpc.FrameError
	if !errors.As(err, &fe) {
		fe = &jsonrpc.FrameError{Err: jsonrpc.NewError(jsonrpc.CodeParse, err.Error())}
	}
	writeBody(w, http.StatusBadRequest, fe.Answer().Bytes())
}

func refuseMethod(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	refuseText(w, http.StatusMethodNotAllowed, "method not allowed here")
}

func unavailable(w http.ResponseWriter, id jsonrpc.ID, why string) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, id, jsonrpc.NewError(jsonrpc.CodeInternal, why))
}

func eventHeaders(h http.Header) {
	h["Content-Type"] = eventsTypeValue
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering // else nginx holds events back
}

// An exchange is one POST and its answer: JSON, unless something has to be sent
// before the answer; then it becomes a stream of events. It is the mcp.Peer of
// its request, or of all requests of a batch.
type exchange struct {
	visit
	handler *Handler
	w       http.ResponseWriter
	m       *jsonrpc.Message // nil for a batch
	session *session         // nil in the modern era and without a session

	mu     sync.Mutex   // guards the following; taken before stream.mu
	events *eventWriter // nil until the first event
	stream *stream      // what survives the connection; nil without a session
	done   bool         // the answer is on its way or the request has ended
}

// Notify sends n on the response stream.
func (x *exchange) Notify(_ context.Context, n *jsonrpc.Message) error { return x.emit(n.Bytes()) }

// Call asks the client of a legacy session.
func (x *exchange) Call(ctx context.Context, method string, params []byte) (*jsonrpc.Message, error) {
	if x.session == nil {
		return nil, mcp.ErrNoRequests
	}
	return x.session.call(ctx, method, params, x.emit)
}

// emit sends a frame before the answer.
func (x *exchange) emit(frame []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done {
		return mcp.ErrClosed
	}
	if err := x.begin(); err != nil {
		return err
	}
	if x.stream != nil {
		x.stream.send(frame)
		return nil
	}
	return x.events.send(eventstream.Event{Data: frame})
}

// begin turns the answer into a stream. Streams of sessions have ids on their
// events, so that they can be resumed; from the revision on that knows polling
// the first event is empty, so that there is an id before anything happened.
// Older clients take every event for a message and fail on an empty one.
func (x *exchange) begin() error {
	if x.events != nil {
		return nil
	}
	if x.session == nil {
		if err := x.r.Context().Err(); err != nil {
			return err
		}
		x.events = openEvents(x.w, x.handler.opts.KeepAlive)
		return nil
	}
	st, err := x.session.newStream(answerStream)
	if err != nil {
		return err
	}
	x.events = openEvents(x.w, x.handler.opts.KeepAlive)
	x.stream = st
	st.mu.Lock()
	st.out = x.events
	st.mu.Unlock()
	if x.session.revision.Rules.Polling {
		_ = x.events.send(x.handler.primer(st)) // a client that is gone may resume
	}
	return nil
}

// primer is the empty first event of a stream.
func (h *Handler) primer(st *stream) eventstream.Event {
	d := h.opts.RetryInterval
	return eventstream.Event{ID: st.eventID(0), HasID: true, Data: []byte{}, Retry: d, HasRetry: d > 0}
}

// finish answers, with the status if that can still be chosen. No answer means
// that nobody wants one. The answers of a batch go as one array, or as one event
// each.
func (x *exchange) finish(status int, answer *jsonrpc.Message) {
	if !x.end() {
		x.last(answer)
		return
	}
	if answer == nil {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	writeBody(x.w, status, answer.Bytes())
}

func (x *exchange) finishBatch(answers []*jsonrpc.Message) {
	switch {
	case !x.end():
		x.last(answers...)
	case len(answers) == 0:
		x.w.WriteHeader(http.StatusAccepted)
	default:
		writeBody(x.w, http.StatusOK, jsonrpc.JoinBatch(answers))
	}
}

// end lets nothing more through and reports whether the answer is still plain.
func (x *exchange) end() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done = true
	return x.events == nil
}

// last sends the last events of a stream and ends it.
func (x *exchange) last(answers ...*jsonrpc.Message) {
	for _, a := range answers {
		switch {
		case a == nil:
		case x.stream != nil:
			x.stream.send(a.Bytes())
		default:
			_ = x.events.send(eventstream.Event{Data: a.Bytes()}) // who is gone needs no answer
		}
	}
	if x.stream != nil {
		x.session.endStream(x.stream)
	}
	x.events.close()
}

func (x *exchange) refuse(status int, e *jsonrpc.Error) { refuse(x.w, status, x.m.ID(), e) }

func (x *exchange) unavailable(why string) { unavailable(x.w, x.m.ID(), why) }

// mutePeer leads nowhere.
type mutePeer struct{}

func (mutePeer) Notify(context.Context, *jsonrpc.Message) error { return nil }

func (mutePeer) Call(context.Context, string, []byte) (*jsonrpc.Message, error) {
	return nil, mcp.ErrNoRequests
}

// mayAsk reports whether a server may send the request in the revision.
func mayAsk(r *revision.Revision, method string) bool {
	return r != nil && r.Rules.ServerRequests && r.Request(method, revision.ServerToClient)
}

// writeTimeout is how long the network may take for one event; slowest is the
// bytes per second that large ones are given more time for.
const (
	writeTimeout = 30 * time.Second
	slowest      = 64 << 10
)

// setWriteDeadline bounds the time for n bytes, so that a client which does not
// read cannot hold them for ever. net/http lifts the deadline after the answer.
func setWriteDeadline(w http.ResponseWriter, n int) {
	at := time.Now().Add(writeTimeout + time.Duration(n/slowest)*time.Second)
	_ = http.NewResponseController(w).SetWriteDeadline(at) // not every ResponseWriter has deadlines
}

// An eventWriter writes events to one connection, each flushed, with comments
// when there are none. Its first error is its last word.
type eventWriter struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	every time.Duration // of comments

	mu    sync.Mutex // guards the following
	timer *time.Timer
	quiet bool // nothing was written since the last tick
	buf   []byte
	err   error
}

// openEvents begins a stream of events as the answer. It must be closed before
// ServeHTTP returns.
func openEvents(w http.ResponseWriter, every time.Duration) *eventWriter {
	eventHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	e := &eventWriter{w: w, ctl: http.NewResponseController(w), every: every}
	if every > 0 {
		e.mu.Lock()
		e.timer = time.AfterFunc(every, e.tick)
		e.mu.Unlock()
	}
	return e
}

func (e *eventWriter) send(ev eventstream.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	e.quiet = false
	return e.write(eventstream.Append(e.buf[:0], ev))
}

// flush sends the headers.
func (e *eventWriter) flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	return e.write(nil)
}

func (e *eventWriter) tick() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return
	}
	if e.quiet {
		_ = e.write(eventstream.AppendComment(e.buf[:0], "")) // kept in e.err
	}
	e.quiet = true
	e.timer.Reset(e.every)
}

// write needs the lock.
func (e *eventWriter) write(b []byte) error {
	// Not every ResponseWriter has deadlines or needs flushing.
	_ = e.ctl.SetWriteDeadline(time.Now().Add(writeTimeout + time.Duration(len(b)/slowest)*time.Second))
	if len(b) > 0 {
		_, e.err = e.w.Write(b)
	}
	if e.err == nil {
		if err := e.ctl.Flush(); !errors.Is(err, http.ErrNotSupported) {
			e.err = err
		}
	}
	if e.buf = b[:0]; cap(b) > maxKeptBuffer {
		e.buf = nil
	}
	return e.err
}

// maxKeptBuffer is the largest buffer a stream keeps between two events.
const maxKeptBuffer = 16 << 10

// close lets nothing more through. When it returns, the connection is net/http's
// again.
func (e *eventWriter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		_ = e.ctl.SetWriteDeadline(time.Now().Add(writeTimeout)) // for the end mark
		e.err = mcp.ErrClosed
	}
	if e.timer != nil {
		e.timer.Stop()
	}
}

// hangUp ends the connection while the request goes on, after telling the client
// when to come back. It reports whether that was possible.
//
// net/http ends a response only when ServeHTTP returns, and there the handler is
// still running. HTTP/1 connections are taken over and ended here; a stream of
// HTTP/2 is reset, by a deadline in the past.
func (e *eventWriter) hangUp(r *http.Request, retry time.Duration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return true // gone already
	}
	if e.write(eventstream.Append(e.buf[:0], eventstream.Event{Retry: retry, HasRetry: true})) != nil {
		return true
	}
	if r.ProtoMajor >= 2 {
		if e.ctl.SetWriteDeadline(time.Unix(1, 0)) != nil {
			return false
		}
	} else {
		conn, buf, err := e.ctl.Hijack()
		if err != nil {
			return false
		}
		if r.ProtoAtLeast(1, 1) {
			_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
			_, _ = buf.WriteString("0\r\n\r\n") // the end of a chunked body
			_ = buf.Flush()
		}
		_ = conn.Close()
	}
	e.err = mcp.ErrClosed
	if e.timer != nil {
		e.timer.Stop()
	}
	return true
}
