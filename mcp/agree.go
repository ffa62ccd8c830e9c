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

// agree finds out which revision to speak over a link. The newest era is tried
// first unless the options say otherwise; what a server that does not know it
// answers is never held against it.
func (c *Client) agree(ctx context.Context, link Link) (*agreed, error) {
	if pin := c.opts.Revision; pin != nil {
		return c.agreeOn(ctx, link, pin, true)
	}
	order := []*revision.Revision{revision.Latest(), revision.LatestLegacy(), revision.Classic}
	if p := c.opts.Prefer; p != nil {
		order = append([]*revision.Revision{p}, order...)
	}
	var first error
	for _, r := range order {
		a, err := c.agreeOn(ctx, link, r, false)
		if err == nil {
			return a, nil
		}
		if first == nil || !errors.Is(err, errTryNext) {
			first = err
		}
		if !errors.Is(err, errTryNext) {
			break
		}
		c.opts.Logger.Debug("revision not spoken", "revision", r.Name, "error", err)
		if !(&agreed{link: link}).alive() {
			break
		}
	}
	return nil, first
}

// errTryNext marks failures that only say that a revision is not spoken.
var errTryNext = errors.New("not spoken here")

func (c *Client) agreeOn(ctx context.Context, link Link, r *revision.Revision, pinned bool) (*agreed, error) {
	switch {
	case r.Rules.Discover:
		return c.agreeModern(ctx, link, r, pinned)
	case r.Rules.Handshake && r != revision.Classic:
		return c.agreeLegacy(ctx, link, r, pinned)
	}
	return c.agreeClassic(ctx, link)
}

// agreeModern sends server/discover. Over HTTP every request is answered; on a
// pipe an old server may ignore it, or one that is still starting be silent.
func (c *Client) agreeModern(ctx context.Context, link Link, r *revision.Revision, pinned bool) (*agreed, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	if pinned || overHTTP(link) {
		return c.discover(ctx, link, r, pinned)
	}
	type outcome struct {
		a   *agreed
		err error
	}
	modern, legacy := make(chan outcome, 1), make(chan outcome, 1)
	ctx, decided := context.WithCancelCause(ctx)
	var both sync.WaitGroup
	defer both.Wait()
	defer decided(errDecided)
	both.Go(func() {
		a, err := c.discover(ctx, link, r, false)
		modern <- outcome{a, err}
	})
	timer := time.NewTimer(c.opts.ProbeTimeout)
	defer timer.Stop()
	select {
	case o := <-modern:
		return o.a, o.err
	case <-timer.C:
	}
	// Ask in the old way too. A server that accepts initialize may speak nothing
	// else from then on, so its late answer to server/discover counts only when
	// it refuses initialize or is silent about it.
	both.Go(func() {
		a, err := c.agreeLegacy(ctx, link, revision.LatestLegacy(), false)
		legacy <- outcome{a, err}
	})
	var late outcome
	select {
	case o := <-legacy:
		if o.err != nil {
			o = <-modern
		}
		return o.a, o.err
	case late = <-modern:
	}
	if late.err != nil {
		o := <-legacy
		return o.a, o.err
	}
	timer.Reset(max(c.opts.ProbeTimeout, time.Second)) // it has started: it will not be long
	select {
	case o := <-legacy:
		if o.err == nil {
			return o.a, nil
		}
	case <-timer.C:
	}
	return late.a, nil
}

var errDecided = errors.New("the server has answered in the other era")

// overHTTP reports whether a link is one where nothing goes unanswered.
func overHTTP(l Link) bool {
	h, ok := l.(HTTPLink)
	return ok && h.MirrorsHeaders()
}

// discover sends server/discover and settles on what it answers.
func (c *Client) discover(ctx context.Context, link Link, r *revision.Revision, pinned bool) (*agreed, error) {
	a := &agreed{link: link, revision: r, meta: c.modernMeta(r)}
	link.Agree(r)
	ask := func() (*jsonrpc.Message, error) {
		return link.Call(ctx, jsonrpc.NewRequest(link.NextID(), "server/discover", addMeta(nil, a.meta)), nil)
	}
	answer, err := ask()
	if err == nil && answer.Err() != nil {
		if other := offered(answer.Err()); other != nil && (!pinned || other == r) {
			a.revision, a.meta = other, c.modernMeta(other)
			link.Agree(other)
			answer, err = ask()
		}
	}
	if err == nil && answer.Err() == nil {
		return c.discovered(a, answer.Result(), pinned)
	}
	if err == nil {
		err = answer.Err()
	}
	return nil, c.notModern(ctx, link, r, pinned, err)
}

// offered returns the modern revision that a -32022 offers and we speak.
func offered(e *jsonrpc.Error) *revision.Revision {
	if e.Code != CodeUnsupportedRevision {
		return nil
	}
	for v := rawjson.Array(rawjson.Get(e.Data, "supported")); v.Next(); {
		name, _ := rawjson.String(v.Value())
		if r, ok := revision.Lookup(name); ok && r.Era == revision.Modern {
			return r
		}
	}
	return nil
}

