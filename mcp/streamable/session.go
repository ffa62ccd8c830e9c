package streamable

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// A sessionTable holds the legacy sessions. One timer ends those that are idle;
// it runs only while there are any.
type sessionTable struct {
	ttl time.Duration // less than 0: for ever
	max int

	mu     sync.RWMutex // guards the following
	byID   map[string]*session
	timer  *time.Timer
	closed bool
}

func (t *sessionTable) find(id string) *session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

func (t *sessionTable) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.byID)
}

func (t *sessionTable) full() bool { return t.len() >= t.max }

// add reports whether there was room.
func (t *sessionTable) add(s *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.byID) >= t.max {
		return false
	}
	if t.byID == nil {
		t.byID = map[string]*session{}
	}
	t.byID[s.id] = s
	if t.timer == nil && t.ttl > 0 {
		t.timer = time.AfterFunc(t.interval(), t.sweep)
	}
	return true
}

func (t *sessionTable) remove(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, s.id)
}

// interval is how often idle sessions are looked for.
func (t *sessionTable) interval() time.Duration { return max(t.ttl/4, time.Millisecond) }

// sweep ends the sessions that nobody used for the time to live. Nobody waits for
// it: what may block is asked without the lock.
func (t *sessionTable) sweep() {
	deadline := time.Now().Add(-t.ttl).UnixNano()
	idle := t.unused(deadline)
	idle = slices.DeleteFunc(idle, (*session).visited)
	t.mu.Lock()
	idle = slices.DeleteFunc(idle, func(s *session) bool { return s.used.Load() > deadline })
	for _, s := range idle {
		delete(t.byID, s.id)
	}
	switch {
	case t.closed:
	case len(t.byID) == 0:
		t.timer = nil
	default:
		t.timer.Reset(t.interval())
	}
	t.mu.Unlock()
	for _, s := range idle {
		s.close()
	}
}

func (t *sessionTable) unused(since int64) []*session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var found []*session
	for _, s := range t.byID {
		if s.used.Load() <= since {
			found = append(found, s)
		}
	}
	return found
}

// close ends all sessions and takes no more.
func (t *sessionTable) close() {
	t.mu.Lock()
	all := t.byID
	t.byID, t.closed = nil, true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	for _, s := range all {
		s.close()
	}
}

// A session is one legacy client. While it is idle it is this struct and the
// channel: no goroutine, no timer, no map.
type session struct {
	handler   *Handler
	id        string         // 130 random bits in visible ASCII
	principal *mcp.Principal // whose it is
	channel   *mcp.Channel
	revision  *revision.Revision // agreed on by initialize, before anybody finds the session
	gone      chan struct{}      // closed when the session ends
	used      atomic.Int64       // when the last request came or went, in Unix nanoseconds
	asked     atomic.Int64       // the id of the last request sent to the client

	mu      sync.Mutex // guards the following; taken before stream.mu
	ended   bool
	calls   map[jsonrpc.ID]chan *jsonrpc.Message // requests without answer; nil when there are none
	streams map[string]*stream                   // answers under way as streams; nil when there are none
	alone   *stream                              // the stream of GET, once there was one
	pending [][]byte                             // what waits for a stream of GET
	visits  *visit                               // a list of the requests that are open
}

func (h *Handler) newSession(p *mcp.Principal) *session {
	s := &session{handler: h, id: rand.Text(), principal: p, gone: make(chan struct{})}
	s.used.Store(time.Now().UnixNano())
	s.channel = h.endpoint.NewChannel(mcp.ChannelOptions{Principal: p, SessionID: s.id, Push: func(n *jsonrpc.Message) { s.push(n.Bytes()) }})
	return s
}

// A visit is an HTTP request that is open in a session.
type visit struct {
	r          *http.Request
	away       atomic.Bool // the connection was ended, the request goes on
	prev, next *visit      // guarded by session.mu
}

func (s *session) enter(v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.next = s.visits; v.next != nil {
		v.next.prev = v
	}
	s.visits = v
}

