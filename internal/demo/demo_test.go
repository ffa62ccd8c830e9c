package demo_test

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mcpv/internal/demo"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/sse"
	"mcpv/mcp/streamable"
	"mcpv/mcp/websocket"
	"mcpv/revision"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect serves a demo in memory and connects a client to it.
func connect(t *testing.T, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	s := demo.New("test")
	served := make(chan error, 1)
	c, err := mcp.Connect(t.Context(), mcp.StreamTransport(func(context.Context) (jsonrpc.Stream, error) {
		a, b := jsonrpc.Pipe()
		go func() { served <- mcp.ServeStream(context.Background(), s, b, nil) }()
		return a, nil
	}), o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), <-served, s.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// answers are the options of a client that answers every question.
func answers(r *revision.Revision) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Revision: r,
		Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: mcp.JSON(`{"name":"Ada","drink":"coffee","spoons":2}`)}, nil
		},
		ElicitURL: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if q.URL != "https://example.com/" {
				return nil, errors.New("unexpected URL " + q.URL)
			}
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		},
		Sample: func(_ context.Context, p *mcp.SamplingParams) (*mcp.SamplingResult, error) {
			return &mcp.SamplingResult{Role: "assistant", Model: "parrot", Content: mcp.SamplingBlock{p.Messages[0].Content[0]}}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///project", Name: "project"}}, nil
		},
	}
}

func TestToolsInEveryRevision(t *testing.T) {
	for _, r := range revision.All() {
		t.Run(r.Name, func(t *testing.T) {
			c := connect(t, answers(r))
			want := map[string]string{"echo": "hi", "add": `{"sum":9007199254740993}`, "slow": "took 1 ms", "count": `{"counted":1}`}
			if r.Rules.ServerRequests || r.Rules.InputRequired {
				want["think"] = "parrot says: hi"
				want["list_roots"] = "1 roots\nfile:///project project"
			}
			if r.Rules.Elicitation {
				want["ask"] = "Welcome, Ada. One coffee with 2 spoons of sugar."
			}
			if r.Rules.URLElicitation {
				want["ask_url"] = "The user's answer: accept."
			}
			args := map[string]string{
				"echo": `{"message":"hi"}`, "add": `{"a":9007199254740992,"b":1}`, "slow": `{"ms":1}`,
				"count": `{"to":1}`, "think": `{"prompt":"hi"}`,
			}
			for name, text := range want {
				a := mcp.JSON(`{}`)
				if args[name] != "" {
					a = mcp.JSON(args[name])
				}
				got, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: name, Arguments: a})
				switch {
				case err != nil:
					t.Errorf("%s: %v", name, err)
				case got.IsError || got.Text() != text:
					t.Errorf("%s: got %q (error %t), want %q", name, got.Text(), got.IsError, text)
				}
			}
		})
	}
}

func TestCountIsATask(t *testing.T) {
	for _, r := range revision.All() {
		if !r.Rules.CoreTasks && !r.Rules.TasksExtension {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, &mcp.ClientOptions{Revision: r, Tasks: true})
				task, err := c.CallToolTask(t.Context(), &mcp.ToolCall{Name: "count", Arguments: mcp.JSON(`{"to":50}`)})
				if err != nil || task.ID == "" || task.Status.Final() {
					t.Fatalf("no task that runs: %+v %v", task, err)
				}
				got, err := c.TaskResult(t.Context(), task.ID)
				if err != nil || got.Text() != `{"counted":50}` {
					t.Errorf("got %v %v", got, err)
				}
			})
		})
	}
}

func TestMediaAreReal(t *testing.T) {
	c := connect(t, nil)
	picture, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "image"})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := picture.Content[0].Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(bytes.NewReader(raw)); err != nil || img.Bounds().Dx() != 64 {
		t.Errorf("not a picture of 64 pixels: %v", err)
	}
	sound, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "audio"})
	if err != nil {
		t.Fatal(err)
	}
	raw, err = sound.Content[0].Bytes()
	if err != nil || len(raw) != 44+4000 || string(raw[:4]) != "RIFF" || string(raw[8:16]) != "WAVEfmt " {
		t.Errorf("not a WAV of 4000 samples: %d bytes, %v", len(raw), err)
	}
}

