package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

var modern = &mcp.ClientOptions{Revision: revision.Latest()}

// legacy returns options for a client of 2025-11-25.
func legacy() *mcp.ClientOptions { return &mcp.ClientOptions{Revision: revision.V2025_11_25} }

func TestTimeoutCancels(t *testing.T) {
	for _, o := range []*mcp.ClientOptions{
		{Revision: revision.Latest(), Timeout: time.Minute}, {Revision: revision.V2025_11_25, Timeout: time.Minute},
	} {
		for _, withProgress := range []bool{false, true} {
			withPeers(t, o, func(t *testing.T, c *mcp.Client) {
				call := &mcp.ToolCall{Name: "slow"}
				if withProgress {
					call.Progress = func(mcp.Progress) {}
				}
				start := time.Now()
				if _, err := c.CallTool(t.Context(), call); !errors.Is(err, mcp.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
				if d := time.Since(start); d != time.Minute {
					t.Errorf("took %v", d)
				}
				if r, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "fast", Timeout: -1}); err != nil || r.Text() != "ok" {
					t.Errorf("the next call: %v %v", r, err)
				}
			}, func(p *peer) {
				if o.Revision == revision.Latest() {
					p.discover()
				} else {
					p.initialize("2025-11-25")
				}
				slow := p.want("tools/call")
				if m := p.want("notifications/cancelled"); string(rawjson.Get(m.Params(), "requestId")) != slow.ID().Raw() {
					t.Errorf("cancelled %s", m.Params())
				}
				p.result(slow, `{"content":[{"type":"text","text":"late"}],"resultType":"complete"}`)
				p.result(p.want("tools/call"), `{"content":[{"type":"text","text":"ok"}],"resultType":"complete"}`)
			})
		}
	}
}

func TestCallerCancels(t *testing.T) {
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		why := errors.New("the user has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { synctest.Wait(); cancel(why) }()
		if _, err := c.CallTool(ctx, &mcp.ToolCall{Name: "slow"}); !errors.Is(err, why) {
			t.Errorf("error %v", err)
		}
	}, func(p *peer) {
		p.discover()
		p.want("tools/call")
		if m := p.want("notifications/cancelled"); !strings.Contains(string(m.Params()), "the user has gone") {
			t.Errorf("cancelled %s", m.Params())
		}
	})
}

// Progress is told in order, before the result, on the goroutine of the caller:
// got is not locked, and the race detector watches.
func TestProgressInOrder(t *testing.T) {
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		var got []float64
		r, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x", Meta: map[string]any{"trace": 1}, Progress: func(p mcp.Progress) { got = append(got, p.Progress) }})
		if err != nil || r.Text() != "done" {
			t.Fatal(r, err)
		}
		if !slices.Equal(got, []float64{1, 2.5, 3}) {
			t.Errorf("progress %v", got)
		}
	}, func(p *peer) {
		p.discover()
		m := p.want("tools/call")
		token := string(rawjson.Get(m.Params(), "_meta", "progressToken"))
		if token != m.ID().Raw() || string(rawjson.Get(m.Params(), "_meta", "trace")) != "1" {
			t.Errorf("params %s", m.Params())
		}
		p.send(progress("99", "7"), progress(token, "1"), progress("{}", "7"), progress(token, "2.5"), progress(token, `"x"`), progress(token, "3"))
		p.result(m, `{"content":[{"type":"text","text":"done"}],"resultType":"complete"}`)
	})
}

func TestProgressExtendsTheTimeout(t *testing.T) {
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), Timeout: time.Minute}, func(t *testing.T, c *mcp.Client) {
		start, told := time.Now(), 0
		_, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x", Progress: func(mcp.Progress) { told++ }})
		if !errors.Is(err, mcp.ErrTimeout) {
			t.Errorf("error %v", err)
		}
		if d := time.Since(start); d != 10*time.Minute || told < 10 {
			t.Errorf("ended after %v, told %d times", d, told)
		}
	}, func(p *peer) {
		p.discover()
		token := p.want("tools/call").ID().Raw()
		for i := range 30 {
			<-time.After(50 * time.Second)
			p.send(progress(token, fmt.Sprint(i)))
		}
	})
}

