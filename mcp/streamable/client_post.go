package streamable

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"mcpv/internal/mcpheader"
	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// clientCall is one POST and what comes of it.
type clientCall struct {
	link    *clientLink
	state   *clientState // as it was when the call began
	message *jsonrpc.Message
	first   bool // it is initialize, which goes before all that was agreed on
	modern  bool

	// context ends with the caller's, with the link, and with an answer that
	// came by another way. It is not the caller's own, so that a connection may
	// be brought to rest after the call has returned.
	context context.Context
	cancel  context.CancelCauseFunc
	detach  func() bool // from the caller's context
	unlink  func() bool // from the link's

	handedOver bool             // finish releases, not the call
	elsewhere  *jsonrpc.Message // the answer that came by another way; guarded by link.mu
	bad        error            // the last frame on the stream that was no message
}

func (l *clientLink) begin(ctx context.Context, m *jsonrpc.Message) (*clientCall, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	c := &clientCall{link: l, message: m, first: m.Method() == "initialize"}
	if c.first {
		l.dropSession()
	}
	c.state = l.state.Load()
	c.modern = !c.first && c.state.revision != nil && c.state.revision.Rules.StandardHeaders
	c.context, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.detach = context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
	c.unlink = context.AfterFunc(l.context, func() { c.cancel(mcp.ErrClosed) })
	return c, nil
}

func (c *clientCall) release() {
	c.unlink()
	c.cancel(nil)
	c.link.running.Done()
}

// Call posts a request and reads what comes back, as JSON or as a stream.
func (l *clientLink) Call(ctx context.Context, m *jsonrpc.Message, header map[string]string) (*jsonrpc.Message, error) {
	c, err := l.begin(ctx, m)
	if err != nil {
		return nil, err
	}
	answer, err := c.run(header)
	c.detach()
	if err != nil {
		answer, err = c.failed(ctx, err)
	}
	if !c.handedOver {
		c.release()
	}
	return answer, err
}

// failed tells whose doing the failure was.
func (c *clientCall) failed(ctx context.Context, err error) (*jsonrpc.Message, error) {
	c.link.mu.Lock()
	elsewhere := c.elsewhere
	c.link.mu.Unlock()
	switch {
	case elsewhere != nil:
		return elsewhere, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
		c.tellCancelled(err)
	case c.context.Err() != nil:
		err = context.Cause(c.context)
	}
	return nil, err
}

func (c *clientCall) run(header map[string]string) (*jsonrpc.Message, error) {
	resp, err := c.post(header)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return c.refused(resp)
	}
	if c.first {
		if err := c.link.adopt(resp.Header); err != nil {
			_ = resp.Body.Close() // nothing was written
			return nil, err
		}
		c.state = c.link.state.Load() // the stream may have to be resumed in the session
	}
	switch {
	case clientContent(resp.Header, eventsType):
		return c.events(resp.Body)
	case clientContent(resp.Header, jsonType):
		return c.json(resp)
	}
	return nil, fmt.Errorf("answer has the content type %q: %w", resp.Header.Get("Content-Type"), c.link.httpError(resp))
}

func (c *clientCall) post(header map[string]string) (*http.Response, error) {
	h := maps.Clone(c.state.posts)
	switch {
	case c.first: // it names no version; the session is gone already
		delete(h, headerVersion)
	case c.modern:
		c.mirror(h, header)
	}
	return c.link.do(c.context, c.link.posts, h, c.message.Bytes())
}

// mirror adds the headers that repeat parts of the body. The body decides, so
// they are read from it (basic/transports/streamable-http: standard headers).
func (c *clientCall) mirror(h http.Header, header map[string]string) {
	m := c.message
	values := make([]string, 0, 3+len(header)) // one allocation for all
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	version, ok := rawjson.String(rawjson.Get(m.Params(), "_meta", revision.MetaProtocolVersion))
	if !ok {
		version = c.state.revision.Name
	}
	set(headerVersion, version)
	if m.Method() != "" {
		set(headerMethod, mcpheader.Encode(m.Method()))
	}
	if param := namedBy(m.Method()); param != "" {
		if name, ok := rawjson.String(rawjson.Get(m.Params(), param)); ok {
			set(headerName, mcpheader.Encode(name))
		}
	}
	for name, value := range header {
		if k := http.CanonicalHeaderKey(name); strings.HasPrefix(k, mcpheader.ParamPrefix) {
			set(k, value)
		}
	}
}