func TestFailures(t *testing.T) {
	c := connect(t, nil)
	for how, code := range map[string]int{"protocol": jsonrpc.CodeInvalidParams, "panic": jsonrpc.CodeInternal} {
		_, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "fail", Arguments: map[string]string{"how": how}})
		if !errors.Is(err, jsonrpc.NewError(code, "")) {
			t.Errorf("%s: got %v, want code %d", how, err, code)
		}
	}
	got, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "fail"})
	if err != nil || !got.IsError {
		t.Errorf("tool: got %v %v", got, err)
	}
	got, err = c.CallTool(t.Context(), &mcp.ToolCall{Name: "add", Arguments: mcp.JSON(`{"a":9223372036854775807,"b":1}`)})
	if err != nil || !got.IsError || !strings.Contains(got.Text(), "64 bits") {
		t.Errorf("overflow: got %v %v", got, err)
	}
}

func TestSlowReportsProgress(t *testing.T) {
	c := connect(t, nil)
	var steps []float64
	_, err := c.CallTool(t.Context(), &mcp.ToolCall{
		Name: "slow", Arguments: mcp.JSON(`{"ms":10}`), Progress: func(p mcp.Progress) { steps = append(steps, p.Progress) },
	})
	if err != nil || len(steps) != 10 || steps[9] != 10 {
		t.Errorf("got %v %v", steps, err)
	}
}

func TestPromptsResourcesCompletion(t *testing.T) {
	c := connect(t, nil)
	p, err := c.GetPrompt(t.Context(), "explain", map[string]string{"topic": "tools", "audience": "a child"})
	if err != nil || len(p.Messages) != 2 || !strings.Contains(p.Messages[0].Content.String(), "tools") {
		t.Errorf("prompt: %v %v", p, err)
	}
	v, err := c.CompletePrompt(t.Context(), "translate", "language", "g", nil)
	if err != nil || strings.Join(v.Values, " ") != "german greek" {
		t.Errorf("completion: %v %v", v, err)
	}
	v, err = c.CompleteTemplate(t.Context(), "demo://greeting/{language}", "language", "sp", nil)
	if err != nil || strings.Join(v.Values, " ") != "spanish" {
		t.Errorf("template completion: %v %v", v, err)
	}
	for uri, want := range map[string]string{"demo://greeting/german": "Guten Tag!", "demo://about": "# The mcpv demo"} {
		got, err := c.ReadResource(t.Context(), uri)
		if err != nil || !strings.HasPrefix(*got[0].Text, want) {
			t.Errorf("%s: %v %v", uri, got, err)
		}
	}
	if _, err := c.ReadResource(t.Context(), "demo://greeting/klingon"); err == nil {
		t.Error("a greeting in an unknown language was found")
	}
}

// The clock ticks for subscribers of both eras, and its goroutine ends with the
// last of them: synctest and goleak would tell of one that does not.
func TestClockTicksWhileSomebodyListens(t *testing.T) {
	for _, r := range revision.All() {
		if !r.Rules.Subscribe && !r.Rules.Listen {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ticks := make(chan string, 100)
				c := connect(t, &mcp.ClientOptions{Revision: r, OnResourceUpdated: func(uri string) { ticks <- uri }})
				if err := c.Subscribe(t.Context(), "demo://clock"); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					if uri := <-ticks; uri != "demo://clock" {
						t.Fatalf("update of %s", uri)
					}
				}
				if err := c.Unsubscribe(t.Context(), "demo://clock"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for len(ticks) > 0 {
					<-ticks
				}
				select {
				case <-ticks:
					t.Error("the clock ticks although nobody listens")
				case <-time.After(10 * time.Second):
				}
			})
		})
	}
}

func TestServeHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := demo.New("test")
	served := make(chan error, 1)
	go func() { served <- demo.ServeHTTP(ctx, l, s, nil) }()
	base := "http://" + l.Addr().String()
	ways := map[string]mcp.Transport{
		"http":      &streamable.Transport{URL: base + "/mcp"},
		"sse":       &sse.Transport{URL: base + "/sse"},
		"websocket": &websocket.Transport{URL: "ws" + strings.TrimPrefix(base, "http") + "/ws"},
	}
	for name, way := range ways {
		c, err := mcp.Connect(t.Context(), way, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := mcp.CallTool[string](t.Context(), c, "echo", map[string]string{"message": name})
		if err != nil || got != name {
			t.Errorf("%s: %q %v", name, got, err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
	for host, want := range map[string]int{"": http.StatusOK, "evil.example": http.StatusForbidden} {
		r, err := http.NewRequest(http.MethodGet, base+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Close = true
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("the page for host %q: %s", host, resp.Status)
		}
	}
	cancel()
	if err := errors.Join(<-served, s.Close()); err != nil {
		t.Errorf("serve: %v", err)
	}
}
