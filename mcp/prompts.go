package mcp

import (
	"context"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"

	"github.com/go-json-experiment/json"
)

// A Prompt describes a prompt to clients.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitzero"`
	Description string           `json:"description,omitzero"`
	Icons       []Icon           `json:"icons,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Meta        JSON             `json:"_meta,omitzero"`
	Extra       JSON             `json:",embed"`
}

// A PromptArgument describes an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
	Extra       JSON   `json:",embed"`

	// Complete suggests values; nil means that there are none to suggest.
	Complete Completer `json:"-"`
}

// A PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role    string  `json:"role"` // "user" or "assistant"
	Content Content `json:"content"`
	Extra   JSON    `json:",embed"`
}

// A PromptResult is a prompt filled in.
type PromptResult struct {
	Description string          `json:"description,omitzero"`
	Messages    []PromptMessage `json:"messages"`
	ResultType  string          `json:"resultType,omitzero"` // set by the library
	Meta        JSON            `json:"_meta,omitzero"`
	Extra       JSON            `json:",embed"`
}

// UserMessage returns a message of the user with the text.
func UserMessage(text string) PromptMessage { return PromptMessage{Role: "user", Content: Text(text)} }

// A PromptRequest is one use of a prompt.
type PromptRequest struct {
	Request
	Name      string
	Arguments map[string]string // required ones are there
}

// A PromptHandler fills in a prompt. An error fails the request.
type PromptHandler func(ctx context.Context, r *PromptRequest) (*PromptResult, error)

type prompt struct {
	Prompt
	handler PromptHandler
}

// AddPrompt adds a prompt, or replaces the one of that name. It panics when the
// name or the handler is missing.
func (s *Server) AddPrompt(p *Prompt, h PromptHandler) {
	if p.Name == "" || h == nil {
		panic("mcp: AddPrompt: a prompt has a name and a handler")
	}
	c := &prompt{Prompt: *p, handler: h}
	register(s, s.prompts, c.Name, c, encode(c.Prompt))
}

// RemovePrompt removes a prompt and reports whether it was there.
func (s *Server) RemovePrompt(name string) bool { return unregister(s, s.prompts, name) }

// getPrompt serves prompts/get.
func (s *Server) getPrompt(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	r := &PromptRequest{Request: Request{Exchange: x, server: s}}
	var ok bool
	if r.Name, ok = rawjson.String(rawjson.Get(x.Request.Params(), "name")); !ok {
		return nil, invalidParams("name must be a string")
	}
	p, ok := lookup(s, s.prompts, r.Name)
	if !ok || !s.visible(ctx, x, "prompt", r.Name) {
		if !declared(s, s.prompts) {
			return nil, methodNotFound(x.Request.Method())
		}
		return nil, invalidParams("unknown prompt: %s", r.Name)
	}
	r.Arguments = map[string]string{}
	if err := decode(rawjson.Get(x.Request.Params(), "arguments"), &r.Arguments); err != nil {
		return nil, invalidParams("arguments must be an object of strings")
	}
	for _, a := range p.Arguments {
		if _, given := r.Arguments[a.Name]; a.Required && !given {
			return nil, invalidParams("prompt %s needs the argument %s", r.Name, a.Name)
		}
	}
	if err := r.loadRounds(time.Now()); err != nil {
		return nil, err
	}
	result, err := p.handler(ctx, r)
	if err != nil {
		return r.answerOr(err)
	}
	if result == nil {
		result = &PromptResult{}
	}
	c := *result
	c.ResultType = ""
	raw, err := json.Marshal(&c, deterministic)
	if err != nil {
		return nil, err
	}
	return s.finish(x, raw)
}
