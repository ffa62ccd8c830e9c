package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/internal/schema"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// An ElicitRequest is a question of the server to the user.
type ElicitRequest struct {
	Mode          string `json:"mode,omitzero"` // "form" or "url"
	Message       string `json:"message"`
	Schema        JSON   `json:"requestedSchema,omitzero"` // form
	URL           string `json:"url,omitzero"`             // url
	ElicitationID string `json:"elicitationId,omitzero"`   // url, 2025-11-25
	Meta          JSON   `json:"_meta,omitzero"`
	Extra         JSON   `json:",embed"`
}

// A LogMessage is a log message of the server.
type LogMessage struct {
	Level  string `json:"level"`
	Logger string `json:"logger,omitzero"`
	Data   JSON   `json:"data"`
	Meta   JSON   `json:"_meta,omitzero"`
	Extra  JSON   `json:",embed"`
}

// Receive takes what the server sends; transports call it.
func (c *Client) Receive(l Link, m *jsonrpc.Message, _ jsonrpc.ID) {
	if m.Kind() == jsonrpc.Request {
		c.asked(l, m)
		return
	}
	switch m.Method() {
	case "notifications/progress":
		c.progressed(m)
	case "notifications/cancelled":
		c.withdrawn(m)
		c.subs.cancelled(m)
	case "notifications/elicitation/complete":
		c.visits.completed(m)
	case "notifications/subscriptions/acknowledged":
		c.subs.acknowledged(m)
	default:
		c.outdated(m)
		c.enqueue(func() { c.notified(m) })
	}
}

// outdated drops from the cache what a notification says has changed, before
// anything that comes after it is read.
func (c *Client) outdated(m *jsonrpc.Message) {
	switch m.Method() {
	case "notifications/tools/list_changed":
		c.cache.drop("tools/list")
	case "notifications/prompts/list_changed":
		c.cache.drop("prompts/list")
	case "notifications/resources/list_changed":
		c.cache.drop("resources/list")
		c.cache.drop("resources/templates/list")
	case "notifications/resources/updated":
		uri, _ := rawjson.String(rawjson.Get(m.Params(), "uri"))
		c.cache.dropResource(uri)
	}
}

// progressed hands progress to the call it belongs to. A call that does not
// keep up misses some: the newest matter more than all.
func (c *Client) progressed(m *jsonrpc.Message) {
	id, ok := jsonrpc.ParseID(rawjson.Get(m.Params(), "progressToken"))
	if !ok {
		return
	}
	c.mu.Lock()
	k := c.calls[id]
	c.mu.Unlock()
	if k == nil {
		return
	}
	var p Progress
	if decode(m.Params(), &p) != nil {
		return
	}
	select {
	case k.events <- p:
	default:
	}
}

// maxInbox bounds the notifications waiting for their callbacks.
const maxInbox = 1024

// enqueue has f called after all before it. A goroutine runs only while there
// is something to call.
func (c *Client) enqueue(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.inbox) >= maxInbox || c.context.Err() != nil {
		c.opts.Logger.Warn("notification dropped: callbacks do not keep up")
		return
	}
	c.inbox = append(c.inbox, f)
	if len(c.inbox) == 1 {
		c.running.Go(c.drain)
	}
}

func (c *Client) drain() {
	for {
		c.mu.Lock()
		f := c.inbox[0]
		c.mu.Unlock()
		c.guard(f)
		c.mu.Lock()
		c.inbox = c.inbox[1:]
		empty := len(c.inbox) == 0
		if empty {
			c.inbox = nil
		}
		c.mu.Unlock()
		if empty {
			return
		}
	}
}

// guard runs a callback; its panic is logged and goes no further.
func (c *Client) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.opts.Logger.Error("callback panicked", "panic", fmt.Sprint(p))
		}
	}()
	f()
}

// notified runs the callback for a notification.
func (c *Client) notified(m *jsonrpc.Message) {
	o := &c.opts
	switch m.Method() {
	case "notifications/message":
		var l LogMessage
		if o.OnLog != nil && decode(m.Params(), &l) == nil {
			o.OnLog(&l)
		}
	case "notifications/tools/list_changed":
		run(o.OnToolsChanged)
	case "notifications/prompts/list_changed":
		run(o.OnPromptsChanged)
	case "notifications/resources/list_changed":
		run(o.OnResourcesChanged)
	case "notifications/resources/updated":
		if uri, _ := rawjson.String(rawjson.Get(m.Params(), "uri")); o.OnResourceUpdated != nil {
			o.OnResourceUpdated(uri)
		}
	case "notifications/tasks", "notifications/tasks/status":
		c.taskChanged(m)
	default:
		if o.OnNotification != nil {
			o.OnNotification(m)
		}
	}
}

func run(f func()) {
	if f != nil {
		f()
	}
}

// maxQuestions bounds the requests of one server that are being answered.
const maxQuestions = 256

// asked answers a request of a legacy server. In revisions whose servers send
// none it is dropped: clients send no responses there.
func (c *Client) asked(l Link, m *jsonrpc.Message) {
	if !c.legacyRevision().Rules.ServerRequests {
		c.opts.Logger.Warn("request of the server dropped: the revision has none", "method", m.Method())
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.context.Err() != nil {
		return
	}
	if _, taken := c.asking[m.ID()]; taken || len(c.asking)+c.replying >= maxQuestions {
		c.refuseLocked(l, m.ID())
		return
	}
	ctx, cancel := context.WithCancelCause(c.context)
	c.asking[m.ID()] = cancel
	c.running.Go(func() {
		reply := c.replyTo(ctx, m)
		c.mu.Lock()
		delete(c.asking, m.ID()) // first: the server may use the id again once it has the answer
		c.replying++
		c.mu.Unlock()
		if !errors.Is(context.Cause(ctx), ErrCancelled) {
			c.reply(l, reply)
		}
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.replying--
	})
}

// refuseLocked answers a request too many. A server that does not even read the
// refusals gets no more of them.
func (c *Client) refuseLocked(l Link, id jsonrpc.ID) {
	if c.replying >= 2*maxQuestions {
		return
	}
	c.replying++
	c.running.Go(func() {
		c.reply(l, answerError(id, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "id is in use, or too many requests are open")))
		c.mu.Lock()
		defer c.mu.Unlock()
		c.replying--
	})
}

