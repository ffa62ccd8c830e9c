package streamable

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpv/internal/eventstream"
	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// The first byte of a stream's id tells its kind.
const (
	answerStream = 'a' // the answer to a POST: ends with it
	aloneStream  = 'g' // of a GET: whatever belongs to no request
)

// A stream is a sequence of events that outlives the connections which carry it.
// An event goes to one connection only: that of the POST that began the stream
// or, once it was resumed, that of the last GET.
type stream struct {
	session *session
	id      string // unguessable: it is the claim to what was sent

	mu       sync.Mutex // guards the following
	seq      int64      // of the last event; the priming event is 0
	out      *eventWriter
	follower *follower
	done     bool // no more events will come
}

// A follower is a GET that carries on a stream.
type follower struct {
	wake  chan struct{} // told, at most once until it looks, that there is something new
	queue []event       // guarded by stream.mu, as the following
	size  int
	over  bool          // another one has taken over, or the connection is to end
	retry time.Duration // told at the end unless 0
}

type event struct {
	seq   int64
	frame []byte
}

// maxQueued is how many bytes may wait for a connection that does not take them.
// Beyond it is given up; the client can resume.
const maxQueued = 4 << 20

func (st *stream) eventID(seq int64) string {
	return st.id + "-" + strconv.FormatInt(seq, 10)
}

// splitEventID returns the stream and number an event id names.
func splitEventID(id string) (stream string, seq int64, ok bool) {
	stream, number, ok := strings.Cut(id, "-")
	if !ok || stream == "" {
		return "", 0, false
	}
	seq, err := strconv.ParseInt(number, 10, 64)
	return stream, seq, err == nil && seq >= 0
}

// newStream begins a stream.
func (s *session) newStream(kind byte) (*stream, error) {
	st := &stream{session: s, id: string(kind) + rand.Text()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, mcp.ErrClosed
	}
	if s.streams == nil {
		s.streams = map[string]*stream{}
	}
	s.streams[st.id] = st
	return st, nil
}

// endStream tells whoever follows that there is no more.
func (s *session) endStream(st *stream) {
	st.mu.Lock()
	st.done, st.out = true, nil
	st.follower.tell()
	st.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.streams, st.id); len(s.streams) == 0 {
		s.streams = nil
	}
}

// send numbers a frame, keeps it and passes it to the connection, if there is
// one.
func (st *stream) send(frame []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.add(frame)
}

// offer is send for a stream that somebody follows; else it returns false.
func (st *stream) offer(frame []byte) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.follower == nil || st.follower.over {
		return false
	}
	st.add(frame)
	return true
}

func (st *stream) add(frame []byte) {
	st.seq++
	st.keep(frame)
	switch {
	case st.out != nil:
		if st.out.send(eventstream.Event{ID: st.eventID(st.seq), HasID: true, Data: frame}) != nil {
			st.out = nil
		}
	case st.follower != nil && !st.follower.over:
		f := st.follower
		f.queue = append(f.queue, event{st.seq, frame})
		f.size += len(frame)
		f.over = f.size > maxQueued
		f.tell()
	}
}

// keep puts the event into the store, unless the session has ended. When it
// ends meanwhile, what its end has forgotten is forgotten once more.
func (st *stream) keep(frame []byte) {
	s := st.session
	select {
	case <-s.gone:
		return
	default:
	}
	if err := s.handler.opts.Events.Append(s.id, st.id, st.seq, frame); err != nil {
		s.handler.log().Warn("event cannot be kept for resumption", "error", err)
	}
	select {
	case <-s.gone:
		s.handler.opts.Events.Forget(s.id)
	default:
	}
}

func (f *follower) tell() {
	if f == nil {
		return
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// hangUp ends the connection that carries the stream, if there is one.
func (st *stream) hangUp(r *http.Request, retry time.Duration) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out != nil {
		if !st.out.hangUp(r, retry) {
			return false
		}
		st.out = nil
	}
	if f := st.follower; f != nil {
		f.over, f.retry = true, retry
		f.tell()
	}
	return true
}

// follow makes a GET the carrier of the stream from after the event seq on, and
// returns what it missed. A seq that is not of the past makes ok false.
func (st *stream) follow(seq int64) (f *follower, missed [][]byte, first int64, ok bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if seq > st.seq {
		return nil, nil, 0, false
	}
	first = st.seq + 1
	if seq < st.seq {
		frames, at, err := st.session.handler.opts.Events.After(st.session.id, st.id, seq)
		if err == nil {
			missed, first = frames, at
		}
	}
	st.out = nil // from now on events are queued
	if old := st.follower; old != nil {
		old.over = true
		old.tell()
	}
	f = &follower{wake: make(chan struct{}, 1)}
	st.follower = f
	return f, missed, first, true
}

// take returns what is new for f, and whether it is the last.
func (st *stream) take(f *follower) (events []event, end bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	events, f.queue, f.size = f.queue, nil, 0
	return events, st.done || f.over
}

// unfollow ends what follow began.
func (st *stream) unfollow(f *follower) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if f.over = true; st.follower == f {
		st.follower = nil
	}
}

// followed reports whether a connection carries the stream.
func (st *stream) followed() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.follower != nil && !st.follower.over
}

