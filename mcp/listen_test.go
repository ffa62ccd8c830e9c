package mcp_test

import (
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

// listen takes a subscriptions/listen and returns it and what it asks for.
func (p *peer) listen() (*jsonrpc.Message, string) {
	m := p.want("subscriptions/listen")
	return m, string(rawjson.Get(m.Params(), "notifications"))
}

// ack acknowledges a listening in full, or what is granted.
func (p *peer) ack(m *jsonrpc.Message, granted string) {
	if granted == "" {
		granted = string(rawjson.Get(m.Params(), "notifications"))
	}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{%q:%s},"notifications":%s}}`, revision.MetaSubscriptionID, m.ID().Raw(), granted))
}

func (p *peer) cancelled(m *jsonrpc.Message) {
	p.t.Helper()
	if n := p.want("notifications/cancelled"); string(rawjson.Get(n.Params(), "requestId")) != m.ID().Raw() {
		p.t.Errorf("cancelled %s, want %s", n.Params(), m.ID().Raw())
	}
}

func updated(uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, uri)
}

// A server that refuses to listen is heard at once, not after the timeout.
func TestSubscribeRefused(t *testing.T) {
	for _, code := range []int{-32601, -32602, -32603} {
		withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
			start := time.Now()
			if err := c.Subscribe(t.Context(), "u:1"); !errors.Is(err, jsonrpc.NewError(code, "")) {
				t.Errorf("error %v", err)
			}
			if d := time.Since(start); d != 0 {
				t.Errorf("heard after %v", d)
			}
			<-time.After(time.Hour) // what failed is not asked for again
			if err := c.Subscribe(t.Context(), "u:2"); err != nil {
				t.Error(err)
			}
		}, func(p *peer) {
			p.discover()
			m, _ := p.listen()
			p.fail(m, code, "")
			m, wants := p.listen()
			if wants != `{"resourceSubscriptions":["u:2"]}` {
				t.Errorf("wants %s", wants)
			}
			p.ack(m, "")
		})
	}
}

func TestSubscribeNotGranted(t *testing.T) {
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		if err := c.Subscribe(t.Context(), "u:1"); !errors.Is(err, mcp.ErrUnsupported) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
	}, func(p *peer) {
		p.discover()
		m, _ := p.listen()
		p.ack(m, `{}`)
		p.cancelled(m) // nothing is left to listen for
	})
}

func TestSubscribeTimesOut(t *testing.T) {
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), Timeout: time.Minute}, func(t *testing.T, c *mcp.Client) {
		if err := c.Subscribe(t.Context(), "u:1"); !errors.Is(err, mcp.ErrTimeout) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if err := c.Subscribe(t.Context(), "u:2"); err != nil {
			t.Error(err)
		}
	}, func(p *peer) {
		p.discover()
		silent, _ := p.listen()
		p.cancelled(silent)
		m, wants := p.listen()
		if wants != `{"resourceSubscriptions":["u:2"]}` {
			t.Errorf("wants %s", wants)
		}
		p.ack(m, "")
	})
}

// A filter cannot be changed: the new listening takes over from the old one, and
// only when it stands. A refused one leaves the old one alone.
func TestSubscriptionsTakeOver(t *testing.T) {
	var heard []string
	o := &mcp.ClientOptions{Revision: revision.Latest(), OnResourceUpdated: func(uri string) { heard = append(heard, uri) }, OnToolsChanged: func() {}}
	withPeers(t, o, func(t *testing.T, c *mcp.Client) {
		synctest.Wait()
		for _, err := range []error{c.Subscribe(t.Context(), "u:1"), c.Subscribe(t.Context(), "u:1"), c.Subscribe(t.Context(), "u:2")} {
			if err != nil {
				t.Error(err)
			}
		}
		if err := c.Subscribe(t.Context(), "u:bad"); !errors.Is(err, jsonrpc.NewError(-32602, "")) {
			t.Errorf("u:bad: %v", err)
		}
		if err := c.Unsubscribe(t.Context(), "u:1"); err != nil {
			t.Error(err)
		}
		if err := c.Unsubscribe(t.Context(), "u:1"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !slices.Equal(heard, []string{"u:1", "u:2", "u:2"}) {
			t.Errorf("heard %v", heard)
		}
	}, func(p *peer) {
		p.discover()
		first, wants := p.listen()
		if wants != `{"toolsListChanged":true}` {
			p.t.Errorf("wants %s", wants)
		}
		p.ack(first, "")
		second, _ := p.listen()
		p.ack(second, "")
		p.cancelled(first)
		p.send(updated("u:1"))
		third, wants := p.listen()
		if wants != `{"toolsListChanged":true,"resourceSubscriptions":["u:1","u:2"]}` {
			p.t.Errorf("wants %s", wants)
		}
		p.send(updated("u:2")) // on the old one, before the new one stands
		p.ack(third, "")
		p.cancelled(second)
		bad, _ := p.listen()
		p.fail(bad, -32602, "")
		p.send(updated("u:2"))
		last, wants := p.listen()
		if wants != `{"toolsListChanged":true,"resourceSubscriptions":["u:2"]}` {
			p.t.Errorf("wants %s", wants)
		}
		p.ack(last, "")
		p.cancelled(third)
	})
}

// A listening that the server ends, in either way, is opened again after a pause;
// it is not cancelled back.
func TestListenAgain(t *testing.T) {
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), OnPromptsChanged: func() {}}, func(t *testing.T, c *mcp.Client) {
		<-time.After(time.Hour)
	}, func(p *peer) {
		p.discover()
		m, _ := p.listen()
		p.ack(m, "")
		p.result(m, `{"resultType":"complete"}`)
		again, _ := p.listen()
		p.ack(again, "")
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, again.ID().Raw()))
		last, _ := p.listen()
		p.fail(last, -32603, "") // for now
		last, _ = p.listen()
		p.fail(last, -32601, "") // for good
		if rest := p.calls(); rest != "" {
			t.Errorf("the client sent %s", rest)
		}
	})
}

func TestConcurrentSubscriptions(t *testing.T) {
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if err := c.Subscribe(t.Context(), fmt.Sprint("u:", i)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}, func(p *peer) {
		p.discover()
		for m := p.next(); m != nil; m = p.next() {
			if m.Method() == "subscriptions/listen" {
				p.ack(m, "")
			}
		}
	})
}

func TestLegacySubscriptions(t *testing.T) {
	withPeers(t, legacy(), func(t *testing.T, c *mcp.Client) {
		if err := c.Subscribe(t.Context(), "u:1"); err != nil {
			t.Error(err)
		}
		if err := c.Subscribe(t.Context(), "u:no"); !errors.Is(err, jsonrpc.NewError(-32602, "")) {
			t.Errorf("error %v", err)
		}
		if err := c.Unsubscribe(t.Context(), "u:1"); err != nil {
			t.Error(err)
		}
	}, func(p *peer) {
		p.initialize("2025-11-25")
		p.result(p.want("resources/subscribe"), `{}`)
		p.fail(p.want("resources/subscribe"), -32602, "")
		p.result(p.want("resources/unsubscribe"), `{}`)
		if rest := p.calls(); rest != "" {
			t.Errorf("the client sent %s", rest)
		}
	})
}

// A new connection gets the log level and the subscriptions of the old one.
func TestReconnect(t *testing.T) {
	o := legacy()
	o.Reconnect = true
	withPeers(t, o, func(t *testing.T, c *mcp.Client) {
		for _, err := range []error{c.SetLogLevel(t.Context(), mcp.LogError), c.Subscribe(t.Context(), "u:1"), c.Subscribe(t.Context(), "u:2")} {
			if err != nil {
				t.Error(err)
			}
		}
		if err := c.Ping(t.Context()); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("in flight: %v", err)
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("reconnected: %v", err)
		}
	}, func(p *peer) {
		p.initialize("2025-11-25")
		p.result(p.want("logging/setLevel"), `{}`)
		p.result(p.want("resources/subscribe"), `{}`)
		p.result(p.want("resources/subscribe"), `{}`)
		p.want("ping")
		p.s.Close()
	}, func(p *peer) {
		p.initialize("2025-11-25")
		p.result(p.want("logging/setLevel"), `{}`)
		p.result(p.want("resources/subscribe"), `{}`)
		p.fail(p.want("resources/subscribe"), -32602, "")
		p.result(p.want("ping"), `{}`)
	})
}

func TestReconnectListens(t *testing.T) {
	o := &mcp.ClientOptions{Revision: revision.Latest(), Reconnect: true}
	withPeers(t, o, func(t *testing.T, c *mcp.Client) {
		if err := c.Subscribe(t.Context(), "u:1"); err != nil {
			t.Error(err)
		}
		<-c.Done()
		if err := c.Subscribe(t.Context(), "u:2"); err != nil {
			t.Errorf("on the new connection: %v", err)
		}
		<-c.Done()
		if err := c.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "nobody there") {
			t.Errorf("nobody answers: %v", err)
		}
	}, func(p *peer) {
		p.discover()
		m, _ := p.listen()
		p.ack(m, "")
		synctest.Wait()
		p.s.Close()
	}, func(p *peer) {
		p.discover()
		m, wants := p.listen() // one for the old subscription and the new
		if wants != `{"resourceSubscriptions":["u:1","u:2"]}` {
			p.t.Errorf("wants %s", wants)
		}
		p.ack(m, "")
		synctest.Wait()
		p.s.Close()
	})
}

func TestNoReconnect(t *testing.T) {
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		<-c.Done()
		for range 2 {
			if err := c.Ping(t.Context()); !errors.Is(err, mcp.ErrClosed) {
				t.Errorf("error %v", err)
			}
		}
		if err := c.Subscribe(t.Context(), "u:1"); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("subscribe: %v", err)
		}
	}, func(p *peer) {
		p.discover()
		p.s.Close()
	})
}

// Close while a new connection is being made leaves nothing behind.
func TestCloseDuringReconnect(t *testing.T) {
	o := &mcp.ClientOptions{Revision: revision.Latest(), Reconnect: true, ProbeTimeout: time.Hour}
	withPeers(t, o, func(t *testing.T, c *mcp.Client) {
		<-c.Done()
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				if err := c.Ping(t.Context()); !errors.Is(err, mcp.ErrClosed) && err == nil {
					t.Errorf("error %v", err)
				}
			})
		}
		synctest.Wait()
		c.Close()
		calls.Wait()
	}, func(p *peer) {
		p.discover()
		p.s.Close()
	}, func(p *peer) {
		p.want("server/discover") // and says nothing
	})
}

// Tearing down a listening on a pipe: notifications/cancelled, then the result.
func TestServerEndsListening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fixtures["tools"]()
		ctx, stop := contextWithStop(t)
		near, far := jsonrpc.Pipe()
		served := make(chan error)
		go func() { served <- mcp.ServeStream(ctx, f.server, far, nil) }()
		p := &peer{t, near}
		p.send(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		p.want("notifications/subscriptions/acknowledged")
		stop()
		if m := p.want("notifications/cancelled"); string(m.Params()) != `{"requestId":"l"}` {
			t.Errorf("cancelled %s", m.Params())
		}
		if m := p.next(); m == nil || m.ID() != jsonrpc.StringID("l") || string(rawjson.Get(m.Result(), "_meta", revision.MetaSubscriptionID)) != `"l"` {
			t.Errorf("result %v", m)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
