package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
)

// A ToolCall says which tool to call, and how.
type ToolCall struct {
	Name      string
	Arguments any // encoded as JSON; raw JSON is taken as it is; nil means none

	Progress func(Progress) // told how far it is, on the goroutine of the call
	Meta     map[string]any // more members for _meta
	Timeout  time.Duration  // 0 means that of the client, below 0 none
}

// CallTool calls a tool. That the tool failed is no error: look at IsError.
// With ClientOptions.Tasks, a tool that answers with a task is waited for.
func (c *Client) CallTool(ctx context.Context, t *ToolCall) (*ToolResult, error) {
	raw, err := c.callTool(ctx, t, nil)
	if err != nil {
		raw, err = c.asTask(ctx, t, err)
	}
	if err != nil {
		return nil, err
	}
	if kind, _ := rawjson.String(rawjson.Get(raw, "resultType")); kind == "task" {
		if raw, err = c.finishTask(ctx, raw, t); err != nil {
			return nil, err
		}
	}
	r, err := decodeToolResult(raw)
	if err != nil {
		return nil, fmt.Errorf("tools/call: %w", err)
	}
	return r, nil
}

// callTool sends tools/call and returns the raw result; task is added to the
// params when given.
func (c *Client) callTool(ctx context.Context, t *ToolCall, task []byte) ([]byte, error) {
	args, err := encodeValue(t.Arguments)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", t.Name, err)
	}
	if args == nil {
		args = emptyObject
	}
	if rawjson.KindOf(args) != '{' {
		return nil, fmt.Errorf("arguments of %s: they have to be an object", t.Name)
	}
	b := make([]byte, 0, len(args)+len(t.Name)+32)
	b = append(rawjson.AppendString(append(b, `{"name":`...), t.Name), `,"arguments":`...)
	b = append(b, args...)
	if task != nil {
		b = append(append(b, `,"task":`...), task...)
	}
	if t.Meta != nil {
		meta, err := encodeValue(t.Meta)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"_meta":`...), meta...)
	}
	k := &call{method: "tools/call", params: append(b, '}'), progress: t.Progress, timeout: t.Timeout}
	if k.header, err = c.mirror.headers(c, t.Name, args); err != nil {
		return nil, err
	}
	raw, err := c.do(ctx, k)
	var e *jsonrpc.Error
	if errors.As(err, &e) && e.Code == CodeHeaderMismatch && c.mirrors() {
		// The schema we know of is not the server's any more, or we know none.
		c.cache.drop("tools/list")
		for _, err := range c.Tools(ctx) {
			if err != nil {
				return nil, err
			}
		}
		if k.header, err = c.mirror.headers(c, t.Name, args); err != nil {
			return nil, err
		}
		return c.do(ctx, k)
	}
	return raw, err
}

// A ToolError is the failure of a tool, as CallTool[Out] returns it.
type ToolError struct{ Result *ToolResult }

func (e *ToolError) Error() string { return "tool failed: " + e.Result.Text() }

// CallTool calls a tool and reads its structured content into Out, or its text
// when Out is a string. A tool that failed is a *ToolError.
func CallTool[Out any](ctx context.Context, c *Client, name string, args any) (Out, error) {
	var out Out
	r, err := c.CallTool(ctx, &ToolCall{Name: name, Arguments: args})
	if err != nil {
		return out, err
	}
	if r.IsError {
		return out, &ToolError{r}
	}
	if s, ok := any(&out).(*string); ok && r.Structured == nil {
		*s = r.Text()
		return out, nil
	}
	raw := []byte(r.Structured)
	if raw == nil {
		raw = []byte(r.Text())
		if err := rawjson.Check(raw); err != nil {
			return out, fmt.Errorf("tool %s answered without structured content", name)
		}
	}
	err = decode(raw, &out)
	if inner := wrapped(raw); err != nil && inner != nil {
		err = decode(inner, &out)
	}
	if err != nil {
		return out, fmt.Errorf("tool %s: %w", name, err)
	}
	return out, nil
}

// wrapped returns the value that revisions without bare structured values carry
// as {"result": value}, nil when it is not one.
func wrapped(raw []byte) []byte {
	inner := rawjson.Get(raw, "result")
	if inner == nil {
		return nil
	}
	for c := rawjson.Object(raw); c.Next(); {
		if !c.KeyIs("result") {
			return nil
		}
	}
	return inner
}

// ReadResource reads a resource.
func (c *Client) ReadResource(ctx context.Context, uri string) ([]ResourceContents, error) {
	raw, err := c.cached(ctx, &call{method: "resources/read", params: rawjson.Set(emptyObject, quote(uri), "uri")})
	if err != nil {
		return nil, err
	}
	var r struct {
		Contents []ResourceContents `json:"contents"`
	}
	if err := decode(raw, &r); err != nil {
		return nil, fmt.Errorf("resources/read: %w", err)
	}
	return r.Contents, nil
}

// GetPrompt has the server fill in a prompt.
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string) (*PromptResult, error) {
	type params struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments,omitempty"`
	}
	raw, err := c.do(ctx, &call{method: "prompts/get", params: encode(params{name, args})})
	if err != nil {
		return nil, err
	}
	r := &PromptResult{}
	if err := decode(raw, r); err != nil {
		return nil, fmt.Errorf("prompts/get: %w", err)
	}
	return r, nil
}