// refused makes the best of a status that is no success.
func (c *clientCall) refused(resp *http.Response) (*jsonrpc.Message, error) {
	e := c.link.httpError(resp)
	ours := e.Message != nil && (e.Message.ID() == c.message.ID() || e.Message.ID().IsZero())
	switch session := c.state.session; {
	case c.modern && ours && clientAnswers(e.Status):
		return c.owned(e.Message), nil
	case e.Status == http.StatusNotFound && session != nil && !c.modern && !c.unknownMethod(e.Message):
		session.gone.Store(true)
		return nil, fmt.Errorf("%w: %w", mcp.ErrSessionGone, e)
	}
	return nil, e
}

// clientAnswers reports whether a modern error frame under this status is the
// answer to the request. Authorization is the business of whoever sends.
func clientAnswers(status int) bool {
	return status/100 == 4 && status != http.StatusUnauthorized && status != http.StatusForbidden
}

// unknownMethod reports whether a 404 is about the method of this very request
// and not about the session.
func (c *clientCall) unknownMethod(m *jsonrpc.Message) bool {
	return m != nil && m.ID() == c.message.ID() && !m.ID().IsZero() && m.Err().Code == jsonrpc.CodeMethodNotFound
}

// owned returns a response under the id of the request, which the errors of
// some servers lack.
func (c *clientCall) owned(m *jsonrpc.Message) *jsonrpc.Message {
	if m.ID().IsZero() && m.RawError() != nil {
		return jsonrpc.NewRawErrorResponse(c.message.ID(), m.RawError())
	}
	return m
}

// json reads an answer that is one message, or a batch with one in it.
func (c *clientCall) json(resp *http.Response) (*jsonrpc.Message, error) {
	body, err := c.link.readBody(resp)
	if err != nil {
		return nil, err
	}
	var answer *jsonrpc.Message
	if jsonrpc.IsBatch(body) && !c.modern {
		answer, err = c.batch(body)
	} else {
		answer, err = c.single(body)
	}
	if answer != nil {
		return answer, nil
	}
	if err == nil {
		err = errNoResponse
	}
	e := &mcp.HTTPError{Status: resp.StatusCode, Header: resp.Header, Body: body[:min(len(body), clientErrorBody)]}
	return nil, fmt.Errorf("%v: %w", err, e) //nolint:errorlint // the parser's error is no error of the server
}

func (c *clientCall) single(body []byte) (*jsonrpc.Message, error) {
	m, err := jsonrpc.Parse(body)
	if err != nil {
		return nil, err
	}
	if m.Kind() != jsonrpc.Response {
		return nil, errNoResponse
	}
	return c.match(m)
}

// Send posts a notification or a response.
func (l *clientLink) Send(ctx context.Context, m *jsonrpc.Message) error {
	c, err := l.begin(ctx, m)
	if err != nil {
		return err
	}
	defer c.release()
	err = c.send()
	c.detach()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.context.Err() != nil:
		return context.Cause(c.context)
	}
	if err == nil && m.Method() == "notifications/initialized" {
		l.startStream(ctx, c.state)
	}
	return err
}

func (c *clientCall) send() error {
	resp, err := c.post(nil)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 == 2 {
		clientDiscard(resp)
		return nil
	}
	answer, err := c.refused(resp)
	if err == nil {
		return &mcp.HTTPError{Status: resp.StatusCode, Header: resp.Header, Body: answer.Bytes(), Message: answer}
	}
	return err
}

// tellCancelled sends notifications/cancelled, in the revisions where hanging
// up does not say it.
func (c *clientCall) tellCancelled(why error) {
	const method = "notifications/cancelled"
	r := c.state.revision
	if c.first || r == nil || r.Rules.DisconnectCancels || !r.Notification(method, revision.ClientToServer) {
		return
	}
	if c.link.enter() != nil {
		return
	}
	params := append([]byte(`{"requestId":`), c.message.ID().Raw()...)
	params = rawjson.AppendString(append(params, `,"reason":`...), why.Error())
	n := jsonrpc.NewNotification(method, append(params, '}'))
	go func() {
		defer c.link.running.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.context), clientFarewell)
		defer cancel()
		resp, err := c.link.do(ctx, c.link.posts, maps.Clone(c.state.posts), n.Bytes())
		if err != nil {
			c.link.log.Debug("cancellation was not delivered", "error", err)
			return
		}
		clientDiscard(resp)
	}()
}
