package interop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"mcpv/interop/peers/feature"
	"mcpv/mcp"
)

// A session is our client, connected, with a user and a model behind it that answer as interop/README.md says, and
// with what the server sent on its own.
type session struct {
	*mcp.Client
	logs    chan string // data, as JSON
	updates chan string // URIs
}

// A dialler connects with the options of a session.
type dialler func(ctx context.Context, o *mcp.ClientOptions) (*mcp.Client, error)

// connect fills the session. o holds more options, and is changed.
func (s *session) connect(ctx context.Context, dial dialler, o *mcp.ClientOptions) error {
	s.logs, s.updates = make(chan string, 64), make(chan string, 64)
	o.Info = mcp.Implementation{Name: "interop-ours-client", Version: "1"}
	o.Sample = func(_ context.Context, p *mcp.SamplingParams) (*mcp.SamplingResult, error) {
		asked := p.Messages[0].Content[0].String()
		return &mcp.SamplingResult{Role: "assistant", Model: "interop", Content: mcp.SamplingBlock{mcp.Text("model says " + asked)}}, nil
	}
	o.Elicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: mcp.JSON(`{"name":"Ada"}`)}, nil
	}
	o.Roots = func(context.Context) ([]mcp.Root, error) {
		return []mcp.Root{{URI: "file:///interop", Name: "interop"}}, nil
	}
	o.OnLog = func(m *mcp.LogMessage) { s.logs <- string(m.Data) }
	o.OnResourceUpdated = func(uri string) { s.updates <- uri }
	var err error
	s.Client, err = dial(ctx, o)
	return err
}

// text returns what a tool says.
func (s *session) text(ctx context.Context, tool string, args any) (string, error) {
	r, err := s.CallTool(ctx, &mcp.ToolCall{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	if r.IsError {
		return "", fmt.Errorf("%s failed: %s", tool, r.Text())
	}
	return r.Text(), nil
}

// says returns an error unless a tool says exactly what is wanted.
func (s *session) says(ctx context.Context, tool string, args any, want string) error {
	got, err := s.text(ctx, tool, args)
	if err != nil {
		return err
	}
	return feature.Want(tool, got, want)
}

// await returns an error unless a value that is wanted arrives.
func await(ctx context.Context, ch <-chan string, wanted func(string) bool) error {
	for {
		select {
		case got := <-ch:
			if wanted(got) {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("nothing arrived: %w", ctx.Err())
		}
	}
}

// exactly is a condition of await.
func exactly(want string) func(string) bool { return func(got string) bool { return got == want } }

// A step is how one feature is tried.
type step struct {
	feature string
	try     func(ctx context.Context, s *session) error
}

// patience bounds a step that is known to fail: nothing has to arrive, and waiting long for that proves no more.
const patience = 2 * time.Second

// drive connects, takes all steps and records how they went.
func drive(t *testing.T, p pairing, dial dialler, o *mcp.ClientOptions, steps []step, except except) {
	t.Helper()
	s := &session{}
	var results []feature.Result
	try := func(name string, f func(ctx context.Context) (string, error)) {
		limit := 2 * feature.Limit
		if _, known := except[name]; known {
			limit = patience
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		detail, err := f(ctx)
		if err != nil {
			detail = err.Error()
		}
		results = append(results, feature.Result{Feature: name, OK: err == nil, Detail: detail})
	}
	try("initialize", func(ctx context.Context) (string, error) {
		if err := s.connect(ctx, dial, o); err != nil {
			return "", err
		}
		return s.Revision().Name, nil
	})
	if s.Client != nil {
		for _, step := range steps {
			try(step.feature, func(ctx context.Context) (string, error) { return "", step.try(ctx, s) })
		}
		try("close", func(context.Context) (string, error) { return "", s.Close() })
	}
	table.judge(t, p, results, except)
}
