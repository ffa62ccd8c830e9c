package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// mutePeer takes notifications, which have to be strict JSON, and answers no
// questions.
type mutePeer struct{ t *testing.T }

func (p mutePeer) Notify(_ context.Context, n *jsonrpc.Message) error {
	if err := rawjson.Check(n.Bytes()); err != nil {
		p.t.Errorf("sent %s: %v", n.Bytes(), err)
	}
	return nil
}

func (mutePeer) Call(context.Context, string, []byte) (*jsonrpc.Message, error) {
	return nil, mcp.ErrNoRequests
}

// FuzzServe sends frames to a server that has everything, in a session of each
// era. Requests are answered once, under their id and in strict JSON; nothing
// else is. The seeds are what clients say in the transcripts.
func FuzzServe(f *testing.F) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, sections := parseTranscript(string(data))
		for _, s := range sections {
			for _, line := range s.lines {
				if s.verb == "client" {
					f.Add([]byte(line))
				}
			}
		}
	}
	s := newFixture(nil, addTools, addResources, addPrompts, addAsking).server
	e := mcp.NewEndpoint(s, nil)
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := jsonrpc.Parse(frame)
		if err != nil || m.Kind() == jsonrpc.Response {
			return
		}
		for _, version := range []string{"", "2024-11-05", "2025-11-25"} {
			c := e.NewChannel(mcp.ChannelOptions{Push: func(*jsonrpc.Message) {}})
			if version != "" {
				hello := jsonrpc.NewRequest(jsonrpc.StringID("hello"), "initialize", []byte(`{"protocolVersion":"`+version+`","capabilities":{"elicitation":{},"sampling":{},"roots":{}}}`))
				if a := c.Serve(t.Context(), hello, mutePeer{t}, nil); a.Err() != nil {
					t.Fatal(a.Err())
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			if m.Method() == "subscriptions/listen" {
				cancel() // it ends with its context only
			}
			checkAnswer(t, m, c.Serve(ctx, m, mutePeer{t}, nil))
			cancel()
			if c.Open() != 0 {
				t.Errorf("%d requests are open", c.Open())
			}
			c.Close()
		}
	})
}

func checkAnswer(t *testing.T, m, answer *jsonrpc.Message) {
	t.Helper()
	if m.Kind() == jsonrpc.Notification {
		if answer != nil {
			t.Errorf("a notification was answered with %s", answer.Bytes())
		}
		return
	}
	if answer == nil {
		t.Fatalf("%s was not answered", m.Bytes())
	}
	a, err := jsonrpc.Parse(answer.Bytes())
	if err != nil || a.Kind() != jsonrpc.Response || a.ID() != m.ID() {
		t.Errorf("%s was answered with %s: %v", m.Bytes(), answer.Bytes(), err)
	}
}
