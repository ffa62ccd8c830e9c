package interop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpv/interop"
	"mcpv/interop/peers/feature"
	"mcpv/mcp"
	"mcpv/mcp/dial"
	"mcpv/mcp/stdio"
	"mcpv/mcp/streamable"
	"mcpv/revision"
)

const legacy, modern = "2025-11-25", "2026-07-28"

// by returns a dialler. Clients that negotiate are dialled as users do it, those that are pinned by their transport.
func by(target any, o *mcp.ClientOptions) dialler {
	return func(ctx context.Context, all *mcp.ClientOptions) (*mcp.Client, error) {
		if o.Revision == nil {
			return dial.Server(ctx, target, all)
		}
		switch target := target.(type) {
		case string:
			return mcp.Connect(ctx, &streamable.Transport{URL: target}, all)
		case []string:
			return mcp.Connect(ctx, &stdio.Command{Path: target[0], Args: target[1:]}, all)
		}
		return nil, fmt.Errorf("no transport for a %T", target)
	}
}

// pin returns options for one revision; "" negotiates.
func pin(t *testing.T, name string) *mcp.ClientOptions {
	t.Helper()
	if name == "" { // a peer that takes long to start, on a busy machine, is not to be taken for an old one
		return &mcp.ClientOptions{ProbeTimeout: feature.Limit}
	}
	r, ok := revision.Lookup(name)
	if !ok {
		t.Fatalf("no revision %s", name)
	}
	return &mcp.ClientOptions{Revision: r}
}

// Reasons why a pairing of our client cannot do something.
const (
	noElicitation  = "the revision has no elicitation"
	mcpgoNoUpdates = "the mcp-go server delivers no resource updates on 2026-07-28 over HTTP"
)

// TestClient runs our client against the servers of the SDKs.
func TestClient(t *testing.T) {
	for _, tc := range []struct {
		server, pinned, agreed string // pinned "" negotiates
		except                 except
	}{
		{interop.TSv1, "", legacy, nil},
		{interop.TSv1, "2025-06-18", "2025-06-18", nil},
		{interop.TSv1, "2025-03-26", "2025-03-26", except{"elicitation": noElicitation}},
		{interop.TSv1, "2024-11-05", "2024-11-05", except{"elicitation": noElicitation}},
		{interop.TSv2, "", modern, nil},
		{interop.TSv2, legacy, legacy, nil},
		{interop.GoSDK, "", modern, nil},
		{interop.GoSDK, legacy, legacy, nil},
		{interop.GoSDK, "2025-03-26", "2025-03-26", except{"elicitation": noElicitation}},
		{interop.MCPGo, "", modern, nil},
		{interop.MCPGo, legacy, legacy, nil},
		{interop.MCPGo, "2024-11-05", "2024-11-05", except{"elicitation": noElicitation}},
	} {
		p := pairing{"client", tc.server, "stdio", tc.agreed}
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			o := pin(t, tc.pinned)
			drive(t, p, by(peers.Server(tc.server), o), o, fixture, tc.except)
		})
	}
	for _, tc := range []struct {
		server, pinned, agreed string
		args                   []string
		except                 except
	}{
		{interop.TSv1, "", legacy, nil, nil},
		{interop.TSv1, "2025-03-26", "2025-03-26", nil, except{"elicitation": noElicitation}},
		{interop.TSv2, "", modern, nil, nil},
		{interop.TSv2, legacy, legacy, nil, nil},
		{interop.GoSDK, "", legacy, nil, nil},
		{interop.GoSDK, "", modern, []string{"--modern"}, nil},
		{interop.GoSDK, "2025-06-18", "2025-06-18", nil, nil},
		{interop.MCPGo, "", modern, nil, except{"subscriptions": mcpgoNoUpdates}},
		{interop.MCPGo, legacy, legacy, nil, nil},
	} {
		p := pairing{"client", tc.server, "http", tc.agreed}
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			url, stop, err := interop.Start(t.Context(), peers.Server(tc.server, append([]string{"--http"}, tc.args...)...))
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			o := pin(t, tc.pinned)
			drive(t, p, by(url, o), o, fixture, tc.except)
		})
	}
}

// TestClientInAHurry holds that a server that has been asked in both eras, because it was slow to answer, is spoken to
// in the one it takes itself to be in.
func TestClientInAHurry(t *testing.T) {
	for _, tc := range []struct{ server, agreed string }{
		{interop.TSv1, legacy}, {interop.TSv2, legacy}, {interop.MCPGo, legacy},
		{interop.GoSDK, modern}, // refuses initialize after server/discover
	} {
		p := pairing{"client", tc.server, "stdio, slow start", tc.agreed}
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			o := &mcp.ClientOptions{ProbeTimeout: time.Millisecond}
			drive(t, p, by(peers.Server(tc.server), o), o, fixture, nil)
		})
	}
}

