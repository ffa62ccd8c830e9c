package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Progress tells how far a request is.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitzero"` // 0 when unknown
	Message  string  `json:"message,omitzero"`
}

// A call is one request of the client's user, over all rounds it takes.
type call struct {
	method   string
	params   []byte // an object or nil
	progress func(Progress)
	header   map[string]string // Mcp-Param-*
	timeout  time.Duration     // 0 means that of the options
	list     string            // the member of the result that read is to find; "" for none

	events chan Progress // while it runs, if progress is wanted
	rounds int           // how often the server asked back
	ttl    int64         // how long the result may be kept, in ms; 0 when nothing is said
	items  []byte        // what list names in the result
	next   []byte        // the cursor of the next page
}

// do runs a call and returns its result in the shape of the newest revision.
// A peer's error is returned as *jsonrpc.Error.
func (c *Client) do(ctx context.Context, k *call) ([]byte, error) {
	ctx, stop := c.limit(ctx, k)
	defer stop()
	start, spent := time.Now(), 0
	params := k.params
	for round := 0; ; round++ {
		a, answer, err := c.exchange(ctx, k, params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.method, err)
		}
		if again, err := c.visitURLs(ctx, a, answer.Err(), round); err != nil {
			return nil, fmt.Errorf("%s: %w", k.method, err)
		} else if again {
			continue
		}
		result, err := c.result(a, k.method, answer)
		if err != nil {
			return nil, err
		}
		switch kind := k.read(result); {
		case kind == "" || kind == "complete":
			return result, nil
		case kind == "task" && k.method == "tools/call":
			return result, nil
		case kind != "input_required":
			return nil, fmt.Errorf("%s: the server answered with the unknown result type %q", k.method, kind)
		}
		spent += len(result)
		switch {
		case round >= c.opts.MaxRounds:
			return nil, fmt.Errorf("%s: the server asked back more than %d times", k.method, c.opts.MaxRounds)
		case spent > c.opts.MaxRoundBytes:
			return nil, fmt.Errorf("%s: the server's questions exceed %d bytes", k.method, c.opts.MaxRoundBytes)
		case time.Since(start) > c.opts.MaxRoundTime:
			return nil, fmt.Errorf("%s: the server's questions took longer than %v", k.method, c.opts.MaxRoundTime)
		}
		k.rounds++
		if params, err = c.nextRound(ctx, k.params, result, round); err != nil {
			return nil, fmt.Errorf("%s: %w", k.method, err)
		}
	}
}

// read returns the type of a result and keeps what else the client decides on,
// in one pass: pages of lists are long.
func (k *call) read(result []byte) (kind string) {
	k.ttl, k.items, k.next = 0, nil, nil
	for c := rawjson.Object(result); c.Next(); {
		switch {
		case c.KeyIs("resultType"):
			kind, _ = readResultType(c.Value())
		case c.KeyIs("ttlMs"):
			k.ttl, _ = rawjson.Int(c.Value())
		case k.list != "" && c.KeyIs(k.list):
			k.items = c.Value()
		case c.KeyIs("nextCursor"):
			k.next = c.Value()
		}
	}
	return kind
}

// limit gives a call its timeout. Progress starts it anew, and it does not run
// out while the user or the model is being asked something: that may take long,
// and is bounded by MaxRoundTime.
func (c *Client) limit(ctx context.Context, k *call) (context.Context, context.CancelFunc) {
	d := k.timeout
	if d == 0 {
		d = c.opts.Timeout
	}
	if d < 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{client: c, cancel: cancel, each: d, start: time.Now()}
	p.mu.Lock()
	p.timer = time.AfterFunc(d, p.expire)
	p.mu.Unlock()
	if tell := k.progress; tell != nil {
		k.progress = func(news Progress) {
			p.timer.Reset(min(d, time.Until(p.start.Add(10*d))))
			tell(news)
		}
	}
	return ctx, func() {
		p.timer.Stop()
		cancel(nil)
	}
}

// patience is the timeout of one call.
type patience struct {
	client *Client
	cancel context.CancelCauseFunc
	each   time.Duration
	start  time.Time

	mu    sync.Mutex // held until timer is set
	timer *time.Timer
}

func (p *patience) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, again := p.client, time.Duration(0)
	if c.answering.Load() > 0 {
		again = p.each
	} else if last := time.Unix(0, c.answered.Load()); last.After(p.start) {
		again = p.each - time.Since(last) // the server has its time from then on
	}
	if again > 0 && time.Since(p.start) < c.opts.MaxRoundTime {
		p.timer.Reset(again)
		return
	}
	p.cancel(ErrTimeout)
}

// exchange sends the call once, or once more where the server says that it has
// forgotten us or that we speak another revision.
func (c *Client) exchange(ctx context.Context, k *call, params []byte) (*agreed, *jsonrpc.Message, error) {
	a, err := c.usable(ctx)
	if err != nil {
		return nil, nil, err
	}
	answer, err := c.send(ctx, a, k, params)
	switch {
	case errors.Is(err, ErrSessionGone):
		if a, err = c.renew(ctx, a, true); err != nil {
			return nil, nil, err
		}
		answer, err = c.send(ctx, a, k, params)
	case err == nil && a.revision.Rules.RequestMeta && answer.Err() != nil && answer.Err().Code == CodeUnsupportedRevision:
		if a, err = c.renew(ctx, a, true); err != nil {
			return nil, nil, err
		}
		answer, err = c.send(ctx, a, k, params)
	}
	return a, answer, err
}

