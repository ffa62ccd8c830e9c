package mcp

import (
	"context"
	"slices"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
)

// A Completer suggests values for an argument: best first. No more than 100 are
// sent.
type Completer func(ctx context.Context, r *CompletionRequest) ([]string, error)

// A CompletionRequest asks for values of one argument.
type CompletionRequest struct {
	Request
	Argument string            // its name
	Value    string            // what has been typed so far
	Given    map[string]string // the arguments already settled
}

// Choices returns a Completer that suggests those of the values that start with
// what has been typed.
func Choices(values ...string) Completer {
	return func(_ context.Context, r *CompletionRequest) ([]string, error) {
		var fit []string
		for _, v := range values {
			if len(v) >= len(r.Value) && v[:len(r.Value)] == r.Value {
				fit = append(fit, v)
			}
		}
		return fit, nil
	}
}

// maxCompletions is the most values one answer may hold.
const maxCompletions = 100

// completesLocked reports whether there is anything to complete.
func (s *Server) completesLocked() bool {
	for _, e := range s.prompts.items {
		if slices.ContainsFunc(e.item.Arguments, func(a PromptArgument) bool { return a.Complete != nil }) {
			return true
		}
	}
	return slices.ContainsFunc(s.templates.items, func(e *entry[*template]) bool { return e.item.complete != nil })
}

// complete serves completion/complete.
func (s *Server) complete(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	var p struct {
		Ref struct {
			Type string `json:"type"`
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"ref"`
		Argument struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"argument"`
		Context struct {
			Arguments map[string]string `json:"arguments"`
		} `json:"context"`
	}
	if err := decode(x.Request.Params(), &p); err != nil {
		return nil, invalidParams("completion/complete has a member of the wrong type")
	}
	s.mu.RLock()
	offered := s.completesLocked()
	s.mu.RUnlock()
	if !offered {
		return nil, methodNotFound(x.Request.Method())
	}
	if rawjson.Get(x.Request.Params(), "argument", "name") == nil {
		return nil, invalidParams("argument.name is missing")
	}
	var c Completer
	var err error
	switch p.Ref.Type {
	case "ref/prompt":
		c, err = s.promptCompleter(ctx, x, p.Ref.Name, p.Argument.Name)
	case "ref/resource":
		c, err = s.templateCompleter(ctx, x, p.Ref.URI)
	default:
		err = invalidParams("ref.type must be ref/prompt or ref/resource")
	}
	if err != nil {
		return nil, err
	}
	var values []string
	if c != nil {
		r := &CompletionRequest{Request: Request{Exchange: x, server: s}, Argument: p.Argument.Name, Value: p.Argument.Value, Given: p.Context.Arguments}
		if values, err = c(ctx, r); err != nil {
			return nil, err
		}
	}
	return s.finish(x, encodeCompletion(values))
}

func encodeCompletion(values []string) []byte {
	type completion struct {
		Values  []string `json:"values"`
		Total   int      `json:"total"`
		HasMore bool     `json:"hasMore"`
	}
	c := completion{Values: values, Total: len(values)}
	if c.Values == nil {
		c.Values = []string{}
	}
	if len(values) > maxCompletions {
		c.Values, c.HasMore = values[:maxCompletions], true
	}
	return encode(struct {
		Completion completion `json:"completion"`
	}{c})
}

func (s *Server) promptCompleter(ctx context.Context, x *Exchange, name, argument string) (Completer, error) {
	p, ok := lookup(s, s.prompts, name)
	if !ok || !s.visible(ctx, x, "prompt", name) {
		return nil, invalidParams("unknown prompt: %s", name)
	}
	for _, a := range p.Arguments {
		if a.Name == argument {
			return a.Complete, nil
		}
	}
	return nil, invalidParams("prompt %s has no argument %s", name, argument)
}

// templateCompleter finds the template by its text, or by a URI it matches.
func (s *Server) templateCompleter(ctx context.Context, x *Exchange, uri string) (Completer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, _ := s.matchLocked(uri)
	if e, ok := s.templates.byName[uri]; ok {
		t = e.item
	}
	if t == nil || !s.visible(ctx, x, "template", t.URITemplate) {
		if _, ok := s.resources.byName[uri]; ok {
			return nil, nil
		}
		return nil, invalidParams("unknown resource template: %s", uri)
	}
	return t.complete, nil
}
