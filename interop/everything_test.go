package interop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpv/interop"
	"mcpv/interop/peers/feature"
	"mcpv/mcp"
	"mcpv/mcp/dial"
)

// TestEverything runs our client against the official everything server.
func TestEverything(t *testing.T) {
	for _, tc := range []struct{ transport, flag, agreed string }{
		{"stdio", "", legacy}, {"http", "--http", legacy}, {"sse", "--sse", legacy},
	} {
		p := pairing{"client", interop.Everything, tc.transport, tc.agreed}
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			var target any = peers.Server(interop.Everything)
			if tc.flag != "" {
				url, stop, err := peers.StartEverything(t.Context(), tc.flag)
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				target = url
			}
			drive(t, p, func(ctx context.Context, o *mcp.ClientOptions) (*mcp.Client, error) {
				return dial.Server(ctx, target, o)
			}, &mcp.ClientOptions{}, everything, nil)
		})
	}
}

// contains returns an error unless a tool says something with a part.
func (s *session) contains(ctx context.Context, tool string, args any, part string) error {
	got, err := s.text(ctx, tool, args)
	if err == nil && !strings.Contains(got, part) {
		err = fmt.Errorf("%s: got %q, want %q in it", tool, got, part)
	}
	return err
}

// everything tries what the everything server offers, by its own names.
var everything = []step{
	{"ping", func(ctx context.Context, s *session) error { return s.Ping(ctx) }},
	{"tools", tryEverythingTools},
	{"tool-error", func(ctx context.Context, s *session) error {
		r, err := s.CallTool(ctx, &mcp.ToolCall{Name: "get-structured-content", Arguments: map[string]string{"location": "Atlantis"}})
		if err != nil {
			return err
		}
		return feature.Want("isError", r.IsError, true)
	}},
	{"resources", func(ctx context.Context, s *session) error {
		list, err := mcp.Collect(s.Resources(ctx))
		if err != nil || len(list) == 0 {
			return fmt.Errorf("%d resources, %w", len(list), err)
		}
		contents, err := s.ReadResource(ctx, list[0].URI)
		if err == nil && (len(contents) != 1 || contents[0].Text == nil || *contents[0].Text == "") {
			err = fmt.Errorf("%s holds %+v", list[0].URI, contents)
		}
		return err
	}},
	{"resource-templates", tryEverythingTemplates},
	{"prompts", func(ctx context.Context, s *session) error {
		list, err := mcp.Collect(s.Prompts(ctx))
		if err != nil || len(list) < 4 {
			return fmt.Errorf("%d prompts, %w", len(list), err)
		}
		r, err := s.GetPrompt(ctx, "completable-prompt", map[string]string{"department": "Sales", "name": "Eve"})
		if err != nil {
			return err
		}
		return feature.Want("prompt", r.Messages[0].Content.String(), "Please promote Eve to the head of the Sales team.")
	}},
	{"completion", func(ctx context.Context, s *session) error {
		department, err := s.CompletePrompt(ctx, "completable-prompt", "department", "S", nil)
		if err != nil {
			return err
		}
		name, err := s.CompletePrompt(ctx, "completable-prompt", "name", "A", map[string]string{"department": "Engineering"})
		if err != nil {
			return err
		}
		id, err := s.CompleteTemplate(ctx, "demo://resource/dynamic/text/{resourceId}", "resourceId", "7", nil)
		if err != nil {
			return err
		}
		got := slices.Concat(department.Values, name.Values, id.Values)
		return feature.Want("values", strings.Join(got, ","), "Sales,Support,Alice,7")
	}},
	{"logging", func(ctx context.Context, s *session) error {
		if err := s.SetLogLevel(ctx, mcp.LogDebug); err != nil {
			return err
		}
		return s.toggled(ctx, "toggle-simulated-logging", func() error {
			return await(ctx, s.logs, func(data string) bool { return strings.Contains(data, "message") })
		})
	}},
	{"progress", func(ctx context.Context, s *session) error {
		var seen []mcp.Progress
		_, err := s.CallTool(ctx, &mcp.ToolCall{Name: "trigger-long-running-operation", Arguments: map[string]any{"duration": 0.3, "steps": 3},
			Progress: func(p mcp.Progress) { seen = append(seen, p) }})
		return errors.Join(err, feature.Want("progress", fmt.Sprint(seen), "[{1 3 } {2 3 } {3 3 }]"))
	}},
	{"cancellation", tryEverythingCancellation},
	{"subscriptions", func(ctx context.Context, s *session) error {
		const uri = "demo://resource/dynamic/text/1"
		if err := s.Subscribe(ctx, uri); err != nil {
			return err
		}
		err := s.toggled(ctx, "toggle-subscriber-updates", func() error { return await(ctx, s.updates, exactly(uri)) })
		return errors.Join(err, s.Unsubscribe(ctx, uri))
	}},
	{"sampling", func(ctx context.Context, s *session) error {
		args := map[string]any{"prompt": "hi", "maxTokens": 20}
		return s.contains(ctx, "trigger-sampling-request", args, "model says Resource trigger-sampling-request context: hi")
	}},
	{"elicitation", func(ctx context.Context, s *session) error {
		return s.contains(ctx, "trigger-elicitation-request", nil, "Name: Ada")
	}},
	{"roots", func(ctx context.Context, s *session) error {
		return s.contains(ctx, "get-roots-list", nil, "file:///interop")
	}},
}

