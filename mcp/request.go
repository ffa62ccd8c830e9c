package mcp

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Request is what the handlers of tools, prompts and resources have in
// common: who asks, and the ways back to the client while the request is open.
type Request struct {
	Exchange *Exchange

	server *Server
	rounds rounds
	task   *runningTask // nil unless the request runs as a task
	late   *runningTask // what Detach makes a task of; nil when it cannot
}

// Session returns who asks.
func (r *Request) Session() *Session { return r.Exchange.Session }

// Principal returns the authenticated caller, nil when there is none.
func (r *Request) Principal() *Principal { return r.Exchange.Session.Principal }

// Meta returns the member of the request's _meta with the name given, raw, or
// nil.
func (r *Request) Meta(name string) JSON {
	return rawjson.Get(r.Exchange.Request.Params(), "_meta", name)
}

// Progress tells how far the work is, if the client asked to be told. total is
// 0 when unknown, message may be empty. progress has to grow.
func (r *Request) Progress(ctx context.Context, progress, total float64, message string) {
	token := r.Meta("progressToken")
	if token == nil || r.task != nil && !r.task.progresses() {
		return
	}
	type params struct {
		Token    JSON    `json:"progressToken"`
		Progress float64 `json:"progress"`
		Total    float64 `json:"total,omitzero"`
		Message  string  `json:"message,omitzero"`
	}
	r.notify(ctx, "notifications/progress", encode(params{token, progress, total, message}))
}

// Log sends a log message, if the client wants messages of this level. data is
// any JSON value. It must hold no secrets.
func (r *Request) Log(ctx context.Context, level LogLevel, logger string, data any) {
	least, wanted := r.Exchange.Session.LogLevel()
	if !wanted || level < least {
		return
	}
	raw, err := encodeValue(data)
	if err != nil {
		raw = quote(err.Error())
	}
	type params struct {
		Level  string `json:"level"`
		Logger string `json:"logger,omitzero"`
		Data   JSON   `json:"data"`
	}
	r.notify(ctx, "notifications/message", encode(params{level.String(), logger, raw}))
}

// notify sends a notification that belongs to this request. That it cannot
// arrive any more is no reason to stop: the context tells of that.
func (r *Request) notify(ctx context.Context, method string, params []byte) {
	f := revision.Frame{Kind: revision.Notification, Method: method, Body: params}
	if err := revision.Translate(&f, revision.Latest(), r.Exchange.Session.Revision); err != nil {
		return
	}
	_ = r.Exchange.Peer.Notify(ctx, jsonrpc.NewNotification(f.Method, f.Body))
}

// Logger returns a logger whose records go to the client as log messages.
func (r *Request) Logger(name string) *slog.Logger {
	return slog.New(&logHandler{request: r, name: name})
}

// answerOr answers with the questions that are open if err says so, else with
// err itself.
func (r *Request) answerOr(err error) (*jsonrpc.Message, error) {
	if errors.Is(err, ErrInputRequired) && len(r.rounds.pending) > 0 {
		return r.inputRequired(time.Now()), nil
	}
	return nil, err
}
