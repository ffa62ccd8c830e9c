package mcp_test

import (
	"bytes"
	"context"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// confirmer asks before it acts, and says what it was answered.
func confirmer(keys ...[]byte) *mcp.Endpoint {
	s := mcp.NewServer(mcp.Implementation{Name: "confirmer", Version: "1"}, &mcp.ServerOptions{StateKeys: keys})
	mcp.AddTool(s, &mcp.Tool{Name: "act"}, func(ctx context.Context, r *mcp.ToolRequest, in struct {
		On string `json:"on,omitzero"`
	}) (string, error) {
		first := &mcp.Elicitation{Key: "first", Message: "one?", Schema: mcp.JSON(`{"type":"object","required":["ok"]}`)}
		if err := r.Ask(ctx, first); err != nil {
			return "", err
		}
		second := &mcp.Elicitation{Key: "second", Message: "two?", Schema: mcp.JSON(`{"type":"object","required":["ok"]}`)}
		if err := r.Ask(ctx, second); err != nil {
			return "", err
		}
		return "acted on " + in.On, nil
	})
	return mcp.NewEndpoint(s, nil)
}

// act calls the tool with params beside its name, as the principal.
func act(t testing.TB, e *mcp.Endpoint, p *mcp.Principal, params map[string]string) *jsonrpc.Message {
	t.Helper()
	raw := []byte(`{"name":"act","_meta":{"` + revision.MetaProtocolVersion + `":"` + revision.Latest().Name +
		`","` + revision.MetaClientCapabilities + `":{"elicitation":{}}}}`)
	for name, value := range params {
		raw = rawjson.Set(raw, []byte(value), name)
	}
	m := jsonrpc.NewRequest(jsonrpc.IntID(1), "tools/call", raw)
	s, err := mcp.ModernSession(m, p, e.Revisions())
	if err != nil {
		t.Fatal(err)
	}
	return e.Answer(t.Context(), &mcp.Exchange{Request: m, Session: s})
}

const yes = `{"action":"accept","content":{"ok":true}}`

// A state that the server has not made, or made for somebody or something else,
// never stands in for an answer.
func FuzzRequestState(f *testing.F) {
	e := confirmer() // with a key of its own in every process that fuzzes
	round1 := act(f, e, nil, map[string]string{"inputResponses": `{"first":` + yes + `}`})
	good, ok := rawjson.String(rawjson.Get(round1.Result(), "requestState"))
	if !ok {
		f.Fatalf("no state in %s", round1.Bytes())
	}
	f.Add(good)
	f.Add("")
	f.Add(good + "A")
	f.Add(good[:len(good)-1])
	f.Add("AA" + good[2:])
	f.Fuzz(func(t *testing.T, state string) {
		answer := act(t, e, nil, map[string]string{
			"requestState":   string(rawjson.AppendString(nil, state)),
			"inputResponses": `{"second":` + yes + `}`,
		})
		kind, _ := rawjson.String(rawjson.Get(answer.Result(), "resultType"))
		switch {
		case state == good && kind == "complete":
		case state != good && answer.Err() != nil && answer.Err().Code == jsonrpc.CodeInvalidParams:
		default:
			t.Errorf("state %q: %s", state, answer.Bytes())
		}
	})
}

func TestStateIsGoodForOneRequestOnly(t *testing.T) {
	keys := [][]byte{bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)}
	e := confirmer(keys...)
	ada := &mcp.Principal{Subject: "ada"}
	round1 := act(t, e, ada, map[string]string{"inputResponses": `{"first":` + yes + `}`, "arguments": `{"on":"a"}`})
	state := string(rawjson.Get(round1.Result(), "requestState"))
	next := func(e *mcp.Endpoint, p *mcp.Principal, args string) *jsonrpc.Message {
		return act(t, e, p, map[string]string{"requestState": state, "inputResponses": `{"second":` + yes + `}`, "arguments": args})
	}
	refused := func(what string, m *jsonrpc.Message) {
		t.Helper()
		if m.Err() == nil || m.Err().Code != jsonrpc.CodeInvalidParams {
			t.Errorf("%s: %s", what, m.Bytes())
		}
	}
	refused("another principal", next(e, &mcp.Principal{Subject: "eve"}, `{"on":"a"}`))
	refused("nobody", next(e, nil, `{"on":"a"}`))
	refused("other arguments", next(e, ada, `{"on":"b"}`))
	stranger := mcp.NewServer(mcp.Implementation{}, nil)
	mcp.AddTool(stranger, &mcp.Tool{Name: "act"}, func(context.Context, *mcp.ToolRequest, map[string]any) (string, error) { return "", nil })
	refused("another key", next(mcp.NewEndpoint(stranger, nil), ada, `{"on":"a"}`))
	if m := next(confirmer(keys[1], keys[0]), ada, `{ "on" : "\u0061" }`); m.Err() != nil || !bytes.Contains(m.Result(), []byte("acted on a")) {
		t.Errorf("a replica with the same keys: %s", m.Bytes())
	}
}
