package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/internal/uritemplate"
	"mcpv/jsonrpc"
	"mcpv/revision"

	"github.com/go-json-experiment/json"
)

// A Resource describes something to read under a fixed URI.
type Resource struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"`
	Size        *int64       `json:"size,omitzero"` // bytes
	Icons       []Icon       `json:"icons,omitempty"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        JSON         `json:"_meta,omitzero"`
	Extra       JSON         `json:",embed"`
}

// A ResourceTemplate describes resources under all URIs of an RFC 6570 template.
type ResourceTemplate struct {
	URITemplate string       `json:"uriTemplate"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"`
	Icons       []Icon       `json:"icons,omitempty"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        JSON         `json:"_meta,omitzero"`
	Extra       JSON         `json:",embed"`
}

// A ResourceRequest is one reading of a resource.
type ResourceRequest struct {
	Request
	URI  string
	Vars map[string]string // what the variables of the template matched; lists are joined by commas
}

// A ResourceHandler reads a resource. Return ResourceNotFound for a URI that a
// template matches but nothing stands behind; contents without a URI get that
// of the request.
type ResourceHandler func(ctx context.Context, r *ResourceRequest) ([]ResourceContents, error)

// ResourceNotFound returns the error that says so in every revision.
func ResourceNotFound(uri string) error {
	return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "resource not found: "+uri).
		WithData(encode(struct {
			URI string `json:"uri"`
		}{uri}))
}

type resource struct {
	Resource
	handler ResourceHandler
}

type template struct {
	ResourceTemplate
	handler  ResourceHandler
	match    *uritemplate.Template
	complete Completer
}

// AddResource adds a resource, or replaces the one of that URI. It panics when
// the URI or the name is missing.
func (s *Server) AddResource(r *Resource, h ResourceHandler) {
	if r.URI == "" || r.Name == "" {
		panic("mcp: AddResource: a resource has a URI and a name")
	}
	c := &resource{Resource: *r, handler: h}
	register(s, s.resources, c.URI, c, encode(c.Resource))
}

// RemoveResource removes a resource and reports whether it was there.
func (s *Server) RemoveResource(uri string) bool { return unregister(s, s.resources, uri) }

// AddTemplate adds a resource template, or replaces the same one. complete may
// be nil; it suggests values for the template's variables. It panics when the
// template cannot be parsed.
func (s *Server) AddTemplate(t *ResourceTemplate, h ResourceHandler, complete Completer) {
	m, err := uritemplate.Parse(t.URITemplate)
	if err != nil || t.Name == "" {
		panic(fmt.Sprintf("mcp: AddTemplate %q: %v", t.URITemplate, errors.Join(err, nameless(t.Name))))
	}
	c := &template{ResourceTemplate: *t, handler: h, match: m, complete: complete}
	register(s, s.templates, c.URITemplate, c, encode(c.ResourceTemplate))
}

func nameless(name string) error {
	if name == "" {
		return errors.New("the name is missing")
	}
	return nil
}

// RemoveTemplate removes a template and reports whether it was there.
func (s *Server) RemoveTemplate(uriTemplate string) bool {
	return unregister(s, s.templates, uriTemplate)
}

// readResource serves resources/read.
func (s *Server) readResource(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	uri, ok := rawjson.String(rawjson.Get(x.Request.Params(), "uri"))
	if !ok {
		return nil, invalidParams("uri must be a string")
	}
	r := &ResourceRequest{Request: Request{Exchange: x, server: s}, URI: uri}
	h := s.findResource(ctx, r)
	if h == nil {
		s.mu.RLock()
		offered := s.declaredLocked("resources/list")
		s.mu.RUnlock()
		if !offered {
			return nil, methodNotFound(x.Request.Method())
		}
		return s.notFound(x, uri)
	}
	if err := r.loadRounds(time.Now()); err != nil {
		return nil, err
	}
	contents, err := h(ctx, r)
	if err != nil {
		if m, err := r.answerOr(err); m != nil {
			return m, nil
		} else if errors.Is(err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "")) {
			return s.fail(x, err)
		} else {
			return nil, err
		}
	}
	if len(contents) == 0 {
		return s.notFound(x, uri)
	}
	contents = slices.Clone(contents)
	for i := range contents {
		if contents[i].URI == "" {
			contents[i].URI = uri
		}
	}
	raw, err := json.Marshal(contents, deterministic)
	if err != nil {
		return nil, err
	}
	b := append(append([]byte(`{"contents":`), raw...), s.cacheHints()...)
	return s.finish(x, append(b, '}'))
}

func (s *Server) notFound(x *Exchange, uri string) (*jsonrpc.Message, error) {
	return s.fail(x, ResourceNotFound(uri))
}

// fail answers with an error in the shape of the session's revision.
func (s *Server) fail(x *Exchange, err error) (*jsonrpc.Message, error) {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return nil, err
	}
	f := revision.Frame{Kind: revision.Error, Method: x.Request.Method(), Body: e.Append(nil)}
	if err := revision.Translate(&f, revision.Latest(), x.Session.Revision); err != nil {
		return nil, err
	}
	return jsonrpc.NewRawErrorResponse(x.Request.ID(), f.Body), nil
}

// findResource returns the handler for the URI, nil when there is none that the
// caller may see. A fixed URI wins over templates, a more specific template
// over a less specific one.
func (s *Server) findResource(ctx context.Context, r *ResourceRequest) ResourceHandler {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e, ok := s.resources.byName[r.URI]; ok {
		if s.visible(ctx, r.Exchange, "resource", r.URI) {
			return e.item.handler
		}
		return nil
	}
	if s.skills != nil {
		if h := s.skills.find(ctx, s, r); h != nil {
			return h
		}
	}
	t, vars := s.matchLocked(r.URI)
	if t == nil || !s.visible(ctx, r.Exchange, "template", t.URITemplate) {
		return nil
	}
	r.Vars = vars
	return t.handler
}

// matchLocked finds the most specific template that matches.
func (s *Server) matchLocked(uri string) (best *template, vars map[string]string) {
	return matchTemplate(s.templates.items, uri)
}

func matchTemplate(items []*entry[*template], uri string) (best *template, vars map[string]string) {
	var matched uritemplate.Values
	for _, e := range items {
		v, ok := e.item.match.Match(uri)
		if ok && (best == nil || e.item.match.Less(best.match)) {
			best, matched = e.item, v
		}
	}
	vars = make(map[string]string, len(matched))
	for name, values := range matched {
		vars[name] = strings.Join(values, ",")
	}
	return best, vars
}

// subscribable returns those of the URIs that can be subscribed to: something
// stands under them. It holds no lock while it compares, for there may be many.
func (s *Server) subscribable(ctx context.Context, session *Session, uris []string) []string {
	if len(uris) == 0 {
		return nil
	}
	s.mu.RLock()
	templates := slices.Clone(s.templates.items)
	s.mu.RUnlock()
	x := &Exchange{Session: session}
	var found []string
	for _, uri := range uris {
		ok := false
		if _, fixed := lookup(s, s.resources, uri); fixed {
			ok = s.visible(ctx, x, "resource", uri)
		} else if t, _ := matchTemplate(templates, uri); t != nil {
			ok = s.visible(ctx, x, "template", t.URITemplate)
		}
		if ok {
			found = append(found, uri)
		}
	}
	return found
}
