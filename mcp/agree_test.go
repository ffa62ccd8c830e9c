package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

func agreesOn(r *revision.Revision) func(*testing.T, *mcp.Client, error) {
	return func(t *testing.T, c *mcp.Client, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Revision() != r {
			t.Errorf("agreed on %s, want %s", c.Revision(), r)
		}
	}
}

func failsWith(want error) func(*testing.T, *mcp.Client, error) {
	return func(t *testing.T, c *mcp.Client, err error) {
		if !errors.Is(err, want) || c != nil {
			t.Errorf("got %v %v, want %v", c, err, want)
		}
	}
}

// Some old servers do not answer what they do not know before initialize.
func TestSilenceOnDiscoverMeansLegacy(t *testing.T) {
	start := time.Time{}
	connectTo(t, &mcp.ClientOptions{ProbeTimeout: 5 * time.Second}, func(p *peer) {
		start = time.Now()
		p.want("server/discover")
		m := p.want("initialize")
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("waited %v", d)
		}
		p.result(m, `{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`)
		p.want("notifications/initialized")
	}, agreesOn(revision.V2025_03_26))
}

// Others are still starting: what they answer late is worth as much, unless
// they accept initialize too, which makes some speak the old era from then on.
func TestLateAnswerToDiscoverCounts(t *testing.T) {
	const discovered = `{"supportedVersions":["2026-07-28"],"capabilities":{}}`
	connectTo(t, nil, func(p *peer) {
		probe := p.want("server/discover")
		p.want("initialize")
		p.result(probe, discovered)
	}, agreesOn(revision.V2026_07_28))
	connectTo(t, nil, func(p *peer) {
		probe := p.want("server/discover")
		m := p.want("initialize")
		p.result(probe, discovered)
		p.fail(m, -32601, "")
	}, agreesOn(revision.V2026_07_28))
	connectTo(t, nil, func(p *peer) {
		probe := p.want("server/discover")
		m := p.want("initialize")
		p.result(probe, discovered)
		p.result(m, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"both","version":"1"}}`)
		p.want("notifications/initialized")
	}, agreesOn(revision.V2025_11_25))
}

func TestAnswersThatMeanLegacy(t *testing.T) {
	for name, answer := range map[string]func(p *peer, m *jsonrpc.Message){
		"method not found": func(p *peer, m *jsonrpc.Message) { p.fail(m, -32601, "") },
		"invalid request":  func(p *peer, m *jsonrpc.Message) { p.fail(m, -32600, "") },
		"invalid params":   func(p *peer, m *jsonrpc.Message) { p.fail(m, -32602, "") },
		"server error":     func(p *peer, m *jsonrpc.Message) { p.fail(m, -32000, "") },
		"internal error":   func(p *peer, m *jsonrpc.Message) { p.fail(m, -32603, "") },
		"only legacy spoken": func(p *peer, m *jsonrpc.Message) {
			p.fail(m, -32022, `{"supported":["2025-11-25"],"requested":"2026-07-28"}`)
		},
		"nothing in common": func(p *peer, m *jsonrpc.Message) {
			p.result(m, `{"supportedVersions":["2099-01-01","2025-11-25"],"capabilities":{}}`)
		},
		"a result of no kind": func(p *peer, m *jsonrpc.Message) { p.result(m, `{}`) },
	} {
		t.Run(name, func(t *testing.T) {
			connectTo(t, nil, func(p *peer) {
				answer(p, p.want("server/discover"))
				p.initialize("2025-11-25")
			}, agreesOn(revision.V2025_11_25))
		})
	}
}

func TestAnswersThatMeanModern(t *testing.T) {
	for _, code := range []int{mcp.CodeHeaderMismatch, mcp.CodeMissingCapability} {
		connectTo(t, nil, func(p *peer) { p.fail(p.want("server/discover"), code, "") }, failsWith(jsonrpc.NewError(code, "")))
	}
}

func TestEveryLegacyVersionIsTaken(t *testing.T) {
	for _, r := range revision.All() {
		if r.Era != revision.Legacy || r == revision.Classic {
			continue
		}
		connectTo(t, nil, func(p *peer) {
			p.fail(p.want("server/discover"), -32601, "")
			p.initialize(r.Name)
		}, agreesOn(r))
	}
}

func TestClassicIsTheLastResort(t *testing.T) {
	connectTo(t, nil, func(p *peer) {
		p.fail(p.want("server/discover"), -32601, "")
		p.fail(p.want("initialize"), -32601, "")
		p.result(p.want("mcp/initialize"), `{"name":"old","version":"0","protocolVersion":"classic"}`)
	}, func(t *testing.T, c *mcp.Client, err error) {
		agreesOn(revision.Classic)(t, c, err)
		if c.Server().Name != "old" {
			t.Errorf("server %+v", c.Server())
		}
	})
}

func TestNothingInCommon(t *testing.T) {
	connectTo(t, nil, func(p *peer) {
		p.fail(p.want("server/discover"), -32601, "")
		p.fail(p.want("initialize"), -32601, "")
		p.fail(p.want("mcp/initialize"), -32601, "")
	}, failsWith(mcp.ErrIncompatible))
	connectTo(t, nil, func(p *peer) {
		p.fail(p.want("server/discover"), -32601, "")
		p.result(p.want("initialize"), `{"protocolVersion":"1.0.0","capabilities":{},"serverInfo":{}}`)
	}, failsWith(mcp.ErrIncompatible))
	connectTo(t, nil, func(p *peer) { // a modern version cannot be had by initialize
		p.fail(p.want("server/discover"), -32601, "")
		p.result(p.want("initialize"), `{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{}}`)
	}, failsWith(mcp.ErrIncompatible))
}

func TestPinnedRevisionIsRefused(t *testing.T) {
	for _, r := range revision.All() {
		t.Run(r.Name, func(t *testing.T) {
			connectTo(t, &mcp.ClientOptions{Revision: r}, func(p *peer) {
				p.fail(p.next(), -32601, "")
				if rest := p.calls(); rest != "" {
					t.Errorf("the client went on with %s", rest)
				}
			}, failsWith(mcp.ErrIncompatible))
		})
	}
	connectTo(t, &mcp.ClientOptions{Revision: revision.V2025_06_18}, func(p *peer) {
		p.result(p.want("initialize"), `{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{}}`)
	}, failsWith(mcp.ErrIncompatible))
	connectTo(t, &mcp.ClientOptions{Revision: revision.Latest()}, func(p *peer) {
		p.fail(p.want("server/discover"), -32022, `{"supported":["2099-01-01"]}`)
	}, failsWith(mcp.ErrIncompatible))
	connectTo(t, &mcp.ClientOptions{Revision: revision.Latest(), ProbeTimeout: time.Second}, func(p *peer) {
		p.want("server/discover") // and says nothing
	}, failsWith(mcp.ErrTimeout))
}

func TestPreferredRevisionComesFirst(t *testing.T) {
	connectTo(t, &mcp.ClientOptions{Prefer: revision.V2025_06_18}, func(p *peer) { p.initialize("2025-06-18") }, agreesOn(revision.V2025_06_18))
	connectTo(t, &mcp.ClientOptions{Prefer: revision.V2025_06_18}, func(p *peer) {
		p.fail(p.want("initialize"), -32022, `{"supported":["2026-07-28"]}`)
		p.discover()
	}, agreesOn(revision.Latest()))
}

func TestBannersAreSkipped(t *testing.T) {
	banner := strings.Split(strings.TrimSpace(strings.Repeat("Server starting…\n", 20)), "\n")
	connectTo(t, nil, func(p *peer) {
		p.send(banner...)
		p.fail(p.want("server/discover"), -32601, "")
		p.send(banner...) // counted anew after every message
		p.initialize("2025-11-25")
	}, agreesOn(revision.V2025_11_25))
	connectTo(t, nil, func(p *peer) {
		p.send(append(banner, "one too many")...)
	}, func(t *testing.T, c *mcp.Client, err error) {
		failsWith(mcp.ErrClosed)(t, c, err)
		failsWith(jsonrpc.NewError(jsonrpc.CodeParse, ""))(t, c, err)
	})
}

func TestConnectFails(t *testing.T) {
	connectTo(t, nil, func(p *peer) { p.s.Close() }, failsWith(mcp.ErrClosed))
	connectTo(t, nil, func(p *peer) {
		p.want("server/discover")
		p.s.Close()
	}, failsWith(mcp.ErrClosed))
	connectTo(t, &mcp.ClientOptions{Timeout: time.Second, Revision: revision.V2025_11_25}, func(p *peer) {
		p.want("initialize")
		if rest := p.calls(); rest != "" { // initialize must not be cancelled
			t.Errorf("the client sent %s", rest)
		}
	}, failsWith(mcp.ErrTimeout))
	connectTo(t, nil, func(p *peer) {
		p.fail(p.want("server/discover"), -32601, "")
		p.fail(p.want("initialize"), -32603, "")
	}, failsWith(jsonrpc.NewError(jsonrpc.CodeInternal, "")))
}

func TestConnectEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{t: t, scripts: []func(p *peer){func(p *peer) { p.want("server/discover") }}}
		why := errors.New("changed my mind")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		c, err := mcp.Connect(ctx, mcp.StreamTransport(d.open), nil)
		failsWith(why)(t, c, err)
		d.running.Wait()
	})
}

// What a client declares is what it has handlers for, in the words of the
// revision.
func TestCapabilitiesDeclared(t *testing.T) {
	elicit := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil }
	full := &mcp.ClientOptions{
		Elicit: elicit, ElicitURL: elicit, SampleTools: true,
		Sample: func(context.Context, *mcp.SamplingParams) (*mcp.SamplingResult, error) { return nil, nil },
		Roots:  func(context.Context) ([]mcp.Root, error) { return nil, nil },
	}
	for r, want := range map[*revision.Revision]string{
		revision.V2025_03_26: `{"sampling":{},"roots":{}}`,
		revision.V2025_06_18: `{"elicitation":{},"sampling":{},"roots":{}}`,
		revision.V2025_11_25: `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`,
		revision.Latest():    `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`,
	} {
		o := *full
		o.Revision = r
		connectTo(t, &o, func(p *peer) {
			m := p.next()
			got := rawjson.Get(m.Params(), "capabilities")
			if r.Era == revision.Modern {
				got = rawjson.Get(m.Params(), "_meta", revision.MetaClientCapabilities)
			}
			if !rawjson.Equal(got, []byte(want)) {
				t.Errorf("%s: declared %s, want %s", r, got, want)
			}
			p.s.Close()
		}, failsWith(mcp.ErrClosed))
	}
}