func (c *Client) replyTo(ctx context.Context, m *jsonrpc.Message) *jsonrpc.Message {
	result, err := c.answerInShape(ctx, m)
	if err != nil {
		return answerError(m.ID(), err)
	}
	return jsonrpc.NewResult(m.ID(), result)
}

func (c *Client) reply(l Link, m *jsonrpc.Message) {
	if err := l.Send(c.context, m); err != nil {
		c.opts.Logger.Warn("answer to the server was not sent", "error", err)
	}
}

// withdrawn ends the handler of a question that the server has cancelled.
func (c *Client) withdrawn(m *jsonrpc.Message) {
	id, ok := jsonrpc.ParseID(rawjson.Get(m.Params(), "requestId"))
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.asking[id]; cancel != nil {
		cancel(ErrCancelled)
	}
}

// answerInShape answers in the shape of the revision in use.
func (c *Client) answerInShape(ctx context.Context, m *jsonrpc.Message) ([]byte, error) {
	now, latest := c.legacyRevision(), revision.Latest()
	if m.Method() != "ping" && !now.Request(m.Method(), revision.ServerToClient) {
		return nil, methodNotFound(m.Method())
	}
	f := revision.Frame{Kind: revision.Request, Method: m.Method(), Body: m.Params()}
	if err := revision.Translate(&f, now, latest); err != nil {
		return nil, err
	}
	raw, err := c.answer(ctx, f.Method, f.Body)
	if err != nil {
		return nil, err
	}
	f = revision.Frame{Kind: revision.Result, Method: m.Method(), Body: raw}
	if err := revision.Translate(&f, latest, now); err != nil {
		return nil, err
	}
	return f.Body, nil
}

// legacyRevision is the revision in use. A server may ask before the agreement
// is noted here: it then is the newest with questions.
func (c *Client) legacyRevision() *revision.Revision {
	if a := c.current(); a != nil {
		return a.revision
	}
	return revision.LatestLegacy()
}

// answer runs the handler for a question, in the shape of the newest revision.
// A handler's panic fails the question only.
func (c *Client) answer(ctx context.Context, method string, params []byte) (raw []byte, err error) {
	c.answering.Add(1)
	defer func() {
		c.answered.Store(time.Now().UnixNano())
		c.answering.Add(-1)
	}()
	defer func() {
		if p := recover(); p != nil {
			c.opts.Logger.Error("handler panicked", "method", method, "panic", fmt.Sprint(p))
			err = jsonrpc.NewError(jsonrpc.CodeInternal, "internal error")
		}
	}()
	switch method {
	case "ping":
		return emptyObject, nil
	case "elicitation/create":
		return c.answerElicit(ctx, params)
	case "sampling/createMessage":
		return c.answerSample(ctx, params)
	case "roots/list":
		if c.opts.Roots == nil {
			return nil, methodNotFound(method)
		}
		roots, err := c.opts.Roots(ctx)
		if err != nil {
			return nil, err
		}
		if roots == nil {
			roots = []Root{}
		}
		return encodeValue(struct {
			Roots []Root `json:"roots"`
		}{roots})
	}
	return nil, methodNotFound(method)
}

func (c *Client) answerElicit(ctx context.Context, params []byte) ([]byte, error) {
	var q ElicitRequest
	if err := decode(params, &q); err != nil {
		return nil, invalidParams("elicitation/create: %v", err)
	}
	handler := c.opts.Elicit
	switch q.Mode {
	case "":
		q.Mode = "form"
	case "form":
	case "url":
		handler = c.opts.ElicitURL
	default:
		handler = nil
	}
	if handler == nil {
		return nil, invalidParams("elicitation in %s mode was not declared", q.Mode)
	}
	r, err := handler(ctx, &q)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, errors.New("the elicitation handler returned no answer")
	}
	if r.Action == ActionAccept && q.Mode == "form" {
		c.fillDefaults(r, &q)
	}
	return encodeValue(r)
}

// fillDefaults adds the defaults of the form to what the user left open.
func (c *Client) fillDefaults(r *ElicitResult, q *ElicitRequest) {
	filled := *r
	if filled.Content == nil {
		filled.Content = emptyObject
	}
	if s, err := schema.Compile(q.Schema, schema.Limits{}); err == nil {
		filled.Content = s.ApplyDefaults(filled.Content)
	}
	*r = filled
}

func (c *Client) answerSample(ctx context.Context, params []byte) ([]byte, error) {
	if c.opts.Sample == nil {
		return nil, methodNotFound("sampling/createMessage")
	}
	var p SamplingParams
	if err := decode(params, &p); err != nil {
		return nil, invalidParams("sampling/createMessage: %v", err)
	}
	if !c.opts.SampleTools && (len(p.Tools) > 0 || p.ToolChoice != nil) {
		return nil, invalidParams("sampling with tools was not declared")
	}
	r, err := c.opts.Sample(ctx, &p)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, errors.New("the sampling handler returned no answer")
	}
	filled := *r
	filled.Role = or(filled.Role, "assistant")
	filled.Model = or(filled.Model, "unknown")
	return encodeValue(&filled)
}
