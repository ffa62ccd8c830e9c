package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"

	"github.com/go-json-experiment/json"
)

func marshal(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }

func accept(content string) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: mcp.JSON(content)}, nil
	}
}

const question = `{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","default":7}}}}}`

// The state goes back byte for byte, with all answers and under a new id; none is
// made up where none was given.
func TestRoundsEchoTheState(t *testing.T) {
	const state = `"a\u0062\/ \ud83d\ude00"`
	o := &mcp.ClientOptions{Revision: revision.Latest(), Elicit: accept(`{}`), Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }}
	withPeers(t, o, func(t *testing.T, c *mcp.Client) {
		r, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x", Arguments: mcp.JSON(`{"a": 1}`)})
		if err != nil || r.Text() != "done" {
			t.Error(r, err)
		}
	}, func(p *peer) {
		p.discover()
		first := p.want("tools/call")
		p.result(first, `{"resultType":"input_required","requestState":`+state+`,"inputRequests":{"f 1":`+question+`,"r":{"method":"roots/list"}}}`)
		second := p.want("tools/call")
		if second.ID() == first.ID() {
			t.Error("the id was used again")
		}
		if got := rawjson.Get(second.Params(), "requestState"); string(got) != state {
			t.Errorf("state %s", got)
		}
		if got := string(rawjson.Get(second.Params(), "inputResponses")); got != `{"f 1":{"action":"accept","content":{"n":7}},"r":{"roots":[]}}` {
			t.Errorf("answers %s", got)
		}
		if got := string(rawjson.Get(second.Params(), "arguments")); got != `{"a": 1}` {
			t.Errorf("arguments %s", got)
		}
		p.result(second, `{"resultType":"input_required","inputRequests":{"again":`+question+`}}`)
		third := p.want("tools/call")
		if rawjson.Get(third.Params(), "requestState") != nil || rawjson.Get(third.Params(), "inputResponses", "f 1") != nil {
			t.Errorf("params %s", third.Params())
		}
		p.result(third, `{"content":[{"type":"text","text":"done"}],"resultType":"complete"}`)
	})
}

func TestRoundsAreBounded(t *testing.T) {
	ask := func(extra string) func(p *peer) {
		return func(p *peer) {
			p.discover()
			for m := p.next(); m != nil; m = p.next() {
				p.result(m, `{"resultType":"input_required","inputRequests":{"k":`+question+`}`+extra+`}`)
			}
		}
	}
	fails := func(why string) func(*testing.T, *mcp.Client) {
		return func(t *testing.T, c *mcp.Client) {
			if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("error %v", err)
			}
		}
	}
	asked := 0
	elicit := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked++
		return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
	}
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), Elicit: elicit, MaxRounds: 3}, fails("more than 3 times"), ask(""))
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), Elicit: elicit, MaxRoundBytes: 1000}, fails("exceed 1000 bytes"), ask(`,"requestState":"`+strings.Repeat("x", 900)+`"`))
	slow := func(ctx context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		<-time.After(time.Minute)
		return elicit(ctx, q)
	}
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), Timeout: -1, Elicit: slow, MaxRoundTime: 90 * time.Second}, fails("longer than 1m30s"), ask(""))
}

// The time a person takes to answer is not the server's: the timeout does not
// run out meanwhile, within MaxRoundTime.
func TestPeopleMayTakeTheirTime(t *testing.T) {
	slow := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		<-time.After(5 * time.Minute)
		return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
	}
	ask := func(p *peer) {
		p.discover()
		p.result(p.want("tools/call"), `{"resultType":"input_required","inputRequests":{"k":`+question+`}}`)
		if m := p.next(); m != nil {
			p.result(m, `{"content":[],"resultType":"complete"}`)
		}
	}
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), Elicit: slow, Timeout: time.Second}, func(t *testing.T, c *mcp.Client) {
		if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); err != nil {
			t.Errorf("error %v", err)
		}
	}, ask)
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), Elicit: slow, Timeout: time.Second, MaxRoundTime: time.Minute}, func(t *testing.T, c *mcp.Client) {
		if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); !errors.Is(err, mcp.ErrTimeout) {
			t.Errorf("error %v", err)
		}
	}, ask)
}

