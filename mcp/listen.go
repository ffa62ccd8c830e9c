package mcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// subscriptions is what a client wants to be told of, and how it is told: by
// resources/subscribe in the legacy era, by one subscriptions/listen request in
// the modern one, opened anew whenever it ends or what is wanted changes.
type subscriptions struct {
	mu      sync.Mutex
	uris    []string
	tasks   []string
	open    map[jsonrpc.ID]*listenRequest
	restart chan struct{} // wakes the listening goroutine; nil when there is none
	waiters []chan grant  // are told what the next listening is granted
}

// A grant is the outcome of a listen request: what the server will tell of, or
// why it refused.
type grant struct {
	filter Filter
	err    error
}

type listenRequest struct {
	asked   Filter
	acked   chan struct{} // closed by the acknowledgement
	once    sync.Once
	filter  Filter        // granted; set before acked is closed
	ended   chan struct{} // closed when the request has ended
	err     error         // why; set before ended is closed
	cancel  context.CancelCauseFunc
	waiters []chan grant
}

// filter is what the client wants to be told of right now.
func (c *Client) filter() Filter {
	o := &c.opts
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	return Filter{
		Tools:     o.OnToolsChanged != nil,
		Prompts:   o.OnPromptsChanged != nil,
		Resources: o.OnResourcesChanged != nil,
		URIs:      slices.Clone(c.subs.uris),
		TaskIDs:   slices.Clone(c.subs.tasks),
	}
}

func (f Filter) empty() bool {
	return !f.Tools && !f.Prompts && !f.Resources && len(f.URIs) == 0 && len(f.TaskIDs) == 0
}

// Subscriptions returns the URIs that Subscribe has been called for.
func (c *Client) Subscriptions() []string {
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	return slices.Clone(c.subs.uris)
}

// Subscribe has OnResourceUpdated called when the resource changes, until
// Unsubscribe. The subscription survives reconnects.
func (c *Client) Subscribe(ctx context.Context, uri string) error {
	c.subs.mu.Lock()
	had := slices.Contains(c.subs.uris, uri)
	if !had {
		c.subs.uris = append(c.subs.uris, uri)
	}
	c.subs.mu.Unlock()
	if had {
		return nil
	}
	err := c.subscribeNow(ctx, uri)
	if err != nil {
		c.subs.forget(uri)
		if c.Revision().Rules.Listen {
			c.wakeListener() // the others may have been refused with it
		}
	}
	return err
}

func (c *Client) subscribeNow(ctx context.Context, uri string) error {
	if !c.Revision().Rules.Listen {
		return c.subscribeLegacy(ctx, "resources/subscribe", uri)
	}
	granted, err := c.relisten(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(granted.URIs, uri) {
		return fmt.Errorf("the server does not let %s be subscribed to: %w", uri, ErrUnsupported)
	}
	return nil
}

// Unsubscribe ends a subscription.
func (c *Client) Unsubscribe(ctx context.Context, uri string) error {
	if !c.subs.forget(uri) {
		return nil
	}
	if !c.Revision().Rules.Listen {
		return c.subscribeLegacy(ctx, "resources/unsubscribe", uri)
	}
	_, err := c.relisten(ctx)
	return err
}

func (c *Client) subscribeLegacy(ctx context.Context, method, uri string) error {
	if !c.Revision().Rules.Subscribe {
		return fmt.Errorf("%s: %w", method, ErrUnsupported)
	}
	_, err := c.do(ctx, &call{method: method, params: rawjson.Set(emptyObject, quote(uri), "uri")})
	return err
}

func (s *subscriptions) forget(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.uris, uri)
	if i >= 0 {
		s.uris = slices.Delete(s.uris, i, i+1)
	}
	return i >= 0
}

// startListening opens the listening that the options ask for.
func (c *Client) startListening() {
	if c.Revision().Rules.Listen && !c.filter().empty() {
		c.wakeListener()
	}
}

// resubscribe restores on a new connection what was subscribed to on the old.
func (c *Client) resubscribe(ctx context.Context) {
	if c.Revision().Rules.Listen {
		if !c.filter().empty() {
			c.wakeListener()
		}
		return
	}
	for _, uri := range c.filter().URIs {
		if err := c.subscribeLegacy(ctx, "resources/subscribe", uri); err != nil {
			c.opts.Logger.Warn("subscription was not restored", "uri", uri, "error", err)
		}
	}
}

// wakeListener has the listening goroutine look at what is wanted, starting it
// when there is none.
func (c *Client) wakeListener() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.context.Err() != nil {
		return
	}
	s := &c.subs
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.restart == nil {
		s.restart = make(chan struct{}, 1)
		s.open = map[jsonrpc.ID]*listenRequest{}
		c.running.Go(c.listenLoop)
	}
	select {
	case s.restart <- struct{}{}:
	default:
	}
}

// relisten opens a new listening and waits until the server has acknowledged or
// refused it.
func (c *Client) relisten(ctx context.Context) (Filter, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	if _, err := c.usable(ctx); err != nil {
		return Filter{}, err
	}
	granted := make(chan grant, 1)
	c.subs.mu.Lock()
	c.subs.waiters = append(c.subs.waiters, granted)
	c.subs.mu.Unlock()
	c.wakeListener()
	select {
	case g := <-granted:
		return g.filter, g.err
	case <-ctx.Done():
		return Filter{}, context.Cause(ctx)
	case <-c.context.Done():
		return Filter{}, ErrClosed
	}
}