func TestListsThatDoNotEnd(t *testing.T) {
	page := func(p *peer, next string) {
		p.result(p.want("tools/list"), `{"tools":[{"name":"t","inputSchema":{}}],"nextCursor":`+next+`,"resultType":"complete"}`)
	}
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		tools, err := mcp.Collect(c.Tools(t.Context()))
		if err == nil || len(tools) != 3 {
			t.Errorf("repeated cursor: %d tools, %v", len(tools), err)
		}
		tools, err = mcp.Collect(c.Tools(t.Context()))
		if err == nil || len(tools) != 101 {
			t.Errorf("endless: %d tools, %v", len(tools), err)
		}
	}, func(p *peer) {
		p.discover()
		page(p, `"a"`)
		page(p, `"b"`)
		page(p, `"a"`)
		for i := range 101 {
			page(p, fmt.Sprintf(`"%d"`, i))
		}
	})
}

// An empty cursor is a cursor; breaking off asks for no more; an error comes last.
func TestListPages(t *testing.T) {
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		prompts, err := mcp.Collect(c.Prompts(t.Context()))
		if err != nil || len(prompts) != 2 || prompts[1].Name != "b" {
			t.Errorf("prompts %v %v", prompts, err)
		}
		for r, err := range c.Resources(t.Context()) {
			if err != nil || r.URI != "u:1" {
				t.Errorf("resource %v %v", r, err)
			}
			break
		}
		templates, err := mcp.Collect(c.Templates(t.Context()))
		if len(templates) != 1 || !errors.Is(err, jsonrpc.NewError(-32602, "")) {
			t.Errorf("templates %v %v", templates, err)
		}
	}, func(p *peer) {
		p.discover()
		p.result(p.want("prompts/list"), `{"prompts":[{"name":"a"}],"nextCursor":""}`)
		m := p.want("prompts/list")
		if got := string(rawjson.Get(m.Params(), "cursor")); got != `""` {
			t.Errorf("cursor %s", got)
		}
		p.result(m, `{"prompts":[{"name":"b"}],"nextCursor":null}`)
		p.result(p.want("resources/list"), `{"resources":[{"uri":"u:1","name":"x"},{"uri":"u:2","name":"y"}],"nextCursor":"more"}`)
		p.result(p.want("resources/templates/list"), `{"resourceTemplates":[{"uriTemplate":"u:{x}","name":"x"}],"nextCursor":"more"}`)
		p.fail(p.want("resources/templates/list"), -32602, "")
	})
}

// What this package does not know survives being decoded and encoded.
func TestUnknownFieldsSurvive(t *testing.T) {
	const result = `{"content":[{"type":"hologram","data":"zz","depth":[3,1e2]},{"type":"text","text":"a","x-more":{"b":9007199254740993}}],"structuredContent":[1.50],"x-top":null,"resultType":"complete"}`
	const tool = `{"name":"t","inputSchema":{"type":"object","x-order":["b","a"],"$comment":"kept"},"annotations":{"readOnlyHint":false,"x-risk":7},"x-vendor":{"k":1}}`
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		r, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, r, result)
		tools, err := mcp.Collect(c.Tools(t.Context()))
		if err != nil || len(tools) != 1 {
			t.Fatal(tools, err)
		}
		same(t, tools[0], tool)
	}, func(p *peer) {
		p.discover()
		p.result(p.want("tools/call"), result)
		p.result(p.want("tools/list"), `{"tools":[`+tool+`],"resultType":"complete"}`)
	})
}

func same(t *testing.T, v any, want string) {
	t.Helper()
	got, err := marshal(v)
	if err != nil || !rawjson.Equal(got, []byte(want)) {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
}

func TestUnknownResultTypeIsRefused(t *testing.T) {
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		for _, use := range []func() error{
			func() error { _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); return err },
			func() error { _, err := c.ReadResource(t.Context(), "u:1"); return err },
			func() error { _, err := c.GetPrompt(t.Context(), "p", nil); return err },
		} {
			if err := use(); err == nil || !strings.Contains(err.Error(), "result type") {
				t.Errorf("error %v", err)
			}
		}
		if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); err != nil {
			t.Errorf("none means complete: %v", err)
		}
	}, func(p *peer) {
		p.discover()
		p.result(p.want("tools/call"), `{"content":[],"resultType":"hologram"}`)
		p.result(p.want("resources/read"), `{"contents":[],"resultType":"task"}`)
		p.result(p.want("prompts/get"), `{"messages":[],"resultType":"Complete"}`)
		p.result(p.want("tools/call"), `{"content":[]}`)
	})
}