// send puts one request on the wire and waits, delivering progress meanwhile on
// the caller's own goroutine.
func (c *Client) send(ctx context.Context, a *agreed, k *call, params []byte) (*jsonrpc.Message, error) {
	id := a.link.NextID()
	method, params, err := c.onWire(a, k, params, id)
	if err != nil {
		return nil, err
	}
	m := jsonrpc.NewRequest(id, method, params)
	if k.progress == nil {
		return a.link.Call(ctx, m, k.header)
	}
	k.events = make(chan Progress, 64)
	c.mu.Lock()
	c.calls[id] = k
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
	}()
	type outcome struct {
		answer *jsonrpc.Message
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		answer, err := a.link.Call(ctx, m, k.header)
		done <- outcome{answer, err}
	}()
	for {
		select {
		case p := <-k.events:
			k.progress(p)
		case o := <-done:
			for { // what came before the answer is told before it
				select {
				case p := <-k.events:
					k.progress(p)
				default:
					return o.answer, o.err
				}
			}
		}
	}
}

// onWire gives method and params the shape of the revision agreed on.
func (c *Client) onWire(a *agreed, k *call, params []byte, id jsonrpc.ID) (string, []byte, error) {
	if k.progress != nil {
		params = addMeta(params, append([]byte(`"progressToken":`), id.Raw()...))
	}
	if !canAsk(a.revision, k.method) {
		return "", nil, fmt.Errorf("%s has no such request: %w", a.revision, ErrUnsupported)
	}
	if a.revision.Rules.RequestMeta {
		params = addMeta(params, c.levelMeta())
	}
	if a.revision == revision.Latest() {
		return k.method, addMeta(params, a.meta), nil
	}
	f := revision.Frame{Kind: revision.Request, Method: k.method, Body: params}
	if err := revision.Translate(&f, revision.Latest(), a.revision); err != nil {
		return "", nil, err
	}
	if a.revision.Rules.RequestMeta {
		f.Body = addMeta(f.Body, a.meta)
	}
	return f.Method, f.Body, nil
}

// canAsk reports whether a revision has the request, under whatever name, or
// leaves it to vendors.
func canAsk(r *revision.Revision, method string) bool {
	if r == revision.Classic && classicMethod(method) != method {
		return true
	}
	return r.Request(method, revision.ClientToServer) || !isProtocolMethod(method)
}

// result returns what the answer holds in the shape of the newest revision, or
// its error.
func (c *Client) result(a *agreed, method string, answer *jsonrpc.Message) ([]byte, error) {
	if a.revision == revision.Latest() {
		if e := answer.Err(); e != nil {
			return nil, e
		}
		return answer.Result(), nil
	}
	if task := flatTask(a.revision, method, answer.Result()); task != nil {
		return task, nil
	}
	f := revision.Frame{Kind: revision.Result, Method: method, Body: answer.Result()}
	if answer.Err() != nil {
		f.Kind, f.Body = revision.Error, answer.RawError()
	}
	if a.revision == revision.Classic {
		f.Method = classicMethod(method)
	}
	if err := revision.Translate(&f, a.revision, revision.Latest()); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if f.Kind == revision.Error {
		return nil, jsonrpc.ParseErrorObject(f.Body)
	}
	return f.Body, nil
}

// classicMethod names a method in the classic dialect.
func classicMethod(method string) string {
	f := revision.Frame{Kind: revision.Request, Method: method, Body: emptyObject}
	if err := revision.Translate(&f, revision.LatestLegacy(), revision.Classic); err != nil {
		return method
	}
	return f.Method
}

// nextRound answers the questions of an input_required result and returns the
// params of the next round.
func (c *Client) nextRound(ctx context.Context, params, result []byte, round int) ([]byte, error) {
	questions, state := rawjson.Get(result, "inputRequests"), rawjson.Get(result, "requestState")
	if questions == nil && state == nil {
		return nil, errors.New("the server needs input but does not say what")
	}
	if params == nil {
		params = emptyObject
	}
	if questions == nil { // come back later
		timer := time.NewTimer(time.Duration(round+1) * 500 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return rawjson.Set(params, state, "requestState"), nil
	}
	answers := []byte{'{'}
	for q := rawjson.Object(questions); q.Next(); {
		method, _ := rawjson.String(rawjson.Get(q.Value(), "method"))
		raw, err := c.answer(ctx, method, rawjson.Get(q.Value(), "params"))
		if err != nil {
			return nil, fmt.Errorf("the server asked %s: %w", method, err)
		}
		if len(answers) > 1 {
			answers = append(answers, ',')
		}
		answers = append(append(append(answers, quote(q.Key())...), ':'), raw...)
	}
	params = rawjson.Set(params, append(answers, '}'), "inputResponses")
	if state != nil {
		params = rawjson.Set(params, state, "requestState")
	}
	return params, nil
}
