package mcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"mcpv/internal/mcpheader"
	"mcpv/internal/rawjson"
	"mcpv/internal/schema"
	"mcpv/jsonrpc"

	"github.com/go-json-experiment/json"
)

// A Tool describes a tool to clients.
type Tool struct {
	Name         string           `json:"name"`
	Title        string           `json:"title,omitzero"`
	Description  string           `json:"description,omitzero"`
	Icons        []Icon           `json:"icons,omitempty"`
	InputSchema  JSON             `json:"inputSchema"`           // an object schema; kept byte for byte
	OutputSchema JSON             `json:"outputSchema,omitzero"` // of structured results
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`
	Execution    *ToolExecution   `json:"execution,omitzero"` // 2025-11-25 only
	Meta         JSON             `json:"_meta,omitzero"`
	Extra        JSON             `json:",embed"` // members this package does not know

	// Task says whether calls run as tasks, on servers that have them. With
	// TaskLate a call of the extension becomes one only when its handler calls
	// Request.Detach: before, it may ask in rounds or return a result at once.
	Task     TaskSupport `json:"-"`
	TaskLate bool        `json:"-"`
}

// ToolAnnotations are hints about a tool's behaviour. From a server that is not
// trusted they prove nothing. Nil means that nothing was said.
type ToolAnnotations struct {
	Title       string `json:"title,omitzero"`
	ReadOnly    *bool  `json:"readOnlyHint,omitzero"`
	Destructive *bool  `json:"destructiveHint,omitzero"`
	Idempotent  *bool  `json:"idempotentHint,omitzero"`
	OpenWorld   *bool  `json:"openWorldHint,omitzero"`
	Extra       JSON   `json:",embed"`
}

// ToolExecution says whether a tool runs as a task of 2025-11-25.
type ToolExecution struct {
	TaskSupport string `json:"taskSupport,omitzero"` // "required", "optional", "forbidden"
	Extra       JSON   `json:",embed"`
}

// A ToolResult is what a tool answers. That a tool failed is a result too, with
// IsError: the model is to see it.
type ToolResult struct {
	Content    []Content `json:"content"`
	Structured JSON      `json:"structuredContent,omitzero"`
	IsError    bool      `json:"isError,omitzero"`
	ResultType string    `json:"resultType,omitzero"` // set by the library
	Meta       JSON      `json:"_meta,omitzero"`
	Extra      JSON      `json:",embed"`
}

// Text returns the text blocks joined by newlines.
func (r *ToolResult) Text() string {
	s, n := "", 0
	for _, c := range r.Content {
		if c.Type == "text" {
			if n++; n > 1 {
				s += "\n"
			}
			s += c.String()
		}
	}
	return s
}

// ErrorResult returns the result of a tool that failed, for the model to read.
func ErrorResult(text string) *ToolResult {
	return &ToolResult{Content: []Content{Text(text)}, IsError: true}
}

// A ToolRequest is one call of a tool.
type ToolRequest struct {
	Request
	Name      string
	Arguments JSON // an object, valid by the input schema and with its defaults
}

// A ToolHandler runs a tool. An error is shown to the model as a failed result,
// except a *jsonrpc.Error, which fails the request.
type ToolHandler func(ctx context.Context, r *ToolRequest) (*ToolResult, error)

type tool struct {
	Tool
	handler  ToolHandler
	input    *schema.Schema
	output   *schema.Schema // nil when results are not checked
	bindings []mcpheader.Binding
	task     TaskSupport
}

// AddTool adds a typed tool, or replaces the one of that name. The input schema
// is inferred from In unless t has one, the output schema from Out; In is
// checked before h runs, Out after. What Out is decides the result:
//
//   - *ToolResult is sent as it is;
//   - string, Content and []Content become content;
//   - anything else becomes structured content, and text for old clients.
//
// Fields are described by their json tag and a jsonschema tag, which is either
// a description or a list of items separated by commas:
//
//	Sort  string `json:"sort" jsonschema:"enum=asc|desc,default=asc"`
//	Limit int    `json:"limit" jsonschema:"minimum=1,maximum=100,default=10,description=how many, at most"`
//
// The items are title, default, enum and examples (values separated by "|", or
// one JSON array), minimum, maximum, exclusiveMinimum, exclusiveMaximum,
// multipleOf, minLength, maxLength, pattern (RE2), format, minItems, maxItems,
// uniqueItems, minProperties, maxProperties, deprecated, x-mcp-header (the N of
// the header Mcp-Param-N that mirrors the argument) and, always last, description.
// A field is required unless it is a pointer, has omitempty or omitzero, or has
// a default. Unknown arguments are refused, a nil slice in Out is an empty
// array, and integers are exact.
//
// AddTool panics when the types, tags or schemas cannot work: that is a bug in
// the caller. [Server.AddTool] returns an error instead, for schemas that come
// from elsewhere.
func AddTool[In, Out any](s *Server, t *Tool, h func(ctx context.Context, r *ToolRequest, in In) (Out, error)) {
	c := *t
	if c.InputSchema == nil {
		c.InputSchema = mustInfer(c.Name, reflect.TypeFor[In](), false)
		if kind := rawjson.Get(c.InputSchema, "type"); kind != nil && string(kind) != `"object"` {
			panic(fmt.Sprintf("mcp: AddTool %s: arguments are an object, and %s is none", c.Name, reflect.TypeFor[In]()))
		}
	}
	structured := isStructured(reflect.TypeFor[Out]())
	if c.OutputSchema == nil && structured {
		c.OutputSchema = mustInfer(c.Name, reflect.TypeFor[Out](), true)
	}
	err := s.AddTool(&c, func(ctx context.Context, r *ToolRequest) (*ToolResult, error) {
		var in In
		if err := decode(r.Arguments, &in); err != nil {
			return nil, fmt.Errorf("invalid arguments: %w", err)
		}
		out, err := h(ctx, r, in)
		if err != nil {
			return nil, err
		}
		return resultOf(out, structured)
	})
	if err != nil {
		panic("mcp: AddTool " + c.Name + ": " + err.Error())
	}
}

func mustInfer(name string, t reflect.Type, open bool) JSON {
	raw, err := schema.For(t, &schema.Options{Open: open})
	if err != nil {
		panic("mcp: AddTool " + name + ": " + err.Error())
	}
	return raw
}

func isStructured(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[*ToolResult](), reflect.TypeFor[string](), reflect.TypeFor[Content](), reflect.TypeFor[[]Content]():
		return false
	}
	return t.Kind() != reflect.Interface && t != reflect.TypeFor[struct{}]()
}

func resultOf(out any, structured bool) (*ToolResult, error) {
	switch v := out.(type) {
	case *ToolResult:
		if v == nil {
			v = &ToolResult{}
		}
		return v, nil
	case string:
		return &ToolResult{Content: []Content{Text(v)}}, nil
	case Content:
		return &ToolResult{Content: []Content{v}}, nil
	case []Content:
		return &ToolResult{Content: v}, nil
	case nil, struct{}:
		return &ToolResult{}, nil
	}
	raw, err := json.Marshal(out, deterministic)
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the tool's result cannot be encoded: %v", err)
	}
	r := &ToolResult{Content: []Content{Text(string(raw))}}
	if structured {
		r.Structured = raw
	}
	return r, nil
}

// AddTool adds a tool with a schema of its own, kept byte for byte, or replaces
// the one of that name. A missing input schema means any object.
func (s *Server) AddTool(t *Tool, h ToolHandler) error {
	c := &tool{Tool: *t, handler: h}
	if c.Name == "" || len(c.Name) > 256 {
		return errors.New("a tool's name has 1 to 256 bytes")
	}
	if h == nil {
		return errors.New("a tool has a handler")
	}
	if c.InputSchema == nil {
		c.InputSchema = JSON(`{"type":"object"}`)
	}
	if err := c.compile(); err != nil {
		return err
	}
	if s.tasks != nil {
		c.task = s.tasks.supportOf(&c.Tool)
	}
	for i := len(s.opts.ToolMiddleware) - 1; i >= 0; i-- {
		c.handler = s.opts.ToolMiddleware[i](c.handler)
	}
	described := c.Tool
	described.Execution = nil // see tool.adapt
	raw, err := json.Marshal(described, deterministic)
	if err != nil {
		return err
	}
	register(s, s.tools, c.Name, c, raw)
	return nil
}

func (t *tool) compile() (err error) {
	if err = rawjson.Check(t.InputSchema); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	if rawjson.KindOf(t.InputSchema) != '{' {
		return errors.New("input schema: it has to be an object")
	}
	if t.input, err = schema.Compile(t.InputSchema, schema.Limits{}); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	if t.bindings, err = mcpheader.Bindings(t.InputSchema); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	for i := range t.bindings {
		t.bindings[i].Header = canonicalHeader(mcpheader.Param(t.bindings[i].Header))
	}
	if t.OutputSchema != nil {
		if t.output, err = schema.Compile(t.OutputSchema, schema.Limits{}); err != nil {
			return fmt.Errorf("output schema: %w", err)
		}
	}
	return nil
}

// RemoveTool removes a tool and reports whether it was there.
func (s *Server) RemoveTool(name string) bool { return unregister(s, s.tools, name) }

// callTool serves tools/call.
func (s *Server) callTool(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	var rawName, args, task []byte
	for c := rawjson.Object(x.Request.Params()); c.Next(); {
		switch {
		case c.KeyIs("name"):
			rawName = c.Value()
		case c.KeyIs("arguments"):
			args = c.Value()
		case c.KeyIs("task"):
			task = c.Value()
		}
	}
	name, ok := rawjson.String(rawName)
	if !ok {
		return nil, invalidParams("name must be a string")
	}
	t, ok := lookup(s, s.tools, name)
	if !ok || !s.visible(ctx, x, "tool", name) {
		if !declared(s, s.tools) {
			return nil, methodNotFound(x.Request.Method())
		}
		return nil, invalidParams("unknown tool: %s", name)
	}
	if args == nil || string(args) == "null" {
		args = emptyObject
	}
	if rawjson.KindOf(args) != '{' {
		return nil, invalidParams("arguments must be an object")
	}
	if err := t.checkHeaders(x, args); err != nil {
		return nil, err
	}
	if err := t.input.Validate(args); err != nil {
		return s.finish(x, appendToolResult(nil, ErrorResult("invalid arguments for "+name+": "+err.Error())))
	}
	r := &ToolRequest{Request: Request{Exchange: x, server: s}, Name: name, Arguments: t.input.ApplyDefaults(args)}
	if err := r.loadRounds(time.Now()); err != nil {
		return nil, err
	}
	if s.tasks != nil {
		if m, err, taken := s.tasks.run(ctx, t, r, task); taken {
			return m, err
		}
	}
	result, err := t.call(ctx, r)
	if err != nil {
		return r.answerOr(err)
	}
	return s.finish(x, appendToolResult(nil, result))
}

// call runs the handler and checks what it returns. The error is nil, open
// questions, or one that fails the request: other errors become results.
func (t *tool) call(ctx context.Context, r *ToolRequest) (*ToolResult, error) {
	result, err := t.handler(ctx, r)
	if err != nil {
		return failedTool(ctx, err)
	}
	if result == nil {
		result = &ToolResult{}
	}
	if t.output == nil || result.IsError {
		return result, nil
	}
	if result.Structured == nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "tool %s has an output schema but answered without structured content", t.Name)
	}
	if err := t.output.Validate(result.Structured); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "tool %s answered against its output schema: %v", t.Name, err)
	}
	return result, nil
}

// failedTool tells an error that fails the request from one that the model is
// to see.
func failedTool(ctx context.Context, err error) (*ToolResult, error) {
	var fatal *jsonrpc.Error
	switch {
	case errors.Is(err, ErrInputRequired), errors.As(err, &fatal):
		return nil, err
	case ctx.Err() != nil:
		return nil, jsonrpc.NewError(jsonrpc.CodeInternal, context.Cause(ctx).Error())
	}
	return ErrorResult(err.Error()), nil
}

// checkHeaders holds the Mcp-Param headers of a modern HTTP request against the
// arguments they mirror.
func (t *tool) checkHeaders(x *Exchange, args []byte) error {
	if x.Header == nil || !x.Session.Revision.Rules.StandardHeaders {
		return nil
	}
	for _, b := range t.bindings {
		value := rawjson.Get(args, b.Path...)
		got := x.Header[b.Header]
		absent := value == nil || string(value) == "null"
		switch {
		case len(got) == 0 && absent:
		case len(got) != 1 || absent || !mcpheader.Compare(got[0], value):
			return jsonrpc.Errorf(CodeHeaderMismatch, "header %s does not agree with the arguments", b.Header)
		}
	}
	return nil
}

// appendToolResult writes a result in the shape of the newest revision.
func appendToolResult(b []byte, r *ToolResult) []byte {
	n := 64 + len(r.Structured) + len(r.Meta) + len(r.Extra)
	for i := range r.Content {
		n += 32 + len(r.Content[i].String())
	}
	b = append(slices.Grow(b, n), `{"content":[`...)
	for i := range r.Content {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendContent(b, &r.Content[i])
	}
	b = append(b, ']')
	if r.Structured != nil {
		b = append(append(b, `,"structuredContent":`...), r.Structured...)
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	if r.Meta != nil {
		b = append(append(b, `,"_meta":`...), r.Meta...)
	}
	for c := rawjson.Object(r.Extra); c.Next(); {
		b = append(append(append(append(b, ','), quote(c.Key())...), ':'), c.Value()...)
	}
	return append(b, '}')
}

func appendContent(b []byte, c *Content) []byte {
	if c.Type != "text" || c.Text == nil || c.Annotations != nil || c.Meta != nil || c.Extra != nil {
		return append(b, encode(c)...)
	}
	b = append(b, `{"type":"text","text":`...)
	return append(rawjson.AppendString(b, *c.Text), '}')
}

// canonicalHeader spells a header name as HTTP transports key it.
func canonicalHeader(name string) string {
	b := []byte(name)
	upper := true
	for i, c := range b {
		switch {
		case upper && 'a' <= c && c <= 'z':
			b[i] = c - 'a' + 'A'
		case !upper && 'A' <= c && c <= 'Z':
			b[i] = c - 'A' + 'a'
		}
		upper = c == '-'
	}
	return string(b)
}