// tryEverythingTools waits for the tools that the server adds once it knows what the client can do. The list is not
// asked for again until the server has said that it changed.
func tryEverythingTools(ctx context.Context, s *session) error {
	err := feature.Until(ctx, func() (bool, error) {
		list, err := mcp.Collect(s.Tools(ctx))
		has := func(name string) bool {
			return slices.ContainsFunc(list, func(t *mcp.Tool) bool { return t.Name == name })
		}
		return has("echo") && has("trigger-sampling-request") && has("trigger-elicitation-request") && has("get-roots-list"), err
	})
	if err != nil {
		return err
	}
	if err := s.says(ctx, "echo", map[string]string{"message": "grüße 🎈"}, "Echo: grüße 🎈"); err != nil {
		return err
	}
	if err := s.says(ctx, "get-sum", map[string]int{"a": 2, "b": 3}, "The sum of 2 and 3 is 5."); err != nil {
		return err
	}
	weather, err := mcp.CallTool[struct {
		Temperature float64 `json:"temperature"`
		Conditions  string  `json:"conditions"`
	}](ctx, s.Client, "get-structured-content", map[string]string{"location": "New York"})
	if err != nil {
		return err
	}
	return errors.Join(feature.Want("temperature", weather.Temperature, 33), feature.Want("conditions", weather.Conditions, "Cloudy"))
}

func tryEverythingTemplates(ctx context.Context, s *session) error {
	list, err := mcp.Collect(s.Templates(ctx))
	if err != nil || len(list) < 2 {
		return fmt.Errorf("%d templates, %w", len(list), err)
	}
	for _, uri := range []string{"demo://resource/dynamic/text/7", "demo://resource/dynamic/blob/7"} {
		contents, err := s.ReadResource(ctx, uri)
		if err != nil {
			return err
		}
		got, err := contents[0].Bytes()
		if err != nil || !strings.HasPrefix(string(got), "Resource 7: ") {
			return fmt.Errorf("%s holds %q, %w", uri, got, err)
		}
	}
	return nil
}

// tryEverythingCancellation holds that our wait ends and that the connection is as good as before. The server's tools
// do not look whether they are cancelled, so nothing of it can be seen there.
func tryEverythingCancellation(ctx context.Context, s *session) error {
	short, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	enough := errors.New("enough")
	_, err := s.CallTool(short, &mcp.ToolCall{Name: "trigger-long-running-operation", Arguments: map[string]int{"duration": 5, "steps": 50},
		Progress: func(mcp.Progress) { cancel(enough) }})
	if !errors.Is(err, enough) {
		return fmt.Errorf("a cancelled call ended with %w", err)
	}
	return s.says(ctx, "echo", map[string]string{"message": "still here"}, "Echo: still here")
}

// toggled runs f between two calls of a tool that switches something on and off.
func (s *session) toggled(ctx context.Context, tool string, f func() error) error {
	if _, err := s.text(ctx, tool, nil); err != nil {
		return err
	}
	err := f()
	_, off := s.text(ctx, tool, nil)
	return errors.Join(err, off)
}