// notModern decides what a failed server/discover means.
func (c *Client) notModern(ctx context.Context, link Link, r *revision.Revision, pinned bool, err error) error {
	var e *jsonrpc.Error
	var h *HTTPError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &e) && e.Code == CodeUnsupportedRevision:
		return &incompatibleError{fmt.Sprintf("the server speaks %s", rawjson.Get(e.Data, "supported")), err, pinned}
	case errors.As(err, &e) && (e.Code == CodeHeaderMismatch || e.Code == CodeMissingCapability):
		return err
	case errors.As(err, &h) && (h.Status >= 500 || h.Status == 401 || h.Status == 403):
		return err // proves nothing about the revision
	case errors.As(err, &h), errors.As(err, &e), errors.Is(err, ErrSessionGone):
		return &incompatibleError{r.Name + " is not spoken", err, pinned}
	}
	return err
}

// An incompatibleError is an ErrIncompatible with its reason. Unless it is
// final, another revision is worth a try.
type incompatibleError struct {
	reason string
	cause  error // or nil
	final  bool
}

func (e *incompatibleError) Error() string {
	s := ErrIncompatible.Error() + ": " + e.reason
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

func (e *incompatibleError) Is(target error) bool {
	return target == ErrIncompatible || target == errTryNext && !e.final
}

func (e *incompatibleError) Unwrap() error { return e.cause }

// discovered settles on the newest revision in common.
func (c *Client) discovered(a *agreed, result []byte, pinned bool) (*agreed, error) {
	best := (*revision.Revision)(nil)
	for v := rawjson.Array(rawjson.Get(result, "supportedVersions")); v.Next(); {
		name, _ := rawjson.String(v.Value())
		r, ok := revision.Lookup(name)
		if ok && r.Era == revision.Modern && (r == a.revision || best == nil && !pinned) {
			best = r
		}
	}
	if best == nil {
		return nil, &incompatibleError{fmt.Sprintf("the server speaks %s", rawjson.Get(result, "supportedVersions")), nil, pinned}
	}
	a.revision, a.meta = best, c.modernMeta(best)
	a.link.Agree(best)
	a.server = serverInfo(best, rawjson.Get(result, "capabilities"), rawjson.Get(result, "_meta", revision.MetaServerInfo), rawjson.Get(result, "instructions"))
	return a, nil
}

func serverInfo(r *revision.Revision, capabilities, info, instructions []byte) ServerInfo {
	s := ServerInfo{Revision: r, Capabilities: capabilities}
	_ = decode(info, &s.Implementation) // malformed identity is for display only
	s.Instructions, _ = rawjson.String(instructions)
	if s.Capabilities == nil {
		s.Capabilities = emptyObject
	}
	return s
}

// agreeLegacy sends initialize and notifications/initialized.
func (c *Client) agreeLegacy(ctx context.Context, link Link, r *revision.Revision, pinned bool) (*agreed, error) {
	shape := r
	if !pinned { // the server may answer with a newer revision than was asked for
		shape = revision.LatestLegacy()
	}
	capabilities := revision.ClientCapabilities(c.capabilities(), revision.Latest(), shape)
	info := revision.Frame{Kind: revision.Request, Method: "initialize"}
	b := append([]byte(`{"protocolVersion":`), quote(r.Name)...)
	b = append(append(b, `,"capabilities":`...), capabilities...)
	b = append(append(b, `,"clientInfo":`...), encode(c.opts.Info)...)
	info.Body = append(b, '}')
	if err := revision.Translate(&info, revision.LatestLegacy(), r); err != nil {
		return nil, err
	}
	info.Body = rawjson.Set(info.Body, capabilities, "capabilities")
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	answer, err := link.Call(ctx, jsonrpc.NewRequest(link.NextID(), "initialize", info.Body), nil)
	if err == nil && answer.Err() != nil {
		err = answer.Err()
	}
	if err != nil {
		return nil, notSpoken("initialize", err, pinned)
	}
	return c.initialized(ctx, link, r, answer.Result(), pinned)
}

// notSpoken says of a failed handshake whether another one is worth a try: the
// server does not know the method, or says which revisions it wants instead.
func notSpoken(method string, err error, pinned bool) error {
	var e *jsonrpc.Error
	var h *HTTPError
	if errors.As(err, &e) && (e.Code == jsonrpc.CodeMethodNotFound || e.Code == CodeUnsupportedRevision || rawjson.Get(e.Data, "supported") != nil) ||
		errors.As(err, &h) && h.Status >= 400 && h.Status < 500 && h.Status != 401 && h.Status != 403 {
		return &incompatibleError{method + " is not spoken", err, pinned}
	}
	return fmt.Errorf("%s: %w", method, err)
}

func (c *Client) initialized(ctx context.Context, link Link, asked *revision.Revision, result []byte, pinned bool) (*agreed, error) {
	name, _ := rawjson.String(rawjson.Get(result, "protocolVersion"))
	got, ok := revision.Lookup(name)
	if !ok || !got.Rules.Handshake || got == revision.Classic || pinned && got != asked {
		return nil, fmt.Errorf("%w: asked for %s, the server answered %q", ErrIncompatible, asked, name)
	}
	link.Agree(got)
	if err := link.Send(ctx, jsonrpc.NewNotification("notifications/initialized", nil)); err != nil {
		return nil, fmt.Errorf("notifications/initialized: %w", err)
	}
	return &agreed{link: link, revision: got,
		server: serverInfo(got, rawjson.Get(result, "capabilities"), rawjson.Get(result, "serverInfo"), rawjson.Get(result, "instructions"))}, nil
}

// agreeClassic sends mcp/initialize.
func (c *Client) agreeClassic(ctx context.Context, link Link) (*agreed, error) {
	r := revision.Classic
	link.Agree(r)
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	answer, err := link.Call(ctx, jsonrpc.NewRequest(link.NextID(), "mcp/initialize", encode(struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}{c.opts.Info.Name, c.opts.Info.Version})), nil)
	if err == nil && answer.Err() != nil {
		err = answer.Err()
	}
	if err != nil {
		return nil, notSpoken("mcp/initialize", err, c.opts.Revision != nil)
	}
	result := answer.Result()
	return &agreed{link: link, revision: r, server: serverInfo(r, rawjson.Get(result, "capabilities"), result, nil)}, nil
}

