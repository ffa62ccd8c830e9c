package streamable

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// legacy serves a message of the legacy era.
func (h *Handler) legacy(x *exchange) {
	if len(x.r.Header[headerSession]) == 0 {
		if x.m.Kind() == jsonrpc.Request && x.m.Method() == "initialize" {
			h.initialize(x)
			return
		}
		h.sessionless(x)
		return
	}
	s := h.session(x.w, x.r, x.m.ID())
	if s == nil {
		return
	}
	defer s.leave(&x.visit)
	switch x.m.Kind() {
	case jsonrpc.Response:
		s.resolve(x.m) // one that nobody waits for any more is late, not wrong
		x.w.WriteHeader(http.StatusAccepted)
	case jsonrpc.Notification:
		s.channel.Serve(x.r.Context(), x.m, pushPeer{s}, x.r.Header)
		x.w.WriteHeader(http.StatusAccepted)
	default:
		x.session = s
		s.enter(&x.visit)
		answer := s.channel.Serve(x.context(), x.m, x, x.r.Header)
		x.finish(legacyStatus(answer), answer)
	}
}

// legacyStatus is the HTTP status of an answer in the legacy era: requests that
// break the protocol's order are bad requests, all other errors are answers.
func legacyStatus(answer *jsonrpc.Message) int {
	if answer != nil && answer.RawError() != nil && answer.Err().Code == jsonrpc.CodeInvalidRequest {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// session finds the session a request names. It must be left again. Nil has been
// answered: 404 for one that does not exist or is somebody else's, without
// telling which.
func (h *Handler) session(w http.ResponseWriter, r *http.Request, id jsonrpc.ID) *session {
	named := r.Header[headerSession]
	if len(named) != 1 {
		refuse(w, http.StatusBadRequest, id, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Mcp-Session-Id must be sent once"))
		return nil
	}
	s := h.sessions.find(named[0])
	if s == nil || !samePrincipal(s.principal, mcp.PrincipalFrom(r.Context())) {
		refuse(w, http.StatusNotFound, id, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "session not found"))
		return nil
	}
	if e := checkVersionHeader(r.Header, s.revision); e != nil {
		refuse(w, http.StatusBadRequest, id, e)
		return nil
	}
	s.used.Store(time.Now().UnixNano())
	return s
}

func samePrincipal(a, b *mcp.Principal) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Issuer == b.Issuer && a.Subject == b.Subject && a.Client == b.Client
}

// initialize makes a session. It lives only if the client can have been told.
func (h *Handler) initialize(x *exchange) {
	ctx := x.r.Context()
	if h.sessions.full() {
		x.unavailable("too many sessions")
		return
	}
	s := h.newSession(mcp.PrincipalFrom(ctx))
	answer := s.channel.Serve(ctx, x.m, mutePeer{}, x.r.Header)
	if answer == nil || answer.RawError() != nil || h.opts.Stateless || ctx.Err() != nil {
		s.close()
		x.finish(initializeStatus(answer), answer)
		return
	}
	s.revision = s.channel.Session().Revision
	if !h.sessions.add(s) {
		s.close()
		x.unavailable("too many sessions")
		return
	}
	x.w.Header()[headerSession] = []string{s.id}
	x.finish(http.StatusOK, answer)
}

// initializeStatus is legacyStatus, but what keeps a session from being made is a
// bad request too.
func initializeStatus(answer *jsonrpc.Message) int {
	if answer != nil && answer.RawError() != nil {
		switch answer.Err().Code {
		case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedRevision:
			return http.StatusBadRequest
		}
	}
	return legacyStatus(answer)
}

// sessionless serves a legacy message that names no session, where that is
// allowed.
func (h *Handler) sessionless(x *exchange) {
	r, e := h.sessionlessRevision(x.r.Header)
	if e == nil && x.m.Kind() == jsonrpc.Response {
		e = jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "nothing was asked without a session")
	}
	if e != nil {
		x.refuse(http.StatusBadRequest, e)
		return
	}
	s := mcp.LegacySession(r, mcp.PrincipalFrom(x.r.Context()))
	if x.m.Kind() == jsonrpc.Notification {
		h.endpoint.Answer(x.r.Context(), &mcp.Exchange{Request: x.m, Session: s, Peer: mutePeer{}, Header: x.r.Header})
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := h.endpoint.Answer(x.context(), &mcp.Exchange{Request: x.m, Session: s, Peer: x, Header: x.r.Header})
	x.finish(legacyStatus(answer), answer)
}

// sessionlessRevision is the revision of a request that names no session. A
// missing version header is told by the code modern clients know, for it may be
// one of theirs that was lost on the way.
func (h *Handler) sessionlessRevision(header http.Header) (*revision.Revision, *jsonrpc.Error) {
	v := header[headerVersion]
	switch {
	case len(v) == 0 && (!h.opts.AllowSessionless || h.assumed == nil):
		return nil, jsonrpc.NewError(mcp.CodeHeaderMismatch, "neither MCP-Protocol-Version nor Mcp-Session-Id was sent")
	case !h.opts.AllowSessionless:
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Mcp-Session-Id is missing; send initialize first")
	case len(v) == 0:
		return h.assumed, nil
	}
	r, ok := revision.Lookup(v[0])
	if len(v) > 1 || !ok || !r.Rules.Handshake || !h.endpoint.Speaks(r) {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "unsupported MCP-Protocol-Version")
	}
	return r, nil
}