func TestRawArguments(t *testing.T) {
	const raw = ` { "n" : 12345678901234567890 , "f":1.50 } `
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		for _, bad := range []any{mcp.JSON(`{"a":1`), mcp.JSON(`{"a":1,"a":2}`), mcp.JSON(`[1]`), []int{1}, "x", func() {}} {
			if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x", Arguments: bad}); err == nil {
				t.Errorf("%v was sent", bad)
			}
		}
		if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x", Arguments: mcp.JSON(raw)}); err != nil {
			t.Error(err)
		}
		if _, err := c.Request(t.Context(), "vendor/own", mcp.JSON(" { } ")); err != nil {
			t.Error(err)
		}
		if err := c.Notify(t.Context(), "notifications/vendor", mcp.JSON("{\n}")); err != nil {
			t.Error(err)
		}
	}, func(p *peer) {
		p.discover()
		m := p.want("tools/call")
		if got := string(rawjson.Get(m.Params(), "arguments")); got != strings.TrimSpace(raw) {
			t.Errorf("arguments %s", got)
		}
		p.result(m, `{"content":[]}`)
		m = p.want("vendor/own")
		if !mcp.IsModern(m) {
			t.Errorf("params %s", m.Params())
		}
		p.result(m, `{}`)
		if m = p.want("notifications/vendor"); !mcp.IsModern(m) {
			t.Errorf("params %s", m.Params())
		}
	})
}

func TestTypedCalls(t *testing.T) {
	type out struct {
		N int64 `json:"n"`
	}
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		if v, err := mcp.CallTool[out](t.Context(), c, "structured", nil); err != nil || v.N != 9007199254740993 {
			t.Errorf("structured: %v %v", v, err)
		}
		if v, err := mcp.CallTool[out](t.Context(), c, "text", nil); err != nil || v.N != 7 {
			t.Errorf("JSON in text: %v %v", v, err)
		}
		if _, err := mcp.CallTool[out](t.Context(), c, "prose", nil); err == nil {
			t.Error("prose was read as a struct")
		}
		if v, err := mcp.CallTool[string](t.Context(), c, "prose", nil); err != nil || v != "a\nb" {
			t.Errorf("text: %q %v", v, err)
		}
		var failed *mcp.ToolError
		if _, err := mcp.CallTool[string](t.Context(), c, "fails", nil); !errors.As(err, &failed) || failed.Result.Text() != "disk full" {
			t.Errorf("failure: %v", err)
		}
	}, func(p *peer) {
		p.discover()
		for _, result := range []string{
			`{"content":[],"structuredContent":{"n":9007199254740993}}`,
			`{"content":[{"type":"text","text":"{\"n\":7}"}]}`,
			`{"content":[{"type":"text","text":"it is 7"}]}`,
			`{"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"x"},{"type":"text","text":"b"}]}`,
			`{"content":[{"type":"text","text":"disk full"}],"isError":true}`,
		} {
			p.result(p.want("tools/call"), result)
		}
	})
}

// Close while everything is in flight ends everything, with ErrClosed.
func TestCloseWithEverythingInFlight(t *testing.T) {
	asked := make(chan struct{})
	o := &mcp.ClientOptions{Revision: revision.V2025_11_25, Timeout: -1, Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	synctest.Test(t, func(t *testing.T) {
		asked = make(chan struct{})
		d := &dialer{t: t, scripts: []func(p *peer){func(p *peer) {
			p.initialize("2025-11-25")
			p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`)
		}}}
		c, err := mcp.Connect(t.Context(), mcp.StreamTransport(d.open), o)
		if err != nil {
			t.Fatal(err)
		}
		<-asked
		closesEverything(t, c)
		d.running.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{t: t, scripts: []func(p *peer){func(p *peer) { p.discover() }}}
		c, err := mcp.Connect(t.Context(), mcp.StreamTransport(d.open), &mcp.ClientOptions{Timeout: -1, OnToolsChanged: func() {}})
		if err != nil {
			t.Fatal(err)
		}
		closesEverything(t, c)
		d.running.Wait()
	})
}

func closesEverything(t *testing.T, c *mcp.Client) {
	var all sync.WaitGroup
	for _, use := range []func() error{
		func() error { _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x"}); return err },
		func() error {
			_, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "x", Progress: func(mcp.Progress) {}})
			return err
		},
		func() error { _, err := mcp.Collect(c.Tools(t.Context())); return err },
		func() error { return c.Ping(t.Context()) },
		func() error { return c.Subscribe(t.Context(), "u:1") },
	} {
		all.Go(func() {
			if err := use(); !errors.Is(err, mcp.ErrClosed) {
				t.Errorf("in flight: %v", err)
			}
		})
	}
	synctest.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	if err := c.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if err := c.Ping(t.Context()); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	<-c.Done()
	if c.Err() == nil {
		t.Error("no reason")
	}
}