// A Completion is a list of suggestions.
type Completion struct {
	Values  []string `json:"values"`
	Total   int      `json:"total,omitzero"`
	HasMore bool     `json:"hasMore,omitzero"`
}

// CompletePrompt asks for values of a prompt's argument; given are the arguments
// already settled.
func (c *Client) CompletePrompt(ctx context.Context, prompt, argument, value string, given map[string]string) (*Completion, error) {
	return c.completion(ctx, `{"type":"ref/prompt","name":`+string(quote(prompt))+`}`, argument, value, given)
}

// CompleteTemplate asks for values of a resource template's variable.
func (c *Client) CompleteTemplate(ctx context.Context, uriTemplate, variable, value string, given map[string]string) (*Completion, error) {
	return c.completion(ctx, `{"type":"ref/resource","uri":`+string(quote(uriTemplate))+`}`, variable, value, given)
}

func (c *Client) completion(ctx context.Context, ref, argument, value string, given map[string]string) (*Completion, error) {
	type arg struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	params := append(append([]byte(`{"ref":`+ref+`,"argument":`), encode(arg{argument, value})...), '}')
	if len(given) > 0 {
		params = rawjson.Set(params, encode(given), "context", "arguments")
	}
	raw, err := c.do(ctx, &call{method: "completion/complete", params: params})
	if err != nil {
		return nil, err
	}
	r := &Completion{}
	if err := decode(rawjson.Get(raw, "completion"), r); err != nil {
		return nil, fmt.Errorf("completion/complete: %w", err)
	}
	return r, nil
}

// Tools lists the tools, page by page. A failure is the last pair.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*Tool, error] {
	return func(yield func(*Tool, error) bool) {
		mirrors := c.mirrors()
		for raw, err := range c.list(ctx, "tools/list", "tools") {
			t := &Tool{}
			if err == nil {
				err = decodeTool(raw, t)
			}
			if err == nil && mirrors {
				if bad := c.mirror.learn(t); bad != nil {
					c.opts.Logger.Warn("tool dropped: its header annotations are not valid", "tool", t.Name, "error", bad)
					continue
				}
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// Prompts lists the prompts.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] {
	return decoded[Prompt](c.list(ctx, "prompts/list", "prompts"))
}

// Resources lists the resources.
func (c *Client) Resources(ctx context.Context) iter.Seq2[*Resource, error] {
	return decoded[Resource](c.list(ctx, "resources/list", "resources"))
}

// Templates lists the resource templates.
func (c *Client) Templates(ctx context.Context) iter.Seq2[*ResourceTemplate, error] {
	return decoded[ResourceTemplate](c.list(ctx, "resources/templates/list", "resourceTemplates"))
}

// Collect gathers what an iterator of this package yields, up to its error.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

func decoded[T any](seq iter.Seq2[[]byte, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for raw, err := range seq {
			v := new(T)
			if err == nil {
				err = decode(raw, v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// list yields the raw elements of all pages. An endless list is an error.
func (c *Client) list(ctx context.Context, method, member string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var params []byte
		var seen []string
		for {
			k := &call{method: method, params: params, list: member}
			if _, err := c.cached(ctx, k); err != nil {
				yield(nil, err)
				return
			}
			for v := rawjson.Array(k.items); v.Next(); {
				if !yield(v.Value(), nil) {
					return
				}
			}
			next := k.next
			if next == nil || string(next) == "null" {
				return
			}
			if slices.Contains(seen, string(next)) || len(seen) >= maxPages {
				yield(nil, fmt.Errorf("%s: the list does not end", method))
				return
			}
			seen = append(seen, string(next))
			params = rawjson.Set(emptyObject, next, "cursor")
		}
	}
}