// A joined is a stream that a GET is about to carry.
type joined struct {
	*stream
	f      *follower // nil when the stream has ended
	after  int64     // the last event the client has; -1 for a new stream
	missed [][]byte
	first  int64 // number of missed[0]
}

// join finds the stream that a GET asks for: a new one for whatever belongs to no
// request, or the one that was interrupted after the event named. Else it
// returns a status.
func (s *session) join(last string) (joined, int) {
	if last == "" {
		return s.joinNew()
	}
	name, seq, ok := splitEventID(last)
	if !ok {
		return joined{}, http.StatusNotFound
	}
	s.mu.Lock()
	st := s.streams[name]
	if st == nil && s.alone != nil && s.alone.id == name {
		st = s.alone
	}
	s.mu.Unlock()
	switch {
	case st != nil: // without the session's lock: its connection may be stuck
		j := joined{stream: st, after: seq}
		if j.f, j.missed, j.first, ok = st.follow(seq); !ok {
			return j, http.StatusNotFound
		}
		s.flushPending(st)
		return j, 0
	case name[0] == aloneStream:
		return s.joinNew() // it was replaced since: what it said is no longer news
	}
	frames, first, err := s.handler.opts.Events.After(s.id, name, seq)
	if err != nil {
		return joined{}, http.StatusNotFound
	}
	return joined{stream: &stream{session: s, id: name}, after: seq, missed: frames, first: first}, 0
}

// joinNew opens the stream for whatever belongs to no request. A second one
// beside it is refused: the first may be somebody else's connection.
func (s *session) joinNew() (j joined, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return j, http.StatusNotFound
	case s.alone != nil && s.alone.followed():
		return j, http.StatusConflict
	}
	s.alone = &stream{session: s, id: string(rune(aloneStream)) + rand.Text()}
	j = joined{stream: s.alone, after: -1, first: 1}
	j.f, _, _, _ = s.alone.follow(0)
	s.flushPendingLocked()
	return j, 0
}

// flushPending sends what has waited, if st is the stream it waits for.
func (s *session) flushPending(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st == s.alone {
		s.flushPendingLocked()
	}
}

func (s *session) flushPendingLocked() {
	for _, frame := range s.pending {
		s.alone.send(frame)
	}
	s.pending = nil
}

// get opens or resumes a stream of a legacy session.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	if speaksModern(r.Header) || len(r.Header[headerSession]) == 0 {
		refuseMethod(w, "POST")
		return
	}
	if accepted(r.Header)&takesEvents == 0 {
		refuseText(w, http.StatusNotAcceptable, "Accept must list text/event-stream")
		return
	}
	s := h.session(w, r, jsonrpc.ID{})
	if s == nil {
		return
	}
	if h.closing() {
		unavailable(w, jsonrpc.ID{}, "the server is shutting down")
		return
	}
	j, status := s.join(r.Header.Get(headerLastEvent))
	switch status {
	case http.StatusNotFound:
		refuseText(w, status, "nothing is known of this session or of the event in Last-Event-ID")
		return
	case http.StatusConflict:
		refuseText(w, status, "another stream of this session is open")
		return
	}
	v := &visit{r: r}
	s.enter(v)
	defer s.leave(v)
	h.carry(w, r, &j)
}

// carry writes a stream to a GET until one of them ends.
func (h *Handler) carry(w http.ResponseWriter, r *http.Request, j *joined) {
	e := openEvents(w, h.opts.KeepAlive)
	defer e.close()
	if j.f != nil {
		defer j.unfollow(j.f)
	}
	if h.replay(e, j) != nil || j.f == nil {
		return
	}
	var ending <-chan struct{}
	if j.id[0] == aloneStream {
		ending = h.life.Done() // answers may still be under way on the others
	}
	for {
		events, end := j.take(j.f)
		for _, ev := range events {
			if e.send(eventstream.Event{ID: j.eventID(ev.seq), HasID: true, Data: ev.frame}) != nil {
				return
			}
		}
		if end {
			j.farewell(e)
			return
		}
		select {
		case <-j.f.wake:
		case <-r.Context().Done():
			return
		case <-j.session.gone:
			return
		case <-ending:
			return
		}
	}
}

// replay sends what comes before the live events: the priming event of a new
// stream, or what the client missed. That something of it is lost is told by an
// event that is no message, which clients pass over.
func (h *Handler) replay(e *eventWriter, j *joined) error {
	if err := e.flush(); err != nil {
		return err
	}
	if j.after < 0 && j.session.revision.Rules.Polling {
		return e.send(h.primer(j.stream))
	}
	if j.after >= 0 && j.first > j.after+1 {
		lost := strconv.FormatInt(j.first-j.after-1, 10) + " events are no longer kept"
		if err := e.send(eventstream.Event{Name: "error", Data: []byte(lost)}); err != nil {
			return err
		}
	}
	for i, frame := range j.missed {
		ev := eventstream.Event{ID: j.eventID(j.first + int64(i)), HasID: true, Data: frame}
		if err := e.send(ev); err != nil {
			return err
		}
	}
	return nil
}

// farewell tells a client that is to come back later when.
func (j *joined) farewell(e *eventWriter) {
	j.mu.Lock()
	retry := j.f.retry
	j.mu.Unlock()
	if retry > 0 {
		_ = e.send(eventstream.Event{Retry: retry, HasRetry: true}) // a client that is gone comes back anyway
	}
}
