package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcpv/jsonrpc"
	"mcpv/revision"
)

// ServeStream serves h to the one client at the other end of a stream until it
// closes, fails or ctx ends; it returns nil unless the stream failed. All
// handlers have returned by then. The stream is closed.
//
// It is all a custom transport needs on the server's side: a way to carry
// frames as a jsonrpc.Stream, and this call.
func ServeStream(ctx context.Context, h Handler, s jsonrpc.Stream, o *StreamOptions) error {
	if o == nil {
		o = &StreamOptions{}
	}
	e := o.Endpoint
	if e == nil {
		e = NewEndpoint(h, nil)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answering, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	listening, quiet := context.WithCancelCause(ctx)
	defer quiet(nil)
	v := &streamServer{ctx: ctx, answering: answering, listening: listening, endpoint: e, slots: make(chan struct{}, e.inFlight+maxUnsent)}
	v.channel = e.NewChannel(ChannelOptions{Principal: PrincipalFrom(ctx), SessionID: o.SessionID, Push: v.push})
	ended := make(chan struct{}) // the client will send no more
	v.conn = jsonrpc.NewConnPaused(s, &jsonrpc.Options{
		OnCall: v.take, OnBatch: v.batch, OnEnd: func() { close(ended) },
	})
	v.back = &streamPeer{conn: v.conn, channel: v.channel, answering: answering}
	v.conn.Start()
	select {
	case <-ctx.Done():
	case <-v.conn.Failed():
	case <-ended:
		quiet(ErrClosed) // these would never end by themselves
		v.linger(o.Linger)
	}
	v.stop()
	cancel(ErrClosed)
	defer time.AfterFunc(answerGrace, giveUp).Stop()
	v.channel.Close()
	v.running.Wait()
	_ = v.conn.Close()
	select {
	case <-ended: // in an orderly way, whatever could not be written after it
		return nil
	default:
	}
	if err := v.conn.Err(); err != nil && !errors.Is(err, jsonrpc.ErrEnded) && err != jsonrpc.ErrClosed {
		return err
	}
	return nil
}

// StreamOptions configures ServeStream. The zero value works.
type StreamOptions struct {
	Endpoint  *Endpoint // shared by several streams; nil makes one for h
	SessionID string    // given to the session, for logs and per-session state

	// Linger is how long requests may run on after the client has sent its
	// last: on pipes its reading end may still be open.
	Linger time.Duration
}

// answerGrace is how long a client that does not read may hold up the answers
// when the serving ends.
const answerGrace = time.Second

type streamServer struct {
	ctx       context.Context
	answering context.Context // for answers: they are sent after ctx has ended, too, for a while
	listening context.Context // of subscriptions/listen: ends when the client sends no more
	endpoint  *Endpoint
	channel   *Channel
	conn      *jsonrpc.Conn
	back      *streamPeer
	running   sync.WaitGroup
	slots     chan struct{} // one per goroutine

	mu      sync.Mutex // guards the following, and that nothing starts once it is set
	stopped bool
}

// maxUnsent is how many answers may wait for a client that does not read, on
// top of the requests it may have open. Beyond, nothing more is read from it.
const maxUnsent = 256

// start runs f unless the serving has stopped. It waits while the client has
// too much going on.
func (v *streamServer) start(f func()) {
	select {
	case v.slots <- struct{}{}:
	default:
		select {
		case v.slots <- struct{}{}:
		case <-v.ctx.Done():
			return
		case <-v.conn.Failed():
			return
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.stopped {
		v.running.Go(func() {
			defer func() { <-v.slots }()
			stretch(0)
			f()
		})
	}
}

// stretch makes the stack of a new goroutine as large as most requests need,
// while there is nothing on it that has to be moved. Growing it in the midst of
// a request, twice, takes longer than small requests do.
//
//go:noinline
func stretch(i int) byte {
	var room [6 << 10]byte
	return room[i]
}

func (v *streamServer) stop() {
	v.mu.Lock()
	v.stopped = true
	v.mu.Unlock()
}

// take runs on the reading goroutine. initialize and the notifications that
// need order are handled there, so that a client may send without waiting;
// everything else gets a goroutine. Requests are registered before that: a
// cancellation may be right behind.
func (v *streamServer) take(c *jsonrpc.Conn, m *jsonrpc.Message) {
	switch m.Method() {
	case "initialize", "notifications/initialized", "notifications/cancelled":
		v.answer(m, v.channel.Serve(v.ctx, m, v.peer(), nil))
		return
	}
	if m.Kind() == jsonrpc.Notification {
		v.start(func() { v.channel.Serve(v.ctx, m, v.peer(), nil) })
		return
	}
	ctx := v.ctx
	if m.Method() == "subscriptions/listen" {
		ctx = v.listening
	}
	ctx, err := v.channel.begin(ctx, m.ID())
	v.start(func() { v.answer(m, v.channel.serveBegun(ctx, err, m, v.peer(), nil)) })
}

func (v *streamServer) peer() Peer { return v.back }

// answer sends the answer to m, if there is one.
func (v *streamServer) answer(m, answer *jsonrpc.Message) {
	if answer == nil {
		return
	}
	if m.Method() == "subscriptions/listen" && answer.Err() == nil {
		// On a pipe the server ends a listening by cancelling it.
		v.send(cancelledNotification(m.ID(), nil))
	}
	v.send(answer)
}

// send sends an answer. A client that is gone needs none.
func (v *streamServer) send(m *jsonrpc.Message) {
	if err := v.conn.Send(v.answering, m); err != nil {
		v.conn.TrySend(m) // the time to wait is over, but there may be room
	}
}

// batch serves the calls of a batch concurrently and answers with one array.
func (v *streamServer) batch(c *jsonrpc.Conn, calls, answers []*jsonrpc.Message) {
	if s := v.channel.Session(); s == nil || !s.Revision.Rules.Batching {
		refusal := jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "batches are not accepted in this revision")
		v.start(func() { v.send(jsonrpc.NewErrorResponse(jsonrpc.ID{}, refusal)) })
		return
	}
	v.start(func() {
		all := v.channel.ServeBatch(v.ctx, calls, answers, v.peer)
		if len(all) > 0 {
			_ = v.conn.SendRaw(v.answering, jsonrpc.JoinBatch(all))
		}
	})
}

// ServeBatch serves the calls of a batch concurrently and returns the answers,
// those already owed first. initialize may not be batched.
func (c *Channel) ServeBatch(ctx context.Context, calls, owed []*jsonrpc.Message, peer func() Peer) []*jsonrpc.Message {
	got := make([]*jsonrpc.Message, len(calls))
	var running sync.WaitGroup
	for i, m := range calls {
		if m.Method() == "initialize" {
			got[i] = jsonrpc.NewErrorResponse(m.ID(), jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "initialize may not be batched"))
			continue
		}
		running.Go(func() { got[i] = c.Serve(ctx, m, peer(), nil) })
	}
	running.Wait()
	for _, a := range got {
		if a != nil {
			owed = append(owed, a)
		}
	}
	return owed
}

// linger waits until no request is open, at most for d.
func (v *streamServer) linger(d time.Duration) {
	if d <= 0 {
		return
	}
	idle := make(chan struct{})
	go func() {
		v.running.Wait()
		close(idle)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-v.ctx.Done():
	case <-v.conn.Failed():
	}
}

func (v *streamServer) push(n *jsonrpc.Message) {
	// The queue to the client is bounded; a change that finds it full is worth
	// less than the answers in it, and the next change tells the same.
	v.conn.TrySend(n)
}

// A streamPeer is the way back on a stream, where all exchanges share it.
type streamPeer struct {
	conn      *jsonrpc.Conn
	channel   *Channel
	answering context.Context
}

func (p *streamPeer) Notify(ctx context.Context, n *jsonrpc.Message) error {
	if ctx.Done() == nil {
		ctx = p.answering // nobody may wait for ever
	}
	return p.conn.Send(ctx, n)
}

func (p *streamPeer) Call(ctx context.Context, method string, params []byte) (*jsonrpc.Message, error) {
	s := p.channel.Session()
	if s == nil || !s.Revision.Rules.ServerRequests || !s.Revision.Request(method, revision.ServerToClient) {
		return nil, ErrNoRequests
	}
	return callCancelling(ctx, p.conn, jsonrpc.NewRequest(p.conn.NextID(), method, params))
}

// callCancelling is conn.Call that tells the peer when nobody waits any more.
func callCancelling(ctx context.Context, conn *jsonrpc.Conn, m *jsonrpc.Message) (*jsonrpc.Message, error) {
	answer, err := conn.Call(ctx, m)
	if err != nil && ctx.Err() != nil && !errors.Is(err, errEndedByServer) {
		conn.TrySend(cancelledNotification(m.ID(), err))
	}
	return answer, err
}

// cancelledNotification tells the peer that a request's answer is not wanted.
func cancelledNotification(id jsonrpc.ID, why error) *jsonrpc.Message {
	b := append([]byte(`{"requestId":`), id.Raw()...)
	if why != nil {
		b = append(append(b, `,"reason":`...), quote(why.Error())...)
	}
	return jsonrpc.NewNotification("notifications/cancelled", append(b, '}'))
}