// A server of 2025-11-25 may refuse a request until the user has visited pages.
func TestURLElicitationRequired(t *testing.T) {
	const required = `{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://example.com/a","message":"sign in"}]}`
	var visited []string
	visit := func(action string) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			visited = append(visited, q.URL)
			return &mcp.ElicitResult{Action: action}, nil
		}
	}
	withPeers(t, &mcp.ClientOptions{Revision: revision.V2025_11_25, ElicitURL: visit(mcp.ActionAccept)}, func(t *testing.T, c *mcp.Client) {
		if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); err != nil {
			t.Errorf("error %v", err)
		}
	}, func(p *peer) {
		p.initialize("2025-11-25")
		p.fail(p.want("tools/call"), -32042, required)
		p.fail(p.want("tools/call"), -32042, required) // the user is not done yet
		p.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}`)
		p.result(p.want("tools/call"), `{"content":[]}`)
	})
	if len(visited) != 1 || visited[0] != "https://example.com/a" {
		t.Errorf("visited %q", visited)
	}
	withPeers(t, &mcp.ClientOptions{Revision: revision.V2025_11_25, ElicitURL: visit(mcp.ActionDecline)}, func(t *testing.T, c *mcp.Client) {
		if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); err == nil {
			t.Error("went on though the user declined")
		}
	}, func(p *peer) {
		p.initialize("2025-11-25")
		p.fail(p.want("tools/call"), -32042, required)
	})
}

// A state alone means "come back later".
func TestStateAloneIsRetried(t *testing.T) {
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		start := time.Now()
		if _, err := c.ReadResource(t.Context(), "u:1"); err != nil {
			t.Error(err)
		}
		if time.Since(start) == 0 {
			t.Error("there was no pause")
		}
		if _, err := c.ReadResource(t.Context(), "u:1"); err == nil {
			t.Error("nothing to go by was taken")
		}
	}, func(p *peer) {
		p.discover()
		p.result(p.want("resources/read"), `{"resultType":"input_required","requestState":"s1"}`)
		m := p.want("resources/read")
		if string(rawjson.Get(m.Params(), "requestState")) != `"s1"` || rawjson.Get(m.Params(), "inputResponses") != nil {
			t.Errorf("params %s", m.Params())
		}
		p.result(m, `{"contents":[],"resultType":"complete"}`)
		p.result(p.want("resources/read"), `{"resultType":"input_required"}`)
	})
}

// Questions that cannot be answered end the call, and nothing is sent.
func TestQuestionsWithoutAnswer(t *testing.T) {
	boom := errors.New("the form is broken")
	for _, c := range []struct {
		o        mcp.ClientOptions
		question string
		want     error
	}{
		{mcp.ClientOptions{}, question, jsonrpc.NewError(-32602, "")},
		{mcp.ClientOptions{}, `{"method":"roots/list"}`, jsonrpc.NewError(-32601, "")},
		{mcp.ClientOptions{}, `{"method":"sampling/createMessage","params":{}}`, jsonrpc.NewError(-32601, "")},
		{mcp.ClientOptions{}, `{"method":"tools/call"}`, jsonrpc.NewError(-32601, "")},
		{mcp.ClientOptions{Elicit: accept(`{}`)}, `{"method":"elicitation/create","params":{"mode":"url","url":"https://x"}}`, jsonrpc.NewError(-32602, "")},
		{mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, boom }}, question, boom},
		{mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { panic("boom") }}, question, jsonrpc.NewError(-32603, "")},
		{mcp.ClientOptions{Sample: func(context.Context, *mcp.SamplingParams) (*mcp.SamplingResult, error) {
			return &mcp.SamplingResult{}, nil
		}},
			`{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[{"name":"t","inputSchema":{}}]}}`, jsonrpc.NewError(-32602, "")},
	} {
		c.o.Revision = revision.Latest()
		withPeers(t, &c.o, func(t *testing.T, client *mcp.Client) {
			if _, err := client.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", c.question, err)
			}
		}, func(p *peer) {
			p.discover()
			p.result(p.want("tools/call"), `{"resultType":"input_required","inputRequests":{"k":`+c.question+`}}`)
			if rest := p.calls(); rest != "" {
				t.Errorf("%s: the client sent %s", c.question, rest)
			}
		})
	}
}

// A legacy server asks by requests. A panic fails one of them; ids in use and
// methods that are none are refused.
func TestLegacyQuestions(t *testing.T) {
	o := legacy()
	o.Elicit = func(ctx context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		switch q.Message {
		case "panic":
			panic("secret")
		case "wait":
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}
	ask := func(id int, method, message string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"message":%q,"requestedSchema":{"type":"object","properties":{"n":{"type":"integer","default":7}}}}}`, id, method, message)
	}
	withPeers(t, o, func(t *testing.T, c *mcp.Client) {
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}, func(p *peer) {
		p.initialize("2025-11-25")
		ping := p.want("ping")
		for _, step := range []struct{ send, want string }{
			{ask(1, "elicitation/create", "hello"), `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":7}}}`},
			{ask(2, "elicitation/create", "panic"), `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"internal error"}}`},
			{`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":3,"result":{}}`},
			{ask(4, "roots/list", ""), `{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"method not found: roots/list"}}`},
			{ask(5, "tools/call", ""), `{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"method not found: tools/call"}}`},
		} {
			p.send(step.send)
			if got := p.next(); got == nil || string(got.Bytes()) != step.want {
				t.Errorf("asked %s\ngot  %s\nwant %s", step.send, got.Bytes(), step.want)
			}
		}
		p.send(ask(6, "elicitation/create", "wait"), ask(6, "elicitation/create", "hello"))
		if got := p.next(); got.ID() != jsonrpc.IntID(6) || got.Err() == nil || got.Err().Code != -32600 {
			t.Errorf("id in use: %s", got.Bytes())
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`) // gets no answer
		p.send(ask(7, "elicitation/create", "hello"))
		if got := p.next(); got.ID() != jsonrpc.IntID(7) {
			t.Errorf("after the cancelled one: %s", got.Bytes())
		}
		p.result(ping, `{}`)
	})
}

// A modern server may not ask by requests, and a client sends no responses.
func TestModernClientDoesNotRespond(t *testing.T) {
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), Elicit: accept(`{}`)}, func(t *testing.T, c *mcp.Client) {
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}, func(p *peer) {
		p.discover()
		m := p.want("server/discover")
		p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"?"}}`)
		p.result(m, `{"resultType":"complete"}`)
		if rest := p.calls(); rest != "" {
			t.Errorf("the client sent %q", rest)
		}
	})
}