// bounded gives a context the timeout of the options.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.opts.Timeout < 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.opts.Timeout, ErrTimeout)
}

// ErrTimeout is the cause of a request that took longer than the options allow.
var ErrTimeout = fmt.Errorf("request timed out: %w", context.DeadlineExceeded)

// capabilities are what the client declares, in the shape of the newest
// revision.
func (c *Client) capabilities() []byte {
	type empty struct{}
	var v struct {
		Elicitation *struct {
			Form *empty `json:"form,omitzero"`
			URL  *empty `json:"url,omitzero"`
		} `json:"elicitation,omitzero"`
		Sampling *struct {
			Tools *empty `json:"tools,omitzero"`
		} `json:"sampling,omitzero"`
		Roots *struct {
			ListChanged bool `json:"listChanged,omitzero"`
		} `json:"roots,omitzero"`
		Experimental map[string]JSON `json:"experimental,omitempty"`
		Extensions   map[string]JSON `json:"extensions,omitempty"`
	}
	o := &c.opts
	if o.Elicit != nil || o.ElicitURL != nil {
		v.Elicitation = &struct {
			Form *empty `json:"form,omitzero"`
			URL  *empty `json:"url,omitzero"`
		}{}
		if o.Elicit != nil {
			v.Elicitation.Form = &empty{}
		}
		if o.ElicitURL != nil {
			v.Elicitation.URL = &empty{}
		}
	}
	if o.Sample != nil {
		v.Sampling = &struct {
			Tools *empty `json:"tools,omitzero"`
		}{}
		if o.SampleTools {
			v.Sampling.Tools = &empty{}
		}
	}
	if o.Roots != nil {
		v.Roots = &struct {
			ListChanged bool `json:"listChanged,omitzero"`
		}{}
	}
	v.Experimental = o.Experimental
	v.Extensions = map[string]JSON{}
	for id, settings := range o.Extensions {
		v.Extensions[id] = settings
	}
	if o.Tasks {
		v.Extensions[revision.TasksExtensionID] = emptyObject
	}
	return encode(v)
}

// modernMeta returns the members that every modern request has in its _meta,
// without braces.
func (c *Client) modernMeta(r *revision.Revision) []byte {
	b := append([]byte(`"`+revision.MetaProtocolVersion+`":`), quote(r.Name)...)
	b = append(append(b, `,"`+revision.MetaClientInfo+`":`...), encode(c.opts.Info)...)
	b = append(append(b, `,"`+revision.MetaClientCapabilities+`":`...), c.capabilities()...)
	return b
}

// levelMeta returns the member that asks for log messages with a modern
// request; nil when none are wanted.
func (c *Client) levelMeta() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.level == nil {
		return nil
	}
	return append([]byte(`"`+revision.MetaLogLevel+`":`), quote(c.level.String())...)
}

// addMeta returns params with members added to their _meta; members there
// already stay.
func addMeta(params, members []byte) []byte {
	if len(members) == 0 {
		return params
	}
	if rawjson.Get(params, "_meta") == nil {
		b := make([]byte, 0, len(params)+len(members)+16)
		if len(params) > 2 && len(rawjson.Trim(params[1:len(params)-1])) > 0 {
			b = append(append(b, params[:len(params)-1]...), ',')
		} else {
			b = append(b, '{')
		}
		return append(append(append(b, `"_meta":{`...), members...), "}}"...)
	}
	object := append(append([]byte{'{'}, members...), '}')
	for c := rawjson.Object(object); c.Next(); {
		params = rawjson.Set(params, c.Value(), "_meta", c.Key())
	}
	return params
}
