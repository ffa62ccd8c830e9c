// The client that the official conformance suite watches: it does what the
// scenario named in the environment asks for, against the URL given last.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"mcpv/mcp"
	"mcpv/mcp/streamable"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if err := run(ctx, os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A scenario is what to do once connected.
type scenario func(ctx context.Context, c *mcp.Client) error

var scenarios = map[string]scenario{
	"initialize":                          list,
	"tools_call":                          call("add_numbers", `{"a":5,"b":3}`),
	"elicitation-sep1034-client-defaults": call("test_client_elicitation_defaults", `{}`),
	"sse-retry":                           call("test_reconnection", `{}`),
	"request-metadata":                    list,
	"sep-2322-client-request-state":       requestState,
	"http-standard-headers":               standardHeaders,
	"http-custom-headers":                 customHeaders,
	"http-invalid-tool-headers":           everyTool,
	"json-schema-ref-no-deref":            list,
	"json-schema-2020-12-preservation":    echoSchema,
	"sep-2640-client-no-prefetch":         skills(false),
	"sep-2640-client-verify-digest":       skills(true),
	"sep-2640-client-verify-size":         skills(true),
	"sep-2640-client-verify-frontmatter":  skills(true),
}

func run(ctx context.Context, name, url string) error {
	do, ok := scenarios[name]
	if !ok {
		return fmt.Errorf("scenario %q is not supported", name)
	}
	c, err := mcp.Connect(ctx, &streamable.Transport{URL: url}, &mcp.ClientOptions{
		Info: mcp.Implementation{Name: "mcpv-conformance-client", Version: "1.0.0"},
		Elicit: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := mcp.JSON(`{}`)
			if strings.Contains(string(q.Schema), "confirmed") {
				content = mcp.JSON(`{"confirmed":true}`)
			}
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: content}, nil
		},
		Sample: func(context.Context, *mcp.SamplingParams) (*mcp.SamplingResult, error) {
			return &mcp.SamplingResult{Content: mcp.SamplingBlock{mcp.Text("an answer")}, Model: "none"}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///", Name: "root"}}, nil },
	})
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, c), c.Close())
}

func list(ctx context.Context, c *mcp.Client) error {
	_, err := mcp.Collect(c.Tools(ctx))
	return err
}

// call lists the tools and calls one.
func call(tool, args string) scenario {
	return func(ctx context.Context, c *mcp.Client) error {
		if err := list(ctx, c); err != nil {
			return err
		}
		_, err := c.CallTool(ctx, &mcp.ToolCall{Name: tool, Arguments: mcp.JSON(args)})
		return err
	}
}

func requestState(ctx context.Context, c *mcp.Client) error {
	err := list(ctx, c)
	for _, tool := range []string{"test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"} {
		_, callErr := c.CallTool(ctx, &mcp.ToolCall{Name: tool})
		err = errors.Join(err, callErr)
	}
	return err
}

func standardHeaders(ctx context.Context, c *mcp.Client) error {
	tools, err := mcp.Collect(c.Tools(ctx))
	for _, t := range tools {
		_, callErr := c.CallTool(ctx, &mcp.ToolCall{Name: t.Name})
		err = errors.Join(err, callErr)
	}
	resources, listErr := mcp.Collect(c.Resources(ctx))
	err = errors.Join(err, listErr)
	for _, r := range resources {
		_, readErr := c.ReadResource(ctx, r.URI)
		err = errors.Join(err, readErr)
	}
	prompts, listErr := mcp.Collect(c.Prompts(ctx))
	err = errors.Join(err, listErr)
	for _, p := range prompts {
		_, getErr := c.GetPrompt(ctx, p.Name, nil)
		err = errors.Join(err, getErr)
	}
	return err
}

// customHeaders makes the calls that the suite gives in the environment.
func customHeaders(ctx context.Context, c *mcp.Client) error {
	var given struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given); err != nil {
		return fmt.Errorf("context: %w", err)
	}
	err := list(ctx, c)
	for _, k := range given.ToolCalls {
		_, callErr := c.CallTool(ctx, &mcp.ToolCall{Name: k.Name, Arguments: mcp.JSON(k.Arguments)})
		err = errors.Join(err, callErr)
	}
	return err
}

// everyTool calls every tool that the library lets through.
func everyTool(ctx context.Context, c *mcp.Client) error {
	tools, err := mcp.Collect(c.Tools(ctx))
	for _, t := range tools {
		_, callErr := c.CallTool(ctx, &mcp.ToolCall{Name: t.Name, Arguments: mcp.JSON(`{"region":"us-west1"}`)})
		err = errors.Join(err, callErr)
	}
	return err
}

// echoSchema sends back the schema it was given.
func echoSchema(ctx context.Context, c *mcp.Client) error {
	tools, err := mcp.Collect(c.Tools(ctx))
	if err != nil {
		return err
	}
	for _, t := range tools {
		if t.Name == "json_schema_2020_12_tool" {
			_, err := c.CallTool(ctx, &mcp.ToolCall{Name: "json_schema_echo", Arguments: map[string]any{"schema": t.InputSchema}})
			return err
		}
	}
	return errors.New("json_schema_2020_12_tool is not listed")
}
