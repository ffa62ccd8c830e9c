package mcp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mcpv/mcp"
	"mcpv/revision"
)

const page = `{"tools":[{"name":"t","inputSchema":{}}],"ttlMs":60000,"cacheScope":"private","resultType":"complete"}`

func listTools(t *testing.T, c *mcp.Client) {
	t.Helper()
	if tools, err := mcp.Collect(c.Tools(t.Context())); err != nil || len(tools) != 1 {
		t.Errorf("%v %v", tools, err)
	}
}

// counted answers lists and reads and counts them.
func counted(p *peer, lists, reads *int) {
	p.discover()
	for m := p.next(); m != nil; m = p.next() {
		switch m.Method() {
		case "tools/list":
			*lists++
			p.result(m, page)
		case "resources/read":
			*reads++
			p.result(m, `{"contents":[],"ttlMs":60000,"cacheScope":"public","resultType":"complete"}`)
		case "server/discover":
			p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, updated("u:1"))
			p.result(m, `{"resultType":"complete"}`)
		}
	}
}

func TestCache(t *testing.T) {
	var lists, reads int
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		expect := func(l, r int, why string) {
			t.Helper()
			listTools(t, c)
			for _, uri := range []string{"u:1", "u:2"} {
				if _, err := c.ReadResource(t.Context(), uri); err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
			if lists != l || reads != r {
				t.Errorf("%s: %d lists, %d reads, want %d, %d", why, lists, reads, l, r)
			}
		}
		expect(1, 2, "first")
		expect(1, 2, "kept")
		if err := c.Ping(t.Context()); err != nil { // on which the server tells of changes
			t.Error(err)
		}
		expect(2, 3, "changed")
		<-time.After(61 * time.Second)
		expect(3, 5, "expired")
	}, func(p *peer) { counted(p, &lists, &reads) })
}

func TestNoCache(t *testing.T) {
	var lists, reads int
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), NoCache: true}, func(t *testing.T, c *mcp.Client) {
		listTools(t, c)
		listTools(t, c)
		synctest.Wait()
		if lists != 2 {
			t.Errorf("%d lists", lists)
		}
	}, func(p *peer) { counted(p, &lists, &reads) })
}

// A list that was asked for before the news of a change is not kept, though its
// answer comes later.
func TestCacheOvertaken(t *testing.T) {
	withPeers(t, modern, func(t *testing.T, c *mcp.Client) {
		listTools(t, c)
		listTools(t, c)
		listTools(t, c)
	}, func(p *peer) {
		p.discover()
		m := p.want("tools/list")
		p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		p.result(m, page)
		p.result(p.want("tools/list"), page)
		if rest := p.calls(); rest != "" {
			t.Errorf("asked again: %s", rest)
		}
	})
}

// What was said in answer to inputs is never kept, and neither is what has no
// lifetime.
func TestCacheKeepsNoAnswersToInputs(t *testing.T) {
	withPeers(t, &mcp.ClientOptions{Revision: revision.Latest(), Elicit: accept(`{}`)}, func(t *testing.T, c *mcp.Client) {
		for range 4 {
			if _, err := c.ReadResource(t.Context(), "u:1"); err != nil {
				t.Error(err)
			}
		}
	}, func(p *peer) {
		p.discover()
		p.result(p.want("resources/read"), `{"resultType":"input_required","inputRequests":{"k":`+question+`}}`)
		p.result(p.want("resources/read"), `{"contents":[],"ttlMs":60000,"cacheScope":"private","resultType":"complete"}`)
		p.result(p.want("resources/read"), `{"contents":[],"ttlMs":0,"cacheScope":"private","resultType":"complete"}`)
		p.result(p.want("resources/read"), `{"contents":[],"ttlMs":-5,"resultType":"complete"}`)
		p.result(p.want("resources/read"), `{"contents":[],"resultType":"complete"}`)
	})
}