// Callbacks come one at a time and in order; one that panics harms nobody.
func TestNotifications(t *testing.T) {
	var got bytes.Buffer
	o := legacy()
	o.OnLog = func(m *mcp.LogMessage) {
		fmt.Fprintf(&got, "log %s %s;", m.Level, m.Data)
		if m.Level == "alert" {
			panic("boom")
		}
	}
	o.OnToolsChanged = func() { fmt.Fprint(&got, "tools;") }
	o.OnPromptsChanged = func() { fmt.Fprint(&got, "prompts;") }
	o.OnResourcesChanged = func() { fmt.Fprint(&got, "resources;") }
	o.OnResourceUpdated = func(uri string) { fmt.Fprint(&got, uri, ";") }
	o.OnNotification = func(n *jsonrpc.Message) { fmt.Fprint(&got, n.Method(), ";") }
	withPeers(t, o, func(t *testing.T, c *mcp.Client) {
		synctest.Wait()
		if want := "log info 1;log alert 2;tools;prompts;resources;u:1;notifications/vendor;log info 3;"; got.String() != want {
			t.Errorf("got  %s\nwant %s", got.String(), want)
		}
	}, func(p *peer) {
		p.initialize("2025-11-25")
		n := func(method, params string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s","params":%s}`, method, params)
		}
		p.send(n("message", `{"level":"info","data":1}`), n("message", `{"level":7}`), n("message", `{"level":"alert","data":2}`),
			n("tools/list_changed", `{}`), n("prompts/list_changed", `{}`), n("resources/list_changed", `{}`),
			n("resources/updated", `{"uri":"u:1"}`), n("vendor", `{}`), n("message", `{"level":"info","data":3}`))
	})
}

func TestLogLevel(t *testing.T) {
	withPeers(t, legacy(), func(t *testing.T, c *mcp.Client) {
		if err := c.SetLogLevel(t.Context(), mcp.LogError); err != nil {
			t.Error(err)
		}
	}, func(p *peer) {
		p.initialize("2025-11-25")
		m := p.want("logging/setLevel")
		if string(m.Params()) != `{"level":"error"}` {
			t.Errorf("params %s", m.Params())
		}
		p.result(m, `{}`)
	})
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		for range 2 {
			if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); err != nil {
				t.Error(err)
			}
			if err := c.SetLogLevel(t.Context(), mcp.LogError); err != nil {
				t.Error(err)
			}
		}
	}, func(p *peer) {
		p.discover()
		for _, want := range []string{"", `"error"`} {
			m := p.want("tools/call")
			if got := string(rawjson.Get(m.Params(), "_meta", revision.MetaLogLevel)); got != want {
				t.Errorf("level %s, want %s", got, want)
			}
			p.result(m, `{"content":[]}`)
		}
	})
}

// Forms are flat: what a client need not know how to show is refused before it is
// asked.
func TestFormsAreFlat(t *testing.T) {
	type inner struct{ A string }
	s := mcp.NewServer(mcp.Implementation{Name: "m", Version: "1"}, nil)
	refused := map[string]error{}
	must(s.AddTool(&mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.ToolRequest) (*mcp.ToolResult, error) {
		_, _, refused["nested"] = mcp.Elicit[struct{ In inner }](ctx, r, "?")
		_, _, refused["list"] = mcp.Elicit[struct{ In []string }](ctx, r, "?")
		_, _, refused["map"] = mcp.Elicit[struct{ In map[string]string }](ctx, r, "?")
		_, _, refused["no struct"] = mcp.Elicit[string](ctx, r, "?")
		_, ok, err := mcp.Elicit[struct {
			S string   `jsonschema:"enum=a|b"`
			N float64  `json:",omitempty"`
			B bool     `json:",omitempty"`
			L []string `json:",omitempty" jsonschema:"enum=a|b"`
		}](ctx, r, "?")
		if err == nil && !ok {
			t.Error("declined")
		}
		return nil, err
	}))
	c := connect(t, s, &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: mcp.JSON(`{"S":"a"}`)}, nil
	}})
	if r, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "ask"}); err != nil || r.IsError {
		t.Errorf("%+v %v", r, err)
	}
	for what, err := range refused {
		if err == nil || errors.Is(err, mcp.ErrInputRequired) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
