package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpv/interop"
	"mcpv/interop/peers/feature"
)

const inspectorOneShot = "not tried: the inspector's command line sends one request and ends, and shows nothing of this"

// inspectorCannot is what the command line has no method for, or shows nothing of.
var inspectorCannot = except{
	"ping": inspectorOneShot, "completion": inspectorOneShot, "logging": inspectorOneShot,
	"progress": inspectorOneShot, "cancellation": inspectorOneShot, "subscriptions": inspectorOneShot,
	"sampling": inspectorOneShot, "elicitation": inspectorOneShot, "roots": inspectorOneShot,
}

// answer is what the inspector prints, as far as the tests look at it.
type answer struct {
	Result struct {
		ProtocolVersion string                         `json:"protocolVersion"`
		Structured      struct{ Sum int }              `json:"structuredContent"`
		Tools           []struct{ Name string }        `json:"tools"`
		Resources       []struct{ URI string }         `json:"resources"`
		Templates       []struct{ URITemplate string } `json:"resourceTemplates"`
		Prompts         []struct{ Name string }        `json:"prompts"`
		Contents        []struct{ Text string }        `json:"contents"`
		Messages        []struct {
			Content struct{ Text string }
		} `json:"messages"`
	} `json:"result"`
}

// TestInspector runs the inspector's command line against our server.
func TestInspector(t *testing.T) {
	for _, era := range []struct{ name, agreed string }{{"legacy", legacy}, {"modern", modern}} {
		pipe := pairing{"server", "inspector", "stdio", era.agreed}
		t.Run(pipe.String(), func(t *testing.T) {
			t.Parallel()
			inspect(t, pipe, era.name, peers.Server(interop.Ours))
		})
		web := pairing{"server", "inspector", "http", era.agreed}
		t.Run(web.String(), func(t *testing.T) {
			t.Parallel()
			url, stop, err := interop.Start(t.Context(), peers.Server(interop.Ours, "--http"))
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			inspect(t, web, era.name, []string{url})
		})
	}
}

// inspect sends one request a feature, each from a process of its own, and records the answers.
func inspect(t *testing.T, p pairing, era string, target []string) {
	t.Helper()
	ask := func(ctx context.Context, args ...string) (a answer, err error) {
		args = slices.Concat(target, []string{"--protocol-era", era, "--format", "json", "--method"}, args)
		out, err := peers.Inspect(ctx, args...)
		if err != nil {
			return a, err
		}
		return a, json.Unmarshal(out, &a)
	}
	var results []feature.Result
	try := func(name, want string, say func(a answer) string, args ...string) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*feature.Limit)
		defer cancel()
		a, err := ask(ctx, args...)
		if err == nil {
			err = feature.Want(args[0], say(a), want)
		}
		r := feature.Result{Feature: name, OK: err == nil, Detail: want}
		if err != nil {
			r.Detail = err.Error()
		}
		results = append(results, r)
	}
	try("initialize", p.revision, func(a answer) string { return a.Result.ProtocolVersion }, "initialize")
	try("tools", "11 echo", func(a answer) string { return fmt.Sprint(len(a.Result.Tools), " ", a.Result.Tools[0].Name) }, "tools/list", "--strict")
	try("tools", "5", func(a answer) string { return fmt.Sprint(a.Result.Structured.Sum) },
		"tools/call", "--tool-name", "add", "--tool-arg", "a=2", "--tool-arg", "b=3")
	try("resources", "3", func(a answer) string { return fmt.Sprint(len(a.Result.Resources)) }, "resources/list")
	try("resources", "[{text of test://text}]", func(a answer) string { return fmt.Sprint(a.Result.Contents) }, "resources/read", "--uri", "test://text")
	try("resource-templates", "[{test://item/{id}}]", func(a answer) string { return fmt.Sprint(a.Result.Templates) }, "resources/templates/list")
	try("prompts", "[{greet}]", func(a answer) string { return fmt.Sprint(a.Result.Prompts) }, "prompts/list")
	try("prompts", "[{{Greet Ada}}]", func(a answer) string { return fmt.Sprint(a.Result.Messages) },
		"prompts/get", "--prompt-name", "greet", "--prompt-args", "name=Ada")
	results = append(results, inspectFailure(t, era, target))
	// A run that ends by itself and as it should has closed its connection.
	failed := slices.ContainsFunc(results, func(r feature.Result) bool { return !r.OK })
	results = append(results, feature.Result{Feature: "close", OK: !failed, Detail: "not every run ended well"})
	for name := range inspectorCannot {
		results = append(results, feature.Result{Feature: name, Skip: true, Detail: "not tried"})
	}
	table.judge(t, p, results, inspectorCannot)
}

// inspectFailure calls the tool that fails, for which the inspector has a word and a status of its own.
func inspectFailure(t *testing.T, era string, target []string) feature.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*feature.Limit)
	defer cancel()
	_, err := peers.Inspect(ctx, slices.Concat(target, []string{"--protocol-era", era, "--format", "json", "--method", "tools/call", "--tool-name", "fail"})...)
	ok := err != nil && strings.Contains(err.Error(), "tool_is_error")
	return feature.Result{Feature: "tool-error", OK: ok, Detail: fmt.Sprint("got ", err)}
}
