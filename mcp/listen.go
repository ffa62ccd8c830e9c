package mcp

import (
	"context"
	"errors"
	"fmt"
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
	current *listenRequest
	waiters []chan Filter // are told what the next listening is granted
}

type listenRequest struct {
	acked   chan struct{} // closed by the acknowledgement
	once    sync.Once
	filter  Filter // granted
	cancel  context.CancelCauseFunc
	waiters []chan Filter
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

// wakeListener has the listening goroutine open a new request, starting it when
// there is none.
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

// relisten opens a new listening and waits until the server has acknowledged
// it.
func (c *Client) relisten(ctx context.Context) (Filter, error) {
	granted := make(chan Filter, 1)
	c.subs.mu.Lock()
	c.subs.waiters = append(c.subs.waiters, granted)
	c.subs.mu.Unlock()
	c.wakeListener()
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	select {
	case f := <-granted:
		return f, nil
	case <-ctx.Done():
		return Filter{}, context.Cause(ctx)
	case <-c.context.Done():
		return Filter{}, ErrClosed
	}
}

// listenLoop keeps one listen request open. A filter cannot be changed: a new
// request takes over, and the old one is cancelled when the new one stands.
func (c *Client) listenLoop() {
	var running sync.WaitGroup
	defer running.Wait()
	wait := time.Duration(0)
	ended := make(chan error, 16)
	for {
		select {
		case <-c.subs.restart:
		case err := <-ended:
			if errors.Is(err, errReplaced) {
				continue
			}
			c.opts.Logger.Debug("listening ended", "error", err)
			wait = min(max(2*wait, 100*time.Millisecond), 30*time.Second)
			if !c.pause(wait) {
				return
			}
		case <-c.context.Done():
			return
		}
		if c.context.Err() != nil {
			return
		}
		c.subs.mu.Lock()
		old := c.subs.current
		c.subs.mu.Unlock()
		if c.filter().empty() {
			if old != nil {
				old.cancel(errReplaced)
			}
			c.subs.grant(c.subs.takeWaiters(), Filter{})
			continue
		}
		r, ok := c.listenOnce(&running, ended)
		if !ok {
			ended <- errors.New("not connected")
			continue
		}
		select {
		case <-r.acked:
			wait = 0
			c.subs.grant(r.waiters, r.filter)
			if old != nil {
				old.cancel(errReplaced)
			}
		case err := <-ended:
			c.subs.mu.Lock()
			c.subs.waiters = append(c.subs.waiters, r.waiters...)
			c.subs.mu.Unlock()
			ended <- err
		case <-c.context.Done():
			return
		}
	}
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

// listenOnce sends one listen request; its end goes to ended.
func (c *Client) listenOnce(running *sync.WaitGroup, ended chan<- error) (*listenRequest, bool) {
	a := c.current()
	if !a.alive() || !a.revision.Rules.Listen {
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(c.context)
	r := &listenRequest{acked: make(chan struct{}), cancel: cancel}
	id := a.link.NextID()
	c.subs.mu.Lock()
	c.subs.open[id] = r
	c.subs.current = r
	r.waiters, c.subs.waiters = c.subs.waiters, nil
	c.subs.mu.Unlock()
	params := append(append([]byte(`{"notifications":`), encode(c.filter())...), '}')
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
		ended <- err
	})
	return r, true
}

func (s *subscriptions) takeWaiters() []chan Filter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waiters
	s.waiters = nil
	return w
}

func (*subscriptions) grant(waiters []chan Filter, f Filter) {
	for _, w := range waiters {
		w <- f // has room for one
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
