package streamable

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"mcpv/internal/eventstream"
	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// classicPrefix starts every method of the classic dialect, and no other.
const classicPrefix = "mcp/"

// post takes one message, or a batch of them. What is refused before the body
// could be read is answered with an error without id.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	takes := accepted(r.Header)
	switch {
	case !isJSON(r.Header):
		refuseText(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
		return
	case isEncoded(r.Header):
		refuseText(w, http.StatusUnsupportedMediaType, "Content-Encoding is not supported")
		return
	case takes == 0:
		refuseText(w, http.StatusNotAcceptable, notAcceptable)
		return
	}
	body, err := h.readBody(w, r)
	if err != nil {
		refuseBody(w, err)
		return
	}
	if jsonrpc.IsBatch(body) {
		h.batch(w, r, body, takes)
		return
	}
	m, err := jsonrpc.Parse(body)
	if err != nil {
		refuseFrame(w, err)
		return
	}
	x := &exchange{handler: h, w: w, visit: visit{r: r}, m: m}
	modern := speaksModern(r.Header) || mcp.IsModern(m)
	classic := !modern && strings.HasPrefix(m.Method(), classicPrefix)
	switch {
	case m.Kind() == jsonrpc.Request && takes != takesBoth && !classic:
		x.refuse(http.StatusNotAcceptable, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, notAcceptable))
	case m.Kind() == jsonrpc.Request && h.closing():
		x.unavailable("the server is shutting down")
	case modern:
		h.modern(x)
	case classic:
		h.classic(x, takes)
	default:
		h.legacy(x)
	}
}

const notAcceptable = "Accept must list application/json and text/event-stream"

// modern serves a message of the modern era. The order of the checks is the
// specification's: required _meta, headers, version; then the endpoint's, method
// and capability.
func (h *Handler) modern(x *exchange) {
	switch x.m.Kind() {
	case jsonrpc.Response:
		refuse(x.w, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "this revision has no responses from clients"))
		return
	case jsonrpc.Notification:
		h.modernNotification(x)
		return
	}
	s, e := h.modernSession(x)
	if e != nil {
		x.refuse(http.StatusBadRequest, e)
		return
	}
	ctx := x.r.Context()
	if x.m.Method() == "subscriptions/listen" {
		// Shutdown ends these with their result; all others end by themselves.
		listening, cancel := context.WithCancelCause(ctx)
		defer context.AfterFunc(h.life, func() { cancel(mcp.ErrClosed) })()
		defer cancel(nil)
		ctx = listening
	}
	answer := h.endpoint.Answer(ctx, &mcp.Exchange{Request: x.m, Session: s, Peer: x, Header: x.r.Header})
	if x.r.Context().Err() != nil {
		answer = nil // the client has cancelled by going
	}
	x.finish(modernStatus(answer), answer)
}

// modernSession reads _meta and compares the headers with the body.
func (h *Handler) modernSession(x *exchange) (*mcp.Session, *jsonrpc.Error) {
	s, err := mcp.ModernSession(x.m, mcp.PrincipalFrom(x.r.Context()), h.endpoint.Revisions())
	if err == nil {
		return s, checkStandardHeaders(x.r.Header, x.m, s.Revision.Name)
	}
	var version string
	var e *jsonrpc.Error
	switch {
	case errors.As(err, &e) && e.Code == mcp.CodeUnsupportedRevision:
		version, _ = rawjson.String(rawjson.Get(x.m.Params(), "_meta", revision.MetaProtocolVersion))
	case e != nil:
		return nil, e
	default:
		return nil, jsonrpc.NewError(jsonrpc.CodeInternal, err.Error())
	}
	if bad := checkStandardHeaders(x.r.Header, x.m, version); bad != nil {
		return nil, bad
	}
	return nil, e
}

// modernNotification takes a notification. Which headers it needs the
// specification leaves open: those that are there must agree.
func (h *Handler) modernNotification(x *exchange) {
	if v := x.r.Header[headerMethod]; len(v) > 1 || len(v) == 1 && v[0] != x.m.Method() {
		refuse(x.w, http.StatusBadRequest, jsonrpc.ID{}, mismatch(headerMethod, v))
		return
	}
	if !mcp.IsModern(x.m) {
		x.w.WriteHeader(http.StatusAccepted) // only requests have to carry _meta; without it nobody can be told
		return
	}
	s, err := mcp.ModernSession(x.m, mcp.PrincipalFrom(x.r.Context()), h.endpoint.Revisions())
	if err == nil {
		if v := x.r.Header[headerVersion]; len(v) > 1 || len(v) == 1 && v[0] != s.Revision.Name {
			err = mismatch("MCP-Protocol-Version", v)
		}
	}
	if e := (*jsonrpc.Error)(nil); errors.As(err, &e) {
		refuse(x.w, http.StatusBadRequest, jsonrpc.ID{}, e)
		return
	}
	h.endpoint.Answer(x.r.Context(), &mcp.Exchange{Request: x.m, Session: s, Peer: mutePeer{}, Header: x.r.Header})
	x.w.WriteHeader(http.StatusAccepted)
}

// modernStatus is the HTTP status of an answer in the modern era. Errors it does
// not name travel with 200.
func modernStatus(answer *jsonrpc.Message) int {
	if answer == nil || answer.RawError() == nil {
		return http.StatusOK
	}
	switch answer.Err().Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedRevision:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// classic answers in JSON, or with one event where the client takes only those.
func (h *Handler) classic(x *exchange, takes acceptance) {
	if x.m.Kind() != jsonrpc.Request {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := h.endpoint.AnswerClassic(x.r.Context(), x.m, mcp.PrincipalFrom(x.r.Context()))
	if takes != takesEvents {
		writeBody(x.w, http.StatusOK, answer.Bytes())
		return
	}
	eventHeaders(x.w.Header())
	setWriteDeadline(x.w, len(answer.Bytes()))
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(eventstream.Append(nil, eventstream.Event{Data: answer.Bytes()})) // who is gone needs no answer
}
