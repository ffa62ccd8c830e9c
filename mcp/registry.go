package mcp

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A registry holds the features of one kind in the order they were added. The
// server's lock guards it, but for the encodings, which have their own.
type registry[T any] struct {
	method   string // of the list
	member   string // of the list's result
	declared bool   // there has been one: the capability is advertised
	items    []*entry[T]
	byName   map[string]*entry[T]
	last     int // sequence number of the newest entry

	encMu sync.Mutex // guards pages; taken after the server's lock
	pages map[pageKey][]byte
}

type entry[T any] struct {
	seq  int
	name string
	item T
	raw  []byte // the feature as JSON, in the shape of the newest revision

	encMu sync.Mutex
	enc   map[*revision.Revision][]byte
}

type pageKey struct {
	r     *revision.Revision
	after int
	ui    bool
}

func newRegistry[T any](method, member string) *registry[T] {
	return &registry[T]{method: method, member: member, byName: map[string]*entry[T]{}, pages: map[pageKey][]byte{}}
}

// add puts a feature in, replacing one of the same name in its place.
func (r *registry[T]) add(name string, item T, raw []byte) {
	r.declared = true
	r.forget()
	if e, ok := r.byName[name]; ok {
		n := &entry[T]{seq: e.seq, name: name, item: item, raw: raw}
		r.items[slices.Index(r.items, e)] = n
		r.byName[name] = n
		return
	}
	r.last++
	e := &entry[T]{seq: r.last, name: name, item: item, raw: raw}
	r.items = append(r.items, e)
	r.byName[name] = e
}

func (r *registry[T]) remove(name string) bool {
	e, ok := r.byName[name]
	if ok {
		r.forget()
		delete(r.byName, name)
		i := slices.Index(r.items, e)
		r.items = slices.Delete(slices.Clone(r.items), i, i+1)
	}
	return ok
}

func (r *registry[T]) forget() {
	r.encMu.Lock()
	clear(r.pages)
	r.encMu.Unlock()
}

// register puts a feature into a registry of the server and tells who listens.
func register[T any](s *Server, r *registry[T], name string, item T, raw []byte) {
	s.mu.Lock()
	r.add(name, item, raw)
	s.mu.Unlock()
	s.announce(listChanged[r.method])
}

// unregister takes a feature out and reports whether it was there.
func unregister[T any](s *Server, r *registry[T], name string) bool {
	s.mu.Lock()
	ok := r.remove(name)
	s.mu.Unlock()
	if ok {
		s.announce(listChanged[r.method])
	}
	return ok
}

// lookup finds a feature by name.
func lookup[T any](s *Server, r *registry[T], name string) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := r.byName[name]
	if !ok {
		var none T
		return none, false
	}
	return e.item, true
}

// declared reports whether the server has ever had a feature of the kind.
func declared[T any](s *Server, r *registry[T]) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return r.declared
}

// list answers a list request with one page.
func list[T any](ctx context.Context, s *Server, x *Exchange, r *registry[T], kind string) (*jsonrpc.Message, error) {
	after := 0
	if cursor := rawjson.Get(x.Request.Params(), "cursor"); cursor != nil {
		var ok bool
		if after, ok = parseCursor(cursor); !ok {
			return nil, invalidParams("cursor is not one of this server's")
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !r.declared && !s.declaredLocked(r.method) {
		return nil, methodNotFound(x.Request.Method())
	}
	if s.opts.Visible != nil {
		body, err := r.page(s, x, after, func(name string) bool { return s.visible(ctx, x, kind, name) })
		return jsonrpc.NewResult(x.Request.ID(), body), err
	}
	key := pageKey{x.Session.Revision, after, x.Session.Can("extensions", revision.UIExtensionID)}
	r.encMu.Lock()
	body := r.pages[key]
	r.encMu.Unlock()
	if body == nil {
		var err error
		if body, err = r.page(s, x, after, nil); err != nil {
			return nil, err
		}
		r.encMu.Lock()
		if len(r.pages) >= maxPagesKept { // cursors are easily made up
			clear(r.pages)
		}
		r.pages[key] = body
		r.encMu.Unlock()
	}
	return jsonrpc.NewResult(x.Request.ID(), body), nil
}

// maxPagesKept bounds the encoded pages of a list.
const maxPagesKept = 64

// declaredLocked makes resources and templates one capability.
func (s *Server) declaredLocked(method string) bool {
	switch method {
	case "resources/list", "resources/templates/list":
		return s.resources.declared || s.templates.declared || s.skills != nil
	}
	return false
}

// page builds a page in the shape of the session's revision.
func (r *registry[T]) page(s *Server, x *Exchange, after int, visible func(string) bool) ([]byte, error) {
	b := append(append([]byte(`{"`), r.member...), `":[`...)
	n, last, more := 0, 0, false
	for _, e := range r.items {
		if e.seq <= after || visible != nil && !visible(e.name) {
			continue
		}
		if n == s.opts.PageSize {
			more = true
			break
		}
		raw, err := e.in(r, x.Session)
		if err != nil {
			return nil, err
		}
		if raw == nil {
			continue
		}
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, raw...)
		n, last = n+1, e.seq
	}
	b = append(b, ']')
	if more {
		b = append(append(b, `,"nextCursor":`...), quote(formatCursor(last))...)
	}
	if x.Session.Revision.Rules.CacheHints {
		b = append(b, s.cacheHints()...)
	}
	b = append(b, '}')
	if x.Session.Revision.Rules.ResultType {
		b = s.stamp(b, "complete")
	}
	return b, nil
}

// in returns the feature in the shape of the session's revision, nil when that
// revision has no way to say it.
func (e *entry[T]) in(r *registry[T], s *Session) ([]byte, error) {
	if s.Revision == revision.Latest() {
		return e.raw, nil
	}
	e.encMu.Lock()
	defer e.encMu.Unlock()
	if raw, ok := e.enc[s.Revision]; ok && !s.Can("extensions", revision.UIExtensionID) {
		return raw, nil
	}
	f := revision.Frame{Kind: revision.Result, Method: r.method, KeepStructured: s.Can("extensions", revision.UIExtensionID)}
	f.Body = append(append(append([]byte(`{"`+r.member+`":[`), e.raw...), "]"...), '}')
	if err := revision.Translate(&f, revision.Latest(), s.Revision); err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	var raw []byte
	for c := rawjson.Array(rawjson.Get(f.Body, r.member)); c.Next(); {
		raw = c.Value()
	}
	if a, ok := any(e.item).(interface {
		adapt(r *revision.Revision, raw []byte) []byte
	}); ok {
		raw = a.adapt(s.Revision, raw)
	}
	if !f.KeepStructured {
		if e.enc == nil {
			e.enc = map[*revision.Revision][]byte{}
		}
		e.enc[s.Revision] = raw
	}
	return raw, nil
}

// Cursors name the last entry seen, so that pages stay in step when features
// come and go.
func formatCursor(seq int) string {
	return base64.RawURLEncoding.EncodeToString([]byte("after:" + strconv.Itoa(seq)))
}

func parseCursor(raw []byte) (int, bool) {
	s, ok := rawjson.String(raw)
	if !ok {
		return 0, false
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) < len("after:") || string(b[:6]) != "after:" {
		return 0, false
	}
	n, err := strconv.Atoi(string(b[6:]))
	return n, err == nil && n >= 0
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