// fixture tries what interop/README.md says every server offers.
var fixture = []step{
	{"ping", func(ctx context.Context, s *session) error { return s.Ping(ctx) }},
	{"tools", tryTools},
	{"tool-error", func(ctx context.Context, s *session) error {
		r, err := s.CallTool(ctx, &mcp.ToolCall{Name: "fail"})
		if err != nil {
			return err
		}
		return feature.Want("isError", r.IsError, true)
	}},
	{"resources", func(ctx context.Context, s *session) error {
		if list, err := mcp.Collect(s.Resources(ctx)); err != nil || len(list) < 3 {
			return fmt.Errorf("%d resources, %w", len(list), err)
		}
		return errors.Join(reads(ctx, s, "test://text", "text of test://text"), reads(ctx, s, "test://blob", "\x00\x01\x02\xff"))
	}},
	{"resource-templates", func(ctx context.Context, s *session) error {
		list, err := mcp.Collect(s.Templates(ctx))
		if err != nil {
			return err
		}
		if len(list) != 1 || list[0].URITemplate != "test://item/{id}" {
			return fmt.Errorf("templates: %+v", list)
		}
		return reads(ctx, s, "test://item/7", "text of test://item/7")
	}},
	{"prompts", func(ctx context.Context, s *session) error {
		if list, err := mcp.Collect(s.Prompts(ctx)); err != nil || len(list) != 1 || list[0].Name != "greet" {
			return fmt.Errorf("prompts: %+v, %w", list, err)
		}
		r, err := s.GetPrompt(ctx, "greet", map[string]string{"name": "Ada"})
		if err != nil {
			return err
		}
		return feature.Want("prompt", r.Messages[0].Content.String(), "Greet Ada")
	}},
	{"completion", func(ctx context.Context, s *session) error {
		style, err := s.CompletePrompt(ctx, "greet", "style", "f", nil)
		if err != nil {
			return err
		}
		id, err := s.CompleteTemplate(ctx, "test://item/{id}", "id", "1", nil)
		if err != nil {
			return err
		}
		return feature.Want("values", strings.Join(append(style.Values, id.Values...), ","), "formal,1,12")
	}},
	{"logging", func(ctx context.Context, s *session) error {
		if err := s.SetLogLevel(ctx, mcp.LogDebug); err != nil {
			return err
		}
		if err := s.says(ctx, "log", map[string]string{"message": "hello log"}, "logged"); err != nil {
			return err
		}
		return await(ctx, s.logs, exactly(`"hello log"`))
	}},
	{"progress", func(ctx context.Context, s *session) error {
		var seen []mcp.Progress
		r, err := s.CallTool(ctx, &mcp.ToolCall{Name: "progress", Arguments: map[string]int{"steps": 3},
			Progress: func(p mcp.Progress) { seen = append(seen, p) }})
		if err != nil {
			return err
		}
		return errors.Join(feature.Want("answer", r.Text(), "done"), feature.Want("progress", fmt.Sprint(seen), "[{1 3 } {2 3 } {3 3 }]"))
	}},
	{"cancellation", tryCancellation},
	{"subscriptions", trySubscriptions},
	{"sampling", func(ctx context.Context, s *session) error {
		return s.says(ctx, "sample", map[string]string{"prompt": "hi"}, "model says hi")
	}},
	{"elicitation", func(ctx context.Context, s *session) error { return s.says(ctx, "elicit", nil, "accept Ada") }},
	{"roots", func(ctx context.Context, s *session) error { return s.says(ctx, "roots", nil, "file:///interop") }},
}

func tryTools(ctx context.Context, s *session) error {
	list, err := mcp.Collect(s.Tools(ctx))
	if err != nil {
		return err
	}
	if len(list) != 11 || !slices.ContainsFunc(list, func(t *mcp.Tool) bool { return t.Name == "echo" }) {
		return fmt.Errorf("tools: %+v", list)
	}
	if err := s.says(ctx, "echo", map[string]string{"message": "grüße 🎈"}, "grüße 🎈"); err != nil {
		return err
	}
	if !s.Revision().Rules.StructuredContent {
		_, err := s.text(ctx, "add", map[string]int{"a": 2, "b": 3})
		return err
	}
	sum, err := mcp.CallTool[struct {
		Sum int `json:"sum"`
	}](ctx, s.Client, "add", map[string]int{"a": 2, "b": 3})
	if err != nil {
		return err
	}
	return feature.Want("sum", sum.Sum, 5)
}

func reads(ctx context.Context, s *session, uri, want string) error {
	contents, err := s.ReadResource(ctx, uri)
	if err != nil {
		return err
	}
	if len(contents) != 1 {
		return fmt.Errorf("%d contents of %s", len(contents), uri)
	}
	got, err := contents[0].Bytes()
	return errors.Join(err, feature.Want("uri", contents[0].URI, uri), feature.Want("contents", string(got), want))
}

// tryCancellation holds that the server's handler, not only our wait, ended.
func tryCancellation(ctx context.Context, s *session) error {
	before, err := s.text(ctx, "cancelled", nil)
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := s.text(short, "slow", map[string]int{"ms": 60000}); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("a cancelled call ended with %w", err)
	}
	return feature.Until(ctx, func() (bool, error) {
		now, err := s.text(ctx, "cancelled", nil)
		return now != before, err
	})
}

func trySubscriptions(ctx context.Context, s *session) error {
	if err := s.Subscribe(ctx, "test://watched"); err != nil {
		return err
	}
	if err := s.says(ctx, "touch", nil, "touched"); err != nil {
		return err
	}
	if err := await(ctx, s.updates, exactly("test://watched")); err != nil {
		return err
	}
	return s.Unsubscribe(ctx, "test://watched")
}