// listenLoop keeps one listen request open. A filter cannot be changed: a new
// request takes over, and the old one is cancelled when the new one stands. A
// new one that is refused leaves the old one as it is.
func (c *Client) listenLoop() {
	var running sync.WaitGroup
	defer running.Wait()
	var current *listenRequest
	wait := time.Duration(0)
	for {
		var ended chan struct{}
		if current != nil {
			ended = current.ended
		}
		select {
		case <-c.subs.restart:
		case <-ended:
			c.opts.Logger.Debug("listening ended", "error", current.err)
			current = nil
			if wait = min(max(2*wait, 100*time.Millisecond), 30*time.Second); !c.pause(wait) {
				return
			}
		case <-c.context.Done():
			return
		}
		next, again := c.replace(current, &running)
		switch {
		case next != current && next != nil:
			wait = 0
		case again:
			wait = min(max(2*wait, 100*time.Millisecond), 30*time.Second)
			pause := wait
			running.Go(func() {
				if c.pause(pause) {
					c.wakeListener()
				}
			})
		}
		current = next
	}
}

// replace opens the listening for what is wanted now in the place of current,
// which may be nil, and returns the one that stands. again tells that a failure
// may pass.
func (c *Client) replace(current *listenRequest, running *sync.WaitGroup) (_ *listenRequest, again bool) {
	for {
		wanted := c.filter()
		if wanted.empty() {
			current.end(errReplaced)
			grantAll(c.subs.takeWaiters(), grant{})
			return nil, false
		}
		if current.stands() && reflect.DeepEqual(current.asked, wanted) {
			grantAll(c.subs.takeWaiters(), grant{filter: current.filter})
			return current, false
		}
		next := c.listenOnce(wanted, running)
		if next == nil { // the next connection wakes the listener
			grantAll(c.subs.takeWaiters(), grant{err: ErrClosed})
			return current, false
		}
	wait:
		select {
		case <-next.acked:
			current.end(errReplaced)
			grantAll(next.waiters, grant{filter: next.filter})
			return next, false
		case <-next.ended:
			err := next.err
			if err == nil {
				err = errEndedByServer
			}
			grantAll(next.waiters, grant{err: fmt.Errorf("subscriptions/listen: %w", err)})
			return current, !current.stands() && mayPass(err)
		case <-c.subs.restart:
			if reflect.DeepEqual(c.filter(), wanted) {
				next.waiters = append(next.waiters, c.subs.takeWaiters()...)
				goto wait
			}
			next.end(errReplaced) // what is wanted has changed meanwhile
			c.subs.mu.Lock()
			c.subs.waiters = append(next.waiters, c.subs.waiters...)
			c.subs.mu.Unlock()
		case <-c.context.Done():
			return current, false
		}
	}
}

// end cancels the request and waits until the server has been told.
func (r *listenRequest) end(why error) {
	if r != nil {
		r.cancel(why)
		<-r.ended
	}
}

func (r *listenRequest) stands() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// mayPass reports whether a failure is worth another try: a server that refuses
// the request for what it is will do so again.
func mayPass(err error) bool {
	var e *jsonrpc.Error
	return !errors.As(err, &e) || e.Code == jsonrpc.CodeInternal
}

var errReplaced = errors.New("replaced by a new subscription")

func (c *Client) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.context.Done():
		return false
	}
}

// listenOnce sends one listen request, for those who wait for it. Nil means
// that there is no connection.
func (c *Client) listenOnce(wanted Filter, running *sync.WaitGroup) *listenRequest {
	a := c.current()
	if !a.alive() || !a.revision.Rules.Listen {
		return nil
	}
	ctx, cancel := context.WithCancelCause(c.context)
	r := &listenRequest{acked: make(chan struct{}), ended: make(chan struct{}), cancel: cancel, asked: wanted}
	id := a.link.NextID()
	c.subs.mu.Lock()
	c.subs.open[id] = r
	r.waiters, c.subs.waiters = c.subs.waiters, nil
	c.subs.mu.Unlock()
	params := append(append([]byte(`{"notifications":`), encode(wanted)...), '}')
	m := jsonrpc.NewRequest(id, "subscriptions/listen", addMeta(params, a.meta))
	running.Go(func() {
		defer cancel(nil)
		answer, err := a.link.Call(ctx, m, nil)
		if err == nil && answer.Err() != nil {
			err = answer.Err()
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		c.subs.mu.Lock()
		delete(c.subs.open, id)
		c.subs.mu.Unlock()
		r.err = err
		close(r.ended)
	})
	return r
}

func (s *subscriptions) takeWaiters() []chan grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waiters
	s.waiters = nil
	return w
}

func grantAll(waiters []chan grant, g grant) {
	for _, w := range waiters {
		w <- g // has room for one
	}
}

// acknowledged notes that a listening stands.
func (s *subscriptions) acknowledged(m *jsonrpc.Message) {
	id, ok := jsonrpc.ParseID(rawjson.Get(m.Params(), "_meta", revision.MetaSubscriptionID))
	if !ok {
		return
	}
	s.mu.Lock()
	r := s.open[id]
	s.mu.Unlock()
	if r == nil {
		return
	}
	r.once.Do(func() {
		_ = decode(rawjson.Get(m.Params(), "notifications"), &r.filter) // a malformed grant grants nothing
		close(r.acked)
	})
}

// cancelled notes that the server ends a listening on a pipe.
func (s *subscriptions) cancelled(m *jsonrpc.Message) {
	id, ok := jsonrpc.ParseID(rawjson.Get(m.Params(), "requestId"))
	if !ok {
		return
	}
	s.mu.Lock()
	r := s.open[id]
	s.mu.Unlock()
	if r != nil {
		r.cancel(errEndedByServer)
	}
}

var errEndedByServer = errors.New("ended by the server")
