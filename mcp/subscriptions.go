package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Filter says which changes a subscription is told of.
type Filter struct {
	Tools     bool     `json:"toolsListChanged,omitzero"`
	Prompts   bool     `json:"promptsListChanged,omitzero"`
	Resources bool     `json:"resourcesListChanged,omitzero"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
	TaskIDs   []string `json:"taskIds,omitempty"` // of the tasks extension
}

// Wants reports whether the filter asks for the notification.
func (f Filter) Wants(n *jsonrpc.Message) bool {
	switch n.Method() {
	case "notifications/tools/list_changed":
		return f.Tools
	case "notifications/prompts/list_changed":
		return f.Prompts
	case "notifications/resources/list_changed":
		return f.Resources
	case "notifications/resources/updated":
		uri, _ := rawjson.String(rawjson.Get(n.Params(), "uri"))
		return slices.Contains(f.URIs, uri)
	case "notifications/tasks":
		id, _ := rawjson.String(rawjson.Get(n.Params(), "taskId"))
		return slices.Contains(f.TaskIDs, id)
	}
	return false
}

// listen serves subscriptions/listen: it acknowledges first, then sends what
// changes until the client goes or the handler's side ends.
func (e *Endpoint) listen(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	if e.listener == nil {
		return nil, methodNotFound(x.Request.Method())
	}
	raw := rawjson.Get(x.Request.Params(), "notifications")
	if rawjson.KindOf(raw) != '{' {
		return nil, invalidParams("notifications must be an object")
	}
	var f Filter
	if err := decode(raw, &f); err != nil {
		return nil, invalidParams("notifications has a member of the wrong type")
	}
	if e := f.check(); e != nil {
		return nil, e
	}
	if len(f.TaskIDs) > 0 && !x.Session.CanTask() {
		return nil, missingCapability("the tasks extension", `{"extensions":{"`+revision.TasksExtensionID+`":{}}}`)
	}
	q := newChangeQueue()
	granted, stop, err := e.listener.Listen(ctx, x.Session, f, q.put)
	if err != nil {
		return nil, err
	}
	defer stop()
	tag := []byte(`{"` + revision.MetaSubscriptionID + `":` + x.Request.ID().Raw() + `}`)
	ack := append([]byte(`{"_meta":`), tag...)
	ack = append(append(append(ack, `,"notifications":`...), encode(granted)...), '}')
	if err := x.Peer.Notify(ctx, jsonrpc.NewNotification("notifications/subscriptions/acknowledged", ack)); err != nil {
		return nil, err
	}
	for {
		n, err := q.next(ctx)
		if err != nil {
			return e.listenEnd(ctx, x, tag)
		}
		if !granted.Wants(n) {
			continue
		}
		params := n.Params()
		if params == nil {
			params = emptyObject
		}
		n = n.WithBody(rawjson.Set(params, []byte(x.Request.ID().Raw()), "_meta", revision.MetaSubscriptionID))
		if err := x.Peer.Notify(ctx, n); err != nil {
			return nil, err
		}
	}
}

// listenEnd answers the listen request when the server ends it. A client that
// cancelled gets nothing.
func (e *Endpoint) listenEnd(ctx context.Context, x *Exchange, tag []byte) (*jsonrpc.Message, error) {
	if errors.Is(context.Cause(ctx), ErrCancelled) {
		return nil, ErrCancelled
	}
	result := append([]byte(`{"_meta":`), tag...)
	return jsonrpc.NewResult(x.Request.ID(), append(result, `,"resultType":"complete"}`...)), nil
}

// subscribe serves resources/subscribe and resources/unsubscribe of a legacy
// session: a filter cannot be changed, so a new listening replaces the old one.
func (c *Channel) subscribe(ctx context.Context, x *Exchange) *jsonrpc.Message {
	id := x.Request.ID()
	uri, ok := rawjson.String(rawjson.Get(x.Request.Params(), "uri"))
	if !ok || uri == "" {
		return answerError(id, invalidParams("uri must be a string"))
	}
	if c.endpoint.listener == nil {
		return answerError(id, methodNotFound(x.Request.Method()))
	}
	c.subscribing.Lock()
	defer c.subscribing.Unlock()
	c.mu.Lock()
	uris := slices.Clone(c.uris)
	c.mu.Unlock()
	at := slices.Index(uris, uri)
	switch {
	case x.Request.Method() == "resources/unsubscribe" && at >= 0:
		uris = slices.Delete(uris, at, at+1)
	case x.Request.Method() == "resources/subscribe" && at < 0:
		uris = append(uris, uri)
		if e := (Filter{URIs: uris}).check(); e != nil {
			return answerError(id, e)
		}
	default:
		return jsonrpc.NewResult(id, emptyObject) // as it was
	}
	if err := c.relisten(ctx, x.Session, uris); err != nil {
		return answerError(id, err)
	}
	return jsonrpc.NewResult(id, emptyObject)
}

// What one session, or one listen request, may subscribe to: URIs and tasks
// together, in number and in bytes.
const (
	maxSubscriptions     = 10_000
	maxSubscriptionBytes = 1 << 20
)

// check refuses filters that would cost more to keep than anybody needs.
func (f Filter) check() error {
	n, size := len(f.URIs)+len(f.TaskIDs), 0
	if n > maxSubscriptions {
		return invalidParams("too many subscriptions: at most %d", maxSubscriptions)
	}
	for _, list := range [][]string{f.URIs, f.TaskIDs} {
		for _, s := range list {
			size += len(s)
		}
	}
	if size > maxSubscriptionBytes {
		return invalidParams("the subscriptions are too long: at most %d bytes together", maxSubscriptionBytes)
	}
	return nil
}

// relisten opens a listening for uris and the lists, then ends the one before.
// The caller holds subscribing.
func (c *Channel) relisten(ctx context.Context, s *Session, uris []string) error {
	f := Filter{Tools: true, Prompts: true, Resources: true, URIs: uris}
	push := c.push
	if push == nil {
		push = func(*jsonrpc.Message) {}
	}
	granted, stop, err := c.endpoint.listenTo(context.WithoutCancel(ctx), s, f, func(n *jsonrpc.Message) {
		if f.Wants(n) {
			push(n)
		}
	})
	if err != nil {
		return err
	}
	if uri, ok := firstMissing(uris, granted.URIs); ok {
		stop()
		return invalidParams("resource cannot be subscribed to: %s", uri)
	}
	c.mu.Lock()
	old := c.stop
	c.stop, c.uris = stop, uris
	if c.closed {
		old, c.stop = stop, nil
	}
	c.mu.Unlock()
	if old != nil {
		old()
	}
	return nil
}

// firstMissing returns the first of asked that is not in granted. There may be
// many, most often the same in the same order.
func firstMissing(asked, granted []string) (uri string, ok bool) {
	if slices.Equal(asked, granted) {
		return "", false
	}
	have := make(map[string]struct{}, len(granted))
	for _, uri := range granted {
		have[uri] = struct{}{}
	}
	for _, uri := range asked {
		if _, ok := have[uri]; !ok {
			return uri, true
		}
	}
	return "", false
}

// listenTo is the listener's Listen whose panic is an error, for callers that
// are not under Answer.
func (e *Endpoint) listenTo(ctx context.Context, s *Session, f Filter, deliver func(*jsonrpc.Message)) (granted Filter, stop func(), err error) {
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("listener panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = jsonrpc.NewError(jsonrpc.CodeInternal, "internal error")
		}
	}()
	return e.listener.Listen(ctx, s, f, deliver)
}

// A changeQueue holds notifications until they can be sent. Equal ones are
// joined, so it is bounded by the number of things that can change.
type changeQueue struct {
	mu    sync.Mutex
	items []*jsonrpc.Message
	wake  chan struct{}
}

func newChangeQueue() *changeQueue { return &changeQueue{wake: make(chan struct{}, 1)} }

func (q *changeQueue) put(n *jsonrpc.Message) {
	q.mu.Lock()
	same := func(o *jsonrpc.Message) bool { return string(o.Bytes()) == string(n.Bytes()) }
	if !slices.ContainsFunc(q.items, same) {
		q.items = append(q.items, n)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *changeQueue) next(ctx context.Context) (*jsonrpc.Message, error) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			n := q.items[0]
			q.items = q.items[1:]
			q.mu.Unlock()
			return n, nil
		}
		q.mu.Unlock()
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