// maxBatch bounds the messages of a batch.
const maxBatch = 1000

// batch serves an array of messages, which one revision alone knows.
func (h *Handler) batch(w http.ResponseWriter, r *http.Request, body []byte, takes acceptance) {
	var s *session
	if len(r.Header[headerSession]) > 0 && !speaksModern(r.Header) {
		if s = h.session(w, r, jsonrpc.ID{}); s == nil {
			return
		}
	}
	if s == nil || !s.revision.Rules.Batching {
		refuseText(w, http.StatusBadRequest, "batches are not accepted here")
		return
	}
	x := &exchange{handler: h, w: w, visit: visit{r: r}, session: s}
	s.enter(&x.visit)
	defer s.leave(&x.visit)
	elements, err := jsonrpc.SplitBatch(body)
	switch {
	case err != nil:
		refuseFrame(w, err)
	case len(elements) > maxBatch:
		refuseText(w, http.StatusBadRequest, "the batch is too long")
	case takes != takesBoth:
		refuseText(w, http.StatusNotAcceptable, notAcceptable)
	case h.closing():
		unavailable(w, jsonrpc.ID{}, "the server is shutting down")
	default:
		calls, owed := s.sort(elements)
		x.finishBatch(s.channel.ServeBatch(x.context(), calls, owed, func() mcp.Peer { return x }))
	}
}

// sort takes the responses out of a batch, returns the calls, and the answers to
// what is no message. Requests that speak of themselves as modern would dodge
// the checks of their headers in here.
func (s *session) sort(elements [][]byte) (calls, owed []*jsonrpc.Message) {
	for _, e := range elements {
		m, err := jsonrpc.Parse(e)
		var fe *jsonrpc.FrameError
		switch {
		case errors.As(err, &fe):
			owed = append(owed, fe.Answer())
		case m.Kind() == jsonrpc.Response:
			s.resolve(m)
		case !mcp.IsModern(m):
			calls = append(calls, m)
		case m.Kind() == jsonrpc.Request:
			owed = append(owed, jsonrpc.NewErrorResponse(m.ID(), jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "modern requests may not be batched")))
		}
	}
	return calls, owed
}

// delete ends a session.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	if speaksModern(r.Header) || len(r.Header[headerSession]) == 0 {
		refuseMethod(w, "POST")
		return
	}
	s := h.session(w, r, jsonrpc.ID{})
	if s == nil {
		return
	}
	h.sessions.remove(s)
	s.close()
	w.WriteHeader(http.StatusNoContent)
}

// context returns the context of a legacy request: it has the values of the
// HTTP request but does not end with the connection, since a dropped connection
// cancels nothing (2025-11-25 basic/transports: sending messages).
func (x *exchange) context() context.Context {
	return &detached{context.WithoutCancel(x.r.Context()), x}
}

type detached struct {
	context.Context
	x *exchange
}

type exchangeKey struct{}

func (d *detached) Value(key any) any {
	if _, ok := key.(exchangeKey); ok {
		return d.x
	}
	return d.Context.Value(key)
}

// CloseStream ends the connection on which the request of ctx is being answered,
// while the request goes on: what it sends later, its answer included, waits for
// the client to come back, which it is told to do after retry. That saves a
// connection during long work (2025-11-25, SSE polling).
//
// ctx is the context given to the handler, or one made from it. It returns
// false, and nothing has changed, where the client would not come back or the
// connection cannot be ended: the revision has no polling, the request came over
// another transport, or a middleware hides the connection.
func CloseStream(ctx context.Context, retry time.Duration) bool {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	if x == nil || x.session == nil || !x.session.revision.Rules.Polling {
		return false
	}
	if retry <= 0 {
		retry = x.handler.opts.RetryInterval
	}
	if retry <= 0 {
		retry = time.Second
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done || x.begin() != nil {
		return false
	}
	if !x.stream.hangUp(x.r, retry) {
		return false
	}
	x.away.Store(true)
	return true
}