// leave ends a visit, if it was one.
func (s *session) leave(v *visit) {
	s.used.Store(time.Now().UnixNano())
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.prev != nil {
		v.prev.next = v.next
	} else if s.visits == v {
		s.visits = v.next
	}
	if v.next != nil {
		v.next.prev = v.prev
	}
	v.prev, v.next = nil, nil
}

// visited reports whether the client is still there with a connection. Requests
// whose client has gone do not keep a session alive: nothing else would ever end
// them.
func (s *session) visited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := s.visits; v != nil; v = v.next {
		if !v.away.Load() && v.r.Context().Err() == nil {
			return true
		}
	}
	return false
}

// close ends the session: requests are cancelled, calls fail, streams end, and
// what was kept for resumption is forgotten. It waits for nobody: a stream may
// be held up by a client that does not read.
func (s *session) close() {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	close(s.gone)
	s.pending = nil
	s.mu.Unlock()
	s.channel.Close()
	s.handler.opts.Events.Forget(s.id)
}

// What may wait for a stream of GET, in frames and bytes.
const (
	maxPending      = 256
	maxPendingBytes = 1 << 20
)

// push sends a frame on the stream of GET, now or when the client opens one. It
// does not block. Equal notifications that wait are joined, and the oldest is
// dropped when there are too many: each tells of a change that the client will
// see when it looks.
func (s *session) push(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.alone != nil && s.alone.offer(frame) {
		return
	}
	if slices.ContainsFunc(s.pending, func(f []byte) bool { return bytes.Equal(f, frame) }) {
		return
	}
	s.pending = append(s.pending, frame)
	size := 0
	for i := len(s.pending) - 1; i >= 0; i-- {
		if size += len(s.pending[i]); size > maxPendingBytes || len(s.pending)-i > maxPending {
			s.pending = slices.Delete(s.pending, 0, i+1)
			break
		}
	}
}

// call asks the client through send and waits for the answer, which arrives as a
// POST of its own.
func (s *session) call(ctx context.Context, method string, params []byte, send func(frame []byte) error) (*jsonrpc.Message, error) {
	if !mayAsk(s.revision, method) {
		return nil, mcp.ErrNoRequests
	}
	id := jsonrpc.IntID(s.asked.Add(1))
	answer := make(chan *jsonrpc.Message, 1)
	s.expect(id, answer)
	defer s.forget(id)
	if err := send(jsonrpc.NewRequest(id, method, params).Bytes()); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		return m, nil
	case <-s.gone:
		return nil, mcp.ErrClosed
	case <-ctx.Done():
		_ = send(cancelled(id, context.Cause(ctx))) // a courtesy
		return nil, context.Cause(ctx)
	}
}

func cancelled(id jsonrpc.ID, why error) []byte {
	b := append([]byte(`{"requestId":`), id.Raw()...)
	b = rawjson.AppendString(append(b, `,"reason":`...), why.Error())
	return jsonrpc.NewNotification("notifications/cancelled", append(b, '}')).Bytes()
}

func (s *session) expect(id jsonrpc.ID, answer chan *jsonrpc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[jsonrpc.ID]chan *jsonrpc.Message{}
	}
	s.calls[id] = answer
}

func (s *session) forget(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.calls, id); len(s.calls) == 0 {
		s.calls = nil
	}
}

// resolve hands a response to the call that waits for it.
func (s *session) resolve(m *jsonrpc.Message) {
	s.mu.Lock()
	answer := s.calls[m.ID()]
	delete(s.calls, m.ID())
	s.mu.Unlock()
	if answer != nil {
		answer <- m // buffered, and only the one who removed it sends
	}
}

// pushPeer is the way back from a notification, which has no answer to put
// things on: the stream of GET.
type pushPeer struct{ s *session }

func (p pushPeer) Notify(_ context.Context, n *jsonrpc.Message) error {
	p.s.push(n.Bytes())
	return nil
}

func (p pushPeer) Call(ctx context.Context, method string, params []byte) (*jsonrpc.Message, error) {
	return p.s.call(ctx, method, params, func(frame []byte) error {
		p.s.push(frame)
		return nil
	})
}
